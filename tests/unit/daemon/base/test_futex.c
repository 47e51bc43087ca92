/* SPDX-License-Identifier: MIT */
/* Who wakes, and why. No test takes longer than its deadlines, unless a wake-up is lost. */
#undef NDEBUG
#include "daemon/base/futex.h"

#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/base/clock.h"

#define MS UINT64_C(1000000)
#define LONG_NS (60000 * MS)

static _Atomic uint32_t own, other;

static uint64_t wait_either(uint32_t seen, uint32_t shared_seen, uint64_t for_ns)
{
	const struct futex_shared shared = {.word = &other, .seen = shared_seen};
	uint64_t from_ns = clock_monotonic_ns();

	futex_wait_either(&own, seen, &shared, from_ns + for_ns);
	return clock_monotonic_ns() - from_ns;
}

static void test_deadline(void **state)
{
	(void)state;
	own = other = 7;
	assert_true(wait_either(7, 7, 20 * MS) >= 20 * MS);
}

static void test_has_changed(void **state)
{
	(void)state;
	own = other = 7;
	assert_true(wait_either(6, 7, LONG_NS) < LONG_NS);
	assert_true(wait_either(7, 6, LONG_NS) < LONG_NS);
}

/* As another process would: without FUTEX_PRIVATE_FLAG. */
static void *ring(void *word)
{
	usleep(20000);
	atomic_fetch_add((_Atomic uint32_t *)word, 1);
	if (word == &own)
		futex_wake(word);
	else
		syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static void wakes(_Atomic uint32_t *word)
{
	pthread_t thread;

	own = other = 7;
	assert_int_equal(pthread_create(&thread, NULL, ring, word), 0);
	while (own == 7 && other == 7)
		assert_true(wait_either(7, 7, LONG_NS) < LONG_NS);
	pthread_join(thread, NULL);
}

static void test_wakes(void **state)
{
	(void)state;
	wakes(&own);
	wakes(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_has_changed),
		cmocka_unit_test(test_wakes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
