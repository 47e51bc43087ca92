/* SPDX-License-Identifier: MIT */
/*
 * What balancing is worth to a job, in a word and a sentence, from what was measured of it: what
 * juggle brings or would bring, another number of threads, or CPUs without other work; or that the
 * work itself is imbalanced, or that nothing is to be gained.
 *
 * Gains are bounds. With the measured useful CPU time of each thread, no distribution over m CPUs is
 * faster than the larger of their mean load and the largest of these times.
 */
#ifndef JUGGLE_TELEMETRY_WORTH_H
#define JUGGLE_TELEMETRY_WORTH_H

#include <stddef.h>

#include "daemon/telemetry/efficiency.h"

enum worth_verdict {
	WORTH_UNKNOWN, /* too little was told */
	WORTH_NOTHING, /* nothing is to be gained */
	WORTH_BROUGHT, /* juggle has brought what there was */
	WORTH_JUGGLE, /* juggle would bring something */
	WORTH_THREADS, /* another number of threads would */
	WORTH_NOISE, /* CPUs without other work would */
	WORTH_WORK, /* the work itself is imbalanced */
	WORTH_WAITS, /* waits that don't come from where threads are */
};
/* A name for JSON. */
const char *worth_name(enum worth_verdict verdict);

#define WORTH_BYTES 320

struct worth_case {
	const struct efficiency *efficiency;
	uint32_t cpus; /* above 0 */
	double quota; /* in CPUs; 0: none */
	double throttled; /* for how long the quota stopped threads: share of the time of the CPUs */
	double balanced; /* share of the time for which juggle balanced */
	double declined; /* the same for which it stood aside, as balancing did not pay */
	double slowest; /* speed of the slowest CPU, of the fastest; 1: equal, or not known */
	double covered; /* the share of the job's CPU time that threads used of which it was told */
};

/* Fill in the sentences. Pure. */
enum worth_verdict worth_judge(const struct worth_case *c, char text[WORTH_BYTES]);

/* How many times as long the job would have taken, at least, with threads that stay on their CPUs; 0
 * where too little was told, juggle did not balance, or it brought hardly anything. Pure. */
double worth_brought(const struct worth_case *c);

#endif
