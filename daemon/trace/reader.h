/* SPDX-License-Identifier: MIT */
/*
 * Reading the traces that juggle --trace writes (juggle(1), TRACE FORMAT), for replay, predict and
 * plot. The parser takes a buffer and trusts nothing in it.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/policy.h"
#include "daemon/trace/format.h"

struct trace_cpu {
	int32_t os_cpu;
	uint32_t domain;
	int32_t core; /* CPUs with the same share one */
	uint32_t speed; /* 1 to TRACE_SPEED_MAX */
	int32_t cache; /* CPUs with the same share one */
};

/* A thread in an interval. tid is above 0; times and counts are below 2^62. The parser does not
 * check that a tid is there only once, that the CPU is a recorded one, or that the times fit the
 * period, as the kernel may count CPU time late. It does check that no thread ran for longer than
 * the time since the start, nor all threads together for longer than the CPUs existed: more than a
 * tenth of a second beyond that is damage. */
struct trace_thread {
	int32_t tid;
	int32_t os_cpu; /* -1: left to the kernel */
	int64_t progress_ns; /* of compute threads */
	uint64_t run_ns, wait_ns, slices, work; /* since the last look at it */
	uint64_t left_ns; /* of run_ns, before its last move */
	uint64_t sleeps, updates; /* totals */
	uint64_t arrivals, useful_ns; /* totals, where news has POLICY_PHASES */
	uint64_t done_ns; /* the part of useful_ns in the phase under way */
	bool waits, yields, dynamic;
	bool ready; /* where news has POLICY_STATE: it was seen to be ready to run, not to sleep */
	uint8_t news; /* enum policy_news: what was sampled */
	uint8_t rule, role; /* enum policy_rule, enum policy_role */
	bool behind;
};

/* From or to -1: the kernel places the thread. */
struct trace_move {
	int32_t tid, from, to; /* os_cpu */
};

struct trace_handover {
	int32_t tid;
	uint32_t domain; /* the one that gets it */
};

struct trace_newcomer {
	int32_t tid;
	bool assigned; /* another domain handed it over */
};

/* An interval of a domain: the observation and the decision. */
struct trace_point {
	uint64_t now_ns;
	uint64_t elapsed_ns; /* since the interval before */
	uint64_t cost_ns; /* CPU time that the interval before took; 0: not recorded */
	uint32_t domain;
	bool members; /* all threads were sampled */
	bool may_hand_over;
	bool rung; /* because a CPU ran dry */
	const uint32_t *load; /* compute threads of each domain; NULL: not recorded */
	size_t loads;
	const uint32_t *neighbours; /* by CPU of the domain; NULL: as before */
	size_t neighbour_cpus;
	bool beside_changed;
	uint32_t beside; /* threads of other jobs, where that changed */
	const uint32_t *stolen; /* by CPU of the domain, in thousandths; NULL: as before */
	size_t stolen_cpus;
	const uint32_t *ticked; /* by CPU of the domain: did its ticker run? NULL: none did */
	size_t ticked_cpus;
	const struct trace_thread *thread; /* all compute threads */
	size_t threads;
	const struct trace_thread *other; /* others with news */
	size_t others;
	const struct trace_newcomer *newcomer; /* threads that are new to the policy, in order */
	size_t newcomers;
	const struct trace_move *move; /* from CPU to CPU */
	size_t moves;
	const struct trace_move *change; /* to or from the kernel */
	size_t changes;
	const struct trace_handover *handover;
	size_t handovers;
	bool slices_changed, short_slices; /* short_slices: where they changed */
	uint64_t period_ns, wait_ns; /* until the next interval, without and with jitter */
	uint64_t ticks; /* how many CPUs get a ticker */
	bool balance; /* the regime */
	const char *reason;
};

/* A domain begins: at the start, and again when the CPUs have changed. */
struct trace_team {
	uint64_t now_ns;
	uint32_t domain, domains;
	uint64_t seed;
	bool by_work, tickers, bells, slices;
	size_t first_cpu, cpus; /* in trace->cpu: all CPUs from now on, of all domains */
	size_t first_point; /* in trace->point: no earlier one belongs to it */
};

struct trace_birth {
	uint64_t now_ns;
	int32_t tid, pid;
	const char *comm;
};

/* A thread was found to have another name than before. */
struct trace_name {
	uint64_t now_ns;
	int32_t tid; /* unchecked: whether it was born */
	const char *comm;
};

/* The regime of a domain, or its reason, has changed. */
struct trace_regime {
	uint64_t now_ns;
	uint32_t domain;
	bool balance;
	const char *reason;
};

/* The owners of a process' subdomains: at first, and when they changed other than by gives. */
struct trace_subdomains {
	uint64_t now_ns;
	int32_t pid, rank;
	uint32_t workers; /* 1 or more */
	const int32_t *owner; /* a worker, or -1: nobody's */
	size_t subdomains; /* 1 or more */
};

/* Unchecked: whether the subdomain and the workers exist, and whether `from` was the owner. */
struct trace_give {
	uint64_t now_ns;
	int32_t pid;
	uint32_t subdomain, from, to;
};

/* Who holds a process' subdomains, where that isn't their owners; and when it is so again. */
struct trace_holders {
	uint64_t now_ns;
	int32_t pid;
	const int32_t *holder; /* a worker, or -1: nobody; unchecked: whether the worker exists */
	size_t subdomains; /* as in trace_updates */
};

struct trace_updates {
	uint64_t now_ns;
	int32_t pid;
	const int64_t *updates; /* -1: nobody's */
	size_t subdomains; /* 1 or more; unchecked: whether the process has as many */
};

/* A whole run. */
struct trace_file {
	/* Header. Strings are owned by the trace. */
	const char *version, *command, *policy, *sampler, *balancers, *domains;
	double period_s, jitter;
	bool period_auto, always;
	uint64_t margin_ns;
	uint32_t expected; /* -n; 0: not given */
	uint64_t start_ns;
	const struct trace_cpu *cpu; /* those at the start, then those of later times, see team */
	size_t cpus; /* at the start */
	const struct trace_team *team;
	size_t teams;
	/* Records, each kind in the order of the file: that of time, for each domain. */
	const struct trace_point *point;
	size_t points;
	const struct trace_birth *birth;
	size_t births;
	const struct trace_name *name;
	size_t names;
	const struct trace_regime *regime;
	size_t regimes;
	const struct trace_subdomains *published;
	size_t publisheds;
	const struct trace_give *give;
	size_t gives;
	const struct trace_holders *held;
	size_t helds;
	const struct trace_updates *sample;
	size_t samples;
	uint64_t cpu_changes; /* how often the CPUs changed */
	uint64_t dropped;
	uint64_t unknown; /* lines of kinds that only later versions write; skipped */
	bool cut_short; /* the last record is not whole, and left out */
	void *memory;
};

/* Where a trace is damaged, and how. */
struct trace_error {
	size_t line; /* from 1; 0: not of a line */
	char text[120];
};

/* Parse a text in O(bytes) time and memory. Returns 0 (also when cut short), -EBADMSG (not a trace,
 * or damaged), -EPROTO (an unknown version) or -ENOMEM. The first two errors fill in `error`.
 * trace_file_deinit() frees what it allocates. */
int trace_parse(
	struct trace_file *trace, const char *text, size_t bytes, struct trace_error *error);
/* Likewise, from a file. Also returns a negative errno of reading it. */
int trace_read(struct trace_file *trace, const char *path, struct trace_error *error);
/* Accepts a zeroed one. */
void trace_file_deinit(struct trace_file *trace);

#endif
