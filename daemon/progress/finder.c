/* SPDX-License-Identifier: MIT */
#include "daemon/progress/finder.h"
#include "daemon/base/clock.h"
#include "daemon/proc/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm"
#define ANYWAY_NS UINT64_C(1000000000) /* the longest pause, because file systems differ */
#define LOOK_SHARE 100 /* pause between looks, in multiples of what the last one took */

/* A process with a segment. */
struct progress_found {
	pid_t pid;
	bool warned; /* a message said why its segment can't be used */
	struct progress_segment *segment; /* NULL: it can't be used */
};

void progress_finder_init(struct progress_finder *finder, const struct progress_host_setup *setup)
{
	*finder = (struct progress_finder){.setup = *setup};
	folder_watch_init(&finder->folder, FOLDER);
}

void progress_finder_deinit(struct progress_finder *finder)
{
	progress_host_free(finder->host);
	for (size_t i = 0; i < finder->found_count; i++)
		if (finder->found[i].segment != NULL)
			progress_segment_release(finder->found[i].segment, PROGRESS_SEGMENT_ENDED);
	free(finder->found);
	*finder = (struct progress_finder){0};
}

void progress_finder_hurry(struct progress_finder *finder)
{
	finder->anyway_ns = 0;
}

bool progress_finder_due(struct progress_finder *finder, uint64_t now_ns)
{
	if (now_ns < finder->next_ns)
		return false;
	return folder_watch_changed(&finder->folder, now_ns) || now_ns >= finder->anyway_ns;
}

/* The processes of the job belong to our user, unless that is root. */
static uid_t owner_of(pid_t pid)
{
	char path[32];
	struct stat status;

	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	return getuid() == 0 && stat(path, &status) == 0 ? status.st_uid : getuid();
}

/* As progress_reader_open(). What an earlier process with this pid left is none of this one's. */
static int open_segment(pid_t pid, bool balance, struct progress_reader **out, uint32_t *version)
{
	int r = progress_reader_open(pid, owner_of(pid), balance, out, version);

	if (r == 0 && proc_began_after(pid, progress_reader_info(*out)->created_ns)) {
		progress_reader_close(*out);
		r = -ENOENT;
	}
	return r;
}

/* Open the segment of a process, if it has one. Returns whether to keep the entry. */
static bool try_process(
	struct progress_finder *finder, struct progress_found *found, uint64_t now_ns)
{
	bool balance = finder->setup.options->policy->balance != NULL;
	struct progress_reader *reader;
	uint32_t version = 0;
	int r = open_segment(found->pid, balance, &reader, &version);

	if (r < 0 && access(FOLDER "/.", X_OK) < 0) /* nobody has a segment there */
		r = -ENOENT;
	if (r == 0 && finder->host == NULL) {
		r = progress_host_new(&finder->host, &finder->setup);
		if (r < 0)
			progress_reader_close(reader);
	}
	if (r == 0) {
		found->segment = progress_host_add(finder->host, found->pid, reader);
		r = found->segment == NULL ? -ENOMEM : 0;
	}
	if (r == -EAGAIN) /* the program is still creating it */
		folder_watch_repeat(&finder->folder, now_ns);
	else if (r < 0 && r != -ENOENT && !found->warned) {
		progress_host_warn(finder->setup.options, found->pid, r, version);
		found->warned = true;
	}
	return found->segment != NULL || found->warned;
}

/* When the host has dropped a segment, release it: the program may create another. */
static void check_dropped(struct progress_found *found)
{
	struct progress_segment *segment = found->segment;

	if (segment == NULL || atomic_load_explicit(&segment->state, memory_order_acquire) !=
				       PROGRESS_SEGMENT_DROPPED)
		return;
	found->warned |= segment->damaged;
	progress_segment_release(segment, PROGRESS_SEGMENT_ENDED);
	found->segment = NULL;
}

void progress_finder_look(
	struct progress_finder *finder, const pid_t *pid, size_t n, uint64_t now_ns)
{
	struct progress_found *old = finder->found, *all = NULL;
	size_t old_count = finder->found_count, count = 0, k = 0;

	if (n > 0 && (all = malloc(n * sizeof *all)) == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		struct progress_found found = {.pid = pid[i]};
		for (; k < old_count && old[k].pid < pid[i]; k++)
			if (old[k].segment != NULL)
				progress_segment_release(old[k].segment, PROGRESS_SEGMENT_ENDED);
		if (k < old_count && old[k].pid == pid[i])
			found = old[k++];
		check_dropped(&found);
		if (found.segment != NULL || try_process(finder, &found, now_ns))
			all[count++] = found;
	}
	for (; k < old_count; k++)
		if (old[k].segment != NULL)
			progress_segment_release(old[k].segment, PROGRESS_SEGMENT_ENDED);
	free(old);
	finder->found = all;
	finder->found_count = count;
	uint64_t end_ns = clock_monotonic_ns();
	finder->next_ns = end_ns + (end_ns - now_ns) * LOOK_SHARE;
	finder->anyway_ns = end_ns + ANYWAY_NS;
}
