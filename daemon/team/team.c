/* SPDX-License-Identifier: MIT */
#include "daemon/base/clock.h"
#include "daemon/team/internal.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "daemon/base/futex.h"
#include "daemon/proc/proc.h"

/* Balancers ask for the shortest slice that the kernel gives: then they run at once when
 * they wake, whatever runs on their CPU, and finish their decision undisturbed. */
#define BALANCER_SLICE_NS 100000
/* A quarter of the tick of kernels with HZ=250, and as much as those with HZ=1000 have. */
#define TICK_NS 1000000

static void signal_balancer(struct balancer *balancer)
{
	atomic_fetch_add_explicit(&balancer->signal, 1, memory_order_release);
	futex_wake(&balancer->signal);
}

/* Whether a thread is for this balancer to sample: with one balancer a CPU those placed
 * there, since their times are exact while the balancer runs in their place. */
static bool is_mine(const struct balancer *balancer, size_t i)
{
	const struct team *team = balancer->team;

	if (team->balancers == 1)
		return true;
	if (team->thread[i].cpu != POLICY_NO_CPU)
		return (uint32_t)team->thread[i].cpu == balancer->index;
	return i % team->balancers == balancer->index;
}

static void sample(struct balancer *balancer)
{
	struct team *team = balancer->team;
	size_t count = 0;

	for (size_t i = 0; i < team->active; i++)
		if (is_mine(balancer, i))
			balancer->slot[count++] = &team->worker[i]->slot;
	sampler_read(balancer->sampler, balancer->slot, count);
}

/* Carry out the moves of the last balancing point away from this balancer's CPU: threads
 * there are queued behind the balancer, and so the cheapest to move. A lone balancer does all,
 * those onto the CPU that it runs on last, because such a move may well preempt it. */
static void push(struct balancer *balancer)
{
	struct team *team = balancer->team;
	int here = team->balancers == 1 ? sched_getcpu() : -1;
	size_t moved = 0;

	for (int last = 0; last <= 1; last++)
		for (size_t k = 0; k < team->moves; k++) {
			const struct policy_move *move = &team->move[k];
			struct worker *worker = team->worker[move->thread];
			int os_cpu = team->cpu[move->to].os_cpu;
			if (team->balancers > 1 && (uint32_t)move->from != balancer->index)
				continue;
			if ((os_cpu == here) != last)
				continue;
			int r = act_pin(worker->slot.tid, os_cpu);
			if (r == -EINVAL) /* the CPU may be gone: look at once */
				eventfd_write(team->context->kick_fd, 1);
			if (r < 0) /* a thread that is gone shows in the next sample */
				continue;
			worker->migrations++;
			telemetry_add(&team->context->telemetry->migrations, 1);
			if (team->balancers > 1)
				continue;
			worker->left_cpu = move->from;
			balancer->slot[moved++] = &worker->slot;
		}
	static_assert(offsetof(struct worker, slot) == 0, "a worker's slot tells the worker");
	/* A move brings a thread's times up to date: what it ran until now was on the old CPU. A
	 * balancer on each CPU has done that already, by waking there to sample. */
	sampler_read(balancer->sampler, balancer->slot, moved);
	for (size_t k = 0; k < moved; k++) {
		struct worker *worker = (struct worker *)balancer->slot[k];
		worker->left_run_ns = worker->slot.run_ns;
	}
}

/* Sleep until the next balancing point is due, carrying out moves when told to.
 * Returns false when the team ends. */
static bool wait_for_next(struct balancer *balancer)
{
	struct team *team = balancer->team;

	for (;;) {
		uint32_t seen = atomic_load_explicit(&balancer->signal, memory_order_acquire);
		if (atomic_load_explicit(&team->stop, memory_order_acquire))
			return false;
		if (atomic_exchange_explicit(&balancer->work, false, memory_order_acquire))
			push(balancer);
		uint64_t now = clock_monotonic_ns();
		uint64_t until;
		if (atomic_load_explicit(&team->done, memory_order_acquire) == balancer->cycle) {
			uint64_t deadline =
				atomic_load_explicit(&team->deadline_ns, memory_order_relaxed);
			if (now >= deadline)
				return true;
			until = deadline;
		} else {
			/* Not all have arrived yet. */
			until = now + team_period_ns(team);
		}
		futex_wait_until(&balancer->signal, seen, until);
	}
}

/* The leader is done: everyone may carry out moves. They are told before `done` is set,
 * so that nobody goes on to the next balancing point with moves of this one undone. */
static void hand_out_moves(struct balancer *leader)
{
	struct team *team = leader->team;

	for (size_t k = 0; k < team->moves; k++) {
		int32_t from = team->balancers > 1 ? team->move[k].from : 0;
		atomic_store_explicit(&team->balancer[from].work, true, memory_order_release);
	}
	atomic_store_explicit(&team->done, leader->cycle, memory_order_release);
	for (size_t k = 0; k < team->moves && team->balancers > 1; k++) {
		struct balancer *other = &team->balancer[team->move[k].from];
		if (other != leader && atomic_load_explicit(&other->work, memory_order_relaxed))
			signal_balancer(other);
	}
}

static void set_up_balancer(struct balancer *balancer)
{
	struct team *team = balancer->team;
	char name[16];

	snprintf(name, sizeof name, "juggle/%u.%u", (unsigned)team->domain & 0xff,
		balancer->index & 0xfff);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1);
	(void)act_set_own_slice(BALANCER_SLICE_NS); /* at the worst, without */
	if (team->balancers > 1)
		(void)act_pin(0, team->cpu[balancer->index].os_cpu);
}

static void *balancer_main(void *argument)
{
	struct balancer *balancer = argument;
	struct team *team = balancer->team;

	set_up_balancer(balancer);
	while (wait_for_next(balancer)) {
		uint64_t before = clock_thread_ns();
		sample(balancer);
		balancer->cycle++;
		if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 ==
			team->balancers) {
			atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
			lead(team, balancer);
			hand_out_moves(balancer);
		}
		atomic_fetch_add_explicit(
			&team->cost_ns, clock_thread_ns() - before, memory_order_relaxed);
	}
	return NULL;
}

uint64_t team_period_ns(const struct team *team)
{
	return atomic_load_explicit(&team->period_ns, memory_order_relaxed);
}

void team_add(struct team *team, struct worker *workers)
{
	pthread_mutex_lock(&team->lock);
	while (workers != NULL) {
		struct worker *next = workers->next;
		workers->next = team->incoming;
		team->incoming = workers;
		workers = next;
	}
	pthread_mutex_unlock(&team->lock);
}

struct worker *team_take_ended(struct team *team)
{
	pthread_mutex_lock(&team->lock);
	struct worker *ended = team->ended;
	team->ended = NULL;
	pthread_mutex_unlock(&team->lock);
	return ended;
}

static void free_memory(struct team *team)
{
	for (uint32_t i = 0; i < team->balancers && team->balancer != NULL; i++) {
		sampler_free(team->balancer[i].sampler);
		free(team->balancer[i].slot);
	}
	for (size_t j = 0; j < team->m && team->ticker != NULL; j++)
		ticker_deinit(&team->ticker[j]);
	free(team->ticker);
	free(team->balancer);
	free(team->cpu);
	free(team->order);
	free(team->worker);
	free(team->thread);
	free(team->move);
	if (team->watch != NULL)
		proc_watch_deinit(team->watch);
	free(team->watch);
	pthread_mutex_destroy(&team->lock);
	free(team);
}

static int start_tickers(struct team *team)
{
	team->ticker = calloc(team->m, sizeof *team->ticker);
	if (team->ticker == NULL)
		return -ENOMEM;
	for (size_t j = 0; j < team->m; j++) {
		int r = ticker_init(&team->ticker[j], team->cpu[j].os_cpu, TICK_NS);
		if (r < 0)
			return r;
	}
	return 0;
}

static int start_balancers(struct team *team)
{
	for (uint32_t i = 0; i < team->balancers; i++) {
		struct balancer *balancer = &team->balancer[i];
		int r = sampler_new(&balancer->sampler, team->context->sampler);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < team->balancers; i++) {
		int r = pthread_create(
			&team->balancer[i].thread, NULL, balancer_main, &team->balancer[i]);
		if (r != 0) {
			team_stop(team);
			while (i-- > 0)
				pthread_join(team->balancer[i].thread, NULL);
			return -r;
		}
	}
	return 0;
}

int team_new(struct team **out, const struct team_context *context, const struct topology_cpu *cpu,
	size_t count)
{
	const struct options *options = context->options;
	struct team *team = calloc(1, sizeof *team);

	if (team == NULL)
		return -ENOMEM;
	pthread_mutex_init(&team->lock, NULL);
	team->context = context;
	team->m = count;
	team->domain = (size_t)cpu[0].domain;
	team->balancers = options->balancer_per_cpu ? (uint32_t)count : 1;
	team->cpu = calloc(count, sizeof *team->cpu);
	team->order = calloc(2 * count, sizeof *team->order);
	team->balancer = calloc(team->balancers, sizeof *team->balancer);
	if (team->domain == 0)
		team->watch = calloc(1, sizeof *team->watch);
	if (team->cpu == NULL || team->order == NULL || team->balancer == NULL) {
		free_memory(team);
		return -ENOMEM;
	}
	if (team->watch != NULL)
		proc_watch_init(team->watch);
	for (size_t i = 0; i < count; i++)
		team->cpu[i] = (struct policy_cpu){.os_cpu = cpu[i].os_cpu};
	for (uint32_t i = 0; i < team->balancers; i++) {
		team->balancer[i].team = team;
		team->balancer[i].index = i;
	}
	team->regime = POLICY_ASIDE;
	policy_regime_init(&team->chooser, options->always);
	team->last_ns = clock_monotonic_ns();
	team->random = (unsigned)team->last_ns;
	atomic_store(&team->period_ns, options->period_ns);
	atomic_store(&team->deadline_ns, team->last_ns + options->period_ns);
	int r = options->period_auto && options->policy == POLICY_NAME_JUGGLE ? start_tickers(team)
									      : 0;
	if (r == 0)
		r = start_balancers(team);
	if (r < 0) {
		free_memory(team);
		return r;
	}
	*out = team;
	return 0;
}

void team_stop(struct team *team)
{
	if (team == NULL)
		return;
	atomic_store_explicit(&team->stop, true, memory_order_release);
	for (uint32_t i = 0; i < team->balancers; i++)
		signal_balancer(&team->balancer[i]);
}

struct worker *team_free(struct team *team)
{
	struct worker *all;

	if (team == NULL)
		return NULL;
	team_stop(team);
	for (uint32_t i = 0; i < team->balancers; i++)
		pthread_join(team->balancer[i].thread, NULL);
	lead_release_all(team);
	lead_collect(team);
	all = team_take_ended(team);
	for (size_t i = 0; i < team->n; i++) {
		team->worker[i]->next = all;
		all = team->worker[i];
	}
	free_memory(team);
	return all;
}
