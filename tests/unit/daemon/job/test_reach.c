// SPDX-License-Identifier: MIT
/*
 * Threads are asked for the CPUs that their cpusets leave them, by their masks: these have to be what they
 * were afterwards, even if juggle is killed while it asks. Here the cpuset leaves them all.
 */
#undef NDEBUG
#include "daemon/job/reach.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/act/act.h"

/* A process that sleeps, how juggle knows its thread, and the masks to choose from. */
struct asked {
	struct job_thread thread;
	struct ledger *ledger;
	struct cpuset all, first, last; /* all is what it was born with, and what is recorded */
	bool gone; /* it has ended */
};

static const struct cpuset *fatal; /* juggle is killed as soon as it sees this mask */

int __real_cpuset_of_thread(pid_t tid, struct cpuset *out);
int __wrap_cpuset_of_thread(pid_t tid, struct cpuset *out);

int __wrap_cpuset_of_thread(pid_t tid, struct cpuset *out)
{
	int r = __real_cpuset_of_thread(tid, out);

	if (fatal != NULL && memcmp(out, fatal, sizeof *out) == 0)
		raise(SIGKILL);
	return r;
}

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

static struct cpuset one_cpu(int os_cpu)
{
	struct cpuset mask = {{0}};

	cpuset_add(&mask, os_cpu);
	return mask;
}

static int begin(void **state)
{
	static struct asked a;
	struct proc_thread found;

	a = (struct asked){0};
	assert_int_equal(cpuset_of_thread(0, &a.all), 0);
	a.first = one_cpu(cpuset_nth(&a.all, 0));
	a.last = one_cpu(cpuset_nth(&a.all, cpuset_count(&a.all) - 1));
	pid_t pid = fork_sleeper();
	a.thread = (struct job_thread){.slot = {.pid = pid, .tid = pid}, .assigned = true};
	assert_int_equal(ledger_new(&a.ledger), 0);
	assert_int_equal(proc_read_thread(pid, pid, &found), 0);
	a.thread.ledger = ledger_record(a.ledger, pid, pid, found.start_ticks, &a.all);
	assert_int_equal(a.thread.ledger, 0);
	*state = &a;
	return 0;
}

static int end(void **state)
{
	struct asked *a = *state;

	if (!a->gone) {
		kill(a->thread.slot.pid, SIGKILL);
		waitpid(a->thread.slot.pid, NULL, 0);
	}
	ledger_free(a->ledger);
	return 0;
}

static void need_two_cpus(const struct asked *a)
{
	if (cpuset_count(&a->all) < 2) {
		print_message("SKIPPED: needs two CPUs\n");
		skip();
	}
}

static void set_mask(const struct asked *a, const struct cpuset *mask)
{
	assert_int_equal(act_set_mask(a->thread.slot.tid, mask), 0);
}

static void assert_mask(const struct asked *a, const struct cpuset *expected)
{
	struct cpuset mask;

	assert_int_equal(cpuset_of_thread(a->thread.slot.tid, &mask), 0);
	assert_memory_equal(&mask, expected, sizeof mask);
}

static void ask(const struct asked *a, const struct cpuset *own, const struct cpuset *within)
{
	int reach = 0;

	assert_int_equal(reach_of_free(a->ledger, &a->thread, own, within, &reach), 0);
	assert_int_equal(reach, REACH_ALL);
}

static void test_recorded_mask_stays(void **state)
{
	struct asked *a = *state;

	ask(a, &a->first, &a->first);
	assert_mask(a, &a->all);
	assert_false(ledger_is_changed(a->ledger, a->thread.ledger));
}

static void test_mask_of_its_own_stays(void **state)
{
	struct asked *a = *state;

	need_two_cpus(a);
	set_mask(a, &a->last);
	ask(a, &a->all, NULL);
	assert_mask(a, &a->last);
	ask(a, &a->first, &a->first);
	assert_mask(a, &a->last);
	assert_int_equal(ledger_restore_all(a->ledger), 1);
	assert_mask(a, &a->last);
}

/* One that is still cut down, or was not released, gets what it has to get. */
static void test_changed_mask_is_restored(void **state)
{
	struct asked *a = *state;

	need_two_cpus(a);
	ledger_confined(a->ledger, a->thread.ledger);
	set_mask(a, &a->last);
	ask(a, &a->all, &a->first);
	assert_mask(a, &a->first);
	assert_true(ledger_is_changed(a->ledger, a->thread.ledger));
	ask(a, &a->all, NULL);
	assert_mask(a, &a->all);
	assert_false(ledger_is_changed(a->ledger, a->thread.ledger));
}

static void test_killed_while_it_asks(void **state)
{
	struct asked *a = *state;
	int status;

	need_two_cpus(a);
	pid_t balancer = fork();
	assert_true(balancer >= 0);
	if (balancer == 0) {
		int reach;
		fatal = &a->first;
		(void)reach_of_free(a->ledger, &a->thread, &a->first, NULL, &reach);
		_exit(1);
	}
	assert_int_equal(waitpid(balancer, &status, 0), balancer);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_mask(a, &a->first);
	assert_int_equal(ledger_restore_all(a->ledger), 1);
	assert_mask(a, &a->all);
}

static void test_gone(void **state)
{
	struct asked *a = *state;
	int reach = 0;

	kill(a->thread.slot.pid, SIGKILL);
	waitpid(a->thread.slot.pid, NULL, 0);
	a->gone = true;
	assert_true(reach_of_free(a->ledger, &a->thread, &a->all, NULL, &reach) < 0);
}

/* When CPUs have come or gone, a thread of each process is asked. */
static void test_find(void **state)
{
	struct asked *a = *state;
	struct roster roster = {0};
	struct cpuset usable;

	need_two_cpus(a);
	set_mask(a, &a->last);
	assert_int_equal(roster_add(&roster, &a->thread), 0);
	reach_find(&roster, a->ledger, &a->all, NULL, &usable);
	assert_memory_equal(&usable, &a->all, sizeof usable);
	assert_int_equal(a->thread.reach, REACH_ALL);
	assert_mask(a, &a->last);
	roster_deinit(&roster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_recorded_mask_stays, begin, end),
		cmocka_unit_test_setup_teardown(test_mask_of_its_own_stays, begin, end),
		cmocka_unit_test_setup_teardown(test_changed_mask_is_restored, begin, end),
		cmocka_unit_test_setup_teardown(test_killed_while_it_asks, begin, end),
		cmocka_unit_test_setup_teardown(test_gone, begin, end),
		cmocka_unit_test_setup_teardown(test_find, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
