/* SPDX-License-Identifier: MIT */
/*
 * The affinity masks that threads had before juggle changed them, and whether any have got short time slices
 * by juggle: those can be told by their length.
 *
 * The ledger lies in memory that the keeper (the process that the user started) and the
 * balancer share, and the guard of the masks. Whichever of them are killed, one that is left can give
 * all that back. The balancer writes. The others see an entry only when it is complete.
 */
#ifndef JUGGLE_LEDGER_H
#define JUGGLE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"
#include "daemon/proc/proc.h"

struct ledger;

/* Make a ledger in memory that later children of this process share. Returns 0 or -ENOMEM. */
int ledger_new(struct ledger **out);
/* Free the memory; restores nothing. Accepts NULL. */
void ledger_free(struct ledger *ledger);

/* Record the mask of a thread, before the first change to it. Returns the number of its entry,
 * or -ENOSPC when the ledger is full: such a thread must be left alone. Not thread-safe. */
int ledger_record(struct ledger *ledger, pid_t pid, pid_t tid, uint64_t start_ticks,
	const struct cpuset *mask);

/* The same for a thread that is confined from birth, by inheritance: see ledger_confined(). */
int ledger_record_confined(struct ledger *ledger, pid_t pid, pid_t tid, uint64_t start_ticks,
	const struct cpuset *mask);

/* Note that the thread is confined to one CPU, by juggle or from birth, and that its children
 * inherit that. Its mask is changed, too, until it is restored. Call it before juggle confines the thread.
 * Thread-safe for distinct entries. */
void ledger_confined(struct ledger *ledger, int entry);

/* Note that juggle changes the thread's mask, if not to one CPU: true before it does, false when the mask is what it
 * was. Thread-safe for distinct entries. */
void ledger_set_changed(struct ledger *ledger, int entry, bool changed);
/* Is its mask one that juggle has set? */
bool ledger_is_changed(const struct ledger *ledger, int entry);

/* Give a thread a short slice, if it has the default one. Returns 0, -ESRCH when the thread is gone, or a
 * negative errno of act_shorten_slice(). Thread-safe for distinct entries. */
int ledger_shorten(struct ledger *ledger, int entry, uint64_t default_ns);
/* A thread that was just recorded: has it inherited a short slice? */
bool ledger_inherits_short(const struct ledger *ledger, int entry);
/* Give a thread with a short slice the default one back. Safe for one that is gone, or that has changed its slice by
 * itself. */
void ledger_lengthen(const struct ledger *ledger, int entry);

/* The mask that was recorded. */
void ledger_mask(const struct ledger *ledger, int entry, struct cpuset *out);

/*
 * The mask that a newborn thread should have instead of the one CPU that it inherited from a
 * confined thread. Nothing shows which thread that was, so the rule is:
 * - when threads of its own process are recorded: the mask of a confined one of them;
 * - else, when threads of its parent process are: the mask of a confined one of those;
 * - else that of any confined thread, since the parent was never recorded, or has ended.
 * Where several threads qualify, the last entry counts. Where a process is recorded and none
 * of its threads was confined, the one CPU is the program's own choice: there is no inherited
 * mask. A thread that is itself recorded has none, either.
 *
 * The caller checks that the thread has one CPU. Returns 0, or -ENOENT when there is no
 * inherited mask. Safe beside ledger_confined(), but not beside ledger_record() and
 * ledger_forget().
 */
int ledger_inherited(
	const struct ledger *ledger, const struct proc_thread *thread, struct cpuset *out);

/* Give a thread its recorded mask back; the entry stays. With `within` (NULL: without limit)
 * the mask is cut down to those CPUs, or is all of them when nothing would be left: such a mask still
 * counts as changed. Returns 0, -ESRCH when the thread is gone (or its tid is another's now), or a
 * negative errno. Thread-safe for distinct entries. */
int ledger_restore(struct ledger *ledger, int entry, const struct cpuset *within);
/* A thread that executes a program ends all others and takes the number of its process's first thread, but keeps its own
 * mask. Call it for the first thread, the leader, when one with a changed mask has ended, or when the leader itself seems
 * to have: if it is there, has a single CPU now, and its mask does not count as changed, it gets the recorded one, cut
 * down to `within` (NULL: without limit), and counts as changed. (So does a leader that has bound itself, when another
 * thread ends.) Thread-safe. */
void ledger_suspect(struct ledger *ledger, int leader, const struct cpuset *within);
/* The thread has ended: free its entry. Not thread-safe. */
void ledger_forget(struct ledger *ledger, int entry);
/* Restore all masks that are changed, and all time slices. A thread whose mask juggle has not changed, or has given
 * back, may have set its own since: that one stays. Returns how many threads are recorded. */
size_t ledger_restore_all(struct ledger *ledger);
/* All masks have been given back, and the ledger is not needed any more. */
void ledger_close(struct ledger *ledger);
bool ledger_is_closed(const struct ledger *ledger);

/* Give threads that were born of confined ones, and are not in the ledger, their inherited
 * masks, and those born with a short slice the default one. Call it after ledger_restore_all(): what is
 * born from then on inherits the right ones. Scans the processes of the ledger, too, as the scan's own
 * root may have ended. While the job runs this takes 10 ms or more, and a second at most, for threads
 * that show late in /proc. */
void ledger_restore_born(const struct ledger *ledger, struct proc_scan *scan);

/* All of these: restore what is recorded, then what was born of it (unless scan is NULL), and close
 * the ledger. Returns how many threads were recorded. */
size_t ledger_give_back(struct ledger *ledger, struct proc_scan *scan);

#endif
