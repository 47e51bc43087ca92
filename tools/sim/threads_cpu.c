/* SPDX-License-Identifier: MIT */
/*
 * How threads share a CPU of the simulated machine: fairly, in slices or in infinitely fine ones,
 * and what the kernel shows of it.
 */
#include "tools/sim/threads_internal.h"

#include <math.h>

#define YIELDS_PER_NS 1e-4 /* how often a thread that yields to others is put on its CPU */
#define FINE_NS 3e6 /* slices that stand for infinitely fine ones when counting switches */
#define TICK_NS 1e6 /* slices of threads that take turns more often */

/* A thread that sleeps at the barrier takes no part; one that yields there does only among its
 * like. */
static bool takes_part(
	const struct threads_sim *sim, const struct sim_cpu *cpu, const struct sim_thread *thread)
{
	if (!thread->waiting)
		return true;
	return sim->params.barrier == THREADS_SPIN ||
	       (sim->params.barrier == THREADS_YIELD && cpu->computing == 0);
}

bool cpu_runnable(const struct threads_sim *sim, uint32_t thread)
{
	return !sim->thread[thread].waiting || sim->params.barrier != THREADS_BLOCK;
}

static double rate(const struct sim_cpu *cpu)
{
	return cpu->now < cpu->stolen_until ? 0 : cpu->free;
}

static double speed_of(
	const struct threads_sim *sim, const struct sim_cpu *cpu, const struct sim_thread *thread)
{
	return cpu->domain == thread->home ? cpu->speed : cpu->speed / (1 + sim->params.remote);
}

/* CPU time needed until the barrier. */
static double need(
	const struct threads_sim *sim, const struct sim_cpu *cpu, const struct sim_thread *thread)
{
	return thread->debt + thread->left / speed_of(sim, cpu, thread);
}

static uint32_t count_parts(const struct threads_sim *sim, const struct sim_cpu *cpu)
{
	uint32_t count = 0;

	for (uint32_t i = cpu->first; i != NOBODY; i = sim->thread[i].next)
		count += takes_part(sim, cpu, &sim->thread[i]);
	return count;
}

/* Do threads run in slices, one at a time? Those that only yield take turns at once, however long a
 * slice is. */
static bool in_slices(const struct threads_sim *sim, const struct sim_cpu *cpu)
{
	return sim->params.slice_ns > 0 &&
	       (sim->params.barrier != THREADS_YIELD || cpu->computing > 0);
}

static void give(struct threads_sim *sim, struct sim_cpu *cpu, struct sim_thread *thread, double ns)
{
	double paid = thread->debt < ns ? thread->debt : ns;

	thread->run += ns;
	thread->turn += ns;
	if (thread->waiting)
		return;
	thread->useful += ns;
	double work = (ns - paid) * speed_of(sim, cpu, thread);
	thread->debt -= paid;
	thread->left -= work;
	thread->done += work;
	cpu->used += ns - paid;
}

/* Remember how far the CPU's threads are, for threads that join later: nobody else knows once the
 * last one has left. */
static void keep_turn(const struct threads_sim *sim, struct sim_cpu *cpu)
{
	double least = INFINITY;

	for (uint32_t i = cpu->first; i != NOBODY; i = sim->thread[i].next)
		if (takes_part(sim, cpu, &sim->thread[i]) && sim->thread[i].turn < least)
			least = sim->thread[i].turn;
	if (isfinite(least) && least > cpu->turn)
		cpu->turn = least;
}

static double slice(const struct threads_sim *sim, const struct sim_cpu *cpu)
{
	double ns = (double)sim->params.slice_ns;

	return cpu->tick && ns > TICK_NS ? TICK_NS : ns;
}

/* How often a thread was put on the CPU meanwhile, besides what switch_to() counts: by yielding to
 * others there, or in turns that are too short to simulate. */
static double switches(const struct threads_sim *sim, const struct sim_cpu *cpu,
	const struct sim_thread *thread, uint32_t parts, double elapsed)
{
	bool others = cpu->first != NOBODY && sim->thread[cpu->first].next != NOBODY;

	if (thread->waiting && sim->params.barrier == THREADS_YIELD && others)
		return elapsed * YIELDS_PER_NS;
	return parts > 1 && cpu->running == NOBODY ? elapsed / FINE_NS / parts : 0;
}

void cpu_advance(struct threads_sim *sim, uint32_t index, double to)
{
	struct sim_cpu *cpu = &sim->cpu[index];
	double elapsed = to - cpu->now;

	if (elapsed <= 0)
		return;
	double time = elapsed * rate(cpu);
	uint32_t parts = cpu->running == NOBODY ? count_parts(sim, cpu) : 1;
	for (uint32_t i = cpu->first; i != NOBODY; i = sim->thread[i].next) {
		struct sim_thread *thread = &sim->thread[i];
		bool gets =
			cpu->running == NOBODY ? takes_part(sim, cpu, thread) : cpu->running == i;
		double part = gets ? time / parts : 0;
		thread->switches += switches(sim, cpu, thread, parts, elapsed);
		if (gets)
			give(sim, cpu, thread, part);
		if (cpu_runnable(sim, i))
			thread->wait += elapsed - part;
	}
	cpu->now = to;
	keep_turn(sim, cpu);
}

/* The thread that runs next: the one that has had the least so far. */
static uint32_t pick(const struct threads_sim *sim, const struct sim_cpu *cpu, uint32_t *parts)
{
	uint32_t best = NOBODY;

	*parts = 0;
	for (uint32_t i = cpu->first; i != NOBODY; i = sim->thread[i].next) {
		if (!takes_part(sim, cpu, &sim->thread[i]))
			continue;
		++*parts;
		if (best == NOBODY || sim->thread[i].turn < sim->thread[best].turn)
			best = i;
	}
	return best;
}

static void switch_to(struct threads_sim *sim, struct sim_cpu *cpu, uint32_t to)
{
	if (cpu->running == to)
		return;
	if (cpu->running != NOBODY)
		sim->thread[cpu->running].wait_shown = sim->thread[cpu->running].wait;
	if (to != NOBODY) {
		sim->thread[to].wait_shown = sim->thread[to].wait;
		sim->thread[to].switches++;
	}
	cpu->running = to;
	cpu->since = cpu->now;
	cpu->slice_end = cpu->now + slice(sim, cpu);
}

/* When the first of the running threads reaches the barrier. */
static double next_arrival(const struct threads_sim *sim, const struct sim_cpu *cpu, uint32_t parts)
{
	double least = INFINITY, speed = rate(cpu);

	if (cpu->computing == 0 || speed <= 0)
		return INFINITY;
	if (cpu->running != NOBODY)
		return sim->thread[cpu->running].waiting
			       ? INFINITY
			       : cpu->now + need(sim, cpu, &sim->thread[cpu->running]) / speed;
	for (uint32_t i = cpu->first; i != NOBODY; i = sim->thread[i].next) {
		const struct sim_thread *thread = &sim->thread[i];
		if (!thread->waiting && need(sim, cpu, thread) < least)
			least = need(sim, cpu, thread);
	}
	return cpu->now + least * parts / speed;
}

void cpu_refresh(struct threads_sim *sim, uint32_t index)
{
	struct sim_cpu *cpu = &sim->cpu[index];
	uint32_t parts, best = pick(sim, cpu, &parts), running = cpu->running;

	if (parts < 2) {
		switch_to(sim, cpu, best);
	} else if (!in_slices(sim, cpu)) {
		switch_to(sim, cpu, NOBODY);
	} else if (running == NOBODY || !takes_part(sim, cpu, &sim->thread[running]) ||
		   cpu->now >= fmin(cpu->slice_end, cpu->turn_at) - sim->epsilon) {
		switch_to(sim, cpu, best);
		cpu->slice_end = cpu->now + slice(sim, cpu);
	}
	while (cpu->now >= cpu->turn_at - sim->epsilon)
		cpu->turn_at += cpu->turn_gap;
	cpu->next = next_arrival(sim, cpu, parts);
	if (parts > 1 && in_slices(sim, cpu))
		cpu->next = fmin(cpu->next, fmin(cpu->slice_end, cpu->turn_at));
	if (cpu->stolen_until > cpu->now && cpu->stolen_until < cpu->next)
		cpu->next = cpu->stolen_until;
	if (cpu->load_at < cpu->loads && (double)cpu->load[cpu->load_at].from_ns < cpu->next)
		cpu->next = (double)cpu->load[cpu->load_at].from_ns;
}

uint32_t cpu_event(struct threads_sim *sim, uint32_t index)
{
	struct sim_cpu *cpu = &sim->cpu[index];
	uint32_t arrived = 0;
	/* What rounding of the time leaves over. */
	double close = sim->epsilon + 1e-15 * cpu->next;

	cpu_advance(sim, index, cpu->next);
	while (cpu->load_at < cpu->loads && (double)cpu->load[cpu->load_at].from_ns <= cpu->now)
		cpu->free = 1 - cpu->load[cpu->load_at++].share;
	for (uint32_t i = cpu->first; i != NOBODY; i = sim->thread[i].next) {
		struct sim_thread *thread = &sim->thread[i];
		if (thread->waiting || need(sim, cpu, thread) > close)
			continue;
		thread->done += thread->left;
		thread->left = thread->debt = 0;
		thread->waiting = true;
		thread->arrivals++;
		thread->begun = thread->useful;
		thread->sleeps += sim->params.barrier == THREADS_BLOCK;
		arrived++;
	}
	cpu->computing -= arrived;
	cpu_refresh(sim, index);
	return arrived;
}

void cpu_add(struct threads_sim *sim, uint32_t index, uint32_t thread)
{
	struct sim_cpu *cpu = &sim->cpu[index];
	uint32_t *at = &cpu->first;

	while (*at != NOBODY)
		at = &sim->thread[*at].next;
	*at = thread;
	sim->thread[thread].next = NOBODY;
	sim->thread[thread].cpu = index;
	sim->thread[thread].turn = cpu->turn;
	cpu->computing += !sim->thread[thread].waiting;
}

void cpu_move(struct threads_sim *sim, uint32_t index, uint32_t to)
{
	struct sim_thread *thread = &sim->thread[index];
	struct sim_cpu *from = &sim->cpu[thread->cpu];
	uint32_t *at = &from->first;

	while (*at != index)
		at = &sim->thread[*at].next;
	*at = thread->next;
	from->computing -= !thread->waiting;
	if (from->running == index)
		from->running = NOBODY;
	thread->left_run = thread->run;
	thread->wait_shown = thread->wait;
	thread->debt += (double)sim->params.migration_ns;
	if (from->cache != sim->cpu[to].cache) {
		thread->debt += (double)sim->params.cache_ns;
		sim->across++;
	}
	thread->migrations++;
	sim->migrations++;
	cpu_add(sim, to, index);
}

double cpu_shown_run(const struct threads_sim *sim, uint32_t index)
{
	const struct sim_thread *thread = &sim->thread[index];
	const struct sim_cpu *cpu = &sim->cpu[thread->cpu];
	double tick = (double)sim->params.tick_ns;

	if (tick <= 0 || cpu->running != index)
		return thread->run;
	double last = floor(cpu->now / tick) * tick;
	double hidden = (cpu->now - (last > cpu->since ? last : cpu->since)) * rate(cpu);
	return hidden < thread->run ? thread->run - hidden : 0;
}

double cpu_shown_wait(const struct threads_sim *sim, uint32_t index)
{
	const struct sim_thread *thread = &sim->thread[index];
	const struct sim_cpu *cpu = &sim->cpu[thread->cpu];
	bool hidden = sim->params.tick_ns > 0 && cpu->running != NOBODY && cpu->running != index;

	return hidden ? thread->wait_shown : thread->wait;
}
