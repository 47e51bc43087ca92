/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. */
#ifndef LIVE_INTERNAL_H
#define LIVE_INTERNAL_H

#include <errno.h>

#include "daemon/base/clock.h"
#include "daemon/telemetry/reader.h"
#include "tools/live/live.h"

/* Is an error one of the caller's resources, and not of what it looked at? */
static inline bool live_lacks_resources(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* ---- text.c ---- */

/* The command line of a process, its words separated by blanks; "" when it can't be read. */
void live_command(pid_t pid, char *out, size_t out_bytes);

/* The command of a wrapped job; with juggle -p, that of the process. */
void live_job_command(const struct telemetry *t, char *out, size_t out_bytes);

/* The rank that mpirun or a batch system gave a process; -1: none, or it can't be read. */
int32_t live_rank(pid_t pid);
/* The same in an environment: variables that end in NULs, and a NUL behind the last byte. */
int32_t live_rank_in(const char *text, size_t bytes);
/* The same for a process whose segment has rank `published`, which is 0 if the program did not set
 * it. */
int32_t live_rank_of(pid_t pid, int32_t published);

/* ---- process.c ---- */

/* Is the process gone? A zombie is. With created_ns (not 0) it is also gone if the process with its
 * pid began after that time. */
bool live_process_gone(pid_t pid, uint64_t created_ns);

/* Is that process the juggle whose segment has this inode? It is if it maps the segment. Where the
 * mappings can't be read (those of another user, or of a juggle with capabilities), its name
 * decides. */
bool live_is_juggle(pid_t pid, uint64_t inode);

enum { LIVE_DEPTH = 256 }; /* of processes below each other; /proc is not read at one instant */

/* The process itself and those above it, nearest first. Returns how many. */
size_t live_ancestors(pid_t pid, pid_t above[LIVE_DEPTH]);

/* Is `above` the process itself or one above it? */
bool live_is_below(pid_t pid, pid_t above);

/* ---- list.c ---- */

/* Fill in what the name of a file in /dev/shm contains. false: it is not a segment's name. */
bool live_entry_named(const char *name, struct live_entry *entry);

/* ---- open.c ---- */

/* The one of n entries, as live_list() gives them, that live_open() would open. *out points into
 * them. Results as there. */
int live_choose(const struct live_entry *all, size_t n, const char *name,
	const struct live_entry **out, struct live_error *error);

/* ---- choice.c ---- */

/* The top process of a job: all its processes are this one or below it. */
pid_t live_job_top(const struct live_entry *job);

/* Fill in the job of each process. Jobs come first. */
void live_belong(struct live_entry *entry, size_t n);

/* Can the i-th be opened, and is it not part of an earlier one? */
bool live_is_choice(const struct live_entry *entry, size_t i);

/* ---- phases.c ---- */

/* What a thread told since then (NULL: since the beginning), after its shares are known. */
void live_compare_told(const struct live_thread *then, struct live_thread *thread);
/* The same of all threads together, and what follows. */
void live_compare_phases(const struct live_sample *before, struct live_sample *after);

/* ---- job.c ---- */

/* A process that publishes progress, while it is watched. */
struct live_member {
	pid_t pid;
	struct progress_reader *reader; /* NULL: see error */
	int error;
	int32_t rank;
	char command[LIVE_COMMAND_BYTES];
};

struct live_rank_of {
	pid_t pid;
	int32_t rank;
	bool asked; /* it was asked for since the last live_job_forget_ranks() */
};

struct live_job {
	uid_t uid;
	pid_t pid; /* of juggle; 0: not wrapped */
	struct telemetry_reader *reader; /* NULL: not wrapped */
	char command[LIVE_COMMAND_BYTES];
	pid_t parent; /* not wrapped: parent of all members, if they are ranks; else 0 */
	uint64_t looked_ns; /* when members were last looked for */
	struct live_member *member; /* by pid */
	size_t members;
	struct live_rank_of *rank; /* the ranks that are known, by pid */
	size_t ranks;
};

/* Begin to watch a process that publishes, unless it is watched. Returns 0 or -ENOMEM. */
int live_job_watch(struct live_job *job, pid_t pid);
/* The rank of a process of the job, read once. */
int32_t live_job_rank(struct live_job *job, pid_t pid);
/* Forget ranks that were not asked for since the last time: their processes have ended, and others
 * may get the pids. */
void live_job_forget_ranks(struct live_job *job);
/* Add members that have come, and drop those that have gone. `pid`: the processes that juggle
 * lists. Returns 0 or -ENOMEM. */
int live_job_update(struct live_job *job, const pid_t *pid, size_t n, uint64_t now_ns);

#endif
