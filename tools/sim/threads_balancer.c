/* SPDX-License-Identifier: MIT */
/*
 * Who decides where threads run on the simulated machine. For `juggle` what the leader of a team does
 * at a balancing point (daemon/lead.c) is done here with what the kernel would have shown.
 */
#include "tools/sim/threads_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void pool_deinit(struct sim_pool *pool)
{
	free(pool->thread);
	free(pool->cpu);
	deal_deinit(&pool->deal);
	free(pool->progress);
	free(pool->policy_thread);
	free(pool->policy_cpu);
	free(pool->move);
	free(pool->order);
	free(pool->seen);
}

void balancer_deinit(struct threads_sim *sim)
{
	for (uint32_t p = 0; sim->pool != NULL && p < sim->pools; p++)
		pool_deinit(&sim->pool[p]);
	free(sim->pool);
	sim->pool = NULL;
}

static int pool_init(struct sim_pool *pool)
{
	size_t n = pool->n + 1, m = pool->m + 1;

	pool->thread = calloc(n, sizeof *pool->thread);
	pool->cpu = calloc(m, sizeof *pool->cpu);
	pool->progress = calloc(n, sizeof *pool->progress);
	pool->policy_thread = calloc(n, sizeof *pool->policy_thread);
	pool->policy_cpu = calloc(m, sizeof *pool->policy_cpu);
	pool->move = calloc(n, sizeof *pool->move);
	pool->order = calloc(2 * m, sizeof *pool->order);
	pool->seen = calloc(n, sizeof *pool->seen);
	if (pool->thread == NULL || pool->cpu == NULL || pool->progress == NULL ||
		pool->policy_thread == NULL || pool->policy_cpu == NULL || pool->move == NULL ||
		pool->order == NULL || pool->seen == NULL)
		return -ENOMEM;
	return deal_init(&pool->deal, pool->n, pool->m);
}

/* Which pool each thread belongs to, one after the other, as when they are born. */
static int choose_pools(struct threads_sim *sim)
{
	uint32_t *count = calloc(2 * (size_t)sim->pools, sizeof *count);

	if (count == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < sim->pools; p++)
		count[sim->pools + p] = sim->pool[p].m;
	for (uint32_t i = 0; i < sim->n; i++) {
		size_t p = policy_pick_domain(count, count + sim->pools, sim->pools);
		sim->thread[i].pool = (uint32_t)p;
		count[p]++;
	}
	for (uint32_t p = 0; p < sim->pools; p++)
		sim->pool[p].n = count[p];
	free(count);
	return 0;
}

static void place(struct threads_sim *sim, struct sim_pool *pool)
{
	if (sim->params.balancer == THREADS_IDEAL) {
		deal_threads(&pool->deal, pool->progress, sim->phase, sim->epsilon);
		for (uint32_t i = 0; i < pool->n; i++)
			pool->policy_thread[i].cpu = (int32_t)pool->deal.cpu[i];
	} else {
		for (uint32_t i = 0; i < pool->n; i++)
			pool->policy_thread[i].cpu = POLICY_NO_CPU;
		policy_place(pool->policy_thread, pool->n, pool->policy_cpu, pool->m, pool->move);
	}
	for (uint32_t i = 0; i < pool->n; i++) {
		uint32_t cpu = pool->cpu[pool->policy_thread[i].cpu];
		sim->thread[pool->thread[i]].home = sim->cpu[cpu].domain;
		cpu_add(sim, cpu, pool->thread[i]);
	}
}

int balancer_init(struct threads_sim *sim)
{
	sim->pools = sim->params.joint ? 1 : sim->params.domains;
	sim->pool = calloc(sim->pools, sizeof *sim->pool);
	if (sim->pool == NULL)
		return -ENOMEM;
	for (uint32_t j = 0; j < sim->m; j++) {
		struct sim_pool *pool = &sim->pool[sim->params.joint ? 0 : sim->cpu[j].domain];
		sim->cpu[j].place = pool->m++;
	}
	int r = choose_pools(sim);
	for (uint32_t p = 0; p < sim->pools && r == 0; p++)
		r = pool_init(&sim->pool[p]);
	if (r < 0)
		return r;
	for (uint32_t j = 0; j < sim->m; j++) {
		struct sim_pool *pool = &sim->pool[sim->params.joint ? 0 : sim->cpu[j].domain];
		pool->cpu[sim->cpu[j].place] = j;
	}
	for (uint32_t p = 0, n = 0; p < sim->pools; p++, n = 0)
		for (uint32_t i = 0; i < sim->n; i++)
			if (sim->thread[i].pool == p)
				sim->pool[p].thread[n++] = i;
	for (uint32_t p = 0; p < sim->pools; p++)
		place(sim, &sim->pool[p]);
	return 0;
}

/* ---- Reactive ---- */

/* Of those not at the barrier the last on its CPU, which is anybody: all are equal to a kernel. */
static uint32_t last_computing(const struct threads_sim *sim, uint32_t cpu)
{
	uint32_t last = NOBODY;

	for (uint32_t i = sim->cpu[cpu].first; i != NOBODY; i = sim->thread[i].next)
		if (!sim->thread[i].waiting)
			last = i;
	return last;
}

void balancer_react(struct threads_sim *sim)
{
	for (uint32_t p = 0; p < sim->pools; p++) {
		const struct sim_pool *pool = &sim->pool[p];
		for (;;) {
			uint32_t most = pool->cpu[0], least = pool->cpu[0];
			for (uint32_t j = 1; j < pool->m; j++) {
				uint32_t cpu = pool->cpu[j];
				if (sim->cpu[cpu].computing > sim->cpu[most].computing)
					most = cpu;
				if (sim->cpu[cpu].computing < sim->cpu[least].computing)
					least = cpu;
			}
			if (sim->cpu[most].computing <= sim->cpu[least].computing + 1)
				break;
			cpu_move(sim, last_computing(sim, most), least);
		}
	}
}

/* ---- Ideal ---- */

static void deal(struct threads_sim *sim, struct sim_pool *pool)
{
	for (uint32_t i = 0; i < pool->n; i++) {
		const struct sim_thread *thread = &sim->thread[pool->thread[i]];
		pool->progress[i] = thread->waiting ? sim->phase : sim->phase - thread->left;
	}
	deal_threads(&pool->deal, pool->progress, sim->phase, sim->epsilon);
	for (uint32_t i = 0; i < pool->n; i++) {
		uint32_t to = pool->cpu[pool->deal.cpu[i]];
		if (sim->thread[pool->thread[i]].cpu != to)
			cpu_move(sim, pool->thread[i], to);
	}
}

/* ---- Juggle ---- */

/* As look() of daemon/lead.c. */
static void look(const struct threads_sim *sim, struct sim_pool *pool, uint32_t i)
{
	uint32_t index = pool->thread[i];
	const struct sim_thread *thread = &sim->thread[index];
	struct policy_thread *policy = &pool->policy_thread[i];
	struct sim_seen *seen = &pool->seen[i];
	uint64_t run_ns = (uint64_t)cpu_shown_run(sim, index);
	uint64_t wait_ns = (uint64_t)cpu_shown_wait(sim, index);
	uint64_t left_run_ns = (uint64_t)thread->left_run;

	run_ns = run_ns > seen->run_ns ? run_ns : seen->run_ns;
	wait_ns = wait_ns > seen->wait_ns ? wait_ns : seen->wait_ns;
	policy->run_ns = policy->gain_ns = run_ns - seen->run_ns;
	policy->wait_ns = wait_ns - seen->wait_ns;
	policy->left_ns = 0;
	if (left_run_ns > seen->run_ns) {
		policy->left_ns = left_run_ns - seen->run_ns;
		policy->left_cpu = (int32_t)sim->cpu[thread->left_cpu].place;
	}
	if (sim->params.by_work)
		policy->gain_ns = (uint64_t)(thread->done - seen->done);
	*seen = (struct sim_seen){.run_ns = run_ns, .wait_ns = wait_ns, .done = thread->done};
}

/* As scale_instructions() of daemon/gain.c: work as time at the mean rate. */
static void scale_work(struct sim_pool *pool)
{
	double run = 0, gain = 0;

	for (uint32_t i = 0; i < pool->n; i++) {
		run += (double)pool->policy_thread[i].run_ns;
		gain += (double)pool->policy_thread[i].gain_ns;
	}
	for (uint32_t i = 0; i < pool->n && gain > 0; i++) {
		struct policy_thread *thread = &pool->policy_thread[i];
		thread->gain_ns = (uint64_t)((double)thread->gain_ns * run / gain);
	}
}

static void juggle(struct threads_sim *sim, struct sim_pool *pool)
{
	struct policy_juggle_params params = policy_juggle_defaults(sim->params.margin_ns);

	for (uint32_t i = 0; i < pool->n; i++)
		look(sim, pool, i);
	if (sim->params.by_work)
		scale_work(pool);
	for (uint32_t i = 0; i < pool->n; i++)
		pool->policy_thread[i].progress_ns += (int64_t)pool->policy_thread[i].gain_ns;
	size_t moves = policy_juggle(&params, (uint64_t)(sim->now - sim->period_from),
		pool->policy_thread, pool->n, pool->policy_cpu, pool->m, pool->order, pool->move);
	for (size_t k = 0; k < moves; k++)
		cpu_move(sim, pool->thread[pool->move[k].thread], pool->cpu[pool->move[k].to]);
}

void balancer_point(struct threads_sim *sim)
{
	for (uint32_t p = 0; p < sim->pools; p++) {
		struct sim_pool *pool = &sim->pool[p];
		if (pool->n == 0)
			continue;
		if (sim->params.balancer == THREADS_IDEAL)
			deal(sim, pool);
		else
			juggle(sim, pool);
		sim->cpu[pool->cpu[0]].stolen_until = sim->now + (double)sim->params.point_ns;
	}
}
