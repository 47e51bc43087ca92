/* SPDX-License-Identifier: MIT */
/* Lists the segments on this machine, and whether anybody still needs them. */
#include "tools/live/internal.h"

#include "daemon/base/text.h"
#include "daemon/policy/policy.h"
#include "libprogress/reader/segment_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm"

const char *live_state_name(enum live_state state)
{
	switch (state) {
	case LIVE_RUNS:
		return "runs";
	case LIVE_STARTING:
		return "starting";
	case LIVE_STALE:
		return "stale";
	case LIVE_UNSEEN:
		return "unseen";
	case LIVE_FOREIGN:
		return "foreign";
	case LIVE_OTHER_VERSION:
		return "version";
	case LIVE_DAMAGED:
		return "damaged";
	}
	return "?";
}

/* "UID.PID" and nothing else, as juggle and libprogress write them. */
static bool read_name(const char *text, struct live_entry *entry)
{
	unsigned uid;
	int pid;
	char again[64];

	if (sscanf(text, "%u.%d", &uid, &pid) != 2 || pid <= 0)
		return false;
	snprintf(again, sizeof again, "%u.%d", uid, pid);
	entry->uid = uid;
	entry->pid = pid;
	return strcmp(again, text) == 0;
}

static enum live_state state_of(int error)
{
	switch (error) {
	case 0:
		return LIVE_RUNS;
	case -EAGAIN:
		return LIVE_STARTING;
	case -EACCES:
		return LIVE_FOREIGN;
	case -EPROTO:
		return LIVE_OTHER_VERSION;
	default:
		return LIVE_DAMAGED;
	}
}

/* Does anybody need the file of a process that is gone? The file is stale only when certainly
 * nobody does; unknown counts as in use. Returns 0, or an error that says nothing about the
 * file. */
static int look_for_users(struct live_entry *entry)
{
	struct stat st;
	int fd = open(entry->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	entry->state = LIVE_UNSEEN;
	if (fd < 0) {
		/* A symbolic link can't be in use. */
		if (errno == ELOOP)
			entry->state = LIVE_STALE;
		return errno == ENOENT || live_lacks_resources(-errno) ? -errno : 0;
	}
	/* The kernel grants a read lease only when nobody has the file open or mapped for writing,
	 * in any PID namespace. It does so for the owner and for processes with CAP_LEASE, which
	 * root may lack. A process that opens the file during the lease waits for a moment, while
	 * the kernel sends us a signal: choose one that is ignored by default. */
	fcntl(fd, F_SETSIG, SIGURG);
	if (fstat(fd, &st) == 0) {
		bool granted = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
		/* Where there are no leases, users judge their own files themselves. */
		bool never = !granted && errno == EINVAL && st.st_uid == geteuid();
		if (granted || never || !S_ISREG(st.st_mode))
			entry->state = LIVE_STALE;
	}
	close(fd);
	return 0;
}

static double age_s(uint64_t created_ns)
{
	uint64_t now = clock_monotonic_ns();

	return created_ns > now || created_ns == 0 ? NAN : (double)(now - created_ns) * 1e-9;
}

/* Returns 0, or an error of opening it. */
static int look_at_job(struct live_entry *entry, uint64_t *created_ns)
{
	struct telemetry_reader *reader = NULL;
	struct telemetry t;
	int error = telemetry_reader_open(entry->pid, entry->uid, &reader, &entry->version);

	if (error == 0)
		error = telemetry_reader_header(reader, &t);
	telemetry_reader_close(reader);
	if (error != 0)
		return error;
	*created_ns = t.start_ns;
	entry->job_pid = atomic_load_explicit(&t.job_pid, memory_order_relaxed);
	entry->attached = t.attached != 0;
	entry->lost = telemetry_get32(&t.state) == TELEMETRY_LOST;
	entry->balancing = telemetry_get32(&t.regime) == POLICY_BALANCE;
	entry->threads = telemetry_get32(&t.threads);
	entry->idle_threads = telemetry_get32(&t.idle_threads);
	entry->cpus = telemetry_get32(&t.cpus);
	text_printable(entry->policy, sizeof entry->policy, t.policy, sizeof t.policy);
	live_job_command(&t, entry->command, sizeof entry->command);
	return 0;
}

static int look_at_progress(struct live_entry *entry, uint64_t *created_ns)
{
	struct progress_reader *reader = NULL;
	struct progress_balancer_view balancer;
	int error = progress_reader_open(entry->pid, entry->uid, false, &reader, &entry->version);

	if (error != 0)
		return error;
	error = progress_reader_balancer(reader, &balancer);
	const struct progress_info *info = progress_reader_info(reader);
	if (error == 0) {
		*created_ns = info->created_ns;
		entry->rank = live_rank_of(entry->pid, info->rank);
		entry->workers = info->workers;
		entry->subdomains = info->subdomains;
		entry->asked = info->balancing;
		entry->balancer_pid = (pid_t)balancer.pid;
	}
	progress_reader_close(reader);
	return error;
}

/* A juggle in another PID namespace has a pid that belongs to another process here; with pid 1, all
 * processes would seem to be its descendants. */
static bool is_gone(const struct live_entry *entry, uint64_t created_ns)
{
	return live_process_gone(entry->pid, created_ns) ||
	       (entry->kind == LIVE_JOB && entry->state == LIVE_RUNS &&
		       !live_is_juggle(entry->pid, entry->inode));
}

/* Another user has taken the name: the segment may have none. Returns 0 or -ENOENT. */
static int find_unnamed(struct live_entry *entry, struct stat *st)
{
	const struct segment_file_kind *kind =
		entry->kind == LIVE_JOB ? &telemetry_reader_files : &progress_reader_files;
	int fd = segment_file_open_unnamed(kind, entry->uid, entry->pid, false, entry->path);

	if (fd < 0)
		return fd;
	int error = fstat(fd, st) < 0 ? -errno : 0;
	close(fd);
	return error;
}

/* Returns -ENOENT when it is no longer there, or when somebody else than root took another user's name
 * for it, and the segment is nowhere else. */
static int look_at(struct live_entry *entry)
{
	uint64_t created_ns = 0;
	struct stat st;

	if (lstat(entry->path, &st) < 0)
		return -errno;
	if (st.st_uid != entry->uid && find_unnamed(entry, &st) != 0 && st.st_uid != 0)
		return -ENOENT;
	entry->bytes = (uint64_t)st.st_size;
	entry->inode = st.st_ino;
	int error = entry->kind == LIVE_JOB ? look_at_job(entry, &created_ns)
					    : look_at_progress(entry, &created_ns);
	if (error == -ENOENT || live_lacks_resources(error))
		return error;
	entry->state = state_of(error);
	entry->age_s = age_s(created_ns);
	if (is_gone(entry, created_ns))
		return look_for_users(entry);
	if (entry->command[0] == '\0')
		live_command(entry->pid, entry->command, sizeof entry->command);
	return 0;
}

bool live_entry_named(const char *name, struct live_entry *entry)
{
	*entry = (struct live_entry){.rank = -1, .age_s = NAN};
	if (strncmp(name, "juggle.", 7) == 0 && read_name(name + 7, entry))
		entry->kind = LIVE_JOB;
	else if (strncmp(name, "progress.", 9) == 0 && read_name(name + 9, entry))
		entry->kind = LIVE_PROGRESS;
	else
		return false;
	snprintf(entry->path, sizeof entry->path, FOLDER "/%.50s", name);
	return true;
}

static int in_order(const void *a, const void *b)
{
	const struct live_entry *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Look at an entry and add it to the array. */
static int add(const struct live_entry *entry, struct live_entry **array, size_t *n, size_t *room)
{
	if (*n == *room) {
		size_t more = 2 * *room + 16;
		struct live_entry *grown = realloc(*array, more * sizeof **array);
		if (grown == NULL)
			return -ENOMEM;
		*array = grown;
		*room = more;
	}
	(*array)[*n] = *entry;
	int error = look_at(&(*array)[*n]);
	*n += error == 0;
	return error == -ENOENT ? 0 : error;
}

int live_list(struct live_entry **out, size_t *n)
{
	struct live_entry *array = NULL, entry;
	size_t room = 0;
	const struct dirent *file;
	int error = 0;
	DIR *folder = opendir(FOLDER);

	*out = NULL;
	*n = 0;
	if (folder == NULL)
		return -errno;
	while (error == 0 && (file = readdir(folder)) != NULL)
		if (live_entry_named(file->d_name, &entry))
			error = add(&entry, &array, n, &room);
	closedir(folder);
	if (error != 0) {
		free(array);
		*n = 0;
		return error;
	}
	if (*n > 0)
		qsort(array, *n, sizeof *array, in_order);
	live_belong(array, *n);
	*out = array;
	return 0;
}

int live_remove(const struct live_entry *entry)
{
	struct live_entry now;

	if (!live_entry_named(strrchr(entry->path, '/') + 1, &now))
		return -EINVAL;
	int error = look_at(&now);
	if (error != 0)
		return error;
	if (now.state != LIVE_STALE || now.inode != entry->inode)
		return -EBUSY;
	return unlink(entry->path) < 0 ? -errno : 0;
}
