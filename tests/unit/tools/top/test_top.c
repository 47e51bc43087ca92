/* SPDX-License-Identifier: MIT */
/* The parts of the live screen: cells, numbers, keys, and the order of threads, CPUs and
 * subdomains. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/top/arrange.h"
#include "tools/top/canvas.h"
#include "tools/top/history.h"
#include "tools/top/number.h"
#include "tools/top/view.h"

/* ---- The canvas ---- */

/* A row as text: '<' and '>' are the halves of a wide character. */
static const char *row_text(const struct canvas *canvas, int row, char *out)
{
	for (int col = 0; col < canvas->cols; col++) {
		wchar_t ch = canvas->cell[row * canvas->cols + col].ch;
		out[col] = ch == 0 ? '>' : wcwidth(ch) == 2 ? '<' : ch < 0x80 ? (char)ch : '*';
	}
	out[canvas->cols] = '\0';
	return out;
}

static void begin(struct canvas *canvas, int cols)
{
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	*canvas = (struct canvas){.utf8 = true};
	assert_int_equal(canvas_resize(canvas, 2, cols), 0);
}

static void test_text_is_cut(void **state)
{
	struct canvas canvas;
	char out[40];

	(void)state;
	begin(&canvas, 10);
	struct canvas_area all = canvas_whole(&canvas), part = canvas_part(&all, 0, 2, 5, 4);
	assert_int_equal(part.rows, 2);
	assert_int_equal(canvas_text(&part, 0, 1, CANVAS_BOLD, "hello"), 4);
	assert_string_equal(row_text(&canvas, 0, out), "   hel    ");
	assert_int_equal(canvas.cell[3].style, CANVAS_BOLD);
	assert_int_equal(canvas_text(&all, 2, 0, CANVAS_PLAIN, "below"), 0);
	canvas_text(&all, 1, -1, CANVAS_PLAIN, "left");
	assert_string_equal(row_text(&canvas, 1, out), "          ");
	canvas_field(&all, 1, 0, 5, true, CANVAS_PLAIN, "12");
	canvas_field(&all, 1, 6, 3, true, CANVAS_PLAIN, "12345");
	assert_string_equal(row_text(&canvas, 1, out), "   12 123 ");
	canvas_deinit(&canvas);
}

static void test_wide_characters(void **state)
{
	struct canvas canvas;
	char out[40];

	(void)state;
	begin(&canvas, 6);
	struct canvas_area all = canvas_whole(&canvas);
	assert_int_equal(canvas_text(&all, 0, 0, CANVAS_PLAIN, "日本a"), 5);
	assert_string_equal(row_text(&canvas, 0, out), "<><>a ");
	canvas_text(&all, 0, 1, CANVAS_PLAIN, "x"); /* its left half is blanked */
	assert_string_equal(row_text(&canvas, 0, out), " x<>a ");
	canvas_text(&all, 0, 2, CANVAS_PLAIN, "y"); /* its right half is blanked */
	assert_string_equal(row_text(&canvas, 0, out), " xy a ");
	canvas_text(&all, 0, 5, CANVAS_PLAIN, "日"); /* there is no room for it */
	assert_string_equal(row_text(&canvas, 0, out), " xy a ");
	canvas_field(&all, 1, 0, 3, true, CANVAS_PLAIN, "日");
	assert_string_equal(row_text(&canvas, 1, out), " <>   ");
	canvas_deinit(&canvas);
}

static void test_no_characters(void **state)
{
	struct canvas canvas;
	char out[40];

	(void)state;
	begin(&canvas, 12);
	struct canvas_area all = canvas_whole(&canvas);
	/* Control characters; bytes that are not UTF-8; characters of no width; an end in
	 * mid-character. */
	canvas_text(&all, 0, 0, CANVAS_PLAIN,
		"a\033b\177c\xff\xc0"
		"e\xcc\x81"
		"f\xe6\x97");
	assert_string_equal(row_text(&canvas, 0, out), "a?b?c??ef?? ");
	canvas.utf8 = false;
	canvas_text(&all, 1, 0, CANVAS_PLAIN, "é日z");
	canvas_put(&all, 1, 5, CANVAS_PLAIN, L'█', '#');
	assert_string_equal(row_text(&canvas, 1, out), "??z  #      ");
	canvas_deinit(&canvas);
}

/* ---- Numbers ---- */

static void test_scales(void **state)
{
	(void)state;
	assert_true(fabs(number_scale(0.5) - 0.5) < 1e-12);
	assert_true(fabs(number_scale(0.51) - 1) < 1e-12);
	assert_true(fabs(number_scale(1.2e6) - 2e6) < 1e-3);
	assert_true(number_scale(0) == 1 && number_scale(NAN) == 1 && number_scale(INFINITY) == 1);
	assert_true(number_scale(1e-320) > 0 && isfinite(number_scale(1e308)));
	assert_int_equal(number_steps(0.5, 10), 5);
	assert_int_equal(number_steps(-1, 10), 0);
	assert_int_equal(number_steps(NAN, 10), 0);
	assert_int_equal(number_steps(1e300, 10), 10);
}

/* ---- Keys ---- */

static void test_keys(void **state)
{
	struct view view = {.interval_ns = 1000000000};

	(void)state;
	assert_int_equal(view_key(&view, 'q'), VIEW_QUIT);
	assert_int_equal(view_key(&view, '\t'), VIEW_NEXT_JOB);
	view_key(&view, 't');
	assert_int_equal(view.panel, VIEW_THREADS);
	view_key(&view, '?');
	assert_int_equal(view.panel, VIEW_HELP);
	view_key(&view, 'h');
	assert_int_equal(view.panel, VIEW_THREADS);
	view_key(&view, ' ');
	assert_true(view.paused);
	view_key(&view, '+');
	assert_int_equal(view.interval_ns, 500000000);
	for (int i = 0; i < 30; i++)
		view_key(&view, '+');
	assert_int_equal(view.interval_ns, VIEW_INTERVAL_MIN_NS);
	for (int i = 0; i < 30; i++)
		view_key(&view, '-');
	assert_int_equal(view.interval_ns, VIEW_INTERVAL_MAX_NS);
	view_key(&view, '<');
	assert_int_equal(view.sort, VIEW_BY_TID);
	view_key(&view, '>');
	assert_int_equal(view.sort, VIEW_BY_LEAD);
	view.page[VIEW_THREADS] = 10;
	view_key(&view, VIEW_KEY_PAGE_DOWN);
	view_key(&view, VIEW_KEY_DOWN);
	assert_int_equal(view.scroll[VIEW_THREADS], 11);
	view_key(&view, VIEW_KEY_HOME);
	view_key(&view, VIEW_KEY_UP);
	assert_int_equal(view.scroll[VIEW_THREADS], 0);
}

static void type(struct view *view, const char *text)
{
	for (; *text != '\0'; text++)
		view_key(view, (unsigned char)*text);
}

static void test_filter_is_typed(void **state)
{
	struct view view = {0};

	(void)state;
	type(&view, "/qé"); /* two characters of Latin-1 here */
	assert_string_equal(view.filter, "q\u00c3\u00a9");
	view_key(&view, VIEW_KEY_BACKSPACE);
	view_key(&view, 0x65e5);
	assert_string_equal(view.filter, "q\u00c3\u65e5");
	for (int i = 0; i < 5; i++)
		view_key(&view, VIEW_KEY_BACKSPACE);
	type(&view, "ab\033");
	assert_string_equal(view.filter, "ab");
	view_key(&view, VIEW_KEY_ENTER);
	assert_false(view.typing);
	type(&view, "/xyz");
	view_key(&view, VIEW_KEY_ESCAPE); /* as before */
	assert_string_equal(view.filter, "ab");
	view_key(&view, VIEW_KEY_ESCAPE); /* all */
	assert_string_equal(view.filter, "");
	type(&view, "/");
	for (int i = 0; i < 100; i++)
		view_key(&view, 0x10ffff);
	assert_true(strlen(view.filter) < sizeof(view.filter));
}

static void test_job_is_chosen(void **state)
{
	struct live_entry entry[3] = {{0}};
	struct view view = {.panel = VIEW_JOBS, .picking = true, .entry = entry, .entries = 3};

	(void)state;
	view_key(&view, 't'); /* there is none to show */
	assert_int_equal(view.panel, VIEW_JOBS);
	view_key(&view, VIEW_KEY_DOWN);
	assert_int_equal(view.chosen, 1);
	view_key(&view, VIEW_KEY_END);
	assert_int_equal(view.chosen, 2);
	assert_int_equal(view_key(&view, VIEW_KEY_ENTER), VIEW_OPEN_JOB);
	view.entries = 0;
	assert_int_equal(view_key(&view, VIEW_KEY_ENTER), VIEW_NOTHING);
}

/* ---- Order ---- */

#define IDLE                                                                                       \
	{                                                                                          \
		.tid = 13, .comm = "idle", .os_cpu = 4, .lead_s = NAN, .share = NAN, .rank = -1    \
	}

static struct live_thread threads[] = {
	{.tid = 10,
		.comm = "a",
		.os_cpu = 4,
		.compute = true,
		.lead_s = 0.1,
		.share = 0.2,
		.rank = 0},
	IDLE,
	{.tid = 11,
		.comm = "b",
		.os_cpu = 2,
		.compute = true,
		.lead_s = -0.3,
		.share = 0.9,
		.rank = 12},
	{.tid = 12,
		.comm = "c",
		.os_cpu = 4,
		.compute = true,
		.lead_s = 0.2,
		.share = 0.5,
		.rank = 2},
};

static void expect_order(const struct arrange *arrange, const char *tids)
{
	char out[80] = "";

	for (size_t i = 0; i < arrange->threads; i++)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%d ",
			(int)threads[arrange->thread[i]].tid);
	assert_string_equal(out, tids);
}

static void test_threads_in_order(void **state)
{
	struct live_sample sample = {.thread = threads, .threads = 4};
	struct view view = {.sort = VIEW_BY_LEAD};
	struct arrange order = {0};

	(void)state;
	assert_int_equal(arrange(&order, &sample, &view), 0);
	expect_order(&order, "11 10 12 13 ");
	assert_true(fabs(order.lead_scale_s - 0.5) < 1e-9);
	view.reverse = true;
	assert_int_equal(arrange(&order, &sample, &view), 0);
	expect_order(&order, "12 10 11 13 ");
	view.sort = VIEW_BY_TID;
	assert_int_equal(arrange(&order, &sample, &view), 0);
	expect_order(&order, "12 11 13 10 ");
	view = (struct view){.sort = VIEW_BY_SHARE, .filter = "RANK"};
	assert_int_equal(arrange(&order, &sample, &view), 0);
	expect_order(&order, "11 12 10 13 ");
	view = (struct view){.sort = VIEW_BY_TID, .filter = "rank 12"};
	assert_int_equal(arrange(&order, &sample, &view), 0);
	expect_order(&order, "11 ");
	arrange_deinit(&order);
}

static void test_threads_by_cpu(void **state)
{
	struct live_cpu cpus[] = {
		{.os_cpu = 4, .threads = 2}, {.os_cpu = 0}, {.os_cpu = 2, .threads = 1}};
	struct live_sample sample = {.thread = threads, .threads = 4};
	struct view view = {0};
	struct arrange order = {0};

	(void)state;
	assert_int_equal(arrange(&order, &sample, &view), 0); /* by the CPU on which they ran */
	assert_int_equal(order.cpus, 2);
	assert_int_equal(order.cpu[1].os_cpu, 4);
	assert_int_equal(order.cpu[1].threads, 2);
	assert_int_equal(order.cpu[1].listed, 2);
	sample.cpu = cpus;
	sample.cpus = 3;
	assert_int_equal(arrange(&order, &sample, &view), 0);
	assert_int_equal(order.cpus, 3);
	assert_int_equal(order.cpu[0].listed, 0);
	assert_int_equal(order.on_cpu[order.cpu[2].first], 0);
	assert_int_equal(order.on_cpu[order.cpu[2].first + 1], 3);
	arrange_deinit(&order);
}

static void test_subdomains_in_groups(void **state)
{
	struct progress_subdomain_view subdomain[] = {{.updates = 10, .holder = 1},
		{.updates = 999, .holder = UINT32_MAX}, {.updates = 20, .holder = 0},
		{.updates = 30, .holder = 1}, {.updates = 999, .holder = 2}};
	struct live_process processes[] = {
		{.error = -EPROTO}, {.workers = 2, .subdomains = 5, .subdomain = subdomain}};
	struct live_sample sample = {.process = processes, .processes = 2};
	struct view view = {0};
	struct arrange order = {0};

	(void)state;
	assert_int_equal(arrange(&order, &sample, &view), 0);
	assert_int_equal(order.groups, 1);
	assert_int_equal(order.group[0].count, 5);
	assert_true(order.mean == 20 && order.most_behind == 10);
	view.by_worker = true;
	assert_int_equal(arrange(&order, &sample, &view), 0);
	assert_int_equal(order.groups, 2);
	assert_int_equal(order.group[0].count, 1);
	assert_int_equal(order.group[1].count, 2);
	assert_int_equal(order.subdomain[order.group[1].first + 1], 3);
	arrange_deinit(&order);
}

static void test_history_forgets(void **state)
{
	struct history history = {0};

	(void)state;
	assert_true(isnan(history_value(&history, HISTORY_MIGRATIONS, 0)));
	for (int i = 0; i < HISTORY_LENGTH + 5; i++) {
		struct live_sample sample = {.wrapped = true, .migrations_per_s = i};
		history_add(&history, &sample);
	}
	assert_true(history_value(&history, HISTORY_MIGRATIONS, 0) == HISTORY_LENGTH + 4);
	assert_true(history_value(&history, HISTORY_MIGRATIONS, HISTORY_LENGTH - 1) == 5);
	assert_true(isnan(history_value(&history, HISTORY_MIGRATIONS, HISTORY_LENGTH)));
	assert_true(isnan(history_value(&history, HISTORY_MOVES, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_cut),
		cmocka_unit_test(test_wide_characters),
		cmocka_unit_test(test_no_characters),
		cmocka_unit_test(test_scales),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_filter_is_typed),
		cmocka_unit_test(test_job_is_chosen),
		cmocka_unit_test(test_threads_in_order),
		cmocka_unit_test(test_threads_by_cpu),
		cmocka_unit_test(test_subdomains_in_groups),
		cmocka_unit_test(test_history_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
