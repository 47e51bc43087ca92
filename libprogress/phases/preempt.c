/* SPDX-License-Identifier: MIT */
/*
 * A thread that is about to run a restartable sequence stores a pointer to its description, rseq_cs. The
 * kernel clears that when it preempts the thread outside the sequence (linux/rseq.h). So a sequence that never
 * runs shows preemptions. If the program, or its allocator, has sequences of its own, the pointer is another
 * one than ours, and nothing is known.
 */
#include "libprogress/phases/preempt.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#ifdef RSEQ_SIG

#include <stdio.h>
#include <sys/utsname.h>

#pragma weak __rseq_offset
#pragma weak __rseq_size

/* The kernel looks for the signature before the address to which it would send the thread. Nothing here
 * is ever executed, so it need not be code. The library is never unloaded. */
static const struct {
	uint32_t signature;
	char abort[4];
} nowhere = {.signature = RSEQ_SIG};

static struct rseq_cs never_run;

/* The thread's pointer to the sequence that it is about to run, or NULL. */
static _Atomic uint64_t *about_to_run(void)
{
	if (&__rseq_size == NULL || __rseq_size == 0)
		return NULL;
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
	const struct rseq *rseq = (void *)area;
	bool registered = (int32_t)rseq->cpu_id >= 0;
	return registered ? (void *)(area + offsetof(struct rseq, rseq_cs)) : NULL;
}

/* From Linux 6.19 on, the pointer is kept when a thread loses its CPU inside a system call. */
static bool is_cleared_always(void)
{
	struct utsname name;
	unsigned major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 19));
}

__attribute__((constructor)) static void init(void)
{
	if (!is_cleared_always())
		return;
	never_run.start_ip = (uintptr_t)&nowhere.signature;
	never_run.post_commit_offset = 1;
	never_run.abort_ip = (uintptr_t)nowhere.abort;
}

void preempt_watch(void)
{
	_Atomic uint64_t *pointer = about_to_run();

	if (pointer != NULL && never_run.abort_ip != 0)
		atomic_store_explicit(pointer, (uintptr_t)&never_run, memory_order_relaxed);
}

bool preempt_never(void)
{
	const _Atomic uint64_t *pointer = about_to_run();

	return pointer != NULL &&
	       atomic_load_explicit(pointer, memory_order_relaxed) == (uintptr_t)&never_run;
}

#else

void preempt_watch(void)
{
}

bool preempt_never(void)
{
	return false;
}

#endif
