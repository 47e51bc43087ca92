/* SPDX-License-Identifier: MIT */
/*
 * Shows samples of jobs with damaged segments in all ways: as tables, as metrics, as CSV, as JSON, and
 * on the screen of top, at any size, while the input presses keys. Whatever names and numbers a segment has,
 * all of it can be shown.
 */
#undef NDEBUG
#include "tests/fuzz/job_file.h"
#include "tools/stat/csv.h"
#include "tools/stat/metrics.h"
#include "tools/stat/record.h"
#include "tools/stat/text.h"
#include "tools/top/screen.h"

#include <assert.h>
#include <errno.h>
#include <locale.h>

#define ROWS_MAX 48
#define COLS_MAX 128

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* For the widths of characters. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	assert(setlocale(LC_CTYPE, "C.UTF-8") != NULL);
	return 0;
}

/* The whole, and one table. */
static void print(const struct live_sample *sample, uint8_t which, enum sample_order order)
{
	static const struct sample_table *const tables[] = {
		&sample_head, &sample_cpus, &sample_threads, &sample_processes, &sample_subdomains};
	const struct sample_table *table = tables[which % (sizeof tables / sizeof *tables)];
	static FILE *to; /* kept, because it takes long to open */

	if (to == NULL)
		to = fopen("/dev/null", "w");
	assert(to != NULL);
	text_head(to, sample, true);
	text_troubles(to, sample, 2);
	text_interval_titles(to);
	text_interval(to, sample);
	metrics_print(to, METRICS_OPENMETRICS, sample, 1);
	csv_keys(to, table);
	assert(csv_rows(to, table, sample, 1, order) == 0);
	assert(text_table(to, table, sample, order, TEXT_ROWS, "") == 0);
	json_t *record = record_json(&table, table != &sample_head, sample, 1, order);
	assert(record != NULL && json_dumpf(record, to, 0) == 0);
	json_decref(record);
}

/* Below 32 they are those without a character. */
static uint32_t key_of(uint8_t byte)
{
	return byte < 32 ? VIEW_KEY_UP + byte : byte;
}

static void draw(const struct live_sample *sample, struct input *keys, uint8_t rows, uint8_t cols)
{
	struct view view = {.interval_ns = 1};
	struct arrange arranged = {0};
	struct history history = {0};
	struct canvas canvas = {.utf8 = rows % 2 == 0};
	const struct frame frame = {
		.sample = sample, .arrange = &arranged, .history = &history, .view = &view};

	history_add(&history, sample);
	do {
		assert(canvas_resize(&canvas, rows, cols) == 0);
		assert(arrange(&arranged, sample, &view) == 0);
		screen_draw(&canvas, &frame);
		for (int i = 0; i < rows * cols; i++)
			assert(canvas.cell[i].ch == 0 || canvas.cell[i].ch >= L' ');
		(void)view_key(&view, key_of(input_byte(keys)));
	} while (keys->left > 0);
	canvas_deinit(&canvas);
	arrange_deinit(&arranged);
	view_deinit(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	struct live_sample before, after;
	uint8_t how = input_byte(&input), rows = input_byte(&input), cols = input_byte(&input);
	struct input keys = input;

	rows %= ROWS_MAX;
	cols %= COLS_MAX;
	keys.left = keys.left < how / 32 ? keys.left : how / 32;
	input.at += keys.left;
	input.left -= keys.left;
	if (job_files_samples(&input, &before, &after) != 0)
		return 0;
	if (how % 2 == 0)
		print(&after, rows, how / 2 % ORDERS);
	else
		draw(&after, &keys, rows, cols);
	live_sample_deinit(&before);
	live_sample_deinit(&after);
	return 0;
}
