/* SPDX-License-Identifier: MIT */
/*
 * What follows from the facts: findings, each with what to do about it.
 *
 * A rule is a pure function from the facts to a finding, or none. To add one: write the function in
 * one of the files rules_*.c, add an entry to the table at its end, a line to jugglectl-doctor(1),
 * and made-up facts to tests/unit/tools/doctor/test_rules.c.
 */
#ifndef DOCTOR_RULE_H
#define DOCTOR_RULE_H

#include "tools/doctor/system.h"

enum doctor_level {
	DOCTOR_NONE, /* nothing to be said */
	DOCTOR_GOOD,
	DOCTOR_NOTE, /* neither good nor bad, or hardly bad */
	DOCTOR_WARNING, /* juggle gives less than it could */
	DOCTOR_PROBLEM, /* juggle gives nothing */
};

/* In the order in which they are shown. */
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
	const char *id; /* of its rule: the same in all versions */
	enum doctor_level level;
	enum doctor_group group;
	char text[600]; /* a sentence */
	char advice[600]; /* "": nothing to do */
};

struct doctor_rule {
	const char *id; /* NULL ends a table */
	enum doctor_group group;
	/* Sets text, and advice if there is any. What it sets is dropped when it returns
	 * DOCTOR_NONE. */
	enum doctor_level (*judge)(const struct doctor_system *system, struct doctor_finding *out);
};

extern const struct doctor_rule doctor_rules_machine[];
extern const struct doctor_rule doctor_rules_surroundings[];
extern const struct doctor_rule doctor_rules_program[];

/* For rules: set the text, or the advice. What is too long is cut. */
void doctor_say(struct doctor_finding *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_advise(struct doctor_finding *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* For rules: say how n threads fit the CPUs. `what` is what they are called: "threads", "ranks". */
enum doctor_level doctor_judge_fit(const struct doctor_system *system, uint32_t n, const char *what,
	struct doctor_finding *out);

/* The worst level of n findings. */
enum doctor_level doctor_worst(const struct doctor_finding *finding, size_t n);

/* "good", "note", "warning", "problem". */
const char *doctor_level_name(enum doctor_level level);
/* As in JSON: "cpus", "kernel" ... */
const char *doctor_group_name(enum doctor_group group);

#endif
