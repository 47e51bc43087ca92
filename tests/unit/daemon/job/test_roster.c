// SPDX-License-Identifier: MIT
/* The list of known threads, in the order of their tids. */
#undef NDEBUG
#include "daemon/job/roster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define THREADS 500

static struct proc_thread thread_of(const struct job_thread *thread)
{
	return (struct proc_thread){.tid = thread->slot.tid, .start_ticks = thread->start_ticks};
}

static void test_all(void **state)
{
	static struct job_thread thread[THREADS];
	struct roster roster = {0};
	pid_t *pid;
	(void)state;

	assert_int_equal(roster_processes(&roster, &pid), 0);
	assert_null(pid);
	for (int i = 0; i < THREADS; i++) {
		/* Each tid twice, with different start times; 7 processes. */
		thread[i].slot.tid = 1 + i * 7 % 250;
		thread[i].slot.pid = 1000 + i % 7;
		thread[i].start_ticks = (uint64_t)i;
		struct proc_thread found = thread_of(&thread[i]);
		if (i < 250)
			assert_false(roster_has(&roster, &found));
		assert_int_equal(roster_add(&roster, &thread[i]), 0);
		assert_true(roster_has(&roster, &found));
	}
	for (size_t i = 1; i < roster.count; i++)
		assert_true(roster.entry[i - 1].tid <= roster.entry[i].tid);
	assert_int_equal(roster_find(&roster, 250)->slot.tid, 250);
	assert_null(roster_find(&roster, 251));
	assert_int_equal(roster_processes(&roster, &pid), 7);
	for (int i = 0; i < 7; i++)
		assert_int_equal(pid[i], 1000 + i);
	free(pid);
	for (int i = 0; i < 250; i++)
		roster_remove(&roster, &thread[i]);
	roster_remove(&roster, &thread[0]); /* is not there */
	assert_int_equal(roster.count, 250);
	for (int i = 0; i < THREADS; i++) {
		struct proc_thread found = thread_of(&thread[i]);
		assert_true(roster_has(&roster, &found) == (i >= 250));
	}
	roster_deinit(&roster);
	roster_deinit(&roster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
