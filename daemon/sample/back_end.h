/* SPDX-License-Identifier: MIT */
/*
 * What a source of samples has to offer to sampler.c, and what they share.
 *
 * Back ends find slots whose totals are valid or zero and whose descriptors are -1 or
 * their own; sampler.c resets slots before attach and closes their descriptors.
 */
#ifndef JUGGLE_SAMPLE_BACK_END_H
#define JUGGLE_SAMPLE_BACK_END_H

#include "daemon/sample/parse.h"
#include "daemon/sample/sampler.h"

#include <stdbool.h>
#include <unistd.h>

struct sample_back_end {
	enum sampler_kind kind;
	/* Probe the source on the calling thread, and set *state (may stay NULL). Returns 0
	 * or what sampler_new documents. */
	int (*open)(void **state);
	void (*close)(void *state);
	/* Open what is read of one thread. NULL when nothing is. Returns as sampler_attach;
	 * may leave descriptors in the slot on error. */
	int (*attach)(void *state, struct sampler_slot *slot);
	/* As sampler_read. */
	void (*read)(void *state, struct sampler_slot *const *slots, size_t n);
	/* As sampler_progress_unit. NULL: always "ns". */
	const char *(*progress_unit)(const void *state);
};

extern const struct sample_back_end sample_schedstat;
extern const struct sample_back_end sample_taskstats;
extern const struct sample_back_end sample_perf;

/* Set a slot's totals and progress = run_ns; error is 0, or -ESRCH when time would run
 * backwards, because the tid is another thread's by now. Returns that error. */
int sample_store(struct sampler_slot *slot, const struct sample_counts *counts);

/* Whether fd is so near the limit that the rest of the program could run out. */
bool sample_fd_is_scarce(int fd);

/* For perf, which reads schedstat beside its own count. As the functions of
 * sample_schedstat; read_one returns the slot's new error. */
int sample_schedstat_probe(void);
int sample_schedstat_attach(struct sampler_slot *slot);
int sample_schedstat_read_one(struct sampler_slot *slot);

/* Closes a descriptor (not a negative errno) at the end of its scope. */
static inline void sample_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define SAMPLE_AUTO_CLOSE __attribute__((cleanup(sample_close_fd)))

/* Whether a thread that cannot be found in /proc has ended (-ESRCH), or is hidden from us
 * (-EACCES), as by the mount option hidepid. */
int sample_why_missing(pid_t pid, pid_t tid);

#endif
