/* SPDX-License-Identifier: MIT */
/*
 * Ringing for juggle when a CPU runs dry; see struct phases_bell. The thread that arrives looks for itself
 * whether that is so, as a call in vain costs all of them more: it preempts a thread.
 */
#include "libprogress/phases/bell.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libprogress/phases/phases.h"

static bool works(const struct phases_row *row)
{
	return atomic_load_explicit(&row->tid, memory_order_relaxed) != 0 &&
	       ((atomic_load_explicit(&row->turns, memory_order_relaxed) + 1) & 2) == 0;
}

/* Does the CPU of that row have nobody at work, and another one more than one? */
static bool is_dry(const struct phases_table *table, const struct phases_bell *bell,
	const struct phases_row *row)
{
	uint32_t n = atomic_load_explicit(&bell->ringers, memory_order_relaxed);
	uint32_t working = 0;
	bool here = false, mine = false, dry = false, crowded = false;

	for (uint32_t i = 0; i < n && i < PHASES_RINGERS; i++) {
		uint32_t ringer = atomic_load_explicit(&bell->ringer[i], memory_order_relaxed);
		const struct phases_row *other =
			&table->row[ringer & PHASES_RINGER_ROW & (PHASES_ROWS - 1)];
		if (ringer & PHASES_RINGER_FIRST) {
			working = 0;
			here = false;
		}
		bool more = works(other);
		mine = mine || other == row;
		here = here || other == row;
		if (more)
			working += ringer & PHASES_RINGER_CROWDED ? 2 : 1;
		crowded = crowded || (!here && working > 1);
		dry = here ? working == 0 : dry;
	}
	return mine && dry && crowded;
}

void bell_ring(struct phases_table *table, const struct phases_row *row)
{
	uint8_t which =
		atomic_load_explicit(&table->bell_of[row - table->row], memory_order_relaxed);

	if (which == 0 || which > PHASES_BELLS)
		return;
	struct phases_bell *bell = &table->bell[which - 1];
	if (!is_dry(table, bell, row))
		return;
	int saved = errno;
	atomic_fetch_add_explicit(&bell->rings, 1, memory_order_release);
	syscall(SYS_futex, &bell->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
	errno = saved;
}
