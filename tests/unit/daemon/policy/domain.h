/* SPDX-License-Identifier: MIT */
/*
 * One domain as the tests of daemon/policy see it, and what holds for the moves of every
 * function. To include after cmocka.h.
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
	struct policy_move move[N_MAX];
};

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

/* Each move starts where its thread was and ends where it is; what no move names stayed.
 * No thread moves twice. */
static inline void assert_moves_tell_all(
	const struct domain *before, const struct domain *after, size_t moves)
{
	bool seen[N_MAX] = {false};

	assert_true(moves <= after->n);
	for (size_t k = 0; k < moves; k++) {
		const struct policy_move *move = &after->move[k];
		assert_true(move->thread < after->n);
		assert_false(seen[move->thread]);
		seen[move->thread] = true;
		assert_int_equal(move->from, before->thread[move->thread].cpu);
		assert_int_equal(move->to, after->thread[move->thread].cpu);
		assert_int_not_equal(move->from, move->to);
	}
	for (size_t i = 0; i < after->n; i++)
		if (!seen[i])
			assert_int_equal(after->thread[i].cpu, before->thread[i].cpu);
}

#endif
