/* SPDX-License-Identifier: MIT */
/*
 * The inside of a team. Each file is one stage of an interval: look.c samples the threads,
 * daemon/policy decides, carry.c carries the decision out, tell.c publishes it. team.c runs them
 * in turn.
 */
#ifndef JUGGLE_TEAM_INTERNAL_H
#define JUGGLE_TEAM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/base/futex.h"
#include "daemon/proc/proc.h"
#include "daemon/team/shun.h"
#include "daemon/team/team.h"
#include "daemon/team/ticker.h"

enum team_call { TEAM_NO_CALL, TEAM_THREADS, TEAM_STOP };

/* How the time until the next interval is spent. */
struct team_way {
	enum policy_regime regime;
	enum policy_reason reason;
	enum policy_pace pace;
	bool short_slices;
	uint64_t period_ns; /* 0: nothing was decided yet */
};

struct team {
	/* Constant. */
	const struct team_context *context;
	pthread_t runner; /* the thread that balances */
	struct sampler *sampler;
	struct ticker *ticker; /* one for each CPU, or NULL */
	/* Notices births in intervals with swaps, when the newborn inherit one CPU of several. In the
	 * first team; NULL in the others. */
	struct proc_watch *watch;

	/* Others write these. */
	_Atomic uint32_t call; /* futex: enum team_call */
	pthread_mutex_t lock; /* of what follows */
	struct job_thread *incoming;
	struct job_thread *ended;

	/* The rest belongs to the team's thread, and to team_free() after it. Row i of the policy
	 * is thread[i]; sight[i] is what was sampled of it. */
	struct policy policy;
	struct job_thread **thread;
	struct policy_sight *sight;
	size_t n, capacity;
	struct sampler_slot **slot; /* scratch: capacity elements */
	struct policy_domain *domain; /* the counts of all domains before the step */
	struct told_thread *told; /* scratch: capacity elements */
	uint32_t told_changes; /* what told_changes() was when rows were last looked for ... */
	size_t told_collected; /* ... and threads that have come since: they may have rows by now */
	uint32_t *neighbours; /* by CPU: threads of older juggles */
	uint32_t others; /* threads of all other juggles on these CPUs */
	uint32_t *stolen; /* by CPU: what the hypervisor takes, in thousandths */
	uint32_t *ticked; /* by CPU: has its ticker run? */
	struct told_ringer *ringer; /* scratch: capacity elements */
	struct futex_shared bell; /* its word is NULL where there is none */
	bool hung; /* somebody may ring it */
	bool rung; /* why the interval has ended */
	uint64_t deaf_ns; /* until then, calls so far have their share of a CPU: see bell.c */
	uint64_t deadline_ns; /* of the next interval */
	struct shun shun;
	uint64_t verified_ns; /* when masks were last compared with what the kernel has */
	size_t verify_next, reach_next; /* the rows that are next, modulo their number */
	uint64_t cost_ns; /* CPU time of the last interval */
	struct team_way way;
	uint64_t short_slices_ns; /* time with those that telemetry does not show yet: under 1 ms */
	uint32_t shown_computing, shown_idle; /* this team's part of telemetry's counts */
};

/* At a member interval, take in the threads that the team was handed. */
void team_collect(struct team *team);

/* Sample what the last decision asked for, into sight[]. Returns the time of that. */
uint64_t team_look(struct team *team);

/* Hand the decision's threads over to other teams. */
void team_hand_over(struct team *team, const struct policy_decision *decision);
/* Carry out the decision's moves, set the tickers and the threads' time slices, and let the threads rest or not. */
void team_carry_out(struct team *team, const struct policy_decision *decision);
/* Have the job's threads ring when a CPU runs dry, if the decision asks for that. */
void team_hang_bell(struct team *team);
/* While they may: has somebody rung since the last call? */
bool team_rung(struct team *team);
/* A point that somebody rang for has cost that much CPU time, and ended now. */
void team_pay_call(struct team *team, uint64_t cost_ns, uint64_t now_ns);
/* At the end, restore the masks and time slices of all threads. */
void team_release_all(struct team *team);

/* Masks are given back cut down to these; NULL: as they were. */
const struct cpuset *team_within(const struct team *team);
/* Give a thread its mask back. */
void team_release(struct team *team, size_t i);

/* From time to time, at a member interval: find threads that are not where they were put, and put
 * them there again. */
void team_verify(struct team *team, uint64_t now_ns);
/* The kernel keeps a thread off one of our CPUs, or no longer does: have the main thread look. */
void team_report_refusal(struct team *team);

/* Publish the decision in telemetry, and write the interval into the trace. */
void team_tell(struct team *team, const struct policy_observation *observation,
	const struct policy_decision *decision);
/* At the end: publish how the time since the last interval was spent. */
void team_tell_end(struct team *team, uint64_t now_ns);

#endif
