/* SPDX-License-Identifier: MIT */
#ifndef LIBPHASES_CLOCKS_H
#define LIBPHASES_CLOCKS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Of no known length, and not to be trusted when the thread changes its CPU. */
static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return clock_ns(CLOCK_MONOTONIC);
#endif
}

#endif
