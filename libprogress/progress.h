/* SPDX-License-Identifier: MIT */
/*
 * libprogress: publish how far each piece of a program's work has come, and let a balancer move the
 * pieces between the program's threads.
 *
 * The work is divided into subdomains, numbered from 0. A worker is a thread that updates
 * subdomains; workers are numbered from 0, too. Each subdomain has a holder, the worker that may
 * update it now, and an owner, the worker that should. The balancer sets owners. Holders pass
 * subdomains on to their owners at the start of an iteration. The balancer is `juggle`, if it runs
 * the program, or else the program's own threads (progress_balance()).
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
#define PROGRESS_DEAD_BAND_NONE UINT32_MAX
#define PROGRESS_NOBODY UINT32_MAX /* the holder of an empty place */
#define PROGRESS_THRESHOLD_NONE (-1.0)

/* How subdomains are moved between workers: PLB (Zarins & Weiland 2017), Section 3.3. */
enum progress_balancing {
	PROGRESS_BALANCE_DEFAULT, /* hybrid */
	PROGRESS_BALANCE_NONE, /* publish only; subdomains don't move */
	PROGRESS_BALANCE_JOINT, /* between all workers */
	PROGRESS_BALANCE_SPLIT, /* between the workers of each NUMA node */
	PROGRESS_BALANCE_HYBRID /* split, with an occasional move between nodes that drift apart */
};

/* Zero-initialise, then set what you need. 0 means the default, which is in brackets. */
struct progress_options {
	uint32_t workers; /* 1 ... PROGRESS_WORKERS_MAX; no default */
	uint32_t subdomains; /* 1 ... PROGRESS_SUBDOMAINS_MAX; no default */
	/* The first owner of each subdomain; PROGRESS_NOBODY leaves the place empty [equal
	 * contiguous blocks] */
	const uint32_t *owner;
	uint32_t balancing; /* an enum progress_balancing [hybrid] */
	uint32_t pairs; /* nPairs of Algorithm 1, at most PROGRESS_PAIRS_MAX [6] */
	uint32_t low; /* a worker with this many subdomains gives none away [2] */
	uint32_t high; /* a worker with this many takes no more [6] */
	uint32_t hybrid_every; /* balancing points between moves to another node [500] */
	uint64_t period_ns; /* between balancing points, at least 100,000 [1,000,000] */
	int32_t rank; /* MPI rank, to tell processes apart: another one in each [0] */
	/* Gaps of no more updates than a subdomain gets in that many periods move nothing;
	 * PROGRESS_DEAD_BAND_NONE: Algorithm 1 to the letter [4] */
	uint32_t dead_band;
	/* Workers wait rather than let a subdomain get more than so many updates ahead of another:
	 * gaps of more than half of it count, however wide the dead band is [they don't] */
	uint32_t bound;
	uint32_t reserved[5]; /* 0 */
};

struct progress; /* opaque */

/* Create the segment of this process, /dev/shm/progress.<uid>.<pid> with mode 0600, where each
 * subdomain is held by its first owner. A process can have one. A forked child may create its own,
 * and must not use its parent's. Where another user has taken its name, it has none; juggle and
 * jugglectl find it all the same. Where /dev/shm can't be used, the program keeps what it would
 * publish to itself; see progress_published(). Returns 0 and sets *out (to be closed with
 * progress_close()); -EINVAL (an option is out of range, or an owner is not a worker), -EEXIST (this
 * process has one already) or -ENOMEM. Two threads must not call it at once. */
int progress_create(const struct progress_options *options, struct progress **out);

/* Can other programs see the segment? Returns 0, or why not: -ENOSPC (/dev/shm is full), -EFBIG
 * (larger than RLIMIT_FSIZE), -EACCES (/dev/shm can't be written), -EPERM (another user has taken the
 * name, and it is no tmpfs, where a file needs none), -EEXIST (a process of the same user has it: one with this pid in another PID
 * namespace, or a child that was forked before this process executed another program) or another
 * error of shm_open(3) or mmap(2). Without others, progress_balance() moves the subdomains. Does not
 * accept NULL; for any thread. */
int progress_published(const struct progress *p);

/* Unmap and remove the segment. No worker may use it any more. Accepts NULL. */
void progress_close(struct progress *p);

/* Make the calling thread this worker, and publish its tid and the NUMA node that it runs on (which
 * progress_begin() repeats now and then). Call it in each worker before its first progress_begin(),
 * and after pinning it if you pin. Returns 0, -EINVAL (no such worker) or -EBUSY (another thread is this worker, and has not left). */
int progress_register(struct progress *p, uint32_t worker);

/* Start an iteration of this worker, and count the one before if the worker held anything. Passes
 * subdomains on to their owners, and takes those that were passed on to this worker. Sets
 * *subdomains to the numbers of those that it holds, in ascending order, and returns how many there
 * are (may be 0). Both are valid until the worker's next call. Costs one load when nothing has
 * changed. Only for the worker's own thread. */
uint32_t progress_begin(struct progress *p, uint32_t worker, const uint32_t **subdomains);

/* Should the worker leave that subdomain, which it holds, out of the iteration that it has begun? 1: it
 * leads another one of the worker's by more than four updates, and sits out every other iteration until
 * that has caught up. So fewer subdomains have to change their worker. 0: it should not, as always where
 * options.bound is set or nothing is balanced, or with PROGRESS_DEAD_BAND_NONE. A program that does not
 * ask, and updates all, is balanced, too. Takes some nanoseconds; wait-free. Only for the worker's own thread. */
int progress_rests(struct progress *p, uint32_t worker, uint32_t subdomain);

/* Publish that the worker has brought a subdomain that it holds to `iteration`. Counts an update,
 * and stores iteration and residual (any unit; NAN: unknown) as one. A thread that reads this
 * iteration with progress_iteration() sees all that the worker wrote before (release). Takes some
 * nanoseconds; wait-free. Only for the holder. */
void progress_update(struct progress *p, uint32_t worker, uint32_t subdomain, uint64_t iteration,
	double residual);

/* The last published iteration of a subdomain (acquire); 0 before the first, and for an empty
 * place. Wait-free; for any thread. */
uint64_t progress_iteration(const struct progress *p, uint32_t subdomain);

/* The number of updates of a subdomain (relaxed); 0 for an empty place. Wait-free; for any
 * thread. */
uint64_t progress_updates(const struct progress *p, uint32_t subdomain);

/* The worker that holds a subdomain (acquire), or PROGRESS_NOBODY. It may change at any time. */
uint32_t progress_holder(const struct progress *p, uint32_t subdomain);

/* Balance, if a balancing point is due and nobody else is at it: the program's own threads take
 * turns. While `juggle` balances this process, this does nothing. When juggle is gone, or stands
 * still for half a second, the threads take over. Call it once per iteration from every worker.
 * Costs a read of the clock when nothing is due; never waits. Returns the number of subdomains that
 * got another owner. */
uint32_t progress_balance(struct progress *p, uint32_t worker);

/* For work that moves between processes, such as MPI ranks. Each number below `subdomains` is a
 * place for a subdomain, and may be empty. Nobody holds an empty place, and balancing and spread
 * ignore it. The balancer may be at work while places are emptied and filled.
 *
 * Empty a place. Only for the worker that holds it, or for any thread while all workers are between
 * two iterations, as between two barriers. It invalidates the holder's list from progress_begin().
 * The thread that fills the place sees all that was written before (release). Returns 0, -EINVAL
 * (no such place) or -ENOENT (it is empty). */
int progress_remove(struct progress *p, uint32_t subdomain);

/* Fill an empty place. Its updates and iterations count on from `iteration`; its residual is
 * unknown. `worker` gets it with its next progress_begin(); PROGRESS_NOBODY means the registered
 * worker that holds the fewest. The worker sees all that was written before (release). Only one
 * thread at a time may call it. Returns 0, -EINVAL (no such place or worker, or no worker is
 * registered) or -EEXIST (it is not empty). */
int progress_insert(struct progress *p, uint32_t subdomain, uint32_t worker, uint64_t iteration);

/* Between ranks: DPLB (Zarins & Weiland 2020), Section 3.
 *
 * Processes that each have a segment, such as MPI ranks, send subdomains to each other. The library
 * tells which ones, and to whom. The program exchanges the ranks' records, sends the subdomains, and
 * empties and fills places. options.rank of progress_create() tells the ranks apart: it must differ
 * between them. The same on all must be period_ns, whether the threshold is
 * PROGRESS_THRESHOLD_NONE, and whether options.bound is 0: rates are updates in a period, and ranks
 * compare what the others show. */
struct progress_rank_options {
	uint64_t period_ns; /* between points of a rank, at least 1,000,000 [500,000,000] */
	/* Step 2 of Section 3.1: a gap of no more updates moves nothing; PROGRESS_THRESHOLD_NONE: any
	 * gap does, as in the paper, and rates don't count [half the updates that a subdomain of this
	 * rank gets in a period, and at least in 30 ms; with a bound 5 % of the rate, and rates are
	 * compared instead of updates] */
	double threshold;
	/* For neighbourhoods: a rank may send if it is behind any of those that it knows of, not only
	 * if it is behind all of them [0] */
	uint32_t all_behind;
	/* To test a program's moves: so many ranks exist, and at each point any subdomain goes to any
	 * of them [0: no] */
	uint32_t random_ranks;
	uint64_t seed; /* of random choices [by rank] */
	/* How many messages fewer would pass between ranks if that subdomain moved there? Of those with
	 * the most the least advanced one goes. Called within progress_rank_balance(); it must not call
	 * the library except to look
	 * [as if all were equal] */
	int32_t (*halos_saved)(void *arg, uint32_t subdomain, uint32_t to);
	void *arg;
	uint32_t reserved[4]; /* 0 */
};

/* What a rank shows the others: step 1. Plain numbers, to be sent as they are. */
struct progress_rank {
	/* Updates of its subdomains; or its rate, where rates are compared. A record with one that is
	 * not finite counts for nothing */
	double average;
	/* Updates that each of its subdomains would get in a period if the rank never waited for
	 * others; 0: not known yet */
	double rate;
	double doubt; /* standard error of the rate */
	uint32_t rank;
	uint32_t subdomains; /* how many it has; with 0 the average means nothing */
	uint32_t room; /* how many more it would take: up to options.high for each worker */
	uint32_t reserved; /* 0 */
};

struct progress_rank_move {
	uint32_t subdomain; /* a place of this rank */
	uint32_t to; /* a rank, as a record said: check it before you use it as an index */
};

/* Set what is not to have its default, whatever an earlier call has set. Only before the other
 * functions for ranks. Returns 0 or -EINVAL (an option is out of range). */
int progress_rank_setup(struct progress *p, const struct progress_rank_options *options);

/* Set *out to the record of this rank as it is now. The program may lower its room, by subdomains
 * that are on their way here. Takes some nanoseconds for each place. This and
 * progress_rank_balance() are for one thread at a time. */
void progress_rank_read(const struct progress *p, struct progress_rank *out);

/* Reduce the records of many ranks to the two that a point needs: of two such pairs make one, in ends.
 * ends[0] is the least advanced rank, ends[1] the most advanced one with room; the pair of a single
 * rank is its record, twice. Any order and grouping gives the same. Pure; for any thread. */
void progress_rank_reduce(struct progress_rank ends[2], const struct progress_rank other[2]);

/* A balancing point of this rank, once in each period: steps 2 and 3. Should it send a subdomain to
 * another rank? busy_ns: for how long, since any moment and on average, its workers have not waited
 * for other ranks; any clock, if they never do. From this and from its counters it learns its rate;
 * the first call only notes where they stand. known: n records of ranks, as new as they are: all,
 * or the two of progress_rank_reduce(), or a neighbourhood. If this rank is among them, the others
 * are compared with its record there, which is as old as theirs. With all_behind, give that
 * together with the two: else its average as it is now would be compared with old ones.
 *
 * Returns 1 and sets *move; or 0: nothing is to be sent. In both cases nothing has changed yet: if
 * the other rank refuses, do nothing. With several workers, progress_holder() tells whose thread
 * must remove the subdomain. A rank keeps options.low subdomains for each worker, and some to
 * spare. */
int progress_rank_balance(struct progress *p, uint64_t busy_ns, const struct progress_rank *known,
	uint32_t n, struct progress_rank_move *move);

/* Stop the worker, and count its last iteration. It keeps what it holds, until it registers again
 * and begins an iteration. Only for the worker's own thread. */
void progress_leave(struct progress *p, uint32_t worker);

/* The largest minus the smallest number of updates over all subdomains, without empty places. */
uint64_t progress_spread(const struct progress *p);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
