// SPDX-License-Identifier: MIT
/* The table of workers: lookups while another thread writes it. */
#undef NDEBUG
#include "daemon/progress/published.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct published_thread *table(size_t n)
{
	struct published_thread *thread = calloc(n, sizeof *thread);

	assert_non_null(thread);
	return thread;
}

static enum policy_role look(struct published *published, pid_t pid, pid_t tid, uint64_t *updates)
{
	pthread_mutex_lock(&published->lock);
	enum policy_role role = published_look(published, pid, tid, updates);
	pthread_mutex_unlock(&published->lock);
	return role;
}

static void test_roles(void **state)
{
	struct published published;
	uint64_t updates = 0;
	(void)state;

	published_init(&published);
	assert_false(published_any(&published));
	assert_int_equal(look(&published, 1, 1, &updates), POLICY_ROLE_UNKNOWN);
	/* Unsorted; and a process may claim a tid that it does not own. */
	struct published_thread *thread = table(4);
	thread[0] = (struct published_thread){.pid = 30, .tid = 31, .updates = 5};
	thread[1] = (struct published_thread){.pid = 10, .tid = 12, .balanced = true, .updates = 6};
	thread[2] = (struct published_thread){.pid = 10, .tid = 31, .updates = 7};
	thread[3] = (struct published_thread){.pid = 10, .tid = 11, .updates = 8};
	published_replace(&published, thread, 4);
	assert_true(published_any(&published));
	assert_int_equal(look(&published, 10, 12, &updates), POLICY_ROLE_BALANCED);
	assert_int_equal(updates, 6);
	assert_int_equal(look(&published, 30, 31, &updates), POLICY_ROLE_WORKER);
	assert_int_equal(updates, 5);
	/* More than a trace can hold, from a damaged segment. */
	atomic_store(&published_entry(&published, 10, 12)->updates, UINT64_MAX);
	assert_int_equal(look(&published, 10, 12, &updates), POLICY_ROLE_BALANCED);
	assert_true(updates == (UINT64_C(1) << 62) - 1);
	/* Before, between and after the workers of their process. */
	assert_int_equal(look(&published, 10, 10, &updates), POLICY_ROLE_OTHER);
	assert_int_equal(look(&published, 10, 20, &updates), POLICY_ROLE_OTHER);
	assert_int_equal(look(&published, 10, 99, &updates), POLICY_ROLE_OTHER);
	assert_int_equal(look(&published, 30, 30, &updates), POLICY_ROLE_OTHER);
	assert_int_equal(look(&published, 30, 99, &updates), POLICY_ROLE_OTHER);
	assert_int_equal(look(&published, 9, 9, &updates), POLICY_ROLE_UNKNOWN);
	assert_int_equal(look(&published, 20, 31, &updates), POLICY_ROLE_UNKNOWN);
	assert_int_equal(look(&published, 31, 31, &updates), POLICY_ROLE_UNKNOWN);

	assert_null(published_entry(&published, 10, 13));
	struct published_thread *entry = published_entry(&published, 10, 11);
	assert_non_null(entry);
	atomic_store(&entry->updates, 9);
	assert_int_equal(look(&published, 10, 11, &updates), POLICY_ROLE_WORKER);
	assert_int_equal(updates, 9);

	published_replace(&published, NULL, 0);
	assert_false(published_any(&published));
	assert_int_equal(look(&published, 10, 12, &updates), POLICY_ROLE_UNKNOWN);
	published_deinit(&published);
}

static void *read_all(void *argument)
{
	struct published *published = argument;
	uint64_t updates;

	for (int i = 0; i < 20000; i++)
		for (pid_t tid = 0; tid < 4; tid++)
			if (look(published, 1, tid, &updates) == POLICY_ROLE_WORKER && updates < 7)
				return published; /* never written */
	return NULL;
}

/* For ThreadSanitizer. */
static void test_threads(void **state)
{
	struct published published;
	pthread_t thread[2];
	void *failed;
	(void)state;

	published_init(&published);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, read_all, &published), 0);
	for (int i = 0; i < 1000; i++) {
		size_t n = (size_t)i % 4;
		struct published_thread *all = n > 0 ? table(n) : NULL;
		for (size_t k = 0; k < n; k++)
			all[k] = (struct published_thread){.pid = 1, .tid = (pid_t)k, .updates = 7};
		published_replace(&published, all, n);
		struct published_thread *entry = published_entry(&published, 1, 0);
		assert_true((entry != NULL) == (n > 0));
		if (entry != NULL)
			atomic_store(&entry->updates, 8);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
	published_deinit(&published);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
