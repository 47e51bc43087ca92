/* SPDX-License-Identifier: MIT */
/*
 * What runs on this machine, for list, clean, stat and top: the segments of juggle and of libprogress,
 * and what they hold at a moment.
 *
 * Nothing in a segment is trusted, and none is opened for writing. All strings that are handed out are
 * valid UTF-8 without control characters, so that they may be printed. Functions return 0 or a negative
 * errno code unless they say otherwise; different objects may be used by different threads. Times are
 * nanoseconds, and moments those of CLOCK_MONOTONIC, unless a name says otherwise.
 */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprogress/reader/reader.h"

enum { LIVE_COMMAND_BYTES = 256, LIVE_COMM_BYTES = 16 * 3 + 1 };

/* ---- Which there are ---- */

enum live_kind {
	LIVE_JOB, /* of juggle: a wrapped job */
	LIVE_PROGRESS, /* of libprogress: one process */
};

enum live_state {
	LIVE_RUNS,
	LIVE_STARTING, /* not filled in yet */
	LIVE_STALE, /* its process is gone, and nobody has it open to write: to be removed */
	LIVE_UNSEEN, /* no such process is seen from here, but somebody has it open, a child that
	              * outlived it or a process of another PID namespace; or it isn't told
	              * whether somebody has */
	LIVE_FOREIGN, /* another user's: cannot be read */
	LIVE_OTHER_VERSION,
	LIVE_DAMAGED, /* its process is there, but it is no segment, or not one that it may have */
};

struct live_entry {
	enum live_kind kind;
	enum live_state state;
	uid_t uid;
	pid_t pid; /* of juggle, or of the process */
	char path[64];
	uint64_t bytes, inode;
	uint32_t version; /* of LIVE_OTHER_VERSION, where it tells */
	char command[LIVE_COMMAND_BYTES]; /* "": not known */
	double age_s; /* since juggle started, or the program created it; NAN: not known */

	/* A job that can be read: */
	pid_t job_pid; /* 0: not started yet */
	bool attached; /* juggle -p */
	bool lost; /* its balancer died */
	bool balancing; /* else aside */
	char policy[16];
	uint32_t threads, idle_threads, cpus;

	/* Progress that can be read: */
	int32_t rank; /* -1: none told */
	uint32_t workers, subdomains;
	uint32_t asked; /* for what balancing: enum progress_balancing */
	pid_t balancer_pid; /* who balances now; 0: nobody */
	pid_t juggle_pid; /* of the job, of the same user, that it belongs to; 0: none */
	pid_t launcher_pid; /* belongs to none, and is a rank: the parent of all ranks; else 0 */
};

/* "runs", "starting", "stale" ... */
const char *live_state_name(enum live_state state);

/* Of what juggle does with the threads, "balance" or "aside": as in its reports. */
const char *live_regime_name(bool balancing);

/* All segments, jobs first, each kind by uid and pid. free() the array. -ENOMEM, -EMFILE, -ENFILE, or what
 * reading /dev/shm failed with. */
int live_list(struct live_entry **out, size_t *n);

/* Remove a segment that is stale. It is looked at again: -EBUSY when it is not stale (any more), or
 * another has taken its name; -ENOENT, -EACCES, -EPERM. */
int live_remove(const struct live_entry *entry);

/* Those of them that live_open() opens, each job once: what juggle wraps, and, where juggle isn't there,
 * each process that publishes, or of the ranks below one launcher the first. Errors as live_list(). */
int live_choices(struct live_entry **out, size_t *n);

/* ---- One of them ---- */

/* What is watched: a wrapped job with all its processes that publish progress; or, where juggle
 * isn't there, a process that does, with those that started with it. */
struct live_job;

struct live_error {
	char text[200]; /* one sentence that says what to do */
};

/* Let this process open as many files as it may at all: a job may have more processes than the usual
 * 1,024, each with a segment. Not for programs that start others, which would inherit it. */
void live_open_many(void);

/* Open a job. name is the pid of juggle, of the command, of any process of theirs, or of one above
 * them (mpirun, a shell); or the name of the command's file; NULL is the only one that the caller can read.
 * Returns 0; -ENOENT (there is none), -ENOTUNIQ (several: the text lists some), or another errno; then
 * error says why. */
int live_open(const char *name, struct live_job **out, struct live_error *error);
/* Accepts NULL. */
void live_close(struct live_job *job);

/* ---- What it does at a moment ---- */

struct live_cpu {
	int32_t os_cpu; /* not negative, and each once */
	int32_t domain; /* 0 to 1023 */
	uint32_t threads; /* compute threads that are there */
};

struct live_thread {
	pid_t tid, pid;
	char comm[LIVE_COMM_BYTES];
	int32_t rank; /* of its process; -1: none */
	int32_t os_cpu; /* where it is placed or, left to the kernel, ran last; -1: not known */
	bool placed;
	bool compute; /* else idle: left alone */
	int32_t domain; /* of its CPU among those of juggle; -1: none */
	uint64_t since_ns; /* when juggle met it; unwrapped: when it began */
	uint64_t progress_ns; /* CPU time since then */
	int64_t balance_ns; /* what juggle decides by: of late threads set to the mean, with leads
	                     * forgotten by and by; unwrapped: progress_ns */
	uint64_t wait_ns; /* ready to run, without a CPU */
	uint64_t migrations; /* moves by juggle */
	int32_t process; /* index in the sample's processes; -1: its process publishes nothing */
	int32_t worker; /* its number as a worker there; -1: it is none */
	uint64_t updates; /* of subdomains, as a worker */
	/* Worked out by live_compare(): */
	double share; /* of a CPU, 0 to 1 or little more */
	double wait_share; /* of the time, ready and without a CPU */
	/* balance_ns beyond the mean of the compute threads of its domain, or, unwrapped, its process:
	 * above 0 it is ahead, below 0 behind; NAN: idle, or alone there. */
	double lead_s;
	double updates_per_s; /* NAN: no worker */
};

/* Of all processes of a sample together: those that exceed it are not read. */
#define LIVE_WORKERS_MAX 262144u
#define LIVE_SUBDOMAINS_MAX 4194304u

/* A process that publishes progress. */
struct live_process {
	pid_t pid;
	int32_t rank; /* -1: none */
	char command[LIVE_COMMAND_BYTES];
	/* 0; or why nothing can be told: -EPROTO, -EBADMSG, -EPERM, -ESRCH (it ended, or closed its
	 * segment), -E2BIG (see LIVE_SUBDOMAINS_MAX) ... What follows is zero then. */
	int error;
	uint32_t workers, subdomains; /* subdomains: places, of which some may be empty */
	uint32_t asked; /* enum progress_balancing */
	pid_t balancer_pid; /* 0: nobody */
	uint64_t points, moves; /* of that balancer and those before it */
	struct progress_worker_view *worker;
	struct progress_subdomain_view *subdomain;
	/* Worked out when it was taken, over the subdomains that somebody holds: */
	uint32_t held;
	uint64_t least, most; /* updates */
	double mean;
	uint64_t spread; /* most - least */
	uint64_t updates; /* of all workers */
	uint64_t created_ns;
	/* Worked out by live_compare(); NAN when not known: */
	/* Iterations a second, in each of which all subdomains are updated once (PLB, Section 3.1): updates
	 * of all workers / held / s. */
	double iteration_rate;
	double moves_per_s;
	double *updates_per_s; /* of each subdomain; NAN: nobody held it then, or it came anew */
};

/* All that can be told of a moment. Fields need not be of the very same one. */
struct live_sample {
	uint64_t now_ns;
	uint64_t start_ns; /* of juggle, or when the oldest process created its segment */
	char command[LIVE_COMMAND_BYTES];
	bool wrapped; /* by juggle; else there are no CPUs, and threads are the workers */

	/* Wrapped only: */
	pid_t juggle_pid, job_pid;
	bool lost, balancing, attached;
	const char *reason; /* why it balances or stands aside: static */
	char policy[16], sampler[16], balancers[16], domains[16];
	uint64_t period_ns;
	uint64_t heartbeat_ns; /* of the last balancing point; 0: none yet */
	uint32_t idle_threads;
	uint64_t cycles, migrations, regime_changes;
	uint64_t balancer_cpu_ns, balanced_ns;
	uint64_t cycle_median_ns, cycle_p99_ns, cycle_max_ns; /* CPU time of a balancing point */
	uint64_t unlisted; /* threads that juggle had no room to tell of */
	struct live_cpu *cpu;
	size_t cpus;

	struct live_thread *thread; /* those that have not ended, by rank, pid and tid */
	size_t threads;
	size_t compute_threads;
	struct live_process *process; /* by rank, then pid */
	size_t processes;

	/* Over all processes: */
	uint32_t workers, subdomains; /* those that somebody holds */
	uint64_t spread;
	/* Worked out by live_compare(); NAN when not known: */
	double interval_s;
	double cycles_per_s, migrations_per_s;
	double balancer_share; /* of a CPU */
	double thread_spread_s; /* largest lead_s less smallest, within a domain or process; NAN: none */
	double iteration_rate; /* mean over the processes, weighted by what they hold */
	double moves_per_s; /* of subdomains */
};

/* Take a sample; *out is overwritten, to be undone with live_sample_deinit(). Costs some microseconds a
 * process and a thread. -ESRCH: the job has ended. */
int live_take(struct live_job *job, struct live_sample *out);
/* Accepts a zeroed one, and zeroes it. */
void live_sample_deinit(struct live_sample *sample);

/* Fill in what needs two moments: of the time between two samples of one job, or with NULL of that since
 * the start. Threads are known again by tid and pid, subdomains by process and number. Pure. */
void live_compare(const struct live_sample *before, struct live_sample *after);

#endif
