/* SPDX-License-Identifier: MIT */
/* Reading the kernel's clocks, in nanoseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Wall time since some fixed point; the same for all threads of a machine. */
static inline uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* CPU time that the calling thread has used. */
static inline uint64_t clock_thread_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(ns % CLOCK_NS_PER_S),
	};
}

/* The first moment after now that is a whole number of intervals (above 0) after one that has
 * passed: such deadlines don't drift, and those that were missed are skipped. */
static inline uint64_t clock_next_ns(uint64_t passed_ns, uint64_t interval_ns)
{
	return passed_ns + ((clock_monotonic_ns() - passed_ns) / interval_ns + 1) * interval_ns;
}

#endif
