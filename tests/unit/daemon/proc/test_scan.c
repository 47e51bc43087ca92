/* SPDX-License-Identifier: MIT */
/*
 * daemon/proc on real processes, since only the kernel shows what happens while a tree changes.
 * Nothing here depends on speed: a test waits for a message through a pipe, or looks until
 * something is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/proc/proc.h"

enum {
	DEADLINE_S = 120, /* a test that hangs must not hang the suite */
	STACK_BYTES = 256 * 1024,
	MANY_THREADS = 300,
};

/* A process that runs body, which sends numbers to the test through `say`. */
struct job {
	pid_t pid;
	int hear;
};

/* The processes under test use nothing of cmocka: they report a failure by ending. */
static void require(bool condition)
{
	if (!condition)
		_exit(99);
}

static void say(int fd, pid_t pid)
{
	require(write(fd, &pid, sizeof(pid)) == sizeof(pid));
}

static pid_t hear(int fd)
{
	pid_t pid = 0;
	ssize_t n;

	do
		n = read(fd, &pid, sizeof(pid));
	while (n < 0 && errno == EINTR);
	return n == sizeof(pid) ? pid : -1;
}

static _Noreturn void wait_for_the_end(void)
{
	for (;;)
		pause();
}

static pid_t fork_below(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0) {
		/* However the test ends, these end, too. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(99);
	}
	return pid;
}

static struct job job_start(void (*body)(int fd))
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork_below();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(ends[0]);
		body(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	return (struct job){.pid = pid, .hear = ends[0]};
}

/* Kill everything below this process, which orphans have joined, as it is a subreaper. This also
 * runs after each test, since a failed one leaves its processes behind. */
static int end_all(void **unused)
{
	(void)unused;
	for (;;) {
		struct proc_scan *scan;
		const struct proc_thread *threads;
		size_t n;

		assert_int_equal(
			proc_scan_new(&scan, &(struct proc_scan_options){.root = getpid()}), 0);
		assert_int_equal(proc_scan_run(scan, &threads, &n), 0);
		for (size_t i = 0; i < n; i++)
			kill(threads[i].pid, SIGKILL);
		proc_scan_free(scan);
		while (waitpid(-1, NULL, n ? 0 : WNOHANG) > 0)
			;
		if (n == 0 && errno == ECHILD)
			return 0;
	}
}

static void job_end(struct job *job)
{
	close(job->hear);
	end_all(NULL);
}

static int setup(void **unused)
{
	(void)unused;
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static const struct proc_thread *find(const struct proc_thread *threads, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	return NULL;
}

static size_t count_of_pid(const struct proc_thread *threads, size_t n, pid_t pid)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += threads[i].pid == pid;
	return count;
}

/* Both ways to find children must pass the same tests. */
static struct proc_scan *scanner(pid_t root, bool include_root, pid_t except, bool by_ppid)
{
	struct proc_scan_options options = {
		.root = root,
		.include_root = include_root,
		.except = except,
		.by_ppid = by_ppid,
	};
	struct proc_scan *scan = NULL;

	assert_int_equal(proc_scan_new(&scan, &options), 0);
	return scan;
}

static size_t run(struct proc_scan *scan, const struct proc_thread **threads)
{
	size_t n = 0;

	assert_int_equal(proc_scan_run(scan, threads, &n), 0);
	return n;
}

static void *thread_idle(void *fd)
{
	prctl(PR_SET_NAME, "a) R 1 (\n");
	say(*(int *)fd, (pid_t)syscall(SYS_gettid));
	wait_for_the_end();
}

static bool start_thread(void *(*body)(void *), void *arg, pthread_t *out)
{
	pthread_attr_t attr;
	bool started;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	started = pthread_create(out, &attr, body, arg) == 0;
	pthread_attr_destroy(&attr);
	return started;
}

static void body_idle(int fd)
{
	say(fd, getpid());
	wait_for_the_end();
}

/* A process with two more threads, the second of which has a child. */
static void *thread_parent(void *fd)
{
	pid_t child = fork_below();

	require(child >= 0);
	if (child == 0)
		body_idle(*(int *)fd);
	wait_for_the_end();
}

static void body_tree(int fd)
{
	pthread_t thread;

	require(start_thread(thread_idle, &fd, &thread));
	require(start_thread(thread_parent, &fd, &thread));
	wait_for_the_end();
}

static void check_tree(bool by_ppid)
{
	struct job job = job_start(body_tree);
	pid_t said[2] = {hear(job.hear), hear(job.hear)};
	struct proc_scan *below = scanner(getpid(), false, 0, by_ppid);
	struct proc_scan *whole = scanner(job.pid, true, 0, by_ppid);
	const struct proc_thread *threads;
	const struct proc_thread *thread = NULL;
	const struct proc_thread *child = NULL;
	size_t n = run(below, &threads);

	assert_int_equal(n, 4);
	assert_true(proc_scan_settled(below));
	assert_int_equal(threads[0].tid, job.pid);
	assert_int_equal(threads[0].pid, job.pid);
	assert_int_equal(threads[0].ppid, getpid());
	assert_int_equal(count_of_pid(threads, n, job.pid), 3);
	for (int i = 0; i < 2; i++) {
		const struct proc_thread *found = find(threads, n, said[i]);

		assert_non_null(found);
		if (found->pid == job.pid)
			thread = found;
		else
			child = found;
	}
	assert_non_null(thread);
	assert_non_null(child);
	assert_string_equal(thread->comm, "a) R 1 (\n");
	assert_int_equal(thread->ppid, getpid());
	assert_int_equal(child->ppid, job.pid);
	assert_int_equal(child->pid, child->tid);

	assert_int_equal(run(whole, &threads), 4);
	assert_int_equal(run(whole, &threads), 4);
	proc_scan_free(below);
	job_end(&job);
	assert_int_equal(run(whole, &threads), 0);
	proc_scan_free(whole);
	proc_scan_free(NULL);
}

static void test_tree(void **unused)
{
	(void)unused;
	check_tree(false);
}

static void test_tree_by_ppid(void **unused)
{
	(void)unused;
	check_tree(true);
}

static void test_read_thread(void **unused)
{
	struct job job = job_start(body_tree);
	pid_t said = hear(job.hear);
	struct proc_thread thread = {0};

	(void)unused;
	assert_int_equal(proc_read_thread(getpid(), getpid(), &thread), 0);
	assert_int_equal(thread.pid, getpid());
	assert_int_equal(thread.tid, getpid());
	assert_int_equal(thread.ppid, getppid());

	uint64_t own_start = thread.start_ticks;
	assert_int_equal(proc_read_thread(job.pid, job.pid, &thread), 0);
	assert_true(thread.start_ticks >= own_start);

	/* That is not a thread of this process. */
	assert_int_equal(proc_read_thread(getpid(), said, &thread), -ESRCH);
	job_end(&job);
	assert_int_equal(proc_read_thread(job.pid, job.pid, &thread), -ESRCH);
}

static void body_daemon(int fd)
{
	pid_t pid = fork();

	require(pid >= 0);
	if (pid > 0)
		_exit(0); /* leaves its child to the subreaper */
	require(setsid() >= 0);
	body_idle(fd);
}

static bool is_any_of(const void *known, pid_t pid, pid_t tid)
{
	const struct proc_thread *thread = known;

	return (thread[0].pid == pid && thread[0].tid == tid) ||
	       (thread[1].pid == pid && thread[1].tid == tid);
}

/* With the tree above: those that the caller knows are counted, and their children found. */
static void test_known_threads(void **unused)
{
	struct job job = job_start(body_tree);
	const struct proc_thread *threads;
	struct proc_thread known[2] = {{0}};
	struct proc_scan_options options = {
		.root = getpid(), .by_ppid = true, .is_known = is_any_of, .context = known};
	struct proc_scan *scan;
	(void)unused;

	hear(job.hear);
	hear(job.hear);
	assert_int_equal(proc_scan_new(&scan, &options), 0);
	assert_int_equal(run(scan, &threads), 4);
	assert_int_equal(proc_scan_known(scan), 0);
	known[0] = threads[0]; /* the first of the parent */
	known[1] = threads[3]; /* the child */
	assert_int_equal(run(scan, &threads), 2);
	assert_int_equal(proc_scan_known(scan), 2);
	assert_int_equal(count_of_pid(threads, 2, job.pid), 2);
	assert_true(threads[0].tid != job.pid && threads[1].tid != job.pid);
	known[1].pid = job.pid; /* another thread that had its tid */
	assert_int_equal(run(scan, &threads), 3);
	job_end(&job);
	assert_int_equal(run(scan, &threads), 0);
	assert_int_equal(proc_scan_known(scan), 0);
	proc_scan_free(scan);
}

static void check_double_fork(bool by_ppid)
{
	struct job job = job_start(body_daemon);
	pid_t daemon_pid = hear(job.hear);
	struct proc_scan *scan = scanner(getpid(), false, 0, by_ppid);
	const struct proc_thread *threads;

	assert_int_equal(waitpid(job.pid, NULL, 0), job.pid);
	assert_int_equal(run(scan, &threads), 1);
	assert_int_equal(threads[0].tid, daemon_pid);
	assert_int_equal(threads[0].ppid, getpid());
	proc_scan_free(scan);
	job_end(&job);
}

static void test_double_fork(void **unused)
{
	(void)unused;
	check_double_fork(false);
	check_double_fork(true);
}

static void check_except(bool by_ppid)
{
	struct job job = job_start(body_tree);
	struct job balancer = job_start(body_tree);
	struct proc_scan *scan;
	const struct proc_thread *threads;

	for (int i = 0; i < 2; i++) {
		hear(job.hear);
		hear(balancer.hear);
	}
	scan = scanner(getpid(), false, balancer.pid, by_ppid);
	assert_int_equal(run(scan, &threads), 4);
	assert_int_equal(count_of_pid(threads, 4, job.pid), 3);
	assert_int_equal(count_of_pid(threads, 4, balancer.pid), 0);
	proc_scan_free(scan);
	close(balancer.hear);
	job_end(&job);
}

static void test_except(void **unused)
{
	(void)unused;
	check_except(false);
	check_except(true);
}

/* The main thread ends; another lives on, and has a child. */
static void *thread_survivor(void *fd)
{
	pid_t child = fork_below();

	require(child >= 0);
	if (child == 0)
		body_idle(*(int *)fd);
	say(*(int *)fd, (pid_t)syscall(SYS_gettid));
	wait_for_the_end();
}

static void body_zombie_leader(int fd)
{
	pthread_t thread;

	require(start_thread(thread_survivor, &fd, &thread));
	/* The bare system call: pthread_exit() would unwind, and load a library for that. */
	syscall(SYS_exit, 0);
}

static void check_zombie_leader(bool by_ppid)
{
	struct job job = job_start(body_zombie_leader);
	pid_t said[2] = {hear(job.hear), hear(job.hear)};
	struct proc_scan *scan = scanner(getpid(), false, 0, by_ppid);
	const struct proc_thread *threads;
	struct proc_thread leader = {0};

	do
		assert_int_equal(proc_read_thread(job.pid, job.pid, &leader), 0);
	while (leader.state != 'Z');
	/* A zombie that stays must not keep the scanner from settling. */
	for (int i = 0; i < 2; i++) {
		/* Processes of the test itself (a sanitizer's, say) may be ending just now. */
		int tries = 0;
		do
			assert_int_equal(run(scan, &threads), 2);
		while (!proc_scan_settled(scan) && ++tries < 20);
		assert_true(tries < 20);
		assert_non_null(find(threads, 2, said[0]));
		assert_non_null(find(threads, 2, said[1]));
		assert_null(find(threads, 2, job.pid));
		assert_int_equal(count_of_pid(threads, 2, job.pid), 1);
	}
	proc_scan_free(scan);
	job_end(&job);
}

static void test_zombie_leader(void **unused)
{
	(void)unused;
	check_zombie_leader(false);
	check_zombie_leader(true);
}

static void test_zombie_job(void **unused)
{
	struct job job = job_start(body_idle);
	struct proc_scan *scan = scanner(job.pid, true, 0, false);
	const struct proc_thread *threads;
	siginfo_t info;

	(void)unused;
	hear(job.hear);
	kill(job.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)job.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(run(scan, &threads), 0);
	proc_scan_free(scan);
	job_end(&job);
}

static void body_many(int fd)
{
	pid_t started = 0;

	for (; started < MANY_THREADS; started++) {
		pthread_t thread;

		if (!start_thread(thread_idle, &fd, &thread))
			break;
	}
	/* A negative number: how many tids will follow. */
	say(fd, -started);
	wait_for_the_end();
}

static void test_many_threads(void **unused)
{
	struct job job = job_start(body_many);
	struct proc_scan *scan = scanner(getpid(), false, 0, false);
	const struct proc_thread *threads;
	pid_t tids[MANY_THREADS];
	pid_t expected = -1;
	pid_t n = 0;

	(void)unused;
	while (n != expected) {
		pid_t said = hear(job.hear);

		assert_int_not_equal(said, -1);
		if (said <= 0)
			expected = -said;
		else
			tids[n++] = said;
	}
	if (expected < MANY_THREADS) {
		print_message("SKIP: only %d of %d threads may be started here\n", (int)expected,
			MANY_THREADS);
		proc_scan_free(scan);
		job_end(&job);
		skip();
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(run(scan, &threads), MANY_THREADS + 1);
		for (int j = 0; j < MANY_THREADS; j++)
			assert_non_null(find(threads, MANY_THREADS + 1, tids[j]));
	}
	proc_scan_free(scan);
	job_end(&job);
}

enum { STABLE = 16, CHURNED = 8, SCANS = 300 };

static void *thread_brief(void *unused)
{
	(void)unused;
	return NULL;
}

/* Threads that stay, each started after some that don't. */
static void body_churn(int fd)
{
	pthread_t brief[CHURNED];
	pthread_t thread;

	for (int i = 0; i < STABLE; i++)
		require(start_thread(thread_idle, &fd, &thread));
	for (;;) {
		for (int i = 0; i < CHURNED; i++)
			require(start_thread(thread_brief, NULL, &brief[i]));
		for (int i = 0; i < CHURNED; i++)
			pthread_join(brief[i], NULL);
	}
}

static void test_threads_come_and_go(void **unused)
{
	struct job job = job_start(body_churn);
	struct proc_scan *scan = scanner(getpid(), false, 0, false);
	const struct proc_thread *threads;
	pid_t stable[STABLE];

	(void)unused;
	for (int i = 0; i < STABLE; i++)
		stable[i] = hear(job.hear);
	for (int round = 0; round < SCANS; round++) {
		size_t n = run(scan, &threads);

		assert_non_null(find(threads, n, job.pid));
		for (int i = 0; i < STABLE; i++)
			if (!find(threads, n, stable[i]) && proc_scan_settled(scan))
				fail_msg("thread %d of %d missed in scan %d", i, STABLE, round);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(threads[i].pid, job.pid);
			for (size_t j = 0; j < i; j++)
				assert_int_not_equal(threads[i].tid, threads[j].tid);
		}
	}
	proc_scan_free(scan);
	job_end(&job);
}

enum { ORPHANS = 40, BYSTANDERS = 60 };

/* Processes whose parents end one by one in the middle of scans: each moves to the subreaper, which
 * the scan reads first. They come in twos, so that some end among other ends, and some are the only
 * event of a scan. */
static void body_orphans(int fd)
{
	pid_t middle[ORPHANS];

	signal(SIGCHLD, SIG_IGN); /* no zombies of them remain */
	for (int i = 0; i < ORPHANS; i++) {
		middle[i] = fork_below();
		require(middle[i] >= 0);
		if (middle[i] > 0)
			continue;
		if (fork() == 0)
			body_idle(fd);
		wait_for_the_end();
	}
	/* Wait for SIGCONT. */
	require(raise(SIGSTOP) == 0);
	for (int i = 0; i < ORPHANS; i++) {
		kill(middle[i], SIGKILL);
		usleep(i % 2 ? 5000 : 200);
	}
	wait_for_the_end();
}

static void check_orphans(bool by_ppid)
{
	struct job bystander;
	struct job job;
	struct proc_scan *scan = scanner(getpid(), false, 0, by_ppid);
	const struct proc_thread *threads;
	pid_t orphans[ORPHANS];
	size_t n = 0;

	/* They give time for a process to end between the readings of the subreaper and of the
	 * job. */
	for (int i = 0; i < BYSTANDERS; i++) {
		bystander = job_start(body_idle);
		hear(bystander.hear);
		close(bystander.hear);
	}
	job = job_start(body_orphans);
	for (int i = 0; i < ORPHANS; i++)
		orphans[i] = hear(job.hear);
	assert_int_equal(waitpid(job.pid, NULL, WUNTRACED), job.pid);
	kill(job.pid, SIGCONT);
	/* Until only the first process and the orphans are left of the job. */
	do {
		n = run(scan, &threads);
		for (int i = 0; i < ORPHANS; i++)
			if (!find(threads, n, orphans[i]) && proc_scan_settled(scan))
				fail_msg("orphan %d of %d was missed among %zu threads", i, ORPHANS,
					n);
	} while (n != BYSTANDERS + 1 + ORPHANS || !proc_scan_settled(scan));
	proc_scan_free(scan);
	job_end(&job);
}

static void test_orphans(void **unused)
{
	(void)unused;
	check_orphans(false);
}

static void test_orphans_by_ppid(void **unused)
{
	(void)unused;
	check_orphans(true);
}

/* ---- watch ---- */

static void test_watch_sees_births(void **unused)
{
	struct proc_watch watch;

	(void)unused;
	proc_watch_init(&watch);
	if (!watch.trusted)
		print_message("NOTE: /proc/loadavg is not the kernel's own here\n");
	assert_true(proc_watch_changed(&watch));
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		assert_true(start_thread(thread_brief, NULL, &thread));
		pthread_join(thread, NULL);
		assert_true(proc_watch_changed(&watch));
	}
	proc_watch_deinit(&watch);
	proc_watch_deinit(&watch);
	assert_true(proc_watch_changed(&watch));
}

/* A file that isn't the kernel's own, or no longer is: always yes. */
static void test_watch_untrusted(void **unused)
{
	struct proc_watch watch = {0};
	int ends[2];

	(void)unused;
	assert_true(proc_watch_changed(&watch));
	proc_watch_deinit(&watch);

	proc_watch_init(&watch);
	if (!watch.trusted) {
		print_message("SKIP: /proc/loadavg is not the kernel's own here\n");
		skip();
	}
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dup2(ends[0], watch.fd), watch.fd); /* pread fails on it */
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; i < 20; i++)
		assert_true(proc_watch_changed(&watch));
	assert_false(watch.trusted);
	proc_watch_deinit(&watch);
}

static _Atomic bool computing;

static void *thread_computing(void *unused)
{
	(void)unused;
	while (computing)
		;
	return NULL;
}

static void test_running(void **unused)
{
	struct proc_watch watch;
	pthread_t threads[3];
	int n = 0;

	(void)unused;
	computing = true;
	while (n < 3 && start_thread(thread_computing, NULL, &threads[n]))
		n++;
	int running = proc_running();
	proc_watch_init(&watch);
	computing = false;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	bool trusted = watch.trusted;
	proc_watch_deinit(&watch);
	if (!trusted) {
		print_message("SKIP: /proc/loadavg is not the kernel's own here\n");
		skip();
	}
	assert_true(n == 3 && running >= n);
}

/* Yes first, then as often as the header says, then never again. */
static bool settles(struct proc_watch *watch)
{
	for (int call = 0; call <= 8; call++)
		if (proc_watch_changed(watch) != (call == 0 || call == 1 || call == 8))
			return false;
	for (int call = 0; call < 1000; call++)
		if (proc_watch_changed(watch))
			return false;
	return true;
}

enum { NO_NAMESPACE = -2, ANSWERS = 5 };

/* Alone in a PID namespace, so that each birth there is one of ours. Sends the number of the line
 * that failed. */
static void body_watch_in_namespace(int fd)
{
	struct proc_watch watch;
	pthread_t thread;
	pid_t pid;

	proc_watch_init(&watch);
	say(fd, settles(&watch) ? 0 : __LINE__);
	require(start_thread(thread_brief, NULL, &thread));
	say(fd, settles(&watch) ? 0 : __LINE__);
	/* A thread that ends is not a birth. */
	pthread_join(thread, NULL);
	say(fd, proc_watch_changed(&watch) ? __LINE__ : 0);
	pid = fork();
	require(pid >= 0);
	if (pid == 0)
		_exit(0);
	say(fd, settles(&watch) ? 0 : __LINE__);
	require(waitpid(pid, NULL, 0) == pid);
	/* A container within the job: processes born there have a number here as well. */
	require(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	require(pid >= 0);
	if (pid == 0) {
		require(start_thread(thread_brief, NULL, &thread));
		pthread_join(thread, NULL);
		_exit(0);
	}
	require(waitpid(pid, NULL, 0) == pid);
	say(fd, settles(&watch) ? 0 : __LINE__);
	proc_watch_deinit(&watch);
	wait_for_the_end();
}

static void body_namespace(int fd)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0) {
		say(fd, NO_NAMESPACE);
		return;
	}
	/* Not fork_below(): the parent is not visible in there. */
	pid = fork();
	require(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body_watch_in_namespace(fd);
	}
	/* If it sends less than expected, the test has to see the end of file. */
	waitpid(pid, NULL, 0);
}

static void test_watch_in_namespace(void **unused)
{
	struct job job;
	struct proc_watch watch;
	pid_t said;

	(void)unused;
	proc_watch_init(&watch);
	if (!watch.trusted) {
		print_message("SKIP: /proc/loadavg is not the kernel's own here\n");
		skip();
	}
	proc_watch_deinit(&watch);
	job = job_start(body_namespace);
	said = hear(job.hear);
	if (said == NO_NAMESPACE) {
		print_message("SKIP: no pid namespace may be made here\n");
		job_end(&job);
		skip();
	}
	for (int i = 0; i < ANSWERS; i++) {
		if (said != 0)
			fail_msg("the line that did not hold: %d", (int)said);
		if (i < ANSWERS - 1)
			said = hear(job.hear);
	}
	job_end(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_tree, end_all),
		cmocka_unit_test_teardown(test_tree_by_ppid, end_all),
		cmocka_unit_test_teardown(test_known_threads, end_all),
		cmocka_unit_test_teardown(test_read_thread, end_all),
		cmocka_unit_test_teardown(test_double_fork, end_all),
		cmocka_unit_test_teardown(test_except, end_all),
		cmocka_unit_test_teardown(test_zombie_leader, end_all),
		cmocka_unit_test_teardown(test_zombie_job, end_all),
		cmocka_unit_test_teardown(test_many_threads, end_all),
		cmocka_unit_test_teardown(test_threads_come_and_go, end_all),
		cmocka_unit_test_teardown(test_orphans, end_all),
		cmocka_unit_test_teardown(test_orphans_by_ppid, end_all),
		cmocka_unit_test_teardown(test_watch_sees_births, end_all),
		cmocka_unit_test_teardown(test_watch_untrusted, end_all),
		cmocka_unit_test(test_running),
		cmocka_unit_test_teardown(test_watch_in_namespace, end_all),
	};

	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, setup, NULL);
}
