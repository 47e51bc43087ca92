/* SPDX-License-Identifier: MIT */
/*
 * What to make of a prediction: whether to use juggle, in a sentence. From the theory, and from what
 * is known of Linux's own balancer, which the theory takes to be ideal.
 */
#ifndef JUGGLECTL_ADVICE_H
#define JUGGLECTL_ADVICE_H

#include <stdint.h>

#include "tools/theory/theory.h"

enum advice_verdict {
	ADVICE_NOTHING, /* to balance: the threads fit the CPUs */
	ADVICE_PERIOD, /* too long: few phases have a balancing point in them, or none */
	ADVICE_LITTLE, /* to gain, since there are many threads for each CPU */
	ADVICE_LINUX, /* does as well by itself, where barriers block */
	ADVICE_JUGGLE, /* helps */
};

/* A name for JSON. */
const char *advice_name(enum advice_verdict verdict);

/* Fills in text, cut off where it does not fit; 500 bytes are enough. Times of the case are in
 * seconds. Pure. */
enum advice_verdict advice_give(const struct theory_case *c, char *text, uint32_t text_bytes);

#endif
