/* SPDX-License-Identifier: MIT */
#include "daemon/job/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void roster_deinit(struct roster *roster)
{
	free(roster->entry);
	*roster = (struct roster){0};
}

/* The index of the first entry with this tid, or where it belongs. */
static size_t find(const struct roster *roster, pid_t tid)
{
	size_t low = 0, high = roster->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (roster->entry[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool roster_has(const struct roster *roster, const struct proc_thread *thread)
{
	size_t i = find(roster, thread->tid);

	return i < roster->count && roster->entry[i].tid == thread->tid &&
	       roster->entry[i].thread->start_ticks == thread->start_ticks;
}

struct job_thread *roster_find(const struct roster *roster, pid_t tid)
{
	size_t i = find(roster, tid);

	return i < roster->count && roster->entry[i].tid == tid ? roster->entry[i].thread : NULL;
}

int roster_add(struct roster *roster, struct job_thread *thread)
{
	if (roster->count == roster->capacity) {
		size_t capacity = roster->capacity * 2 + 64;
		void *entry = realloc(roster->entry, capacity * sizeof *roster->entry);
		if (entry == NULL)
			return -ENOMEM;
		roster->entry = entry;
		roster->capacity = capacity;
	}
	size_t i = find(roster, thread->slot.tid);
	memmove(&roster->entry[i + 1], &roster->entry[i],
		(roster->count - i) * sizeof *roster->entry);
	roster->entry[i] = (struct roster_entry){.tid = thread->slot.tid, .thread = thread};
	roster->count++;
	return 0;
}

void roster_remove(struct roster *roster, const struct job_thread *thread)
{
	size_t i = find(roster, thread->slot.tid);

	/* A tid is there twice when the kernel reused it before the end of its first owner was
	 * seen. */
	while (i < roster->count && roster->entry[i].thread != thread)
		i++;
	if (i < roster->count) {
		roster->count--;
		memmove(&roster->entry[i], &roster->entry[i + 1],
			(roster->count - i) * sizeof *roster->entry);
	}
}

static int compare_pids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

size_t roster_processes(const struct roster *roster, pid_t **out)
{
	size_t unique = 0;
	pid_t *pid = roster->count > 0 ? malloc(roster->count * sizeof *pid) : NULL;

	*out = pid;
	if (pid == NULL)
		return 0;
	for (size_t i = 0; i < roster->count; i++)
		pid[i] = roster->entry[i].thread->slot.pid;
	qsort(pid, roster->count, sizeof *pid, compare_pids);
	for (size_t i = 0; i < roster->count; i++)
		if (i == 0 || pid[i] != pid[i - 1])
			pid[unique++] = pid[i];
	return unique;
}
