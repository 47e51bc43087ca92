/* SPDX-License-Identifier: MIT */
/*
 * Finding the job: the processes below a command, and their threads.
 *
 * Everything is read from /proc. The parsers take buffers, so that they run on recorded text. Every
 * function returns 0 or a negative errno. Two threads must not use one object at a time; distinct
 * objects are independent.
 */
#ifndef JUGGLE_PROC_H
#define JUGGLE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"

#define PROC_COMM_BYTES 64 /* names of kernel threads may be longer than TASK_COMM_LEN */

/* One thread of the job. tid and start_ticks (clock ticks since boot) together identify it, because
 * tids are reused. */
struct proc_thread {
	pid_t pid; /* thread group, what users call the process */
	pid_t tid;
	pid_t ppid; /* parent process of the group */
	uint64_t start_ticks; /* field 22 of stat */
	char state; /* R, S, D, T, t, Z, X ... */
	bool kernel; /* it is one of the kernel's own */
	char comm[PROC_COMM_BYTES];
};

/* Parse the text of /proc/PID/stat or /proc/PID/task/TID/stat. comm may hold spaces,
 * parentheses and newlines. Sets all but pid.
 * Returns 0, or -EBADMSG for text that is cut short or malformed. */
int proc_parse_stat(const char *text, size_t bytes, struct proc_thread *out);

/* Of /proc/loadavg. */
struct proc_load {
	int running; /* threads of the machine that run or want to, with the reader */
	pid_t last_pid; /* the newest pid or tid that the reader's pid namespace gave out */
};

/* Returns 0, or -EBADMSG for text that is cut short or malformed. */
int proc_parse_load(const char *text, size_t bytes, struct proc_load *out);

/* Parse a list of pids separated by blanks, the format of /proc/PID/task/TID/children. Stores up to
 * max pids and returns how many the text has (may be more than max), or -EBADMSG. */
ssize_t proc_parse_pids(const char *text, size_t bytes, pid_t *out, size_t max);

/* Read thread tid of process pid. Returns 0, -ESRCH when it is gone, or another
 * negative errno. */
int proc_read_thread(pid_t pid, pid_t tid, struct proc_thread *out);

/* When a thread that has these start_ticks began, by CLOCK_MONOTONIC in ns, or earlier: by up to a tick, and by
 * what the machine has slept since, as births are by a clock that counts this. Never later. */
uint64_t proc_birth_ns(uint64_t start_ticks);

/* Is it certain that process pid began after that moment of CLOCK_MONOTONIC? What an earlier process with
 * this pid left is older. execve(2) does not change when a process began. */
bool proc_began_after(pid_t pid, uint64_t moment_ns);

/* Open the status file of thread tid of process pid. Returns a descriptor, which does not pass to a later thread that is
 * given the same tid; or -ESRCH, or another negative errno. */
int proc_open_status(pid_t pid, pid_t tid);

/* How often a thread went to sleep voluntarily: voluntary_ctxt_switches in its status file, which does not count
 * yields. The parser returns 0 or -EBADMSG; the reader, of a descriptor of that file, also -ESRCH, or another
 * negative errno. */
int proc_parse_blocks(const char *text, size_t bytes, uint64_t *out);
int proc_read_blocks(int fd, uint64_t *out);

/* The affinity mask of thread tid of process pid, with CPUs that are offline, which
 * cpuset_of_thread() leaves out; Cpus_allowed_list in its status file. Results as above. */
int proc_parse_mask(const char *text, size_t bytes, struct cpuset *out);
int proc_read_mask(pid_t pid, pid_t tid, struct cpuset *out);

/* The CPU on which thread tid of process pid runs, or last ran. The parser takes the text of stat,
 * and returns 0 or -EBADMSG; the reader also -ESRCH, or another negative errno. */
int proc_parse_cpu(const char *text, size_t bytes, int32_t *out);
int proc_read_cpu(pid_t pid, pid_t tid, int32_t *out);

/* Time that a CPU has spent since boot, in ticks of sysconf(_SC_CLK_TCK). */
struct proc_cpu_times {
	uint64_t total_ticks; /* 0: offline, or not known */
	uint64_t stolen_ticks; /* that the hypervisor took */
};

/* The CPUs below max by OS number, from /proc/stat. The reader returns 0 or a negative errno. */
void proc_parse_cpu_times(const char *text, size_t bytes, struct proc_cpu_times *out, size_t max);
int proc_read_cpu_times(struct proc_cpu_times *out, size_t max);

/* A scan of a job: all processes below a root, and their threads. */
struct proc_scan;

/* What to scan. With include_root (juggle -p), the job is root and its descendants. Without, root
 * is juggle, which is a subreaper, and the job is its descendants. In both cases the process
 * `except` (0: none) and its descendants are left out. */
struct proc_scan_options {
	pid_t root;
	bool include_root;
	pid_t except;
	/* Find children by the parent of every process in /proc, not by the kernel's lists of
	 * children. Always done where the kernel has no such lists, where hidepid hides the root, and
	 * where it is less work, as the job has more threads than the machine has processes. */
	bool by_ppid;
	/* Does the caller know this thread? May be NULL. With by_ppid, such threads are left out, as
	 * reading them is most of the work where there are many. One that has ended, and whose tid was
	 * used again, hides the new one until the caller has noticed its end. */
	bool (*is_known)(const void *context, pid_t pid, pid_t tid);
	const void *context;
};

/* Make a scanner. It keeps its buffers and a descriptor of /proc between runs. Returns 0, -ENOMEM,
 * or the error of opening /proc. */
int proc_scan_new(struct proc_scan **out, const struct proc_scan_options *options);
/* Accepts NULL. */
void proc_scan_free(struct proc_scan *scan);

/* From now on that process, and those below it, belong to the job, too. It may have ended. Returns 0
 * or -ENOMEM. */
int proc_scan_add_root(struct proc_scan *scan, pid_t pid);

/* Scan. *threads points into the scanner, and is valid until its next run or free. Each tid is
 * there once, parents before their children, and in a process the leader first. Zombie and dead
 * threads are left out, but not the other threads of a process whose leader has ended. Threads and
 * processes may vanish meanwhile; the scan then starts over, up to a few times, because the
 * children of a process that vanished have moved to another parent. Returns 0 (also with *n == 0:
 * the job is gone), or a negative errno; then *threads and *n are unchanged, but what *threads
 * points to is invalid. Cost: a few microseconds per process and thread. */
int proc_scan_run(struct proc_scan *scan, const struct proc_thread **threads, size_t *n);

/* How many threads of the last run were left out, as the caller knows them. */
size_t proc_scan_known(const struct proc_scan *scan);

/* False when processes of the job ended during every pass of the last run. What the run found is
 * right, but it may have missed some: scan again soon. */
bool proc_scan_settled(const struct proc_scan *scan);

/* A cheap test of whether a scan is due: about a microsecond, whatever the size of the job. It
 * watches the newest pid in /proc/loadavg. Where that file can't be read, or is not the kernel's
 * own (lxcfs), the answer is always yes. It does not notice threads that end; the sampler does. */
struct proc_watch {
	bool trusted; /* /proc/loadavg is usable; otherwise the answer is always yes */
	int fd; /* of /proc/loadavg, -1 unless trusted */
	pid_t last_pid;
	int settling; /* calls left that allow for late births */
};
/* Always succeeds: without a usable file the answer is always yes. */
void proc_watch_init(struct proc_watch *watch);
/* Accepts a zeroed one. */
void proc_watch_deinit(struct proc_watch *watch);
/* Returns true when threads may have been born since the last call, the first time in any case, and
 * again at the first and the eighth call after that, for threads that appear late in /proc. Call it
 * before the scan, not after. A birth may be delayed for even longer, so scan once in a while
 * whatever the answer. */
bool proc_watch_changed(struct proc_watch *watch);

/* The threads of the whole machine that run or want to at this moment, without the caller; -1: that is not
 * known. */
int proc_running(void);

#endif
