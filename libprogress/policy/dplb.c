/* SPDX-License-Identifier: MIT */
/* Progressive load balancing between ranks: steps 2 and 3 of DPLB, and who compares with whom. */
#include "libprogress/policy/dplb.h"

#include "libprogress/policy/random.h"

#define TURNS_NS 30e6 /* ranks that share CPUs get ahead by turns: no reason to move */

double policy_dplb_threshold(double advance, uint64_t period_ns, uint64_t bound)
{
	double part = TURNS_NS / (double)period_ns;
	double most = POLICY_DPLB_THRESHOLD * (double)bound;

	if (part < POLICY_DPLB_THRESHOLD)
		part = POLICY_DPLB_THRESHOLD;
	if (!(advance > 0))
		return 0;
	return part * advance < most ? part * advance : most;
}

struct policy_dplb_rank policy_dplb_least(struct policy_dplb_rank a, struct policy_dplb_rank b)
{
	bool a_first = a.rank <= b.rank;

	if ((a.subdomains > 0) != (b.subdomains > 0))
		a_first = a.subdomains > 0;
	else if (a.subdomains > 0 && a.average != b.average)
		a_first = a.average < b.average;
	return a_first ? a : b;
}

struct policy_dplb_rank policy_dplb_most(struct policy_dplb_rank a, struct policy_dplb_rank b)
{
	bool a_first = a.rank <= b.rank;

	if ((a.subdomains > 0) != (b.subdomains > 0))
		a_first = a.subdomains > 0;
	else if ((a.room > 0) != (b.room > 0))
		a_first = a.room > 0;
	else if (a.subdomains > 0 && a.average != b.average)
		a_first = a.average > b.average;
	return a_first ? a : b;
}

static uint32_t pick_any(struct policy_dplb_state *state, const struct policy_dplb_rank *self)
{
	return policy_random(&state->random) % self->subdomains;
}

static bool may_give(const struct policy_dplb_params *params, const struct policy_dplb_rank *self)
{
	return self->subdomains > 0 && self->subdomains > params->keep;
}

bool policy_dplb(const struct policy_dplb_params *params, struct policy_dplb_state *state,
	const struct policy_dplb_rank *self, const struct policy_dplb_rank *known, size_t n,
	struct policy_dplb_move *move)
{
	struct policy_dplb_rank least = *self, most = {.rank = self->rank};

	if (!may_give(params, self))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (known[i].rank == self->rank)
			continue;
		least = policy_dplb_least(least, known[i]);
		most = policy_dplb_most(most, known[i]);
	}
	if ((!params->all_behind && least.rank != self->rank) || most.subdomains == 0 ||
		most.room == 0 || !(most.average - self->average > params->threshold))
		return false;
	*move = (struct policy_dplb_move){.to = most.rank, .pick = pick_any(state, self)};
	return true;
}

bool policy_dplb_random(const struct policy_dplb_params *params, struct policy_dplb_state *state,
	const struct policy_dplb_rank *self, uint32_t ranks, struct policy_dplb_move *move)
{
	if (!may_give(params, self) || ranks < 2)
		return false;
	uint32_t to = policy_random(&state->random) % (ranks - 1);
	*move = (struct policy_dplb_move){
		.to = to + (to >= self->rank), .pick = pick_any(state, self)};
	return true;
}

uint32_t policy_dplb_nearest(
	const struct policy_dplb_move *move, const int32_t *halos_saved, uint32_t n)
{
	uint32_t best = move->pick;

	for (uint32_t k = 1; k < n; k++) {
		uint32_t i = (uint32_t)(((uint64_t)move->pick + k) % n);
		if (halos_saved[i] > halos_saved[best])
			best = i;
	}
	return best;
}

static size_t insert_sorted(uint32_t *list, size_t count, uint32_t rank)
{
	size_t at = 0;

	while (at < count && list[at] < rank)
		at++;
	if (at < count && list[at] == rank)
		return count;
	for (size_t k = count; k > at; k--)
		list[k] = list[k - 1];
	list[at] = rank;
	return count + 1;
}

size_t policy_dplb_neighbours(uint32_t rank, uint32_t ranks, uint32_t reach, uint32_t *out)
{
	size_t count = 0;

	for (uint64_t offset = 1; offset <= reach && offset < ranks; offset *= 2) {
		count = insert_sorted(out, count, (uint32_t)((rank + offset) % ranks));
		count = insert_sorted(out, count, (uint32_t)((rank + (ranks - offset)) % ranks));
	}
	return count;
}
