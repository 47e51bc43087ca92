/* SPDX-License-Identifier: MIT */
/*
 * Counting on several kinds of cores: each kind has a PMU of its own, and an event counts on the
 * cores of one PMU only. So there is an event for each, and what they counted is added up.
 */
#ifndef JUGGLE_SAMPLE_PMUS_H
#define JUGGLE_SAMPLE_PMUS_H

#include <stddef.h>
#include <stdint.h>

#define PMUS_MAX 4 /* no machine has more kinds of cores */

/* Find the PMUs of cores in a folder such as /sys/bus/event_source/devices. Stores up to PMUS_MAX of
 * their types, as perf_event_open(2) takes them, in ascending order. Returns how many there are, 0
 * where no PMU names its cores, or -EBADMSG when one can't be understood. */
int pmus_find(const char *devices, uint32_t type[PMUS_MAX]);

/* What read(2) returns of an event. */
struct pmus_value {
	uint64_t count;
	uint64_t enabled_ns; /* time that the thread ran */
	uint64_t running_ns; /* the part of it in which the event counted */
};

/* The sum of a thread's events, of at least one. Where there are more events than counters, the
 * kernel lets events take turns; what they missed together is estimated from what they counted.
 * Pure. */
struct pmus_value pmus_sum(const struct pmus_value *value, size_t count);

#endif
