/* SPDX-License-Identifier: MIT */
/*
 * Which threads do no work of their own. A launcher that waits in join(), mpirun, or a progress
 * thread must not count as a compute thread: the distribution would be uneven from the start.
 */
#include "daemon/policy/idle.h"

#define WINDOW_NS UINT64_C(50000000)
#define SLEEPY 0.01
#define AWAKE 0.05

void policy_idle_update(struct policy_idle *idle, uint64_t run_ns, uint64_t elapsed_ns)
{
	idle->window_run_ns += run_ns;
	idle->window_ns += elapsed_ns;
	/* Active as soon as that is certain, idle only after a whole window: it costs more to leave
	 * a compute thread out while it waits for work than to count an idle one. */
	uint64_t window_ns = idle->window_ns > WINDOW_NS ? idle->window_ns : WINDOW_NS;
	if ((double)idle->window_run_ns > AWAKE * (double)window_ns)
		idle->idle = false;
	if (idle->window_ns < WINDOW_NS)
		return;
	double share = (double)idle->window_run_ns / (double)idle->window_ns;
	if (share < SLEEPY)
		idle->idle = true;
	idle->window_run_ns = 0;
	idle->window_ns = 0;
}
