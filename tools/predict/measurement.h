/* SPDX-License-Identifier: MIT */
/*
 * A real run, for `jugglectl predict` to compare with the theory: how long it took, and what else
 * is known of it. It is read from a report or a trace of juggle(1), or a result of ubench(1).
 * Nothing in these files is trusted.
 */
#ifndef JUGGLECTL_MEASUREMENT_H
#define JUGGLECTL_MEASUREMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MEASUREMENT_COUNT_MAX 1000000 /* threads, or CPUs */
#define MEASUREMENT_PHASES_MAX 1000000000
#define MEASUREMENT_SPEEDS_MAX 1024

enum measurement_kind { MEASUREMENT_REPORT, MEASUREMENT_TRACE, MEASUREMENT_UBENCH };

/* Who placed the threads. */
enum measurement_way {
	MEASUREMENT_UNKNOWN,
	MEASUREMENT_PINNED,
	MEASUREMENT_LINUX,
	MEASUREMENT_JUGGLE,
};

struct measurement {
	enum measurement_kind kind;
	enum measurement_way way;
	uint32_t threads, cpus; /* at least 1 */
	/* Of a report, where juggle knew that they differ: the speed of each CPU, above 0. */
	double speed[MEASUREMENT_SPEEDS_MAX];
	uint32_t speeds; /* 0, or as many as CPUs */
	double elapsed_s;
	double work_s; /* mean CPU time of a thread; exact for ubench: phase_s * phases */
	double phase_s; /* 0: not known */
	double phases; /* 0: not known */
	double period_s; /* 0: not known, or not one of balancing */
	double point_s; /* CPU time of a balancing point; 0: not known */
	/* Of a report with phases that runtimes told: all times are theirs, those of CPUs without waits. */
	bool told;
	double load_balance; /* 1: not known */
	double balanced; /* share of the run in which juggle placed threads; 1 when not known */
	/* Lower bound of the share of the CPUs' time that other work took: for it, threads waited
	 * longer than they can for each other when CPUs differ by at most one thread. 0 when not
	 * known. */
	double others;
	/* The reason for which juggle stood aside longest, fit to print; empty when it never did: */
	char reason[80];
	bool unequal; /* the threads did not do the same work */
	bool spins; /* ubench: a barrier that keeps CPUs busy */
};

/* Names for messages and JSON. */
const char *measurement_kind_name(enum measurement_kind kind);
const char *measurement_way_name(enum measurement_way way);

/* Reads `file` to its end; it can be a pipe. Returns 0; -EBADMSG, with the reason in `error`, when it
 * is none of these, is damaged or cut short, or has impossible numbers; -ENOMEM; or the negative errno
 * of reading it. Keeps no state. */
int measurement_read(
	struct measurement *measurement, FILE *file, char *error, uint32_t error_bytes);

#endif
