/* SPDX-License-Identifier: MIT */
/*
 * The tables of a sample, for stat and top: the whole, its CPUs, threads, processes and subdomains.
 *
 * Functions are pure unless they say otherwise.
 */
#ifndef TABLE_SAMPLE_H
#define TABLE_SAMPLE_H

#include "tools/live/live.h"
#include "tools/table/table.h"

/* The subject of a line of a table. */
struct sample_row {
	const struct live_sample *sample;
	int64_t unix_time_ms; /* when the sample was taken */
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

/* How a table is sorted for an order. */
struct sample_sorting {
	int column; /* its index plus 1; 0: not sorted */
	bool down; /* the largest first */
};

struct sample_table {
	const char *name; /* its key in JSON */
	const char *title; /* the name of its rows in text */
	struct table table; /* of rows of struct sample_row */
	/* Sets sample, index and place of each row, unless row is NULL. Returns the number of
	 * rows. */
	size_t (*fill)(const struct live_sample *sample, struct sample_row *row);
	const struct sample_sorting *sorting; /* by enum sample_order; NULL: not sorted */
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
	THREAD_ARRIVALS,
	THREAD_PHASE_RATE,
	THREAD_USEFUL,
	THREAD_WAITED,
	THREAD_WAITED_SHARE,
	THREAD_NAME,
	THREAD_COLUMNS,
};

extern const struct sample_table sample_head; /* one row: the whole */
extern const struct sample_table sample_compute_threads; /* without those that are idle */
extern const struct sample_table sample_cpus, sample_threads, sample_processes, sample_subdomains;

/* All rows in order. free() *out. Returns 0 or -ENOMEM. Not pure, as it allocates. */
int sample_rows(const struct sample_table *table, const struct live_sample *sample,
	int64_t unix_time_ms, enum sample_order order, struct sample_row **out, size_t *n);

/* Why nothing is known of a process, from its error; NULL without one. */
const char *sample_trouble(const struct live_process *process);

#endif
