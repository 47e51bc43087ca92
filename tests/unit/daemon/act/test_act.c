// SPDX-License-Identifier: MIT
/*
 * Affinity masks, on threads created for this: the test's own keep theirs. With one CPU there is
 * less to see, but nothing fails.
 */
#undef NDEBUG
#include "daemon/act/act.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message("SKIPPED: " __VA_ARGS__);                                            \
		skip();                                                                            \
	} while (0)

/* A thread that sleeps, and reports on request on which CPU it woke up. */
struct sleeper {
	pthread_t thread;
	sem_t asked, answered;
	pid_t tid;
	int os_cpu;
	bool end;
};

static void *sleep_and_report(void *argument)
{
	struct sleeper *s = argument;

	s->tid = (pid_t)syscall(SYS_gettid);
	do {
		s->os_cpu = sched_getcpu();
		sem_post(&s->answered);
		while (sem_wait(&s->asked) < 0)
			;
	} while (!s->end);
	return NULL;
}

static void ask(struct sleeper *s)
{
	sem_post(&s->asked);
	while (sem_wait(&s->answered) < 0)
		;
}

static void begin(struct sleeper *s)
{
	memset(s, 0, sizeof *s);
	sem_init(&s->asked, 0, 0);
	sem_init(&s->answered, 0, 0);
	assert_int_equal(pthread_create(&s->thread, NULL, sleep_and_report, s), 0);
	while (sem_wait(&s->answered) < 0)
		;
}

static void finish(struct sleeper *s)
{
	s->end = true;
	sem_post(&s->asked);
	assert_int_equal(pthread_join(s->thread, NULL), 0);
	sem_destroy(&s->asked);
	sem_destroy(&s->answered);
}

/* The number of a process that has ended. */
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* ---- Masks in general ---- */

static void test_masks(void **state)
{
	static const int cpus[] = {8191, 64, 63, 4096, 0, 64};
	struct cpuset mask = {{0}};
	(void)state;

	assert_int_equal(cpuset_count(&mask), 0);
	assert_int_equal(cpuset_nth(&mask, 0), -1);
	cpuset_add(&mask, -1);
	cpuset_add(&mask, CPUSET_CPUS_MAX);
	cpuset_add(&mask, INT32_MIN);
	cpuset_add(&mask, INT32_MAX);
	assert_int_equal(cpuset_count(&mask), 0);
	for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++)
		cpuset_add(&mask, cpus[i]);
	assert_int_equal(cpuset_count(&mask), 5);
	assert_int_equal(cpuset_nth(&mask, 0), 0);
	for (int cpu = -70; cpu < CPUSET_CPUS_MAX + 70; cpu++)
		assert_true(cpuset_has(&mask, cpu) ==
			    (cpu == 0 || cpu == 63 || cpu == 64 || cpu == 4096 || cpu == 8191));
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++) {
		struct cpuset one = {{0}};
		cpuset_add(&one, cpu);
		assert_int_equal(cpuset_nth(&one, 0), cpu);
		assert_int_equal(cpuset_count(&one), 1);
	}
}

/* ---- Masks of threads ---- */

static void test_get_mask(void **state)
{
	struct cpuset mask;
	cpu_set_t set;
	(void)state;

	if (sched_getaffinity(0, sizeof set, &set) < 0)
		SKIP("more CPUs than cpu_set_t has room for\n");
	memset(&mask, 0xff, sizeof mask);
	assert_int_equal(cpuset_of_thread(0, &mask), 0);
	assert_int_equal(cpuset_count(&mask), CPU_COUNT(&set));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		assert_true(cpuset_has(&mask, cpu) == (CPU_ISSET(cpu, &set) != 0));
	assert_int_equal(cpuset_of_thread(dead_pid(), &mask), -ESRCH);
}

static void test_pin(void **state)
{
	struct cpuset all, mask;
	struct sleeper s;
	(void)state;

	assert_int_equal(cpuset_of_thread(0, &all), 0);
	begin(&s);
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++) {
		if (!cpuset_has(&all, cpu))
			continue;
		assert_int_equal(act_pin(s.tid, cpu), 0);
		assert_int_equal(cpuset_of_thread(s.tid, &mask), 0);
		assert_int_equal(cpuset_count(&mask), 1);
		assert_int_equal(cpuset_nth(&mask, 0), cpu);
		ask(&s);
		assert_int_equal(s.os_cpu, cpu);
	}
	assert_int_equal(act_set_mask(s.tid, &all), 0);
	assert_int_equal(cpuset_of_thread(s.tid, &mask), 0);
	assert_memory_equal(&mask, &all, sizeof mask);
	assert_int_equal(cpuset_of_thread(0, &mask), 0); /* ours is unchanged */
	assert_memory_equal(&mask, &all, sizeof mask);
	finish(&s);
}

static void test_absent_cpus(void **state)
{
	struct cpuset all, mask, absent = {{0}};
	struct sleeper s;
	(void)state;

	long configured = sysconf(_SC_NPROCESSORS_CONF);
	if (configured < 1 || configured > 4096)
		SKIP("no number that is surely not a CPU's\n");
	begin(&s);
	assert_int_equal(cpuset_of_thread(s.tid, &all), 0);
	assert_int_equal(act_pin(s.tid, -1), -EINVAL);
	assert_int_equal(act_pin(s.tid, CPUSET_CPUS_MAX), -EINVAL);
	assert_int_equal(act_pin(s.tid, INT32_MAX), -EINVAL);
	assert_int_equal(act_pin(s.tid, CPUSET_CPUS_MAX - 1), -EINVAL);
	assert_int_equal(act_set_mask(s.tid, &absent), -EINVAL);
	cpuset_add(&absent, CPUSET_CPUS_MAX - 1);
	cpuset_add(&absent, CPUSET_CPUS_MAX - 100);
	assert_int_equal(act_set_mask(s.tid, &absent), -EINVAL);
	assert_int_equal(cpuset_of_thread(s.tid, &mask), 0);
	assert_memory_equal(&mask, &all, sizeof mask);

	/* With one that exists, that one is left. */
	cpuset_add(&absent, cpuset_nth(&all, 0));
	assert_int_equal(act_set_mask(s.tid, &absent), 0);
	assert_int_equal(cpuset_of_thread(s.tid, &mask), 0);
	assert_int_equal(cpuset_count(&mask), 1);
	assert_int_equal(cpuset_nth(&mask, 0), cpuset_nth(&all, 0));
	finish(&s);
}

static void test_gone(void **state)
{
	struct cpuset mask;
	(void)state;

	pid_t pid = dead_pid();
	assert_int_equal(cpuset_of_thread(0, &mask), 0);
	assert_int_equal(act_set_mask(pid, &mask), -ESRCH);
	assert_int_equal(act_pin(pid, cpuset_nth(&mask, 0)), -ESRCH);

	struct sleeper s; /* a thread of a process that lives on */
	begin(&s);
	finish(&s);
	/* pthread_join() returns a moment before the thread is gone. */
	int r = 0;
	for (int tries = 0; tries < 1000 && r != -ESRCH; tries++) {
		r = act_pin(s.tid, cpuset_nth(&mask, 0));
		usleep(1000);
	}
	assert_int_equal(r, -ESRCH);
}

static void test_may_set_mask(void **state)
{
	struct cpuset before, after;
	int status;
	(void)state;

	assert_int_equal(cpuset_of_thread(0, &before), 0);
	assert_int_equal(act_may_set_mask(0), 0);
	assert_int_equal(cpuset_of_thread(0, &after), 0);
	assert_memory_equal(&before, &after, sizeof before);
	assert_int_equal(act_may_set_mask(dead_pid()), -ESRCH);
	if (geteuid() != 0)
		SKIP("needs root, to become another user\n");

	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setuid(65534) < 0 || act_may_set_mask(0) != 0)
			_exit(100);
		_exit(-act_may_set_mask(getppid()));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EPERM);
}

/* ---- The caller's time slice ---- */

/* In a process of its own, so that the test's threads keep what they have. */
static int own_slice_in_child(int policy)
{
	const struct sched_param none = {0};
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (sched_setscheduler(0, policy, &none) < 0 ||
			setpriority(PRIO_PROCESS, 0, 19) < 0)
			_exit(100);
		int r = act_set_own_slice(300000);
		if (sched_getscheduler(0) != policy || getpriority(PRIO_PROCESS, 0) != 19)
			_exit(101);
		_exit(-r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void test_own_slice(void **state)
{
	(void)state;

	assert_int_equal(own_slice_in_child(SCHED_OTHER), 0);
	assert_int_equal(own_slice_in_child(SCHED_BATCH | SCHED_RESET_ON_FORK), 0);
	assert_int_equal(own_slice_in_child(SCHED_IDLE), -ENOTSUP);
}

/* ---- Slices of others ---- */

static void set_class(pid_t pid, int policy)
{
	const struct sched_param none = {0};

	assert_int_equal(sched_setscheduler(pid, policy, &none), 0);
}

static void test_short_slice(void **state)
{
	uint64_t default_ns = act_default_slice();
	struct sleeper s;
	(void)state;

	if (default_ns == 0)
		SKIP("this kernel has no slices of single threads\n");
	assert_true(act_default_slice() == default_ns);
	begin(&s);
	assert_false(act_has_short_slice(s.tid));
	assert_int_equal(act_restore_slice(s.tid), -ENOTSUP);
	assert_int_equal(act_shorten_slice(s.tid, default_ns + 1), -ENOTSUP);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)s.tid, 7), 0);
	assert_int_equal(act_shorten_slice(s.tid, default_ns), 0);
	assert_true(act_has_short_slice(s.tid));
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)s.tid), 7);
	assert_int_equal(act_shorten_slice(s.tid, default_ns), -ENOTSUP);

	/* In another class it has none, and gets none. */
	set_class(s.tid, SCHED_IDLE);
	assert_int_equal(act_restore_slice(s.tid), -ENOTSUP);
	assert_int_equal(act_shorten_slice(s.tid, default_ns), -ENOTSUP);
	assert_int_equal(sched_getscheduler(s.tid), SCHED_IDLE);
	finish(&s);

	begin(&s);
	set_class(s.tid, SCHED_BATCH);
	assert_int_equal(act_shorten_slice(s.tid, default_ns), 0);
	assert_int_equal(act_restore_slice(s.tid), 0);
	assert_false(act_has_short_slice(s.tid));
	assert_int_equal(act_shorten_slice(s.tid, default_ns), 0);
	assert_int_equal(sched_getscheduler(s.tid), SCHED_BATCH);
	finish(&s);
	assert_int_equal(act_shorten_slice(dead_pid(), default_ns), -ESRCH);
	assert_true(act_default_slice() == default_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_get_mask),
		cmocka_unit_test(test_pin),
		cmocka_unit_test(test_absent_cpus),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_may_set_mask),
		cmocka_unit_test(test_own_slice),
		cmocka_unit_test(test_short_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
