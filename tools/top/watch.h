/* SPDX-License-Identifier: MIT */
/* The job that jugglectl top watches: its last sample, its history, and the other jobs. */
#ifndef TOP_WATCH_H
#define TOP_WATCH_H

#include "tools/live/live.h"
#include "tools/top/history.h"

struct watch {
	struct live_job *job;
	struct live_sample sample; /* the last one, compared; remains when the job has ended */
	struct history history;
	bool ended;
};

/* Open a job, as live_open(), and take the first sample, whose rates are those since its start. On
 * an error *watch is unchanged. */
int watch_open(struct watch *watch, const char *name, struct live_error *error);
/* Accepts a zeroed one, and zeroes it. */
void watch_close(struct watch *watch);

/* Take another sample, or find that the job has ended. Returns 0, or a negative errno code with the
 * previous sample kept. */
int watch_look(struct watch *watch);

/* Is a job of live_choices() the one that is watched? */
bool watch_is(const struct watch *watch, const struct live_entry *entry);
/* Open a job of live_choices(), as watch_open(). */
int watch_open_entry(struct watch *watch, const struct live_entry *entry, struct live_error *error);

#endif
