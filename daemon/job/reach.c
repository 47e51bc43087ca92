/* SPDX-License-Identifier: MIT */
#include "daemon/job/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* With the CPUs that are offline now, as they may come back. */
static int read_mask(const struct job_thread *thread, struct cpuset *out)
{
	int r = cpuset_of_thread(thread->slot.tid, out);

	if (r == 0)
		(void)proc_read_mask(thread->slot.pid, thread->slot.tid, out);
	return r;
}

/* The recorded mask comes first: of that, the kernel may show less than it will grant when the cpuset grows.
 * Only when it is not what showed before, the thread has set another one since. */
static void give_back(
	struct ledger *ledger, const struct job_thread *thread, const struct cpuset *had)
{
	struct cpuset mask;

	(void)ledger_restore(ledger, thread->ledger, NULL);
	if (read_mask(thread, &mask) == 0 && memcmp(&mask, had, sizeof mask) != 0)
		(void)act_set_mask(thread->slot.tid, had);
}

/* ask() a thread that is not confined, and leave it the mask that it has. If juggle is killed meanwhile, the
 * thread gets the recorded one. */
static int ask_free(struct ledger *ledger, const struct job_thread *thread,
	const struct cpuset *within, struct cpuset *cpus)
{
	struct cpuset had;
	int r = read_mask(thread, &had);

	if (r < 0)
		return r;
	if (ledger_is_changed(ledger, thread->ledger)) {
		r = ask(thread->slot.tid, cpus);
		(void)ledger_restore(ledger, thread->ledger, within);
		return r;
	}
	ledger_set_changed(ledger, thread->ledger, true);
	r = ask(thread->slot.tid, cpus);
	give_back(ledger, thread, &had);
	ledger_set_changed(ledger, thread->ledger, false);
	return r;
}

static int reach_of(const struct cpuset *cpus, const struct cpuset *own)
{
	int count = cpuset_count(cpus);

	return count < cpuset_count(own) ? count : REACH_ALL;
}

int reach_of_confined(pid_t tid, const struct cpuset *own, int *reach)
{
	struct cpuset cpus = *own;
	int r = ask(tid, &cpus);

	*reach = reach_of(&cpus, own);
	return r;
}

int reach_of_free(struct ledger *ledger, const struct job_thread *thread, const struct cpuset *own,
	const struct cpuset *within, int *reach)
{
	struct cpuset cpus = *own;
	int r = ask_free(ledger, thread, within, &cpus);

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

static void look_at(struct process *process, const struct job_thread *thread, struct ledger *ledger,
	const struct cpuset *own, const struct cpuset *within)
{
	process->computes |= thread->assigned;
	if (process->known)
		return;
	process->cpus = *own;
	process->known = ask_free(ledger, thread, within, &process->cpus) == 0;
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
