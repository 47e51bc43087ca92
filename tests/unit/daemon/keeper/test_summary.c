// SPDX-License-Identifier: MIT
/*
 * What the user reads at the end, from telemetry made up in memory: the summary of -v, and the line on
 * a terminal.
 */
#undef NDEBUG
#include "daemon/keeper/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/daemon/keeper/telemetry.h"

/* ---- The summary ---- */

typedef void print_function(FILE *out, const struct telemetry *t, double elapsed_s);

static char *printed(print_function *print, const struct telemetry *t, double elapsed_s)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	print(out, t, elapsed_s);
	assert_int_equal(fclose(out), 0);
	return text;
}

static char *summary(const struct telemetry *t, double elapsed_s)
{
	return printed(report_summary, t, elapsed_s);
}

static void assert_shows(const char *text, const char *line)
{
	if (strstr(text, line) == NULL)
		fail_msg("'%s' is not in:\n%s", line, text);
}

static void test_summary(void **state)
{
	struct telemetry *t = telemetry_of_run();
	(void)state;

	add_progress(t, 0, 5, 193, 195); /* another rank of the same program */
	add_progress(t, 3, 0, 2000, 2060); /* another program */
	add_progress(t, 1, 0, 2090, 2090);
	char *text = summary(t, 4);
	assert_shows(text, "juggle: ./app -n 3 \"two words\"\n");
	assert_shows(text, "elapsed      4.000 s, 75 % of it balanced; balancer ended\n");
	assert_shows(text, "threads      6 compute, 2 idle, on 5 CPUs\n");
	assert_shows(text, "policy       juggle, sampler schedstat\n"
			   "  balanced     3.000 s: trials: balancing keeps the CPUs busier\n"
			   "  aside        0.960 s: fewer compute threads than CPUs\n"
			   "  period       10 ms for 1.000 s: no sign of phases\n"
			   "  period       3 to 12 ms for 2.000 s: by phases, seen by sleeps\n"
			   "               last for phases of 22 ms, and points of 58 us\n"
			   "  throttled    for 1.200 s by a quota of 1.5 CPUs\n"
			   "  migrations ");
	telemetry_set(&t->pace[POLICY_PACE_SLEEPS].time_ns, 0);
	telemetry_set(&t->pace[POLICY_PACE_TOLD].time_ns, 2000000000);
	telemetry_set(&t->pace[POLICY_PACE_TOLD].least_ns, 2790000);
	telemetry_set(&t->pace[POLICY_PACE_TOLD].most_ns, 3790000);
	free(text);
	text = summary(t, 4);
	assert_shows(text,
		"  period       2.79 to 3.79 ms for 2.000 s: by phases, told by the program\n"
		"               last for phases of 22 ms, and points of 58 us\n");
	telemetry_set(&t->phase_ns, 0);
	free(text);
	text = summary(t, 4);
	assert_null(strstr(text, "last for phases"));
	assert_shows(text, "migrations   37 in 100 balancing points\n");
	assert_shows(text,
		"subdomains   16 of 8 workers, 12 moves in 160 points, spread 95 among them\n");
	assert_shows(text, "its cost     0.050 s of CPU (1.25 % of one CPU), ");
	assert_shows(text, "phases       told by OpenMP (libgomp), MPI: no phase has ended\n");
	free(text);
	telemetry_unmap(t);
}

static void test_summary_of_phases(void **state)
{
	struct telemetry *t = telemetry_with_phases();
	char *text = summary(t, 4);
	(void)state;

	assert_shows(text, "phases       told by OpenMP (libgomp), MPI: 200 of 10 ms\n");
	assert_shows(text,
		"efficiency   0.675 of 4 threads: load balance 0.750, communication 0.900; CPUs "
		"0.675\n");
	assert_shows(text,
		"lost         2.600 s of CPU time in waits (32.5 %), most at MPI_Wait in b+2\n");
	assert_shows(text, "advice       Each thread had a CPU, and waited for 33 % of its time");
	free(text);
	for (int i = 2; i < 5; i++) /* all but one of those that tell */
		telemetry_set32(&telemetry_threads(t)[i].flags, TELEMETRY_THREAD_USED);
	text = summary(t, 4);
	assert_shows(text, "efficiency   0.900 of 1 thread: load balance 1.000");
	free(text);
	telemetry_set(&telemetry_threads(t)[5].told_until_ns, 7000000000); /* when it began */
	text = summary(t, 4);
	assert_shows(
		text, "told by OpenMP (libgomp), MPI: by no thread for long enough to measure\n");
	free(text);
	telemetry_set32(&t->told, 0);
	snprintf(t->untold, sizeof t->untold, "the program is static");
	text = summary(t, 4);
	assert_shows(text, "phases       not told: the program is static\n");
	assert_null(strstr(text, "efficiency"));
	free(text);
	telemetry_unmap(t);
}

/* A command is any bytes; none of them may reach a terminal as they are. */
static void test_summary_of_hostile_names(void **state)
{
	struct telemetry *t = telemetry_of_run();
	(void)state;

	snprintf(t->command, sizeof t->command, "./app \033[2J\n\xff");
	char *text = summary(t, 4);
	assert_shows(text, "juggle: ./app ?[2J??\n");
	assert_null(strchr(text, '\033'));
	free(text);
	telemetry_unmap(t);
}

static void test_summary_of_nothing(void **state)
{
	struct telemetry *t = new_telemetry();
	(void)state;

	telemetry_set32(&t->cpus, UINT32_MAX);
	telemetry_set32(&t->state, TELEMETRY_LOST);
	char *text = summary(t, 0);
	assert_shows(text, "elapsed      0.000 s, 0 % of it balanced; balancer lost\n");
	assert_shows(text, "on 1024 CPUs\n");
	assert_shows(text, "0.000 s of CPU (0.00 % of one CPU), 0.0 us a point (median)\n");
	assert_null(strstr(text, "subdomains"));
	assert_null(strstr(text, "throttled"));
	assert_shows(text, "phases       no thread was seen to wait for others\n");
	free(text);
	telemetry_set(&t->throttled_ns, 900000);
	text = summary(t, 0);
	assert_null(strstr(text, "throttled"));
	free(text);
	telemetry_set(&t->throttled_ns, 2000000000);
	text = summary(t, 0);
	assert_shows(text, "throttled    for 2.000 s by a quota\n"); /* that is gone */
	free(text);
	telemetry_set(&t->quota, 1000);
	text = summary(t, 0);
	assert_shows(text, "throttled    for 2.000 s by a quota of 1 CPU\n");
	free(text);
	telemetry_unmap(t);
}

/* ---- The line ---- */

static void assert_line(const struct telemetry *t, double elapsed_s, const char *expected)
{
	char *text = printed(report_line, t, elapsed_s);

	assert_string_equal(text, expected);
	free(text);
}

static void test_line(void **state)
{
	struct telemetry *t = telemetry_of_run();
	(void)state;

	assert_line(t, 4,
		"juggle: 6 threads on 5 CPUs, balanced for 75 % of 4 s by 37 moves (trials: "
		"balancing keeps the CPUs busier)\n");
	/* The same in a longer run, most of which it stood aside in. */
	assert_line(
		t, 10, "juggle: stood aside for 70 % of 10 s: fewer compute threads than CPUs\n");
	assert_line(t, 0.99, "");
	telemetry_set32(&t->state, TELEMETRY_LOST);
	assert_line(t, 4, "");
	telemetry_set32(&t->state, TELEMETRY_ENDED);
	snprintf(t->policy, sizeof t->policy, "observe");
	assert_line(t, 4, "");
	snprintf(t->policy, sizeof t->policy, "static");
	assert_line(t, 4, "");
	snprintf(t->policy, sizeof t->policy, "later");
	assert_line(t, 4, "");
	telemetry_unmap(t);

	t = new_telemetry();
	snprintf(t->policy, sizeof t->policy, "juggle");
	assert_line(t, 2,
		"juggle: stood aside for 100 % of 2 s: one CPU, one for each thread, or threads "
		"that "
		"Linux balances well\n");
	telemetry_set32(&t->state, TELEMETRY_ENDED);
	assert_line(t, 2, "juggle: stood aside for 100 % of 2 s: no thread computed\n");
	telemetry_unmap(t);
}

/* What is up to trials counts together, and what they showed counts most. */
static void test_line_of_trials(void **state)
{
	struct telemetry *t = telemetry_of_run();
	(void)state;

	telemetry_set(&t->balance_ns[POLICY_REASON_NEVER_IDLE], 1300000000);
	telemetry_set(&t->balance_ns[POLICY_REASON_UNTRIED], 1100000000);
	telemetry_set(&t->balance_ns[POLICY_REASON_FASTER], 600000000);
	assert_line(t, 4,
		"juggle: 6 threads on 5 CPUs, balanced for 75 % of 4 s by 37 moves (trials: "
		"balancing keeps the CPUs busier)\n");
	telemetry_set(&t->balance_ns[POLICY_REASON_FASTER], 0);
	assert_line(t, 4,
		"juggle: 6 threads on 5 CPUs, balanced for 75 % of 4 s by 37 moves (threads that "
		"do not sleep)\n");
	telemetry_set(&t->balance_ns[POLICY_REASON_NEVER_IDLE], 0);
	assert_line(t, 4,
		"juggle: 6 threads on 5 CPUs, balanced for 75 % of 4 s by 37 moves (until a trial "
		"decides)\n");
	telemetry_unmap(t);
}

/* Four threads that took turns on three CPUs: one has two of them when they stay. */
static void test_line_of_phases(void **state)
{
	struct telemetry *t = telemetry_with_phases();
	(void)state;

	telemetry_set32(&t->cpus, 3);
	for (uint32_t i = 2; i < 6; i++) {
		telemetry_set(&telemetry_threads(t)[i].useful_ns, 1480000000);
		telemetry_set(&telemetry_threads(t)[i].waited_ns, 20000000);
	}
	assert_line(t, 4,
		"juggle: 4 threads on 3 CPUs, balanced for 75 % of 4 s by 37 moves; pinned it "
		"would have taken at least 1.48 times as long\n");
	telemetry_unmap(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_summary_of_phases),
		cmocka_unit_test(test_summary_of_hostile_names),
		cmocka_unit_test(test_summary_of_nothing),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_line_of_trials),
		cmocka_unit_test(test_line_of_phases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
