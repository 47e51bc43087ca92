/* SPDX-License-Identifier: MIT */
#include "daemon/job/thread.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/program.h"
#include "daemon/proc/proc.h"

enum policy_rule job_thread_rule(
	const struct job_thread *thread, const struct options *options, const char *comm)
{
	bool main_thread = thread->slot.pid == thread->slot.tid;

	bool by_itself = options->idle & IDLE_AUTO;

	if ((options->idle & IDLE_MAIN && main_thread) || options_idle_comm(options, comm) ||
		(by_itself && program_is_launcher(comm)))
		return POLICY_RULE_IDLE;
	return by_itself ? POLICY_RULE_NONE : POLICY_RULE_COMPUTE;
}

int job_thread_read_sleeps(struct job_thread *thread, uint64_t *out)
{
	int fd = thread->status_fd;

	if (fd < 0)
		fd = proc_open_status(thread->slot.pid, thread->slot.tid);
	if (fd < 0)
		return fd;
	int r = proc_read_blocks(fd, out);
	if (thread->status_fd < 0 && sampler_fd_is_scarce(fd))
		close(fd);
	else
		thread->status_fd = fd;
	return r;
}

void job_thread_close(struct job_thread *thread)
{
	if (thread->status_fd >= 0)
		close(thread->status_fd);
	thread->status_fd = -1;
}

bool job_thread_show_comm(struct job_thread *thread, const char *comm)
{
	struct telemetry_thread *shown = thread->shown;
	char name[sizeof shown->comm];

	if (shown == NULL)
		return false;
	snprintf(name, sizeof name, "%.15s", comm);
	for (char *c = name; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	bool changed = strcmp(name, shown->comm) != 0;
	memcpy(shown->comm, name, sizeof name);
	return changed;
}

void job_thread_show_flags(const struct job_thread *thread, uint32_t flags)
{
	struct telemetry_thread *shown = thread->shown;

	if (shown == NULL)
		return;
	if (shown->told_ns != 0)
		flags |= TELEMETRY_THREAD_TOLD;
	atomic_store_explicit(&shown->flags, TELEMETRY_THREAD_USED | flags, memory_order_release);
}

/* Totals that come from two clocks may go back a little. */
static void add_more(_Atomic uint64_t *shown, uint64_t *before, uint64_t now)
{
	if (now > *before) {
		telemetry_add(shown, now - *before);
		*before = now;
	}
}

void job_thread_show_told(struct job_thread *thread, const struct told_sight *told, uint64_t now_ns)
{
	struct telemetry_thread *shown = thread->shown;
	struct told_sight *before = &thread->told;

	if (shown == NULL)
		return;
	if (shown->told_ns == 0 || told->arrivals < before->arrivals) {
		/* Another program may tell from here on: it counts from the beginning. */
		*before = *told;
		if (shown->told_ns == 0)
			shown->told_ns = now_ns;
		return;
	}
	add_more(&shown->arrivals, &before->arrivals, told->arrivals);
	add_more(&shown->waited_ns, &before->waited_ns, told->waited_ns);
	add_more(&shown->useful_ns, &before->useful_ns, told->useful_ns);
	telemetry_set(&shown->told_until_ns, now_ns);
}

void job_thread_show_cpu(const struct job_thread *thread, int32_t os_cpu)
{
	if (thread->shown != NULL)
		atomic_store_explicit(&thread->shown->os_cpu, os_cpu, memory_order_relaxed);
}
