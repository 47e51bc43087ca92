/* SPDX-License-Identifier: MIT */
/*
 * Reading how much CPU time threads have used, from whichever source works here.
 *
 * One file a source behind one small interface. A slot is a thread that is read; a
 * sampler is the means to read it (and may own a socket), so each balancer thread has
 * a sampler of its own while slots pass between them. One sampler, and one slot, is used
 * by one thread at a time. Functions return 0 or a negative errno.
 */
#ifndef JUGGLE_SAMPLER_H
#define JUGGLE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sampler_kind {
	SAMPLER_AUTO, /* only in options: the best that works */
	SAMPLER_SCHEDSTAT, /* /proc/PID/task/TID/schedstat: needs no privilege */
	SAMPLER_TASKSTATS, /* generic netlink: needs CAP_NET_ADMIN */
	SAMPLER_PERF, /* perf_event_open: task-clock, or instructions */
};

struct sampler_slot {
	pid_t pid;
	pid_t tid;
	/* What the last read found: totals since the thread was born (progress of perf:
	 * since attach). For a thread that runs now, run_ns and wait_ns may be a tick old;
	 * only perf's progress is exact at that moment. No total ever goes back. */
	uint64_t run_ns; /* time on a CPU */
	uint64_t wait_ns; /* time runnable but waiting for a CPU */
	uint64_t slices; /* times it was put on a CPU */
	uint64_t progress; /* see sampler_progress_unit: run_ns, except of perf */
	int error; /* of the last read: 0, -ESRCH (thread ended), or another errno */
	int fd[2]; /* the source's own; -1 when unused */
};

struct sampler;

/* Open a source. SAMPLER_AUTO takes the cheapest exact one that works (schedstat,
 * else taskstats, else perf). Errors: -EPERM (taskstats without CAP_NET_ADMIN, perf
 * forbidden), -ENOENT (no taskstats in this network namespace), -ENOSYS (built without,
 * or a kernel without it), -ENOMEM, or what the system gave; of SAMPLER_AUTO the error of
 * schedstat. */
int sampler_new(struct sampler **out, enum sampler_kind kind);
/* Accepts NULL. */
void sampler_free(struct sampler *sampler);

/* Which source it is: never SAMPLER_AUTO. */
enum sampler_kind sampler_kind(const struct sampler *sampler);
/* What slot->progress counts: "ns", or "instructions" (perf, where the machine has the
 * counter and cores of one kind). Decided by sampler_new, the same for all slots. */
const char *sampler_progress_unit(const struct sampler *sampler);
/* "auto", "schedstat", "taskstats", "perf". */
const char *sampler_kind_name(enum sampler_kind kind);
/* Returns 0 or -EINVAL. */
int sampler_kind_parse(const char *name, enum sampler_kind *out);
/* What to do about an error of sampler_new, in one clause for an error message. */
const char *sampler_advice(enum sampler_kind kind, int error);

/* Begin to read slot->tid of slot->pid: sets the rest, totals included. Returns 0;
 * -ESRCH when the thread is gone; -EPERM or -EACCES when it may not be read. When few
 * descriptors are left (some are kept for the rest of the program) a thread is read
 * without one, at several times the cost; only perf cannot, and gives -EMFILE. */
int sampler_attach(struct sampler *sampler, struct sampler_slot *slot);
/* Closes what the slot holds; accepts a slot whose attach failed. */
void sampler_detach(struct sampler *sampler, struct sampler_slot *slot);

/* Read n slots in one go; sets each slot's error. On an error the totals stay as they
 * were. -ESRCH also when the tid now belongs to a younger thread that has used less CPU
 * time; callers that must know identify threads by their start time. Waits at most 20 ms
 * (-ETIMEDOUT, netlink only), never allocates. */
void sampler_read(struct sampler *sampler, struct sampler_slot *const *slots, size_t n);

#endif
