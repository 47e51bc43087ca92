/* SPDX-License-Identifier: MIT */
/* What a comparison means; see verdict.h. */
#include "tools/compare/verdict.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SHORT_S 1.0 /* of a run: juggle has hardly found out what it is about */
#define STOLEN_MUCH 0.02
#define WIDE 1.1 /* a range of speedups: it hides what juggle usually gains */
#define BALANCED_LITTLE 0.5 /* of the time */

void verdict_say(const struct contrast *c, const char *base, char *text, size_t bytes)
{
	switch (c->verdict) {
	case CONTRAST_UNKNOWN:
		snprintf(text, bytes, "ran %.3f times as fast as %s, in too few runs to tell",
			c->speedup, base);
		return;
	case CONTRAST_SAME:
		snprintf(text, bytes, "showed no difference from %s (%.3f to %.3f)", base, c->least,
			c->most);
		return;
	case CONTRAST_FASTER:
	case CONTRAST_SLOWER:
		snprintf(text, bytes, "ran %.3f times as fast as %s (%.3f to %.3f)", c->speedup,
			base, c->least, c->most);
		return;
	}
}

static void say(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(char *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, VERDICT_BYTES, format, args);
	va_end(args);
}

/* Where the times tell no gain because of how they were taken. Returns whether there was something to
 * say. */
static bool doubt_times(const struct verdict_case *c, char *text)
{
	bool same = c->gain->verdict == CONTRAST_SAME;

	if (c->run_s < SHORT_S)
		say(text,
			"juggle needs a moment to find out what helps, and a run takes only "
			"%.2g s: give the program more work.",
			c->run_s);
	else if (same && c->stolen >= STOLEN_MUCH)
		say(text,
			"The hypervisor took %.0f %% of the CPUs' time for others: try again "
			"when it does not.",
			100 * c->stolen);
	else if (same && c->gain->most > WIDE * c->gain->least)
		say(text,
			"The runs differ much among themselves, as when something else uses the "
			"machine: try again when it is quiet, or with more --repeats than %u.",
			c->repeats);
	else
		return false;
	return true;
}

/* What juggle itself says of its run. */
static bool repeat_outcome(const struct outcome *o, bool gains, char *text)
{
	if (!gains && o->aside[0] != '\0' && o->balanced < BALANCED_LITTLE)
		say(text, "juggle stood aside: %s.", o->aside);
	else if (o->verdict[0] != '\0' && strcmp(o->verdict, "unknown") != 0)
		say(text, "%s", o->advice);
	else
		return false;
	return true;
}

void verdict_advise(const struct verdict_case *c, char text[VERDICT_BYTES])
{
	bool gains = c->gain->verdict == CONTRAST_FASTER;

	if (c->gain->verdict == CONTRAST_UNKNOWN)
		say(text, "Too few repeats to tell a difference from chance: use --repeats 5, or "
			  "more.");
	else if (!gains && c->hindrance[0] != '\0')
		say(text, "%s", c->hindrance);
	else if ((gains || !doubt_times(c, text)) && !repeat_outcome(c->outcome, gains, text))
		say(text, gains ? "So run it under juggle." : "So leave it to Linux.");
}
