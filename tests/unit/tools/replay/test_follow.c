/* SPDX-License-Identifier: MIT */
/*
 * Decisions depend only on what a trace records. Random histories are written as juggle writes its
 * traces, read back, and decided again. Every decision has to be the same, to the last bit of a
 * period; and with other settings replay has to say where they part.
 */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "daemon/telemetry/writer.h"
#include "daemon/trace/write_point.h"
#include "tests/unit/daemon/policy/history.h"
#include "tools/replay/follow.h"

enum { HISTORIES = 60, STEPS = 200, RESTARTS = 3 };

struct file {
	char path[32];
	struct telemetry *telemetry;
	struct trace *trace;
};

static void open_file(struct file *file, const struct policy_params *params)
{
	int telemetry_fd;

	strcpy(file->path, "/tmp/test_follow.XXXXXX");
	int fd = mkstemp(file->path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(telemetry_create(&file->telemetry, &telemetry_fd), 0);
	close(telemetry_fd);
	strcpy(file->telemetry->command, "a history");
	strcpy(file->telemetry->policy, params->kind->name);
	file->telemetry->start_ns = params->start_ns;
	const struct options options = {.period_ns = params->period_ns,
		.period_auto = params->period_auto,
		.jitter = params->jitter,
		.margin_ns = params->margin_ns,
		.always = params->always,
		.threads = params->expected,
		.trace = file->path};
	assert_int_equal(trace_new(&file->trace, &options, file->telemetry), 0);
}

static void read_file(struct file *file, struct trace_file *out)
{
	struct trace_error error;

	trace_free(file->trace);
	telemetry_unmap(file->telemetry);
	int r = trace_read(out, file->path, &error);
	if (r < 0)
		fail_msg("line %zu: %s", error.line, error.text);
	assert_false(out->cut_short);
	assert_int_equal(out->unknown + out->dropped, 0);
	unlink(file->path);
}

/* The CPUs of the history's domain, and those of the others. */
static void write_beginning(struct file *file, const struct machine *machine)
{
	const struct policy *policy = &machine->policy;
	struct topology_cpu cpu[CPUS_MAX * DOMAINS_MAX];
	struct topology topology = {.cpu = cpu, .domains = policy->params.domains};

	for (uint32_t d = 0; d < policy->params.domains; d++)
		for (uint32_t j = 0; j < machine->domain[d].cpus; j++)
			cpu[topology.cpus++] = (struct topology_cpu){
				.os_cpu = d == policy->params.domain ? policy->cpu[j].os_cpu
								     : (int32_t)(1000 * d + j),
				.domain = (int32_t)d,
				.core = machine->traits[j].core,
				.speed = machine->traits[j].speed / 1000.0,
				.cache = machine->traits[j].cache};
	trace_cpus(file->trace, policy->params.begin_ns, &topology);
	trace_team(file->trace, policy);
}

/* As when CPUs come or go: the domain begins again, with one CPU less if possible, and all
 * threads. */
static void restart(struct history *h, struct file *file)
{
	struct machine *machine = &h->machine;
	struct policy_params params = machine->policy.params;
	int32_t os_cpu[CPUS_MAX];
	size_t m = machine->policy.m > 1 ? machine->policy.m - 1 : 1;

	for (size_t j = 0; j < m; j++)
		os_cpu[j] = machine->policy.cpu[j].os_cpu;
	params.begin_ns = machine->now_ns;
	params.seed = random_word(&h->seed) >> 2;
	policy_deinit(&machine->policy);
	assert_int_equal(policy_init(&machine->policy, &params, os_cpu, m), 0);
	policy_describe(&machine->policy, machine->traits);
	assert_int_equal(policy_reserve(&machine->policy, ROWS_MAX), 0);
	for (size_t i = 0; i < machine->n; i++)
		machine->sight[i].cpu = POLICY_NO_CPU;
	/* The exchange starts again, too. */
	for (uint32_t d = 0; d < params.domains; d++)
		machine->domain[d].threads = 0;
	for (size_t i = 0; i < machine->n; i++)
		machine->domain[params.domain].threads += machine->sight[i].assigned;
	machine->domain[params.domain].cpus = (uint32_t)m;
	write_beginning(file, machine);
}

static void write_history(struct history *h, struct file *file, uint64_t seed)
{
	history_begin(h, seed);
	open_file(file, &h->machine.policy.params);
	write_beginning(file, &h->machine);
	for (int k = 0; k < STEPS; k++) {
		uint64_t elapsed_ns = history_live(h);
		const struct policy_observation observation = history_observation(h, elapsed_ns);
		policy_step(&h->machine.policy, &observation);
		trace_point(file->trace, &h->machine.policy, &observation);
		history_carry_out(h);
		if (k % (STEPS / RESTARTS) == STEPS / RESTARTS - 1)
			restart(h, file);
	}
}

static void test_same_decisions(void **unused)
{
	uint64_t points = 0, moves = 0;
	(void)unused;

	for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
		struct history h;
		struct file file;
		struct trace_file trace;
		struct replay_settings settings;
		struct replay_follow follow;

		write_history(&h, &file, seed);
		read_file(&file, &trace);
		assert_true(replay_recorded_settings(&trace, &settings));
		assert_ptr_equal(settings.kind, h.machine.policy.params.kind);
		assert_int_equal(replay_follow_init(&follow, &trace, &settings, 0), 0);
		const struct replay_decisions *decisions = &follow.decisions;
		if (decisions->same != decisions->points)
			fail_msg("seed %u: %u of %u are the same; parted after %.6f, %.6f, %.6f s",
				(unsigned)seed, (unsigned)decisions->same,
				(unsigned)decisions->points,
				(double)(decisions->regime.now_ns - START_NS) * 1e-9,
				(double)(decisions->moved.now_ns - START_NS) * 1e-9,
				(double)(decisions->period.now_ns - START_NS) * 1e-9);
		assert_int_equal(decisions->points, STEPS);
		assert_int_equal(decisions->moves, decisions->recorded_moves);
		assert_false(decisions->regime.parted || decisions->moved.parted ||
			     decisions->period.parted);
		points += decisions->points;
		moves += decisions->moves;
		replay_follow_deinit(&follow);
		trace_file_deinit(&trace);
		history_end(&h);
	}
	assert_true(points == HISTORIES * STEPS && moves > HISTORIES);
}

/* A history of juggle that moves threads, and only because of their progress. */
static void record(struct history *h, struct trace_file *trace)
{
	struct file file;

	for (uint64_t seed = 1;; seed++) {
		size_t moves = 0;
		write_history(h, &file, seed);
		read_file(&file, trace);
		for (size_t i = 0; i < trace->points; i++)
			moves += trace->point[i].moves;
		if (moves > 50 && h->machine.policy.params.kind == &policy_kind_juggle &&
			!h->machine.policy.params.tickers)
			return;
		trace_file_deinit(trace);
		history_end(h);
	}
}

static void test_where_they_part(void **unused)
{
	struct history h;
	struct trace_file trace;
	struct replay_settings recorded;
	struct replay_follow follow;
	(void)unused;

	record(&h, &trace);
	assert_true(replay_recorded_settings(&trace, &recorded));
	uint64_t first_ns = trace.point[0].now_ns;

	/* Another period: decisions differ from the first point on, but not the threads' CPUs. */
	struct replay_settings asked = recorded;
	asked.period_ns = recorded.period_ns + MS;
	asked.period_auto = false;
	assert_int_equal(replay_follow_init(&follow, &trace, &asked, 0), 0);
	assert_true(follow.decisions.period.parted);
	assert_true(follow.decisions.same < follow.decisions.points);
	replay_follow_deinit(&follow);

	/* The policy observe gives another reason, and places no threads. */
	asked = recorded;
	asked.kind = &policy_kind_observe;
	assert_int_equal(replay_follow_init(&follow, &trace, &asked, 0), 0);
	assert_true(follow.decisions.regime.parted && follow.decisions.regime.now_ns == first_ns);
	assert_true(follow.decisions.moved.parted);
	assert_int_equal(follow.decisions.moves, 0);
	assert_true(follow.decisions.recorded_moves > 0);
	replay_follow_deinit(&follow);

	/* A margin that no lead reaches: no more swaps. */
	asked = recorded;
	asked.margin_ns = INT64_MAX / 4;
	assert_int_equal(replay_follow_init(&follow, &trace, &asked, 0), 0);
	assert_true(follow.decisions.moved.parted && follow.decisions.moved.now_ns > first_ns);
	assert_true(follow.decisions.moves < follow.decisions.recorded_moves);
	replay_follow_deinit(&follow);
	trace_file_deinit(&trace);
	history_end(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_decisions),
		cmocka_unit_test(test_where_they_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
