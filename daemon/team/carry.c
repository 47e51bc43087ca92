/* SPDX-License-Identifier: MIT */
/*
 * Carrying out a decision. Where each thread really is afterwards becomes part of the next
 * observation.
 */
#include "daemon/team/internal.h"

#include <errno.h>
#include <sched.h>

#include "daemon/act/act.h"
#include "libprogress/phases/phases.h"

/* Half the tick with HZ=250. Shorter ones help short phases more, and cost more. */
#define TICK_NS 2000000

/* Confine a thread to a CPU. Returns whether that worked. */
static bool pin(struct team *team, const struct policy_move *move)
{
	struct job_thread *thread = team->thread[move->thread];
	int r = act_pin(thread->slot.tid, team->policy.cpu[move->to].os_cpu);

	if (r == -EINVAL) /* the CPU is offline, or not in the thread's cpuset */
		team_report_refusal(team);
	else if (r == -EPERM) /* the thread is another user's now: leave it alone */
		thread->off_limits = true;
	if (r == 0)
		team->sight[move->thread].cpu = move->to;
	return r == 0;
}

static void lengthen(struct team *team, struct job_thread *thread)
{
	ledger_lengthen(team->context->ledger, thread->ledger);
	thread->short_slice = false;
}

const struct cpuset *team_within(const struct team *team)
{
	const struct options *options = team->context->options;

	return options->cpus_given ? &options->cpus : NULL;
}

void team_release(struct team *team, size_t i)
{
	(void)ledger_restore(team->context->ledger, team->thread[i]->ledger, team_within(team));
	team->sight[i].cpu = POLICY_NO_CPU;
}

void team_release_all(struct team *team)
{
	for (size_t i = 0; i < team->n; i++) {
		if (team->sight[i].cpu != POLICY_NO_CPU)
			team_release(team, i);
		if (team->thread[i]->short_slice)
			lengthen(team, team->thread[i]);
	}
}

static void count_migration(struct team *team, const struct job_thread *thread)
{
	telemetry_add(&team->context->telemetry->migrations, 1);
	if (thread->shown != NULL)
		telemetry_add(&thread->shown->migrations, 1);
}

/* Moves from one CPU to another. Those onto the CPU that we run on come last, as they may preempt
 * us. */
static void migrate(struct team *team, const struct policy_decision *decision)
{
	size_t count = 0, moved = 0;
	int here = sched_getcpu();

	for (int last = 0; last <= 1; last++)
		for (size_t k = 0; k < decision->moves; k++) {
			const struct policy_move *move = &decision->move[k];
			if (move->from == POLICY_NO_CPU || move->to == POLICY_NO_CPU ||
				(team->policy.cpu[move->to].os_cpu == here) != last)
				continue;
			if (!pin(team, move)) /* the next sample shows a thread that is gone */
				continue;
			struct job_thread *thread = team->thread[move->thread];
			count_migration(team, thread);
			team->slot[count++] = &thread->slot;
		}
	/* A move brings the times of a thread up to date: until now it ran on the old CPU. */
	sampler_read(team->sampler, team->slot, count);
	for (size_t k = 0; k < decision->moves && moved < count; k++) {
		const struct policy_move *move = &decision->move[k];
		if (move->from == POLICY_NO_CPU || move->to == POLICY_NO_CPU ||
			team->sight[move->thread].cpu != move->to)
			continue;
		team->sight[move->thread].moved_run_ns = team->thread[move->thread]->slot.run_ns;
		moved++;
	}
}

void team_hand_over(struct team *team, const struct policy_decision *decision)
{
	for (size_t k = 0; k < decision->handovers; k++) {
		const struct policy_handover *handover = &decision->handover[k];
		struct job_thread *thread = team->thread[handover->thread];
		team->thread[handover->thread] = NULL;
		thread->assigned = true;
		thread->next = NULL;
		team_add(team->context->exchange->team[handover->domain], thread);
	}
}

static void set_ticker(struct ticker *ticker, const struct policy_cpu *cpu)
{
	if (cpu->tick)
		ticker_run(ticker, TICK_NS);
	else
		ticker_run_at(ticker, cpu->turn_ns, cpu->turn_gap_ns);
}

static void shorten(struct team *team, struct job_thread *thread, uint64_t *default_ns)
{
	if (*default_ns == 0)
		*default_ns = act_default_slice();
	thread->short_slice =
		ledger_shorten(team->context->ledger, thread->ledger, *default_ns) == 0;
	thread->own_slice = !thread->short_slice;
}

/* Threads that don't compute have inherited a short slice at most. */
static void set_slices(struct team *team, bool short_slices)
{
	uint64_t default_ns = 0; /* changes with the number of CPUs that are online */

	for (size_t i = 0; i < team->n; i++) {
		struct job_thread *thread = team->thread[i];
		if (thread == NULL) /* handed over */
			continue;
		bool wanted = short_slices && team->policy.thread[i].computes;
		if (wanted && !thread->short_slice && !thread->own_slice && !thread->off_limits)
			shorten(team, thread, &default_ns);
		else if (!wanted && thread->short_slice)
			lengthen(team, thread);
	}
}

static void let_rest(const struct team *team, enum policy_rest rest)
{
	static const uint8_t resting[] = {
		[POLICY_RESTS] = PHASES_RESTS, [POLICY_RESTS_MORE] = PHASES_RESTS_MORE};

	for (size_t i = 0; i < team->n; i++)
		if (team->thread[i] != NULL)
			told_let_rest(
				team->context->told, team->thread[i]->told_row, resting[rest]);
}

/* The ledger comes first, as children inherit the one CPU from the pin on. */
static void pin_first(struct team *team, const struct policy_move *move)
{
	struct ledger *ledger = team->context->ledger;
	int entry = team->thread[move->thread]->ledger;
	bool changed = ledger_is_changed(ledger, entry);

	ledger_confined(ledger, entry);
	if (!pin(team, move))
		ledger_set_changed(ledger, entry, changed);
}

void team_carry_out(struct team *team, const struct policy_decision *decision)
{
	bool between_cpus = false;

	for (size_t k = 0; k < decision->moves; k++) {
		const struct policy_move *move = &decision->move[k];
		if (move->to == POLICY_NO_CPU) {
			team_release(team, move->thread);
		} else if (move->from == POLICY_NO_CPU) {
			pin_first(team, move);
		} else {
			between_cpus = true;
		}
	}
	if (between_cpus)
		migrate(team, decision);
	set_slices(team, decision->short_slices);
	if (decision->members)
		let_rest(team, decision->rest);
	for (size_t j = 0; j < team->policy.m; j++)
		if (team->policy.cpu[j].taken)
			shun_taken(&team->shun, team->policy.cpu[j].os_cpu, team->policy.last_ns);
	for (size_t j = 0; j < team->policy.m && team->ticker != NULL; j++)
		set_ticker(&team->ticker[j], &team->policy.cpu[j]);
}
