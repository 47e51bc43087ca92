/* SPDX-License-Identifier: MIT */
/* A large machine: 1000 threads on 256 CPUs, which juggle has to itself. */
#undef NDEBUG
#include "daemon/policy/kind.h"
#include "daemon/policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define PERIOD_NS (10 * MS)
#define CPUS 256
#define THREADS 1000
#define POINTS 200
#define PLACED 1 /* at this point; before, they are looked at */

struct machine {
	struct policy policy;
	struct policy_sight sight[THREADS];
	struct policy_domain domain;
	uint64_t progress_ns[THREADS];
	uint32_t on[CPUS];
	uint64_t moves;
};

static struct machine *make(void)
{
	const struct policy_params params = {.kind = policy_kind_find("juggle"),
		.period_ns = PERIOD_NS,
		.margin_ns = (int64_t)MS / 2,
		.always = true,
		.domains = 1,
		.seed = 1};
	struct machine *machine = calloc(1, sizeof *machine);
	int32_t os_cpu[CPUS];

	assert_non_null(machine);
	for (int32_t j = 0; j < CPUS; j++)
		os_cpu[j] = j;
	machine->domain.cpus = CPUS;
	assert_int_equal(policy_init(&machine->policy, &params, os_cpu, CPUS), 0);
	assert_int_equal(policy_reserve(&machine->policy, THREADS), 0);
	for (int32_t i = 0; i < THREADS; i++)
		machine->sight[i] = (struct policy_sight){.tid = i + 1, .cpu = POLICY_NO_CPU};
	return machine;
}

/* The threads of a CPU share it evenly. */
static void run(struct machine *machine)
{
	for (size_t i = 0; i < THREADS; i++) {
		struct policy_sight *sight = &machine->sight[i];
		uint64_t run_ns = sight->cpu == POLICY_NO_CPU ? PERIOD_NS
							      : PERIOD_NS / machine->on[sight->cpu];
		machine->progress_ns[i] += run_ns;
		sight->news = POLICY_TIMES;
		sight->run_ns += run_ns;
		sight->work += run_ns;
		sight->wait_ns += PERIOD_NS - run_ns;
		sight->slices++;
	}
}

static void balance(struct machine *machine, uint64_t point)
{
	const struct policy_observation observation = {.now_ns = (point + 1) * PERIOD_NS,
		.thread = machine->sight,
		.threads = THREADS,
		.domain = &machine->domain};
	const struct policy_decision *decision = policy_step(&machine->policy, &observation);

	machine->domain = decision->domain[0];
	for (size_t k = 0; k < decision->moves; k++) {
		struct policy_sight *sight = &machine->sight[decision->move[k].thread];
		assert_in_range(decision->move[k].to, 0, CPUS - 1);
		if (sight->cpu != POLICY_NO_CPU)
			machine->on[sight->cpu]--;
		sight->cpu = decision->move[k].to;
		machine->on[sight->cpu]++;
	}
	machine->moves += decision->moves;
}

static uint64_t spread_ns(const struct machine *machine)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < THREADS; i++) {
		uint64_t ns = machine->progress_ns[i];
		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
	}
	return most - least;
}

/* 232 CPUs have four threads, 24 have three, whose threads get a third more, in turns. */
static void test_even(void **state)
{
	struct machine *machine = make();
	(void)state;

	for (uint64_t point = 0; point < POINTS; point++) {
		run(machine);
		balance(machine, point);
		for (size_t j = 0; j < CPUS && point >= PLACED; j++)
			assert_in_range(machine->on[j], THREADS / CPUS, THREADS / CPUS + 1);
	}
	assert_true(machine->moves > THREADS);
	/* Without turns it would be 167 ms. */
	assert_true(spread_ns(machine) < PERIOD_NS);
	policy_deinit(&machine->policy);
	free(machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
