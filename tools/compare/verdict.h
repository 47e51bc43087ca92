/* SPDX-License-Identifier: MIT */
/* What a comparison means, in sentences. Pure. */
#ifndef COMPARE_VERDICT_H
#define COMPARE_VERDICT_H

#include <stdint.h>

#include "tools/compare/contrast.h"
#include "tools/compare/outcome.h"

#define VERDICT_BYTES 1000

/* "ran 1.290 times as fast as Linux (1.270 to 1.310)". */
void verdict_say(const struct contrast *contrast, const char *base, char *text, size_t bytes);

struct verdict_case {
	const struct contrast *gain; /* of juggle */
	double run_s; /* median time of the base */
	uint32_t repeats;
	double stolen; /* share of the CPUs' time that a hypervisor took during the runs */
	const struct outcome *outcome; /* of a run of juggle */
	const char *hindrance; /* doctor's finding on the command; "": none */
};

/* What to do, or why, in a sentence or two. */
void verdict_advise(const struct verdict_case *c, char text[VERDICT_BYTES]);

#endif
