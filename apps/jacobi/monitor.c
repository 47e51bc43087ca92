/* SPDX-License-Identifier: MIT */
/*
 * Looking on; see monitor.h.
 */
#include "apps/jacobi/monitor.h"

#include "daemon/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#define TRACE_NS UINT64_C(1000000)
#define LOOK_NS UINT64_C(250000000) /* to the terminal, and for signals */

/* Signals that nohup(1) or a shell's & has us ignore are left out: blocking them would make them
 * pending. */
static void add_signal(struct monitor *monitor, int number)
{
	struct sigaction action;

	if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
		sigaddset(&monitor->signals, number);
}

int monitor_init(struct monitor *monitor, const char *trace, bool quiet)
{
	*monitor = (struct monitor){.terminal = !quiet && isatty(STDERR_FILENO) ? stderr : NULL};
	if (trace) {
		monitor->trace = fopen(trace, "we");
		if (!monitor->trace)
			return -errno;
	}
	sigemptyset(&monitor->signals);
	add_signal(monitor, SIGHUP);
	add_signal(monitor, SIGINT);
	add_signal(monitor, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &monitor->signals, NULL);
	return 0;
}

int monitor_deinit(struct monitor *monitor)
{
	FILE *trace = monitor->trace;
	int rc = 0;

	monitor->trace = NULL;
	if (!trace)
		return 0;
	errno = 0;
	if (fflush(trace) != 0 || ferror(trace))
		rc = errno ? -errno : -EIO;
	if (fclose(trace) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

void monitor_begin(struct monitor *monitor, uint32_t subdomains)
{
	if (monitor->trace)
		fprintf(monitor->trace,
			"# time_ns, then the updates of subdomains 0 to %" PRIu32 "\n",
			subdomains - 1);
	monitor->begin_ns = clock_monotonic_ns();
}

void monitor_end(struct monitor *monitor)
{
	if (monitor->terminal)
		fputs("\r\033[K", monitor->terminal);
}

static void take_signal(struct monitor *monitor)
{
	const struct timespec at_once = {0};
	int number = sigtimedwait(&monitor->signals, NULL, &at_once);

	if (number > 0)
		monitor->signal = number;
}

static void show_progress(const struct monitor *monitor, const struct progress *progress,
	uint32_t subdomains, uint64_t now_ns)
{
	uint64_t updates = 0;

	for (uint32_t s = 0; s < subdomains; s++)
		updates += progress_updates(progress, s);
	fprintf(monitor->terminal,
		"\rjacobi: %.1f s, %" PRIu64 " iterations, spread %" PRIu64 "\033[K",
		(double)(now_ns - monitor->begin_ns) / 1e9, updates / subdomains,
		progress_spread(progress));
}

void monitor_poll(struct monitor *monitor, const struct progress *progress, uint32_t subdomains)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (monitor->trace && now_ns >= monitor->trace_due_ns) {
		monitor->trace_due_ns = now_ns + TRACE_NS;
		fprintf(monitor->trace, "%" PRIu64, now_ns - monitor->begin_ns);
		for (uint32_t s = 0; s < subdomains; s++)
			fprintf(monitor->trace, " %" PRIu64, progress_updates(progress, s));
		putc('\n', monitor->trace);
	}
	if (now_ns >= monitor->look_due_ns) {
		monitor->look_due_ns = now_ns + LOOK_NS;
		take_signal(monitor);
		if (monitor->terminal)
			show_progress(monitor, progress, subdomains, now_ns);
	}
}
