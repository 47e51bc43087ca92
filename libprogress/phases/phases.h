/* SPDX-License-Identifier: MIT */
/*
 * The table of phases: where the threads of a job wait for each other. libphases, a guest in the
 * job's processes, writes it; juggle and others read it.
 *
 * juggle makes one table for its job, a memfd sealed against shrinking, and tells the job in
 * PHASES_ENVIRONMENT where it is. Without juggle each process makes its own, and whoever attaches to
 * the process finds it among its descriptors. A table has no name, so that nothing is left behind
 * when processes crash, fork or execute another program.
 *
 * It is a wire format: fixed widths, offsets pinned below. Each thread has a row and alone writes
 * it. Readers trust nothing in it: they check numbers against the capacities that they know
 * themselves, use a row only for a thread that they know, and take all times as hints.
 */
#ifndef JUGGLE_PHASES_H
#define JUGGLE_PHASES_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PHASES_MAGIC UINT64_C(0x00736573616870) /* "phases", little endian */
#define PHASES_VERSION 5
#define PHASES_ROWS 16384
#define PHASES_SITES 1024
#define PHASES_BELLS 64
#define PHASES_RINGERS 62
#define PHASES_ENVIRONMENT "JUGGLE_PHASES" /* a path, as /proc/4711/fd/5 */
#define PHASES_MEMFD "juggle-phases" /* the name of the memfd */

enum { /* what has been seen in the job: struct phases_header, sources */
	PHASES_OMPT = 1, /* OpenMP: LLVM's, Intel's and AMD's runtimes */
	PHASES_GOMP = 2, /* OpenMP: libgomp */
	PHASES_MPI = 4,
	PHASES_PTHREAD = 8, /* pthread_barrier_wait() */
	PHASES_OWN = 16, /* barriers of its own: waits.h */
};

enum { /* struct phases_row, flags */
	/* Its process has run explicit tasks, perhaps while it waited: waits don't show progress. */
	PHASES_TASKS = 1,
	/* In its last wait of 50 us or more it yielded time and again. */
	PHASES_YIELDS = 2,
	/* In this phase, or the last one while it waits, work is handed out as threads ask for it, as by OpenMP's dynamic
	 * and guided loops: what a thread needs in a phase is what it gets. */
	PHASES_DYNAMIC = 4,
};

enum { /* struct phases_table, resting */
	/* Of very short waits the thread may tell a few that stand for all. */
	PHASES_RESTS = 1,
	/* Of waits of any length it may tell a few that stand for all of some milliseconds. */
	PHASES_RESTS_MORE = 2,
};

/* A thread. It works, arrives somewhere and waits, departs and works again. What it works between two
 * arrivals is a phase. Waits after little work, and those that may be over at once, end none. */
struct phases_row {
	/* 0: the row is free. Taken by compare-and-swap from 0 to the thread's tid; set to 0 by the
	 * thread at its end, or by juggle when the thread is gone. */
	alignas(64) _Atomic uint32_t tid;
	_Atomic uint32_t pid; /* written last, set to 0 first: while it is 0, the row is not used */
	_Atomic uint64_t arrivals; /* phases that it has ended */
	/* How often it has begun and ended to wait, and to write here what has changed by that: modulo 4, it
	 * works, arrives, waits, departs. While it rests, it also waits at 0. */
	_Atomic uint32_t turns;
	_Atomic uint16_t site; /* where it waits, or last did: an index */
	_Atomic uint16_t flags;
	/* Times are brought up to date at a turn, unless they were less than some 100 to 500 us before: clocks
	 * cost too much beside phases of microseconds. What has passed since then is not lost, but added
	 * the next time. A thread that rests does so when it tells again. */
	_Atomic uint64_t since_ns; /* CLOCK_MONOTONIC then */
	_Atomic uint64_t waited_ns; /* elapsed in waits */
	_Atomic uint64_t turn_cpu_ns; /* CPU time of the thread then */
	/* The part of it outside waits. At an arrival perhaps a guess, which the departure puts right: it may
	 * go down. */
	_Atomic uint64_t useful_ns;
	_Atomic uint64_t before_ns; /* useful_ns when the phase began */
};

/* A place in the program where threads wait. Sites of equal names in several processes are one; when
 * two processes add one at the same time, it may be there twice. */
struct phases_site {
	_Atomic uint64_t address; /* 0: free. Taken by compare-and-swap */
	_Atomic uint32_t pid; /* of the process that has added it: the address is one of its */
	_Atomic uint32_t named; /* 1: name is complete */
	_Atomic uint64_t waits; /* these two are as late as the times of rows */
	_Atomic uint64_t waited_ns;
	/* What waits, and where: "MPI_Allreduce in step+0x12e", "barrier in a.out+0x1204".
	 * Terminated. */
	char name[96];
};

struct phases_header {
	/* Set at creation: */
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint64_t size_bytes; /* of the file */
	uint32_t rows, sites; /* capacities */
	uint32_t row_bytes, site_bytes;
	/* The process that has made it for itself: a child has its descriptor, too, until it closes it.
	 * 0: it is juggle's. */
	uint32_t pid;
	/* Live: */
	alignas(64) _Atomic uint32_t rows_used; /* ever; no row from here on has been taken */
	_Atomic uint32_t changes; /* counted up when a row is taken */
	_Atomic uint32_t sources; /* a sum of PHASES_ constants */
	_Atomic uint32_t sites_used; /* no site from here on has been taken */
};

/* struct phases_bell, ringer: a row, and */
#define PHASES_RINGER_ROW UINT32_C(0xffff)
#define PHASES_RINGER_FIRST (UINT32_C(1) << 31) /* the threads of another CPU begin with this one */
#define PHASES_RINGER_CROWDED (UINT32_C(1) << 30) /* its CPU has other work, too */

/* Juggle, which alone writes this part of its table, asks to be called when a CPU runs dry: when the last of
 * its threads arrives, and another CPU has several at work. Hints, as all else. */
struct phases_bell {
	/* A futex that juggle waits on, counted up by the thread that arrives. */
	alignas(64) _Atomic uint32_t rings;
	_Atomic uint32_t ringers; /* 0: juggle does not ask */
	_Atomic uint32_t ringer[PHASES_RINGERS]; /* the threads of the CPUs, CPU by CPU */
};

/* Site 0 stands for all for which there was no room. */
struct phases_table {
	struct phases_header header;
	struct phases_row row[PHASES_ROWS];
	struct phases_site site[PHASES_SITES];
	struct phases_bell bell[PHASES_BELLS];
	_Atomic uint8_t bell_of[PHASES_ROWS]; /* that its thread may have to ring, + 1; 0: none */
	/* Juggle's: while little or nothing depends on the thread's times, a PHASES_ constant. 0: it tells all waits. */
	_Atomic uint8_t resting[PHASES_ROWS];
};

static_assert(sizeof(struct phases_row) == 64, "layout");
static_assert(offsetof(struct phases_row, turns) == 16, "layout");
static_assert(offsetof(struct phases_row, since_ns) == 24, "layout");
static_assert(PHASES_SITES <= UINT16_MAX, "an index has 16 bits");
static_assert(sizeof(struct phases_site) == 128, "layout");
static_assert(offsetof(struct phases_site, name) == 32, "layout");
static_assert(offsetof(struct phases_header, pid) == 40, "layout");
static_assert(offsetof(struct phases_header, rows_used) == 64, "layout");
static_assert(sizeof(struct phases_header) == 128, "layout");
static_assert(sizeof(struct phases_bell) == 256, "layout");
static_assert(PHASES_ROWS - 1 <= PHASES_RINGER_ROW && PHASES_BELLS < UINT8_MAX, "numbers fit");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared by processes");

#endif
