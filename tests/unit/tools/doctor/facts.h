/* SPDX-License-Identifier: MIT */
/* Facts of a made-up machine, and what the rules find in them, for the tests of doctor. */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor/judge.h"
#include "tools/doctor/launcher.h"
#include "tools/doctor/system.h"
#include "tools/doctor/text.h"

enum { FINDINGS = 128 };

static inline struct cpuset mask_of(const char *list)
{
	struct cpuset mask;

	assert_int_equal(doctor_parse_cpus(list, &mask), 0);
	return mask;
}

/* A machine of four equal CPUs without anything special. */
static inline void plain(struct doctor_system *system)
{
	doctor_system_init(system);
	system->cpus = system->mask = system->online = system->first = system->cores =
		mask_of("0-3");
	system->domains = 1;
	system->kernel = (struct doctor_version){6, 18, 44};
	strcpy(system->release, "6.18.44");
	system->tick_ns = 4000000;
	system->seccomp = 0;
	system->autogroup = 0;
	system->uid = 1000;
	system->open_files = 1024;
	system->shm_tmpfs = true;
	system->shm_free_bytes = 1 << 30;
	system->segment_bytes = 1 << 20;
	system->sampler_error[SAMPLER_TASKSTATS] = -EPERM;
}

/* The level of one rule's finding; *out, if wanted, is the finding. */
static inline enum doctor_level level_of(
	const struct doctor_system *system, const char *id, struct doctor_finding *out)
{
	struct doctor_finding *finding = calloc(FINDINGS, sizeof(*finding));
	enum doctor_level level = DOCTOR_NONE;

	assert_non_null(finding);
	size_t n = doctor_judge(system, finding, FINDINGS);
	assert_in_range(n, 1, FINDINGS - 1);
	for (size_t i = 0; i < n; i++) {
		assert_true(finding[i].level > DOCTOR_NONE && finding[i].text[0] != '\0');
		if (strcmp(finding[i].id, id) != 0)
			continue;
		level = finding[i].level;
		if (out != NULL)
			*out = finding[i];
	}
	free(finding);
	return level;
}

#define assert_level(system, id, level) assert_int_equal(level_of(system, id, NULL), level)

static inline void assert_says(const struct doctor_system *system, const char *id,
	enum doctor_level level, const char *text, const char *advice)
{
	struct doctor_finding finding = {0};

	assert_int_equal(level_of(system, id, &finding), level);
	if (strstr(finding.text, text) == NULL || strstr(finding.advice, advice) == NULL)
		fail_msg("%s: \"%s\" -> \"%s\"", id, finding.text, finding.advice);
}

static inline enum doctor_level worst(const struct doctor_system *system)
{
	struct doctor_finding *finding = calloc(FINDINGS, sizeof(*finding));

	assert_non_null(finding);
	enum doctor_level level = doctor_worst(finding, doctor_judge(system, finding, FINDINGS));
	free(finding);
	return level;
}

/* Parse the command line of a launcher, whose words are separated by single spaces. */
static inline void parse_launcher(
	struct doctor_launcher *out, enum doctor_launcher_kind kind, const char *line)
{
	static char words[500];
	const char *command[40];
	size_t n = 0;

	snprintf(words, sizeof(words), "%s", line);
	for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL;)
		command[n++] = word;
	command[n] = NULL;
	doctor_launcher_parse(out, kind, command);
}

#endif
