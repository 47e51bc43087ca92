/* SPDX-License-Identifier: MIT */
/*
 * Finding the job: which processes and threads live below a command.
 *
 * All that is read comes from /proc; the parsers take buffers, so that they run
 * on recorded text. Every function returns 0 or a negative errno. Nothing here is
 * thread-safe for one and the same object; distinct objects are independent.
 */
#ifndef JUGGLE_PROC_H
#define JUGGLE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_COMM_BYTES 64 /* kernel threads' names may be longer than TASK_COMM_LEN */

/* One thread of the job. start_ticks (clock ticks since boot) with tid identifies
 * it: tids are reused. */
struct proc_thread {
	pid_t pid; /* thread group, what users call the process */
	pid_t tid;
	pid_t ppid; /* parent process of the group */
	uint64_t start_ticks; /* field 22 of stat */
	char state; /* R, S, D, T, t, Z, X ... */
	char comm[PROC_COMM_BYTES];
};

/* Parse the text of /proc/PID/stat or /proc/PID/task/TID/stat. comm may hold spaces,
 * parentheses and newlines. Sets tid, ppid, start_ticks, state, comm; leaves pid.
 * Returns 0, or -EBADMSG for text that is cut short or malformed. */
int proc_parse_stat(const char *text, size_t bytes, struct proc_thread *out);

/* Parse the last field of /proc/loadavg: the newest pid or tid that this pid
 * namespace gave out. Returns 0 or -EBADMSG. */
int proc_parse_last_pid(const char *text, size_t bytes, pid_t *out);

/* Parse a list of pids separated by blanks, as /proc/PID/task/TID/children has it.
 * Stores up to max pids and returns how many the text holds (may be more than max),
 * or -EBADMSG. */
ssize_t proc_parse_pids(const char *text, size_t bytes, pid_t *out, size_t max);

/* Read thread tid of process pid. Returns 0, -ESRCH when it is gone, or another
 * negative errno. */
int proc_read_thread(pid_t pid, pid_t tid, struct proc_thread *out);

/* How often thread tid of process pid went to sleep of its own accord (the field
 * voluntary_ctxt_switches of status; yielding does not count). The parser returns 0 or
 * -EBADMSG; the reader also -ESRCH, or another negative errno. */
int proc_parse_blocks(const char *text, size_t bytes, uint64_t *out);
int proc_read_blocks(pid_t pid, pid_t tid, uint64_t *out);

/* On which CPU thread tid of process pid runs, or ran last. The parser takes the text of stat, and
 * returns 0 or -EBADMSG; the reader also -ESRCH, or another negative errno. */
int proc_parse_cpu(const char *text, size_t bytes, int32_t *out);
int proc_read_cpu(pid_t pid, pid_t tid, int32_t *out);

/* A scan of a job: all processes below a root, and their threads. */
struct proc_scan;

/* What to scan. With include_root the job is root and its descendants (juggle -p);
 * without, only the descendants of root (juggle is the root and a subreaper), except
 * the process `except` (the balancer itself; 0 for none) and what is below that. */
struct proc_scan_options {
	pid_t root;
	bool include_root;
	pid_t except;
	bool by_ppid; /* read the parent of every process in /proc instead of the job's
	               * lists of children: what kernels without those get anyway, and
	               * a root that is hidden from us (hidepid) */
};

/* Make a scanner; it keeps its buffers and a descriptor of /proc between runs. Returns
 * 0, -ENOMEM, or what opening /proc failed with. */
int proc_scan_new(struct proc_scan **out, const struct proc_scan_options *options);
/* Accepts NULL. */
void proc_scan_free(struct proc_scan *scan);

/* Scan. *threads points into the scanner and holds until its next run or free; each
 * tid stands there once, parents before their children, and in a process the leader
 * first. Zombie and dead threads are left out (the other threads of a process whose
 * leader ended are not). Threads and processes that vanish meanwhile are routine; the
 * scan then looks again a few times, as the children of what vanished have moved to
 * another parent. Returns 0 (also with *n == 0: the job is gone) or a negative errno,
 * which leaves *threads and *n as they were but what *threads pointed to invalid.
 * Cost: a few microseconds per process and thread. */
int proc_scan_run(struct proc_scan *scan, const struct proc_thread **threads, size_t *n);

/* False when processes of the job ended throughout the last run, however often it
 * looked: what it found is right, but it may have missed some. Scan again soon. */
bool proc_scan_settled(const struct proc_scan *scan);

/* The cheap test whether a scan is due: about a microsecond, whatever the size of
 * the job. Watches the newest pid in /proc/loadavg; where that file is not the
 * kernel's own (lxcfs), or cannot be read, it always answers yes, and so makes the
 * caller scan. Ends of threads do not count: the sampler reports those. */
struct proc_watch {
	bool trusted; /* there is a file that tells; else each answer is yes */
	int fd; /* of /proc/loadavg, -1 unless trusted */
	pid_t last_pid;
	int settling; /* calls left in which a late birth is looked for */
};
/* Always succeeds: without a trustworthy file each answer is yes. */
void proc_watch_init(struct proc_watch *watch);
/* Accepts a zeroed one. */
void proc_watch_deinit(struct proc_watch *watch);
/* True when threads may have been born since the last call (true the first time), and
 * on the first and the eighth call after that, for threads whose birth took its time.
 * Call it before the scan, not after. A caller that scans once in a while whatever the
 * answer is safe even against a birth that was held up for longer. */
bool proc_watch_changed(struct proc_watch *watch);

#endif
