/* SPDX-License-Identifier: MIT */
#include "daemon/team/shun.h"

#include <sched.h>

#include "daemon/act/act.h"

#define LATE_NS UINT64_C(5000000) /* more than a tick */
#define SHUN_NS UINT64_C(10000000000)

void shun_init(struct shun *shun)
{
	shun->os_cpu = -1;
	if (cpuset_of_thread(0, &shun->mask) < 0)
		shun->mask = (struct cpuset){0};
	shun_sleep(shun);
}

void shun_sleep(struct shun *shun)
{
	shun->slept_on = sched_getcpu();
}

void shun_wake(struct shun *shun, uint64_t late_ns, uint64_t now_ns)
{
	if (late_ns > LATE_NS && shun->slept_on >= 0) {
		struct cpuset mask = shun->mask;
		cpuset_remove(&mask, shun->slept_on);
		if (cpuset_count(&mask) == 0 || act_set_mask(0, &mask) < 0)
			return;
		shun->os_cpu = shun->slept_on;
		shun->until_ns = now_ns + SHUN_NS;
	} else if (shun->os_cpu >= 0 && now_ns >= shun->until_ns) {
		(void)act_set_mask(0, &shun->mask);
		shun->os_cpu = -1;
	}
}
