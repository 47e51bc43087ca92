/* SPDX-License-Identifier: MIT */
#include "daemon/progress/published.h"

#include <stdlib.h>

#include "daemon/progress/traced.h"

static int compare(const void *a, const void *b)
{
	const struct published_thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The index of the first entry that is not before (pid, tid). */
static size_t find(const struct published *published, pid_t pid, pid_t tid)
{
	const struct published_thread key = {.pid = pid, .tid = tid};
	size_t low = 0, high = atomic_load_explicit(&published->n, memory_order_relaxed);

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (compare(&published->thread[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_of(const struct published *published, size_t i, pid_t pid)
{
	return i < atomic_load_explicit(&published->n, memory_order_relaxed) &&
	       published->thread[i].pid == pid;
}

void published_init(struct published *published)
{
	*published = (struct published){0};
	pthread_mutex_init(&published->lock, NULL);
}

void published_deinit(struct published *published)
{
	free(published->thread);
	pthread_mutex_destroy(&published->lock);
}

void published_replace(struct published *published, struct published_thread *thread, size_t n)
{
	if (n > 0)
		qsort(thread, n, sizeof *thread, compare);
	pthread_mutex_lock(&published->lock);
	struct published_thread *old = published->thread;
	published->thread = thread;
	atomic_store_explicit(&published->n, n, memory_order_relaxed);
	pthread_mutex_unlock(&published->lock);
	free(old);
}

struct published_thread *published_entry(struct published *published, pid_t pid, pid_t tid)
{
	size_t i = find(published, pid, tid);

	return is_of(published, i, pid) && published->thread[i].tid == tid ? &published->thread[i]
									   : NULL;
}

bool published_any(const struct published *published)
{
	return atomic_load_explicit(&published->n, memory_order_relaxed) > 0;
}

enum policy_role published_look(
	const struct published *published, pid_t pid, pid_t tid, uint64_t *updates)
{
	size_t i = find(published, pid, tid);

	if (is_of(published, i, pid) && published->thread[i].tid == tid) {
		*updates =
			atomic_load_explicit(&published->thread[i].updates, memory_order_relaxed);
		if (*updates > PROGRESS_TRACE_UPDATES_MAX)
			*updates = PROGRESS_TRACE_UPDATES_MAX;
		return published->thread[i].balanced ? POLICY_ROLE_BALANCED : POLICY_ROLE_WORKER;
	}
	if (is_of(published, i, pid) || (i > 0 && is_of(published, i - 1, pid)))
		return POLICY_ROLE_OTHER;
	return POLICY_ROLE_UNKNOWN;
}
