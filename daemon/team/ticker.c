/* SPDX-License-Identifier: MIT */
#include "daemon/team/ticker.h"

#include <sys/prctl.h>
#include <time.h>

#include "daemon/act/act.h"
#include "daemon/base/futex.h"

enum { OFF, ON, END };

static void *ticker_main(void *argument)
{
	struct ticker *ticker = argument;
	struct timespec period = {.tv_sec = (time_t)(ticker->period_ns / 1000000000u),
		.tv_nsec = (long)(ticker->period_ns % 1000000000u)};

	prctl(PR_SET_NAME, "juggle/tick");
	prctl(PR_SET_TIMERSLACK, 1);
	(void)act_pin(0, ticker->os_cpu);
	for (;;) {
		switch (atomic_load_explicit(&ticker->state, memory_order_acquire)) {
		case OFF:
			futex_wait_until(&ticker->state, OFF, FUTEX_FOREVER);
			break;
		case ON:
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
	int r = pthread_create(&ticker->thread, NULL, ticker_main, ticker);
	ticker->started = r == 0;
	return -r;
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

void ticker_deinit(struct ticker *ticker)
{
	if (!ticker->started)
		return;
	set_state(ticker, END);
	pthread_join(ticker->thread, NULL);
	ticker->started = false;
}
