/* SPDX-License-Identifier: MIT */
/* The tables of the processes that publish progress, and of their subdomains. */
#include "tools/table/sample.h"

#include <errno.h>
#include <string.h>

#include "libprogress/progress.h"

/* ---- Processes ---- */

enum {
	PROCESS_RANK,
	PROCESS_PID,
	PROCESS_WORKERS,
	PROCESS_SUBDOMAINS,
	PROCESS_HELD,
	PROCESS_BALANCING,
	PROCESS_BALANCER,
	PROCESS_BALANCER_PID,
	PROCESS_POINTS,
	PROCESS_MOVES,
	PROCESS_MOVE_RATE,
	PROCESS_UPDATES,
	PROCESS_LEAST,
	PROCESS_MOST,
	PROCESS_MEAN,
	PROCESS_SPREAD,
	PROCESS_RATE,
	PROCESS_AGE,
	PROCESS_TROUBLE,
	PROCESS_COMMAND,
	PROCESS_COLUMNS,
};

static const struct column process_column[PROCESS_COLUMNS] = {
	[PROCESS_RANK] = {"rank", "rank", SHOW_PLAIN, 0, 0},
	[PROCESS_PID] = {"pid", "PID", SHOW_PLAIN, 5, 0},
	[PROCESS_WORKERS] = {"workers", "workers", SHOW_COUNT, 0, 0},
	[PROCESS_SUBDOMAINS] = {"subdomains", NULL, SHOW_COUNT, 0, 0},
	[PROCESS_HELD] = {"held", "subd.", SHOW_COUNT, 0, 0},
	[PROCESS_BALANCING] = {"balancing", "mode", SHOW_PLAIN, 0, 1},
	[PROCESS_BALANCER] = {"balancer", "by", SHOW_PLAIN, 0, 0},
	[PROCESS_BALANCER_PID] = {"balancer_pid", NULL, SHOW_PLAIN, 0, 0},
	[PROCESS_POINTS] = {"points", "points", SHOW_COUNT, 6, 2},
	[PROCESS_MOVES] = {"moves", "moves", SHOW_COUNT, 6, 3},
	[PROCESS_MOVE_RATE] = {"moves_per_s", "moves/s", SHOW_NUMBER, 0, 0},
	[PROCESS_UPDATES] = {"updates", NULL, SHOW_COUNT, 0, 0},
	[PROCESS_LEAST] = {"updates_least", NULL, SHOW_COUNT, 0, 0},
	[PROCESS_MOST] = {"updates_most", NULL, SHOW_COUNT, 0, 0},
	[PROCESS_MEAN] = {"updates_mean", NULL, SHOW_NUMBER, 0, 0},
	[PROCESS_SPREAD] = {"spread", "spread", SHOW_COUNT, 6, 0},
	[PROCESS_RATE] = {"iterations_per_s", "iter./s", SHOW_NUMBER, 6, 0},
	[PROCESS_AGE] = {"age_s", NULL, SHOW_NUMBER, 0, 0},
	[PROCESS_TROUBLE] = {"trouble", NULL, SHOW_PLAIN, 0, 0},
	[PROCESS_COMMAND] = {"command", "command", SHOW_PLAIN, 0, 4},
};

const char *sample_trouble(const struct live_process *process)
{
	switch (process->error) {
	case 0:
		return NULL;
	case -EPROTO:
		return "its segment is of another version of libprogress";
	case -EBADMSG:
		return "its segment is damaged";
	case -EPERM:
	case -EACCES:
		return "its segment may not be read by this user";
	case -ESRCH:
	case -ENOENT:
		return "it has ended, or closed its segment";
	case -EAGAIN:
		return "its segment is not filled in yet";
	case -ENOMEM:
		return "there is no memory for what its segment holds";
	case -E2BIG:
		return "the job has more subdomains or workers than can be shown: 4194304, 262144";
	case -EMFILE:
	case -ENFILE:
		return "too many files are open to read its segment";
	default:
		return "its segment cannot be read";
	}
}

static const char *balancer_of(const struct sample_row *row, const struct live_process *process)
{
	if (process->error != 0)
		return NULL;
	if (process->balancer_pid == process->pid)
		return "itself";
	/* libprogress's own threads are the balancer for one point at a time only. */
	if (process->balancer_pid == 0)
		return process->points > 0 ? "itself" : "nobody";
	if (row->sample->wrapped)
		return "juggle";
	return "other";
}

static double age_of(const struct sample_row *row, const struct live_process *process)
{
	return ((double)row->sample->now_ns - (double)process->created_ns) * 1e-9;
}

/* Cells that are known only when the segment could be read. */
static struct value get_published(
	const struct sample_row *row, const struct live_process *p, size_t column)
{
	switch (column) {
	case PROCESS_WORKERS:
		return value_count(p->workers);
	case PROCESS_HELD:
		return value_count(p->held);
	case PROCESS_SUBDOMAINS:
		return value_count(p->subdomains);
	case PROCESS_BALANCING:
		return value_text(progress_reader_balancing(p->asked));
	case PROCESS_BALANCER_PID:
		return p->balancer_pid > 0 ? value_id(p->balancer_pid) : value_unknown();
	case PROCESS_POINTS:
		return value_count(p->points);
	case PROCESS_MOVES:
		return value_count(p->moves);
	case PROCESS_MOVE_RATE:
		return value_rate(p->moves_per_s);
	case PROCESS_UPDATES:
		return value_count(p->updates);
	case PROCESS_LEAST:
		return p->held > 0 ? value_count(p->least) : value_unknown();
	case PROCESS_MOST:
		return p->held > 0 ? value_count(p->most) : value_unknown();
	case PROCESS_MEAN:
		return p->held > 0 ? value_rate(p->mean) : value_unknown();
	case PROCESS_SPREAD:
		return p->held > 0 ? value_count(p->spread) : value_unknown();
	case PROCESS_RATE:
		return value_rate(p->iteration_rate);
	default:
		return value_rate(age_of(row, p));
	}
}

static struct value get_process(const void *of, size_t column)
{
	const struct sample_row *row = of;
	const struct live_process *p = &row->sample->process[row->index];

	switch (column) {
	case PROCESS_RANK:
		return value_id(p->rank);
	case PROCESS_PID:
		return value_id(p->pid);
	case PROCESS_BALANCER:
		return value_text(balancer_of(row, p));
	case PROCESS_TROUBLE:
		return value_text(sample_trouble(p));
	case PROCESS_COMMAND:
		return value_text(p->command);
	default:
		return p->error == 0 ? get_published(row, p, column) : value_unknown();
	}
}

static size_t fill_processes(const struct live_sample *sample, struct sample_row *row)
{
	for (size_t i = 0; i < sample->processes && row != NULL; i++)
		row[i].index = i;
	return sample->processes;
}

const struct sample_table sample_processes = {
	.name = "progress",
	.title = "processes that publish progress",
	.table = {.column = process_column, .columns = PROCESS_COLUMNS, .get = get_process},
	.fill = fill_processes,
	.sorting = (const struct sample_sorting[ORDERS]){[ORDER_LEAD] = {PROCESS_MEAN + 1, false},
		[ORDER_MOVES] = {PROCESS_MOVES + 1, true},
		[ORDER_RATE] = {PROCESS_RATE + 1, false}},
};

/* ---- Subdomains ---- */

enum {
	SUBDOMAIN_RANK,
	SUBDOMAIN_PID,
	SUBDOMAIN_NUMBER,
	SUBDOMAIN_UPDATES,
	SUBDOMAIN_UPDATE_RATE,
	SUBDOMAIN_LAG,
	SUBDOMAIN_ITERATION,
	SUBDOMAIN_RESIDUAL,
	SUBDOMAIN_OWNER,
	SUBDOMAIN_HOLDER,
	SUBDOMAIN_MOVING,
	SUBDOMAIN_TORN,
	SUBDOMAIN_COLUMNS,
};

static const struct column subdomain_column[SUBDOMAIN_COLUMNS] = {
	[SUBDOMAIN_RANK] = {"rank", "rank", SHOW_PLAIN, 0, 0},
	[SUBDOMAIN_PID] = {"pid", "PID", SHOW_PLAIN, 5, 1},
	[SUBDOMAIN_NUMBER] = {"subdomain", "subdomain", SHOW_PLAIN, 0, 0},
	[SUBDOMAIN_UPDATES] = {"updates", "updates", SHOW_PLAIN, 0, 0},
	[SUBDOMAIN_UPDATE_RATE] = {"updates_per_s", "upd./s", SHOW_NUMBER, 6, 0},
	[SUBDOMAIN_LAG] = {"lag", "lag", SHOW_NUMBER, 6, 0},
	[SUBDOMAIN_ITERATION] = {"iteration", "iteration", SHOW_PLAIN, 0, 0},
	[SUBDOMAIN_RESIDUAL] = {"residual", "residual", SHOW_RESIDUAL, 9, 0},
	[SUBDOMAIN_OWNER] = {"owner", "owner", SHOW_PLAIN, 0, 0},
	[SUBDOMAIN_HOLDER] = {"holder", "holder", SHOW_PLAIN, 0, 0},
	[SUBDOMAIN_MOVING] = {"moving", "moving", SHOW_YES, 0, 0},
	[SUBDOMAIN_TORN] = {"torn", NULL, SHOW_YES, 0, 0},
};

static struct value get_subdomain(const void *of, size_t column)
{
	const struct sample_row *row = of;
	const struct live_process *p = &row->sample->process[row->index];
	const struct progress_subdomain_view *s = &p->subdomain[row->place];
	bool owned = s->owner != UINT32_MAX;

	switch (column) {
	case SUBDOMAIN_RANK:
		return value_id(p->rank);
	case SUBDOMAIN_PID:
		return value_id(p->pid);
	case SUBDOMAIN_NUMBER:
		return value_count(row->place);
	case SUBDOMAIN_UPDATES:
		return value_count(s->updates);
	case SUBDOMAIN_UPDATE_RATE:
		return p->updates_per_s != NULL ? value_rate(p->updates_per_s[row->place])
						: value_unknown();
	case SUBDOMAIN_LAG:
		return value_real(p->mean - (double)s->updates);
	case SUBDOMAIN_ITERATION:
		return value_count(s->iteration);
	case SUBDOMAIN_RESIDUAL:
		return value_real(s->residual);
	case SUBDOMAIN_OWNER:
		return owned ? value_count(s->owner) : value_unknown();
	case SUBDOMAIN_HOLDER:
		return value_count(s->holder);
	case SUBDOMAIN_MOVING:
		return owned ? value_bool(s->owner != s->holder) : value_unknown();
	default:
		return value_bool(s->torn);
	}
}

/* Empty places are not subdomains. */
static size_t fill_subdomains(const struct live_sample *sample, struct sample_row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->processes; i++) {
		const struct live_process *process = &sample->process[i];
		for (size_t k = 0; k < process->subdomains && process->subdomain != NULL; k++) {
			if (process->subdomain[k].holder == PROGRESS_NOBODY)
				continue;
			if (row != NULL) {
				row[n].index = i;
				row[n].place = k;
			}
			n++;
		}
	}
	return n;
}

const struct sample_table sample_subdomains = {
	.name = "subdomain",
	.title = "subdomains",
	.table = {.column = subdomain_column, .columns = SUBDOMAIN_COLUMNS, .get = get_subdomain},
	.fill = fill_subdomains,
	.sorting = (const struct sample_sorting[ORDERS]){[ORDER_LEAD] = {SUBDOMAIN_LAG + 1, true},
		[ORDER_RATE] = {SUBDOMAIN_UPDATE_RATE + 1, false}},
};
