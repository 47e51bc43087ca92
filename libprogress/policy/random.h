/* SPDX-License-Identifier: MIT */
/* Random numbers for the policies. The caller keeps the state, so that a run can be repeated. */
#ifndef JUGGLE_POLICY_RANDOM_H
#define JUGGLE_POLICY_RANDOM_H

#include <stdint.h>

/* xorshift64* (Vigna 2016). Any state will do. Returns 31 bits. */
static inline uint32_t policy_random(uint64_t *state)
{
	uint64_t x = *state != 0 ? *state : UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (uint32_t)((x * UINT64_C(0x2545f4914f6cdd1d)) >> 33);
}

#endif
