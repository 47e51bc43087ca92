// SPDX-License-Identifier: MIT
/*
 * The ledger: threads get back the masks they had, even when the process that recorded them was
 * killed, and no thread gets the mask of another. Newborn threads get the mask that they would have
 * inherited. CPUs 1000 and 1001 are numbers that a mask may hold, not CPUs that are used; with real
 * CPUs these tests would need two.
 */
#undef NDEBUG
#include "daemon/job/ledger.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/act/act.h"
#include "daemon/proc/proc.h"

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message("SKIPPED: " __VA_ARGS__);                                            \
		skip();                                                                            \
	} while (0)

enum { ENTRIES = 65536 };

/* A thread that sleeps until it is asked to end, and what identifies it. */
struct sleeper {
	pthread_t thread;
	sem_t begun, end;
	pid_t pid, tid;
	uint64_t start_ticks;
	struct cpuset mask; /* the one it began with */
};

static void *sleep_until_asked(void *argument)
{
	struct sleeper *s = argument;

	s->tid = (pid_t)syscall(SYS_gettid);
	sem_post(&s->begun);
	while (sem_wait(&s->end) < 0)
		;
	return NULL;
}

static uint64_t start_ticks(pid_t pid, pid_t tid)
{
	struct proc_thread thread;

	assert_int_equal(proc_read_thread(pid, tid, &thread), 0);
	return thread.start_ticks;
}

static void begin(struct sleeper *s)
{
	memset(s, 0, sizeof *s);
	sem_init(&s->begun, 0, 0);
	sem_init(&s->end, 0, 0);
	assert_int_equal(pthread_create(&s->thread, NULL, sleep_until_asked, s), 0);
	while (sem_wait(&s->begun) < 0)
		;
	s->pid = getpid();
	s->start_ticks = start_ticks(s->pid, s->tid);
	assert_int_equal(cpuset_of_thread(s->tid, &s->mask), 0);
}

/* The kernel lets pthread_join() return a moment before the thread is gone. */
static void finish(struct sleeper *s)
{
	struct proc_thread thread;

	sem_post(&s->end);
	assert_int_equal(pthread_join(s->thread, NULL), 0);
	while (proc_read_thread(s->pid, s->tid, &thread) == 0)
		sched_yield();
	sem_destroy(&s->begun);
	sem_destroy(&s->end);
}

static struct ledger *new_ledger(void)
{
	struct ledger *ledger = NULL;

	assert_int_equal(ledger_new(&ledger), 0);
	assert_non_null(ledger);
	return ledger;
}

static void assert_mask(pid_t tid, const struct cpuset *expected)
{
	struct cpuset mask;

	assert_int_equal(cpuset_of_thread(tid, &mask), 0);
	assert_memory_equal(&mask, expected, sizeof mask);
}

static struct cpuset mask_of(int a, int b)
{
	struct cpuset mask = {{0}};

	cpuset_add(&mask, a);
	cpuset_add(&mask, b);
	return mask;
}

/* The last CPU of a mask: pinning to it changes most. */
static int last_cpu(const struct cpuset *mask)
{
	int cpu = CPUSET_CPUS_MAX - 1;

	while (!cpuset_has(mask, cpu))
		cpu--;
	return cpu;
}

static int record(struct ledger *ledger, const struct sleeper *s)
{
	int entry = ledger_record(ledger, s->pid, s->tid, s->start_ticks, &s->mask);

	assert_in_range(entry, 0, ENTRIES - 1);
	return entry;
}

static void test_restore(void **state)
{
	struct ledger *ledger = new_ledger();
	struct cpuset mask;
	struct sleeper s;
	(void)state;

	begin(&s);
	int entry = record(ledger, &s);
	ledger_mask(ledger, entry, &mask);
	assert_memory_equal(&mask, &s.mask, sizeof mask);
	for (int i = 0; i < 3; i++) { /* the entry stays */
		assert_int_equal(act_pin(s.tid, last_cpu(&s.mask)), 0);
		assert_int_equal(ledger_restore(ledger, entry, NULL), 0);
		assert_mask(s.tid, &s.mask);
	}
	finish(&s);
	assert_int_equal(ledger_restore(ledger, entry, NULL), -ESRCH);
	ledger_free(ledger);
}

/* -c limits the restored mask while juggle lives. */
static void test_restore_within(void **state)
{
	struct ledger *ledger = new_ledger();
	struct cpuset within, one = {{0}};
	struct sleeper s;
	(void)state;

	if (sysconf(_SC_NPROCESSORS_CONF) > 1000) {
		ledger_free(ledger);
		SKIP("CPU 1000 may be there\n");
	}
	begin(&s);
	int here = cpuset_nth(&s.mask, 0);
	cpuset_add(&one, here);

	struct cpuset had = mask_of(here, 1000);
	int entry = ledger_record(ledger, s.pid, s.tid, s.start_ticks, &had);
	within = mask_of(here, 1001);
	assert_int_equal(ledger_restore(ledger, entry, &within), 0);
	assert_mask(s.tid, &one);
	/* Nothing would be left: restore all CPUs. */
	had = mask_of(1000, 1000);
	entry = ledger_record(ledger, s.pid, s.tid, s.start_ticks, &had);
	assert_int_equal(act_set_mask(s.tid, &s.mask), 0);
	assert_int_equal(ledger_restore(ledger, entry, &within), 0);
	assert_mask(s.tid, &one);
	/* The recorded mask is unchanged. */
	struct cpuset mask;
	ledger_mask(ledger, entry, &mask);
	assert_memory_equal(&mask, &had, sizeof mask);

	if (cpuset_count(&s.mask) > 1) {
		entry = record(ledger, &s);
		struct cpuset last = mask_of(last_cpu(&s.mask), 1000);
		assert_int_equal(ledger_restore(ledger, entry, &last), 0);
		last = mask_of(last_cpu(&s.mask), -1);
		assert_mask(s.tid, &last);
	}
	finish(&s);
	ledger_free(ledger);
}

/* When another thread has the tid by now, it is left alone. */
static void test_reused_tid(void **state)
{
	struct ledger *ledger = new_ledger();
	struct cpuset one = {{0}};
	struct sleeper s;
	(void)state;

	begin(&s);
	cpuset_add(&one, last_cpu(&s.mask));
	int older = ledger_record(ledger, s.pid, s.tid, s.start_ticks - 1, &s.mask);
	int newer = ledger_record(ledger, s.pid, s.tid, s.start_ticks + 1, &s.mask);
	ledger_confined(ledger, older);
	ledger_confined(ledger, newer);
	assert_int_equal(act_pin(s.tid, last_cpu(&s.mask)), 0);
	assert_int_equal(ledger_restore(ledger, older, NULL), -ESRCH);
	assert_int_equal(ledger_restore(ledger, newer, NULL), -ESRCH);
	assert_int_equal(ledger_restore_all(ledger), 2);
	assert_mask(s.tid, &one);
	finish(&s);
	ledger_free(ledger);
}

static void test_restore_all(void **state)
{
	struct ledger *ledger = new_ledger();
	struct sleeper s[3];
	int entry[3];
	(void)state;

	assert_int_equal(ledger_restore_all(ledger), 0);
	for (int i = 0; i < 3; i++) {
		begin(&s[i]);
		entry[i] = record(ledger, &s[i]);
		ledger_confined(ledger, entry[i]);
		assert_int_equal(act_pin(s[i].tid, last_cpu(&s[i].mask)), 0);
	}
	ledger_forget(ledger, entry[1]);
	assert_int_equal(ledger_restore(ledger, entry[1], NULL), -ESRCH);
	assert_int_equal(ledger_restore_all(ledger), 2);
	struct cpuset one = mask_of(last_cpu(&s[1].mask), -1);
	assert_mask(s[0].tid, &s[0].mask);
	assert_mask(s[1].tid, &one);
	assert_mask(s[2].tid, &s[2].mask);

	/* A thread that has ended does not stop the others. */
	finish(&s[0]);
	ledger_confined(ledger, entry[2]);
	assert_int_equal(act_pin(s[2].tid, last_cpu(&s[2].mask)), 0);
	assert_int_equal(ledger_restore_all(ledger), 2);
	assert_mask(s[2].tid, &s[2].mask);
	finish(&s[1]);
	finish(&s[2]);
	ledger_free(ledger);
}

static void *execute_when_told(void *argument)
{
	const int *fds = argument;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char told;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(fds[1], &tid, sizeof tid) == sizeof tid && read(fds[2], &told, 1) == 1)
		execlp("sleep", "sleep", "1000", NULL);
	_exit(1);
}

static pid_t executor; /* 0: none */

static int end_executor(void **state)
{
	(void)state;
	if (executor > 0) {
		kill(executor, SIGKILL);
		waitpid(executor, NULL, 0);
	}
	executor = 0;
	return 0;
}

/* A process whose second thread executes sleep(1) when told: the first one waits for it. */
static pid_t start_executor(pid_t *worker, int *tell_fd)
{
	int told[2], tell[2];

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(tell), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	executor = pid;
	if (pid == 0) {
		int fds[] = {-1, told[1], tell[0]};
		pthread_t thread;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, execute_when_told, fds) == 0)
			pthread_join(thread, NULL);
		_exit(1);
	}
	assert_int_equal(read(told[0], worker, sizeof *worker), sizeof *worker);
	close(told[0]);
	close(told[1]);
	close(tell[0]);
	*tell_fd = tell[1];
	return pid;
}

/* A confined thread that executes a program becomes the first of its process, which was never confined. */
static void test_executes(void **state)
{
	struct cpuset all;
	(void)state;

	assert_int_equal(cpuset_of_thread(0, &all), 0);
	if (cpuset_count(&all) < 2)
		SKIP("needs two CPUs\n");
	for (int forgotten = 0; forgotten <= 1; forgotten++) {
		struct ledger *ledger = new_ledger();
		struct proc_thread now;
		int tell_fd;
		pid_t worker, pid = start_executor(&worker, &tell_fd);

		int leads = ledger_record(ledger, pid, pid, start_ticks(pid, pid), &all);
		int works = ledger_record(ledger, pid, worker, start_ticks(pid, worker), &all);
		ledger_confined(ledger, works);
		assert_int_equal(act_pin(worker, last_cpu(&all)), 0);
		assert_int_equal(write(tell_fd, "", 1), 1);
		while (proc_read_thread(pid, worker, &now) == 0)
			sched_yield();
		struct cpuset last = mask_of(last_cpu(&all), -1);
		assert_mask(pid, &last);
		if (forgotten) {
			ledger_suspect(ledger, leads, NULL);
			assert_mask(pid, &all);
			assert_int_equal(act_pin(pid, last_cpu(&all)), 0);
			ledger_forget(ledger, works);
		}
		assert_int_equal(ledger_restore_all(ledger), 2 - forgotten);
		assert_mask(pid, &all);
		close(tell_fd);
		end_executor(NULL);
		ledger_free(ledger);
	}
}

/* The masks that threads set by themselves, while they are not confined, are theirs. */
static void test_masks_of_their_own(void **state)
{
	struct ledger *ledger = new_ledger();
	static struct sleeper s[4]; /* the threads outlive a test that fails */
	int entry[4];
	(void)state;

	for (int i = 0; i < 4; i++) {
		begin(&s[i]);
		entry[i] = record(ledger, &s[i]);
		assert_false(ledger_is_changed(ledger, entry[i]));
	}
	if (cpuset_count(&s[0].mask) < 2) {
		for (int i = 0; i < 4; i++)
			finish(&s[i]);
		ledger_free(ledger);
		SKIP("needs two CPUs\n");
	}
	struct cpuset first = mask_of(cpuset_nth(&s[0].mask, 0), -1);
	struct cpuset last = mask_of(last_cpu(&s[0].mask), -1);

	/* Never confined; and confined, but released. */
	ledger_confined(ledger, entry[1]);
	assert_int_equal(act_set_mask(s[1].tid, &first), 0);
	assert_int_equal(ledger_restore(ledger, entry[1], NULL), 0);
	assert_false(ledger_is_changed(ledger, entry[1]));
	/* What -c has cut off is still to be given back. */
	ledger_confined(ledger, entry[2]);
	assert_int_equal(ledger_restore(ledger, entry[2], &first), 0);
	assert_mask(s[2].tid, &first);
	assert_true(ledger_is_changed(ledger, entry[2]));
	/* Released, and confined again. */
	ledger_confined(ledger, entry[3]);
	assert_int_equal(ledger_restore(ledger, entry[3], &s[3].mask), 0);
	assert_false(ledger_is_changed(ledger, entry[3]));
	ledger_confined(ledger, entry[3]);
	for (int i = 0; i < 4; i++)
		assert_int_equal(act_set_mask(s[i].tid, &last), 0);

	assert_int_equal(ledger_restore_all(ledger), 4);
	assert_mask(s[0].tid, &last);
	assert_mask(s[1].tid, &last);
	assert_mask(s[2].tid, &s[2].mask);
	assert_mask(s[3].tid, &s[3].mask);
	/* The next thread in an entry has nothing of the one before. */
	ledger_confined(ledger, entry[0]);
	ledger_forget(ledger, entry[0]);
	assert_int_equal(record(ledger, &s[0]), entry[0]);
	assert_false(ledger_is_changed(ledger, entry[0]));
	/* One that was born confined has a changed mask from the beginning. */
	ledger_forget(ledger, entry[0]);
	assert_int_equal(
		ledger_record_confined(ledger, s[0].pid, s[0].tid, s[0].start_ticks, &s[0].mask),
		entry[0]);
	assert_true(ledger_is_changed(ledger, entry[0]));
	for (int i = 0; i < 4; i++)
		finish(&s[i]);
	ledger_free(ledger);
}

/* Full at 65,536 entries; each forgotten one can be used again. No thread is touched. */
static void test_full(void **state)
{
	struct ledger *ledger = new_ledger();
	static const int forgotten[] = {65535, 0, 30000};
	struct cpuset mask, back;
	(void)state;

	for (int i = 0; i < ENTRIES; i++) {
		mask = mask_of(i % 1000, 7);
		assert_int_equal(ledger_record(ledger, 1, i + 1, 5, &mask), i);
	}
	mask = mask_of(3, 999);
	assert_int_equal(ledger_record(ledger, 1, 70000, 5, &mask), -ENOSPC);
	for (int i = 0; i < 3; i++) {
		ledger_forget(ledger, forgotten[i]);
		assert_int_equal(ledger_record(ledger, 1, 70000, 5, &mask), forgotten[i]);
		assert_int_equal(ledger_record(ledger, 1, 70000, 5, &mask), -ENOSPC);
		ledger_mask(ledger, forgotten[i], &back);
		assert_memory_equal(&back, &mask, sizeof mask);
	}
	for (int i = 1; i < ENTRIES - 1; i++) {
		if (i == 30000)
			continue;
		mask = mask_of(i % 1000, 7);
		ledger_mask(ledger, i, &back);
		assert_memory_equal(&back, &mask, sizeof mask);
	}
	ledger_free(ledger);
}

/* However many threads come and go, the ledger is as long as there were at once. */
static void test_churn(void **state)
{
	struct ledger *ledger = new_ledger();
	struct cpuset mask = mask_of(1, 2);
	(void)state;

	assert_int_equal(ledger_record(ledger, 1, 1, 5, &mask), 0);
	for (int i = 0; i < 2 * ENTRIES; i++) {
		assert_int_equal(ledger_record(ledger, 1, 2, 5, &mask), 1);
		assert_int_equal(ledger_record(ledger, 1, 3, 5, &mask), 2);
		ledger_forget(ledger, 2);
		ledger_forget(ledger, 1);
	}
	ledger_free(ledger);
}

/* The balancer records masks, pins, and is killed; the keeper restores everything. */
static void test_survives_the_writer(void **state)
{
	struct ledger *ledger = new_ledger();
	struct sleeper s[2];
	int status;
	(void)state;

	begin(&s[0]);
	begin(&s[1]);
	pid_t balancer = fork();
	assert_true(balancer >= 0);
	if (balancer == 0) {
		for (int i = 0; i < 2; i++) {
			int entry = ledger_record(
				ledger, s[i].pid, s[i].tid, s[i].start_ticks, &s[i].mask);
			if (entry < 0)
				_exit(1);
			ledger_confined(ledger, entry);
			if (act_pin(s[i].tid, last_cpu(&s[i].mask)) < 0)
				_exit(1);
		}
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(balancer, &status, 0), balancer);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	for (int i = 0; i < 2; i++) {
		struct cpuset one = mask_of(last_cpu(&s[i].mask), -1);
		assert_mask(s[i].tid, &one);
	}
	assert_int_equal(ledger_restore_all(ledger), 2);
	assert_mask(s[0].tid, &s[0].mask);
	assert_mask(s[1].tid, &s[1].mask);
	finish(&s[0]);
	finish(&s[1]);
	ledger_free(ledger);
}

/* ---- The inherited mask ---- */

/* An entry as a line of a table. Its mask is one CPU, by which the test recognizes it. */
struct line {
	pid_t pid, tid;
	bool confined;
	int os_cpu;
};

enum { CHILD = 30, PARENT = 20, OTHER = 10, TICKS = 5 };

static struct ledger *ledger_of(const struct line *line)
{
	struct ledger *ledger = new_ledger();

	for (; line->pid != 0; line++) {
		struct cpuset mask = mask_of(line->os_cpu, -1);
		int entry = ledger_record(ledger, line->pid, line->tid, TICKS, &mask);
		assert_true(entry >= 0);
		if (line->confined)
			ledger_confined(ledger, entry);
	}
	return ledger;
}

/* The CPU in the mask that the thread inherits; -1: it inherits none. */
static int inherited_cpu(const struct ledger *ledger, const struct proc_thread *thread)
{
	struct cpuset mask, before;

	memset(&mask, 0x5a, sizeof mask);
	before = mask;
	int r = ledger_inherited(ledger, thread, &mask);
	if (r < 0) {
		assert_int_equal(r, -ENOENT);
		assert_memory_equal(&mask, &before, sizeof mask);
		return -1;
	}
	assert_int_equal(r, 0);
	assert_int_equal(cpuset_count(&mask), 1);
	return cpuset_nth(&mask, 0);
}

static void test_inherited(void **state)
{
	static const struct {
		const char *name;
		struct line line[5];
		int expected;
	} cases[] = {
		{"nothing is recorded", {{0}}, -1},
		{"of its process", {{CHILD, 31, true, 1}}, 1},
		{"its process, not the parent",
			{{CHILD, 31, true, 1}, {PARENT, 20, true, 2}, {OTHER, 10, true, 3}}, 1},
		{"the same in another order",
			{{OTHER, 10, true, 3}, {PARENT, 20, true, 2}, {CHILD, 31, true, 1}}, 1},
		{"a confined one of its process",
			{{CHILD, 31, false, 1}, {CHILD, 32, true, 2}, {CHILD, 33, false, 3}}, 2},
		{"the last of several", {{CHILD, 31, true, 1}, {CHILD, 32, true, 2}}, 2},
		{"its process chose that CPU",
			{{CHILD, 31, false, 1}, {PARENT, 20, true, 2}, {OTHER, 10, true, 3}}, -1},
		{"of its parent", {{PARENT, 20, true, 2}, {OTHER, 10, true, 3}}, 2},
		{"of its parent, whichever thread", {{PARENT, 21, true, 2}, {PARENT, 20, false, 1}},
			2},
		{"its parent chose that CPU", {{PARENT, 20, false, 2}, {OTHER, 10, true, 3}}, -1},
		{"of an ancestor", {{OTHER, 11, false, 1}, {OTHER, 10, true, 3}}, 3},
		{"nobody was confined", {{OTHER, 11, false, 1}, {OTHER, 10, false, 3}}, -1},
		{"it is recorded itself", {{CHILD, 30, true, 1}, {PARENT, 20, true, 2}}, -1},
		{"and with others of its process", {{CHILD, 31, true, 1}, {CHILD, 30, false, 2}},
			-1},
	};
	const struct proc_thread thread = {
		.pid = CHILD, .tid = CHILD, .ppid = PARENT, .start_ticks = TICKS};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct ledger *ledger = ledger_of(cases[i].line);
		int cpu = inherited_cpu(ledger, &thread);
		ledger_free(ledger);
		if (cpu != cases[i].expected)
			fail_msg("%s: CPU %d", cases[i].name, cpu);
	}
}

/* An earlier thread with the same tid is a different thread; one that has ended no longer
 * counts. */
static void test_inherited_of_others(void **state)
{
	const struct line lines[] = {{CHILD, CHILD, true, 1}, {PARENT, PARENT, true, 2}, {0}};
	struct proc_thread thread = {
		.pid = CHILD, .tid = CHILD, .ppid = PARENT, .start_ticks = TICKS};
	struct ledger *ledger = ledger_of(lines);
	(void)state;

	assert_int_equal(inherited_cpu(ledger, &thread), -1);
	thread.start_ticks++;
	assert_int_equal(inherited_cpu(ledger, &thread), 1);
	ledger_forget(ledger, 0);
	assert_int_equal(inherited_cpu(ledger, &thread), 2);
	ledger_forget(ledger, 1);
	assert_int_equal(inherited_cpu(ledger, &thread), -1);

	/* An entry that is reused does not stay confined. */
	while (ledger_record(ledger, OTHER, OTHER, TICKS, &(struct cpuset){{4}}) != 0)
		;
	assert_int_equal(inherited_cpu(ledger, &thread), -1);
	ledger_free(ledger);
}

/* A child that sleeps until it is killed, and was born with the caller's mask. */
static pid_t fork_sleeper(void)
{
	pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test fails */
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return pid;
}

static void end_sleeper(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Children of a confined thread that nobody has recorded get its mask; others keep theirs. */
static void test_restore_born(void **state)
{
	struct ledger *ledger = new_ledger();
	struct proc_scan_options what = {.root = getpid()};
	struct proc_scan *scan;
	struct cpuset mask, two = {{0}};
	(void)state;

	assert_int_equal(cpuset_of_thread(0, &mask), 0);
	if (cpuset_count(&mask) < 2) {
		ledger_free(ledger);
		SKIP("needs two CPUs\n");
	}
	cpuset_add(&two, cpuset_nth(&mask, 0));
	cpuset_add(&two, cpuset_nth(&mask, 1));
	struct cpuset first = mask_of(cpuset_nth(&mask, 0), -1);
	pid_t self = getpid();
	int entry = ledger_record(ledger, self, self, start_ticks(self, self), &two);
	ledger_confined(ledger, entry);
	assert_int_equal(act_set_mask(0, &first), 0);
	pid_t born = fork_sleeper(), recorded = fork_sleeper();
	assert_int_equal(act_set_mask(0, &mask), 0);
	pid_t free_one = fork_sleeper();
	entry = ledger_record(ledger, recorded, recorded, start_ticks(recorded, recorded), &first);
	assert_true(entry >= 0);

	assert_int_equal(proc_scan_new(&scan, &what), 0);
	ledger_restore_born(ledger, scan);
	proc_scan_free(scan);
	assert_mask(born, &two);
	assert_mask(recorded, &first);
	assert_mask(free_one, &mask);
	end_sleeper(born);
	end_sleeper(recorded);
	end_sleeper(free_one);
	ledger_free(ledger);
}

/* Threads with short slices get the default one back, and so do those that have inherited one, met or not; not one
 * that had a short one before, nor one whose parent had chosen one. */
static void test_slices(void **state)
{
	uint64_t default_ns = act_default_slice();
	struct ledger *ledger = new_ledger();
	struct proc_scan_options what = {.root = getpid()};
	struct proc_scan *scan;
	struct sleeper s[3];
	int entry[3];
	(void)state;

	if (default_ns == 0) {
		ledger_free(ledger);
		SKIP("this kernel has no slices of single threads\n");
	}
	for (int i = 0; i < 3; i++) {
		/* The one in the middle has chosen its slice. */
		assert_int_equal(act_set_own_slice(i == 1 ? ACT_SLICE_LEAST_NS : 0), 0);
		begin(&s[i]);
		entry[i] = record(ledger, &s[i]);
		assert_false(ledger_inherits_short(ledger, entry[i]));
	}
	assert_int_equal(ledger_shorten(ledger, entry[0], default_ns), 0);
	assert_true(act_has_short_slice(s[0].tid));
	assert_int_equal(ledger_shorten(ledger, entry[1], default_ns), -ENOTSUP);
	ledger_lengthen(ledger, entry[2]); /* it never had one */
	ledger_lengthen(ledger, entry[0]);
	assert_false(act_has_short_slice(s[0].tid));
	assert_int_equal(ledger_shorten(ledger, entry[0], default_ns), 0);
	/* In a class without slices it keeps the one that it had. */
	const struct sched_param none = {0};
	assert_int_equal(sched_setscheduler(s[0].tid, SCHED_IDLE, &none), 0);
	ledger_lengthen(ledger, entry[0]);
	assert_int_equal(sched_setscheduler(s[0].tid, SCHED_OTHER, &none), 0);
	assert_true(act_has_short_slice(s[0].tid));
	assert_int_equal(ledger_restore_all(ledger), 3);
	assert_false(act_has_short_slice(s[0].tid));

	/* A child whose parent had chosen a short one. */
	assert_int_equal(act_set_own_slice(ACT_SLICE_LEAST_NS), 0);
	pid_t chosen = fork_sleeper();
	assert_int_equal(act_set_own_slice(0), 0);
	int other = ledger_record(ledger, chosen, chosen, start_ticks(chosen, chosen), &s[0].mask);
	assert_false(ledger_inherits_short(ledger, other));
	ledger_forget(ledger, other);

	pid_t self = getpid();
	int own = ledger_record(ledger, self, self, start_ticks(self, self), &s[0].mask);
	assert_int_equal(ledger_shorten(ledger, own, default_ns), 0);
	pid_t met = fork_sleeper(), born = fork_sleeper();
	int child = ledger_record(ledger, met, met, start_ticks(met, met), &s[0].mask);
	assert_true(ledger_inherits_short(ledger, child));
	assert_int_equal(ledger_restore_all(ledger), 5);
	assert_false(act_has_short_slice(self));
	assert_false(act_has_short_slice(met));
	assert_true(act_has_short_slice(born));
	assert_int_equal(proc_scan_new(&scan, &what), 0);
	ledger_restore_born(ledger, scan);
	proc_scan_free(scan);
	assert_false(act_has_short_slice(born));
	assert_int_equal(act_shorten_slice(chosen, ACT_SLICE_LEAST_NS), 0); /* it had that one */
	assert_int_equal(act_shorten_slice(s[1].tid, ACT_SLICE_LEAST_NS), 0);
	end_sleeper(chosen);
	end_sleeper(met);
	end_sleeper(born);
	for (int i = 0; i < 3; i++)
		finish(&s[i]);
	ledger_free(ledger);
}

static void test_free_null(void **state)
{
	(void)state;
	ledger_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_restore_within),
		cmocka_unit_test(test_reused_tid),
		cmocka_unit_test(test_restore_all),
		cmocka_unit_test_teardown(test_executes, end_executor),
		cmocka_unit_test(test_masks_of_their_own),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_churn),
		cmocka_unit_test(test_survives_the_writer),
		cmocka_unit_test(test_inherited),
		cmocka_unit_test(test_inherited_of_others),
		cmocka_unit_test(test_restore_born),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_free_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
