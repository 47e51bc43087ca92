/* SPDX-License-Identifier: MIT */
/* The histogram in telemetry, for its writer and its readers. */
#include "daemon/telemetry/telemetry.h"

uint32_t telemetry_bucket(uint64_t ns)
{
	if (ns < 16)
		return (uint32_t)ns;
	uint32_t power = 63 - (uint32_t)__builtin_clzll(ns);
	uint32_t bucket = (power - 3) * 16 + (uint32_t)(ns >> (power - 4) & 15);
	return bucket < TELEMETRY_BUCKETS ? bucket : TELEMETRY_BUCKETS - 1;
}

uint64_t telemetry_bucket_ns(uint32_t bucket)
{
	if (bucket < 16)
		return bucket;
	uint32_t shift = bucket / 16 - 1;
	return ((uint64_t)(16 + bucket % 16) << shift) + (UINT64_C(1) << shift) / 2;
}

uint64_t telemetry_quantile_ns(const struct telemetry *telemetry, double share)
{
	uint64_t total = 0, below = 0;

	for (uint32_t i = 0; i < TELEMETRY_BUCKETS; i++)
		total += telemetry_get(&telemetry->cycle_bucket[i]);
	for (uint32_t i = 0; i < TELEMETRY_BUCKETS; i++) {
		below += telemetry_get(&telemetry->cycle_bucket[i]);
		if (total > 0 && (double)below >= share * (double)total)
			return telemetry_bucket_ns(i);
	}
	return 0;
}
