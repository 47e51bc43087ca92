/* SPDX-License-Identifier: MIT */
/* What the keys do, and the jobs to choose from; see panels.h. */
#include "tools/top/panels.h"

#include "tools/table/format.h"

#include <stdio.h>

static const char *const help[] = {
	"o  overview              t  threads",
	"c  CPUs                  s  subdomains (g: by number or by worker)",
	"< >  sort the threads by another column       r  the other way round",
	"/  only threads with a text in name, tid, pid or \"rank N\"; Esc: all",
	"arrows, Page Up, Page Down, Home, End  scroll",
	"p or space  pause        + -  more, or less often",
	"Tab  the next job        j  choose a job",
	"h or ?  this help        q  quit",
	"",
	"Threads: their lead is their progress (CPU time) beyond the mean of their",
	"domain: A and to the right, ahead; B and to the left, behind; =, at the",
	"mean; i, idle and left alone. CPU % is of a CPU, WAIT % of the time,",
	"ready without a CPU; MOVES are by juggle.",
	"CPUs: n:m is CPU n with m compute threads; bold: with more than others.",
	"Subdomains: the darker, the further behind the mean of all.",
};

void help_draw(const struct canvas_area *area, const struct frame *frame)
{
	const size_t n = sizeof(help) / sizeof(*help);
	struct canvas_area rest = panels_title(area, "Help (man jugglectl-top; Esc or h: back)");
	size_t first = panels_scroll(frame->view, n, rest.rows);

	for (int i = 0; i < rest.rows && first + (size_t)i < n; i++)
		canvas_text(&rest, i, 1, CANVAS_PLAIN, help[first + (size_t)i]);
}

static void draw_job(const struct canvas_area *area, int row, const struct live_entry *entry,
	enum canvas_style style)
{
	canvas_fill(area, row, 0, style, L' ', ' ');
	canvas_print(area, row, 1, style, "%7d  %-8s  %7s  %s", (int)entry->pid,
		entry->kind == LIVE_JOB ? "juggle" : "program", format_age(entry->age_s).text,
		entry->command[0] != '\0' ? entry->command : "(no name)");
}

void jobs_draw(const struct canvas_area *area, const struct frame *frame)
{
	struct view *view = frame->view;
	struct canvas_area rest =
		panels_title(area, "Jobs: %zu (up, down, Enter: watch it)", view->entries);
	int fit = rest.rows - 1;
	size_t page = fit > 0 ? (size_t)fit : 1, *scroll = &view->scroll[VIEW_JOBS];

	if (view->chosen < *scroll)
		*scroll = view->chosen;
	if (view->chosen >= *scroll + page)
		*scroll = view->chosen - page + 1;
	size_t first = panels_scroll(view, view->entries, fit);
	canvas_print(
		&rest, 0, 1, CANVAS_BOLD, "%7s  %-8s  %7s  %s", "PID", "KIND", "AGE", "COMMAND");
	for (int i = 0; i < fit && first + (size_t)i < view->entries; i++)
		draw_job(&rest, i + 1, &view->entry[first + (size_t)i],
			first + (size_t)i == view->chosen ? CANVAS_CHOSEN : CANVAS_PLAIN);
}
