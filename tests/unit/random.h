/* SPDX-License-Identifier: MIT */
/* Random numbers for property tests. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

/* splitmix64: small, and the same on every machine. */
static inline uint64_t random_word(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A number from least to most, both included. */
static inline int64_t random_int(uint64_t *seed, int64_t least, int64_t most)
{
	return least + (int64_t)(random_word(seed) % (uint64_t)(most - least + 1));
}

#endif
