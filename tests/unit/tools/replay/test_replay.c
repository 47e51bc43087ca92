/* SPDX-License-Identifier: MIT */
/* What replay makes of a trace: the program's model, the policy's decisions, the CPUs' loads. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/replay/follow.h"
#include "tools/replay/model.h"

#define MS UINT64_C(1000000)
#define MARGIN_NS 500000 /* juggle's default, with which the fixtures were recorded */
#define HEADER                                                                                     \
	"# juggle trace 1 {\"version\":\"0.1.0\",\"command\":\"true\",\"start_ns\":0,"             \
	"\"policy\":\"juggle\",\"sampler\":\"schedstat\",\"balancers\":\"domain\","                \
	"\"period_s\":0.004,\"cpus\":[[0,0],[3,0]]}\n"

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

static void follow(struct replay_follow *out, const struct trace_file *trace, int64_t margin_ns)
{
	const struct policy_juggle_params params = policy_juggle_defaults(margin_ns);

	assert_int_equal(replay_follow_init(out, trace, &params, 0), 0);
}

/* ---- Phases ---- */

static void test_phase_is_found(void **state)
{
	unsigned short random[3] = {1, 2, 3};
	double difference_ns[100];

	(void)state;
	/* Most are of one phase, some of more, some of none. */
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
	} tests[] = {{"block", true, true}, {"yield", false, true}, {"static", false, true},
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
		HEADER "point 10 0 5 0 0\npoint 20 0 10 0 0\n",
		HEADER "point 10 0 5 1 0\nthread 1 0 0 5 0 a\n",
		HEADER
		"point 10 0 5 1 0\nthread 1 0 0 5 0 a\npoint 10 0 5 1 0\nthread 1 0 0 5 0 a\n",
		HEADER
		"point 10 0 5 1 0\nthread 1 0 0 0 0 a\npoint 20 0 5 1 0\nthread 1 0 0 0 0 a\n",
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

/* Threads of two domains, one with a thread more for a moment. */
static void test_domains(void **state)
{
	struct trace_file trace;
	struct replay_model model;

	(void)state;
	read_text(&trace, HEADER "point 10 0 5 1 0\nthread 1 0 0 5 0 a\n"
				 "point 11 1 1 1 0\nthread 2 3 0 9 0 a\n"
				 "point 12 1 5 2 0\nthread 2 3 0 5 0 a\nthread 3 3 0 5 0 a\n"
				 "point 30 0 20 1 0\nthread 1 0 0 20 0 a\n"
				 "point 32 1 20 3 0\nthread 2 3 0 4 0 a\nthread 3 3 0 5 0 a\n"
				 "thread 4 3 0 6 0 a\n"
				 "point 62 1 30 2 2\nthread 2 3 0 7 0 a\nthread 3 3 0 8 0 a\n"
				 "move 2 3 0\nmove 3 0 3\n");
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

/* The very daemon recorded them, so that its policy agrees; another margin does not. */
static void test_decisions_of_recorded(void **state)
{
	static const char *const tests[] = {"block", "yield"};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		struct replay_follow same, other;

		read_fixture(&trace, tests[k]);
		follow(&same, &trace, MARGIN_NS);
		assert_true(same.decisions.points > 100);
		assert_true(same.decisions.recorded_moves > 100);
		assert_true(same.decisions.same * 10 >= same.decisions.points * 9);
		follow(&other, &trace, 50 * MS);
		assert_int_equal(other.decisions.points, same.decisions.points);
		assert_true(other.decisions.same * 10 < other.decisions.points * 9);
		replay_follow_deinit(&same);
		replay_follow_deinit(&other);
		trace_file_deinit(&trace);
	}
}

static void test_nothing_decided(void **state)
{
	static const char *const tests[] = {"static", "observe"};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		struct replay_follow out;

		read_fixture(&trace, tests[k]);
		follow(&out, &trace, MARGIN_NS);
		assert_int_equal(out.decisions.points, 0);
		assert_int_equal(out.decisions.moves, 0);
		replay_follow_deinit(&out);
		trace_file_deinit(&trace);
	}
}

/* A trace of made-up times, with the decisions of the policy on them: whatever the times, these are
 * found again. */
static void test_decisions_are_found_again(void **state)
{
	enum { THREADS = 5, CPUS = 2, POINTS = 300 };
	const struct policy_juggle_params params = policy_juggle_defaults(MARGIN_NS);
	static const int32_t os_cpu[CPUS] = {0, 3};
	struct policy_thread thread[THREADS] = {{.cpu = 0}, {.cpu = 1}, {.cpu = 0}, {.cpu = 1}};
	struct policy_cpu cpu[CPUS] = {{.os_cpu = 0}, {.os_cpu = 3}};
	struct policy_move move[THREADS];
	uint32_t order[2 * CPUS];
	unsigned short random[3] = {5, 6, 7};
	char *text = NULL;
	size_t bytes, all = 0;
	FILE *file = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(file);
	/* Another domain's records can come first, however late it was. */
	fprintf(file, "%sregime %llu 1 balance later\nregime 1 0 balance starting\n", HEADER,
		(unsigned long long)(2 * POINTS * 4 * MS));
	for (uint64_t k = 1; k <= POINTS; k++) {
		int32_t before[THREADS];
		for (int i = 0; i < THREADS; i++) {
			uint64_t run_ns =
				(uint64_t)(erand48(random) * (thread[i].cpu == 1 ? 2e6 : 1e6));
			thread[i].run_ns = thread[i].gain_ns = run_ns;
			thread[i].wait_ns = (uint64_t)(erand48(random) * 2e6);
			thread[i].progress_ns += (int64_t)run_ns;
			before[i] = thread[i].cpu;
		}
		size_t moves =
			policy_juggle(&params, 4 * MS, thread, THREADS, cpu, CPUS, order, move);
		all += moves;
		fprintf(file, "point %llu 0 4000000 %d %zu\n", (unsigned long long)(k * 4 * MS),
			THREADS, moves);
		for (int i = 0; i < THREADS; i++)
			fprintf(file, "thread %d %d %lld %llu %llu a\n", 100 + i, os_cpu[before[i]],
				(long long)thread[i].progress_ns,
				(unsigned long long)thread[i].run_ns,
				(unsigned long long)thread[i].wait_ns);
		for (size_t i = moves; i-- > 0;)
			fprintf(file, "move %u %d %d\n", 100 + move[i].thread, os_cpu[move[i].from],
				os_cpu[move[i].to]);
	}
	fclose(file);
	assert_true(all > 100);
	struct trace_file trace;
	struct replay_follow out;
	read_text(&trace, text);
	free(text);
	follow(&out, &trace, MARGIN_NS);
	assert_int_equal(out.decisions.points, POINTS);
	assert_int_equal(out.decisions.recorded_moves, all);
	assert_int_equal(out.decisions.moves, all);
	assert_int_equal(out.decisions.same, POINTS);
	replay_follow_deinit(&out);
	trace_file_deinit(&trace);
}

/* ---- Loads ---- */

/* Two threads with a CPU each; one waits half of the time, for nobody of the job. */
static void test_loads(void **state)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);
	struct trace_file trace;
	struct replay_follow out;

	(void)state;
	assert_non_null(file);
	fprintf(file, "%sregime 1 0 balance starting\n", HEADER);
	for (uint64_t k = 1; k <= 200; k++)
		fprintf(file,
			"point %llu 0 4000000 2 0\nthread 7 0 0 4000000 0 a\n"
			"thread 8 3 0 2000000 2000000 a\n",
			(unsigned long long)(k * 4 * MS));
	fclose(file);
	read_text(&trace, text);
	free(text);
	follow(&out, &trace, MARGIN_NS);
	assert_int_equal(out.cpus, 2);
	assert_int_equal(out.cpu[0].loads, 3);
	assert_int_equal(out.cpu[1].loads, 3);
	assert_true(out.cpu[0].share < 0.001);
	for (size_t k = 0; k < 3; k++) {
		assert_true(out.cpu[1].load[k].share > 0.49 && out.cpu[1].load[k].share < 0.51);
		assert_int_equal(out.cpu[1].load[k].from_ns, k * 64 * 4 * MS);
	}
	replay_follow_deinit(&out);
	replay_follow_deinit(&out);
	trace_file_deinit(&trace);
}

/* ---- Nonsense ---- */

static void make_what_can_be(const struct trace_file *trace)
{
	struct replay_model model;
	struct replay_follow out;

	int r = replay_model_init(&model, trace);
	assert_true(r == 0 || r == -ENODATA);
	if (r == 0)
		assert_true(model.threads > 0 && model.points > 0 && model.work_ns > 0);
	follow(&out, trace, MARGIN_NS);
	assert_true(out.decisions.same <= out.decisions.points);
	for (size_t i = 0; i < out.cpus; i++)
		for (size_t k = 0; k < out.cpu[i].loads; k++)
			assert_true(out.cpu[i].load[k].share >= 0 && out.cpu[i].load[k].share < 1);
	replay_follow_deinit(&out);
}

static void test_nonsense(void **state)
{
#define MOST "4611686018427387903"
#define NO_CPUS                                                                                    \
	"regime 1 1023 balance why\npoint 2 1023 1 1 0\nthread 1 0 0 1 0 a\n"                      \
	"point 3 1023 1 1 0\nthread 1 0 0 1 0 a\n"
	static const char *const tests[] = {
		/* One thread twice, moves of nobody, from and to nowhere. */
		"point 2 0 1 3 3\nthread 1 0 0 1 0 a\nthread 1 3 0 1 0 b\nthread 1 0 0 1 0 b\n"
		"move 1 0 3\nmove 9 0 3\nmove 1 77 99\n"
		"point 3 0 1 3 0\nthread 1 0 0 1 0 a\nthread 1 3 0 1 0 b\nthread 1 0 0 1 0 b\n",
		/* A CPU that is not there; one point without a length. */
		"point 2 0 1 1 0\nthread 1 77 0 1 0 a\npoint 3 0 0 1 0\nthread 1 0 0 1 0 a\n",
		/* The largest times. */
		"point 2 0 1 2 0\nthread 1 0 " MOST " 1 " MOST " a\nthread 2 3 -" MOST
		" 0 0 a\npoint " MOST " 0 " MOST " 2 0\nthread 1 0 " MOST " " MOST " " MOST
		" a\nthread 2 3 -" MOST " " MOST " 0 a\n",
		/* A domain without CPUs. */
		NO_CPUS,
	};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		char *text = NULL;

		assert_true(asprintf(&text, "%sregime 1 0 balance why\n%s", HEADER, tests[k]) > 0);
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

		/* Digits, mostly, or little would get past the reader. */
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
		cmocka_unit_test(test_nothing_decided),
		cmocka_unit_test(test_decisions_are_found_again),
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_any_byte_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
