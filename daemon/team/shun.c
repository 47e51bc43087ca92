/* SPDX-License-Identifier: MIT */
#include "daemon/team/shun.h"

#include <sched.h>

#include "daemon/act/act.h"

#define LATE_NS UINT64_C(5000000) /* more than a tick */
#define TAKEN_NS UINT64_C(100000000) /* what one may have to wait for a CPU that was taken */
#define SHUN_NS UINT64_C(10000000000)

void shun_init(struct shun *shun)
{
	shun->os_cpu = -1;
	if (cpuset_of_thread(0, &shun->mask) < 0)
		shun->mask = (struct cpuset){0};
	shun_sleep(shun);
}

static void keep_off(struct shun *shun, int os_cpu, uint64_t late_ns, uint64_t now_ns)
{
	struct cpuset mask = shun->mask;

	if (shun->os_cpu != os_cpu) {
		/* The other CPU may be as bad, and there may be no third. */
		if (shun->os_cpu >= 0 && now_ns < shun->until_ns && late_ns <= shun->late_ns)
			return;
		cpuset_remove(&mask, os_cpu);
		if (cpuset_count(&mask) == 0 || act_set_mask(0, &mask) < 0)
			return;
		shun->os_cpu = os_cpu;
	}
	shun->late_ns = late_ns;
	shun->until_ns = now_ns + SHUN_NS;
}

void shun_taken(struct shun *shun, int os_cpu, uint64_t now_ns)
{
	keep_off(shun, os_cpu, TAKEN_NS, now_ns);
}

void shun_sleep(struct shun *shun)
{
	shun->slept_on = sched_getcpu();
}

void shun_wake(struct shun *shun, uint64_t late_ns, uint64_t now_ns)
{
	/* A thread that woke up elsewhere may have waited here or there. */
	if (late_ns > LATE_NS && shun->slept_on >= 0 && shun->slept_on == sched_getcpu()) {
		keep_off(shun, shun->slept_on, late_ns, now_ns);
	} else if (shun->os_cpu >= 0 && now_ns >= shun->until_ns) {
		(void)act_set_mask(0, &shun->mask);
		shun->os_cpu = -1;
	}
}
