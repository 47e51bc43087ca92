/* SPDX-License-Identifier: MIT */
/*
 * One domain, for tests of the parts of daemon/policy. Include after cmocka.h.
 */
#ifndef TEST_POLICY_DOMAIN_H
#define TEST_POLICY_DOMAIN_H

#include "daemon/policy/policy.h"
#include "tests/unit/random.h"

#include <string.h>

enum { N_MAX = 64, M_MAX = 16 };

/* What the functions work on. */
struct domain {
	size_t n, m;
	struct policy_thread thread[N_MAX];
	struct policy_cpu cpu[M_MAX];
	uint32_t order[2 * M_MAX];
};

/* Of equal CPUs, with rows that are all zero. */
static inline struct domain domain_of(size_t n, size_t m)
{
	struct domain d = {.n = n, .m = m};

	for (size_t j = 0; j < M_MAX; j++) {
		d.cpu[j].rated = d.cpu[j].potential = 1;
		d.cpu[j].core = (int32_t)j;
	}
	return d;
}

static inline void count_threads(const struct domain *d, uint32_t *count)
{
	memset(count, 0, M_MAX * sizeof *count);
	for (size_t i = 0; i < d->n; i++)
		if (d->thread[i].cpu != POLICY_NO_CPU)
			count[d->thread[i].cpu]++;
}

static inline uint32_t apart(const struct domain *d)
{
	uint32_t count[M_MAX], least = UINT32_MAX, most = 0;

	count_threads(d, count);
	for (size_t j = 0; j < d->m; j++) {
		assert_int_equal(d->cpu[j].threads, count[j]);
		least = count[j] < least ? count[j] : least;
		most = count[j] > most ? count[j] : most;
	}
	return most - least;
}

/* Record CPUs, so that tests can later see which threads moved: policy_thread.cpu_before. */
static inline void note_cpus(struct domain *d)
{
	for (size_t i = 0; i < d->n; i++)
		d->thread[i].cpu_before = d->thread[i].cpu;
}

static inline bool has_moved(const struct domain *d, size_t i)
{
	return d->thread[i].cpu != d->thread[i].cpu_before;
}

static inline size_t count_moved(const struct domain *d)
{
	size_t count = 0;

	for (size_t i = 0; i < d->n; i++)
		count += has_moved(d, i);
	return count;
}

#endif
