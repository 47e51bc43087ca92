/* SPDX-License-Identifier: MIT */
/*
 * A thread of the job. The job's scanner makes it when it meets the thread, hands it to a team, and
 * gets it back when the thread has ended. At any time one of the two owns it, and touches what is not
 * marked otherwise.
 */
#ifndef JUGGLE_JOB_THREAD_H
#define JUGGLE_JOB_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/options.h"
#include "daemon/policy/policy.h"
#include "daemon/sample/sampler.h"
#include "daemon/telemetry/telemetry.h"

struct job_thread {
	/* Constant since it was met, for both to read; slot.pid and slot.tid, too. */
	uint64_t start_ticks;
	int ledger; /* its entry */
	uint64_t met_ns;
	struct telemetry_thread *shown; /* NULL: there was no slot for it */
	/* The owner's. */
	struct sampler_slot slot;
	enum policy_rule rule; /* what --idle says of it */
	bool named; /* its name was looked at again, after the exec that may follow a fork */
	bool off_limits; /* the kernel does not let us move it any more */
	bool assigned; /* on its way to a domain that was chosen for it */
	struct job_thread *next; /* in a list that changes hands */
};

/* What --idle says of a thread with that name. */
enum policy_rule job_thread_rule(
	const struct job_thread *thread, const struct options *options, const char *comm);

/* Show its name, with what could break a line of text, or JSON, replaced. */
void job_thread_show_comm(struct job_thread *thread, const char *comm);

/* Show whether it computes, or what else is known: flags of telemetry.h, beside "used". */
void job_thread_show_flags(const struct job_thread *thread, uint32_t flags);

/* Show the CPU that it is confined to; -1: none. */
void job_thread_show_cpu(const struct job_thread *thread, int32_t os_cpu);

#endif
