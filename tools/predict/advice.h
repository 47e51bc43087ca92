/* SPDX-License-Identifier: MIT */
/*
 * The advice from a prediction, in a sentence: whether to use juggle. It comes from the theory, and
 * from what is known of Linux's own balancer, which the theory takes to be ideal.
 */
#ifndef JUGGLECTL_ADVICE_H
#define JUGGLECTL_ADVICE_H

#include <stdint.h>

#include "tools/theory/theory.h"

enum advice_verdict {
	ADVICE_NOTHING, /* nothing to balance: the threads fit the CPUs */
	ADVICE_PERIOD, /* the period is too long: few phases have a balancing point, or none */
	ADVICE_LITTLE, /* little to gain, or to lose: many threads for each CPU, or works that fit the CPUs */
	ADVICE_LINUX, /* Linux does as well by itself, where barriers block */
	ADVICE_JUGGLE, /* juggle helps */
};

/* A name for JSON. */
const char *advice_name(enum advice_verdict verdict);

/* Fill in the text, cut if it does not fit; 500 bytes are enough. Times of the case are in seconds.
 * Pure. */
enum advice_verdict advice_give(const struct theory_case *c, char *text, uint32_t text_bytes);

#endif
