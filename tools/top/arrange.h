/* SPDX-License-Identifier: MIT */
/*
 * A sample in the order in which jugglectl top shows it: threads filtered and sorted, threads by
 * CPU, subdomains by process or worker. The memory is reused from sample to sample.
 */
#ifndef TOP_ARRANGE_H
#define TOP_ARRANGE_H

#include "tools/live/live.h"
#include "tools/top/view.h"

struct arrange_cpu {
	int32_t os_cpu, domain; /* domain: -1, not known */
	uint32_t threads; /* compute threads by the sample or, if it has no number, those placed */
	uint32_t first, listed; /* of on_cpu */
};

/* Subdomains that are shown together. */
struct arrange_group {
	uint32_t process; /* of the sample */
	int32_t worker; /* their holder; -1: all of the process, by number */
	uint32_t first, count; /* of subdomain */
};

struct arrange {
	uint32_t *thread; /* of the sample: those to show, sorted */
	size_t threads;
	uint32_t *on_cpu; /* threads of the sample, CPU by CPU */
	struct arrange_cpu *cpu; /* by number */
	size_t cpus;
	struct arrange_group *group;
	size_t groups;
	uint32_t *subdomain; /* index in its process, group by group; some may have no holder */
	size_t subdomains;
	double mean; /* of updates, over all that have a holder */
	double most_behind; /* the most updates that one is behind the mean; 0 or more */
	double lead_scale_s; /* at least the largest lead, either way */
	size_t thread_room, on_cpu_room, cpu_room, group_room, subdomain_room;
};

/* Overwrites *out, and reuses its memory. Leaves out indices of the sample that are out of range.
 * Returns 0, or -ENOMEM with *out empty. */
int arrange(struct arrange *out, const struct live_sample *sample, const struct view *view);
/* Accepts a zeroed one, and zeroes it. */
void arrange_deinit(struct arrange *arrange);

#endif
