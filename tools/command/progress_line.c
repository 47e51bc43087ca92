/* SPDX-License-Identifier: MIT */
/* The progress line; see progress_line.h. */
#include "tools/command/progress_line.h"

#include "daemon/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_AFTER_NS (CLOCK_NS_PER_S / 2)
#define PROGRESS_EVERY_NS (CLOCK_NS_PER_S / 10)
#define PROGRESS_COLUMNS 30
#define ANNOUNCED_S 5
#define MANY 100 /* seconds are told in minutes, minutes in hours */

void command_announce(const struct command_options *options, const char *program, const char *how,
	double seconds, const char *less)
{
	const char *unit = "seconds";
	double number = seconds;

	if (options->quiet || seconds < ANNOUNCED_S)
		return;
	if (number >= MANY) {
		number /= 60;
		unit = "minutes";
	}
	if (number >= MANY) {
		number /= 60;
		unit = "hours";
	}
	fprintf(stderr, "%s: this takes %s %.0f %s; %s takes less\n", program, how, number, unit,
		less);
}

void command_progress_begin(
	struct command_progress *progress, const struct command_options *options)
{
	*progress = (struct command_progress){.wanted = !options->quiet && isatty(STDERR_FILENO),
		.begin_ns = clock_monotonic_ns()};
}

void command_progress(struct command_progress *progress, double done)
{
	char bar[PROGRESS_COLUMNS + 1];

	if (!progress->wanted)
		return;
	uint64_t now = clock_monotonic_ns();
	if (now - progress->begin_ns < PROGRESS_AFTER_NS ||
		now - progress->last_ns < PROGRESS_EVERY_NS)
		return;
	done = done < 0 ? 0 : done > 1 ? 1 : done;
	int filled = (int)(done * PROGRESS_COLUMNS);
	memset(bar, '.', PROGRESS_COLUMNS);
	memset(bar, '#', (size_t)filled);
	bar[PROGRESS_COLUMNS] = '\0';
	fprintf(stderr, "\r[%s] %3.0f %%", bar, 100 * done);
	if (done > 0.01)
		fprintf(stderr, ", %.0f s left ",
			(double)(now - progress->begin_ns) * 1e-9 * (1 - done) / done);
	progress->last_ns = now;
	progress->shown = true;
}

void command_progress_end(struct command_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->wanted = progress->shown = false;
}
