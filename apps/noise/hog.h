/* SPDX-License-Identifier: MIT */
/*
 * One hog: a thread that takes CPU time from others by a pattern.
 *
 * The patterns are those of the published experiments, so that their figures can be measured again.
 * Each is defined so that two runs that are compared are disturbed alike.
 */
#ifndef NOISE_HOG_H
#define NOISE_HOG_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

enum hog_pattern {
	/* Sleep 200 us, then steps of sum = sum * a + b for 46 us, repeated: a core that is 19 %
	 * slower (Zarins & Weiland 2017). After a sleep that lasted longer it computes for longer,
	 * so that its share of a CPU depends on neither timers nor speed. */
	HOG_PLB,
	/* busy_ns of CPU time in every period_ns. A hog that can't get it in time lets whole
	 * periods pass, it does not catch up. */
	HOG_DUTY,
	/* Sleep 0-5 s, compute 5-10 s, uniformly distributed (Hofmeyr et al. 2012, 5.4). Both in
	 * wall time: for one seed the schedule is the same whatever runs beside it. */
	HOG_HOGS,
	HOG_PATTERNS,
};

extern const char *const hog_pattern_names[HOG_PATTERNS]; /* in options and reports */

/* When to stop, for all hogs of a process. */
struct hog_stop {
	atomic_bool now;
	sem_t sleepers; /* posted once for each hog, so that none sleeps on */
};

/* Only the hog's own thread uses it; the caller fills in the first group. */
struct hog {
	enum hog_pattern pattern;
	int os_cpu; /* -1: not pinned */
	int nice; /* only set when it differs from the process's own */
	uint64_t busy_ns; /* HOG_DUTY; at most period_ns */
	uint64_t period_ns; /* HOG_DUTY; not 0 */
	double scale; /* HOG_HOGS: factor for all its times, above 0 */
	uint64_t seed; /* HOG_HOGS; a different one for each hog */
	struct hog_stop *stop;

	uint64_t random;
	uint64_t cpu_ns; /* total CPU time, valid after hog_run() */
};

/* Pin the calling thread and set its nice value, as the hog says. Returns 0, -EINVAL (no
 * such CPU, or not allowed), -EACCES (nice value not permitted), or another negative
 * errno; *what then names what failed. */
int hog_prepare(struct hog *hog, const char **what);

/* Disturb until stopped. */
void hog_run(struct hog *hog);

/* Returns 0 or a negative errno. */
int hog_stop_init(struct hog_stop *stop);
void hog_stop_deinit(struct hog_stop *stop);

/* Make that many hogs return, at once whether they sleep or compute. */
void hog_stop_all(struct hog_stop *stop, int hogs);

#endif
