/* SPDX-License-Identifier: MIT */
#include "daemon/job/worker.h"

#include <stdio.h>

void worker_apply_idle_rule(struct worker *worker, const struct options *options, const char *comm)
{
	bool main_thread = worker->slot.pid == worker->slot.tid;

	worker->idle_by_rule =
		(options->idle & IDLE_MAIN && main_thread) || options_idle_comm(options, comm);
	worker->compute_by_rule = !worker->idle_by_rule && !(options->idle & IDLE_AUTO);
}

void worker_show_comm(struct worker *worker, const char *comm)
{
	struct telemetry_thread *shown = worker->shown;

	if (shown == NULL)
		return;
	snprintf(shown->comm, sizeof shown->comm, "%.15s", comm);
	for (char *c = shown->comm; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}
