/* SPDX-License-Identifier: MIT */
/*
 * Threads by OpenMP; see crew.h.
 */
#include "apps/crew.h"

#include <errno.h>
#include <omp.h>
#include <stddef.h>

uint32_t crew_threads_default(void)
{
	return (uint32_t)omp_get_max_threads();
}

bool crew_is_bound(void)
{
	return omp_get_proc_bind() != omp_proc_bind_false;
}

int crew_run(uint32_t threads, crew_member *member, void *arg)
{
	int wanted = (int)threads, got = 0;

	omp_set_dynamic(0);
#pragma omp parallel num_threads(wanted)
	{
		/* OMP_THREAD_LIMIT may give us fewer, and the barrier would wait for the others. */
		if (omp_get_num_threads() == wanted)
			member(NULL, (uint32_t)omp_get_thread_num(), arg);
#pragma omp master
		got = omp_get_num_threads();
	}
	return got == wanted ? 0 : -EAGAIN;
}

void crew_wait(struct crew *crew)
{
	(void)crew; /* OpenMP knows which */
#pragma omp barrier
}
