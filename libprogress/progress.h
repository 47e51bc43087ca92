/* SPDX-License-Identifier: MIT */
/*
 * libprogress: publish how far each piece of a program's work has come, and let a balancer
 * move the pieces between the program's threads.
 *
 * The work is cut into subdomains, numbered from 0. A worker is a thread that updates
 * subdomains; workers are numbered from 0, too. Each subdomain has one holder, the worker that
 * may update it now, and an owner, the worker that should: the balancer writes owners, and
 * holders pass subdomains on at the start of their iterations. The balancer is `juggle`, when
 * it wraps the program, or the program's own threads (progress_balance()).
 *
 *     struct progress *p;
 *     struct progress_options options = {.workers = threads, .subdomains = 4 * threads};
 *     int error = progress_create(&options, &p);
 *     ... in each thread, w = 0 ... threads - 1:
 *     progress_register(p, w);
 *     while (!done) {
 *             const uint32_t *mine;
 *             uint32_t n = progress_begin(p, w, &mine);
 *             for (uint32_t i = 0; i < n; i++) {
 *                     double residual = update(mine[i]);
 *                     progress_update(p, w, mine[i], ++iteration[mine[i]], residual);
 *             }
 *             progress_balance(p, w);
 *     }
 *     progress_leave(p, w);
 *     ... and once, when all have left:
 *     progress_close(p);
 *
 * Functions that can fail return 0 or a negative errno code. The library never prints, exits,
 * starts threads, touches signals or waits for anybody. See progress(3).
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PROGRESS_WORKERS_MAX 65536u
#define PROGRESS_SUBDOMAINS_MAX 1048576u
#define PROGRESS_PAIRS_MAX 1024u
#define PROGRESS_NOBODY UINT32_MAX /* the holder of a subdomain that is not there */

/* How subdomains are moved between workers: PLB (Zarins & Weiland 2017), Section 3.3. */
enum progress_balancing {
	PROGRESS_BALANCE_DEFAULT, /* split */
	PROGRESS_BALANCE_NONE, /* publish only: nobody moves anything */
	PROGRESS_BALANCE_JOINT, /* all workers are treated the same */
	PROGRESS_BALANCE_SPLIT, /* workers of each NUMA node on their own */
	PROGRESS_BALANCE_HYBRID /* split, and now and then a move between nodes */
};

/* Zero-initialise, then set what differs. 0 stands for the default, in brackets. */
struct progress_options {
	uint32_t workers; /* 1 ... PROGRESS_WORKERS_MAX; no default */
	uint32_t subdomains; /* 1 ... PROGRESS_SUBDOMAINS_MAX; no default */
	/* First owner of each subdomain; PROGRESS_NOBODY: it is not there yet [equal contiguous
	 * blocks] */
	const uint32_t *owner;
	uint32_t balancing; /* an enum progress_balancing [split] */
	uint32_t pairs; /* nPairs of Algorithm 1, at most PROGRESS_PAIRS_MAX [6] */
	uint32_t low; /* a worker with this many subdomains gives none away [2] */
	uint32_t high; /* a worker with this many takes no more [6] */
	uint32_t hybrid_every; /* balancing points between moves from node to node [500] */
	uint64_t period_ns; /* between balancing points, at least 100,000 [1,000,000] */
	int32_t rank; /* MPI rank, to tell processes apart in listings [0] */
	uint32_t reserved[7]; /* 0 */
};

struct progress; /* opaque */

/* Create this process's segment, /dev/shm/progress.<uid>.<pid> with mode 0600, with every
 * subdomain held by its first owner. One per process; a forked child may create its own, and must
 * not use its parent's. Returns 0 and sets *out (to be closed with progress_close());
 * -EINVAL (an option out of its range; an owner that is no worker), -EEXIST (this process has one
 * already), -ENOMEM, -ENOSPC (/dev/shm is full), -EFBIG (beyond RLIMIT_FSIZE), -EPERM (somebody
 * else's file has the name) or what shm_open(3) gives. Not safe to call from two threads at
 * once. */
int progress_create(const struct progress_options *options, struct progress **out);

/* Unmap and remove the segment. No worker may use it any more. Accepts NULL. */
void progress_close(struct progress *p);

/* The calling thread becomes this worker: its tid and the NUMA node that it runs on are shown. Call
 * it in each worker before its first progress_begin(), after pinning it if you pin. Returns 0,
 * -EINVAL (no such worker) or -EBUSY (another thread is this worker, and has not left). */
int progress_register(struct progress *p, uint32_t worker);

/* Start an iteration of this worker (and count the one before, if it held anything): pass on what
 * others should have, take what was passed on. Sets *subdomains to the numbers of those it holds,
 * in ascending order, and returns how many (0 is possible); both hold until its next call. Costs
 * one load when nothing has changed. To be called by the worker's own thread only. */
uint32_t progress_begin(struct progress *p, uint32_t worker, const uint32_t **subdomains);

/* The worker has brought a subdomain that it holds up to `iteration`: counts an update, and
 * publishes iteration and residual (any unit; NAN when unknown) as one. Whoever reads that
 * iteration with progress_iteration() sees all that the worker wrote before (release). Some
 * nanoseconds; wait-free. To be called by the holder only. */
void progress_update(struct progress *p, uint32_t worker, uint32_t subdomain, uint64_t iteration,
	double residual);

/* The last iteration that was published for a subdomain (acquire); 0 before the first, and of an
 * empty place. Wait-free; from any thread. */
uint64_t progress_iteration(const struct progress *p, uint32_t subdomain);

/* The number of updates of a subdomain (relaxed); 0 of an empty place. Wait-free; from any
 * thread. */
uint64_t progress_updates(const struct progress *p, uint32_t subdomain);

/* The worker that holds a subdomain (acquire), or PROGRESS_NOBODY. It may change at once. */
uint32_t progress_holder(const struct progress *p, uint32_t subdomain);

/* Be the balancer, if it is due and nobody else is: the program's own threads take turns.
 * While `juggle` balances this process it does nothing; when juggle is gone, or stands still for
 * half a second, the threads take over. Call it once an iteration from every worker. Costs a
 * read of the clock when not due; never waits. Returns the number of subdomains that it gave
 * another owner. */
uint32_t progress_balance(struct progress *p, uint32_t worker);

/* For work that comes from other processes and goes there, as between MPI ranks: a number below
 * `subdomains` is a place, which may be empty. Nobody holds an empty place, and balancing and
 * spread leave it out. The balancer may be at work meanwhile.
 *
 * Empty a place. To be called by the worker that holds it, or by any thread while all workers are
 * between two iterations, as between two barriers; what progress_begin() listed for its holder is
 * void. Who fills the place sees all that was written before (release). Returns 0, -EINVAL (no such
 * place) or -ENOENT (it is empty). */
int progress_remove(struct progress *p, uint32_t subdomain);

/* Fill an empty place: its counts of updates and iterations go on from `iteration`, and `worker`
 * gets it with its next progress_begin(); PROGRESS_NOBODY stands for the registered worker that
 * holds the fewest. The residual is unknown. The worker sees all that was written before (release).
 * To be called by one thread at a time. Returns 0, -EINVAL (no such place or worker, or nobody is
 * registered) or -EEXIST (it is not empty). */
int progress_insert(struct progress *p, uint32_t subdomain, uint32_t worker, uint64_t iteration);

/* The worker stops: counts its last iteration. It keeps what it holds, until it registers again
 * and begins. To be called by the worker's own thread. */
void progress_leave(struct progress *p, uint32_t worker);

/* Difference of the largest and the smallest number of updates over all subdomains that are
 * there. */
uint64_t progress_spread(const struct progress *p);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
