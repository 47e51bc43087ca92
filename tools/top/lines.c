/* SPDX-License-Identifier: MIT */
/* Migrations and spread over time, each as a row of bars, tall where there is room; see panels.h. */
#include "tools/top/panels.h"

#include "tools/table/format.h"
#include "tools/top/number.h"

#include <math.h>

enum { LABEL = 18, RIGHT = 26, STEPS = 8 /* of a row */ };

static const wchar_t blocks[STEPS] = {L'▁', L'▂', L'▃', L'▄', L'▅', L'▆', L'▇', L'█'};
static const char ascii_blocks[STEPS] = {'_', '.', ':', '-', '=', '+', '*', '#'};

static const char *const titles[HISTORY_SERIES] = {
	[HISTORY_MIGRATIONS] = "migrations/s",
	[HISTORY_THREAD_SPREAD] = "spread of threads",
	[HISTORY_MOVES] = "subdomain moves/s",
	[HISTORY_SPREAD] = "spread, updates",
};

static bool is_shown(const struct history *history, enum history_series series)
{
	for (size_t ago = 0; ago < history->count; ago++)
		if (isfinite(history_value(history, series, ago)))
			return true;
	return false;
}

static int count_shown(const struct history *history)
{
	int count = 0;

	for (int series = 0; series < HISTORY_SERIES; series++)
		count += is_shown(history, (enum history_series)series);
	return count;
}

int lines_rows(const struct frame *frame)
{
	int count = count_shown(frame->history);

	return count > 0 ? count + 1 : 0;
}

static struct format shown(enum history_series series, double value)
{
	return series == HISTORY_THREAD_SPREAD ? format_time(value) : format_number(value);
}

/* Draw a bar of `steps` from 1 to STEPS for each row. */
static void draw_bar(const struct canvas_area *area, int col, int steps)
{
	for (int row = area->rows - 1; row >= 0 && steps > 0; row--, steps -= STEPS) {
		int step = (steps < STEPS ? steps : STEPS) - 1;
		canvas_put(area, row, col, CANVAS_PLAIN, blocks[step], ascii_blocks[step]);
	}
}

/* Draw a series into the whole area. The bars of tall ones leave the first row to the texts, so that
 * they don't touch those above. */
static void draw_series(
	const struct canvas_area *area, const struct history *history, enum history_series series)
{
	int above = area->rows > 2;
	struct canvas_area bars =
		canvas_part(area, above, LABEL, area->rows - above, area->cols - LABEL - RIGHT);
	double most = 0;

	for (int ago = 0; ago < bars.cols; ago++) {
		double value = history_value(history, series, (size_t)ago);
		if (isfinite(value))
			most = fmax(most, value);
	}
	for (int ago = 0; ago < bars.cols; ago++) {
		double value = history_value(history, series, (size_t)ago);
		double share = most > 0 ? value / most : 0;
		if (isfinite(value))
			draw_bar(&bars, bars.cols - 1 - ago,
				1 + number_steps(share, bars.rows * STEPS - 1));
	}
	canvas_text(area, 0, 0, CANVAS_PLAIN, titles[series]);
	struct canvas_area right = canvas_part(area, 0, area->cols - RIGHT + 1, 1, RIGHT - 1);
	int col = canvas_text(
		&right, 0, 0, CANVAS_PLAIN, shown(series, history_value(history, series, 0)).text);
	canvas_print(
		&right, 0, col > 11 ? col : 11, CANVAS_DIM, " max %s", shown(series, most).text);
}

void lines_draw(const struct canvas_area *area, const struct frame *frame)
{
	struct canvas_area rest =
		panels_title(area, "Over time: a column each %s, now at the right",
			format_time((double)frame->view->interval_ns * 1e-9).text);
	int left = count_shown(frame->history), row = 0;

	for (int series = 0; series < HISTORY_SERIES && row < rest.rows; series++) {
		if (!is_shown(frame->history, (enum history_series)series))
			continue;
		/* The rows that are left, evenly; those above get what is over. */
		int rows = (rest.rows - row + left - 1) / left;
		struct canvas_area part = canvas_part(&rest, row, 0, rows, rest.cols);
		draw_series(&part, frame->history, (enum history_series)series);
		row += rows;
		left--;
	}
}
