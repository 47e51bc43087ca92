// SPDX-License-Identifier: MIT
/*
 * The choice of a source of samples, and what is the same for all of them.
 *
 * Sources are tried in the order of the table, cheapest first. Only the advice that is given when
 * one fails depends on the source.
 */
#include "daemon/sample/sampler.h"

#include "daemon/sample/back_end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Descriptors that slots leave to the rest of the program: it opens files in /proc, and
 * shared memory, at every period. */
#define SPARE_FDS 64

struct sampler {
	const struct sample_back_end *back_end;
	void *state;
};

static const struct sample_back_end *const back_ends[] = {
	&sample_schedstat,
	&sample_taskstats,
#ifdef SAMPLE_PERF
	&sample_perf,
#endif
};
#define BACK_ENDS (sizeof(back_ends) / sizeof(back_ends[0]))

static const char *const names[] = {
	[SAMPLER_AUTO] = "auto",
	[SAMPLER_SCHEDSTAT] = "schedstat",
	[SAMPLER_TASKSTATS] = "taskstats",
	[SAMPLER_PERF] = "perf",
};
#define KINDS (sizeof(names) / sizeof(names[0]))

int sampler_new(struct sampler **out, enum sampler_kind kind)
{
	struct sampler *sampler = malloc(sizeof(*sampler));
	int first_error = 0;

	if (sampler == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < BACK_ENDS; i++) {
		const struct sample_back_end *back_end = back_ends[i];
		if (kind != SAMPLER_AUTO && kind != back_end->kind)
			continue;
		sampler->back_end = back_end;
		sampler->state = NULL;
		int error = back_end->open(&sampler->state);
		if (error == 0) {
			*out = sampler;
			return 0;
		}
		/* With auto, report the error of the first: that is the one to fix. */
		if (first_error == 0)
			first_error = error;
	}
	free(sampler);
	return first_error != 0 ? first_error : -ENOSYS;
}

void sampler_free(struct sampler *sampler)
{
	if (sampler == NULL)
		return;
	if (sampler->back_end->close != NULL)
		sampler->back_end->close(sampler->state);
	free(sampler);
}

enum sampler_kind sampler_kind(const struct sampler *sampler)
{
	return sampler->back_end->kind;
}

const char *sampler_progress_unit(const struct sampler *sampler)
{
	const struct sample_back_end *back_end = sampler->back_end;
	return back_end->progress_unit != NULL ? back_end->progress_unit(sampler->state) : "ns";
}

const char *sampler_kind_name(enum sampler_kind kind)
{
	return (size_t)kind < KINDS ? names[kind] : "unknown";
}

int sampler_kind_parse(const char *name, enum sampler_kind *out)
{
	for (size_t i = 0; i < KINDS; i++) {
		if (strcmp(name, names[i]) == 0) {
			*out = (enum sampler_kind)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *sampler_advice(enum sampler_kind kind, int error)
{
	switch (error) {
	case -EPERM:
		if (kind == SAMPLER_TASKSTATS)
			return "taskstats needs CAP_NET_ADMIN outside containers: use schedstat";
		if (kind == SAMPLER_PERF)
			return "lower kernel.perf_event_paranoid to 2, or use schedstat";
		return "check that /proc is not mounted with hidepid";
	case -ENOENT:
		return "this network namespace has no taskstats: use schedstat";
	case -ENOSYS:
		if (kind == SAMPLER_TASKSTATS)
			return "the kernel lacks CONFIG_TASK_DELAY_ACCT, or has it off: use "
			       "schedstat";
		if (kind == SAMPLER_PERF)
			return "built without perf, or the kernel has none: use schedstat";
		return "the kernel lacks CONFIG_SCHED_INFO, or /proc is not mounted";
	case -EMFILE:
	case -ENFILE:
		return "raise the limit on open files (ulimit -n)";
	case -ENOMEM:
		return "free some memory";
	case -ETIMEDOUT:
		return "the kernel did not answer in time: use schedstat";
	default:
		return "try another --sampler";
	}
}

int sampler_attach(struct sampler *sampler, struct sampler_slot *slot)
{
	int error = 0;

	*slot = (struct sampler_slot){.pid = slot->pid, .tid = slot->tid};
	for (size_t i = 0; i < SAMPLER_FDS; i++)
		slot->fd[i] = -1;
	if (sampler->back_end->attach != NULL)
		error = sampler->back_end->attach(sampler->state, slot);
	if (error == 0) {
		sampler_read(sampler, &slot, 1);
		error = slot->error;
	}
	if (error != 0)
		sampler_detach(sampler, slot);
	slot->error = error;
	return error;
}

void sampler_detach(struct sampler *sampler, struct sampler_slot *slot)
{
	(void)sampler;
	for (size_t i = 0; i < SAMPLER_FDS; i++) {
		if (slot->fd[i] >= 0)
			close(slot->fd[i]);
		slot->fd[i] = -1;
	}
}

void sampler_read(struct sampler *sampler, struct sampler_slot *const *slots, size_t n)
{
	sampler->back_end->read(sampler->state, slots, n);
}

int sample_store(struct sampler_slot *slot, const struct sample_counts *counts)
{
	if (counts->run_ns < slot->run_ns || counts->slices < slot->slices)
		return slot->error = -ESRCH;
	slot->run_ns = counts->run_ns;
	slot->slices = counts->slices;
	slot->progress = counts->run_ns;
	/* The kernel adds up wait times without a lock, so they alone may seem to decrease. */
	if (counts->wait_ns > slot->wait_ns)
		slot->wait_ns = counts->wait_ns;
	return slot->error = 0;
}

bool sampler_fd_is_scarce(int fd)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	rlim_t spare = limit.rlim_cur / 4 < SPARE_FDS ? limit.rlim_cur / 4 : SPARE_FDS;
	return (rlim_t)fd >= limit.rlim_cur - spare;
}

int sample_why_missing(pid_t pid, pid_t tid)
{
	if (syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM)
		return -EACCES;
	return -ESRCH;
}
