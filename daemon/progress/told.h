/* SPDX-License-Identifier: MIT */
/*
 * What the runtimes of programs tell of their threads: where they wait for each other. libphases
 * writes it into tables (phases.h); this reads them.
 *
 * A job that juggle starts has one table, which juggle makes. With -p each process may have brought
 * its own. Tables are only added, never removed, so that the teams can read while the balancer's
 * main thread adds one.
 *
 * All that is in a table is a hint: whoever writes nonsense gets nonsense, within bounds.
 */
#ifndef JUGGLE_TOLD_H
#define JUGGLE_TOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprogress/phases/phases.h"

#define TOLD_TABLES 64
#define TOLD_NO_ROW (-1)

struct told {
	struct {
		struct phases_table *table;
		pid_t pid; /* of the process that it is about; 0: of the whole job, by juggle */
	} part[TOLD_TABLES];
	_Atomic uint32_t parts;
	uint64_t swept_ns; /* see told_sweep() */
};

/* ---- Tables: only for the balancer's main thread ---- */

/* With the job's table, mapped to be written; NULL: there is none yet. Everybody who looks into a
 * zeroed one finds nothing. */
void told_init(struct told *told, struct phases_table *table);
/* Unmaps the tables that told_add_process() has mapped. */
void told_deinit(struct told *told);

/* Look for a table among the descriptors of a process that has none yet. Returns whether there is
 * one now. Reads at most 4096 descriptors. */
bool told_add_process(struct told *told, pid_t pid);

/* A thread has ended: give back its row of the job's table, in case it could not do so itself. */
void told_free_row(const struct told *told, int32_t row, pid_t pid, pid_t tid);

/* Where the job's table has become full, from time to time give back the rows of threads that have
 * ended before juggle knew their rows. */
void told_sweep(struct told *told, uint64_t now_ns);

/* ---- Threads: for everybody ---- */

struct told_thread {
	pid_t pid, tid;
	int32_t *row; /* where to put the number of its row */
	uint64_t since_ns; /* scratch */
};

/* Has anything to find, or found already, come? Another number than before if so. */
uint32_t told_changes(const struct told *told);

/* Find the rows of n threads, TOLD_NO_ROW for those that have none. Rows once found may be others
 * later, as after exec. Sorts the threads. Takes O((rows + n) log n). */
void told_find(const struct told *told, struct told_thread *thread, size_t n);

/* ---- Bells: struct phases_bell ---- */

struct told_ringer {
	int32_t row; /* TOLD_NO_ROW: left out */
	bool first; /* of the threads of its CPU */
	bool crowded; /* the CPU has other work, too */
};

/* The futex of a bell, or NULL where there is none. */
_Atomic uint32_t *told_bell(const struct told *told, uint32_t bell);

/* Have these threads, CPU by CPU, ring that bell, and those no more that had to. More than there is room for: none. */
void told_hang_bell(
	const struct told *told, uint32_t bell, const struct told_ringer *ringer, size_t n);

struct told_sight {
	uint64_t arrivals; /* phases that it has ended */
	uint64_t useful_ns; /* CPU time outside waits */
	uint64_t done_ns; /* the part of it in the phase under way */
	uint64_t waited_ns; /* elapsed in waits, including one that has not ended */
	bool waits; /* now */
	bool yields; /* in waits, lately */
	bool dynamic; /* work is handed out as threads ask for it */
	bool trusted; /* false: it may have worked while it waited */
};

/* Look at a thread, which at now_ns (CLOCK_MONOTONIC) had used run_ns of CPU time, as far as the
 * kernel has counted it. Returns false, with *out zeroed, where nothing is told of it. Values may
 * decrease between looks, by what the clocks differ. */
bool told_look(const struct told *told, int32_t row, pid_t pid, pid_t tid, uint64_t run_ns,
	uint64_t now_ns, struct told_sight *out);

/* How much the thread of that row may rest, if it is of the job's table: 0, or a constant of phases.h. */
void told_let_rest(const struct told *told, int32_t row, uint8_t resting);

/* ---- The job ---- */

/* What a table tells of all its threads together. Where they are of several processes, that is only their number: some
 * may be gone, and others wait for each other although each shares its own work out. */
struct told_outline {
	uint32_t threads;
	bool early; /* some have ended no phase, or little of the time so far is told of */
	/* Their work is handed out as they ask for it. One of them may do something else meanwhile, between loops. */
	bool dynamic;
	bool sleep; /* they use little of the time in which they wait */
	bool yield; /* where they wait; the last one may not have waited */
	bool alike; /* they need about as much CPU time in a phase */
};

/* At a cost that grows with the rows ever used. table: mapped, of the expected size, or NULL. available_ns: the CPU
 * time that all of them together may have had so far. */
struct told_outline told_outline(const struct phases_table *table, uint64_t available_ns);

/* Let all threads of the job's table rest as much: 0, or a constant of phases.h. NULL: nobody tells. */
void told_let_all_rest(struct phases_table *table, uint8_t resting);

/* Who tells, in any process: a sum of PHASES_ constants. */
uint32_t told_sources(const struct told *told);

/* The same in words: "OpenMP (libgomp), MPI". Writes at most `bytes`. Returns `out`. */
const char *told_sources_text(uint32_t sources, char *out, size_t bytes);

struct told_site {
	char name[96]; /* printable; what waits, and where */
	uint64_t waits, waited_ns;
};

/* All sites where threads have waited, those of a name in one, by time. Returns their number, with
 * *out for the caller to free; 0 where nothing is told, or without memory. */
size_t told_sites(const struct told *told, struct told_site **out);

#endif
