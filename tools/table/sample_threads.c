/* SPDX-License-Identifier: MIT */
/* The tables of threads, and of the CPUs that they run on. */
#include "tools/table/sample.h"

static const struct column thread_column[THREAD_COLUMNS] = {
	[THREAD_RANK] = {"rank", "rank", SHOW_PLAIN, 0, 0},
	[THREAD_PID] = {"pid", "PID", SHOW_PLAIN, 5, 3},
	[THREAD_TID] = {"tid", "TID", SHOW_PLAIN, 5, 0},
	[THREAD_CPU] = {"os_cpu", "CPU", SHOW_PLAIN, 3, 0},
	[THREAD_PLACED] = {"placed", NULL, SHOW_YES, 0, 0},
	[THREAD_DOMAIN] = {"domain", NULL, SHOW_PLAIN, 0, 0},
	[THREAD_STATE] = {"state", "state", SHOW_PLAIN, 6, 2},
	[THREAD_AGE] = {"age_s", NULL, SHOW_NUMBER, 0, 0},
	[THREAD_PROGRESS] = {"progress_s", "CPU s", SHOW_NUMBER, 5, 0},
	[THREAD_SHARE] = {"share", "CPU %", SHOW_PERCENT, 5, 0},
	[THREAD_WAIT] = {"wait_s", NULL, SHOW_NUMBER, 0, 0},
	[THREAD_WAIT_SHARE] = {"wait_share", "wait %", SHOW_PERCENT, 6, 0},
	[THREAD_LEAD] = {"lead_s", "lead ms", SHOW_MS, 7, 0},
	[THREAD_MOVES] = {"migrations", "moves", SHOW_COUNT, 6, 0},
	[THREAD_WORKER] = {"worker", "worker", SHOW_PLAIN, 0, 1},
	[THREAD_UPDATES] = {"updates", NULL, SHOW_COUNT, 0, 0},
	[THREAD_UPDATE_RATE] = {"updates_per_s", "upd./s", SHOW_NUMBER, 6, 0},
	[THREAD_ARRIVALS] = {"arrivals", NULL, SHOW_COUNT, 0, 0},
	[THREAD_PHASE_RATE] = {"phases_per_s", NULL, SHOW_NUMBER, 0, 0},
	[THREAD_USEFUL] = {"useful_s", NULL, SHOW_NUMBER, 0, 0},
	[THREAD_WAITED] = {"waited_s", NULL, SHOW_NUMBER, 0, 0},
	[THREAD_WAITED_SHARE] = {"waited_share", "sync %", SHOW_PERCENT, 6, 0},
	[THREAD_NAME] = {"comm", "name", SHOW_PLAIN, 0, 0},
};

static const char *state_of(const struct live_thread *thread)
{
	if (!thread->compute)
		return "idle";
	return thread->lead_s < 0 ? "behind" : thread->lead_s > 0 ? "ahead" : NULL;
}

/* What its runtime tells. */
static struct value get_told(const struct live_thread *t, size_t column)
{
	switch (column) {
	case THREAD_ARRIVALS:
		return value_count(t->arrivals);
	case THREAD_PHASE_RATE:
		return value_rate(t->phases_per_s);
	case THREAD_USEFUL:
		return value_seconds(t->useful_ns);
	case THREAD_WAITED:
		return value_seconds(t->waited_ns);
	default:
		return value_rate(t->waited_share);
	}
}

static struct value get_thread(const void *of, size_t column)
{
	const struct sample_row *row = of;
	const struct live_thread *t = &row->sample->thread[row->index];
	bool works = t->worker >= 0;
	bool known = !row->sample->lost; /* a dead balancer counts nothing any more */

	switch (column) {
	case THREAD_RANK:
		return value_id(t->rank);
	case THREAD_PID:
		return value_id(t->pid);
	case THREAD_TID:
		return value_id(t->tid);
	case THREAD_CPU:
		return value_id(t->os_cpu);
	case THREAD_PLACED:
		return value_bool(t->placed);
	case THREAD_DOMAIN:
		return value_id(t->domain);
	case THREAD_STATE:
		return value_text(state_of(t));
	case THREAD_AGE:
		return value_rate(((double)row->sample->now_ns - (double)t->since_ns) * 1e-9);
	case THREAD_PROGRESS:
		return value_seconds(t->progress_ns);
	case THREAD_SHARE:
		return known ? value_rate(t->share) : value_unknown();
	case THREAD_WAIT:
		return value_seconds(t->wait_ns);
	case THREAD_WAIT_SHARE:
		return known ? value_rate(t->wait_share) : value_unknown();
	case THREAD_LEAD:
		return value_real(t->lead_s);
	case THREAD_MOVES:
		return row->sample->wrapped ? value_count(t->migrations) : value_unknown();
	case THREAD_WORKER:
		return value_id(t->worker);
	case THREAD_UPDATES:
		return works ? value_count(t->updates) : value_unknown();
	case THREAD_UPDATE_RATE:
		return value_rate(t->updates_per_s);
	case THREAD_NAME:
		return value_text(t->comm);
	default:
		return t->told && known ? get_told(t, column) : value_unknown();
	}
}

static size_t fill_threads(const struct live_sample *sample, struct sample_row *row)
{
	for (size_t i = 0; i < sample->threads && row != NULL; i++)
		row[i].index = i;
	return sample->threads;
}

/* Only threads that compute. */
static size_t fill_compute_threads(const struct live_sample *sample, struct sample_row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->threads; i++) {
		if (!sample->thread[i].compute)
			continue;
		if (row != NULL)
			row[n].index = i;
		n++;
	}
	return n;
}

static const struct sample_sorting thread_sorting[ORDERS] = {
	[ORDER_CPU] = {THREAD_CPU + 1, false},
	[ORDER_LEAD] = {THREAD_LEAD + 1, false},
	[ORDER_MOVES] = {THREAD_MOVES + 1, true},
	[ORDER_RATE] = {THREAD_SHARE + 1, false},
};

const struct sample_table sample_threads = {
	.name = "thread",
	.title = "threads",
	.table = {.column = thread_column, .columns = THREAD_COLUMNS, .get = get_thread},
	.fill = fill_threads,
	.sorting = thread_sorting,
};

const struct sample_table sample_compute_threads = {
	.name = "thread",
	.title = "compute threads",
	.table = {.column = thread_column, .columns = THREAD_COLUMNS, .get = get_thread},
	.fill = fill_compute_threads,
	.sorting = thread_sorting,
};

/* In text, speeds and stolen time are left out where they say nothing. */
enum {
	CPU_NUMBER,
	CPU_DOMAIN,
	CPU_THREADS,
	CPU_SPEED,
	CPU_STOLEN,
	CPU_SPEED_SHOWN,
	CPU_STOLEN_SHOWN,
	CPU_COLUMNS
};

static const struct column cpu_column[CPU_COLUMNS] = {
	[CPU_NUMBER] = {"os_cpu", "CPU", SHOW_PLAIN, 3, 0},
	[CPU_DOMAIN] = {"domain", "domain", SHOW_PLAIN, 0, 0},
	[CPU_THREADS] = {"threads", "threads", SHOW_PLAIN, 0, 0},
	[CPU_SPEED] = {"speed", NULL, SHOW_NUMBER, 0, 0},
	[CPU_STOLEN] = {"stolen", NULL, SHOW_PERCENT, 0, 0},
	[CPU_SPEED_SHOWN] = {NULL, "speed", SHOW_NUMBER, 0, 0},
	[CPU_STOLEN_SHOWN] = {NULL, "stolen %", SHOW_PERCENT, 0, 0},
};

static struct value get_cpu(const void *of, size_t column)
{
	const struct sample_row *row = of;
	const struct live_cpu *cpu = &row->sample->cpu[row->index];

	switch (column) {
	case CPU_NUMBER:
		return value_id(cpu->os_cpu);
	case CPU_DOMAIN:
		return value_id(cpu->domain);
	case CPU_THREADS:
		return value_count(cpu->threads);
	case CPU_SPEED:
		return value_real(cpu->speed);
	case CPU_STOLEN:
		return value_real(cpu->stolen);
	case CPU_SPEED_SHOWN:
		return live_speeds_differ(row->sample) ? value_real(cpu->speed) : value_unknown();
	default:
		return live_stolen(row->sample) > 0 ? value_real(cpu->stolen) : value_unknown();
	}
}

static size_t fill_cpus(const struct live_sample *sample, struct sample_row *row)
{
	for (size_t i = 0; i < sample->cpus && row != NULL; i++)
		row[i].index = i;
	return sample->cpus;
}

const struct sample_table sample_cpus = {
	.name = "cpu",
	.title = "CPUs",
	.table = {.column = cpu_column, .columns = CPU_COLUMNS, .get = get_cpu},
	.fill = fill_cpus,
	.sorting = (const struct sample_sorting[ORDERS]){[ORDER_CPU] = {CPU_NUMBER + 1, false}},
};
