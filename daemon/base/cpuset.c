/* SPDX-License-Identifier: MIT */
/*
 * Sets of CPUs for the workloads; see cpuset.h for why they have their own.
 */
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>

bool cpuset_has(const struct cpuset *set, int os_cpu)
{
	return os_cpu >= 0 && os_cpu < CPUSET_CPUS_MAX && set->word[os_cpu / 64] >> os_cpu % 64 & 1;
}

static void cpuset_add(struct cpuset *set, int os_cpu)
{
	set->word[os_cpu / 64] |= UINT64_C(1) << (os_cpu % 64);
}

/* Digits up to CPUSET_CPUS_MAX; moves *text behind them. */
static int scan_number(const char **text, int *out)
{
	const char *p = *text;
	int value = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		value = value * 10 + (*p - '0');
		if (value > CPUSET_CPUS_MAX)
			return -ERANGE;
	}
	*text = p;
	*out = value;
	return 0;
}

/* NUMBER | NUMBER-NUMBER | NUMBER-NUMBER:STRIDE */
static int scan_range(const char **text, struct cpuset *set)
{
	int first, last, stride = 1;
	int rc = scan_number(text, &first);

	if (rc < 0)
		return rc;
	last = first;
	if (**text == '-') {
		(*text)++;
		rc = scan_number(text, &last);
		if (rc < 0)
			return rc;
		if (**text == ':') {
			(*text)++;
			rc = scan_number(text, &stride);
			if (rc < 0)
				return rc;
		}
	}
	if (last < first || stride == 0)
		return -EINVAL;
	if (last >= CPUSET_CPUS_MAX)
		return -ERANGE;
	for (int cpu = first; cpu <= last; cpu += stride)
		cpuset_add(set, cpu);
	return 0;
}

int cpuset_parse(const char *text, struct cpuset *out)
{
	struct cpuset set = {0};

	for (;;) {
		int rc = scan_range(&text, &set);
		if (rc < 0)
			return rc;
		if (*text == '\0')
			break;
		if (*text != ',')
			return -EINVAL;
		text++;
	}
	*out = set;
	return 0;
}

int cpuset_count(const struct cpuset *set)
{
	int count = 0;

	for (int i = 0; i < CPUSET_WORDS; i++)
		count += __builtin_popcountll(set->word[i]);
	return count;
}

int cpuset_nth(const struct cpuset *set, int nth)
{
	int count = cpuset_count(set);

	if (count == 0 || nth < 0)
		return -1;
	nth %= count;
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++)
		if (cpuset_has(set, cpu) && nth-- == 0)
			return cpu;
	return -1;
}

/* glibc's masks are arrays of long with CPU 0 in the lowest bit of the first: on a
 * little-endian or a 64-bit machine that is our layout too. */
int cpuset_of_caller(struct cpuset *out)
{
	struct cpuset set = {0};

	if (sched_getaffinity(0, sizeof(set), (cpu_set_t *)(void *)&set) < 0)
		return -errno;
	*out = set;
	return 0;
}

int cpuset_pin_caller(int os_cpu)
{
	struct cpuset set = {0};

	if (os_cpu < 0 || os_cpu >= CPUSET_CPUS_MAX)
		return -EINVAL;
	cpuset_add(&set, os_cpu);
	if (sched_setaffinity(0, sizeof(set), (const cpu_set_t *)(const void *)&set) < 0)
		return -errno;
	return 0;
}
