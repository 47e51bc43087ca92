/* SPDX-License-Identifier: MIT */
/* The recent past; see history.h. */
#include "tools/top/history.h"

#include <math.h>

void history_add(struct history *history, const struct live_sample *sample)
{
	size_t at = history->next;
	bool moved = sample->subdomains > 0;

	history->value[HISTORY_MIGRATIONS][at] = sample->wrapped ? sample->migrations_per_s : NAN;
	history->value[HISTORY_THREAD_SPREAD][at] = sample->thread_spread_s;
	history->value[HISTORY_MOVES][at] = moved ? sample->moves_per_s : NAN;
	history->value[HISTORY_SPREAD][at] = moved ? (double)sample->spread : NAN;
	history->next = (at + 1) % HISTORY_LENGTH;
	if (history->count < HISTORY_LENGTH)
		history->count++;
}

double history_value(const struct history *history, enum history_series series, size_t ago)
{
	if (ago >= history->count)
		return NAN;
	return history->value[series][(history->next + HISTORY_LENGTH - 1 - ago) % HISTORY_LENGTH];
}
