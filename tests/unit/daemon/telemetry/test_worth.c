// SPDX-License-Identifier: MIT
/* What balancing is worth: the verdict for jobs whose threads' times are known, and its numbers. */
#undef NDEBUG
#include "daemon/telemetry/worth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Of each thread: shares of its time that were useful, in waits, and ready without a CPU. */
struct thread_case {
	double useful, waited, ready;
};

static const struct {
	const char *name;
	struct thread_case thread[5];
	struct worth_case c; /* without the efficiency */
	enum worth_verdict verdict;
	const char *words[3];
} cases[] = {
	{"two threads on two CPUs", {{0.98, 0.02, 0}, {0.98, 0.02, 0}}, {.cpus = 2}, WORTH_NOTHING,
		{"Nothing to gain: 98 %"}},
	{"and on eight", {{0.98, 0.02, 0}, {0.98, 0.02, 0}}, {.cpus = 8}, WORTH_NOTHING,
		{"fewer threads than CPUs"}},
	{"three on two, left to Linux or pinned", {{0.5, 0, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}},
		{.cpus = 2}, WORTH_JUGGLE,
		{"up to 1.33 times", "25 % of the CPUs' time", "A multiple of 2 threads"}},
	{"the same, and juggle has tried", {{0.5, 0, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}},
		{.cpus = 2, .declined = 0.6}, WORTH_THREADS,
		{"25 % of the CPUs' time", "phases of 10 ms, in which juggle gains nothing"}},
	{"and for too short", {{0.5, 0, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}},
		{.cpus = 2, .declined = 0.2}, WORTH_JUGGLE, {"up to 1.33 times"}},
	{"the same, balanced", {{0.66, 0.02, 0.32}, {0.66, 0.02, 0.32}, {0.66, 0.02, 0.32}},
		{.cpus = 2, .balanced = 0.9}, WORTH_BROUGHT, {"at least 1.32 times as long"}},
	{"balanced for too short", {{0.66, 0.02, 0.32}, {0.66, 0.02, 0.32}, {0.66, 0.02, 0.32}},
		{.cpus = 2, .balanced = 0.4}, WORTH_NOTHING, {"99 %"}},
	{"balanced, and phases are too short for it",
		{{0.5, 0.3, 0.2}, {0.5, 0.3, 0.2}, {0.5, 0.3, 0.2}},
		{.cpus = 2, .balanced = 0.6, .declined = 0.4}, WORTH_THREADS,
		{"Balanced, still 25 %", "phases of 10 ms: as many"}},
	{"balanced, and phases are short for it",
		{{0.6, 0.05, 0.35}, {0.6, 0.05, 0.35}, {0.6, 0.05, 0.35}},
		{.cpus = 2, .balanced = 1}, WORTH_THREADS, {"Balanced, still 8 %"}},
	{"four on two, one has half as much again",
		{{0.6, 0, 0.4}, {0.4, 0.2, 0.4}, {0.4, 0.4, 0.2}, {0.4, 0.4, 0.2}}, {.cpus = 2},
		WORTH_JUGGLE, {"up to 1.11 times"}},
	{"a thread that all wait for", {{0.99, 0.01, 0}, {0.33, 0.66, 0}, {0.33, 0.66, 0}},
		{.cpus = 4}, WORTH_WORK, {"1.80 times the mean", "0.56 of the time"}},
	{"the same on too few CPUs, balanced or not",
		{{0.99, 0.01, 0}, {0.33, 0.6, 0}, {0.33, 0.6, 0}}, {.cpus = 2, .balanced = 1},
		WORTH_WORK, {"0.83 of the time"}},
	{"unequal CPUs", {{0.99, 0.01, 0}, {0.55, 0.44, 0}}, {.cpus = 2, .slowest = 0.55},
		WORTH_JUGGLE, {"0.55 to 1", "take turns"}},
	{"a hog", {{0.5, 0.5, 0}, {0.5, 0, 0.5}}, {.cpus = 2}, WORTH_JUGGLE,
		{"up to 1.50 times", "Other work had at least 0.5 of the 2 CPUs", "up to 2.00"}},
	{"three on one", {{0.3, 0.1, 0.6}, {0.3, 0.1, 0.6}, {0.3, 0.1, 0.6}}, {.cpus = 1},
		WORTH_THREADS, {"One CPU, so there is nothing to balance", "10 % of its time"}},
	{"three on one, with a hog", {{0.15, 0, 0.85}, {0.15, 0, 0.85}, {0.15, 0, 0.85}},
		{.cpus = 1}, WORTH_NOISE, {"Other work had at least 0.55 of the 1 CPU"}},
	{"a hog, and juggle has tried", {{0.5, 0.5, 0}, {0.5, 0, 0.5}},
		{.cpus = 2, .declined = 0.6}, WORTH_NOISE,
		{"Other work had at least 0.5 of the 2 CPUs", "up to 2.00"}},
	{"a hog, balanced", {{0.74, 0.02, 0.24}, {0.74, 0.02, 0.24}}, {.cpus = 2, .balanced = 1},
		WORTH_NOISE, {"Other work had at least 0.48 of the 2 CPUs", "up to 1.35"}},
	{"work that differs from phase to phase", {{0.7, 0.3, 0}, {0.7, 0.3, 0}}, {.cpus = 2},
		WORTH_WAITS, {"30 % of its time", "differs from phase to phase"}},
	{"a quota", {{0.25, 0.25, 0}, {0.25, 0.25, 0}, {0.25, 0.25, 0}, {0.25, 0.25, 0}},
		{.cpus = 4, .quota = 1, .throttled = 0.5}, WORTH_THREADS,
		{"A quota of 1 CPU stopped", "50 % of its time"}},
	{"threads with a quarter of the CPU time tell nothing", {{0.5, 0.5, 0}, {0.5, 0.5, 0}},
		{.cpus = 4, .covered = 0.74}, WORTH_UNKNOWN, {"only 74 %"}},
	{"nobody tells anything", {{0, 0, 0}}, {.cpus = 4}, WORTH_UNKNOWN, {"No runtime has told"}},
};

static size_t take(const struct thread_case *from, struct efficiency_thread *to, uint64_t phases)
{
	size_t n = 0;

	for (; n < COUNT(cases[0].thread) && from[n].useful > 0; n++)
		to[n] = (struct efficiency_thread){.id = (uint32_t)n,
			.to_ns = phases * 10000000,
			.arrivals = phases,
			.useful_ns = (uint64_t)(from[n].useful * 1e7 * (double)phases),
			.waited_ns = (uint64_t)(from[n].waited * 1e7 * (double)phases),
			.ran = from[n].useful,
			.ready = from[n].ready};
	return n;
}

static enum worth_verdict judge(size_t i, uint64_t phases, char text[WORTH_BYTES])
{
	struct efficiency_thread thread[COUNT(cases[0].thread)];
	struct worth_case c = cases[i].c;
	struct efficiency e;
	size_t n = take(cases[i].thread, thread, phases);

	efficiency_measure(thread, n, c.quota > 0 ? c.quota : c.cpus, &e);
	c.efficiency = &e;
	c.slowest = c.slowest > 0 ? c.slowest : 1;
	c.covered = c.covered > 0 ? c.covered : 0.75;
	enum worth_verdict verdict = worth_judge(&c, text);
	double brought = worth_brought(&c);
	/* What was won is known, too, where more could be. */
	if (verdict == WORTH_BROUGHT || strstr(text, "Balanced, still 8 %") != NULL)
		assert_true(brought >= 1.03);
	else
		assert_true(brought == 0);
	return verdict;
}

static void test_verdicts(void **state)
{
	char text[WORTH_BYTES];
	(void)state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		enum worth_verdict verdict = judge(i, 100, text);
		if (verdict != cases[i].verdict)
			fail_msg("%s: %s (%s)", cases[i].name, worth_name(verdict), text);
		for (size_t k = 0; k < COUNT(cases[i].words) && cases[i].words[k] != NULL; k++)
			if (strstr(text, cases[i].words[k]) == NULL)
				fail_msg("%s: '%s' is not in: %s", cases[i].name, cases[i].words[k],
					text);
		assert_true(text[strlen(text) - 1] == '.'); /* not cut off */
	}
}

/* Three threads on two CPUs, left to Linux: no turns are promised where there is no time for them. */
static void test_short_phases(void **state)
{
	static const struct {
		uint64_t phases; /* in a second */
		enum worth_verdict verdict;
		const char *words;
	} short_cases[] = {
		{900, WORTH_JUGGLE, "up to 1.33 times"},
		{16000, WORTH_THREADS,
			"phases of 0.0625 ms, too short for turns: as many threads as CPUs"},
	};
	char text[WORTH_BYTES];
	(void)state;

	for (size_t i = 0; i < COUNT(short_cases); i++) {
		struct efficiency_thread thread[3];
		struct efficiency e;
		for (size_t k = 0; k < COUNT(thread); k++)
			thread[k] = (struct efficiency_thread){.id = (uint32_t)k,
				.to_ns = 1000000000,
				.arrivals = short_cases[i].phases,
				.useful_ns = 500000000,
				.waited_ns = k == 2 ? 500000000 : 0,
				.ran = 0.5,
				.ready = k == 2 ? 0 : 0.5};
		efficiency_measure(thread, COUNT(thread), 2, &e);
		const struct worth_case c = {
			.efficiency = &e, .cpus = 2, .slowest = 1, .covered = 1};
		assert_int_equal(worth_judge(&c, text), short_cases[i].verdict);
		assert_non_null(strstr(text, short_cases[i].words));
	}
}

static void test_too_few_phases(void **state)
{
	char text[WORTH_BYTES];
	(void)state;

	assert_int_equal(judge(2, 9, text), WORTH_UNKNOWN);
	assert_non_null(strstr(text, "Too few phases to judge by: 9."));
	assert_int_equal(judge(2, 10, text), WORTH_JUGGLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_short_phases),
		cmocka_unit_test(test_too_few_phases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
