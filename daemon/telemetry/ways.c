/* SPDX-License-Identifier: MIT */
#include "daemon/telemetry/telemetry.h"

#include "daemon/policy/regime.h"

#include <stdlib.h>

static int longest_first(const void *a, const void *b)
{
	const struct telemetry_way *x = a, *y = b;

	return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
}

size_t telemetry_ways(const struct telemetry *telemetry, struct telemetry_way way[TELEMETRY_WAYS])
{
	size_t count = 0;

	for (uint32_t k = 0; k < TELEMETRY_WAYS; k++) {
		bool balance = k >= TELEMETRY_REASONS;
		uint32_t reason = k % TELEMETRY_REASONS;
		uint64_t time_ns = telemetry_get(
			balance ? &telemetry->balance_ns[reason] : &telemetry->aside_ns[reason]);
		if (time_ns > 0)
			way[count++] = (struct telemetry_way){
				.balance = balance, .reason = reason, .time_ns = time_ns};
	}
	qsort(way, count, sizeof *way, longest_first);
	return count;
}

uint64_t telemetry_declined_ns(const struct telemetry *telemetry)
{
	return telemetry_get(&telemetry->aside_ns[POLICY_REASON_SHORT]) +
	       telemetry_get(&telemetry->aside_ns[POLICY_REASON_DYNAMIC]) +
	       telemetry_get(&telemetry->aside_ns[POLICY_REASON_SLOWER]);
}
