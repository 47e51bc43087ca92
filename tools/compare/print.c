/* SPDX-License-Identifier: MIT */
/* What came out of a comparison, as text and as JSON; see compare.h. */
#include "tools/compare/compare.h"

#include "daemon/base/json_text.h"
#include "tools/command/print.h"
#include "tools/compare/verdict.h"
#include "tools/doctor/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOLEN_LEAST 0.005 /* to be worth a line */

/* Of the times of a way. */
struct middle {
	double median_s, low_s, high_s; /* half of them are between these two */
};

static struct middle middle_of(const struct way *way, size_t n)
{
	double sorted[CONTRAST_PAIRS_MAX];

	memcpy(sorted, way->time_s, n * sizeof *sorted);
	return (struct middle){.median_s = contrast_quantile(sorted, n, 0.5),
		.low_s = contrast_quantile(sorted, n, 0.25),
		.high_s = contrast_quantile(sorted, n, 0.75)};
}

static struct contrast contrast_of(
	const struct comparison *comparison, const struct way *base, const struct way *way)
{
	struct contrast contrast;

	contrast_take(base->time_s, way->time_s, comparison->repeats, &contrast);
	return contrast;
}

/* NULL: there is none. */
static const struct way *first_of(const struct ways *ways, enum way_kind least, enum way_kind most)
{
	for (size_t i = 0; i < ways->n; i++)
		if (ways->way[i].kind >= least && ways->way[i].kind <= most)
			return &ways->way[i];
	return NULL;
}

/* ---- Advice ---- */

/* doctor's first warning on how the command is started. */
static void find_hindrance(const struct compare_options *options, char *text, size_t bytes)
{
	enum { FINDINGS = 128 };
	struct doctor_system *system = malloc(sizeof *system);
	struct doctor_finding *finding = calloc(FINDINGS, sizeof *finding);

	text[0] = '\0';
	if (system != NULL && finding != NULL) {
		doctor_system_init(system);
		system->environment = (const char *const *)environ;
		system->command = (const char *const *)options->ways.command;
		doctor_try_machine(system);
		doctor_read_machine(system, "");
		doctor_look_at_command(system);
		size_t n = doctor_judge(system, finding, FINDINGS);
		for (size_t i = 0; i < n && text[0] == '\0'; i++)
			if (finding[i].group >= DOCTOR_COMMAND &&
				finding[i].level >= DOCTOR_WARNING)
				snprintf(text, bytes, "%s %s", finding[i].text, finding[i].advice);
	}
	free(finding);
	free(system);
}

static void advise(const struct compare_options *options, const struct comparison *comparison,
	char text[VERDICT_BYTES])
{
	const struct ways *ways = &comparison->ways;
	const struct way *base = &ways->way[0], *juggle = first_of(ways, WAY_JUGGLE, WAY_WITH);
	char hindrance[VERDICT_BYTES];

	text[0] = '\0';
	if (juggle == NULL || base->kind != WAY_LINUX) /* which would have to be the best of them */
		return;
	struct contrast gain = contrast_of(comparison, base, juggle);
	find_hindrance(options, hindrance, sizeof hindrance);
	verdict_advise(&(struct verdict_case){.gain = &gain,
			       .run_s = middle_of(base, comparison->repeats).median_s,
			       .repeats = comparison->repeats,
			       .stolen = comparison->stolen,
			       .outcome = &comparison->outcome,
			       .hindrance = hindrance},
		text);
}

/* ---- Text ---- */

static void print_row(
	const struct comparison *comparison, const struct way *base, const struct way *way)
{
	struct middle m = middle_of(way, comparison->repeats);

	printf("%-18.18s %9.3f s %9.3f to %.3f s", way->name, m.median_s, m.low_s, m.high_s);
	if (way != base) {
		struct contrast c = contrast_of(comparison, base, way);
		printf(" %8.3f (%.3f to %.3f)", c.speedup, c.least, c.most);
	}
	putchar('\n');
}

/* Each way of juggle, and other commands, against the first; and juggle against pinned. */
static void print_sentences(const struct comparison *comparison)
{
	const struct ways *ways = &comparison->ways;
	const struct way *base = &ways->way[0], *pinned = first_of(ways, WAY_PINNED, WAY_PINNED);
	const struct way *juggle = first_of(ways, WAY_JUGGLE, WAY_WITH);
	char text[200], more[200];
	struct contrast c;

	for (size_t i = 1; i < ways->n; i++) {
		const struct way *way = &ways->way[i];
		bool both = way == juggle && pinned != NULL && pinned != base;
		if (way == pinned)
			continue;
		if (both) {
			c = contrast_of(comparison, pinned, way);
			verdict_say(&c, pinned->name, more, sizeof more);
		}
		c = contrast_of(comparison, base, way);
		verdict_say(&c, base->name, text, sizeof text);
		command_sentences(
			"%s %s%s%s.", way->name, text, both ? ", and " : "", both ? more : "");
	}
	c = contrast_of(comparison, base, &ways->way[1]); /* it depends on the repeats alone */
	if (c.verdict != CONTRAST_UNKNOWN)
		command_sentences(
			"Each range is right with %.0f %% confidence.", 100 * c.confidence);
}

int compare_print_text(const char *program, const struct compare_options *options,
	struct comparison *comparison, bool quiet)
{
	const struct ways *ways = &comparison->ways;
	char advice[VERDICT_BYTES], head[40];

	snprintf(head, sizeof head, "times as fast as %.16s", ways->way[0].name);
	printf("%-18s %11s %20s %25s\n", "", "median", "middle half", head);
	for (size_t i = 0; i < ways->n; i++)
		print_row(comparison, &ways->way[0], &ways->way[i]);
	putchar('\n');
	print_sentences(comparison);
	if (quiet)
		return command_flush(program);
	if (comparison->signal != 0)
		command_sentences(
			"Ended early: %u of %u repeats.", comparison->repeats, options->repeats);
	if (comparison->stolen >= STOLEN_LEAST)
		command_sentences("The hypervisor took %.1f %% of the CPUs' time meanwhile.",
			100 * comparison->stolen);
	advise(options, comparison, advice);
	if (advice[0] != '\0')
		command_sentences("%s", advice);
	return command_flush(program);
}

/* ---- JSON ---- */

static json_t *words_json(char *const *word)
{
	json_t *list = json_array();

	for (; *word != NULL; word++)
		json_array_append_new(list, json_text(*word));
	return list;
}

static json_t *way_json(const struct way *way, uint32_t repeats)
{
	struct middle m = middle_of(way, repeats);
	json_t *times = json_array();

	for (uint32_t i = 0; i < repeats; i++)
		json_array_append_new(times, json_real(way->time_s[i]));
	return json_pack("{s:o, s:o, s:f, s:f, s:f, s:o}", "name", json_text(way->name), "command",
		words_json(way->command), "median_s", m.median_s, "low_s", m.low_s, "high_s",
		m.high_s, "times_s", times);
}

static json_t *contrast_json(
	const struct comparison *comparison, const struct way *base, const struct way *way)
{
	struct contrast c = contrast_of(comparison, base, way);

	return json_pack("{s:o, s:o, s:f, s:f, s:f, s:f, s:s}", "way", json_text(way->name), "base",
		json_text(base->name), "speedup", c.speedup, "least", c.least, "most", c.most,
		"confidence", c.confidence, "verdict", contrast_verdict_name(c.verdict));
}

int compare_print_json(
	const char *program, const struct compare_options *options, struct comparison *comparison)
{
	const struct ways *ways = &comparison->ways;
	json_t *list = json_array(), *contrasts = json_array(), *juggle = NULL;
	const struct outcome *o = &comparison->outcome;
	char advice[VERDICT_BYTES];

	for (size_t i = 0; i < ways->n; i++) {
		json_array_append_new(list, way_json(&ways->way[i], comparison->repeats));
		for (size_t k = 0; k < i; k++)
			json_array_append_new(
				contrasts, contrast_json(comparison, &ways->way[k], &ways->way[i]));
	}
	if (o->known)
		juggle = json_pack("{s:f, s:s, s:s, s:s}", "balanced", o->balanced, "aside",
			o->aside, "verdict", o->verdict, "advice", o->advice);
	advise(options, comparison, advice);
	return command_print_json(program,
		json_pack("{s:o, s:i, s:i, s:o, s:o, s:o?, s:f, s:s}", "command",
			words_json(options->ways.command), "repeats", (int)comparison->repeats,
			"wanted", (int)options->repeats, "ways", list, "comparisons", contrasts,
			"juggle", juggle, "stolen", comparison->stolen, "advice", advice));
}
