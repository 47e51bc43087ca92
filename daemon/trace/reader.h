/* SPDX-License-Identifier: MIT */
/*
 * The traces that juggle --trace writes (juggle(1), TRACE FORMAT), read back: by replay, predict and
 * plot. The parser takes a buffer, and trusts nothing in it.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger numbers of CPUs and domains are taken as damage, so that readers may have tables. */
enum { TRACE_OS_CPU_MAX = 65535, TRACE_DOMAINS_MAX = 1024 };
/* Likewise of workers and subdomains: what libprogress takes. */
enum { TRACE_WORKERS_MAX = 65536, TRACE_SUBDOMAINS_MAX = 1048576 };

struct trace_cpu {
	int32_t os_cpu;
	uint32_t domain;
};

/* A thread at a balancing point. tid is above 0; times are below 2^62. Nothing says that a tid is
 * there only once, that the CPU is one of the header's, or that the times fit the period: the kernel
 * may tell of CPU time late. But no thread runs for longer than has passed since the start, nor all of
 * them together for longer than the CPUs were there; that is damage, but for a tenth of a second. */
struct trace_thread {
	int32_t tid;
	int32_t os_cpu; /* -1: left to the kernel */
	int64_t progress_ns;
	uint64_t run_ns, wait_ns;
	bool behind;
};

struct trace_move {
	int32_t tid, from, to; /* os_cpu */
};

struct trace_point {
	uint64_t now_ns;
	uint64_t elapsed_ns; /* since the point before */
	uint32_t domain;
	const struct trace_thread *thread;
	size_t threads;
	const struct trace_move *move;
	size_t moves;
};

struct trace_birth {
	uint64_t now_ns;
	int32_t tid, pid;
	const char *comm;
};

struct trace_regime {
	uint64_t now_ns;
	uint32_t domain;
	bool balance;
	const char *reason;
};

/* Whose the subdomains of a process are, at first and whenever other than by gives. */
struct trace_subdomains {
	uint64_t now_ns;
	int32_t pid, rank;
	uint32_t workers; /* 1 or more */
	const int32_t *owner; /* a worker, or -1: nobody's */
	size_t subdomains; /* 1 or more */
};

/* Nothing says that there is such a subdomain or worker, or that it was the owner. */
struct trace_give {
	uint64_t now_ns;
	int32_t pid;
	uint32_t subdomain, from, to;
};

struct trace_updates {
	uint64_t now_ns;
	int32_t pid;
	const int64_t *updates; /* -1: nobody's */
	size_t subdomains; /* 1 or more; nothing says that they are as many as the process has */
};

/* All of a run. */
struct trace_file {
	/* Header. Strings are owned by the trace. */
	const char *version, *command, *policy, *sampler, *balancers;
	double period_s;
	uint64_t start_ns;
	const struct trace_cpu *cpu; /* at the start */
	size_t cpus;
	/* Records, each kind in the order of the file: that of time, for each domain. */
	const struct trace_point *point;
	size_t points;
	const struct trace_birth *birth;
	size_t births;
	const struct trace_regime *regime;
	size_t regimes;
	const struct trace_subdomains *published;
	size_t publisheds;
	const struct trace_give *give;
	size_t gives;
	const struct trace_updates *sample;
	size_t samples;
	uint64_t cpu_changes; /* `cpus` records */
	uint64_t dropped;
	uint64_t unknown; /* lines of kinds that only later versions of juggle write; skipped */
	bool cut_short; /* the last record is not whole: what came before is there */
	void *memory;
};

/* Where and why something can't be read. */
struct trace_error {
	size_t line; /* from 1; 0: not of a line */
	char text[120];
};

/* Needs memory in proportion to the text, and O(bytes) time. Returns 0 (also when cut short), -EBADMSG
 * (not a trace, or damaged within, with error filled in), -EPROTO (a version that is not known, error
 * likewise) or -ENOMEM. Undone by trace_file_deinit(). */
int trace_parse(
	struct trace_file *trace, const char *text, size_t bytes, struct trace_error *error);
/* Likewise, from a file; also the negative errno of reading it. */
int trace_read(struct trace_file *trace, const char *path, struct trace_error *error);
/* Accepts a zeroed one. */
void trace_file_deinit(struct trace_file *trace);

#endif
