/* SPDX-License-Identifier: MIT */
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A number up to CPUSET_CPUS_MAX. Moves *text past its digits. */
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

void cpuset_format(const struct cpuset *set, char *out, size_t bytes)
{
	static const char cut[] = ",...";
	size_t at = 0;

	out[0] = '\0';
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++) {
		char range[32];
		int last = cpu;
		if (!cpuset_has(set, cpu))
			continue;
		while (cpuset_has(set, last + 1))
			last++;
		const char *comma = at > 0 ? "," : "";
		size_t length = (size_t)snprintf(
			range, sizeof range, last > cpu ? "%s%d-%d" : "%s%d", comma, cpu, last);
		if (at + length + sizeof cut > bytes) {
			snprintf(out + at, bytes - at, "%s", at > 0 ? cut : cut + 1);
			return;
		}
		memcpy(out + at, range, length + 1);
		at += length;
		cpu = last;
	}
}

void cpuset_or(struct cpuset *set, const struct cpuset *other)
{
	for (size_t i = 0; i < CPUSET_WORDS; i++)
		set->word[i] |= other->word[i];
}

bool cpuset_contains(const struct cpuset *set, const struct cpuset *other)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < CPUSET_WORDS; i++)
		missing |= other->word[i] & ~set->word[i];
	return missing == 0;
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

int cpuset_rank(const struct cpuset *set, int os_cpu)
{
	int below = 0;

	for (int cpu = 0; cpu < os_cpu && cpu < CPUSET_CPUS_MAX; cpu++)
		below += cpuset_has(set, cpu);
	return below;
}

/* A raw system call, because glibc's wrapper takes a cpu_set_t. The kernel leaves words beyond its
 * own number of CPUs as they are. */
int cpuset_of_thread(pid_t tid, struct cpuset *out)
{
	memset(out, 0, sizeof *out);
	if (syscall(SYS_sched_getaffinity, tid, sizeof *out, out) < 0)
		return -errno;
	return 0;
}
