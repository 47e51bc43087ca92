/* SPDX-License-Identifier: MIT */
/*
 * The barriers of ubench itself; see barrier.h.
 */
#include "apps/ubench/barrier.h"

#include <errno.h>
#include <sched.h>

#include "libprogress/phases/waits.h"

const char *barrier_name(enum barrier_kind kind)
{
	static const char *const names[BARRIER_KINDS] = {
		[BARRIER_BLOCK] = "block",
		[BARRIER_YIELD] = "yield",
		[BARRIER_SPIN] = "spin",
		[BARRIER_OMP] = "omp",
		[BARRIER_MPI] = "mpi",
	};

	return names[kind];
}

int barrier_init(struct barrier *barrier, enum barrier_kind kind, unsigned threads)
{
	*barrier = (struct barrier){.kind = kind, .threads = threads};
	if (kind == BARRIER_BLOCK)
		return -pthread_barrier_init(&barrier->block, NULL, threads);
	return kind == BARRIER_YIELD || kind == BARRIER_SPIN ? 0 : -EINVAL;
}

void barrier_deinit(struct barrier *barrier)
{
	if (barrier->kind == BARRIER_BLOCK && barrier->threads)
		pthread_barrier_destroy(&barrier->block);
	barrier->threads = 0;
}

static void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb"); /* yield is a no-op on most cores, isb takes time */
#elif defined(__powerpc64__)
	__asm__ volatile("or 27,27,27");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

static void poll(struct barrier *barrier)
{
	/* The sense can't change before the caller has arrived, so each thread may read it here
	 * instead of keeping its own. It counts rather than flips, which costs the same. */
	unsigned sense = atomic_load_explicit(&barrier->sense, memory_order_relaxed);

	if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 ==
		barrier->threads) {
		atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&barrier->sense, sense + 1, memory_order_release);
		return;
	}
	while (atomic_load_explicit(&barrier->sense, memory_order_acquire) == sense) {
		if (barrier->kind == BARRIER_YIELD)
			sched_yield();
		else
			cpu_pause();
	}
}

void barrier_wait(struct barrier *barrier)
{
	if (barrier->kind == BARRIER_BLOCK) {
		pthread_barrier_wait(&barrier->block);
		return;
	}
	if (phases_arrive)
		phases_arrive();
	poll(barrier);
	if (phases_depart)
		phases_depart();
}
