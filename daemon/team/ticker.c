/* SPDX-License-Identifier: MIT */
#include "daemon/team/ticker.h"

#include <errno.h>
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
	atomic_store_explicit(&ticker->tid, gettid(), memory_order_relaxed);
	(void)act_set_own_slice(ACT_SLICE_LEAST_NS); /* runs as soon as it wakes; works without */
	for (;;) {
		if (read(ticker->timer, &ticks, sizeof ticks) < 0 && errno != EINTR &&
			errno != EAGAIN)
			return NULL;
		if (atomic_load_explicit(&ticker->end, memory_order_relaxed))
			return NULL;
		atomic_store_explicit(&ticker->ran, true, memory_order_relaxed);
	}
}

int ticker_init(struct ticker *ticker, int os_cpu)
{
	*ticker = (struct ticker){
		.os_cpu = os_cpu, .timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)};
	if (ticker->timer < 0)
		return -errno;
	(void)cpuset_of_thread(0, &ticker->mask);
	int r = pthread_create(&ticker->thread, NULL, ticker_main, ticker);
	if (r != 0) {
		close(ticker->timer);
		return -r;
	}
	ticker->started = true;
	return 0;
}

/* As soon as it has run. Not by the ticker itself: no pin may follow that of ticker_deinit(). */
static void place(struct ticker *ticker)
{
	pid_t tid = atomic_load_explicit(&ticker->tid, memory_order_relaxed);

	if (tid == 0)
		return;
	(void)act_pin(tid, ticker->os_cpu);
	ticker->placed = true;
}

bool ticker_ran(struct ticker *ticker)
{
	bool ran = atomic_exchange_explicit(&ticker->ran, false, memory_order_relaxed);

	if (ticker->placed)
		return ran;
	place(ticker);
	return true;
}

void ticker_run_at(struct ticker *ticker, uint64_t at_ns, uint64_t gap_ns)
{
	struct itimerspec when = {
		.it_value = clock_timespec(at_ns), .it_interval = clock_timespec(gap_ns)};

	if (!ticker->started || (at_ns == ticker->at_ns && gap_ns == ticker->gap_ns))
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
	atomic_store_explicit(&ticker->end, true, memory_order_relaxed);
	ticker_run_at(ticker, NOW_NS, 0);
	if (ticker->placed) /* on a CPU that may have been taken for long */
		(void)act_set_mask(
			atomic_load_explicit(&ticker->tid, memory_order_relaxed), &ticker->mask);
	pthread_join(ticker->thread, NULL);
	close(ticker->timer);
	ticker->started = false;
}
