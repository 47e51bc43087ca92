/* SPDX-License-Identifier: MIT */
/*
 * The daemon's policies on the simulated machine. This file does what the daemon's team does
 * (daemon/team), with what the kernel would have shown.
 */
#include "tools/sim/threads_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Tell the policy how fast its CPUs are, and which of them share a cache. Each is a core. Returns 0 or
 * -ENOMEM. */
static int describe_cpus(const struct threads_sim *sim, struct sim_pool *pool)
{
	struct policy_traits *traits = calloc(pool->m, sizeof *traits);
	double most = 0;

	if (traits == NULL)
		return -ENOMEM;
	for (uint32_t j = 0; j < sim->m; j++)
		most = fmax(most, sim->cpu[j].speed);
	for (uint32_t j = 0; j < pool->m; j++) {
		const struct sim_cpu *cpu = &sim->cpu[pool->cpu[j]];
		traits[j] = (struct policy_traits){
			.speed = (uint32_t)fmax(1, round(1000 * cpu->speed / most)),
			.core = (int32_t)j,
			.cache = cpu->cache};
	}
	policy_describe(&pool->policy, traits);
	free(traits);
	return 0;
}

int pool_policy_init(struct threads_sim *sim, struct sim_pool *pool)
{
	const struct threads_params *params = &sim->params;
	const struct policy_params policy = {.kind = params->kind,
		.period_ns = params->period_ns,
		.period_auto = params->period_auto,
		.jitter = params->jitter,
		.margin_ns = params->margin_ns,
		.always = params->always,
		.expected = pool->n,
		.by_work = params->by_work,
		.bells = params->told && params->period_auto && params->kind->fills_dry,
		.domain = 0,
		.domains = 1,
		.seed = params->seed * sim->pools + (uint64_t)(pool - sim->pool)};
	int32_t *number = calloc(pool->m, sizeof *number);
	int r = -ENOMEM;

	pool->sight = calloc(pool->n + 1, sizeof *pool->sight);
	if (number != NULL && pool->sight != NULL) {
		for (uint32_t j = 0; j < pool->m; j++)
			number[j] = (int32_t)pool->cpu[j];
		r = policy_init(&pool->policy, &policy, number, pool->m);
	}
	free(number);
	if (r == 0 && !params->untold)
		r = describe_cpus(sim, pool);
	if (r == 0)
		r = policy_reserve(&pool->policy, pool->n);
	/* All threads are there from the start, and known to compute. */
	for (uint32_t i = 0; i < pool->n && r == 0; i++)
		pool->sight[i] = (struct policy_sight){.tid = (int32_t)pool->thread[i] + 1,
			.rule = params->idle_auto ? POLICY_RULE_NONE : POLICY_RULE_COMPUTE,
			.assigned = true,
			.cpu = POLICY_NO_CPU};
	return r;
}

void pool_policy_deinit(struct sim_pool *pool)
{
	policy_deinit(&pool->policy);
	free(pool->sight);
	pool->sight = NULL;
}

/* Totals never decrease, whatever was hidden for however long. */
static void take(uint64_t *total, double now)
{
	if (now > (double)*total)
		*total = (uint64_t)now;
}

static void look(const struct threads_sim *sim, struct sim_pool *pool, uint32_t i)
{
	const struct sim_thread *thread = &sim->thread[pool->thread[i]];
	struct policy_sight *sight = &pool->sight[i];

	sight->news = POLICY_TIMES;
	take(&sight->run_ns, cpu_shown_run(sim, pool->thread[i]));
	take(&sight->wait_ns, cpu_shown_wait(sim, pool->thread[i]));
	take(&sight->slices, thread->switches);
	sight->work = sim->params.by_work ? (uint64_t)thread->done : sight->run_ns;
	uint32_t asked = i < pool->policy.n ? pool->policy.thread[i].look : 0;
	if (asked & POLICY_SLEEPS) {
		sight->news |= POLICY_SLEEPS;
		sight->sleeps = thread->sleeps;
	}
	if (sim->params.told) {
		double shown = cpu_shown_run(sim, pool->thread[i]);
		double hidden = thread->waiting ? 0 : thread->run - shown;
		sight->news |= POLICY_PHASES;
		sight->arrivals = thread->arrivals;
		sight->waits = thread->waiting;
		sight->yields = sim->params.barrier == THREADS_YIELD;
		sight->done_ns = (uint64_t)fmax(thread->useful - thread->begun - hidden, 0);
		take(&sight->useful_ns, fmax(thread->useful - hidden, thread->begun));
	}
	if (asked & POLICY_STATE) {
		sight->news |= POLICY_STATE;
		sight->runnable = cpu_runnable(sim, pool->thread[i]);
	}
}

static void carry_out(
	struct threads_sim *sim, struct sim_pool *pool, const struct policy_move *move)
{
	uint32_t index = pool->thread[move->thread];
	struct sim_thread *thread = &sim->thread[index];

	pool->sight[move->thread].cpu = move->to;
	thread->confined = move->to != POLICY_NO_CPU;
	if (!thread->confined)
		return;
	uint32_t to = pool->cpu[move->to];
	if (thread->cpu != to)
		cpu_move(sim, index, to);
	if (move->from != POLICY_NO_CPU)
		pool->sight[move->thread].moved_run_ns = (uint64_t)thread->left_run;
}

static void set_turns(
	const struct threads_sim *sim, struct sim_cpu *cpu, const struct policy_cpu *decided)
{
	cpu->tick = decided->tick && !sim->params.tickless;
	cpu->turn_at = decided->turn_ns > 0 ? (double)decided->turn_ns : INFINITY;
	cpu->turn_gap = decided->turn_gap_ns > 0 ? (double)decided->turn_gap_ns : INFINITY;
}

double pool_policy_step(struct threads_sim *sim, struct sim_pool *pool)
{
	struct policy_domain domain = {.threads = pool->n, .cpus = pool->m};
	const struct policy_observation observation = {.now_ns = (uint64_t)sim->now,
		.thread = pool->sight,
		.threads = pool->n,
		.cost_ns = sim->params.point_ns,
		.rung = pool->rung != NOBODY,
		.domain = &domain};

	for (uint32_t i = 0; i < pool->n; i++)
		look(sim, pool, i);
	bool balanced = pool->policy.regime == POLICY_BALANCE;
	const struct policy_decision *decision = policy_step(&pool->policy, &observation);
	pool->balanced += balanced ? (double)decision->elapsed_ns : 0;
	pool->regime_changes += decision->changed;
	for (size_t k = 0; k < decision->moves; k++)
		carry_out(sim, pool, &decision->move[k]);
	for (uint32_t j = 0; j < pool->m; j++)
		set_turns(sim, &sim->cpu[pool->cpu[j]], &pool->policy.cpu[j]);
	/* The kernel may spread the threads that are left to it now. */
	sim->unsettled |= decision->changed;
	return (double)decision->wait_ns;
}
