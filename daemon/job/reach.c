/* SPDX-License-Identifier: MIT */
#include "daemon/job/reach.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/act/act.h"

struct process {
	pid_t pid;
	struct cpuset cpus; /* the part of juggle's that it may use */
	bool known, computes;
};

/* Reduce *cpus to those that its cpuset leaves a thread, by asking for them. Returns 0, -ESRCH,
 * or -EPERM. */
static int ask(pid_t tid, struct cpuset *cpus)
{
	int r = act_set_mask(tid, cpus);

	if (r == 0)
		return cpuset_of_thread(tid, cpus);
	if (r != -EINVAL)
		return r;
	*cpus = (struct cpuset){0};
	return 0;
}

static int reach_of(const struct cpuset *cpus, const struct cpuset *own)
{
	int count = cpuset_count(cpus);

	return count < cpuset_count(own) ? count : REACH_ALL;
}

int reach_of_thread(pid_t tid, const struct cpuset *own, int *reach)
{
	struct cpuset cpus = *own;
	int r = ask(tid, &cpus);

	*reach = reach_of(&cpus, own);
	return r;
}

static struct process *process_of(struct process *process, size_t count, pid_t pid)
{
	size_t low = 0, high = count;

	while (low + 1 < high) {
		size_t middle = (low + high) / 2;
		if (process[middle].pid <= pid)
			low = middle;
		else
			high = middle;
	}
	return &process[low];
}

static void look_at(struct process *process, const struct job_thread *thread,
	struct ledger *ledger, const struct cpuset *own, const struct cpuset *within)
{
	process->computes |= thread->assigned;
	if (process->known)
		return;
	process->cpus = *own;
	process->known = ask(thread->slot.tid, &process->cpus) == 0;
	(void)ledger_restore(ledger, thread->ledger, within);
}

static void mark(const struct process *process, const struct cpuset *own,
	const struct cpuset *usable, struct job_thread *thread)
{
	thread->reach = process->known ? reach_of(&process->cpus, own) : REACH_ALL;
	thread->outside = process->known && !cpuset_contains(&process->cpus, usable);
}

static struct process *list_processes(const struct roster *roster, size_t *count)
{
	pid_t *pid;

	*count = roster_processes(roster, &pid);
	struct process *process = *count > 0 ? calloc(*count, sizeof *process) : NULL;
	for (size_t i = 0; i < *count && process != NULL; i++)
		process[i].pid = pid[i];
	free(pid);
	return process;
}

void reach_find(const struct roster *roster, struct ledger *ledger, const struct cpuset *own,
	const struct cpuset *within, struct cpuset *usable)
{
	size_t count;
	struct process *process = list_processes(roster, &count);

	*usable = (struct cpuset){0};
	for (size_t i = 0; i < roster->count && process != NULL; i++) {
		const struct job_thread *thread = roster->entry[i].thread;
		look_at(process_of(process, count, thread->slot.pid), thread, ledger, own, within);
	}
	for (size_t i = 0; i < count && process != NULL; i++)
		if (process[i].known && process[i].computes)
			cpuset_or(usable, &process[i].cpus);
	if (cpuset_count(usable) == 0)
		*usable = *own;
	for (size_t i = 0; i < roster->count && process != NULL; i++) {
		struct job_thread *thread = roster->entry[i].thread;
		mark(process_of(process, count, thread->slot.pid), own, usable, thread);
	}
	free(process);
}

void reach_inherit(
	const struct roster *roster, const struct proc_thread *found, struct job_thread *thread)
{
	const struct job_thread *relative = roster_find(roster, found->pid);

	if (relative == NULL)
		relative = roster_find(roster, found->ppid);
	thread->reach = relative != NULL ? relative->reach : REACH_ALL;
	thread->outside = relative != NULL && relative->outside;
}
