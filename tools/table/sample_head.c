/* SPDX-License-Identifier: MIT */
/* The table with one row: what is known of the job as a whole. Its columns with a title make up the
 * lines of intervals in text. */
#include "tools/table/sample.h"

#include <math.h>

enum {
	HEAD_TIME,
	HEAD_AGE,
	HEAD_INTERVAL,
	HEAD_COMMAND,
	HEAD_WRAPPED,
	HEAD_JUGGLE_PID,
	HEAD_JOB_PID,
	HEAD_ATTACHED,
	HEAD_LOST,
	HEAD_REGIME,
	HEAD_REASON,
	HEAD_POLICY,
	HEAD_PERIOD,
	HEAD_SAMPLER,
	HEAD_BALANCERS,
	HEAD_DOMAINS,
	HEAD_CPUS,
	HEAD_THREADS,
	HEAD_IDLE,
	HEAD_AHEAD,
	HEAD_BEHIND,
	HEAD_THREAD_SPREAD,
	HEAD_SHARE,
	HEAD_MIGRATION_RATE,
	HEAD_BALANCER_SHARE,
	HEAD_UNLISTED,
	HEAD_MIGRATIONS,
	HEAD_CYCLES,
	HEAD_CYCLE_RATE,
	HEAD_REGIME_CHANGES,
	HEAD_HEARTBEAT,
	HEAD_BALANCED,
	HEAD_BALANCER_CPU,
	HEAD_CYCLE_MEDIAN,
	HEAD_CYCLE_P99,
	HEAD_CYCLE_MAX,
	HEAD_PROCESSES,
	HEAD_UNREADABLE,
	HEAD_WORKERS,
	HEAD_SUBDOMAINS,
	HEAD_HELD,
	HEAD_ITERATION_RATE,
	HEAD_SPREAD,
	HEAD_MOVES,
	HEAD_MOVE_RATE,
	HEAD_SPEEDS_FROM,
	HEAD_STOLEN,
	HEAD_QUOTA,
	HEAD_THROTTLED,
	HEAD_PHASES,
	HEAD_PHASE_RATE,
	HEAD_PHASE,
	HEAD_WORK,
	HEAD_PARALLEL,
	HEAD_LOAD_BALANCE,
	HEAD_COMMUNICATION,
	HEAD_USEFUL,
	HEAD_LOST_CPU,
	HEAD_LOST_SHARE,
	HEAD_WAITED_SHARE,
	HEAD_VERDICT,
	HEAD_ADVICE,
	HEAD_NOT_TOLD,
	HEAD_COLUMNS,
};

static const struct column head_column[HEAD_COLUMNS] = {
	[HEAD_TIME] = {"unix_time_ms", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_AGE] = {"age_s", "time s", SHOW_TENTHS, 7, 0},
	[HEAD_INTERVAL] = {"interval_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_COMMAND] = {"command", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_WRAPPED] = {"wrapped", NULL, SHOW_YES, 0, 0},
	[HEAD_JUGGLE_PID] = {"juggle_pid", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_JOB_PID] = {"job_pid", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_ATTACHED] = {"attached", NULL, SHOW_YES, 0, 0},
	[HEAD_LOST] = {"lost", NULL, SHOW_YES, 0, 0},
	[HEAD_REGIME] = {"regime", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_REASON] = {"reason", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_POLICY] = {"policy", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_PERIOD] = {"period_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_SAMPLER] = {"sampler", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_BALANCERS] = {"balancers", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_DOMAINS] = {"domains_mode", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_CPUS] = {"cpus", NULL, SHOW_COUNT, 0, 0},
	[HEAD_THREADS] = {"threads", "count", SHOW_COUNT, 5, 0},
	[HEAD_IDLE] = {"idle_threads", NULL, SHOW_COUNT, 0, 0},
	[HEAD_AHEAD] = {"threads_ahead", "ahead", SHOW_COUNT, 5, 0},
	[HEAD_BEHIND] = {"threads_behind", "behind", SHOW_COUNT, 6, 0},
	[HEAD_THREAD_SPREAD] = {"thread_spread_s", "spread ms", SHOW_GAP_MS, 9, 0},
	[HEAD_SHARE] = {"thread_share", "CPU %", SHOW_PERCENT, 6, 0},
	[HEAD_MIGRATION_RATE] = {"migrations_per_s", "moves/s", SHOW_NUMBER, 7, 0},
	[HEAD_BALANCER_SHARE] = {"balancer_share", "CPU %", SHOW_PERCENT, 6, 0},
	[HEAD_UNLISTED] = {"threads_unlisted", NULL, SHOW_COUNT, 0, 0},
	[HEAD_MIGRATIONS] = {"migrations", NULL, SHOW_COUNT, 0, 0},
	[HEAD_CYCLES] = {"cycles", NULL, SHOW_COUNT, 0, 0},
	[HEAD_CYCLE_RATE] = {"cycles_per_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_REGIME_CHANGES] = {"regime_changes", NULL, SHOW_COUNT, 0, 0},
	[HEAD_HEARTBEAT] = {"heartbeat_age_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_BALANCED] = {"balanced_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_BALANCER_CPU] = {"balancer_cpu_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_CYCLE_MEDIAN] = {"cycle_median_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_CYCLE_P99] = {"cycle_p99_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_CYCLE_MAX] = {"cycle_max_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_PROCESSES] = {"processes", NULL, SHOW_COUNT, 0, 0},
	[HEAD_UNREADABLE] = {"unreadable_processes", NULL, SHOW_COUNT, 0, 0},
	[HEAD_WORKERS] = {"workers", NULL, SHOW_COUNT, 0, 0},
	[HEAD_SUBDOMAINS] = {"subdomains", NULL, SHOW_COUNT, 0, 0},
	[HEAD_HELD] = {"held", NULL, SHOW_COUNT, 0, 0},
	[HEAD_ITERATION_RATE] = {"iterations_per_s", "it./s", SHOW_NUMBER, 6, 0},
	[HEAD_SPREAD] = {"spread", "spread", SHOW_COUNT, 6, 0},
	[HEAD_MOVES] = {"moves", NULL, SHOW_COUNT, 0, 0},
	[HEAD_MOVE_RATE] = {"moves_per_s", "moves/s", SHOW_NUMBER, 7, 0},
	[HEAD_SPEEDS_FROM] = {"speeds_from", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_STOLEN] = {"stolen", NULL, SHOW_PERCENT, 0, 0},
	[HEAD_QUOTA] = {"quota_cpus", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_THROTTLED] = {"throttled_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_PHASES] = {"phases", NULL, SHOW_COUNT, 0, 0},
	[HEAD_PHASE_RATE] = {"phases_per_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_PHASE] = {"phase_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_WORK] = {"work_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_PARALLEL] = {"parallel_efficiency", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_LOAD_BALANCE] = {"load_balance", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_COMMUNICATION] = {"communication_efficiency", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_USEFUL] = {"useful_share", NULL, SHOW_PERCENT, 0, 0},
	[HEAD_LOST_CPU] = {"lost_s", NULL, SHOW_NUMBER, 0, 0},
	[HEAD_LOST_SHARE] = {"lost_share", NULL, SHOW_PERCENT, 0, 0},
	[HEAD_WAITED_SHARE] = {"waited_share", NULL, SHOW_PERCENT, 0, 0},
	[HEAD_VERDICT] = {"verdict", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_ADVICE] = {"advice", NULL, SHOW_PLAIN, 0, 0},
	[HEAD_NOT_TOLD] = {"not_told", NULL, SHOW_PLAIN, 0, 0},
};

/* ---- What is counted here ---- */

/* Threads that are behind, or ahead of the others. */
static struct value count_threads(const struct live_sample *sample, bool behind)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sample->threads; i++) {
		const struct live_thread *thread = &sample->thread[i];
		/* A thread whose lead is unknown is neither. */
		n += thread->compute && (behind ? thread->lead_s < 0 : thread->lead_s > 0);
	}
	return value_count(n);
}

static struct value mean_share(const struct live_sample *sample)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < sample->threads; i++) {
		const struct live_thread *thread = &sample->thread[i];
		if (sample->lost || !thread->compute || !(thread->share >= 0) ||
			!isfinite(thread->share))
			continue;
		sum += thread->share;
		n++;
	}
	return n > 0 ? value_real(sum / (double)n) : value_unknown();
}

static struct value count_unreadable(const struct live_sample *sample)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sample->processes; i++)
		n += sample->process[i].error != 0;
	return value_count(n);
}

/* Empty places count, as in juggle's reports; processes that can't be read do not. */
static struct value count_subdomains(const struct live_sample *sample)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sample->processes; i++)
		n += sample->process[i].error == 0 ? sample->process[i].subdomains : 0;
	return value_count(n);
}

/* As above. */
static struct value count_moves(const struct live_sample *sample)
{
	uint64_t moves = 0;
	bool some = false;

	for (size_t i = 0; i < sample->processes; i++) {
		if (sample->process[i].error != 0)
			continue;
		moves += sample->process[i].moves;
		some = true;
	}
	return some ? value_count(moves) : value_unknown();
}

static struct value since(const struct live_sample *sample, uint64_t then_ns)
{
	if (then_ns == 0)
		return value_unknown();
	return value_rate(((double)sample->now_ns - (double)then_ns) * 1e-9);
}

/* ---- Cells ---- */

/* Only for jobs that juggle wraps. */
static struct value get_wrapped(const struct live_sample *s, size_t column)
{
	switch (column) {
	case HEAD_JUGGLE_PID:
		return s->juggle_pid > 0 ? value_id(s->juggle_pid) : value_unknown();
	case HEAD_JOB_PID:
		return s->job_pid > 0 ? value_id(s->job_pid) : value_unknown();
	case HEAD_ATTACHED:
		return value_bool(s->attached);
	case HEAD_LOST:
		return value_bool(s->lost);
	case HEAD_REGIME:
		return value_text(live_regime_name(s->balancing));
	case HEAD_REASON:
		return value_text(s->reason);
	case HEAD_POLICY:
		return value_text(s->policy);
	case HEAD_PERIOD:
		return value_seconds(s->period_ns);
	case HEAD_SAMPLER:
		return value_text(s->sampler);
	case HEAD_BALANCERS:
		return value_text(s->balancers);
	case HEAD_DOMAINS:
		return value_text(s->domains);
	case HEAD_CPUS:
		return value_count(s->cpus);
	case HEAD_IDLE:
		return value_count(s->idle_threads);
	default:
		return value_unknown();
	}
}

/* A dead balancer no longer has rates. */
static struct value balancer_rate(const struct live_sample *sample, double rate)
{
	return sample->lost ? value_unknown() : value_rate(rate);
}

/* The same, for what its balancer does. */
static struct value get_balancer(const struct live_sample *s, size_t column)
{
	switch (column) {
	case HEAD_MIGRATION_RATE:
		return balancer_rate(s, s->migrations_per_s);
	case HEAD_BALANCER_SHARE:
		return balancer_rate(s, s->balancer_share);
	case HEAD_UNLISTED:
		return value_count(s->unlisted);
	case HEAD_MIGRATIONS:
		return value_count(s->migrations);
	case HEAD_CYCLES:
		return value_count(s->cycles);
	case HEAD_CYCLE_RATE:
		return balancer_rate(s, s->cycles_per_s);
	case HEAD_REGIME_CHANGES:
		return value_count(s->regime_changes);
	case HEAD_HEARTBEAT:
		return since(s, s->heartbeat_ns);
	case HEAD_BALANCED:
		return value_seconds(s->balanced_ns);
	case HEAD_BALANCER_CPU:
		return value_seconds(s->balancer_cpu_ns);
	case HEAD_CYCLE_MEDIAN:
		return value_seconds(s->cycle_median_ns);
	case HEAD_CYCLE_P99:
		return value_seconds(s->cycle_p99_ns);
	case HEAD_CYCLE_MAX:
		return value_seconds(s->cycle_max_ns);
	default:
		return value_unknown();
	}
}

/* For programs that publish progress. */
static struct value get_progress(const struct live_sample *s, size_t column)
{
	bool some = s->subdomains > 0;

	switch (column) {
	case HEAD_PROCESSES:
		return value_count(s->processes);
	case HEAD_UNREADABLE:
		return count_unreadable(s);
	case HEAD_WORKERS:
		return value_count(s->workers);
	case HEAD_SUBDOMAINS:
		return count_subdomains(s);
	case HEAD_HELD:
		return value_count(s->subdomains);
	case HEAD_ITERATION_RATE:
		return value_rate(s->iteration_rate);
	case HEAD_SPREAD:
		return some ? value_count(s->spread) : value_unknown();
	case HEAD_MOVES:
		return count_moves(s);
	default:
		return value_rate(s->moves_per_s);
	}
}

/* What juggle found out about the CPUs. */
static struct value get_cpus(const struct live_sample *s, size_t column)
{
	switch (column) {
	case HEAD_SPEEDS_FROM:
		return value_text(s->speeds_from);
	case HEAD_STOLEN:
		return value_real(live_stolen(s));
	case HEAD_QUOTA:
		return s->quota_cpus > 0 ? value_real(s->quota_cpus) : value_unknown();
	default:
		return value_seconds(s->throttled_ns);
	}
}

/* What runtimes tell of phases. */
static struct value get_phases(const struct live_sample *s, size_t column)
{
	const struct efficiency *e = &s->efficiency;

	if (column == HEAD_NOT_TOLD)
		return value_text(s->not_told);
	if (e->threads == 0 || s->lost)
		return value_unknown();
	switch (column) {
	case HEAD_PHASES:
		return value_count(e->phases);
	case HEAD_PHASE_RATE:
		return value_rate(1 / e->phase_s);
	case HEAD_PHASE:
		return value_real(e->phase_s);
	case HEAD_WORK:
		return value_real(e->work_s);
	case HEAD_PARALLEL:
		return value_real(e->parallel_efficiency);
	case HEAD_LOAD_BALANCE:
		return value_real(e->load_balance);
	case HEAD_COMMUNICATION:
		return value_real(e->communication_efficiency);
	case HEAD_USEFUL:
		return value_real(e->useful_share);
	case HEAD_LOST_CPU:
		return value_real(e->lost_s);
	case HEAD_LOST_SHARE:
		return value_real(e->lost_share);
	case HEAD_WAITED_SHARE:
		return value_real(e->waiting);
	case HEAD_VERDICT:
		return value_text(worth_name(s->verdict));
	default:
		return value_text(s->advice);
	}
}

static struct value get_head(const void *of, size_t column)
{
	const struct sample_row *row = of;
	const struct live_sample *s = row->sample;

	switch (column) {
	case HEAD_TIME:
		return value_id(row->unix_time_ms);
	case HEAD_AGE:
		return since(s, s->start_ns);
	case HEAD_INTERVAL:
		return value_rate(s->interval_s);
	case HEAD_COMMAND:
		return value_text(s->command);
	case HEAD_WRAPPED:
		return value_bool(s->wrapped);
	case HEAD_THREADS:
		return value_count(s->compute_threads);
	case HEAD_AHEAD:
		return count_threads(s, false);
	case HEAD_BEHIND:
		return count_threads(s, true);
	case HEAD_THREAD_SPREAD:
		return value_rate(s->thread_spread_s);
	case HEAD_SHARE:
		return mean_share(s);
	default:
		break;
	}
	if (column >= HEAD_PROCESSES && column < HEAD_SPEEDS_FROM)
		return get_progress(s, column);
	if (!s->wrapped)
		return value_unknown();
	if (column >= HEAD_PHASES)
		return get_phases(s, column);
	if (column >= HEAD_SPEEDS_FROM)
		return get_cpus(s, column);
	return column < HEAD_THREADS || column == HEAD_IDLE ? get_wrapped(s, column)
							    : get_balancer(s, column);
}

static size_t fill_head(const struct live_sample *sample, struct sample_row *row)
{
	(void)sample;
	if (row != NULL)
		row->index = 0;
	return 1;
}

const struct sample_table sample_head = {
	.name = "head",
	.title = "intervals",
	.table = {.column = head_column, .columns = HEAD_COLUMNS, .get = get_head},
	.fill = fill_head,
};
