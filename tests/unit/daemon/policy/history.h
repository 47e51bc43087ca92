/* SPDX-License-Identifier: MIT */
/*
 * Random histories of a job and its policy: threads are born and end, run, sleep and wake, change
 * their rules and roles, and at times cannot be seen or moved. Include after cmocka.h.
 */
#ifndef TEST_POLICY_HISTORY_H
#define TEST_POLICY_HISTORY_H

#include "tests/unit/daemon/policy/machine.h"
#include "tests/unit/random.h"

struct history {
	struct machine machine;
	uint64_t seed;
	bool unequal; /* CPUs differ in speed, or share cores or caches, or a hypervisor takes some of them */
	bool asleep[ROWS_MAX];
	bool stands[CPUS_MAX]; /* others have taken the CPU */
	bool were_taken[CPUS_MAX]; /* the policy knew that before the step */
	uint32_t were[CPUS_MAX]; /* threads on each CPU before the step */
	bool refused; /* some move was not carried out since the last look at members */
	bool ended; /* a thread with a CPU ended in this interval */
	size_t removed[ROWS_MAX]; /* rows removed after the last step, in this order */
	size_t removals;
};

static inline bool chance(struct history *h, int64_t one_in)
{
	return random_int(&h->seed, 1, one_in) == 1;
}

/* juggle half of the time: it does the most. */
static inline const struct policy_kind *any_kind(struct history *h)
{
	static const struct policy_kind *const kinds[] = {
		&policy_kind_juggle, &policy_kind_static, &policy_kind_observe};

	return kinds[chance(h, 2) ? 0 : random_int(&h->seed, 0, 2)];
}

static inline void history_begin(struct history *h, uint64_t seed)
{
	*h = (struct history){.seed = seed};
	h->unequal = chance(h, 2);
	struct policy_params params = defaults(any_kind(h));

	params.period_auto = chance(h, 2);
	if (!params.period_auto)
		params.period_ns = (uint64_t)random_int(&h->seed, (int64_t)MS / 10, 50 * MS);
	params.jitter = chance(h, 2) ? 0 : 0.9;
	params.always = chance(h, 2);
	params.expected = chance(h, 4) ? (uint32_t)random_int(&h->seed, 1, 8) : 0;
	params.by_work = chance(h, 4);
	params.tickers = chance(h, 2);
	params.domains = (uint32_t)random_int(&h->seed, 1, DOMAINS_MAX);
	params.domain = (uint32_t)random_int(&h->seed, 0, params.domains - 1);
	params.seed = random_word(&h->seed) >> 2;
	machine_init(&h->machine, &params, (uint32_t)random_int(&h->seed, 1, CPUS_MAX));
	h->machine.may_hand_over = chance(h, 2);
	for (size_t j = 0; j < h->machine.policy.m && h->unequal; j++)
		h->machine.traits[j] = (struct policy_traits){
			.speed = (uint32_t)random_int(&h->seed, 1, 4) * 250,
			.core = (int32_t)random_int(&h->seed, 0, (int64_t)j),
			.cache = (int32_t)random_int(&h->seed, 0, 3)};
	policy_describe(&h->machine.policy, h->machine.traits);
}

static inline void history_end(struct history *h)
{
	machine_deinit(&h->machine);
}

static inline void history_bear(struct history *h)
{
	struct machine *machine = &h->machine;

	while (machine->n < ROWS_MAX && chance(h, 2)) {
		size_t row = add(machine, (enum policy_rule)random_int(&h->seed, 0, 2));
		h->asleep[row] = chance(h, 2);
		machine->sight[row].role = (uint8_t)random_int(&h->seed, 0, 3);
		machine->sight[row].run_ns = machine->sight[row].work =
			(uint64_t)random_int(&h->seed, 0, MS);
		if (machine->policy.params.domains > 1 && chance(h, 5)) {
			machine->sight[row].assigned = true;
			machine->domain[machine->policy.params.domain].threads++;
		}
	}
}

static inline void history_thread(struct history *h, size_t row, uint64_t elapsed_ns)
{
	const struct policy *policy = &h->machine.policy;
	struct policy_sight *sight = &h->machine.sight[row];
	uint64_t run_ns = (uint64_t)random_int(&h->seed, 0, (int64_t)elapsed_ns);
	uint8_t look = row < policy->n ? policy->thread[row].look : POLICY_TIMES;

	if (chance(h, 30))
		h->asleep[row] = !h->asleep[row];
	if (!h->asleep[row] && sight->cpu != POLICY_NO_CPU && h->stands[sight->cpu]) {
		sight->runnable = true;
	} else if (!h->asleep[row]) {
		sight->run_ns += run_ns;
		sight->wait_ns += elapsed_ns - run_ns;
		sight->work += run_ns * (policy->params.by_work ? 7 : 1);
		sight->slices += (uint64_t)random_int(&h->seed, 0, 100);
		sight->updates += (uint64_t)random_int(&h->seed, 0, 1000);
	} else {
		sight->sleeps += chance(h, 3);
	}
	/* Looks can fail, and callers may see more than the policy asked for. */
	if (look & POLICY_TIMES ? !chance(h, 20) : chance(h, 20))
		sight->news |= POLICY_TIMES;
	if (look & POLICY_STATE && !chance(h, 10))
		sight->news |= POLICY_STATE;
	if (look & POLICY_SLEEPS && !chance(h, 10))
		sight->news |= POLICY_SLEEPS;
	if (look & POLICY_UPDATES && sight->role >= POLICY_ROLE_WORKER)
		sight->news |= POLICY_UPDATES;
	if (chance(h, 100))
		sight->rule = (uint8_t)random_int(&h->seed, 0, 2);
	if (chance(h, 100))
		sight->role = (uint8_t)random_int(&h->seed, 0, 3);
	if (chance(h, 80)) {
		sight->news = POLICY_END;
		h->ended |= sight->cpu != POLICY_NO_CPU;
	}
}

/* What happens until the next step. Returns how long that takes. */
static inline uint64_t history_live(struct history *h)
{
	struct machine *machine = &h->machine;
	bool members = machine->policy.decision.members_next;
	uint64_t elapsed_ns = machine->policy.decision.wait_ns;

	/* Now and then the caller is late, or wakes twice at the same moment. */
	elapsed_ns += chance(h, 20) ? (uint64_t)random_int(&h->seed, 0, 100 * MS) : 0;
	elapsed_ns *= !chance(h, 50);
	h->ended = false;
	for (size_t i = 0; i < machine->n; i++)
		history_thread(h, i, elapsed_ns);
	if (members && chance(h, 4))
		history_bear(h);
	/* Other domains gain and lose threads. */
	for (uint32_t d = 0; d < machine->policy.params.domains && members; d++)
		if (d != machine->policy.params.domain && chance(h, 10))
			machine->domain[d].threads = (uint32_t)random_int(&h->seed, 0, 20);
	for (size_t j = 0; j < machine->policy.m; j++) {
		h->were[j] = confined_to(machine, (int32_t)j);
		h->were_taken[j] = machine->policy.cpu[j].taken;
		machine->ticked[j] = machine->policy.cpu[j].tick && !h->stands[j] && !chance(h, 5);
		if (chance(h, 50))
			h->stands[j] = !h->stands[j];
		if (h->unequal && members && chance(h, 50))
			machine->stolen[j] = (uint32_t)random_int(&h->seed, 0, 1100);
	}
	return elapsed_ns;
}

/* The observation for the next step. */
static inline struct policy_observation history_observation(
	const struct history *h, uint64_t elapsed_ns)
{
	const struct machine *machine = &h->machine;

	return (struct policy_observation){.now_ns = machine->now_ns + elapsed_ns,
		.thread = machine->sight,
		.threads = machine->n,
		.domain = machine->domain,
		.stolen = machine->stolen,
		.ticked = machine->ticked,
		.may_hand_over = machine->may_hand_over && machine->policy.decision.members_next};
}

/* After the step: remove rows that are gone, and carry out decisions as far as the kernel
 * allows. */
static inline void history_carry_out(struct history *h)
{
	struct machine *machine = &h->machine;
	struct policy *policy = &machine->policy;
	const struct policy_decision *decision = &policy->decision;

	machine->now_ns += decision->elapsed_ns;
	memcpy(machine->domain, decision->domain, policy->params.domains * sizeof *machine->domain);
	if (decision->members)
		h->refused = false;
	for (size_t k = 0; k < decision->moves; k++) {
		const struct policy_move *move = &decision->move[k];
		struct policy_sight *sight = &machine->sight[move->thread];
		bool refused = chance(h, 50);
		h->refused |= refused;
		if (refused)
			continue;
		sight->cpu = move->to;
		if (move->from != POLICY_NO_CPU && chance(h, 2))
			sight->moved_run_ns = sight->run_ns;
	}
	h->removals = 0;
	for (size_t i = machine->n; i-- > 0;) {
		bool gone = policy->thread[i].ended;
		machine->sight[i].news = 0;
		for (size_t k = 0; k < decision->handovers; k++)
			gone |= decision->handover[k].thread == i;
		if (!gone)
			continue;
		h->removed[h->removals++] = i;
		remove_row(machine, i);
		h->asleep[i] = h->asleep[machine->n];
	}
}

#endif
