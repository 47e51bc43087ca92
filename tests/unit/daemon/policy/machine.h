/* SPDX-License-Identifier: MIT */
/*
 * A policy and the job that it sees, for tests of the step: threads that run, wait and sleep as a
 * test says, and a caller that carries out decisions. Include after cmocka.h.
 */
#ifndef TEST_POLICY_MACHINE_H
#define TEST_POLICY_MACHINE_H

#include "daemon/policy/kind.h"
#include "daemon/policy/policy.h"

#include <string.h>

#ifndef ROWS_MAX
#define ROWS_MAX 64
#endif
enum { CPUS_MAX = 16, DOMAINS_MAX = 4 };

#define MS UINT64_C(1000000)
#define START_NS (UINT64_C(1000000) * MS)

struct machine {
	struct policy policy;
	struct policy_sight sight[ROWS_MAX];
	struct policy_domain domain[DOMAINS_MAX];
	size_t n;
	int32_t tids; /* used so far */
	uint64_t now_ns;
	bool may_hand_over;
	uint32_t ticked[CPUS_MAX];
	uint32_t stolen[CPUS_MAX]; /* in thousandths */
	struct policy_traits traits[CPUS_MAX];
	uint32_t others; /* threads of other jobs */
	uint64_t cost_ns; /* of each interval */
};

/* juggle's defaults, as changed for tests. */
static inline struct policy_params defaults(const struct policy_kind *kind)
{
	return (struct policy_params){.kind = kind,
		.period_ns = POLICY_AUTO_PERIOD_NS,
		.period_auto = true,
		.margin_ns = (int64_t)MS / 2,
		.domains = 1,
		.start_ns = START_NS,
		.begin_ns = START_NS,
		.seed = 1};
}

static inline void machine_init(
	struct machine *machine, const struct policy_params *params, uint32_t cpus)
{
	int32_t os_cpu[CPUS_MAX];

	memset(machine, 0, sizeof *machine);
	for (uint32_t j = 0; j < cpus; j++) {
		os_cpu[j] = (int32_t)(100 + j);
		machine->traits[j] = (struct policy_traits){.speed = 1000, .core = (int32_t)j};
	}
	assert_int_equal(policy_init(&machine->policy, params, os_cpu, cpus), 0);
	assert_int_equal(policy_reserve(&machine->policy, ROWS_MAX), 0);
	for (uint32_t d = 0; d < params->domains; d++)
		machine->domain[d].cpus = cpus;
	machine->now_ns = params->begin_ns;
}

static inline void machine_deinit(struct machine *machine)
{
	policy_deinit(&machine->policy);
}

/* Add a row. Returns its number. */
static inline size_t add(struct machine *machine, enum policy_rule rule)
{
	assert_true(machine->n < ROWS_MAX);
	machine->sight[machine->n] = (struct policy_sight){
		.tid = ++machine->tids, .rule = (uint8_t)rule, .cpu = POLICY_NO_CPU};
	return machine->n++;
}

/* A thread runs and waits for that long, and is looked at. */
static inline void runs(struct machine *machine, size_t row, uint64_t run_ns, uint64_t wait_ns)
{
	struct policy_sight *sight = &machine->sight[row];

	sight->news |= POLICY_TIMES;
	sight->run_ns += run_ns;
	sight->work += run_ns;
	sight->wait_ns += wait_ns;
}

/* One step after that time, with what the threads did before according to the test. Carries out the
 * decision. */
static inline const struct policy_decision *step(struct machine *machine, uint64_t elapsed_ns)
{
	machine->now_ns += elapsed_ns;
	const struct policy_observation observation = {.now_ns = machine->now_ns,
		.thread = machine->sight,
		.threads = machine->n,
		.domain = machine->domain,
		.others = machine->others,
		.stolen = machine->stolen,
		.ticked = machine->ticked,
		.cost_ns = machine->cost_ns,
		.may_hand_over = machine->may_hand_over};
	const struct policy_decision *decision = policy_step(&machine->policy, &observation);
	for (size_t k = 0; k < decision->moves; k++)
		machine->sight[decision->move[k].thread].cpu = decision->move[k].to;
	memcpy(machine->domain, decision->domain,
		machine->policy.params.domains * sizeof *machine->domain);
	for (size_t i = 0; i < machine->n; i++)
		machine->sight[i].news = 0;
	return decision;
}

static inline void remove_row(struct machine *machine, size_t row)
{
	policy_remove(&machine->policy, row);
	machine->sight[row] = machine->sight[--machine->n];
}

/* How many threads are confined to a CPU. */
static inline uint32_t confined_to(const struct machine *machine, int32_t cpu)
{
	uint32_t count = 0;

	for (size_t i = 0; i < machine->n; i++)
		count += machine->sight[i].cpu == cpu;
	return count;
}

static inline uint32_t apart(const struct machine *machine)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (size_t j = 0; j < machine->policy.m; j++) {
		uint32_t count = confined_to(machine, (int32_t)j);
		least = count < least ? count : least;
		most = count > most ? count : most;
	}
	return most - least;
}

/* Compute threads share the time of the CPUs, evenly on each, and never sleep; others sleep. */
static inline void all_run(struct machine *machine, uint64_t elapsed_ns)
{
	uint32_t loose = confined_to(machine, POLICY_NO_CPU);

	for (size_t i = 0; i < machine->n; i++) {
		int32_t cpu = machine->sight[i].cpu;
		uint64_t m = machine->policy.m;
		uint64_t run_ns = cpu != POLICY_NO_CPU ? elapsed_ns / confined_to(machine, cpu)
				  : loose > m          ? elapsed_ns * m / loose
						       : elapsed_ns;
		if (machine->sight[i].rule == POLICY_RULE_IDLE)
			runs(machine, i, 0, 0);
		else
			runs(machine, i, run_ns, elapsed_ns - run_ns);
	}
}

/* For a while all threads run, in the intervals that the policy requests. Returns the last
 * decision. */
static inline const struct policy_decision *go_on(struct machine *machine, uint64_t for_ns)
{
	const struct policy_decision *decision = &machine->policy.decision;
	uint64_t end_ns = machine->now_ns + for_ns;

	while (machine->now_ns < end_ns) {
		uint64_t wait_ns = decision->wait_ns > 0 ? decision->wait_ns : MS;
		all_run(machine, wait_ns);
		decision = step(machine, wait_ns);
	}
	return decision;
}

/* n threads that are known to compute, on m CPUs. */
static inline void begin(
	struct machine *machine, const struct policy_params *params, uint32_t n, uint32_t m)
{
	machine_init(machine, params, m);
	for (uint32_t i = 0; i < n; i++)
		add(machine, POLICY_RULE_COMPUTE);
}

#endif
