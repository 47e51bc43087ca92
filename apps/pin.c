/* SPDX-License-Identifier: MIT */
#include "apps/pin.h"

#include <errno.h>
#include <sched.h>

#include "daemon/base/cpuset.h"

/* glibc's masks are arrays of long with CPU 0 in the lowest bit of the first: on a
 * little-endian or a 64-bit machine that is our layout, too. */
int pin_caller(int os_cpu)
{
	struct cpuset set = {0};

	if (os_cpu < 0 || os_cpu >= CPUSET_CPUS_MAX)
		return -EINVAL;
	cpuset_add(&set, os_cpu);
	if (sched_setaffinity(0, sizeof(set), (const cpu_set_t *)(const void *)&set) < 0)
		return -errno;
	return 0;
}
