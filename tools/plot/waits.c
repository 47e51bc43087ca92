/* SPDX-License-Identifier: MIT */
#include "tools/plot/waits.h"

#include <errno.h>
#include <stdlib.h>

/* What was known of a thread when it last told. */
struct before {
	uint64_t now_ns, useful_ns, arrivals;
	/* Time without a CPU since then; and what was more than the time before, as the kernel counts
	 * both late. */
	double ready_ns;
};

/* Leaves in `before` what is more than the time. Returns false for totals that went back, as those of
 * another program do. */
static bool take(struct before *before, const struct trace_point *point,
	const struct trace_thread *thread, struct plot_wait *out)
{
	if (before->now_ns == 0 || point->now_ns <= before->now_ns ||
		thread->useful_ns < before->useful_ns || thread->arrivals < before->arrivals)
		return false;
	double time_ns = (double)(point->now_ns - before->now_ns);
	double used_ns = (double)(thread->useful_ns - before->useful_ns) + before->ready_ns;

	before->ready_ns = used_ns > time_ns ? used_ns - time_ns : 0;
	*out = (struct plot_wait){.domain = point->domain,
		.from_ns = before->now_ns,
		.to_ns = point->now_ns,
		.share = used_ns < time_ns ? 1 - used_ns / time_ns : 0,
		.arrivals = thread->arrivals - before->arrivals};
	return true;
}

int plot_waits(const struct trace_file *trace, const struct plot_run *run, struct plot_wait **out,
	size_t *n)
{
	struct before *before = calloc(run->threads + 1, sizeof(*before));
	size_t most = 0;

	*n = 0;
	for (size_t i = 0; i < trace->points; i++)
		most += trace->point[i].threads;
	*out = calloc(most + 1, sizeof(**out));
	for (size_t i = 0; i < trace->points && before != NULL && *out != NULL; i++) {
		const struct trace_point *point = &trace->point[i];
		for (size_t k = 0; k < point->threads && plot_run_has(run, point); k++) {
			const struct trace_thread *thread = &point->thread[k];
			uint32_t which = plot_run_find(run, thread->tid);
			before[which].ready_ns += (double)thread->wait_ns;
			if (!(thread->news & POLICY_PHASES))
				continue;
			bool known = take(&before[which], point, thread, &(*out)[*n]);
			if (known)
				(*out)[(*n)++].thread = which;
			before[which] = (struct before){.now_ns = point->now_ns,
				.useful_ns = thread->useful_ns,
				.arrivals = thread->arrivals,
				.ready_ns = known ? before[which].ready_ns : 0};
		}
	}
	free(before);
	if (before != NULL && *out != NULL)
		return 0;
	free(*out);
	*out = NULL;
	return -ENOMEM;
}
