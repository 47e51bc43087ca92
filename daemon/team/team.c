/* SPDX-License-Identifier: MIT */
#include "daemon/team/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include "daemon/act/act.h"
#include "daemon/base/clock.h"
#include "daemon/base/futex.h"
#include "daemon/policy/kind.h"
#include "daemon/trace/write_point.h"

/* Threads that come shorten a long interval to this: 20 looks a second, however many come. */
#define SOON_NS UINT64_C(50000000)

/* ---- Threads that come and go ---- */

/* A call to stop replaces any other, and nothing replaces it. */
static void call(struct team *team, uint32_t what)
{
	uint32_t before = atomic_load_explicit(&team->call, memory_order_relaxed);

	while (before < what && !atomic_compare_exchange_weak_explicit(&team->call, &before, what,
					memory_order_release, memory_order_relaxed))
		;
	futex_wake(&team->call);
}

void team_add(struct team *team, struct job_thread *threads)
{
	pthread_mutex_lock(&team->lock);
	while (threads != NULL) {
		struct job_thread *next = threads->next;
		threads->next = team->incoming;
		team->incoming = threads;
		threads = next;
	}
	pthread_mutex_unlock(&team->lock);
	call(team, TEAM_THREADS);
}

struct job_thread *team_take_ended(struct team *team)
{
	pthread_mutex_lock(&team->lock);
	struct job_thread *ended = team->ended;
	team->ended = NULL;
	pthread_mutex_unlock(&team->lock);
	return ended;
}

static void give_back(struct team *team, struct job_thread *thread)
{
	pthread_mutex_lock(&team->lock);
	thread->next = team->ended;
	team->ended = thread;
	pthread_mutex_unlock(&team->lock);
}

static int reserve(struct team *team, size_t rows)
{
	if (rows <= team->capacity)
		return 0;
	rows += rows / 2 + 16;
	void *thread = reallocarray(team->thread, rows, sizeof *team->thread);
	if (thread != NULL)
		team->thread = thread;
	void *sight = reallocarray(team->sight, rows, sizeof *team->sight);
	if (sight != NULL)
		team->sight = sight;
	void *slot = reallocarray(team->slot, rows, sizeof *team->slot);
	if (slot != NULL)
		team->slot = slot;
	void *told = reallocarray(team->told, rows, sizeof *team->told);
	if (told != NULL)
		team->told = told;
	void *ringer = reallocarray(team->ringer, rows, sizeof *team->ringer);
	if (ringer != NULL)
		team->ringer = ringer;
	if (thread == NULL || sight == NULL || slot == NULL || told == NULL || ringer == NULL ||
		policy_reserve(&team->policy, rows) < 0)
		return -ENOMEM;
	team->capacity = rows;
	return 0;
}

void team_collect(struct team *team)
{
	uint32_t threads = TEAM_THREADS;

	atomic_compare_exchange_strong_explicit(
		&team->call, &threads, TEAM_NO_CALL, memory_order_relaxed, memory_order_relaxed);
	pthread_mutex_lock(&team->lock);
	struct job_thread *list = team->incoming;
	team->incoming = NULL;
	pthread_mutex_unlock(&team->lock);
	while (list != NULL) {
		struct job_thread *thread = list;
		list = list->next;
		if (reserve(team, team->n + 1) < 0) { /* the thread runs on, unbalanced */
			give_back(team, thread);
			continue;
		}
		team->thread[team->n] = thread;
		team->sight[team->n++] = (struct policy_sight){.tid = thread->slot.tid,
			.rule = (uint8_t)thread->rule,
			.assigned = thread->assigned,
			.cpu = POLICY_NO_CPU};
		thread->assigned = false;
		team->told_collected++;
	}
}

/* Remove the rows of threads that have ended or were handed over. Backwards, since the last row
 * takes the place of a removed one. */
static void remove_rows(struct team *team)
{
	for (size_t i = team->n; i-- > 0;) {
		if (team->thread[i] != NULL && !team->policy.thread[i].ended)
			continue;
		if (team->thread[i] != NULL)
			give_back(team, team->thread[i]);
		policy_remove(&team->policy, i);
		team->n--;
		team->thread[i] = team->thread[team->n];
		team->sight[i] = team->sight[team->n];
	}
}

/* ---- The interval ---- */

static void step(struct team *team)
{
	struct exchange *exchange = team->context->exchange;
	bool members = team->policy.decision.members_next;
	struct policy_observation observation = {.now_ns = team_look(team),
		.thread = team->sight,
		.threads = team->n,
		.cost_ns = team->cost_ns,
		.domain = team->domain,
		.neighbours = team->neighbours,
		.others = team->others,
		.stolen = team->stolen,
		.ticked = team->ticked,
		.rung = team->rung};

	bool may = exchange_enter(exchange, members, team->domain);
	observation.may_hand_over = may;
	const struct policy_decision *decision = policy_step(&team->policy, &observation);
	team_hand_over(team, decision);
	exchange_leave(exchange, may, team->domain, decision->domain);
	team_carry_out(team, decision);
	team_hang_bell(team);
	team_tell(team, &observation, decision);
	remove_rows(team);
	if (team->watch != NULL && proc_watch_changed(team->watch))
		eventfd_write(team->context->kick_fd, 1);

	team->deadline_ns += decision->wait_ns;
	if (team->deadline_ns <= observation.now_ns) /* late: don't catch up */
		team->deadline_ns = observation.now_ns + decision->period_ns;
}

/* Returns false when the team is to end. */
static bool wait_for_deadline(struct team *team)
{
	uint64_t soon_ns = team->policy.last_ns + SOON_NS;

	team->rung = false;
	shun_sleep(&team->shun, team->deadline_ns);
	for (;;) {
		uint32_t call = atomic_load_explicit(&team->call, memory_order_acquire);
		uint64_t now_ns = clock_monotonic_ns();
		if (call == TEAM_STOP)
			return false;
		if (call == TEAM_THREADS && soon_ns < team->deadline_ns)
			team->deadline_ns = soon_ns > now_ns ? soon_ns : now_ns;
		if (now_ns >= team->deadline_ns) {
			team->rung = team->hung && team_rung(team);
			shun_wake(&team->shun, now_ns - team->deadline_ns, now_ns);
			return true;
		}
		bool hears = team->hung && now_ns >= team->deaf_ns;
		team->rung = hears && team_rung(team);
		if (team->rung) {
			team->deadline_ns = now_ns;
			shun_wake(&team->shun, 0, now_ns);
			return true;
		}
		uint64_t until_ns = team->deadline_ns;
		if (team->hung && !hears && team->deaf_ns < until_ns)
			until_ns = team->deaf_ns;
		if (hears)
			futex_wait_either(&team->call, call, &team->bell, until_ns);
		else
			futex_wait_until(&team->call, call, until_ns);
	}
}

static void *team_main(void *argument)
{
	struct team *team = argument;
	char name[16];

	snprintf(name, sizeof name, "juggle/%u", (unsigned)team->policy.params.domain);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1);
	/* It runs as soon as it wakes, whatever else runs on its CPU, and is not preempted before its
	 * decision. Works without, if less well. */
	(void)act_set_own_slice(ACT_SLICE_LEAST_NS);
	shun_init(&team->shun);
	while (wait_for_deadline(team)) {
		uint64_t before_ns = clock_thread_ns();
		step(team);
		team->cost_ns = clock_thread_ns() - before_ns;
		if (team->rung)
			team_pay_call(team, team->cost_ns, clock_monotonic_ns());
	}
	team_tell_end(team, clock_monotonic_ns());
	shun_deinit(&team->shun);
	return NULL;
}

/* ---- Beginning and end ---- */

static void free_memory(struct team *team)
{
	for (size_t j = 0; j < team->policy.m && team->ticker != NULL; j++)
		ticker_deinit(&team->ticker[j]);
	free(team->ticker);
	sampler_free(team->sampler);
	if (team->watch != NULL)
		proc_watch_deinit(team->watch);
	free(team->watch);
	policy_deinit(&team->policy);
	free(team->thread);
	free(team->sight);
	free(team->slot);
	free(team->told);
	free(team->ringer);
	free(team->domain);
	free(team->neighbours);
	free(team->stolen);
	free(team->ticked);
	pthread_mutex_destroy(&team->lock);
	free(team);
}

static int make_tickers(struct team *team)
{
	team->ticker = calloc(team->policy.m, sizeof *team->ticker);
	if (team->ticker == NULL)
		return -ENOMEM;
	for (size_t j = 0; j < team->policy.m; j++)
		ticker_init(&team->ticker[j], team->policy.cpu[j].os_cpu);
	return 0;
}

static int start_watch(struct team *team)
{
	team->watch = calloc(1, sizeof *team->watch);
	if (team->watch == NULL)
		return -ENOMEM;
	proc_watch_init(team->watch);
	return 0;
}

static int init_policy(struct team *team, const struct topology_cpu *cpu, size_t count)
{
	const struct options *options = team->context->options;
	uint64_t now_ns = clock_monotonic_ns();
	team->bell.word = told_bell(team->context->told, (uint32_t)cpu[0].domain);
	struct policy_params params = {.kind = options->policy,
		.period_ns = options->period_ns,
		.period_auto = options->period_auto,
		.jitter = options->jitter,
		.margin_ns = options->margin_ns,
		.always = options->always,
		.expected = options->threads,
		.bells = options->period_auto && options->policy->fills_dry &&
			 team->bell.word != NULL && futex_has_either(),
		.slices = act_default_slice() > 0,
		.tickers = options->policy->balance != NULL &&
			   (options->period_auto || options->policy->leaves_taken),
		.by_work = strcmp(sampler_progress_unit(team->sampler), "ns") != 0,
		.domain = (uint32_t)cpu[0].domain,
		.domains = (uint32_t)team->context->exchange->domains,
		.start_ns = team->context->telemetry->start_ns,
		.begin_ns = now_ns,
		.seed = now_ns};
	int32_t *os_cpu = calloc(count, sizeof *os_cpu);
	struct policy_traits *traits = calloc(count, sizeof *traits);
	int r = -ENOMEM;

	for (size_t j = 0; j < count && os_cpu != NULL && traits != NULL; j++) {
		os_cpu[j] = cpu[j].os_cpu;
		traits[j] = (struct policy_traits){.speed = topology_speed(&cpu[j]),
			.core = cpu[j].core,
			.cache = cpu[j].cache};
		r = 0;
	}
	if (r == 0)
		r = policy_init(&team->policy, &params, os_cpu, count);
	if (r == 0)
		policy_describe(&team->policy, traits);
	free(os_cpu);
	free(traits);
	if (r < 0)
		return r;
	team->deadline_ns = now_ns + options->period_ns;
	trace_team(team->context->trace, &team->policy);
	return 0;
}

int team_new(struct team **out, const struct team_context *context, const struct topology_cpu *cpu,
	size_t count)
{
	struct team *team = calloc(1, sizeof *team);

	if (team == NULL)
		return -ENOMEM;
	pthread_mutex_init(&team->lock, NULL);
	team->context = context;
	team->domain = calloc(context->exchange->domains, sizeof *team->domain);
	team->neighbours = calloc(count, sizeof *team->neighbours);
	team->stolen = calloc(count, sizeof *team->stolen);
	team->ticked = calloc(count, sizeof *team->ticked);
	int r = team->domain == NULL || team->neighbours == NULL || team->stolen == NULL ||
				team->ticked == NULL
			? -ENOMEM
			: sampler_new(&team->sampler, context->sampler);
	if (r == 0)
		r = init_policy(team, cpu, count);
	if (r == 0 && cpu[0].domain == 0)
		r = start_watch(team);
	if (r == 0 && team->policy.params.tickers)
		r = make_tickers(team);
	if (r == 0)
		r = -pthread_create(&team->runner, NULL, team_main, team);
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
	call(team, TEAM_STOP);
}

struct job_thread *team_free(struct team *team)
{
	if (team == NULL)
		return NULL;
	team_stop(team);
	pthread_join(team->runner, NULL);
	team_release_all(team);
	team_collect(team);
	struct job_thread *all = team_take_ended(team);
	for (size_t i = 0; i < team->n; i++) {
		struct job_thread *thread = team->thread[i];
		thread->assigned = i < team->policy.n ? team->policy.thread[i].computes
						      : team->sight[i].assigned;
		thread->next = all;
		all = thread;
	}
	free_memory(team);
	return all;
}
