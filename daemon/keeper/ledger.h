/* SPDX-License-Identifier: MIT */
/*
 * What threads had before juggle touched them: affinity masks.
 *
 * The ledger lies in memory that the keeper (the process the user started) and the
 * balancer share, so that whichever of the two is killed, the other can put everything
 * back. One process writes; entries become visible to the other only when complete.
 */
#ifndef JUGGLE_LEDGER_H
#define JUGGLE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/act/act.h"
#include "daemon/proc/proc.h"

struct ledger;

/* Make a ledger in memory that children made by fork() share. Returns 0 or -ENOMEM. */
int ledger_new(struct ledger **out);
/* Unmaps; restores nothing. Accepts NULL. */
void ledger_free(struct ledger *ledger);

/* Write down what a thread has, before the first change to it. Returns the entry's number,
 * or -ENOSPC when the ledger is full: such a thread must be left alone. Not thread-safe. */
int ledger_record(struct ledger *ledger, pid_t pid, pid_t tid, uint64_t start_ticks,
	const struct cpuset *mask);

/* The thread has one CPU, for now, and what is born of it inherits that. */
void ledger_confined(struct ledger *ledger, int entry);

/* The mask that was written down. */
void ledger_mask(const struct ledger *ledger, int entry, struct cpuset *out);

/* Give a thread back what it had; the entry stays. With `within` (else NULL) the mask is cut down
 * to those CPUs (to all of them where nothing would be left). Returns 0, -ESRCH when the thread is gone (or
 * its tid is another's now), or a negative errno. Thread-safe for distinct entries. */
int ledger_restore(const struct ledger *ledger, int entry, const struct cpuset *within);
/* The thread ended: free its entry. Not thread-safe. */
void ledger_forget(struct ledger *ledger, int entry);
/* Restore all that is written down. Returns how many threads there were. */
size_t ledger_restore_all(const struct ledger *ledger);
/* Threads that were born of confined ones, but not met before those were restored, are left
 * with one CPU: give them what their process had, or else its parent, or, when neither was
 * met, any confined thread. Call it after ledger_restore_all(): what is born from then on
 * inherits the right mask. */
void ledger_restore_born(const struct ledger *ledger, struct proc_scan *scan);

#endif
