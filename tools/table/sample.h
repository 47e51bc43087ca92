/* SPDX-License-Identifier: MIT */
/*
 * What stat lists of a sample, and top shows of its threads: the tables of the whole, its CPUs, threads,
 * processes and subdomains.
 *
 * Functions are pure unless they say otherwise.
 */
#ifndef TABLE_SAMPLE_H
#define TABLE_SAMPLE_H

#include "tools/live/live.h"
#include "tools/table/table.h"

/* What a line of a table is about. */
struct sample_row {
	const struct live_sample *sample;
	int64_t unix_time_ms; /* when that was taken */
	size_t index; /* of a CPU, thread or process */
	size_t place; /* of a subdomain in its process */
	double sort;
};

enum sample_order {
	ORDER_RANK, /* by rank, pid, tid and number */
	ORDER_CPU,
	ORDER_LEAD, /* the furthest behind first */
	ORDER_MOVES, /* the most moved first */
	ORDER_RATE, /* the slowest first */
	ORDERS,
};

extern const char *const sample_order_name[ORDERS];

/* By what a table is sorted for an order. */
struct sample_sorting {
	int column; /* 1 more than its place; 0: as it is */
	bool down; /* the largest first */
};

struct sample_table {
	const char *name; /* its key in JSON */
	const char *title; /* what its rows are called in text */
	struct table table; /* of rows of struct sample_row */
	/* Sets sample, index and place of each row, unless row is NULL. Returns how many there are. */
	size_t (*fill)(const struct live_sample *sample, struct sample_row *row);
	const struct sample_sorting *sorting; /* by enum sample_order; NULL: as it is */
};

/* The columns of sample_threads. */
enum sample_thread {
	THREAD_RANK,
	THREAD_PID,
	THREAD_TID,
	THREAD_CPU,
	THREAD_PLACED,
	THREAD_DOMAIN,
	THREAD_STATE,
	THREAD_AGE,
	THREAD_PROGRESS,
	THREAD_SHARE,
	THREAD_WAIT,
	THREAD_WAIT_SHARE,
	THREAD_LEAD,
	THREAD_MOVES,
	THREAD_WORKER,
	THREAD_UPDATES,
	THREAD_UPDATE_RATE,
	THREAD_NAME,
	THREAD_COLUMNS,
};

extern const struct sample_table sample_head; /* one row: the whole */
extern const struct sample_table sample_compute_threads; /* without those that are idle */
extern const struct sample_table sample_cpus, sample_threads, sample_processes, sample_subdomains;

/* All rows in order; free() them. Returns 0 or -ENOMEM. Not pure, as it allocates. */
int sample_rows(const struct sample_table *table, const struct live_sample *sample,
	int64_t unix_time_ms, enum sample_order order, struct sample_row **out, size_t *n);

/* Why nothing is known of a process, by its error; NULL when there is none. */
const char *sample_trouble(const struct live_process *process);

#endif
