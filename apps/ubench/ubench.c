/* SPDX-License-Identifier: MIT */
/*
 * ubench: the SPMD microbenchmark with pthreads. The gain of a balancer shows only with a program
 * whose ideal time is known.
 */
#include "apps/ubench/bench.h"

#include <stddef.h>

int main(int argc, char **argv)
{
	static const struct model model = {
		.program = "ubench",
		.doc = "Threads that all do the same: phases of a fixed amount of work, a barrier "
		       "after each. Measures what sharing CPUs costs them, and what a balancer "
		       "gives back.",
		.notes = "Barriers: block sleeps (pthread_barrier_wait, the default), yield polls "
			 "and calls sched_yield, spin polls.",
		.barriers = 1 << BARRIER_BLOCK | 1 << BARRIER_YIELD | 1 << BARRIER_SPIN,
		.barrier_default = BARRIER_BLOCK,
	};

	return bench_main(&model, argc, argv, 0, NULL);
}
