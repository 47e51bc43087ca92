/* SPDX-License-Identifier: MIT */
/*
 * Beyond the paper: how long a phase takes whose threads have unequal work, on CPUs of unequal
 * speed, and what moves cost. The paper leaves all three to future work. Pure and thread-safe;
 * each function is the limit of short periods.
 *
 * At any moment the threads that still compute, k of them, have rates: on each CPU, its speed over
 * its number of threads, where CPUs have floor(k/m) or ceil(k/m) threads, the fastest CPUs first.
 * Who has which rate is for the balancer to choose. Threads that take turns have the mean of theirs.
 */
#ifndef THEORY_UNEVEN_H
#define THEORY_UNEVEN_H

#include <stdbool.h>
#include <stdint.h>

#define UNEVEN_THREADS_MAX 4096

struct uneven_case {
	uint32_t threads, cpus; /* n, up to UNEVEN_THREADS_MAX, and m; not 0 */
	const double *work; /* > 0, of the n threads, the largest first; time on a CPU of speed 1 */
	const double *speed; /* > 0, of the m CPUs, the fastest first; NULL: all 1 */
};

/* Never moved: CPUs get threads in turn, the fastest and the largest first. */
double uneven_static(const struct uneven_case *c);

/* The least time under any balancer, which may put any number of threads on a CPU: the j largest
 * works can have no more than the j fastest CPUs, and all works no more than all CPUs (Horvath, Lam
 * and Sethi, "A level algorithm for preemptive scheduling", 1977, who show that it is reached):
 *
 *     max(sum(work) / sum(speed), max over j < m of sum(work[0 .. j]) / sum(speed[0 .. j]))
 *
 * For equal threads this is Eq. 14. */
double uneven_bound(const struct uneven_case *c);

/* Moved by the work that is left, by a balancer that knows it: those with the most have the largest
 * rates. When a thread gets down to the next ones, they take turns from then on. */
double uneven_by_rest(const struct uneven_case *c);

/* Moved by the work that is done, as the paper's algorithm does, which knows no more: all threads
 * that still compute have the mean rate. A thread of the k-th largest work ends after its fellows
 * with less. */
double uneven_by_progress(const struct uneven_case *c);

/* How many threads change their CPU at a balancing point, where n equal threads take turns on m equal
 * CPUs: 2 min(f, s), of f threads that run fast and s that run slow. For n = m + 1, and for n < 2 m
 * with s <= f.
 *
 * Those who ran fast for a period are ahead of those who ran slow. So the next point exchanges as
 * many as there are of the fewer kind: each leaves its CPU to one of the others. Only where all are
 * exactly level would nobody have to move; a cost of moves makes them differ, as does any noise.
 * In other cases the idealised algorithm also deals threads anew among slow CPUs: 9 threads on 5
 * CPUs lose twice what uneven_moves_cost() says. */
double uneven_moves(uint32_t threads, uint32_t cpus);

/* Are these cases for which the above holds, or in which nothing moves? */
bool uneven_moves_known(uint32_t threads, uint32_t cpus);

/* About how many times as long phases take when each move costs the moved thread that much CPU time: of
 * each period, moves take that from m CPUs,
 *
 *     1 / (1 - uneven_moves() cost / (m period)).
 *
 * INFINITY when moves take all time. */
double uneven_moves_cost(uint32_t threads, uint32_t cpus, double period, double cost);

#endif
