/* SPDX-License-Identifier: MIT */
/*
 * When processes began, by the clock of times in segments: a segment that is older than the process with
 * its pid is what an earlier one left.
 */
#include "daemon/proc/proc.h"

#include "daemon/base/clock.h"

#include <unistd.h>

uint64_t proc_birth_ns(uint64_t start_ticks)
{
	uint64_t ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	/* This clock first, so that the time asleep is not too short. */
	uint64_t awake_ns = clock_monotonic_ns();
	uint64_t asleep_ns = clock_read_ns(CLOCK_BOOTTIME) - awake_ns;
	uint64_t born_ns = start_ticks / ticks_per_s * CLOCK_NS_PER_S +
			   start_ticks % ticks_per_s * CLOCK_NS_PER_S / ticks_per_s;

	return born_ns > asleep_ns ? born_ns - asleep_ns : 0;
}

bool proc_began_after(pid_t pid, uint64_t moment_ns)
{
	struct proc_thread leader;

	return proc_read_thread(pid, pid, &leader) == 0 &&
	       proc_birth_ns(leader.start_ticks) > moment_ns;
}
