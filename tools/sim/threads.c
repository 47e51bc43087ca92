/* SPDX-License-Identifier: MIT */
/* The events on the simulated machine, in order of time; see threads.h. */
#include "tools/sim/threads_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool needs_period(enum threads_balancer balancer)
{
	return balancer != THREADS_REACTIVE;
}

static bool valid_cpu(const struct threads_cpu *cpu, uint32_t domains)
{
	if (!(cpu->speed > 0) || !isfinite(cpu->speed) || cpu->domain >= domains)
		return false;
	for (size_t k = 0; k < cpu->loads; k++)
		if (!(cpu->load[k].share >= 0 && cpu->load[k].share <= 1) ||
			(k > 0 && cpu->load[k].from_ns < cpu->load[k - 1].from_ns))
			return false;
	return true;
}

static bool valid(const struct threads_params *params)
{
	if (params->threads == 0 || params->threads >= NOBODY || params->cpus == 0 ||
		params->cpus >= NOBODY || params->domains == 0 || params->domains > params->cpus ||
		params->phase_ns == 0 || params->phases == 0)
		return false;
	if (!(params->imbalance >= 0 && params->imbalance < 1) || !(params->heavier >= 0) ||
		!(params->jitter >= 0 && params->jitter < 1) ||
		!(params->remote >= 0 && isfinite(params->remote)) ||
		(params->balancer == THREADS_POLICY && params->kind == NULL))
		return false;
	if (needs_period(params->balancer) &&
		(double)params->point_ns >= (double)params->period_ns * (1 - params->jitter))
		return false;
	for (size_t j = 0; j < params->cpus; j++)
		if (!valid_cpu(&params->cpu[j], params->domains))
			return false;
	for (uint32_t d = 0; d < params->domains; d++) {
		size_t j = 0;
		while (j < params->cpus && params->cpu[j].domain != d)
			j++;
		if (j == params->cpus)
			return false;
	}
	return true;
}

/* CPUs that several threads, or one and other work, take turns on. */
static double shared_cpus(const struct threads_params *params)
{
	double shared =
		params->threads > params->cpus ? (double)(params->threads - params->cpus) : 0;

	for (size_t j = 0; j < params->cpus; j++)
		shared += params->cpu[j].loads > 0;
	return fmin(shared, (double)params->cpus);
}

/* At balancing points, in that time. A policy that decides takes twenty steps for each thread and CPU;
 * if it chooses its periods for itself, they are some ten times as long as the shortest. */
static double point_steps(const struct threads_params *params, double time_ns)
{
	double members = params->threads + (double)params->cpus,
	       period_ns = (double)params->period_ns;

	if (params->balancer == THREADS_POLICY && params->kind->balance != NULL) {
		members *= 20;
		if (params->period_auto)
			period_ns = params->kind->period_ns > 0 ? (double)params->kind->period_ns
								: 10 * period_ns;
	}
	return time_ns / period_ns * members;
}

double threads_steps(const struct threads_params *params)
{
	double n = params->threads, m = (double)params->cpus, crowd = 1 + n / m;
	double phases = (double)params->phases, time = (double)params->phase_ns * phases * crowd;
	double sum = phases * n * (m + crowd);

	if (needs_period(params->balancer))
		sum += point_steps(params, time);
	if (params->slice_ns > 0)
		sum += time / (double)params->slice_ns * shared_cpus(params) * (m + crowd);
	return sum;
}

static void refresh_all(struct threads_sim *sim)
{
	for (uint32_t j = 0; j < sim->m; j++)
		cpu_refresh(sim, j);
}

static void advance_all(struct threads_sim *sim)
{
	for (uint32_t j = 0; j < sim->m; j++)
		cpu_advance(sim, j, sim->now);
}

/* The barrier opens. A thread that did not share its CPU while waiting gets no credit for that. */
static void begin_phase(struct threads_sim *sim)
{
	for (uint32_t j = 0; j < sim->m; j++)
		sim->cpu[j].computing = 0;
	for (uint32_t i = 0; i < sim->n; i++) {
		struct sim_thread *thread = &sim->thread[i];
		struct sim_cpu *cpu = &sim->cpu[thread->cpu];
		thread->waiting = false;
		thread->left = sim->phase * jitter_next(&sim->work_jitter, sim->params.imbalance) *
			       (i == 0 ? 1 + sim->params.heavier : 1);
		if (sim->params.barrier != THREADS_SPIN && thread->turn < cpu->turn)
			thread->turn = cpu->turn;
		cpu->computing++;
	}
	sim->computing = sim->n;
	sim->unsettled = true;
	sim->pull = INFINITY;
	refresh_all(sim);
}

static void init_cpus(struct threads_sim *sim)
{
	for (uint32_t j = 0; j < sim->m; j++) {
		const struct threads_cpu *cpu = &sim->params.cpu[j];
		sim->cpu[j] = (struct sim_cpu){.speed = cpu->speed,
			.domain = cpu->domain,
			.cache = cpu->cache,
			.load = cpu->load,
			.loads = cpu->loads,
			.free = 1,
			.first = NOBODY,
			.running = NOBODY,
			.turn_at = INFINITY};
	}
}

static double next_stray(struct threads_sim *sim)
{
	double mean = (double)sim->params.stray_ns;

	return mean > 0 ? sim->now + mean * jitter_next(&sim->kernel_jitter, 1) : INFINITY;
}

int threads_new(struct threads_sim **out, const struct threads_params *params)
{
	*out = NULL;
	if (!valid(params))
		return -EINVAL;
	struct threads_sim *sim = calloc(1, sizeof *sim);
	if (sim == NULL)
		return -ENOMEM;
	double period = (double)(params->period_ns > 0 ? params->period_ns : params->phase_ns);
	sim->params = *params;
	sim->n = params->threads;
	sim->m = (uint32_t)params->cpus;
	sim->phase = (double)params->phase_ns;
	sim->epsilon = deal_epsilon(sim->n, sim->m, sim->phase, period);
	sim->period_jitter = jitter_begin(params->seed, 0);
	sim->work_jitter = jitter_begin(params->seed, 1);
	sim->kernel_jitter = jitter_begin(params->seed, 2);
	sim->thread = calloc(sim->n, sizeof *sim->thread);
	sim->cpu = calloc(sim->m, sizeof *sim->cpu);
	int r = sim->thread == NULL || sim->cpu == NULL ? -ENOMEM : 0;
	if (r == 0) {
		init_cpus(sim);
		r = balancer_init(sim);
	}
	if (r < 0) {
		threads_free(sim);
		return r;
	}
	begin_phase(sim);
	sim->unsettled = false;
	sim->stray = next_stray(sim);
	balancer_begin(sim);
	refresh_all(sim);
	*out = sim;
	return 0;
}

void threads_free(struct threads_sim *sim)
{
	if (sim == NULL)
		return;
	balancer_deinit(sim);
	free(sim->thread);
	free(sim->cpu);
	free(sim);
}

static void end_phase(struct threads_sim *sim)
{
	sim->phases++;
	advance_all(sim);
	if (sim->phases == sim->params.phases)
		sim->ended = true;
	else
		begin_phase(sim);
}

static void measure_lag(struct threads_sim *sim)
{
	double least = INFINITY, most = 0;

	for (uint32_t i = 0; i < sim->n; i++) {
		least = sim->thread[i].done < least ? sim->thread[i].done : least;
		most = sim->thread[i].done > most ? sim->thread[i].done : most;
	}
	sim->lag_sum += most - least;
	if (most - least > sim->lag)
		sim->lag = most - least;
}

static double next_point(const struct threads_sim *sim)
{
	double next = INFINITY;

	for (uint32_t p = 0; p < sim->pools; p++)
		next = fmin(next, sim->pool[p].point);
	return next;
}

/* Run the balancing points of all pools that are due. */
static void balance(struct threads_sim *sim)
{
	advance_all(sim);
	measure_lag(sim);
	sim->points++;
	balancer_points(sim);
	refresh_all(sim);
}

/* All threads that block at one moment are gone before others are moved. */
static void settle(struct threads_sim *sim)
{
	advance_all(sim);
	balancer_react(sim);
	sim->unsettled = false;
	refresh_all(sim);
}

/* The kernel acts by itself: what is due of a late reaction, and of its search for uneven CPUs. */
static void act_late(struct threads_sim *sim)
{
	if (sim->pull <= sim->now) {
		sim->pull = INFINITY;
		settle(sim);
	}
	if (sim->stray <= sim->now) {
		advance_all(sim);
		balancer_stray(sim);
		refresh_all(sim);
		sim->stray = next_stray(sim);
	}
}

static uint32_t earliest(const struct threads_sim *sim)
{
	uint32_t best = 0;

	for (uint32_t j = 1; j < sim->m; j++)
		if (sim->cpu[j].next < sim->cpu[best].next)
			best = j;
	return best;
}

static void step_cpu(struct threads_sim *sim, uint32_t cpu)
{
	uint32_t arrived = cpu_event(sim, cpu);

	sim->computing -= arrived;
	if (arrived > 0 && sim->params.barrier == THREADS_BLOCK) {
		double half = (double)sim->params.pull_ns / 2;
		if (half <= 0)
			sim->unsettled = true;
		else if (isinf(sim->pull))
			sim->pull = sim->now + half * jitter_next(&sim->kernel_jitter, 1);
	}
	if (arrived > 0 && sim->computing > 0 && sim->cpu[cpu].computing == 0)
		balancer_dry(sim, cpu);
	if (sim->computing > 0)
		return;
	/* Whoever comes last does not sleep. It may be another thread of this CPU: means are right. */
	if (sim->params.barrier == THREADS_BLOCK)
		sim->thread[sim->cpu[cpu].first].sleeps--;
	end_phase(sim);
}

bool threads_run(struct threads_sim *sim, uint64_t until_ns)
{
	double until = (double)until_ns;
	/* A point waits for events at the same moment. */
	double together = sim->epsilon * (1 + sim->n / sim->m);

	while (!sim->ended) {
		uint32_t cpu = earliest(sim);
		double next = sim->cpu[cpu].next;
		if (sim->unsettled && next > sim->now + together) {
			settle(sim);
			continue;
		}
		double point = next_point(sim), late = fmin(sim->pull, sim->stray);
		if (fmin(next, late) > until && point > until)
			break;
		if (next <= fmin(point, late) + together) {
			sim->now = fmax(next, sim->now);
			step_cpu(sim, cpu);
		} else if (late < point) {
			sim->now = fmax(late, sim->now);
			act_late(sim);
		} else {
			sim->now = fmax(point, sim->now);
			balance(sim);
		}
	}
	if (!sim->ended && until > sim->now)
		sim->now = until;
	advance_all(sim);
	return sim->ended;
}

double threads_done(const struct threads_sim *sim)
{
	double done = 0, all = (double)sim->params.phases * sim->phase * sim->n;

	for (uint32_t i = 0; i < sim->n; i++)
		done += sim->thread[i].done;
	return sim->ended || done > all ? 1 : done / all;
}

void threads_get(const struct threads_sim *sim, struct threads_result *result)
{
	double used = 0, balanced = 0;
	uint64_t regime_changes = 0;

	for (uint32_t j = 0; j < sim->m; j++)
		used += sim->cpu[j].used;
	for (uint32_t p = 0; p < sim->pools; p++) {
		balanced += sim->pool[p].balanced / sim->pools;
		regime_changes += sim->pool[p].regime_changes;
	}
	*result = (struct threads_result){.time_ns = (uint64_t)(sim->now + 0.5),
		.points = sim->points,
		.migrations = sim->migrations,
		.across = sim->across,
		.regime_changes = regime_changes,
		.balanced = sim->now > 0 ? balanced / sim->now : 0,
		.busy = sim->now > 0 ? used / (sim->now * sim->m) : 0,
		.lag_ns = sim->lag,
		.lag_mean_ns = sim->points > 0 ? sim->lag_sum / (double)sim->points : 0};
}

bool threads_look(const struct threads_sim *sim, uint32_t thread, struct threads_view *view)
{
	if (thread >= sim->n)
		return false;
	const struct sim_thread *it = &sim->thread[thread];
	*view = (struct threads_view){.cpu = (int32_t)it->cpu,
		.progress_ns = it->done,
		.migrations = it->migrations,
		.waiting = it->waiting};
	return true;
}
