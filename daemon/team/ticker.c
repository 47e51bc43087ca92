/* SPDX-License-Identifier: MIT */
#include "daemon/team/ticker.h"

#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/base/futex.h"

enum { OFF, ON, END };

/* The shortest that the kernel grants: it runs as soon as it wakes, whatever else does. */
#define SLICE_NS 100000

static void *ticker_main(void *argument)
{
	struct ticker *ticker = argument;
	struct timespec period = {.tv_sec = (time_t)(ticker->period_ns / 1000000000u),
		.tv_nsec = (long)(ticker->period_ns % 1000000000u)};

	prctl(PR_SET_NAME, "juggle/tick");
	prctl(PR_SET_TIMERSLACK, 1);
	atomic_store(&ticker->tid, (uint32_t)gettid());
	futex_wake(&ticker->tid);
	(void)act_set_own_slice(SLICE_NS); /* works without, if less well */
	for (;;) {
		switch (atomic_load_explicit(&ticker->state, memory_order_acquire)) {
		case OFF:
			futex_wait_until(&ticker->state, OFF, FUTEX_FOREVER);
			break;
		case ON:
			atomic_store_explicit(&ticker->ran, 1, memory_order_relaxed);
			clock_nanosleep(CLOCK_MONOTONIC, 0, &period, NULL);
			break;
		default:
			return NULL;
		}
	}
}

int ticker_init(struct ticker *ticker, int os_cpu, uint64_t period_ns)
{
	*ticker = (struct ticker){.os_cpu = os_cpu, .period_ns = period_ns};
	(void)cpuset_of_thread(0, &ticker->mask);
	int r = pthread_create(&ticker->thread, NULL, ticker_main, ticker);
	if (r != 0)
		return -r;
	ticker->started = true;
	while (atomic_load(&ticker->tid) == 0)
		futex_wait_until(&ticker->tid, 0, FUTEX_FOREVER);
	/* Not by the ticker itself: no pin may follow that of ticker_deinit(). */
	(void)act_pin((pid_t)atomic_load(&ticker->tid), os_cpu);
	return 0;
}

static void set_state(struct ticker *ticker, uint32_t state)
{
	if (atomic_exchange_explicit(&ticker->state, state, memory_order_release) != state)
		futex_wake(&ticker->state);
}

void ticker_set(struct ticker *ticker, bool on)
{
	if (ticker->started)
		set_state(ticker, on ? ON : OFF);
}

bool ticker_ran(struct ticker *ticker)
{
	return atomic_exchange_explicit(&ticker->ran, 0, memory_order_relaxed) != 0;
}

void ticker_deinit(struct ticker *ticker)
{
	if (!ticker->started)
		return;
	set_state(ticker, END);
	/* Its CPU may have been taken for long. */
	(void)act_set_mask((pid_t)atomic_load(&ticker->tid), &ticker->mask);
	pthread_join(ticker->thread, NULL);
	ticker->started = false;
}
