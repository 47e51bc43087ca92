/* SPDX-License-Identifier: MIT */
/*
 * Where threads run on the simulated machine: pools of CPUs, how the kernel spreads threads, and
 * the ideal algorithm.
 */
#include "tools/sim/threads_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/policy/distribute.h"
#include "daemon/policy/dry.h"

#define CALL_NS 5e4 /* until a balancer that is called runs */

static void pool_deinit(struct sim_pool *pool)
{
	pool_policy_deinit(pool);
	free(pool->thread);
	free(pool->cpu);
	deal_deinit(&pool->deal);
	free(pool->progress);
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
	if (pool->thread == NULL || pool->cpu == NULL || pool->progress == NULL)
		return -ENOMEM;
	return deal_init(&pool->deal, pool->n, pool->m);
}

/* Assign each thread to a pool, one after the other, as at their births. */
static int choose_pools(struct threads_sim *sim)
{
	struct policy_domain *domain = calloc(sim->pools, sizeof *domain);

	if (domain == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < sim->pools; p++)
		domain[p].cpus = sim->pool[p].m;
	for (uint32_t i = 0; i < sim->n; i++) {
		size_t p = policy_pick_domain(domain, sim->pools);
		sim->thread[i].pool = (uint32_t)p;
		domain[p].threads++;
	}
	for (uint32_t p = 0; p < sim->pools; p++)
		sim->pool[p].n = domain[p].threads;
	free(domain);
	return 0;
}

static void place(struct threads_sim *sim, struct sim_pool *pool)
{
	bool ideal = sim->params.balancer == THREADS_IDEAL;

	if (ideal)
		deal_threads(&pool->deal, pool->progress, sim->phase, sim->epsilon);
	for (uint32_t i = 0; i < pool->n; i++) {
		uint32_t cpu = pool->cpu[ideal ? pool->deal.cpu[i] : i % pool->m];
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
	for (uint32_t p = 0; p < sim->pools && r == 0; p++) {
		place(sim, &sim->pool[p]);
		if (sim->params.balancer == THREADS_POLICY)
			r = pool_policy_init(sim, &sim->pool[p]);
	}
	return r;
}

/* ---- The kernel ---- */

/* The last thread on its CPU that is not at the barrier and that the kernel may move. Any will do:
 * to a kernel, all are equal. */
static uint32_t movable(const struct threads_sim *sim, uint32_t cpu)
{
	uint32_t last = NOBODY;

	for (uint32_t i = sim->cpu[cpu].first; i != NOBODY; i = sim->thread[i].next)
		if (!sim->thread[i].waiting && !sim->thread[i].confined)
			last = i;
	return last;
}

/* Move one thread from the CPU with the most computing threads to the one with the fewest. Returns
 * false when they differ by one or less. */
static bool even_out(struct threads_sim *sim, const struct sim_pool *pool)
{
	uint32_t most = NOBODY, least = pool->cpu[0];

	for (uint32_t j = 0; j < pool->m; j++) {
		uint32_t cpu = pool->cpu[j], count = sim->cpu[cpu].computing;
		if (count > (most == NOBODY ? 0 : sim->cpu[most].computing) &&
			movable(sim, cpu) != NOBODY)
			most = cpu;
		if (count < sim->cpu[least].computing)
			least = cpu;
	}
	if (most == NOBODY || sim->cpu[most].computing <= sim->cpu[least].computing + 1)
		return false;
	cpu_move(sim, movable(sim, most), least);
	return true;
}

void balancer_react(struct threads_sim *sim)
{
	for (uint32_t p = 0; p < sim->pools && sim->params.balancer != THREADS_IDEAL; p++)
		while (sim->pool[p].n > 0 && even_out(sim, &sim->pool[p]))
			;
}

/* The first thread on its CPU that waits for it, and that the kernel may move. */
static uint32_t queued(const struct threads_sim *sim, uint32_t cpu)
{
	uint32_t i = sim->cpu[cpu].first;

	while (i != NOBODY &&
		(sim->cpu[cpu].running == i || sim->thread[i].confined || !cpu_runnable(sim, i)))
		i = sim->thread[i].next;
	return i;
}

/* Other work is a thread, too. */
static uint32_t count_runnable(const struct threads_sim *sim, uint32_t cpu)
{
	uint32_t count = sim->cpu[cpu].free < 1;

	for (uint32_t i = sim->cpu[cpu].first; i != NOBODY; i = sim->thread[i].next)
		count += cpu_runnable(sim, i);
	return count;
}

void balancer_stray(struct threads_sim *sim)
{
	for (uint32_t p = 0; p < sim->pools && sim->params.balancer != THREADS_IDEAL; p++) {
		const struct sim_pool *pool = &sim->pool[p];
		uint32_t from = NOBODY, to = NOBODY, most = 0, least = UINT32_MAX;
		for (uint32_t j = 0; j < pool->m; j++) {
			uint32_t cpu = pool->cpu[j], count = count_runnable(sim, cpu);
			if (count > most && queued(sim, cpu) != NOBODY) {
				from = cpu;
				most = count;
			}
			if (count < least) {
				to = cpu;
				least = count;
			}
		}
		if (from != NOBODY && most > least)
			cpu_move(sim, queued(sim, from), to);
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

/* ---- Balancing points ---- */

/* Periods are counted from the start as far as possible, so that sums don't drift. */
static double next_ideal_point(struct threads_sim *sim)
{
	double period = (double)sim->params.period_ns;

	if (sim->params.jitter > 0)
		sim->ideal_point += period * jitter_next(&sim->period_jitter, sim->params.jitter);
	else
		sim->ideal_point = period * (double)(sim->points + 1);
	return sim->ideal_point;
}

void balancer_begin(struct threads_sim *sim)
{
	bool ideal = sim->params.balancer == THREADS_IDEAL;
	double point = ideal ? next_ideal_point(sim) : INFINITY;

	for (uint32_t p = 0; p < sim->pools; p++) {
		struct sim_pool *pool = &sim->pool[p];
		bool policy = pool->n > 0 && sim->params.balancer == THREADS_POLICY;
		pool->rung = NOBODY;
		pool->point = policy ? pool_policy_step(sim, pool) : point;
	}
}

void balancer_points(struct threads_sim *sim)
{
	bool ideal = sim->params.balancer == THREADS_IDEAL;
	double next = ideal ? next_ideal_point(sim) : 0;

	for (uint32_t p = 0; p < sim->pools; p++) {
		struct sim_pool *pool = &sim->pool[p];
		if (pool->point > sim->now)
			continue;
		if (ideal && pool->n > 0)
			deal(sim, pool);
		uint32_t cpu = pool->rung == NOBODY ? pool->cpu[0] : pool->rung;
		double from = pool->rung == NOBODY ? pool->point : sim->now;
		pool->point = ideal ? next : from + pool_policy_step(sim, pool);
		pool->rung = NOBODY;
		sim->cpu[cpu].stolen_until = sim->now + (double)sim->params.point_ns;
	}
}

/* As libphases does (libprogress/phases/bell.c). */
void balancer_dry(struct threads_sim *sim, uint32_t cpu)
{
	struct sim_pool *pool = &sim->pool[sim->params.joint ? 0 : sim->cpu[cpu].domain];
	bool crowded = false;

	if (sim->params.balancer != THREADS_POLICY || !pool->policy.decision.bell ||
		sim->cpu[cpu].first == NOBODY || pool->point <= sim->now + CALL_NS)
		return;
	for (uint32_t j = 0; j < pool->m; j++) {
		const struct sim_cpu *other = &sim->cpu[pool->cpu[j]];
		crowded |= other->computing > 0 &&
			   other->computing + policy_is_shared(&pool->policy, j) > 1;
	}
	if (!crowded)
		return;
	pool->point = sim->now + CALL_NS;
	pool->rung = cpu;
}
