// SPDX-License-Identifier: MIT
/*
 * Which segments exist, and whose processes are gone. The segments belong to children of this
 * program, which live, die, or leave files that others hold.
 */
#undef NDEBUG
#include "tools/live/internal.h"

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

#include "tests/unit/tools/live/segments.h"

#define NOBODY 65534

/* ---- What is found ---- */

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
	assert_true(strstr(entry.command, "test_tools_live_list") != NULL);
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

static void test_killed(void **state)
{
	siginfo_t info;
	FIXTURE(f);
	struct live_entry job = get(f->job), progress = get(f->progress);

	assert_int_equal(live_remove(&job), -EBUSY);
	assert_int_equal(live_remove(&progress), -EBUSY);
	assert_int_equal(access(f->job, F_OK), 0);
	/* A zombie that its parent doesn't reap counts as gone, too. */
	kill(f->pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)f->pid, &info, WEXITED | WNOWAIT), 0);
	ASSERT_STATE(f->job, LIVE_STALE);
	ASSERT_STATE(f->progress, LIVE_STALE);
	end_child(f);
	assert_string_equal(get(f->job).command, "wave? -n 5");
	assert_removed(f->job);
	ASSERT_STATE(f->progress, LIVE_STALE);
	/* The values from when it ran are still known. */
	assert_int_equal(live_remove(&progress), 0);
	assert_int_equal(access(f->progress, F_OK), -1);
}

/* A segment older than the process with that pid was another process's. */
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
	/* Mapped by this process, and by the child. */
	ASSERT_STATE(f->job, LIVE_UNSEEN);
	munmap(all, bytes);
	ASSERT_STATE(f->job, LIVE_UNSEEN);
}

static void leave_a_child(void)
{
	make_segments();
	pid_t child = fork();
	if (child < 0)
		_exit(1);
	if (child == 0) {
		alarm(60); /* should the test fail */
		for (;;)
			pause();
	}
	char path[PATH_BYTES];
	segment_path(path, getpid());
	int fd = open(path, O_WRONLY);
	/* Publish its pid where the test looks anyway. */
	int32_t rank = (int32_t)child;
	if (pwrite(fd, &rank, sizeof rank, offsetof(struct segment_header, rank)) != sizeof rank)
		_exit(1);
	close(fd);
}

/* A process in another PID namespace looks the same: nobody has the pid, but somebody has the
 * file. */
static void test_held_by_another(void **state)
{
	char path[PATH_BYTES];
	FIXTURE(f);

	(void)f;
	pid_t pid = start(leave_a_child);
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

/* A juggle in another PID namespace: its pid belongs to somebody else here. */
static void test_pid_of_another(void **state)
{
	char path[PATH_BYTES];
	size_t bytes;
	FIXTURE(f);
	pid_t pid = start(NULL);
	char *all = map(f->job, &bytes);

	snprintf(path, sizeof path, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)pid);
	((struct telemetry *)all)->pid = pid;
	((struct telemetry *)all)->start_ns = clock_monotonic_ns();
	assert_int_equal(rename(f->job, path), 0);
	ASSERT_STATE(path, LIVE_UNSEEN);
	munmap(all, bytes);
	end_child(f);
	assert_removed(path);
	end(pid);
}

/* Somebody else has meanwhile created a file of that name. */
static void test_replaced(void **state)
{
	FIXTURE(f);

	end_child(f);
	struct live_entry entry = get(f->progress);
	assert_int_equal(entry.state, LIVE_STALE);
	int fd = open(f->progress, O_RDONLY); /* so that its inode number is not reused */
	put(f->progress, "", 0);
	assert_int_equal(live_remove(&entry), -EBUSY);
	assert_int_equal(access(f->progress, F_OK), 0);
	close(fd);
	assert_removed(f->progress);
}

/* ---- What cannot be found out ---- */

/* From here on, requests for a lease fail with this error. */
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
	/* On a kernel without leases, for one's own files it is enough that the process is gone. */
	assert_int_equal(none, LIVE_STALE);
	assert_int_equal(state_without_leases(EACCES, f->job), LIVE_UNSEEN);
	assert_int_equal(state_without_leases(ENOMEM, f->job), LIVE_UNSEEN);
	if (geteuid() != 0)
		return;
	char others[PATH_BYTES];
	snprintf(others, sizeof others, "/dev/shm/juggle.%d.%d", NOBODY, (int)f->pid);
	assert_int_equal(rename(f->job, others), 0);
	assert_int_equal(chown(others, NOBODY, NOBODY), 0);
	enum live_state with_leases = get(others).state;
	int without = state_without_leases(EINVAL, others);
	unlink(others);
	assert_int_equal(with_leases, LIVE_STALE);
	assert_int_equal(without, LIVE_UNSEEN);
}

/* That says nothing about the segments. */
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

/* What another user sees of it; the child's exit status is the state. */
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
	/* A file that does not belong to the user in its name. */
	assert_int_equal(chown(f->progress, NOBODY, NOBODY), 0);
	struct live_entry entry;
	assert_false(find(f->progress, &entry));
	end_child(f);
	assert_true(state_for(NOBODY, f->job) != 101);
	assert_int_equal(access(f->job, F_OK), 0);
}

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
		TEST(test_leases_refused),
		TEST(test_no_descriptors_left),
		TEST(test_other_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
