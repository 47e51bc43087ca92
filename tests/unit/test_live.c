// SPDX-License-Identifier: MIT
/*
 * Which segments there are, and whose process is gone: on segments of children of this program, which
 * live, die, or leave what others hold. Whatever is in them, a look at them ends.
 */
#undef NDEBUG
#include "live_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "progress_segment.h"
#include "random.h"
#include "telemetry_writer.h"

#define NOBODY 65534

/* A child with the segments of a juggle and of a program. */
struct fixture {
	pid_t pid;
	bool ended;
	char job[PATH_BYTES], progress[PATH_BYTES];
};

static void make_segments(void)
{
	struct telemetry *t;
	uint32_t search = 0;
	int why_not;

	if (telemetry_create(&t, &why_not) != 0 || why_not != 0)
		_exit(1);
	strcpy(t->command, "wave\033 -n 5");
	strcpy(t->policy, "juggle");
	strcpy(t->sampler, "schedstat");
	t->job_pid = getpid();
	telemetry_set32(&t->threads, 6);
	telemetry_set32(&t->idle_threads, 1);
	telemetry_set32(&t->cpus, 2);
	telemetry_cpus(t)[1].os_cpu = 1;
	struct telemetry_thread *thread = telemetry_slot(t, &search);
	thread->tid = thread->pid = getpid();
	thread->met_ns = t->start_ns;
	telemetry_set32(&thread->flags, TELEMETRY_THREAD_USED | TELEMETRY_THREAD_COMPUTE);
	struct telemetry_progress *slot = telemetry_progress_slot(t);
	slot->pid = getpid();
	telemetry_set32(&slot->flags, TELEMETRY_PROGRESS_USED);
	telemetry_set32(&t->state, TELEMETRY_RUNNING);
	struct progress_options options = {
		.workers = 2, .subdomains = 8, .rank = 3, .balancing = PROGRESS_BALANCE_JOINT};
	struct progress *p = NULL;
	if (progress_create(&options, &p) != 0)
		_exit(1);
}

/* A child that has done `prepare` when this returns, and waits to be killed. */
static pid_t start(void (*prepare)(void))
{
	char ready = 0;
	int pipes[2];
	pid_t parent = getpid();

	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		if (prepare != NULL)
			prepare();
		if (write(pipes[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &ready, 1), 1);
	close(pipes[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	*state = f;
	assert_non_null(f);
	if (!shm_works())
		return 0;
	f->pid = start(make_segments);
	segment_path(f->progress, f->pid);
	snprintf(f->job, sizeof f->job, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)f->pid);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->pid > 0) {
		if (!f->ended)
			end(f->pid);
		unlink(f->job);
		unlink(f->progress);
	}
	free(f);
	return 0;
}

static void end_child(struct fixture *f)
{
	end(f->pid);
	f->ended = true;
}

#define FIXTURE(f)                                                                                 \
	struct fixture *f = *state;                                                                \
	if (f->pid == 0) {                                                                         \
		print_message("SKIPPED: /dev/shm cannot be used here\n");                          \
		skip();                                                                            \
	}

static bool find(const char *path, struct live_entry *out)
{
	struct live_entry *entry;
	bool found = false;
	size_t n;

	assert_int_equal(live_list(&entry, &n), 0);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(entry[i].path, path) != 0)
			continue;
		assert_false(found); /* once */
		found = true;
		*out = entry[i];
	}
	free(entry);
	return found;
}

static struct live_entry get(const char *path)
{
	struct live_entry entry;

	assert_true(find(path, &entry));
	return entry;
}

#define ASSERT_STATE(path, expected) assert_int_equal(get(path).state, expected)

/* In place of what is there, of this user and nobody who holds it. */
static void put(const char *path, const void *data, size_t bytes)
{
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

static char *map(const char *path, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*bytes = (size_t)st.st_size;
	char *start = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(start != MAP_FAILED);
	close(fd);
	return start;
}

/* ---- What is told ---- */

static void test_job(void **state)
{
	FIXTURE(f);
	struct live_entry entry = get(f->job);

	assert_int_equal(entry.kind, LIVE_JOB);
	assert_int_equal(entry.state, LIVE_RUNS);
	assert_int_equal(entry.uid, getuid());
	assert_int_equal(entry.pid, f->pid);
	assert_int_equal(entry.job_pid, f->pid);
	assert_string_equal(entry.command, "wave? -n 5");
	assert_string_equal(entry.policy, "juggle");
	assert_int_equal(entry.threads, 6);
	assert_int_equal(entry.idle_threads, 1);
	assert_int_equal(entry.cpus, 2);
	assert_false(entry.attached || entry.lost || entry.balancing);
	assert_true(entry.age_s >= 0 && entry.age_s < 60);
	assert_true(entry.bytes > sizeof(struct telemetry));
}

static void test_progress(void **state)
{
	FIXTURE(f);
	struct live_entry entry = get(f->progress);

	assert_int_equal(entry.kind, LIVE_PROGRESS);
	assert_int_equal(entry.state, LIVE_RUNS);
	assert_int_equal(entry.pid, f->pid);
	assert_int_equal(entry.rank, 3);
	assert_int_equal(entry.workers, 2);
	assert_int_equal(entry.subdomains, 8);
	assert_int_equal(entry.asked, PROGRESS_BALANCE_JOINT);
	assert_int_equal(entry.balancer_pid, 0);
	assert_true(strstr(entry.command, "test_live") != NULL);
	assert_true(entry.age_s >= 0 && entry.age_s < 60);
}

static void test_order(void **state)
{
	struct live_entry *entry;
	size_t n;
	FIXTURE(f);

	(void)f;
	assert_int_equal(live_list(&entry, &n), 0);
	assert_true(n >= 2);
	for (size_t i = 1; i < n; i++) {
		const struct live_entry *a = &entry[i - 1], *b = &entry[i];
		assert_true(a->kind < b->kind ||
			    (a->kind == b->kind &&
				    (a->uid < b->uid || (a->uid == b->uid && a->pid < b->pid))));
	}
	free(entry);
}

static void test_names(void **state)
{
	static const char *const before[] = {
		"00", "+", "-", " ", "0x", "4294967296", "", "", "", ""};
	static const char *const behind[] = {"", "", "", "", "", "", ".1", " ", "x", "\n"};
	FIXTURE(f);

	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		char path[PATH_BYTES];
		struct live_entry entry;
		snprintf(path, sizeof path, "/dev/shm/progress.%u.%s%d%s", (unsigned)getuid(),
			before[i], (int)f->pid, behind[i]);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		assert_true(fd >= 0);
		close(fd);
		bool found = find(path, &entry);
		unlink(path);
		if (found)
			fail_msg("taken for a segment: %s", path);
	}
	for (int s = LIVE_RUNS; s <= LIVE_DAMAGED; s++)
		assert_true(strlen(live_state_name((enum live_state)s)) > 3);
}

/* ---- Who is gone ---- */

static void assert_removed(const char *path)
{
	struct live_entry entry = get(path);

	assert_int_equal(entry.state, LIVE_STALE);
	assert_int_equal(live_remove(&entry), 0);
	assert_false(find(path, &entry));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(live_remove(&entry), -ENOENT);
}

static void test_killed(void **state)
{
	siginfo_t info;
	FIXTURE(f);
	struct live_entry job = get(f->job), progress = get(f->progress);

	assert_int_equal(live_remove(&job), -EBUSY);
	assert_int_equal(live_remove(&progress), -EBUSY);
	assert_int_equal(access(f->job, F_OK), 0);
	/* As a zombie, whose parent doesn't look, it is gone, too. */
	kill(f->pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)f->pid, &info, WEXITED | WNOWAIT), 0);
	ASSERT_STATE(f->job, LIVE_STALE);
	ASSERT_STATE(f->progress, LIVE_STALE);
	end_child(f);
	assert_string_equal(get(f->job).command, "wave? -n 5");
	assert_removed(f->job);
	ASSERT_STATE(f->progress, LIVE_STALE);
	/* What was told when it ran does. */
	assert_int_equal(live_remove(&progress), 0);
	assert_int_equal(access(f->progress, F_OK), -1);
}

/* What is older than the process with that pid was another's. */
static void test_pid_reused(void **state)
{
	size_t bytes;
	FIXTURE(f);
	char *all = map(f->progress, &bytes);
	char *copy = malloc(bytes);

	assert_non_null(copy);
	memcpy(copy, all, bytes);
	munmap(all, bytes);
	put(f->progress, copy, bytes);
	ASSERT_STATE(f->progress, LIVE_RUNS);
	((struct segment_header *)copy)->created_ns = 1;
	put(f->progress, copy, bytes);
	assert_removed(f->progress);
	free(copy);

	all = map(f->job, &bytes);
	((struct telemetry *)all)->start_ns = 1;
	/* Mapped: by this process, and by the child. */
	ASSERT_STATE(f->job, LIVE_UNSEEN);
	munmap(all, bytes);
	ASSERT_STATE(f->job, LIVE_UNSEEN);
}

static void leave_an_heir(void)
{
	make_segments();
	pid_t heir = fork();
	if (heir < 0)
		_exit(1);
	if (heir == 0) {
		alarm(60); /* should the test fail */
		for (;;)
			pause();
	}
	char path[PATH_BYTES];
	segment_path(path, getpid());
	int fd = open(path, O_WRONLY);
	/* To tell of it where the test looks anyway. */
	int32_t rank = (int32_t)heir;
	if (pwrite(fd, &rank, sizeof rank, offsetof(struct segment_header, rank)) != sizeof rank)
		_exit(1);
	close(fd);
}

/* A process of another PID namespace looks the same: nobody has the pid, but somebody the file. */
static void test_held_by_another(void **state)
{
	char path[PATH_BYTES];
	FIXTURE(f);

	(void)f;
	pid_t pid = start(leave_an_heir);
	segment_path(path, pid);
	pid_t left = get(path).rank;
	assert_true(left > 0);
	end(pid);
	struct live_entry entry = get(path);
	assert_int_equal(entry.state, LIVE_UNSEEN);
	assert_int_equal(live_remove(&entry), -EBUSY);
	assert_int_equal(access(path, F_OK), 0);
	kill(left, SIGKILL);
	for (int tries = 0; tries < 2000 && get(path).state != LIVE_STALE; tries++)
		usleep(5000); /* it is not our child */
	assert_removed(path);
	snprintf(path, sizeof path, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)pid);
	assert_removed(path);
}

/* A juggle of another PID namespace: its pid is that of somebody else here. */
static void test_pid_of_another(void **state)
{
	char path[PATH_BYTES];
	size_t bytes;
	FIXTURE(f);
	pid_t pid = start(NULL);
	char *all = map(f->job, &bytes);

	snprintf(path, sizeof path, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)pid);
	((struct telemetry *)all)->pid = pid;
	((struct telemetry *)all)->start_ns = live_clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(rename(f->job, path), 0);
	ASSERT_STATE(path, LIVE_UNSEEN);
	munmap(all, bytes);
	end_child(f);
	assert_removed(path);
	end(pid);
}

/* The name is that of a file that somebody else made meanwhile. */
static void test_replaced(void **state)
{
	FIXTURE(f);

	end_child(f);
	struct live_entry entry = get(f->progress);
	assert_int_equal(entry.state, LIVE_STALE);
	int fd = open(f->progress, O_RDONLY); /* lest the number comes again */
	put(f->progress, "", 0);
	assert_int_equal(live_remove(&entry), -EBUSY);
	assert_int_equal(access(f->progress, F_OK), 0);
	close(fd);
	assert_removed(f->progress);
}

/* ---- What is no segment ---- */

static void test_damaged(void **state)
{
	size_t bytes;
	FIXTURE(f);

	put(f->progress, "", 0);
	ASSERT_STATE(f->progress, LIVE_STARTING);
	put(f->progress, "noise", 5);
	ASSERT_STATE(f->progress, LIVE_DAMAGED);
	struct live_entry entry = get(f->progress);
	assert_int_equal(live_remove(&entry), -EBUSY);
	unlink(f->progress);
	assert_int_equal(mkfifo(f->progress, 0600), 0);
	ASSERT_STATE(f->progress, LIVE_DAMAGED);
	unlink(f->progress);
	assert_int_equal(symlink(f->job, f->progress), 0);
	ASSERT_STATE(f->progress, LIVE_DAMAGED);
	unlink(f->progress);
	assert_int_equal(symlink("nowhere", f->progress), 0);
	ASSERT_STATE(f->progress, LIVE_DAMAGED);
	unlink(f->progress);
	assert_int_equal(mkdir(f->progress, 0700), 0);
	ASSERT_STATE(f->progress, LIVE_DAMAGED);
	rmdir(f->progress);
	char *all = map(f->job, &bytes);
	((struct telemetry *)all)->version = 77;
	entry = get(f->job);
	assert_int_equal(entry.state, LIVE_OTHER_VERSION);
	assert_int_equal(entry.version, 77);
	assert_int_equal(live_remove(&entry), -EBUSY);
	munmap(all, bytes);
}

/* Its process is gone: then it is to be removed, whatever it is. */
static void test_damaged_and_stale(void **state)
{
	FIXTURE(f);

	end_child(f);
	put(f->job, "noise", 5);
	assert_removed(f->job);
	put(f->job, "", 0);
	assert_removed(f->job);
	assert_int_equal(mkfifo(f->job, 0600), 0);
	assert_removed(f->job);
	/* Not what it points to. */
	assert_int_equal(symlink(f->progress, f->job), 0);
	assert_removed(f->job);
	assert_removed(f->progress);
}

/* A look at a segment of which every byte behind what is checked may be anything. */
static void test_noise(void **state)
{
	uint64_t seed = 1;
	size_t bytes, progress_bytes;
	struct live_error error;
	char name[20];
	FIXTURE(f);
	char *job = map(f->job, &bytes), *progress = map(f->progress, &progress_bytes);
	struct telemetry *before = malloc(sizeof *before);

	assert_non_null(before);
	memcpy(before, job, sizeof *before);
	snprintf(name, sizeof name, "%d", (int)f->pid);
	for (int round = 0; round < 60; round++) {
		struct live_sample one = {0}, two = {0};
		struct live_job *live = NULL;
		assert_int_equal(live_open(name, &live, &error), 0);
		for (size_t i = offsetof(struct telemetry, command);
			i < offsetof(struct telemetry, progress_bytes); i++)
			job[i] = (char)random_word(&seed);
		/* No more than some, for time. */
		((struct telemetry *)job)->slots = (uint32_t)random_int(&seed, 0, 20);
		((struct telemetry *)job)->progress_slots = (uint32_t)random_int(&seed, 0, 20);
		for (size_t i = 0; i < 20 * sizeof(struct telemetry_thread); i++)
			((char *)telemetry_threads((struct telemetry *)job))[i] =
				(char)random_word(&seed);
		for (size_t i = 0; i < 20 * sizeof(struct telemetry_progress); i++)
			((char *)telemetry_progress((struct telemetry *)job))[i] =
				(char)random_word(&seed);
		for (size_t i = sizeof(struct segment_header); i < progress_bytes; i++)
			progress[i] = (char)random_word(&seed);
		struct live_entry entry = get(f->job);
		assert_int_equal(entry.pid, f->pid);
		if (live_take(live, &one) == 0) {
			live_compare(NULL, &one);
			if (live_take(live, &two) == 0)
				live_compare(&one, &two);
		}
		live_sample_deinit(&one);
		live_sample_deinit(&two);
		live_close(live);
		memcpy(job, before, sizeof *before);
	}
	free(before);
	munmap(job, bytes);
	munmap(progress, progress_bytes);
}

static void test_cut_while_watched(void **state)
{
	struct live_sample sample = {0};
	struct live_error error;
	struct live_job *live = NULL;
	char name[20];
	FIXTURE(f);

	snprintf(name, sizeof name, "%d", (int)f->pid);
	assert_int_equal(live_open(name, &live, &error), 0);
	assert_int_equal(live_take(live, &sample), 0);
	assert_true(sample.wrapped);
	assert_int_equal(sample.threads, 1);
	assert_int_equal(sample.processes, 1);
	assert_int_equal(sample.process[0].error, 0);
	assert_int_equal(sample.process[0].rank, 3);
	live_sample_deinit(&sample);
	/* A process that publishes fails on its own. */
	assert_int_equal(truncate(f->progress, 300), 0);
	assert_int_equal(live_take(live, &sample), 0);
	assert_true(sample.process[0].error < 0);
	live_sample_deinit(&sample);
	assert_int_equal(truncate(f->job, sizeof(struct telemetry)), 0);
	assert_int_equal(live_take(live, &sample), -EBADMSG);
	assert_int_equal(truncate(f->job, 100), 0);
	assert_int_equal(live_take(live, &sample), -EBADMSG);
	assert_int_equal(unlink(f->job), 0);
	assert_int_equal(live_take(live, &sample), -ESRCH);
	live_close(live);
	live = NULL;
	/* What is there is named by what can't be done with it. */
	put(f->progress, "noise", 5);
	assert_int_equal(live_open(name, &live, &error), -EBADMSG);
	assert_true(strstr(error.text, f->progress) != NULL);
	assert_null(live);
}

static void test_died_while_watched(void **state)
{
	struct live_sample sample = {0};
	struct live_error error;
	struct live_job *live = NULL;
	char name[20];
	FIXTURE(f);

	snprintf(name, sizeof name, "%d", (int)f->pid);
	assert_int_equal(live_open(name, &live, &error), 0);
	end_child(f);
	assert_int_equal(live_take(live, &sample), -ESRCH);
	live_close(live);
	live = NULL;
	assert_int_equal(live_open(name, &live, &error), -ESRCH);
	assert_true(strstr(error.text, "jugglectl clean") != NULL);
	assert_null(live);
}

/* ---- What cannot be told ---- */

/* From here on, what asks for a lease fails like this. */
static bool refuse_leases(unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETLEASE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof code / sizeof *code, code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The state where leases are refused; -1: that cannot be tried here. */
static int state_without_leases(unsigned error, const char *path)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(refuse_leases(error) ? (int)get(path).state : 100);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 100 ? -1 : WEXITSTATUS(status);
}

static void test_leases_refused(void **state)
{
	FIXTURE(f);

	end_child(f);
	ASSERT_STATE(f->job, LIVE_STALE);
	int none = state_without_leases(EINVAL, f->job);
	if (none < 0) {
		print_message("SKIPPED: no seccomp\n");
		skip();
	}
	/* A kernel without any: of one's own, that the process is gone is enough. */
	assert_int_equal(none, LIVE_STALE);
	assert_int_equal(state_without_leases(EACCES, f->job), LIVE_UNSEEN);
	assert_int_equal(state_without_leases(ENOMEM, f->job), LIVE_UNSEEN);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(f->job, NOBODY, NOBODY), 0);
	ASSERT_STATE(f->job, LIVE_STALE);
	assert_int_equal(state_without_leases(EINVAL, f->job), LIVE_UNSEEN);
}

/* That says nothing of the segments. */
static void test_no_descriptors_left(void **state)
{
	struct rlimit before, files;
	struct live_entry *entry;
	size_t n;
	FIXTURE(f);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	int next = open(f->job, O_RDONLY);
	close(next);
	for (rlim_t room = 0; room < 3; room++) {
		files = before;
		files.rlim_cur = (rlim_t)next + room;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
		int error = live_list(&entry, &n);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		if (error == 0)
			free(entry);
		assert_int_equal(error, room < 2 ? -EMFILE : 0);
	}
}

/* ---- Other users ---- */

/* What another user sees of it; its exit status is the state. */
static int state_for(uid_t uid, const char *path)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct live_entry entry;
		if (setresuid(uid, uid, uid) < 0 || !find(path, &entry))
			_exit(100);
		int error = live_remove(&entry);
		_exit(error == 0 ? 101 : (int)entry.state);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_other_users(void **state)
{
	FIXTURE(f);

	if (geteuid() != 0) {
		print_message("SKIPPED: needs root\n");
		skip();
	}
	assert_int_equal(state_for(NOBODY, f->job), LIVE_FOREIGN);
	assert_int_equal(state_for(NOBODY, f->progress), LIVE_FOREIGN);
	assert_int_equal(state_for(0, f->job), LIVE_RUNS);
	/* A file that isn't whose its name says. */
	assert_int_equal(chown(f->progress, NOBODY, NOBODY), 0);
	ASSERT_STATE(f->progress, LIVE_DAMAGED);
	end_child(f);
	assert_true(state_for(NOBODY, f->job) != 101);
	assert_int_equal(access(f->job, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_job),
		TEST(test_progress),
		TEST(test_order),
		TEST(test_names),
		TEST(test_killed),
		TEST(test_pid_reused),
		TEST(test_held_by_another),
		TEST(test_pid_of_another),
		TEST(test_replaced),
		TEST(test_damaged),
		TEST(test_damaged_and_stale),
		TEST(test_noise),
		TEST(test_cut_while_watched),
		TEST(test_died_while_watched),
		TEST(test_leases_refused),
		TEST(test_no_descriptors_left),
		TEST(test_other_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
