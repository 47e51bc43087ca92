/* SPDX-License-Identifier: MIT */
/* The parts of pictures of traces: stays, thinned series, and text for gnuplot. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/tools/plot/traces.h"
#include "tools/command/output.h"
#include "tools/plot/braid.h"
#include "tools/plot/chart.h"
#include "tools/plot/page.h"
#include "tools/plot/perfetto.h"
#include "tools/plot/picture.h"
#include "tools/plot/quote.h"
#include "tools/plot/stays.h"
#include "tools/plot/waits.h"

#include <jansson.h>

/* ---- Stays ---- */

/* Two threads swap CPUs on the way; a third is left to the kernel. */
#define SWAP                                                                                       \
	HEADER "birth 1000 7 7 a\nbirth 1000 8 7 a\nname 1500 8 b\nname 1500 6 c\n"                \
	       "point 2000 0 1000 3 some\nthread 8 1 0 1000 0 0 a\nthread 7 0 0 1000 0 0 "         \
	       "a\n" DECIDE                                                                        \
	       "point 3000 0 1000 5 some\nthread 8 1 0 1000 0 0 a\nthread 7 0 0 1000 0 0 a\n"      \
	       "move 7 0 1\nmove 8 1 0\n" DECIDE_BALANCE                                           \
	       "point 4000 0 1000 6 some\nthread 8 0 10 1000 0 0 a\nthread 7 1 0 1000 0 0 a\n"     \
	       "thread 9 -1 40 5 0 0 a\nmove 7 1 -1\nmove 8 0 -1\n" DECIDE

static void assert_stay(const struct plot_run *run, size_t at, int32_t tid, int32_t os_cpu,
	uint32_t slot, uint64_t from_ns, uint64_t to_ns)
{
	const struct plot_stay *stay = &run->stay[at];

	assert_int_equal(run->thread[stay->thread].tid, tid);
	assert_int_equal(run->cpu[stay->cpu].os_cpu, os_cpu);
	assert_int_equal(stay->slot, slot);
	assert_int_equal(stay->from_ns, from_ns);
	assert_int_equal(stay->to_ns, to_ns);
}

static void test_stays(void **state)
{
	struct trace_file trace;
	struct plot_run run;

	(void)state;
	parse(&trace, SWAP);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(run.begin_ns, 1000);
	assert_int_equal(run.points, 3);
	assert_int_equal(run.migrations, 2);
	assert_int_equal(run.threads, 3);
	assert_string_equal(run.thread[1].comm, "b");
	assert_int_equal(run.thread[2].pid, 0);
	assert_int_equal(run.stays, 5);
	assert_stay(&run, 0, 7, 0, 0, 1000, 3000);
	assert_stay(&run, 1, 8, 1, 0, 1000, 3000);
	assert_stay(&run, 2, 7, 1, 0, 3000, 4000);
	assert_stay(&run, 3, 8, 0, 0, 3000, 4000);
	assert_stay(&run, 4, 9, -1, 0, 3000, 4000);
	assert_int_equal(run.cpus, 3);
	assert_int_equal(run.asides, 1);
	assert_int_equal(run.aside[0].from_ns, 1000);
	assert_int_equal(run.aside[0].to_ns, 3000);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

static void test_window_and_choice(void **state)
{
	const int32_t eight = 8, nobody = 5;
	struct plot_choice choice = {
		.from_ns = 1500, .to_ns = 2500, .threads_max = 9, .tid = &eight, .tids = 1};
	struct trace_file trace;
	struct plot_run run;

	(void)state;
	parse(&trace, SWAP);
	assert_int_equal(plot_run_init(&run, &trace, &choice), 0);
	assert_int_equal(run.points, 1);
	assert_int_equal(run.threads_seen, 2);
	assert_int_equal(run.threads_shown, 1);
	assert_int_equal(run.thread[0].shown, PLOT_HIDDEN);
	assert_int_equal(run.thread[1].shown, 0);
	assert_stay(&run, 0, 7, 0, 0, 2500, 3000);
	plot_run_deinit(&run);
	choice.tid = &nobody;
	assert_int_equal(plot_run_init(&run, &trace, &choice), -ENOENT);
	plot_run_deinit(&run);
	choice.from_ns = 1000000;
	choice.to_ns = UINT64_MAX;
	assert_int_equal(plot_run_init(&run, &trace, &choice), -ENODATA);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

/* ---- Waits ---- */

/* Two threads. One waits for a quarter of the last 2 us, less the 200 ns that were counted late; of the
 * other nothing is told at first, and then its totals go back. */
#define WAITS                                                                                      \
	HEADER "birth 1000 7 7 a\nbirth 1000 8 7 b\n"                                              \
	       "point 2000 0 1000 3 some\n"                                                        \
	       "thread 7 0 0 1000 0 0 a arrivals=10 useful=5000 done=0\nthread 8 1 0 1000 0 0 "    \
	       "a\n" DECIDE "point 3000 0 1000 3 some\n"                                           \
	       "thread 7 0 0 1000 0 0 a arrivals=11 useful=6200 done=0\n"                          \
	       "thread 8 1 0 1000 0 0 a arrivals=3 useful=900 done=0 waits\n" DECIDE               \
	       "point 5000 0 2000 3 some\n"                                                        \
	       "thread 7 0 0 1500 500 0 a arrivals=14 useful=7200 done=0\n"                        \
	       "thread 8 1 0 1000 0 0 a arrivals=2 useful=100 done=0\n" DECIDE

static void test_waits(void **state)
{
	struct trace_file trace;
	struct plot_wait *wait;
	struct plot_run run;
	struct chart chart;
	size_t n;

	(void)state;
	parse(&trace, WAITS);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(plot_waits(&trace, &run, &wait, &n), 0);
	assert_int_equal(n, 2);
	assert_true(wait[0].from_ns == 2000 && wait[0].to_ns == 3000 && wait[0].arrivals == 1);
	assert_true(wait[0].share == 0 && run.thread[wait[0].thread].tid == 7);
	assert_true(wait[1].from_ns == 3000 && wait[1].to_ns == 5000 && wait[1].arrivals == 3);
	double wait_share = wait[1].share;
	assert_true(
		fabs(wait_share - 0.15) < 1e-12); /* 1200 ns were useful, and 500 without a CPU */
	free(wait);
	assert_int_equal(chart_init(&chart, &trace, &run, &chart_picture), 0);
	assert_true(chart.told);
	size_t cells = 0;
	for (size_t i = 0; i < chart.bins; i++) {
		cells += chart.waits[i].count;
		assert_int_equal(chart.waits[chart.bins + i].count, 0);
		if (chart.waits[i].count > 0)
			assert_true(fabs(chart.waits[i].most.value -
					    (cells == 1 ? 0 : wait_share)) < 1e-12);
	}
	assert_int_equal(cells, 2);
	size_t rates = 0;
	for (size_t i = 0; i < chart.bins; i++)
		if (chart.phases[i].count > 0) {
			rates++; /* so few phases make one value: 4 in 3 us */
			assert_true(fabs(chart.phases[i].most.value * 3e-6 - 4) < 1e-9);
		}
	assert_int_equal(rates, 1);
	chart_deinit(&chart);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);

	parse(&trace, SWAP); /* nothing is told */
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(plot_waits(&trace, &run, &wait, &n), 0);
	assert_int_equal(n, 0);
	free(wait);
	assert_int_equal(chart_init(&chart, &trace, &run, &chart_picture), 0);
	assert_false(chart.told);
	chart_deinit(&chart);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

/* Whatever a trace says, stays of a slot, and of a thread, do not overlap. */
static void check_stays(const struct plot_run *run)
{
	for (size_t i = 0; i < run->stays; i++) {
		const struct plot_stay *a = &run->stay[i];
		assert_true(a->from_ns < a->to_ns);
		assert_true(a->from_ns >= run->from_ns && a->to_ns <= run->to_ns);
		assert_true(a->cpu < run->cpus && a->slot < run->cpu[a->cpu].slots);
		for (size_t k = i + 1; k < run->stays; k++) {
			const struct plot_stay *b = &run->stay[k];
			bool same =
				a->thread == b->thread || (a->cpu == b->cpu && a->slot == b->slot);
			assert_true(!same || a->to_ns <= b->from_ns);
		}
	}
}

static void test_odd_records(void **state)
{
	struct trace_file trace;
	struct plot_run run;

	(void)state;
	/* A thread twice in a point; in two domains at once; more time elapsed than there was. */
	parse(&trace, HEADER
		"point 2000 0 999999 3 some\nthread 7 0 0 0 0 0 a\nthread 7 1 0 0 0 0 a\n" DECIDE
		"point 1500 1 100 2 some\nthread 7 65535 0 0 0 0 a\n" DECIDE
		"point 3000 1 2500 3 some\nthread 7 1 0 0 0 0 a\nthread 6 1 0 0 0 0 a\n" DECIDE
		"point 3000 0 0 2 some\nthread 2147483647 0 0 0 0 0 a\n" DECIDE);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	check_stays(&run);
	assert_int_equal(run.threads, 3);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
	parse(&trace, HEADER);
	assert_int_equal(plot_run_init(&run, &trace, &everything), -ENODATA);
	plot_run_deinit(&run);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

/* More threads at a time than a CPU has slots in its table; they come and go. */
static void test_many_slots(void **state)
{
	struct trace_file trace;
	struct plot_run run;
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);
	unsigned short random[3] = {1, 2, 3};

	(void)state;
	assert_non_null(to);
	fputs(HEADER, to);
	for (int i = 1; i < 20; i++) {
		fprintf(to, "point %d 0 100 151 some\n", 1000 + 100 * i);
		for (int t = 0; t < 150; t++)
			fprintf(to, "thread %d %ld 0 0 0 0 a\n", t + 1, nrand48(random) % 4 / 3);
		fputs(DECIDE, to);
	}
	fclose(to);
	parse(&trace, text);
	free(text);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	check_stays(&run);
	assert_in_range(run.cpu[0].slots, 90, 150);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

/* Threads that were nowhere, on a machine without CPUs. */
static void test_no_cpus(void **state)
{
	struct trace_file trace;
	struct plot_run run;
	struct chart chart;
	struct braid braid;
	FILE *to = fopen("/dev/null", "w");

	(void)state;
	assert_non_null(to);
	parse(&trace, TRACE_HEADER("1000") "point 2000 0 0 2 some\nthread 7 1 0 0 0 0 a\n" DECIDE);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(run.cpus, 0);
	assert_int_equal(chart_init(&chart, &trace, &run, &chart_picture), 0);
	assert_int_equal(braid_init(&braid, &trace, &run, 1, &chart_picture), 0);
	const struct picture picture = {.trace = &trace,
		.run = &run,
		.chart = &chart,
		.braid = &braid,
		.panel = {true, true, true, true, true},
		.width = 1000};
	assert_int_equal(picture_write(&picture, to), 0);
	fclose(to);
	braid_deinit(&braid);
	chart_deinit(&chart);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

/* ---- Series ---- */

static void test_recorded(void **state)
{
	static const char *const names[] = {"block", "yield", "static", "observe", "braid"};
	struct trace_file trace;
	struct plot_run run;
	struct chart chart;

	(void)state;
	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		load(&trace, names[k]);
		assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
		check_stays(&run);
		assert_int_equal(chart_init(&chart, &trace, &run, &chart_picture), 0);
		assert_int_equal(chart.threads, run.threads_seen);
		size_t points = 0, spreads = 0;
		uint64_t moves = 0;
		for (uint32_t bin = 0; bin < chart.bins; bin++) {
			points += chart.mean[bin].count;
			spreads += chart.spread[bin].count;
			assert_true(
				chart.spread[bin].count == 0 || chart.spread[bin].least.value >= 0);
		}
		for (int bin = 0; bin < (int)chart.rate_bins; bin++)
			moves += chart.moves[bin];
		assert_int_equal(points, run.points);
		assert_true(spreads > 0 && spreads <= points);
		assert_int_equal(moves, run.migrations);
		chart_deinit(&chart);
		plot_run_deinit(&run);
		trace_file_deinit(&trace);
	}
}

static void test_lead(void **state)
{
	struct trace_file trace;
	struct plot_run run;
	struct chart chart;

	(void)state;
	parse(&trace, SWAP);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(chart_init(&chart, &trace, &run, &chart_picture), 0);
	/* By the last point the threads 8, 7 and 9 have progressed by 10, 0 and 40 ns. */
	const uint32_t last = chart.bins - 1;
	assert_float_equal(chart.lead[0 * chart.bins + last].most.value, -50e-9 / 3, 1e-15);
	assert_float_equal(chart.lead[1 * chart.bins + last].most.value, -20e-9 / 3, 1e-15);
	assert_float_equal(chart.lead[2 * chart.bins + last].least.value, 70e-9 / 3, 1e-15);
	assert_float_equal(chart.spread[last].most.value, 40e-9, 1e-15);
	assert_float_equal(chart.progress[0 * chart.bins + last].most.value, 3000e-9, 1e-12);
	assert_float_equal(chart.mean[last].most.value, 6005e-9 / 3, 1e-12);
	chart_deinit(&chart);
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

static void test_bins(void **state)
{
	struct chart_cell cell = {0};

	(void)state;
	assert_int_equal(chart_bin(10, 1, 2, 1), 0);
	assert_int_equal(chart_bin(10, 1, 2, 1.55), 5);
	assert_int_equal(chart_bin(10, 1, 2, 2), 9);
	assert_int_equal(chart_bin(10, 1, 2, -1e300), 0);
	assert_int_equal(chart_bin(10, 1, 2, 1e300), 9);
	assert_int_equal(chart_bin(10, 1, 1, 1), 0); /* not a number */
	chart_add(&cell, 1, 5);
	chart_add(&cell, 2, -5);
	chart_add(&cell, 3, 0);
	assert_int_equal(cell.count, 3);
	assert_true(cell.least.time_s == 2 && cell.most.time_s == 1);
}

/* A long trace: threads that take turns on one CPU for a thousandth of a second each. */
static char *long_trace(size_t points)
{
	char *text = malloc(strlen(HEADER) + points * 160);
	size_t bytes = strlen(HEADER);

	assert_non_null(text);
	strcpy(text, HEADER);
	for (size_t i = 1; i <= points; i++)
		bytes += (size_t)sprintf(text + bytes,
			"point %zu 0 1000000 4 some\nthread 1 %zu 0 0 0 0 a\n"
			"thread 2 %zu 0 0 0 0 b\nmove 1 0 1\n" DECIDE_BALANCE,
			1000 + i * 1000000, i % 2, 1 - i % 2);
	return text;
}

static void test_thinned_bars(void **state)
{
	struct trace_file trace;
	struct plot_run run;
	struct chart_bar *bar;
	size_t count, rows;
	char *text = long_trace(20000);

	(void)state;
	parse(&trace, text);
	free(text);
	assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
	assert_int_equal(run.stays, 40000);
	for (int by_thread = 0; by_thread < 2; by_thread++) {
		assert_int_equal(
			chart_bars(&run, by_thread, &chart_picture, &bar, &count, &rows), 0);
		assert_int_equal(rows, 2);
		assert_in_range(count, 100, chart_picture.bars);
		for (size_t i = 0; i < count; i++) {
			assert_true(bar[i].from_ns < bar[i].to_ns && bar[i].row < rows);
			assert_true(i == 0 || bar[i].row != bar[i - 1].row ||
				    bar[i].from_ns >= bar[i - 1].to_ns);
		}
		free(bar);
	}
	plot_run_deinit(&run);
	trace_file_deinit(&trace);
}

/* ---- Text ---- */

static void assert_quoted(const char *text, size_t characters, const char *expected)
{
	char *got = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&got, &bytes);

	assert_non_null(to);
	quote_text(to, text, characters);
	fclose(to);
	assert_string_equal(got, expected);
	free(got);
}

static void test_quotes(void **state)
{
	(void)state;
	assert_quoted("plain", 20, "'plain'");
	assert_quoted("it's `id` \"$x\" \\", 40, "'it''s `id` \"$x\" \\'");
	assert_quoted("a\nb\tc\x7f", 20, "'a?b?c?'");
	assert_quoted("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 20,
		"'caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80'");
	assert_quoted("\xff \xc3 \xc0\xaf \xed\xa0\x80 \xef\xbf\xbe", 40,
		"'? ? ?? ??? ???"
		"'");
	assert_quoted("\xc2\x85", 20,
		"'??"
		"'");
	assert_quoted("0123456789", 8, "'01234...'");
	assert_quoted("01234567", 8, "'01234567'");
	assert_quoted("", 20, "''");
}

static void test_quotes_in_page(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {{"</script>", "\"\\u003c/script>\""}, {"<!--\\<", "\"\\u003c!--\\\\\\u003c\""},
		{"\"\x01", "\"\\\"\\u0001\""}, {"\"\x01\xff", "\"\\\"??\""},
		{"caf\xc3\xa9", "\"caf\xc3\xa9\""}, {"", "\"\""}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *got = NULL;
		size_t bytes = 0;
		FILE *to = open_memstream(&got, &bytes);
		assert_non_null(to);
		quote_in_page(to, cases[i].text);
		fclose(to);
		assert_string_equal(got, cases[i].expected);
		free(got);
	}
}

/* Between the frame's parts are JSON without '<', for any trace and all panels. */
static void test_page(void **state)
{
	static const char *const names[] = {"block", "observe", "braid", "lively", "hotplug"};
	struct trace_file trace;
	struct plot_run run;
	struct chart chart;
	struct braid braid;
	json_error_t error;

	(void)state;
	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		char *text = NULL;
		size_t bytes = 0;
		FILE *to = open_memstream(&text, &bytes);
		assert_non_null(to);
		load(&trace, names[k]);
		assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
		assert_int_equal(chart_init(&chart, &trace, &run, &chart_page), 0);
		assert_int_equal(braid_init(&braid, &trace, &run, 1000, &chart_page), 0);
		const struct picture picture = {.trace = &trace,
			.run = &run,
			.chart = &chart,
			.braid = &braid,
			.panel = {true, true, true, true, true, true}};
		assert_int_equal(page_write(&picture, to), 0);
		fclose(to);
		const char *data = text + page_frame.head_bytes;
		size_t data_bytes = bytes - page_frame.head_bytes - page_frame.tail_bytes;
		json_t *json = json_loadb(data, data_bytes, JSON_REJECT_DUPLICATES, &error);
		if (json == NULL)
			fail_msg("%s: line %d: %s", names[k], error.line, error.text);
		assert_null(memchr(data, '<', data_bytes));
		assert_int_equal(json_array_size(json_object_get(json, "lead")), run.threads_shown);
		json_decref(json);
		free(text);
		braid_deinit(&braid);
		chart_deinit(&chart);
		plot_run_deinit(&run);
		trace_file_deinit(&trace);
	}
}

/* Whatever is in it, the result is JSON that a parser accepts. */
static void test_json(void **state)
{
	static const char *const names[] = {"block", "observe", "braid"};
	struct trace_file trace;
	struct plot_run run;
	struct braid braid;
	json_error_t error;

	(void)state;
	for (size_t k = 0; k <= sizeof(names) / sizeof(*names); k++) {
		char *text = NULL;
		size_t bytes = 0;
		FILE *to = open_memstream(&text, &bytes);
		assert_non_null(to);
		if (k < sizeof(names) / sizeof(*names))
			load(&trace, names[k]);
		else
			parse(&trace, HEADER "birth 1 7 7 \xff\x01\"\\\n"
					     "point 2000 0 5 2 some\nthread 7 0 -9 0 0 0 a\n"
					     "decide 1 1 0 aside \xff\x01\"\\\n");
		assert_int_equal(plot_run_init(&run, &trace, &everything), 0);
		assert_int_equal(braid_init(&braid, &trace, &run, 1000, &chart_picture), 0);
		assert_int_equal(perfetto_write(&trace, &run, &braid, to), 0);
		fclose(to);
		json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
		if (json == NULL)
			fail_msg("%s: line %d", error.text, error.line);
		assert_true(json_array_size(json_object_get(json, "traceEvents")) > 5);
		json_decref(json);
		free(text);
		braid_deinit(&braid);
		plot_run_deinit(&run);
		trace_file_deinit(&trace);
	}
}

/* ---- Output ---- */

static void assert_holds(const char *path, const char *text)
{
	char held[20] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	held[fread(held, 1, sizeof(held) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(held, text);
}

/* A file is replaced as a whole, or stays as it was, with nothing left beside it. */
static void test_interrupted_output(void **state)
{
	char folder[] = "/tmp/test_plot.XXXXXX", path[40];
	int scratch = output_scratch(), number = 0;
	sigset_t interrupt, before;
	uint64_t bytes;
	(void)state;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a", folder);
	assert_true(scratch >= 0);
	assert_int_equal(write(scratch, "old", 3), 3);
	assert_int_equal(output_commit(scratch, path, &bytes), 0);
	assert_int_equal(bytes, 3);
	assert_int_equal(pwrite(scratch, "newer", 5, 0), 5);
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	assert_int_equal(sigprocmask(SIG_BLOCK, &interrupt, &before), 0);
	raise(SIGINT);
	assert_int_equal(output_commit(scratch, path, &bytes), -EINTR);
	assert_int_equal(sigwait(&interrupt, &number), 0);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_holds(path, "old");
	assert_int_equal(output_commit(scratch, path, &bytes), 0);
	assert_holds(path, "newer");
	close(scratch);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0); /* it is empty */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_window_and_choice),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_odd_records),
		cmocka_unit_test(test_many_slots),
		cmocka_unit_test(test_no_cpus),
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_lead),
		cmocka_unit_test(test_bins),
		cmocka_unit_test(test_thinned_bars),
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_quotes_in_page),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_interrupted_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
