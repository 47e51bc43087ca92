/* SPDX-License-Identifier: MIT */
#include "daemon/team/ticker.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/base/clock.h"

#define NOW_NS 1 /* long ago */

static void *ticker_main(void *argument)
{
	struct ticker *ticker = argument;
	uint64_t ticks;

	prctl(PR_SET_NAME, "juggle/tick");
	prctl(PR_SET_TIMERSLACK, 1);
	(void)act_set_own_slice(ACT_SLICE_LEAST_NS); /* runs as soon as it wakes; works without */
	for (;;) {
		/* If a signal interrupts it, it has run as well. */
		(void)!read(ticker->timer, &ticks, sizeof ticks);
		if (atomic_load_explicit(&ticker->end, memory_order_relaxed))
			return NULL;
		atomic_store_explicit(&ticker->ran, true, memory_order_relaxed);
	}
}

void ticker_init(struct ticker *ticker, int os_cpu)
{
	*ticker = (struct ticker){.os_cpu = os_cpu};
}

/* Start the thread, without waiting for it to run. */
static void start(struct ticker *ticker)
{
	ticker->failed = true;
	ticker->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (ticker->timer < 0)
		return;
	if (pthread_create(&ticker->thread, NULL, ticker_main, ticker) != 0) {
		close(ticker->timer);
		return;
	}
	ticker->failed = false;
	ticker->started = true;
	/* Not by the ticker itself: no pin may follow that of ticker_deinit(). */
	(void)act_pin_own(ticker->thread, ticker->os_cpu);
}

bool ticker_ran(struct ticker *ticker)
{
	return ticker->failed ||
	       atomic_exchange_explicit(&ticker->ran, false, memory_order_relaxed);
}

void ticker_run_at(struct ticker *ticker, uint64_t at_ns, uint64_t gap_ns)
{
	struct itimerspec when = {
		.it_value = clock_timespec(at_ns), .it_interval = clock_timespec(gap_ns)};

	if (at_ns == ticker->at_ns && gap_ns == ticker->gap_ns)
		return;
	if (!ticker->started && !ticker->failed)
		start(ticker);
	if (!ticker->started)
		return;
	ticker->at_ns = at_ns;
	ticker->gap_ns = gap_ns;
	(void)timerfd_settime(ticker->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

void ticker_run(struct ticker *ticker, uint64_t period_ns)
{
	ticker_run_at(ticker, NOW_NS, period_ns);
}

void ticker_deinit(struct ticker *ticker)
{
	if (!ticker->started)
		return;
	/* Its CPU may have been taken for long; the caller's can be used. */
	(void)act_pin_own(ticker->thread, sched_getcpu());
	atomic_store_explicit(&ticker->end, true, memory_order_relaxed);
	ticker_run_at(ticker, NOW_NS, 0);
	pthread_join(ticker->thread, NULL);
	close(ticker->timer);
	ticker->started = false;
}
