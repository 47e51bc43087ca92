/* SPDX-License-Identifier: MIT */
/*
 * What runs on this machine, for list, clean, stat and top: the segments of juggle and of
 * libprogress, and samples of their contents.
 *
 * Nothing in a segment is trusted, and none is opened for writing. All returned strings are valid
 * UTF-8 without control characters, so that they may be printed. Functions return 0 or a negative
 * errno code unless they say otherwise; different threads may use different objects. Times are
 * nanoseconds, and moments those of CLOCK_MONOTONIC, unless a name says otherwise.
 */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/policy/policy.h"
#include "daemon/telemetry/efficiency.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/telemetry/worth.h"
#include "libprogress/reader/reader.h"

enum { LIVE_COMMAND_BYTES = 256, LIVE_COMM_BYTES = 16 * 3 + 1 };

/* ---- All segments ---- */

enum live_kind {
	LIVE_JOB, /* a wrapped job, from juggle */
	LIVE_PROGRESS, /* one process, from libprogress */
};

enum live_state {
	LIVE_RUNS,
	LIVE_STARTING, /* not filled in yet */
	LIVE_STALE, /* its process is gone, and nobody has it open for writing: remove it */
	LIVE_UNSEEN, /* no such process is seen from here, but somebody has it open, a child that
	              * outlived it or a process of another PID namespace; or it is unknown
	              * whether somebody has */
	LIVE_FOREIGN, /* another user's: can't be read */
	LIVE_OTHER_VERSION,
	LIVE_DAMAGED, /* its process exists, but it is not a segment, or not of that process */
};

struct live_entry {
	enum live_kind kind;
	enum live_state state;
	uid_t uid;
	pid_t pid; /* of juggle, or of the process */
	char path[64];
	uint64_t bytes, inode;
	uint32_t version; /* of LIVE_OTHER_VERSION, where known */
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
	int32_t rank; /* -1: not known */
	uint32_t workers, subdomains;
	uint32_t asked; /* the balancing that was asked for: enum progress_balancing */
	pid_t balancer_pid; /* the process that balances now; 0: none */
	pid_t juggle_pid; /* of the same user's job that it belongs to; 0: none */
	pid_t launcher_pid; /* of a rank that belongs to no job: the parent of all ranks; else 0 */
};

/* "runs", "starting", "stale" ... */
const char *live_state_name(enum live_state state);

/* What juggle does with the threads: "balance" or "aside", as in its reports. */
const char *live_regime_name(bool balancing);

/* All segments, jobs first, each kind by uid and pid. free() the array. Returns -ENOMEM, -EMFILE,
 * -ENFILE, or an error of reading /dev/shm. */
int live_list(struct live_entry **out, size_t *n);

/* Remove a stale segment, after checking it again: -EBUSY when it is not stale (any more), or
 * another has its name; -ENOENT, -EACCES, -EPERM. */
int live_remove(const struct live_entry *entry);

/* The segments that live_open() can open, each job once: jobs that juggle wraps; and elsewhere each
 * process that publishes progress, but only the first of the ranks below a launcher. Errors as
 * live_list(). */
int live_choices(struct live_entry **out, size_t *n);

/* ---- One job ---- */

/* The job that is watched: a wrapped job with all its processes that publish progress; or, without
 * juggle, a process that does, with those that started with it. */
struct live_job;

struct live_error {
	char text[200]; /* one sentence that says what to do */
};

/* Raise the number of files that this process may open: a job may have more than the usual 1,024
 * processes, each with a segment. Not for programs that start others, which would inherit the
 * limit. */
void live_open_many(void);

/* Open a job. name is the pid of juggle, of the command, of any of their processes, or of one above
 * them (mpirun, a shell); or the name of the command's file; NULL means the only job that the
 * caller can read. Returns 0; or -ENOENT (there is none), -ENOTUNIQ (there are several, and the
 * text lists some), or another errno, with the reason in *error. */
int live_open(const char *name, struct live_job **out, struct live_error *error);
/* Open one of live_choices(), which must be of this moment. Results as live_open(). */
int live_open_choice(
	const struct live_entry *choice, struct live_job **out, struct live_error *error);
/* Accepts NULL. */
void live_close(struct live_job *job);

/* ---- Samples ---- */

struct live_cpu {
	int32_t os_cpu; /* not negative, and each once */
	int32_t domain; /* 0 to 1023 */
	uint32_t threads; /* compute threads that are there */
	double speed; /* of the fastest, as far as that is known beforehand; NAN: not known */
	double stolen; /* the share of its time that a hypervisor took lately, 0 to 1 */
};

struct live_thread {
	pid_t tid, pid;
	char comm[LIVE_COMM_BYTES];
	int32_t rank; /* of its process; -1: none */
	int32_t os_cpu; /* where it is placed; without a place: where it last ran; -1: not known */
	bool placed;
	bool compute; /* false: idle, left alone */
	int32_t domain; /* domain of its CPU, if juggle has that; -1: none */
	uint64_t since_ns; /* when juggle met it; without juggle, when it began */
	uint64_t progress_ns; /* CPU time since then */
	int64_t balance_ns; /* what juggle decides by: late threads start at the mean, and leads are
	                     * gradually forgotten; unwrapped: progress_ns */
	uint64_t wait_ns; /* time ready to run, without a CPU */
	uint64_t migrations; /* moves by juggle */
	int32_t process; /* index in the sample's processes; -1: its process publishes nothing */
	int32_t worker; /* its number as a worker; -1: it is none */
	uint64_t updates; /* of subdomains, as a worker */
	bool told; /* its runtime tells of phases, and what follows is known: */
	uint64_t told_ns, told_until_ns; /* since when, and when it was last looked at */
	uint64_t arrivals; /* phases that it has ended */
	uint64_t useful_ns, waited_ns; /* CPU time outside these waits; elapsed in them */
	/* Computed by live_compare(): */
	struct efficiency_thread change; /* of these; all 0: nothing is known */
	double phases_per_s, waited_share; /* NAN: not known */
	double share; /* of a CPU, 0 to little more than 1 */
	double wait_share; /* share of the time in which it was ready and without a CPU */
	/* balance_ns less the mean of the compute threads of its domain or, without juggle, of its
	 * process: above 0 it is ahead, below 0 behind; NAN: idle, or alone there. */
	double lead_s;
	double updates_per_s; /* NAN: not a worker */
};

/* Over all processes of a sample. Processes beyond that are not read. */
#define LIVE_WORKERS_MAX 262144u
#define LIVE_SUBDOMAINS_MAX 4194304u

/* A process that publishes progress. */
struct live_process {
	pid_t pid;
	int32_t rank; /* -1: none */
	char command[LIVE_COMMAND_BYTES];
	/* 0; or why nothing is known: -EPROTO, -EBADMSG, -EPERM, -ESRCH (it ended, or closed its
	 * segment), -E2BIG (see LIVE_SUBDOMAINS_MAX) ... The rest is then zero. */
	int error;
	uint32_t workers, subdomains; /* subdomains: places, some of which may be empty */
	uint32_t asked; /* enum progress_balancing */
	pid_t balancer_pid; /* 0: nobody */
	uint64_t points, moves; /* of that balancer and those before it */
	struct progress_worker_view *worker;
	struct progress_subdomain_view *subdomain;
	/* Computed when the sample was taken, over the subdomains that have a holder: */
	uint32_t held;
	uint64_t least, most; /* updates */
	double mean;
	uint64_t spread; /* most - least */
	uint64_t updates; /* of all workers */
	uint64_t created_ns;
	/* Worked out by live_compare(); NAN when not known: */
	/* Iterations of the whole problem per second (updates of all workers / held / s). */
	double iteration_rate;
	double moves_per_s;
	double *updates_per_s; /* of each subdomain; NAN: it had no holder before, or is new */
};

/* Where threads of the job wait for each other. */
struct live_site {
	char name[96];
	uint64_t waits, waited_ns;
};

/* All that is known at a moment. Fields need not be of the very same one. */
struct live_sample {
	uint64_t now_ns;
	uint64_t start_ns; /* of juggle, or when the oldest process created its segment */
	char command[LIVE_COMMAND_BYTES];
	uid_t uid; /* whose job it is */
	bool wrapped; /* by juggle; otherwise there are no CPUs, and threads are the workers */

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
	uint64_t declined_ns; /* see telemetry_declined_ns() */
	struct telemetry_way way[TELEMETRY_WAYS]; /* how the time was spent, the longest first */
	size_t ways;
	struct live_pace {
		uint64_t time_ns, least_ns, most_ns;
	} pace[POLICY_PACES]; /* by enum policy_pace: how long, and with what periods */
	uint64_t phase_ns, point_ns; /* what the last period followed from; 0: unknown */
	uint64_t cycle_median_ns, cycle_p99_ns, cycle_max_ns; /* CPU time of a balancing point */
	uint64_t unlisted; /* threads for which telemetry was full */
	struct live_cpu *cpu;
	size_t cpus;
	char speeds_from[16]; /* where their speeds are from */
	double quota_cpus; /* of the control group, in CPUs; 0: none */
	uint64_t throttled_ns; /* for how long it stopped threads */
	char not_told[120]; /* why no runtime was asked to tell of phases; "": it was, or does */
	struct live_site site[TELEMETRY_SITES]; /* the longest first */
	size_t sites;

	struct live_thread *thread; /* those that have not ended, by rank, pid and tid */
	size_t threads;
	size_t compute_threads;
	struct live_process *process; /* by rank, then pid */
	size_t processes;

	/* Over all processes: */
	uint32_t workers, subdomains; /* those that have a holder */
	uint64_t spread;
	/* Worked out by live_compare(); NAN when not known: */
	double interval_s;
	double cycles_per_s, migrations_per_s;
	double balancer_share; /* of a CPU */
	double thread_spread_s; /* largest less smallest lead_s in a domain or process; NAN: none */
	double iteration_rate; /* mean over the processes, weighted by what they hold */
	double moves_per_s; /* of subdomains */
	/* What runtimes tell of phases, and what balancing is worth by that; without threads, and "",
	 * when not known. */
	struct efficiency efficiency;
	enum worth_verdict verdict;
	char advice[WORTH_BYTES];
};

/* Take a sample. Overwrites *out, which live_sample_deinit() frees. Costs some microseconds for
 * each process and thread. -ESRCH: the job has ended. */
int live_take(struct live_job *job, struct live_sample *out);
/* Accepts a zeroed one, and zeroes it. */
void live_sample_deinit(struct live_sample *sample);

/* Do the speeds of the CPUs differ, as far as they are known? Pure. */
bool live_speeds_differ(const struct live_sample *sample);
/* The mean share of stolen time of the CPUs. Pure. */
double live_stolen(const struct live_sample *sample);

/* Fill in what needs two moments: the rates between two samples of one job, or since the start if
 * `before` is NULL. Threads are matched by tid and pid, subdomains by process and number. Pure. */
void live_compare(const struct live_sample *before, struct live_sample *after);

#endif
