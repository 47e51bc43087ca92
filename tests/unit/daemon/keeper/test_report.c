// SPDX-License-Identifier: MIT
/*
 * The report, from telemetry made up in memory: all keys with their types and values, and input that
 * must not break them (odd bytes, zero times, counts beyond the arrays).
 */
#undef NDEBUG
#include "daemon/keeper/report.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/daemon/keeper/telemetry.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Reading a report ---- */

static json_t *at(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (value == NULL)
		fail_msg("there is no %s", key);
	return value;
}

static const char *text_at(const json_t *object, const char *key)
{
	json_t *value = at(object, key);

	assert_true(json_is_string(value));
	return json_string_value(value);
}

static json_int_t integer_at(const json_t *object, const char *key)
{
	json_t *value = at(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void assert_real(const json_t *object, const char *key, double expected, double tolerance)
{
	json_t *value = at(object, key);

	assert_true(json_is_real(value));
	if (!(fabs(json_real_value(value) - expected) <= tolerance))
		fail_msg("%s is %.12g, not %.12g", key, json_real_value(value), expected);
}

static void assert_json(const json_t *value, const char *expected)
{
	json_t *parsed = json_loads(expected, 0, NULL);

	assert_non_null(parsed);
	if (!json_equal(value, parsed))
		fail_msg("%s, not %s", json_dumps(value, JSON_COMPACT), expected);
	json_decref(parsed);
}

static json_t *build(const struct telemetry *t)
{
	json_t *report = report_build(t, 0, 4);

	assert_non_null(report);
	return report;
}

/* ---- The report ---- */

/* The contract with readers of reports. Keys may be added, but none renamed. */
static void test_keys(void **state)
{
	static const struct {
		const char *key;
		json_type type;
	} keys[] = {
		{"version", JSON_STRING},
		{"command", JSON_STRING},
		{"exit_status", JSON_INTEGER},
		{"elapsed_s", JSON_REAL},
		{"policy", JSON_STRING},
		{"sampler", JSON_STRING},
		{"period_s", JSON_REAL},
		{"balancers", JSON_STRING},
		{"cpus", JSON_ARRAY},
		{"domains", JSON_ARRAY},
		{"threads", JSON_INTEGER},
		{"idle_threads", JSON_INTEGER},
		{"cycles", JSON_INTEGER},
		{"migrations", JSON_INTEGER},
		{"balancer_cpu_s", JSON_REAL},
		{"cycle_us", JSON_OBJECT},
		{"balancer", JSON_STRING},
		{"regime", JSON_STRING},
		{"reason", JSON_STRING},
		{"balanced_s", JSON_REAL},
		{"regime_changes", JSON_INTEGER},
		{"regimes", JSON_ARRAY},
		{"periods", JSON_ARRAY},
		{"phase_s", JSON_REAL},
		{"point_s", JSON_REAL},
		{"throttled_s", JSON_REAL},
		{"threads_unlisted", JSON_INTEGER},
		{"thread", JSON_ARRAY},
		{"progress", JSON_ARRAY},
		{"cpu_speeds", JSON_ARRAY},
		{"speeds_from", JSON_STRING},
		{"stolen", JSON_ARRAY},
		{"short_slices_s", JSON_REAL},
		{"phases", JSON_OBJECT},
	};
	struct telemetry *empty = new_telemetry(), *full = telemetry_of_run();
	(void)state;

	for (int i = 0; i < 2; i++) {
		json_t *report = build(i == 0 ? empty : full);
		for (size_t k = 0; k < COUNT(keys); k++)
			if (json_typeof(at(report, keys[k].key)) != keys[k].type)
				fail_msg("%s has another type", keys[k].key);
		json_decref(report);
	}
	telemetry_unmap(empty);
	telemetry_unmap(full);
}

static void test_values(void **state)
{
	struct telemetry *t = telemetry_of_run();
	json_t *report = report_build(t, 137, 4.25);
	(void)state;

	assert_non_null(report);
	assert_string_equal(text_at(report, "version"), JUGGLE_VERSION);
	assert_string_equal(text_at(report, "command"), "./app -n 3 \"two words\"");
	assert_int_equal(integer_at(report, "exit_status"), 137);
	assert_real(report, "elapsed_s", 4.25, 0);
	assert_string_equal(text_at(report, "policy"), "juggle");
	assert_string_equal(text_at(report, "sampler"), "schedstat");
	assert_real(report, "period_s", 0.02, 1e-12);
	assert_string_equal(text_at(report, "balancers"), "domain");
	assert_json(at(report, "cpus"), "[0, 2, 5, 1, 7]");
	assert_json(at(report, "domains"), "[[0, 2], [5], [1, 7]]");
	assert_json(at(report, "cpu_speeds"), "[1.0, 0.75, 0.5, 0.0, 0.25]");
	assert_string_equal(text_at(report, "speeds_from"), "cpu_capacity");
	assert_json(at(report, "stolen"), "[0.0, 0.125, 0.0, 1.0, 0.0]");
	assert_int_equal(integer_at(report, "threads"), 6);
	assert_int_equal(integer_at(report, "idle_threads"), 2);
	assert_int_equal(integer_at(report, "cycles"), 100);
	assert_int_equal(integer_at(report, "migrations"), 37);
	assert_real(report, "balancer_cpu_s", 0.05, 1e-12);
	assert_string_equal(text_at(report, "balancer"), "ended");
	assert_string_equal(text_at(report, "regime"), "balance");
	assert_string_equal(text_at(report, "reason"), policy_reason_text(POLICY_REASON_FASTER));
	assert_real(report, "balanced_s", 3, 1e-9);
	json_t *regimes = at(report, "regimes"), *periods = at(report, "periods");
	assert_int_equal(json_array_size(regimes), 3);
	assert_string_equal(text_at(json_array_get(regimes, 0), "regime"), "balance");
	assert_string_equal(text_at(json_array_get(regimes, 2), "reason"),
		policy_reason_text(POLICY_REASON_TRIAL));
	assert_real(json_array_get(regimes, 1), "seconds", 0.96, 1e-9);
	assert_int_equal(json_array_size(periods), 3);
	assert_string_equal(
		text_at(json_array_get(periods, 2), "cause"), policy_pace_text(POLICY_PACE_SLEEPS));
	assert_real(json_array_get(periods, 2), "least_s", 0.003, 1e-12);
	assert_real(json_array_get(periods, 2), "most_s", 0.012, 1e-12);
	assert_real(report, "phase_s", 0.022, 1e-12);
	assert_real(report, "point_s", 58e-6, 1e-12);
	assert_real(report, "quota_cpus", 1.5, 1e-12);
	assert_real(report, "throttled_s", 1.2, 1e-9);
	assert_json(at(at(report, "phases"), "told_by"), "[\"libgomp\", \"MPI\"]");
	assert_int_equal(integer_at(report, "regime_changes"), 5);
	assert_int_equal(integer_at(report, "threads_unlisted"), 4);
	json_decref(report);
	telemetry_unmap(t);
}

/* The cost of a balancing point: from a histogram, so within 1/16 but never beyond the largest. */
static void test_cycle_costs(void **state)
{
	struct telemetry *t = telemetry_of_run();
	json_t *report = build(t), *costs = at(report, "cycle_us");
	(void)state;

	assert_int_equal(json_object_size(costs), 3);
	assert_real(costs, "median", 10, 10.0 / 16);
	assert_real(costs, "p99", 80, 80.0 / 16);
	assert_real(costs, "max", 81, 1e-9);
	json_decref(report);

	telemetry_set(&t->cycle_max_ns, 9800); /* below the middle of its bucket */
	report = build(t);
	costs = at(report, "cycle_us");
	assert_real(costs, "median", 9.8, 1e-9);
	assert_real(costs, "p99", 9.8, 1e-9);
	assert_real(costs, "max", 9.8, 1e-9);
	json_decref(report);
	telemetry_unmap(t);
}

static void test_threads(void **state)
{
	struct telemetry *t = telemetry_of_run();
	json_t *report = build(t), *list = at(report, "thread");
	(void)state;

	assert_int_equal(json_array_size(list), 2);
	const json_t *thread = json_array_get(list, 1);
	assert_int_equal(integer_at(thread, "tid"), 101);
	assert_int_equal(integer_at(thread, "pid"), 100);
	assert_string_equal(text_at(thread, "comm"), "app/worker");
	assert_real(thread, "progress_s", 2.000000101, 1e-12);
	assert_real(thread, "wait_s", 1.5, 1e-12);
	assert_int_equal(integer_at(thread, "migrations"), 1010);
	json_decref(report);
	telemetry_unmap(t);
}

static void test_phases(void **state)
{
	struct telemetry *t = telemetry_with_phases();
	json_t *report = build(t), *phases = at(report, "phases"), *list = at(report, "thread");
	(void)state;

	assert_json(at(phases, "told_by"), "[\"libgomp\", \"MPI\"]");
	assert_true(json_is_null(at(phases, "not_told")));
	assert_int_equal(integer_at(phases, "threads"), 4);
	assert_int_equal(integer_at(phases, "phases"), 200);
	assert_real(phases, "told_s", 2, 1e-12);
	assert_real(phases, "load_balance", 0.75, 1e-12);
	assert_real(phases, "communication_efficiency", 0.9, 1e-12);
	assert_real(phases, "parallel_efficiency", 0.675, 1e-12);
	assert_real(phases, "useful_share", 0.675, 1e-12);
	assert_real(phases, "lost_s", 2.6, 1e-12);
	assert_real(phases, "lost_share", 0.325, 1e-12);
	assert_real(phases, "phase_s", 0.01, 1e-12);
	assert_real(phases, "work_s", 0.00675, 1e-12);
	assert_json(at(phases, "sites"),
		"[{\"name\": \"MPI_Wait in b+2\", \"waits\": 3, \"waited_s\": 2.5},"
		"{\"name\": \"barrier in a+1\", \"waits\": 20, \"waited_s\": 0.1}]");
	assert_string_equal(text_at(phases, "verdict"), "waits");
	assert_true(strlen(text_at(phases, "advice")) > 20);
	const json_t *thread = json_array_get(list, 5);
	assert_real(thread, "useful_s", 1.8, 1e-12);
	assert_real(thread, "waited_s", 0.2, 1e-12);
	assert_int_equal(integer_at(thread, "arrivals"), 200);
	assert_true(json_is_null(at(json_array_get(list, 0), "useful_s")));
	json_decref(report);

	/* Threads that were placed, and stayed, count as not balanced. */
	telemetry_set32(&t->cpus, 2);
	telemetry_set(&t->balanced_ns, 4000000000);
	for (uint32_t i = 2; i < 6; i++)
		telemetry_set(&telemetry_threads(t)[i].useful_ns, i == 5 ? 1200000000 : 800000000);
	report = build(t);
	assert_string_equal(text_at(at(report, "phases"), "verdict"), "threads");
	json_decref(report);
	snprintf(t->policy, sizeof t->policy, "static");
	report = build(t);
	assert_string_equal(text_at(at(report, "phases"), "verdict"), "juggle");
	json_decref(report);
	telemetry_set(&telemetry_threads(t)[0].progress_ns, 5000000000);
	report = build(t);
	assert_string_equal(text_at(at(report, "phases"), "verdict"), "unknown");
	json_decref(report);
	telemetry_unmap(t);
}

/* Nobody came, or nobody was asked to; with odd bytes, too. */
static void test_no_phases(void **state)
{
	struct telemetry *t = new_telemetry();
	json_t *report = build(t), *phases = at(report, "phases");
	(void)state;

	assert_json(at(phases, "told_by"), "[]");
	assert_json(at(phases, "sites"), "[]");
	assert_true(json_is_null(at(phases, "parallel_efficiency")));
	assert_true(json_is_null(at(phases, "phases")));
	assert_true(json_is_null(at(phases, "not_told")));
	assert_string_equal(text_at(phases, "verdict"), "unknown");
	json_decref(report);
	strcpy(t->untold, "app is linked statically");
	report = build(t);
	assert_string_equal(text_at(at(report, "phases"), "not_told"), "app is linked statically");
	json_decref(report);
	t->untold[1] = '\377';
	report = build(t);
	assert_string_equal(text_at(at(report, "phases"), "not_told"), "a?p is linked statically");
	json_decref(report);
	telemetry_set32(&t->told, UINT32_MAX);
	report = build(t);
	phases = at(report, "phases");
	assert_json(
		at(phases, "told_by"), "[\"OMPT\", \"libgomp\", \"MPI\", \"pthreads\", \"own\"]");
	assert_true(json_is_null(at(phases, "not_told")));
	json_decref(report);
	telemetry_unmap(t);
}

static void test_progress(void **state)
{
	struct telemetry *t = telemetry_of_run();
	json_t *report = build(t), *list = at(report, "progress");
	(void)state;

	assert_int_equal(json_array_size(list), 1);
	const json_t *progress = json_array_get(list, 0);
	assert_int_equal(integer_at(progress, "pid"), 103);
	assert_int_equal(integer_at(progress, "rank"), 3);
	assert_int_equal(integer_at(progress, "workers"), 2);
	assert_int_equal(integer_at(progress, "subdomains"), 8);
	assert_string_equal(text_at(progress, "balancing"), "joint");
	assert_int_equal(integer_at(progress, "points"), 40);
	assert_int_equal(integer_at(progress, "moves"), 7);
	assert_int_equal(integer_at(progress, "spread"), 12);
	assert_int_equal(integer_at(progress, "held"), 4);
	assert_int_equal(integer_at(progress, "updates_least"), 100);
	assert_int_equal(integer_at(progress, "updates_most"), 112);
	json_decref(report);
	telemetry_unmap(t);
}

static void test_domains(void **state)
{
	static const struct {
		struct telemetry_cpu cpu[4];
		uint32_t count;
		const char *cpus, *domains;
	} cases[] = {
		{{{.os_cpu = 0, .domain = 0}}, 0, "[]", "[]"},
		{{{.os_cpu = 9, .domain = 0}}, 1, "[9]", "[[9]]"},
		{{{.os_cpu = 3, .domain = 0}, {.os_cpu = 1, .domain = 0},
			 {.os_cpu = 2, .domain = 0}},
			3, "[3, 1, 2]", "[[3, 1, 2]]"},
		{{{.os_cpu = 0, .domain = 0}, {.os_cpu = 4, .domain = 1},
			 {.os_cpu = 1, .domain = 2}, {.os_cpu = 5, .domain = 3}},
			4, "[0, 4, 1, 5]", "[[0], [4], [1], [5]]"},
		{{{.os_cpu = 0, .domain = 4}, {.os_cpu = 1, .domain = 4},
			 {.os_cpu = 6, .domain = 7}},
			3, "[0, 1, 6]", "[[0, 1], [6]]"},
	};
	struct telemetry *t = new_telemetry();
	(void)state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		set_cpus(t, cases[i].cpu, cases[i].count);
		json_t *report = build(t);
		assert_json(at(report, "cpus"), cases[i].cpus);
		assert_json(at(report, "domains"), cases[i].domains);
		json_decref(report);
	}
	telemetry_unmap(t);
}

static void test_words(void **state)
{
	static const struct {
		uint32_t balancer, regime;
		const char *balancer_text, *regime_text;
	} cases[] = {
		{TELEMETRY_STARTING, POLICY_ASIDE, "starting", "aside"},
		{TELEMETRY_RUNNING, POLICY_BALANCE, "running", "balance"},
		{TELEMETRY_ENDED, POLICY_BALANCE, "ended", "balance"},
		{TELEMETRY_LOST, POLICY_ASIDE, "lost", "aside"},
		{TELEMETRY_LOST + 1, POLICY_ASIDE, "unknown", "aside"},
		{UINT32_MAX, UINT32_MAX, "unknown", "aside"},
	};
	struct telemetry *t = new_telemetry();
	(void)state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		telemetry_set32(&t->state, cases[i].balancer);
		telemetry_set32(&t->regime, cases[i].regime);
		json_t *report = build(t);
		assert_string_equal(text_at(report, "balancer"), cases[i].balancer_text);
		assert_string_equal(text_at(report, "regime"), cases[i].regime_text);
		json_decref(report);
	}
	telemetry_unmap(t);
}

/* Commands and names of threads may hold any bytes, but JSON may not. */
static void test_odd_bytes(void **state)
{
	static const struct {
		const char *command, *expected;
	} cases[] = {
		{"", ""}, {"sh -c 'echo \"$1\"\n\t\x01\\'", "sh -c 'echo \"$1\"\n\t\x01\\'"},
		{"caf\xc3\xa9", "caf\xc3\xa9"},
		{"true \xff\xfe caf\xc3\xa9", "true ?? caf\xc3\xa9"},
		{"caf\xc3", "caf?"}, /* cut off within a character */
	};
	struct telemetry *t = new_telemetry();
	(void)state;

	add_thread(t, 5, 6, "\xff\xfe");
	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(t->command, sizeof t->command, "%s", cases[i].command);
		json_t *report = build(t);
		assert_string_equal(text_at(report, "command"), cases[i].expected);
		const json_t *thread = json_array_get(at(report, "thread"), 0);
		assert_string_equal(text_at(thread, "comm"), "??");
		assert_int_equal(integer_at(thread, "tid"), 6);
		json_decref(report);
	}
	memset(t->command, 'x', sizeof t->command - 1);
	json_t *report = build(t);
	assert_int_equal(strlen(text_at(report, "command")), sizeof t->command - 1);
	json_decref(report);
	telemetry_unmap(t);
}

/* Nothing happened, and no time passed. */
static void test_zeros(void **state)
{
	struct telemetry *t = new_telemetry();
	json_t *report = report_build(t, 0, 0);
	(void)state;

	assert_non_null(report);
	assert_real(report, "elapsed_s", 0, 0);
	assert_real(report, "period_s", 0, 0);
	assert_real(report, "balanced_s", 0, 0);
	assert_true(json_is_null(at(report, "quota_cpus")));
	assert_json(at(report, "cycle_us"), "{\"median\": 0.0, \"p99\": 0.0, \"max\": 0.0}");
	assert_json(at(report, "thread"), "[]");
	assert_json(at(report, "progress"), "[]");
	json_decref(report);
	telemetry_unmap(t);
}

/* Counts are limited to the arrays, whatever they are. */
static void test_beyond_the_capacity(void **state)
{
	static const uint32_t beyond[] = {1, 1000000, UINT32_MAX - TELEMETRY_THREADS};
	struct telemetry *t = new_telemetry();
	(void)state;

	for (int32_t i = 0; i < TELEMETRY_CPUS; i++)
		telemetry_cpus(t)[i] = (struct telemetry_cpu){.os_cpu = i, .domain = i / 512};
	for (size_t i = 0; i < COUNT(beyond); i++) {
		telemetry_set32(&t->cpus, TELEMETRY_CPUS + beyond[i]);
		telemetry_set32(&t->slots, TELEMETRY_THREADS + beyond[i]);
		telemetry_set32(&t->progress_slots, TELEMETRY_PROGRESS + beyond[i]);
		json_t *report = build(t);
		assert_int_equal(json_array_size(at(report, "cpus")), TELEMETRY_CPUS);
		assert_int_equal(json_array_size(at(report, "domains")), 2);
		assert_int_equal(json_array_size(at(report, "thread")), TELEMETRY_THREADS);
		assert_int_equal(json_array_size(at(report, "progress")), TELEMETRY_PROGRESS);
		json_decref(report);
	}
	telemetry_unmap(t);
}

/* ---- Writing it ---- */

static void test_write(void **state)
{
	char folder[] = "/tmp/test_report.XXXXXX", path[64];
	struct telemetry *t = telemetry_of_run();
	json_t *report = build(t);
	(void)state;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/report.json", folder);
	/* A longer file is there already. */
	FILE *file = fopen(path, "w");
	for (int i = 0; i < 100000; i++)
		fputc('x', file);
	fclose(file);
	assert_int_equal(report_write(path, json_incref(report)), 0);
	json_t *back = json_load_file(path, 0, NULL);
	assert_non_null(back);
	assert_int_equal(json_object_size(back), json_object_size(report));
	assert_json(at(back, "domains"), "[[0, 2], [5], [1, 7]]");
	assert_real(back, "elapsed_s", 4, 1e-9);
	json_decref(back);

	assert_int_equal(report_write(folder, json_incref(report)), -EISDIR);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(report_write(path, json_incref(report)), -ENOENT);
	assert_int_equal(report_write("/dev/full", json_incref(report)), -ENOSPC);
	assert_int_equal(report_write(path, NULL), -ENOMEM);
	assert_int_equal(report->refcount, 1);
	json_decref(report);
	telemetry_unmap(t);
}

/* Each with a command of another length. */
static pid_t write_as_rank(const char *path, json_t *report, int rank)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	char *command = calloc(1, (size_t)rank * 500 + 1);
	memset(command, 'x', (size_t)rank * 500);
	json_object_set_new(report, "command", json_string(command));
	for (int i = 0; i < 5; i++) {
		int r = report_write(path, json_incref(report));
		if (r != 0 && r != -ETIMEDOUT) /* as when the machine stands still for a second */
			_exit(1);
	}
	_exit(0);
}

/* Ranks that write the same file at the same time. */
static void test_ranks(void **state)
{
	char folder[] = "/tmp/test_report.XXXXXX", path[64];
	struct telemetry *t = telemetry_of_run();
	json_t *report = build(t);
	(void)state;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/report.json", folder);
	for (int round = 0; round < 50; round++) {
		pid_t rank[4];
		int status;
		for (int i = 0; i < 4; i++)
			rank[i] = write_as_rank(path, report, i);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(waitpid(rank[i], &status, 0), rank[i]);
			assert_int_equal(status, 0);
		}
		json_t *back = json_load_file(path, 0, NULL);
		assert_non_null(back);
		json_decref(back);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	json_decref(report);
	telemetry_unmap(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_cycle_costs),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_no_phases),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_odd_bytes),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_beyond_the_capacity),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
