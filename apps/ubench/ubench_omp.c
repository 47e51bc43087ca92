/* SPDX-License-Identifier: MIT */
/*
 * ubench-omp: the same benchmark on an OpenMP runtime, as most programs use. Its barrier spins for
 * a while, then sleeps, and does not see other processes.
 */
#include "apps/ubench/bench.h"

#include <omp.h>

static void wait_omp(void *arg)
{
	(void)arg;
#pragma omp barrier
}

int main(int argc, char **argv)
{
	static const struct model model = {
		.program = "ubench-omp",
		.doc = "The ubench benchmark on OpenMP: phases of a fixed amount of work, a "
		       "barrier after each.",
		.notes =
			"Barriers: omp is the runtime's (the default; OMP_WAIT_POLICY, "
			"GOMP_SPINCOUNT "
			"and the like apply); block sleeps (pthread_barrier_wait), yield polls and "
			"calls sched_yield, spin polls. OMP_PROC_BIND and --pin exclude each "
			"other.",
		.barriers = 1 << BARRIER_OMP | 1 << BARRIER_BLOCK | 1 << BARRIER_YIELD |
			    1 << BARRIER_SPIN,
		.barrier_default = BARRIER_OMP,
	};

	/* Don't use the mask: OMP_PROC_BIND leaves one CPU in it. The runtime knows the others. */
	return bench_main(&model, argc, argv, omp_get_num_procs(), wait_omp);
}
