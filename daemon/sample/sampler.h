/* SPDX-License-Identifier: MIT */
/*
 * Reading how much CPU time threads have used, from whichever source works here: a file per source,
 * behind one small interface.
 *
 * A slot is a thread that is sampled. A sampler is the means to read it, and may own a socket. Each
 * thread of the balancer has its own sampler, while slots pass between them. Only one thread at a
 * time may use a sampler or a slot. Functions return 0 or a negative errno.
 */
#ifndef JUGGLE_SAMPLER_H
#define JUGGLE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sampler_kind {
	SAMPLER_AUTO, /* only in options: the best that works */
	SAMPLER_SCHEDSTAT, /* /proc/PID/task/TID/schedstat: needs no privilege */
	SAMPLER_TASKSTATS, /* generic netlink: needs CAP_NET_ADMIN */
	SAMPLER_PERF, /* perf_event_open: task-clock, or instructions */
};

#define SAMPLER_FDS 5 /* schedstat, and perf events of up to four kinds of cores */

struct sampler_slot {
	pid_t pid;
	pid_t tid;
	/* What the last read found: totals since the thread was born (with perf, progress since
	 * attach). For a thread that runs now, run_ns and wait_ns may be a tick old; only perf's
	 * progress is exact. Totals never decrease. */
	uint64_t run_ns; /* time on a CPU */
	uint64_t wait_ns; /* time runnable but waiting for a CPU */
	uint64_t slices; /* times it was put on a CPU */
	uint64_t progress; /* see sampler_progress_unit(); equals run_ns, except with perf */
	int error; /* of the last read: 0, -ESRCH (the thread has ended), or another errno */
	int fd[SAMPLER_FDS]; /* of the source; -1: unused */
};

struct sampler;

/* Open a source. SAMPLER_AUTO takes the cheapest exact one that works (schedstat, else taskstats,
 * else perf). Errors: -EPERM (taskstats without CAP_NET_ADMIN, perf forbidden), -ENOENT (no
 * taskstats in this network namespace), -ENOSYS (not in this build, or not in this kernel),
 * -ENOMEM, or another error of the system. SAMPLER_AUTO returns the error of schedstat. */
int sampler_new(struct sampler **out, enum sampler_kind kind);
/* Accepts NULL. */
void sampler_free(struct sampler *sampler);

/* Which source it is: never SAMPLER_AUTO. */
enum sampler_kind sampler_kind(const struct sampler *sampler);
/* The unit of slot->progress: "ns", or "instructions" (perf, on a machine that has the counter on
 * all its cores). sampler_new() decides it, for all slots. */
const char *sampler_progress_unit(const struct sampler *sampler);
/* "auto", "schedstat", "taskstats", "perf". */
const char *sampler_kind_name(enum sampler_kind kind);
/* Returns 0 or -EINVAL. */
int sampler_kind_parse(const char *name, enum sampler_kind *out);
/* A clause for an error message: what to do about an error of sampler_new(). */
const char *sampler_advice(enum sampler_kind kind, int error);

/* Begin to sample thread slot->tid of process slot->pid, and set all other fields. Returns 0;
 * -ESRCH when the thread is gone; -EPERM or -EACCES when we may not read it. When few descriptors
 * are left (some are kept for the rest of the program), a thread is read without one, at several
 * times the cost; perf can't do that, and returns -EMFILE. */
int sampler_attach(struct sampler *sampler, struct sampler_slot *slot);
/* Closes the slot's descriptors. Accepts a slot whose attach failed. */
void sampler_detach(struct sampler *sampler, struct sampler_slot *slot);

/* Read n slots at once, and set the error of each. After an error the totals are unchanged. The
 * error is -ESRCH also when the tid now belongs to a younger thread that has used less CPU time; to
 * be certain, check the thread's start time. Waits at most 20 ms (-ETIMEDOUT, netlink only), and
 * never allocates. */
void sampler_read(struct sampler *sampler, struct sampler_slot *const *slots, size_t n);

/* Is fd so near the limit that the rest of the program could run out of descriptors? Then
 * files of threads are opened for each read, and closed again. */
bool sampler_fd_is_scarce(int fd);

#endif
