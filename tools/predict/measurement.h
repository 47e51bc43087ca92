/* SPDX-License-Identifier: MIT */
/*
 * How long a real run took, and what is known of it, from whichever file was kept: a report or a
 * trace of juggle(1), or the result of ubench(1). For `jugglectl predict`, which sets the theory
 * beside it. Nothing in these files is trusted.
 */
#ifndef JUGGLECTL_MEASUREMENT_H
#define JUGGLECTL_MEASUREMENT_H

#include <stdbool.h>
#include <stdint.h>

#define MEASUREMENT_COUNT_MAX 1000000 /* threads, or CPUs */
#define MEASUREMENT_PHASES_MAX 1000000000

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
	double elapsed_s;
	double work_s; /* CPU time of a thread, mean; exact for ubench: phase_s * phases */
	double phase_s; /* 0: not known */
	double phases; /* 0: not known */
	double period_s; /* 0: not known */
	double balanced; /* share of the run that juggle placed threads; 1 when not known */
	/* Share of the CPUs' time that other work had at least: for which threads waited longer than
	 * they can for each other, if CPUs have as many threads but for one. 0 when not known. */
	double others;
	char reason[80]; /* why juggle stood aside at the end, in ASCII; empty when it did not */
	bool unequal; /* ubench --imbalance: the threads were not equal */
	bool spins; /* ubench: a barrier that keeps CPUs busy */
};

/* Names for messages and JSON. */
const char *measurement_kind_name(enum measurement_kind kind);
const char *measurement_way_name(enum measurement_way way);

/* Returns 0; -EBADMSG, with the reason in `error`, when the file is none of these, is damaged, cut
 * short, or has numbers that can't be; -ENOMEM; or the negative errno of reading it. Keeps no state. */
int measurement_read(
	struct measurement *measurement, const char *path, char *error, uint32_t error_bytes);

#endif
