/* SPDX-License-Identifier: MIT */
/* What persists from sample to sample of a job: the readers of its segments, and who is which
 * rank. */
#include "tools/live/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How often to look for other ranks that started with it, when there is no juggle to list them. */
#define LOOK_AGAIN_NS UINT64_C(1000000000)

static void member_deinit(struct live_member *member)
{
	progress_reader_close(member->reader);
}

/* The index of the first member whose pid is not smaller. */
static size_t place(const struct live_job *job, pid_t pid)
{
	size_t low = 0, high = job->members;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (job->member[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void open_member(struct live_job *job, struct live_member *member)
{
	progress_reader_close(member->reader);
	member->reader = NULL;
	member->error = progress_reader_open(member->pid, job->uid, false, &member->reader, NULL);
	if (member->error == -ENOENT)
		member->error = -ESRCH;
	int32_t published = member->reader == NULL ? 0 : progress_reader_info(member->reader)->rank;
	member->rank = live_rank_of(member->pid, published);
}

int live_job_watch(struct live_job *job, pid_t pid)
{
	size_t at = place(job, pid);

	if (at < job->members && job->member[at].pid == pid)
		return 0;
	struct live_member *grown = realloc(job->member, (job->members + 1) * sizeof *grown);
	if (grown == NULL)
		return -ENOMEM;
	job->member = grown;
	memmove(grown + at + 1, grown + at, (job->members - at) * sizeof *grown);
	grown[at] = (struct live_member){.pid = pid};
	job->members++;
	live_command(pid, grown[at].command, sizeof grown[at].command);
	open_member(job, &grown[at]);
	return 0;
}

static void drop(struct live_job *job, size_t at)
{
	member_deinit(&job->member[at]);
	job->members--;
	memmove(job->member + at, job->member + at + 1, (job->members - at) * sizeof *job->member);
}

/* Find the other ranks that started with this one. */
static int look_for_ranks(struct live_job *job)
{
	struct live_entry *entry = NULL;
	size_t n = 0;
	int error = live_list(&entry, &n);

	for (size_t i = 0; i < n && error == 0; i++)
		if (entry[i].kind == LIVE_PROGRESS && entry[i].state == LIVE_RUNS &&
			entry[i].uid == job->uid && entry[i].launcher_pid == job->parent)
			error = live_job_watch(job, entry[i].pid);
	free(entry);
	return error == -ENOMEM ? error : 0;
}

static bool is_among(pid_t pid, const pid_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == pid)
			return true;
	return false;
}

int live_job_update(struct live_job *job, const pid_t *pid, size_t n, uint64_t now_ns)
{
	int error = 0;

	for (size_t i = 0; i < n && error == 0; i++)
		error = live_job_watch(job, pid[i]);
	if (job->parent != 0 && now_ns - job->looked_ns >= LOOK_AGAIN_NS) {
		job->looked_ns = now_ns;
		error = look_for_ranks(job);
	}
	for (size_t i = job->members; i-- > 0;) {
		struct live_member *member = &job->member[i];
		/* A program may close its segment and create another. */
		if (member->reader == NULL || progress_reader_closed(member->reader))
			open_member(job, member);
		if (job->reader != NULL
				? !is_among(member->pid, pid, n)
				: member->error == -ESRCH || live_process_gone(member->pid, 0))
			drop(job, i);
	}
	return error;
}

int32_t live_job_rank(struct live_job *job, pid_t pid)
{
	size_t low = 0, high = job->ranks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (job->rank[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < job->ranks && job->rank[low].pid == pid) {
		job->rank[low].asked = true;
		return job->rank[low].rank;
	}
	struct live_rank_of *grown = realloc(job->rank, (job->ranks + 1) * sizeof *grown);
	if (grown == NULL)
		return -1;
	job->rank = grown;
	memmove(grown + low + 1, grown + low, (job->ranks - low) * sizeof *grown);
	grown[low] = (struct live_rank_of){.pid = pid, .rank = live_rank(pid), .asked = true};
	job->ranks++;
	return grown[low].rank;
}

void live_job_forget_ranks(struct live_job *job)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->ranks; i++) {
		if (!job->rank[i].asked)
			continue;
		job->rank[kept] = job->rank[i];
		job->rank[kept++].asked = false;
	}
	job->ranks = kept;
}

void live_close(struct live_job *job)
{
	if (job == NULL)
		return;
	for (size_t i = 0; i < job->members; i++)
		member_deinit(&job->member[i]);
	telemetry_reader_close(job->reader);
	free(job->member);
	free(job->rank);
	free(job);
}
