/* SPDX-License-Identifier: MIT */
/* The job that is watched; see watch.h. */
#include "tools/top/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int watch_open(struct watch *watch, const char *name, struct live_error *error)
{
	struct watch next = {0};
	int r = live_open(name, &next.job, error);

	if (r < 0)
		return r;
	r = live_take(next.job, &next.sample);
	if (r < 0) {
		snprintf(error->text, sizeof(error->text), "the job has ended, or is about to (%s)",
			strerror(-r));
		live_close(next.job);
		return r;
	}
	live_compare(NULL, &next.sample);
	history_add(&next.history, &next.sample);
	watch_close(watch);
	*watch = next;
	return 0;
}

int watch_open_entry(struct watch *watch, const struct live_entry *entry, struct live_error *error)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", (int)entry->pid);
	return watch_open(watch, name, error);
}

void watch_close(struct watch *watch)
{
	live_close(watch->job);
	live_sample_deinit(&watch->sample);
	*watch = (struct watch){0};
}

int watch_look(struct watch *watch)
{
	struct live_sample next;

	if (watch->ended)
		return 0;
	int r = live_take(watch->job, &next);
	if (r == -ESRCH) {
		watch->ended = true;
		return 0;
	}
	if (r < 0)
		return r;
	live_compare(&watch->sample, &next);
	live_sample_deinit(&watch->sample);
	watch->sample = next;
	history_add(&watch->history, &watch->sample);
	return 0;
}

bool watch_is(const struct watch *watch, const struct live_entry *entry)
{
	if (watch->job == NULL)
		return false;
	if (entry->kind == LIVE_JOB)
		return watch->sample.wrapped && watch->sample.juggle_pid == entry->pid;
	for (size_t i = 0; i < watch->sample.processes && !watch->sample.wrapped; i++)
		if (watch->sample.process[i].pid == entry->pid)
			return true;
	return false;
}
