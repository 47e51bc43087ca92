/* SPDX-License-Identifier: MIT */
/*
 * Telemetry of runs, made up in memory, for tests of what is told of it at the end. Include after cmocka.h.
 */
#ifndef TEST_KEEPER_TELEMETRY_H
#define TEST_KEEPER_TELEMETRY_H

#include "daemon/policy/policy.h"
#include "daemon/telemetry/writer.h"
#include "libprogress/phases/phases.h"
#include "libprogress/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline struct telemetry *new_telemetry(void)
{
	struct telemetry *t = NULL;
	int fd;

	assert_int_equal(telemetry_create(&t, &fd), 0);
	close(fd);
	return t;
}

static inline void add_thread(struct telemetry *t, pid_t pid, pid_t tid, const char *comm)
{
	uint32_t search = 0;
	struct telemetry_thread *thread = telemetry_slot(t, -1, &search);

	thread->pid = pid;
	thread->tid = tid;
	snprintf(thread->comm, sizeof thread->comm, "%s", comm);
	telemetry_set(&thread->progress_ns, 2000000000 + (uint64_t)tid);
	telemetry_set(&thread->wait_ns, 1500000000);
	telemetry_set(&thread->migrations, 10 * (uint64_t)tid);
	telemetry_set32(&thread->flags, TELEMETRY_THREAD_USED);
}

/* Four of its eight places are empty. */
static inline void add_progress(struct telemetry *t, int32_t rank, uint64_t moves,
	uint64_t updates_least, uint64_t updates_most)
{
	struct telemetry_progress *progress = telemetry_progress_slot(t);

	progress->pid = 100 + rank;
	progress->rank = rank;
	progress->workers = 2;
	progress->subdomains = 8;
	progress->balancing = PROGRESS_BALANCE_JOINT;
	telemetry_set(&progress->points, 40);
	telemetry_set(&progress->moves, moves);
	telemetry_set(&progress->held, 4);
	telemetry_set(&progress->updates_least, updates_least);
	telemetry_set(&progress->updates_most, updates_most);
	telemetry_set32(&progress->flags, TELEMETRY_PROGRESS_USED);
}

static inline void set_cpus(struct telemetry *t, const struct telemetry_cpu *cpu, uint32_t count)
{
	memcpy(telemetry_cpus(t), cpu, count * sizeof *cpu);
	telemetry_set32(&t->cpus, count);
}

/* A run of 4 s with a different value in every field. */
static inline struct telemetry *telemetry_of_run(void)
{
	static const struct telemetry_cpu cpus[] = {{.os_cpu = 0, .domain = 0, .speed = 1000},
		{.os_cpu = 2, .domain = 0, .speed = 750, .stolen = 125},
		{.os_cpu = 5, .domain = 1, .speed = 500},
		{.os_cpu = 1, .domain = 2, .stolen = 1000},
		{.os_cpu = 7, .domain = 2, .speed = 250}};
	struct telemetry *t = new_telemetry();

	snprintf(t->command, sizeof t->command, "./app -n 3 \"two words\"");
	snprintf(t->policy, sizeof t->policy, "juggle");
	snprintf(t->sampler, sizeof t->sampler, "schedstat");
	snprintf(t->balancers, sizeof t->balancers, "domain");
	snprintf(t->speeds, sizeof t->speeds, "cpu_capacity");
	set_cpus(t, cpus, sizeof cpus / sizeof *cpus);
	telemetry_set32(&t->state, TELEMETRY_ENDED);
	telemetry_set32(&t->regime, POLICY_BALANCE);
	telemetry_set32(&t->reason, POLICY_REASON_FASTER);
	telemetry_set(&t->period_ns, 20000000);
	telemetry_set32(&t->threads, 1); /* now; the report has the maximum */
	telemetry_set32(&t->threads_most, 6);
	telemetry_set32(&t->idle_then, 2);
	telemetry_set(&t->unlisted, 4);
	telemetry_set(&t->cycles, 100);
	telemetry_set(&t->migrations, 37);
	telemetry_set(&t->regime_changes, 5);
	telemetry_set(&t->balanced_ns, 3000000000);
	telemetry_set(&t->aside_ns[POLICY_REASON_FEW], 960000000);
	telemetry_set(&t->balance_ns[POLICY_REASON_FASTER], 3000000000);
	telemetry_set(&t->aside_ns[POLICY_REASON_TRIAL], 40000000 - 1);
	telemetry_set(&t->pace[POLICY_PACE_SLEEPS].time_ns, 2000000000);
	telemetry_set(&t->pace[POLICY_PACE_SLEEPS].least_ns, 3000000);
	telemetry_set(&t->pace[POLICY_PACE_SLEEPS].most_ns, 12000000);
	telemetry_set(&t->pace[POLICY_PACE_UNKNOWN].time_ns, 1000000000);
	telemetry_set(&t->pace[POLICY_PACE_UNKNOWN].least_ns, 10000000);
	telemetry_set(&t->pace[POLICY_PACE_UNKNOWN].most_ns, 10000000);
	telemetry_set(&t->pace[POLICY_PACE_ASIDE].time_ns, 999999999);
	telemetry_set(&t->phase_ns, 22000000);
	telemetry_set(&t->point_ns, 58000);
	telemetry_set(&t->quota, 1500);
	telemetry_set(&t->throttled_ns, 1200000000);
	telemetry_set32(&t->told, 6);
	telemetry_set(&t->balancer_cpu_ns, 50000000);
	telemetry_add(&t->cycle_bucket[telemetry_bucket(10000)], 98);
	telemetry_add(&t->cycle_bucket[telemetry_bucket(80000)], 2);
	telemetry_set(&t->cycle_max_ns, 81000);
	add_thread(t, 100, 100, "app");
	add_thread(t, 100, 101, "app/worker");
	add_progress(t, 3, 7, 100, 112);
	return t;
}

/* Four threads on five CPUs that were told for two seconds, in 200 phases; the last has half as much
 * work again. */
static inline struct telemetry *telemetry_with_phases(void)
{
	struct telemetry *t = telemetry_of_run();

	for (int i = 0; i < 2; i++) /* those that tell nothing hardly count */
		telemetry_set(&telemetry_threads(t)[i].progress_ns, 500000000);
	for (pid_t i = 0; i < 4; i++) {
		add_thread(t, 100, 200 + i, "told");
		struct telemetry_thread *thread =
			&telemetry_threads(t)[telemetry_get32(&t->slots) - 1];
		telemetry_set(&thread->wait_ns, 0);
		thread->told_ns = 7000000000;
		telemetry_set(&thread->told_until_ns, 9000000000);
		telemetry_set(&thread->arrivals, 200);
		telemetry_set(&thread->useful_ns, i == 3 ? 1800000000 : 1200000000);
		telemetry_set(&thread->waited_ns, i == 3 ? 200000000 : 800000000);
		telemetry_set32(&thread->flags, TELEMETRY_THREAD_USED | TELEMETRY_THREAD_TOLD);
	}
	telemetry_set(&t->quota, 0);
	telemetry_set(&t->throttled_ns, 0);
	telemetry_set32(&t->threads_most, 4);
	telemetry_set32(&t->told, PHASES_GOMP | PHASES_MPI);
	telemetry_show_site(t, "barrier in a+1", 20, 100000000);
	telemetry_show_site(t, "MPI_Wait in b+2", 3, 2500000000);
	return t;
}

#endif
