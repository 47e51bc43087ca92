/* SPDX-License-Identifier: MIT */
/*
 * The interface of a source of samples to sampler.c, and what sources share.
 *
 * In a slot that a source gets, the totals are valid or zero, and descriptors are -1 or its own:
 * sampler.c resets slots before attach, and closes their descriptors.
 */
#ifndef JUGGLE_SAMPLE_BACK_END_H
#define JUGGLE_SAMPLE_BACK_END_H

#include "daemon/sample/parse.h"
#include "daemon/sample/sampler.h"

#include <stdbool.h>
#include <unistd.h>

struct sample_back_end {
	enum sampler_kind kind;
	/* Probe the source on the calling thread, and set *state (may stay NULL). Returns 0 or an
	 * error of sampler_new(). */
	int (*open)(void **state);
	void (*close)(void *state);
	/* Open what is read of one thread; NULL when there is nothing to open. Returns as
	 * sampler_attach(). On an error it may leave descriptors in the slot. */
	int (*attach)(void *state, struct sampler_slot *slot);
	/* As sampler_read(). */
	void (*read)(void *state, struct sampler_slot *const *slots, size_t n);
	/* As sampler_progress_unit(). NULL: always "ns". */
	const char *(*progress_unit)(const void *state);
};

extern const struct sample_back_end sample_schedstat;
extern const struct sample_back_end sample_taskstats;
extern const struct sample_back_end sample_perf;

/* Set a slot's totals, its progress (run_ns) and its error: 0, or -ESRCH when time would run
 * backwards because the tid belongs to another thread by now. Returns the error. */
int sample_store(struct sampler_slot *slot, const struct sample_counts *counts);

/* For perf, which reads schedstat beside its own count. They do the same as the functions of
 * sample_schedstat. read_one returns the slot's new error. */
int sample_schedstat_probe(void);
int sample_schedstat_attach(struct sampler_slot *slot);
int sample_schedstat_read_one(struct sampler_slot *slot);

/* For __attribute__((cleanup)): closes a descriptor unless it is negative. */
static inline void sample_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define SAMPLE_AUTO_CLOSE __attribute__((cleanup(sample_close_fd)))

/* Why a thread is not in /proc: -ESRCH when it has ended, -EACCES when it is hidden from us, as by
 * the mount option hidepid. */
int sample_why_missing(pid_t pid, pid_t tid);

#endif
