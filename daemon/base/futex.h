/* SPDX-License-Identifier: MIT */
/* futex(2), for which glibc has no wrapper. For the threads of one process, but where it says shared. */
#ifndef JUGGLE_FUTEX_H
#define JUGGLE_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FUTEX_FOREVER UINT64_MAX

/* A futex in memory that processes share. */
struct futex_shared {
	_Atomic uint32_t *word;
	uint32_t seen;
};

/* Sleep while *word is `seen`, until somebody wakes us or a time of CLOCK_MONOTONIC has come
 * (FUTEX_FOREVER: never). May wake early. */
void futex_wait_until(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns);
/* The same, and while *shared->word is `seen`, too. Without Linux 5.16, or where
 * futex_waitv(2) is refused, nobody wakes us through that. */
void futex_wait_either(_Atomic uint32_t *word, uint32_t seen, const struct futex_shared *shared,
	uint64_t until_ns);
/* Does somebody wake us through that? */
bool futex_has_either(void);
/* Wake one thread that waits on *word. */
void futex_wake(_Atomic uint32_t *word);

#endif
