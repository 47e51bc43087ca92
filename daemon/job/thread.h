/* SPDX-License-Identifier: MIT */
/*
 * A thread of the job. The balancer's main thread makes it (job.c), gives it to a team, and gets it
 * back when the thread has ended. At any time one of the two owns it, and may use all fields.
 */
#ifndef JUGGLE_JOB_THREAD_H
#define JUGGLE_JOB_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/options.h"
#include "daemon/policy/policy.h"
#include "daemon/progress/told.h"
#include "daemon/sample/sampler.h"
#include "daemon/telemetry/telemetry.h"

struct job_thread {
	/* Constant, and for both to read, as are slot.pid and slot.tid. */
	uint64_t start_ticks;
	int ledger; /* the number of its entry */
	uint64_t met_ns;
	struct telemetry_thread *shown; /* NULL: telemetry was full */
	/* The owner's. */
	struct sampler_slot slot;
	int status_fd; /* of its status file; -1: not open */
	enum policy_rule rule; /* what --idle says of it */
	bool named; /* its name was read again, after the exec that may follow a fork */
	bool off_limits; /* the kernel no longer lets us move it */
	int reach; /* how many of juggle's own CPUs its cpuset leaves it; see reach.h */
	bool short_slice; /* by juggle */
	bool own_slice; /* it may not have a short one: it was given one of its own, or has none */
	bool outside; /* its cpuset keeps it from CPUs that juggle uses */
	/* What its runtime tells: */
	int32_t told_row; /* TOLD_NO_ROW: nothing */
	struct told_sight told; /* the most that was seen in this row; zeroed: nothing yet */
	/* It computes: it is on its way to the domain that was chosen for it, or was in a team that
	 * has ended. */
	bool assigned;
	struct job_thread *next; /* in a list that changes hands */
};

/* What --idle says of a thread with that name. */
enum policy_rule job_thread_rule(
	const struct job_thread *thread, const struct options *options, const char *comm);

/* How often it went to sleep, as proc_read_blocks(). The file stays open, unless few descriptors are left. */
int job_thread_read_sleeps(struct job_thread *thread, uint64_t *out);
/* Close it. */
void job_thread_close(struct job_thread *thread);

/* Publish its name, with characters replaced that could break a line of text, or JSON. Returns
 * whether another one was published before; false for a thread that isn't shown. */
bool job_thread_show_comm(struct job_thread *thread, const char *comm);

/* Publish flags of telemetry.h, besides "used". */
void job_thread_show_flags(const struct job_thread *thread, uint32_t flags);

/* Publish how much more its runtime has told by now_ns than at the first look. */
void job_thread_show_told(
	struct job_thread *thread, const struct told_sight *told, uint64_t now_ns);

/* Publish the CPU that it is confined to; -1: none. */
void job_thread_show_cpu(const struct job_thread *thread, int32_t os_cpu);

#endif
