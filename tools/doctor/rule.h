/* SPDX-License-Identifier: MIT */
/*
 * The rules of doctor: from facts to findings, each with advice.
 *
 * A rule is a pure function from the facts to a finding, or none. To add one, write the function in
 * one of the files rules_*.c, and add an entry to the table at its end, a line to
 * jugglectl-doctor(1), and made-up facts to tests/unit/tools/doctor/test_rules.c.
 */
#ifndef DOCTOR_RULE_H
#define DOCTOR_RULE_H

#include "tools/doctor/system.h"

enum doctor_level {
	DOCTOR_NONE, /* no finding */
	DOCTOR_GOOD,
	DOCTOR_NOTE, /* neither good nor bad, or only a little bad */
	DOCTOR_WARNING, /* juggle gains less than it could */
	DOCTOR_PROBLEM, /* juggle gains nothing */
};

/* In the order of output. */
enum doctor_group {
	DOCTOR_CPUS,
	DOCTOR_KERNEL,
	DOCTOR_PROGRESS,
	DOCTOR_SURROUNDINGS,
	DOCTOR_COMMAND,
	DOCTOR_OPENMP,
	DOCTOR_MPI,
	DOCTOR_GROUPS,
};

struct doctor_finding {
	const char *id; /* the rule's; the same in all versions */
	enum doctor_level level;
	enum doctor_group group;
	char text[600]; /* a sentence */
	char advice[600]; /* "": nothing to do */
};

struct doctor_rule {
	const char *id; /* NULL ends a table */
	enum doctor_group group;
	/* Sets text, and advice if there is any. Both are dropped when it returns DOCTOR_NONE. */
	enum doctor_level (*judge)(const struct doctor_system *system, struct doctor_finding *out);
};

extern const struct doctor_rule doctor_rules_machine[];
extern const struct doctor_rule doctor_rules_speed[];
extern const struct doctor_rule doctor_rules_surroundings[];
extern const struct doctor_rule doctor_rules_program[];

/* For rules: set the text, or the advice. Both are cut when too long. */
void doctor_say(struct doctor_finding *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_advise(struct doctor_finding *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* For rules: set the text on how n threads fit the CPUs. `what` is the word for them: "threads",
 * "ranks". */
enum doctor_level doctor_judge_fit(const struct doctor_system *system, uint32_t n, const char *what,
	struct doctor_finding *out);

/* For rules: the CPUs in both sets. */
struct cpuset doctor_both(const struct cpuset *a, const struct cpuset *b);
/* Those of a that are not in b. */
struct cpuset doctor_without(const struct cpuset *a, const struct cpuset *b);

/* Does -c name CPUs that juggle cannot use? It refuses such a list. */
bool doctor_refuses(const struct doctor_system *system);

/* The worst level of n findings. */
enum doctor_level doctor_worst(const struct doctor_finding *finding, size_t n);

/* "good", "note", "warning", "problem". */
const char *doctor_level_name(enum doctor_level level);
/* As in JSON: "cpus", "kernel" ... */
const char *doctor_group_name(enum doctor_group group);

#endif
