/* SPDX-License-Identifier: MIT */
/*
 * Reading, and balancing, another process's segment: for juggle and jugglectl.
 *
 * It uses pread(2) and pwrite(2) instead of a mapping, so that a segment that is cut short
 * meanwhile gives an error and never SIGBUS. It trusts nothing that it reads. Functions return 0 or
 * a negative errno code. Two threads must not use one reader at once. Times are nanoseconds of
 * CLOCK_MONOTONIC.
 */
#ifndef PROGRESS_READER_H
#define PROGRESS_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The constant part of a segment, checked. */
struct progress_info {
	uint32_t pid;
	int32_t rank;
	uint32_t workers;
	uint32_t subdomains;
	uint32_t balancing; /* enum progress_balancing */
	uint32_t pairs, low, high, hybrid_every;
	uint64_t period_ns;
	uint64_t created_ns;
};

struct progress_worker_view {
	uint32_t tid; /* 0: nobody */
	uint32_t node;
	bool dirty;
	uint64_t iterations, updates, handed;
};

struct progress_subdomain_view {
	uint64_t updates, iteration;
	double residual;
	uint32_t owner; /* UINT32_MAX when out of range */
	uint32_t holder; /* UINT32_MAX: none; the place is empty, and the rest means nothing */
	bool torn; /* it was written during each read: the values may not fit together */
};

struct progress_balancer_view {
	uint32_t pid; /* the process that balances; 0: none */
	uint64_t beat_ns, points, moves;
};

struct policy_plb_move; /* plb.h */
struct segment_file_kind; /* segment_file.h */
struct progress_reader;

/* Which files are segments. */
extern const struct segment_file_kind progress_reader_files;

/* Open the segment of a process; writable, to balance it. Returns 0 and sets *out (to be closed
 * with progress_reader_close()); -ENOENT (no segment), -EAGAIN (not filled in yet), -EACCES, -EPERM
 * (not that user's, or not that process's file), -EPROTO (another version; sets *version unless
 * version is NULL), -EBADMSG (not a segment, or damaged), -ENOMEM. */
int progress_reader_open(
	pid_t pid, uid_t uid, bool writable, struct progress_reader **out, uint32_t *version);
/* Accepts NULL. Gives a claim back. */
void progress_reader_close(struct progress_reader *reader);

const struct progress_info *progress_reader_info(const struct progress_reader *reader);

/* The name of an enum progress_balancing: "none", "joint", "split", "hybrid"; else "unknown". */
const char *progress_reader_balancing(uint32_t balancing);

/* Has the program closed the segment, or made a new one in place of one that a dead process left?
 * Also true when it can't be read any more. */
bool progress_reader_closed(struct progress_reader *reader);

/* Read all workers; out has room for info->workers. -EBADMSG when the segment was cut short. */
int progress_reader_workers(struct progress_reader *reader, struct progress_worker_view *out);
/* Read all subdomains, likewise. Each record is consistent in itself unless torn. */
int progress_reader_subdomains(struct progress_reader *reader, struct progress_subdomain_view *out);
int progress_reader_balancer(struct progress_reader *reader, struct progress_balancer_view *out);

/* Claim the right to balance for the process `balancer`. Returns 0, -EBUSY (another has it, and
 * balanced less than half a second ago), or -EROFS (opened read-only). */
int progress_reader_claim(struct progress_reader *reader, pid_t balancer, uint64_t now_ns);

/* A balancing point: read counters and owners, run the policy that the program asked for (Algorithm
 * 1), write owners and dirty flags. The caller calls it at most once per period. Sets *moves to the
 * number of owners changed. Returns 0; -ENOTCONN when the claim was lost; or -EBADMSG. */
int progress_reader_balance(struct progress_reader *reader, uint64_t now_ns, uint32_t *moves);

/* The moves of the last progress_reader_balance(), which set their number. Valid until the next. */
const struct policy_plb_move *progress_reader_moves(const struct progress_reader *reader);

#endif
