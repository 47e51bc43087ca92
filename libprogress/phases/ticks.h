/* SPDX-License-Identifier: MIT */
/* Spans of time, in ticks or nanoseconds. */
#ifndef LIBPHASES_TICKS_H
#define LIBPHASES_TICKS_H

#include <stdint.h>

/* After so many ticks, reading the clocks costs little in comparison. */
#if defined(__x86_64__)
#define FULL_TICKS 400000 /* 80 to 200 us */
#else
#define FULL_TICKS 200000
#endif

static inline uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* a - b, or 0 if b is greater. */
static inline uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* value * part / whole, for part <= whole. */
static inline uint64_t share(uint64_t value, uint64_t part, uint64_t whole)
{
	while (whole >> 32) {
		whole >>= 1;
		part >>= 1;
	}
	if (whole == 0)
		return 0;
	uint64_t ratio = (part << 32) / whole;
	return (value >> 32) * ratio + (((value & UINT32_MAX) * ratio) >> 32);
}

#endif
