// SPDX-License-Identifier: MIT
/*
 * Instructions on a machine with several kinds of cores. Few test machines count instructions, so
 * task clocks stand in for the counters: each of two counts CPU time, and together they count twice
 * of it.
 */
#undef NDEBUG
#include "daemon/sample/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/sample/pmus.h"

static int kinds; /* what pmus_find() returns; the types are 4, 10, ... */
static uint64_t refused; /* a config that can't be opened */
static uint64_t opened[16]; /* configs of hardware events */
static size_t opens;
static bool still; /* nothing counts */

int __wrap_pmus_find(const char *devices, uint32_t type[PMUS_MAX]);
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

int __wrap_pmus_find(const char *devices, uint32_t type[PMUS_MAX])
{
	assert_string_equal(devices, "/sys/bus/event_source/devices");
	for (int i = 0; i < kinds; i++)
		type[i] = (uint32_t)(4 + 6 * i);
	return kinds;
}

long __wrap_syscall(long number, ...)
{
	struct perf_event_attr attr;
	bool opening = number == SYS_perf_event_open; /* else tgkill */
	long word[5] = {0};
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < (opening ? 5 : 3); i++)
		word[i] = va_arg(list, long);
	va_end(list);
	if (!opening)
		return __real_syscall(number, word[0], word[1], word[2]);
	memcpy(&attr, (const void *)word[0], sizeof attr);
	if (attr.type == PERF_TYPE_HARDWARE) {
		assert_true(opens < sizeof opened / sizeof opened[0]);
		opened[opens++] = attr.config;
		if (attr.config == refused) {
			errno = ENOENT;
			return -1;
		}
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
	}
	attr.disabled = still;
	return __real_syscall(number, (long)&attr, word[1], word[2], word[3], word[4]);
}

static uint64_t cpu_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t of_pmu(uint64_t type)
{
	return type << 32 | PERF_COUNT_HW_INSTRUCTIONS;
}

/* The sampler, with this many PMUs of cores; skips where there is no perf. */
static struct sampler *open_sampler(int pmus, uint64_t refuse)
{
	struct sampler *sampler;

	kinds = pmus;
	refused = refuse;
	opens = 0;
	if (sampler_new(&sampler, SAMPLER_PERF) == 0)
		return sampler;
	print_message("SKIPPED: no perf here\n");
	skip();
	return NULL;
}

/* How much this thread's progress grows, by its CPU time. A task clock also counts time that a
 * hypervisor took, so it may be more than expected. */
static double growth(struct sampler *sampler)
{
	struct sampler_slot slot = {.pid = getpid(), .tid = getpid()}, *slots = &slot;

	assert_int_equal(sampler_attach(sampler, &slot), 0);
	uint64_t from_ns = cpu_time_ns(), from = slot.progress;
	while (cpu_time_ns() < from_ns + 20000000)
		;
	sampler_read(sampler, &slots, 1);
	uint64_t to_ns = cpu_time_ns();
	assert_int_equal(slot.error, 0);
	double grown = (double)(slot.progress - from) / (double)(to_ns - from_ns);
	sampler_detach(sampler, &slot);
	for (size_t i = 0; i < SAMPLER_FDS; i++)
		assert_int_equal(slot.fd[i], -1);
	return grown;
}

static void test_two_kinds(void **state)
{
	struct sampler *sampler = open_sampler(2, 0);
	(void)state;

	assert_string_equal(sampler_progress_unit(sampler), "instructions");
	assert_int_equal(opened[opens - 2], of_pmu(4));
	assert_int_equal(opened[opens - 1], of_pmu(10));
	assert_true(growth(sampler) > 1.8);
	sampler_free(sampler);
}

static void test_one_kind(void **state)
{
	(void)state;
	for (int pmus = 0; pmus < 2; pmus++) {
		struct sampler *sampler = open_sampler(pmus, 0);
		assert_string_equal(sampler_progress_unit(sampler), "instructions");
		assert_int_equal(opened[opens - 1], PERF_COUNT_HW_INSTRUCTIONS);
		assert_true(growth(sampler) > 0.9);
		sampler_free(sampler);
	}
}

/* A kind whose instructions don't count makes all unusable. */
static void test_task_clock(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct sampler *sampler =
			i == 0 ? open_sampler(3, of_pmu(10)) : open_sampler(-EBADMSG, 0);
		assert_string_equal(sampler_progress_unit(sampler), "ns");
		assert_true(i == 0 ? opens >= 2 : opens == 0);
		assert_true(growth(sampler) > 0.9);
		sampler_free(sampler);
	}
}

/* Instructions that stand still do not count, but a clock that has not ticked yet does. */
static void test_still(void **state)
{
	struct sampler *sampler = open_sampler(0, 0);
	(void)state;

	sampler_free(sampler);
	still = true;
	int r = sampler_new(&sampler, SAMPLER_PERF);
	still = false;
	assert_int_equal(r, 0);
	assert_string_equal(sampler_progress_unit(sampler), "ns");
	assert_true(growth(sampler) > 0.9);
	sampler_free(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_kinds),
		cmocka_unit_test(test_one_kind),
		cmocka_unit_test(test_task_clock),
		cmocka_unit_test(test_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
