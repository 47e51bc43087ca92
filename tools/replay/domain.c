/* SPDX-License-Identifier: MIT */
/* One domain of a trace; see domain.h. */
#include "tools/replay/domain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_ROW SIZE_MAX

/* ---- Beginning and end ---- */

int replay_domain_init(struct replay_domain *domain, const struct trace_file *trace,
	const struct trace_team *team, const struct policy_params *params)
{
	int32_t *os_cpu = calloc(team->cpus + 1, sizeof(*os_cpu));
	struct policy_traits *traits = calloc(team->cpus + 1, sizeof(*traits));
	size_t m = 0;
	int r = 0;

	*domain = (struct replay_domain){.trace = trace,
		.team = team,
		.cpu = calloc(team->cpus + 1, sizeof(*domain->cpu)),
		.load = calloc(team->domains, sizeof(*domain->load)),
		.neighbours = calloc(team->cpus + 1, sizeof(*domain->neighbours)),
		.stolen = calloc(team->cpus + 1, sizeof(*domain->stolen)),
		.ticked = calloc(team->cpus + 1, sizeof(*domain->ticked))};
	if (os_cpu == NULL || traits == NULL || domain->cpu == NULL || domain->load == NULL ||
		domain->neighbours == NULL || domain->stolen == NULL || domain->ticked == NULL)
		r = -ENOMEM;
	for (size_t i = 0; i < team->cpus && r == 0; i++) {
		const struct trace_cpu *cpu = &trace->cpu[team->first_cpu + i];
		if (cpu->domain < team->domains)
			domain->load[cpu->domain].cpus++;
		if (cpu->domain != team->domain)
			continue;
		domain->cpu[m] = team->first_cpu + i;
		traits[m] = (struct policy_traits){
			.speed = cpu->speed, .core = cpu->core, .cache = cpu->cache};
		os_cpu[m++] = cpu->os_cpu;
	}
	/* Without CPUs there is nothing to decide. */
	if (r == 0 && m > 0)
		r = policy_init(&domain->policy, params, os_cpu, m);
	if (r == 0 && m > 0)
		policy_describe(&domain->policy, traits);
	free(os_cpu);
	free(traits);
	return r;
}

void replay_domain_deinit(struct replay_domain *domain)
{
	policy_deinit(&domain->policy);
	free(domain->sight);
	free(domain->load);
	free(domain->neighbours);
	free(domain->stolen);
	free(domain->ticked);
	free(domain->row_of);
	free(domain->cpu);
	*domain = (struct replay_domain){0};
}

size_t replay_domain_cpu(const struct replay_domain *domain, size_t cpu)
{
	return domain->cpu[cpu];
}

/* ---- Rows ---- */

static int reserve(struct replay_domain *domain, size_t rows)
{
	if (rows > domain->room) {
		size_t room = rows + rows / 2 + 16;
		void *sight = reallocarray(domain->sight, room, sizeof(*domain->sight));
		if (sight == NULL)
			return -ENOMEM;
		domain->sight = sight;
		void *row_of = reallocarray(domain->row_of, room, sizeof(*domain->row_of));
		if (row_of == NULL)
			return -ENOMEM;
		domain->row_of = row_of;
		domain->room = room;
	}
	return policy_reserve(&domain->policy, rows);
}

static int add_rows(struct replay_domain *domain, const struct trace_point *point)
{
	int r = reserve(domain, domain->rows + point->newcomers);

	for (size_t k = 0; k < point->newcomers && r == 0; k++)
		domain->sight[domain->rows++] = (struct policy_sight){
			.tid = point->newcomer[k].tid, .assigned = point->newcomer[k].assigned};
	domain->sorted &= point->newcomers == 0;
	return r;
}

static int by_tid(const void *a, const void *b, void *sights)
{
	const struct policy_sight *sight = sights;
	int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;

	if (sight[one].tid != sight[other].tid)
		return sight[one].tid < sight[other].tid ? -1 : 1;
	return one < other ? -1 : one > other;
}

static void sort_rows(struct replay_domain *domain)
{
	if (domain->sorted)
		return;
	for (size_t i = 0; i < domain->rows; i++)
		domain->row_of[i] = (int32_t)i;
	if (domain->rows > 0)
		qsort_r(domain->row_of, domain->rows, sizeof(*domain->row_of), by_tid,
			domain->sight);
	domain->sorted = true;
}

/* The row of a tid, or NO_ROW. A trace lists threads in the order of rows. So among rows with the
 * same tid it means the first from `next` on, or else the last. */
static size_t find_row(struct replay_domain *domain, int32_t tid, size_t next)
{
	size_t low = 0, high = domain->rows;

	if (next < domain->rows && domain->sight[next].tid == tid)
		return next;
	sort_rows(domain);
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (domain->sight[domain->row_of[middle]].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t k = low; k < domain->rows; k++) {
		size_t row = (size_t)domain->row_of[k];
		if (domain->sight[row].tid != tid)
			return NO_ROW;
		/* A tid is there twice when the kernel reused it before juggle saw the end. */
		if (row >= next || k + 1 == domain->rows ||
			domain->sight[domain->row_of[k + 1]].tid != tid)
			return row;
	}
	return NO_ROW;
}

/* ---- What was seen ---- */

static int32_t index_of(const struct replay_domain *domain, int32_t os_cpu)
{
	for (size_t j = 0; j < domain->policy.m && os_cpu >= 0; j++)
		if (domain->policy.cpu[j].os_cpu == os_cpu)
			return (int32_t)j;
	return POLICY_NO_CPU;
}

static void take_thread(
	struct replay_domain *domain, struct policy_sight *sight, const struct trace_thread *thread)
{
	sight->news = thread->news;
	sight->runnable = thread->ready;
	sight->rule = thread->rule;
	sight->role = thread->role;
	sight->cpu = index_of(domain, thread->os_cpu);
	if (thread->left_ns > 0)
		sight->moved_run_ns = sight->run_ns + thread->left_ns;
	sight->run_ns += thread->run_ns;
	sight->wait_ns += thread->wait_ns;
	sight->slices += thread->slices;
	sight->work += thread->work;
	if (thread->news & POLICY_SLEEPS)
		sight->sleeps = thread->sleeps;
	if (thread->news & POLICY_UPDATES)
		sight->updates = thread->updates;
	sight->arrivals = thread->arrivals;
	sight->useful_ns = thread->useful_ns;
	sight->done_ns = thread->done_ns;
	sight->waits = thread->waits;
	sight->yields = thread->yields;
	sight->dynamic = thread->dynamic;
}

static void take_threads(
	struct replay_domain *domain, const struct trace_thread *thread, size_t count)
{
	size_t next = 0;

	for (size_t i = 0; i < count; i++) {
		size_t row = find_row(domain, thread[i].tid, next);
		if (row == NO_ROW)
			continue;
		take_thread(domain, &domain->sight[row], &thread[i]);
		next = row + 1;
	}
}

static void set_load(struct replay_domain *domain, const struct trace_point *point)
{
	size_t own = domain->policy.params.domain;

	/* The trace has no load for a single domain: it is what the policy computed, and threads
	 * that come from teams that have ended. */
	if (domain->policy.params.domains == 1) {
		const struct policy_domain *computed = domain->policy.decision.domain;
		domain->load[own].threads = computed != NULL ? computed[own].threads : 0;
		for (size_t k = 0; k < point->newcomers; k++)
			domain->load[own].threads += point->newcomer[k].assigned;
	}
	for (size_t d = 0; d < point->loads && d < domain->team->domains; d++)
		domain->load[d].threads = point->load[d];
	for (size_t j = 0; j < point->neighbour_cpus && j < domain->policy.m; j++)
		domain->neighbours[j] = point->neighbours[j];
	if (point->beside_changed)
		domain->beside = point->beside;
	for (size_t j = 0; j < point->stolen_cpus && j < domain->policy.m; j++)
		domain->stolen[j] = point->stolen[j];
	for (size_t j = 0; j < domain->policy.m; j++)
		domain->ticked[j] = j < point->ticked_cpus ? point->ticked[j] : 0;
}

int replay_domain_step(struct replay_domain *domain, const struct trace_point *point)
{
	int r = add_rows(domain, point);

	if (r < 0)
		return r;
	for (size_t i = 0; i < domain->rows; i++) {
		/* A thread without a record has no news, but it was looked at if all were. */
		domain->sight[i].news = point->members ? POLICY_TIMES : 0;
		domain->sight[i].cpu = POLICY_NO_CPU;
	}
	take_threads(domain, point->thread, point->threads);
	take_threads(domain, point->other, point->others);
	set_load(domain, point);
	const struct policy_observation observation = {.now_ns = point->now_ns,
		.thread = domain->sight,
		.threads = domain->rows,
		.cost_ns = point->cost_ns,
		.domain = domain->load,
		.neighbours = domain->neighbours,
		.others = domain->beside,
		.stolen = domain->stolen,
		.ticked = domain->ticked,
		.rung = point->rung,
		.may_hand_over = point->may_hand_over};
	policy_step(&domain->policy, &observation);
	return 0;
}

static void remove_row(struct replay_domain *domain, size_t row)
{
	policy_remove(&domain->policy, row);
	domain->sight[row] = domain->sight[--domain->rows];
	domain->sorted = false;
}

void replay_domain_forget(struct replay_domain *domain, const struct trace_point *point)
{
	for (size_t k = 0, next = 0; k < point->handovers; k++) {
		size_t row = find_row(domain, point->handover[k].tid, next);
		if (row == NO_ROW)
			continue;
		domain->sight[row].news = POLICY_END; /* removed below */
		next = row + 1;
	}
	for (size_t i = domain->rows; i-- > 0;)
		if (domain->sight[i].news & POLICY_END)
			remove_row(domain, i);
}

/* ---- What was decided ---- */

bool replay_domain_same_regime(const struct replay_domain *domain, const struct trace_point *point)
{
	const struct policy_decision *decision = &domain->policy.decision;

	return (decision->regime == POLICY_BALANCE) == point->balance &&
	       strcmp(policy_reason_text(decision->reason), point->reason) == 0 &&
	       decision->slices_changed == point->slices_changed &&
	       (!point->slices_changed || decision->short_slices == point->short_slices);
}

bool replay_domain_same_period(const struct replay_domain *domain, const struct trace_point *point)
{
	const struct policy *policy = &domain->policy;
	uint64_t ticks = 0;

	for (size_t j = 0; j < policy->m; j++)
		ticks += policy->cpu[j].tick;
	return policy->decision.period_ns == point->period_ns &&
	       policy->decision.wait_ns == point->wait_ns && ticks == point->ticks;
}

static int32_t os_cpu(const struct policy *policy, int32_t cpu)
{
	return cpu == POLICY_NO_CPU ? -1 : policy->cpu[cpu].os_cpu;
}

/* Both are in the order of rows. The trace lists moves between CPUs separately from all others. */
bool replay_domain_same_moves(const struct replay_domain *domain, const struct trace_point *point)
{
	const struct policy *policy = &domain->policy;
	const struct policy_decision *decision = &policy->decision;
	size_t moves = 0, changes = 0;

	if (decision->moves != point->moves + point->changes ||
		decision->handovers != point->handovers)
		return false;
	for (size_t k = 0; k < decision->moves; k++) {
		const struct policy_move *move = &decision->move[k];
		bool between = move->from != POLICY_NO_CPU && move->to != POLICY_NO_CPU;
		if (between ? moves == point->moves : changes == point->changes)
			return false;
		const struct trace_move *recorded =
			between ? &point->move[moves++] : &point->change[changes++];
		if (recorded->tid != domain->sight[move->thread].tid ||
			recorded->from != os_cpu(policy, move->from) ||
			recorded->to != os_cpu(policy, move->to))
			return false;
	}
	for (size_t k = 0; k < decision->handovers; k++)
		if (point->handover[k].tid != domain->sight[decision->handover[k].thread].tid ||
			point->handover[k].domain != decision->handover[k].domain)
			return false;
	return true;
}
