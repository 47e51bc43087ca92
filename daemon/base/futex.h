/* SPDX-License-Identifier: MIT */
/* futex(2), which glibc has no wrapper for. Private to the process. */
#ifndef JUGGLE_FUTEX_H
#define JUGGLE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

#define FUTEX_FOREVER UINT64_MAX

/* Sleep until *word is no longer `seen` and somebody wakes us, or until a time of
 * CLOCK_MONOTONIC; may wake early. */
void futex_wait_until(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns);
/* Wake one thread that waits on *word. */
void futex_wake(_Atomic uint32_t *word);

#endif
