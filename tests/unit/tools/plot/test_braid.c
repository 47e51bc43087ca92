/* SPDX-License-Identifier: MIT */
/* Braids: where subdomains were, and how far ahead. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "tests/unit/tools/plot/traces.h"
#include "tools/plot/braid.h"
#include "tools/plot/chart.h"

static void test_braid(void **state)
{
	struct trace_file trace;
	struct plot_run run;
	struct braid braid;

	(void)state;
	parse(&trace, HEADER "point 1001 0 1 2 some\nthread 7 0 0 0 0 0 a\n" DECIDE
			     "subdomains 1000 7 0 2 0 1\n"
			     "updates 1000 7 5 15\n"
			     "give 500001000 7 0 0 1\n"
			     "give 500001000 9 0 0 1\n" /* of nobody */
			     "give 500001000 7 2 0 1\n" /* a subdomain that does not exist */
			     "give 500001000 7 1 1 5\n"
			     "updates 600001000 7 40 20 99\n"
			     "point 1000001000 0 1 2 some\nthread 7 0 0 0 0 0 a\n" DECIDE);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(braid_init(&braid, &trace, &run, 64, &chart_picture), 0);
	assert_int_equal(braid.processes, 1);
	assert_int_equal(braid.lanes, 2);
	assert_int_equal(braid.shown, 2);
	assert_float_equal(braid.lead_max, 33, 1e-9); /* 20 - 159 / 3 */
	const struct braid_vertex *vertex = braid.vertex;
	assert_true(vertex[0].begins && vertex[0].time_s == 0 && vertex[0].lane < 1);
	assert_float_equal(vertex[1].time_s, 0.5, 1e-6);
	assert_true(vertex[1].lane < 1);
	assert_true(vertex[2].time_s > 0.5 && vertex[2].time_s < 0.6 && vertex[2].lane > 1);
	assert_float_equal(vertex[2].lane - vertex[1].lane, 1, 1e-9);
	for (size_t i = 1; i < braid.vertices; i++)
		assert_true(vertex[i].begins || vertex[i].time_s >= vertex[i - 1].time_s);
	/* Nothing is known of later times. */
	assert_float_equal(vertex[braid.vertices - 1].time_s, 0.6, 1e-9);
	braid_deinit(&braid);
	assert_int_equal(braid_init(&braid, &trace, &run, 1, &chart_picture), 0);
	assert_int_equal(braid.subdomains, 2);
	assert_int_equal(braid.shown, 1);
	braid_deinit(&braid);
	braid_deinit(&braid);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

/* Emptying a place ends its line; filling one begins a line. */
static void test_broken_line(void **state)
{
	struct trace_file trace;
	struct plot_run run;
	struct braid braid;
	size_t lines = 0;

	(void)state;
	parse(&trace, HEADER "point 1001 0 1 2 some\nthread 7 0 0 0 0 0 a\n" DECIDE
			     "subdomains 1000 7 0 2 0\nsubdomains 300001000 7 0 2 -1\n"
			     "subdomains 600001000 7 0 2 1\n"
			     "point 1000001000 0 1 2 some\nthread 7 0 0 0 0 0 a\n" DECIDE);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(braid_init(&braid, &trace, &run, 64, &chart_picture), 0);
	for (size_t i = 0; i < braid.vertices; i++)
		lines += braid.vertex[i].begins;
	assert_int_equal(lines, 2);
	assert_int_equal(braid.vertices, 4);
	assert_float_equal(braid.vertex[1].time_s, 0.3, 1e-9);
	assert_float_equal(braid.vertex[2].time_s, 0.6, 1e-9);
	braid_deinit(&braid);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

/* The lane of a line that has one at that time; NAN. */
static double lane_at(const struct braid *braid, double time_s)
{
	for (size_t i = 1; i < braid->vertices; i++) {
		const struct braid_vertex *a = &braid->vertex[i - 1], *b = &braid->vertex[i];
		if (!b->begins && a->time_s <= time_s && time_s <= b->time_s && a->lane == b->lane)
			return a->lane;
	}
	return NAN;
}

/* A worker that should pass a subdomain on at 0.1 s stalls until 0.4 s, and the line stays with it;
 * at 0.5 s it was passed on at once. The worker leaves at 0.7 s, and the line ends. */
static void test_holders(void **state)
{
	struct trace_file trace;
	struct plot_run run;
	struct braid braid;

	(void)state;
	parse(&trace, HEADER "point 1001 0 1 2 some\nthread 7 0 0 0 0 0 a\n" DECIDE
			     "subdomains 1000 7 0 3 0\nupdates 1000 7 0\n"
			     "give 100001000 7 0 0 1\n"
			     "give 150001000 7 0 1 2\n"
			     "holders 200001000 7 0\nupdates 200001000 7 0\n"
			     "give 250001000 7 0 2 1\n"
			     "holders 300001000 7 0\nupdates 300001000 7 0\n"
			     "holders 400001000 7 1\nupdates 400001000 7 9\n"
			     "give 500001000 7 0 1 2\n"
			     "updates 600001000 7 20\n"
			     "holders 700001000 7 -1\nupdates 700001000 7 20\n"
			     "updates 900001000 7 20\n"
			     "point 1000001000 0 1 2 some\nthread 7 0 0 0 0 0 a\n" DECIDE);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(braid_init(&braid, &trace, &run, 64, &chart_picture), 0);
	assert_float_equal(lane_at(&braid, 0.05), 0.5, 1e-9);
	assert_float_equal(lane_at(&braid, 0.12), 0.5, 1e-9);
	assert_float_equal(lane_at(&braid, 0.35), 0.5, 1e-9);
	assert_float_equal(lane_at(&braid, 0.45), 1.5, 1e-9);
	assert_float_equal(lane_at(&braid, 0.55), 2.5, 1e-9);
	assert_float_equal(lane_at(&braid, 0.69), 2.5, 1e-9);
	assert_true(isnan(lane_at(&braid, 0.8)));
	braid_deinit(&braid);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

static void test_recorded_braid(void **state)
{
	struct trace_file trace;
	struct plot_run run;
	struct braid braid;

	(void)state;
	load(&trace, "braid");
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(braid_init(&braid, &trace, &run, 64, &chart_picture), 0);
	assert_int_equal(braid.shown, 8);
	assert_int_equal(braid.lanes, 2);
	assert_in_range(braid.vertices, 16, chart_picture.vertices);
	for (size_t i = 0; i < braid.vertices; i++)
		assert_true(braid.vertex[i].lane > 0 && braid.vertex[i].lane < 2);
	braid_deinit(&braid);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_braid),
		cmocka_unit_test(test_broken_line),
		cmocka_unit_test(test_holders),
		cmocka_unit_test(test_recorded_braid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
