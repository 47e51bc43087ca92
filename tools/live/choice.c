/* SPDX-License-Identifier: MIT */
/*
 * Which job a process belongs to, and so which jobs there are. List, choose and open share this
 * rule. The ancestors of each process are read once, however many jobs there are.
 */
#include "tools/live/internal.h"

#include <stdlib.h>

/* juggle adopts processes of its job whose parent ended. A juggle that was attached adopts none. */
pid_t live_job_top(const struct live_entry *job)
{
	return job->attached ? job->job_pid : job->pid;
}

/* Only a job of the same user, so that nobody can claim another user's processes as part of his
 * job. And only one that is known to be a juggle, since anybody can create a file with such a
 * name. */
static const struct live_entry *job_with_top(
	const struct live_entry *entry, size_t n, uid_t uid, pid_t pid)
{
	for (size_t i = 0; i < n && entry[i].kind == LIVE_JOB; i++)
		if (entry[i].state == LIVE_RUNS && entry[i].uid == uid &&
			live_job_top(&entry[i]) == pid)
			return &entry[i];
	return NULL;
}

static void belong(struct live_entry *progress, const struct live_entry *entry, size_t n)
{
	pid_t above[LIVE_DEPTH];
	size_t depth = live_ancestors(progress->pid, above);

	for (size_t i = 0; i < depth; i++) {
		const struct live_entry *job = job_with_top(entry, n, progress->uid, above[i]);
		if (job != NULL) {
			progress->juggle_pid = job->pid;
			return;
		}
	}
	if (depth > 1 && live_rank(progress->pid) >= 0)
		progress->launcher_pid = above[1];
}

void live_belong(struct live_entry *entry, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (entry[i].kind == LIVE_PROGRESS &&
			(entry[i].state == LIVE_RUNS || entry[i].state == LIVE_STARTING))
			belong(&entry[i], entry, n);
}

bool live_is_choice(const struct live_entry *entry, size_t i)
{
	if (entry[i].state != LIVE_RUNS || entry[i].juggle_pid != 0)
		return false;
	for (size_t k = 0; k < i && entry[i].launcher_pid != 0; k++)
		if (entry[k].state == LIVE_RUNS && entry[k].uid == entry[i].uid &&
			entry[k].launcher_pid == entry[i].launcher_pid)
			return false;
	return true;
}
