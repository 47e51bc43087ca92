/* SPDX-License-Identifier: MIT */
/* How replay reads a trace: the program's model, the policy's decisions, the CPUs' loads. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/daemon/trace/text.h"
#include "tools/replay/follow.h"
#include "tools/replay/model.h"

#define MS UINT64_C(1000000)
#define HEADER TRACE_HEADER("0") "cpus 0 0:0 3:0\nteam 0 0 1 1 ns\n"

/* The caller frees it. */
static char *fixture(const char *name, size_t *bytes)
{
	const char *folder = getenv("JUGGLE_FIXTURES");
	char path[4096], *text = malloc(1 << 20);

	if (folder == NULL)
		fail_msg("JUGGLE_FIXTURES is not set");
	snprintf(path, sizeof(path), "%s/trace/%s", folder, name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(text);
	*bytes = fread(text, 1, 1 << 20, file);
	assert_true(*bytes > 0 && *bytes < 1 << 20);
	fclose(file);
	return text;
}

static void read_fixture(struct trace_file *trace, const char *name)
{
	struct trace_error error;
	size_t bytes;
	char *text = fixture(name, &bytes);

	assert_int_equal(trace_parse(trace, text, bytes, &error), 0);
	free(text);
}

static void read_text(struct trace_file *trace, const char *text)
{
	struct trace_error error;
	int r = trace_parse(trace, text, strlen(text), &error);

	if (r < 0)
		fail_msg("line %zu: %s", error.line, error.text);
}

static void follow(struct replay_follow *out, const struct trace_file *trace)
{
	struct replay_settings settings;

	assert_true(replay_recorded_settings(trace, &settings));
	assert_int_equal(replay_follow_init(out, trace, &settings, 0), 0);
}

/* ---- Phases ---- */

static void test_phase_is_found(void **state)
{
	unsigned short random[3] = {1, 2, 3};
	double difference_ns[100];

	(void)state;
	/* Most differences are one phase, some are more, some are none. */
	for (int i = 0; i < 100; i++) {
		double phases = i % 10 < 6 ? 1 : i % 10 < 8 ? 2 : 0;
		double noise = 0.04 * (erand48(random) - 0.5);
		difference_ns[i] = phases > 0 ? 20e6 * (phases + noise) : 90e6 * erand48(random);
	}
	double phase_ns = (double)replay_model_phase(difference_ns, 100, 6e6, 300e6);
	assert_true(phase_ns > 19.5e6 && phase_ns < 20.5e6);
}

static void test_no_phase(void **state)
{
	unsigned short random[3] = {3, 2, 1};
	double difference_ns[100] = {20e6, 20e6, 20e6, 20e6};

	(void)state;
	assert_int_equal(replay_model_phase(difference_ns, 0, 6e6, 300e6), 0);
	assert_int_equal(replay_model_phase(difference_ns, 4, 6e6, 300e6), 0);
	for (int i = 0; i < 100; i++)
		difference_ns[i] = 20e6;
	assert_int_equal(replay_model_phase(difference_ns, 100, 30e6, 300e6), 0);
	assert_int_equal(replay_model_phase(difference_ns, 100, 6e6, 300e6), 20000000);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 100; i++)
			difference_ns[i] = 200e6 * erand48(random);
		assert_int_equal(replay_model_phase(difference_ns, 100, 6e6, 300e6), 0);
	}
}

/* ---- The model ---- */

static void test_model_of_recorded(void **state)
{
	static const struct {
		const char *name;
		bool phases, placed;
	} tests[] = {{"block", true, true}, {"yield", false, true}, {"static", true, true},
		{"observe", false, false}};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		struct replay_model model;

		read_fixture(&trace, tests[k].name);
		assert_int_equal(replay_model_init(&model, &trace), 0);
		assert_int_equal(model.threads, 3);
		assert_true(model.end_ns > model.begin_ns);
		assert_true(model.asleep >= 0 && model.asleep < 0.5);
		assert_true(tests[k].placed ? model.balanced > 0.95 : model.balanced < 0.05);
		assert_true(model.lag_mean_ns > 0 && model.lag_ns >= model.lag_mean_ns);
		double busy = model.work_ns / (double)(model.end_ns - model.begin_ns) / 2;
		assert_true(busy > 0.5 && busy < 1.01);
		if (tests[k].phases)
			assert_true(model.phase_ns > 19 * MS && model.phase_ns < 22 * MS);
		else
			assert_int_equal(model.phase_ns, 0);
		trace_file_deinit(&trace);
	}
}

static void test_nothing_to_model(void **state)
{
	static const char *const tests[] = {
		HEADER,
		HEADER "point 10 0 5 1 some\n" DECIDE "point 20 0 10 1 some\n" DECIDE,
		HEADER "point 10 0 5 2 some\nthread 1 0 0 5 0 0 a\n" DECIDE,
		HEADER "point 10 0 5 2 some\nthread 1 0 0 5 0 0 a\n" DECIDE
		       "point 10 0 5 2 some\nthread 1 0 0 5 0 0 a\n" DECIDE,
		HEADER "point 10 0 5 2 some\nthread 1 0 0 0 0 0 a\n" DECIDE
		       "point 20 0 5 2 some\nthread 1 0 0 0 0 0 a\n" DECIDE,
	};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		struct replay_model model;

		read_text(&trace, tests[k]);
		assert_int_equal(replay_model_init(&model, &trace), -ENODATA);
		trace_file_deinit(&trace);
	}
}

/* Threads of two domains, one of which has one more thread for a moment. */
static void test_domains(void **state)
{
	struct trace_file trace;
	struct replay_model model;

	(void)state;
	read_text(&trace,
		HEADER "point 10 0 5 2 some\nthread 1 0 0 5 0 0 a\n" DECIDE
		       "point 11 1 1 2 some\nthread 2 3 0 9 0 0 a\n" DECIDE
		       "point 12 1 5 3 some\nthread 2 3 0 5 0 0 a\nthread 3 3 0 5 0 0 a\n" DECIDE
		       "point 30 0 20 2 some\nthread 1 0 0 20 0 0 a\n" DECIDE
		       "point 32 1 20 4 some\nthread 2 3 0 4 0 0 a\nthread 3 3 0 5 0 0 a\n"
		       "thread 4 3 0 6 0 0 a\n" DECIDE
		       "point 62 1 30 6 some\nthread 2 3 0 7 0 0 a\nthread 3 3 0 8 0 0 a\n"
		       "move 2 3 0\nmove 3 0 3\nmove 9 -1 3\n" DECIDE);
	assert_int_equal(replay_model_init(&model, &trace), 0);
	assert_int_equal(model.threads, 3);
	assert_int_equal(model.begin_ns, 10);
	assert_int_equal(model.end_ns, 62);
	assert_true(model.work_ns == 20 + 4 + 5 + 6 + 7 + 8);
	assert_int_equal(model.points, 3);
	assert_int_equal(model.migrations, 2);
	trace_file_deinit(&trace);
}

/* ---- Decisions ---- */

/* The decisions of juggle in real runs, with births, deaths, changes of the regime and of CPUs, are
 * repeated to the last one. */
static void test_decisions_of_recorded(void **state)
{
	static const char *const tests[] = {
		"block", "yield", "static", "observe", "braid", "lively", "hotplug"};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		struct replay_follow out;

		read_fixture(&trace, tests[k]);
		follow(&out, &trace);
		assert_int_equal(out.decisions.points, trace.points);
		if (out.decisions.same != out.decisions.points)
			fail_msg("%s: %u of %u", tests[k], (unsigned)out.decisions.same,
				(unsigned)out.decisions.points);
		assert_int_equal(out.decisions.moves, out.decisions.recorded_moves);
		replay_follow_deinit(&out);
		trace_file_deinit(&trace);
	}
}

/* The recorded runs contain what their names say. */
static void test_recorded_runs(void **state)
{
	struct trace_file trace;
	size_t deaths = 0, assigned = 0;

	(void)state;
	read_fixture(&trace, "lively");
	for (size_t i = 0; i < trace.points; i++)
		for (size_t k = 0; k < trace.point[i].others; k++)
			deaths += trace.point[i].other[k].news == POLICY_END;
	assert_true(trace.births > 10 && deaths > 5 && trace.regimes > 5);
	trace_file_deinit(&trace);
	read_fixture(&trace, "hotplug");
	for (size_t i = 0; i < trace.points; i++)
		for (size_t k = 0; k < trace.point[i].newcomers; k++)
			assigned += trace.point[i].newcomer[k].assigned;
	assert_true(trace.cpu_changes >= 2 && trace.teams >= 3 && assigned == 6);
	trace_file_deinit(&trace);
}

/* With another margin, other threads move. */
static void test_other_decisions(void **state)
{
	static const char *const tests[] = {"block", "yield"};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		struct replay_settings settings;
		struct replay_follow out;

		read_fixture(&trace, tests[k]);
		assert_true(replay_recorded_settings(&trace, &settings));
		settings.margin_ns = (int64_t)(50 * MS);
		assert_int_equal(replay_follow_init(&out, &trace, &settings, 0), 0);
		assert_true(out.decisions.moved.parted);
		assert_true(out.decisions.recorded_moves > 100);
		assert_true(out.decisions.moves < out.decisions.recorded_moves);
		replay_follow_deinit(&out);
		trace_file_deinit(&trace);
	}
}

static void test_unknown_policy(void **state)
{
	struct trace_file trace;
	struct replay_settings settings;

	(void)state;
	read_text(&trace, HEADER);
	trace.policy = "later";
	assert_false(replay_recorded_settings(&trace, &settings));
	trace_file_deinit(&trace);
}

/* ---- Loads ---- */

/* Two threads with a CPU each; one waits half of the time, for work outside the job. */
static void test_loads(void **state)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);
	struct trace_file trace;
	struct replay_follow out;

	(void)state;
	assert_non_null(file);
	fprintf(file, "%s", HEADER);
	for (uint64_t k = 1; k <= 200; k++)
		fprintf(file,
			"point %llu 0 4000000 %d some\n%s"
			"thread 7 0 0 4000000 0 1 a rule=2\n"
			"thread 8 3 0 2000000 2000000 1 a rule=2\n" DECIDE_BALANCE,
			(unsigned long long)(k * 4 * MS), k == 1 ? 5 : 3,
			k == 1 ? "new 7 0\nnew 8 0\n" : "");
	fclose(file);
	read_text(&trace, text);
	free(text);
	follow(&out, &trace);
	assert_int_equal(out.cpus, 2);
	/* From when it is certain that there is something to balance. */
	assert_int_equal(out.cpu[0].loads, 2);
	assert_int_equal(out.cpu[1].loads, 2);
	assert_true(out.cpu[0].share < 0.001);
	const struct threads_load *load = out.cpu[1].load;
	for (size_t k = 0; k < 2; k++)
		assert_true(load[k].share > 0.49 && load[k].share < 0.51);
	assert_int_equal(load[1].from_ns - load[0].from_ns, 64 * 4 * MS);
	replay_follow_deinit(&out);
	replay_follow_deinit(&out);
	trace_file_deinit(&trace);
}

/* ---- Nonsense ---- */

static void make_what_can_be(const struct trace_file *trace)
{
	struct replay_model model;
	struct replay_settings settings;
	struct replay_follow out;

	int r = replay_model_init(&model, trace);
	assert_true(r == 0 || r == -ENODATA);
	if (r == 0)
		assert_true(model.threads > 0 && model.points > 0 && model.work_ns > 0);
	if (!replay_recorded_settings(trace, &settings))
		return;
	assert_int_equal(replay_follow_init(&out, trace, &settings, 0), 0);
	assert_true(out.decisions.same <= out.decisions.points);
	for (size_t i = 0; i < out.cpus; i++)
		for (size_t k = 0; k < out.cpu[i].loads; k++)
			assert_true(out.cpu[i].load[k].share >= 0 && out.cpu[i].load[k].share < 1);
	replay_follow_deinit(&out);
}

static void test_nonsense(void **state)
{
#define MOST "4611686018427387903"
	static const char *const tests[] = {
		/* One thread twice; moves of unknown threads, from and to nowhere. */
		"point 2 0 1 9 all,open\nnew 1 0\nnew 1 1\nthread 1 0 0 1 0 0 a\n"
		"thread 1 3 0 1 0 0 b\nthread 1 0 0 1 0 0 b\nmove 1 0 3\nmove 9 0 3\n"
		"move 1 77 99\n" DECIDE_BALANCE
		"point 3 0 1 5 all\nthread 1 0 0 1 0 0 a\nthread 1 3 0 1 0 0 b\n"
		"other 1 0 1 0 0 e\nhandover 1 1023\n" DECIDE_BALANCE,
		/* A CPU that does not exist; a point without a length; threads without a birth
		 * record. */
		"point 2 0 1 2 all\nthread 1 77 0 1 0 0 a\n" DECIDE
		"point 3 0 0 2 all\nthread 1 0 0 1 0 0 a\n" DECIDE,
		/* The largest times, and times that go backwards. */
		"point 2 0 1 5 all\nnew 1 0\nnew 2 0\nthread 1 0 " MOST " 1 " MOST " " MOST
		" a sleeps=" MOST "\nthread 2 3 -" MOST " 0 0 0 a\n" DECIDE_BALANCE "point " MOST
		" 0 " MOST " 3 all\nthread 1 0 " MOST " " MOST " " MOST " " MOST " a left=" MOST
		" sleeps=1\nthread 2 3 -" MOST " " MOST " 0 0 a\n" DECIDE,
		/* A domain without CPUs, and one without a beginning. */
		"team 1 1 2 1 work\npoint 2 1 1 3 all\nnew 1 0\nthread 1 0 0 1 0 0 "
		"a\n" DECIDE_BALANCE
		"point 2 1023 1 3 all\nnew 1 0\nthread 1 0 0 1 0 0 a\n" DECIDE_BALANCE,
		/* More domains, or fewer, than there are. */
		"team 1 0 1024 1 ns\npoint 2 0 1 3 all,open\ndomains 1 2 3\nnew 1 0\n" DECIDE
		"team 2 0 1 1 ns\npoint 3 0 1 2 all,open\ndomains 1 2 3\n" DECIDE,
	};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		char *text = NULL;

		assert_true(asprintf(&text, "%s%s", HEADER, tests[k]) > 0);
		read_text(&trace, text);
		free(text);
		make_what_can_be(&trace);
		trace_file_deinit(&trace);
	}
}

static void test_any_byte_damaged(void **state)
{
	size_t bytes, read = 0;
	char *text = fixture("yield", &bytes);
	unsigned short random[3] = {1, 2, 3};

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct trace_file trace;
		struct trace_error error;
		size_t at = (size_t)nrand48(random) % bytes;
		char before = text[at];

		/* Mostly digits; otherwise little would get past the reader. */
		text[at] = (char)('0' + nrand48(random) % 10);
		if (trace_parse(&trace, text, bytes, &error) == 0) {
			read++;
			make_what_can_be(&trace);
		}
		trace_file_deinit(&trace);
		text[at] = before;
	}
	assert_true(read > 100);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phase_is_found),
		cmocka_unit_test(test_no_phase),
		cmocka_unit_test(test_model_of_recorded),
		cmocka_unit_test(test_nothing_to_model),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_decisions_of_recorded),
		cmocka_unit_test(test_recorded_runs),
		cmocka_unit_test(test_other_decisions),
		cmocka_unit_test(test_unknown_policy),
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_any_byte_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
