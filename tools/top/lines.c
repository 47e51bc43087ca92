/* SPDX-License-Identifier: MIT */
/* Migrations and spread over time, one line each; see panels.h. */
#include "tools/top/panels.h"

#include "tools/table/format.h"
#include "tools/top/number.h"

#include <math.h>

enum { LABEL = 18, RIGHT = 26, STEPS = 8 };

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

int lines_rows(const struct frame *frame)
{
	int rows = 0;

	for (int series = 0; series < HISTORY_SERIES; series++)
		rows += is_shown(frame->history, (enum history_series)series);
	return rows > 0 ? rows + 1 : 0;
}

static struct format shown(enum history_series series, double value)
{
	return series == HISTORY_THREAD_SPREAD ? format_time(value) : format_number(value);
}

static void draw_line(const struct canvas_area *area, int row, const struct history *history,
	enum history_series series)
{
	struct canvas_area line = canvas_part(area, row, LABEL, 1, area->cols - LABEL - RIGHT);
	double most = 0;

	for (int ago = 0; ago < line.cols; ago++) {
		double value = history_value(history, series, (size_t)ago);
		if (isfinite(value))
			most = fmax(most, value);
	}
	for (int ago = 0; ago < line.cols; ago++) {
		double value = history_value(history, series, (size_t)ago);
		if (!isfinite(value))
			continue;
		int step = most > 0 ? number_steps(value / most, STEPS - 1) : 0;
		canvas_put(&line, 0, line.cols - 1 - ago, CANVAS_PLAIN, blocks[step],
			ascii_blocks[step]);
	}
	canvas_text(area, row, 0, CANVAS_PLAIN, titles[series]);
	struct canvas_area right = canvas_part(area, row, area->cols - RIGHT + 1, 1, RIGHT - 1);
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
	int row = 0;

	for (int series = 0; series < HISTORY_SERIES; series++)
		if (is_shown(frame->history, (enum history_series)series))
			draw_line(&rest, row++, frame->history, (enum history_series)series);
}
