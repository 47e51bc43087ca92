/* SPDX-License-Identifier: MIT */
/*
 * How fast CPUs are, relative to each other, as far as that is known beforehand.
 *
 * Several sources may tell, each in a file of its own. They are asked in turn, the best first; one
 * that can't tell for all CPUs is passed over, so that no speed is compared with one of another
 * source. A wrong difference costs more than a missed one: it makes the balancer move threads for
 * nothing.
 */
#ifndef JUGGLE_SPEED_H
#define JUGGLE_SPEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/cpuset.h"

/* Speeds that differ less are equal. No source is more exact than that. */
#define SPEED_MARGIN 0.05

struct speed_cpu {
	int32_t os_cpu;
	int32_t core;
	int32_t kind; /* as hwloc numbers it; -1: unknown */
};

/* What sources are asked. */
struct speed_query {
	const struct speed_cpu *cpu;
	size_t cpus;
	int folder; /* a descriptor of /sys/devices/system/cpu, or -1 */
	bool ranked; /* a higher kind is a faster one */
	/* Of --speeds, NULL without: given[i] is the speed of the ith CPU of this set. */
	const double *given;
	const struct cpuset *given_cpus;
};

struct speed_source {
	const char *name;
	/* Set speed[cpus] to numbers above 0 of any unit. Returns 0, or -ENODATA when it can't tell
	 * for all CPUs; then speed[] is undefined. */
	int (*read)(const struct speed_query *query, double *speed);
};

extern const struct speed_source speed_option, speed_capacity, speed_kinds, speed_cppc,
	speed_frequency;

/* Set speed[cpus]; the fastest CPU has 1. Returns the name of the source; "equal" when none knows of
 * differences, and all speeds are 1. */
const char *speeds_read(const struct speed_query *query, double *speed);

/* The number in the text of a file of sysfs, which may end in a line feed. Returns 0, or -EBADMSG
 * when it is no whole number above 0. Pure. */
int speed_parse(const char *text, size_t bytes, double *out);
/* Read this file of one CPU of each core, such as "cpu_capacity": hardware threads of a core say the
 * same, and firmware takes its time. Returns as speed_source.read. */
int speed_read_files(const struct speed_query *query, const char *name, double *speed);

#endif
