/* SPDX-License-Identifier: MIT */
#include "daemon/job/thread.h"

#include <stdio.h>

enum policy_rule job_thread_rule(
	const struct job_thread *thread, const struct options *options, const char *comm)
{
	bool main_thread = thread->slot.pid == thread->slot.tid;

	if ((options->idle & IDLE_MAIN && main_thread) || options_idle_comm(options, comm))
		return POLICY_RULE_IDLE;
	return options->idle & IDLE_AUTO ? POLICY_RULE_NONE : POLICY_RULE_COMPUTE;
}

void job_thread_show_comm(struct job_thread *thread, const char *comm)
{
	struct telemetry_thread *shown = thread->shown;

	if (shown == NULL)
		return;
	snprintf(shown->comm, sizeof shown->comm, "%.15s", comm);
	for (char *c = shown->comm; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

void job_thread_show_flags(const struct job_thread *thread, uint32_t flags)
{
	if (thread->shown != NULL)
		telemetry_set32(&thread->shown->flags, TELEMETRY_THREAD_USED | flags);
}

void job_thread_show_cpu(const struct job_thread *thread, int32_t os_cpu)
{
	if (thread->shown != NULL)
		atomic_store_explicit(&thread->shown->os_cpu, os_cpu, memory_order_relaxed);
}
