/* SPDX-License-Identifier: MIT */
/* Barriers of pthreads, and those of the program that it tells us of. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "libprogress/phases/export.h"
#include "libprogress/phases/phases.h"
#include "libprogress/phases/site.h"
#include "libprogress/phases/untold.h"
#include "libprogress/phases/wait.h"
#include "libprogress/phases/waits.h"

static struct function function = {.number = SITE_PTHREAD,
	.source = PHASES_PTHREAD,
	.said = "barrier",
	.symbol = "pthread_barrier_wait"};

/* Every program has it. */
__attribute__((constructor)) static void begin(void)
{
	site_find(&function);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	union {
		void *found;
		int (*call)(pthread_barrier_t *);
	} next = {site_next_without_tools(&function)};
	if (next.found && untold_leave(true))
		return next.call(barrier);
	const void *address = __builtin_return_address(0);
	struct site *site = site_at(&function, address);

	next.found = site_next(site, &function, address);
	if (!next.found)
		return EINVAL;
	bool counts = wait_arrive(WAIT_CALL, site, __builtin_frame_address(0));
	int result = next.call(barrier);
	if (counts)
		wait_depart(WAIT_CALL);
	return result;
}

EXPORT void phases_arrive(void)
{
	static struct function own = {.number = SITE_OWN, .source = PHASES_OWN, .said = "wait"};

	wait_arrive(WAIT_OWN, site_at(&own, __builtin_return_address(0)), NULL);
}

EXPORT void phases_depart(void)
{
	wait_depart(WAIT_OWN);
}
