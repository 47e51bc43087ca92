/* SPDX-License-Identifier: MIT */
/* Random variation from a seed, the same for the fluid model and the machine. */
#ifndef SIM_JITTER_H
#define SIM_JITTER_H

#include <stdint.h>
#include <stdlib.h>

struct jitter {
	unsigned short state[3];
};

/* stream: another number is another sequence. */
static inline struct jitter jitter_begin(uint64_t seed, uint16_t stream)
{
	uint64_t mixed = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return (struct jitter){{(unsigned short)(mixed >> 48), (unsigned short)(mixed >> 24),
		(unsigned short)((mixed >> 8) ^ stream)}};
}

/* A factor within `share` of 1, uniformly distributed. */
static inline double jitter_next(struct jitter *jitter, double share)
{
	return share > 0 ? 1 + share * (2 * erand48(jitter->state) - 1) : 1;
}

#endif
