/* SPDX-License-Identifier: MIT */
/* Progressive load balancing between ranks: steps 2 and 3 of DPLB, and who compares with whom. */
#include "libprogress/policy/dplb.h"

#include "libprogress/policy/random.h"

#include <math.h>

#define TURNS_NS 30e6 /* ranks that share CPUs get ahead by turns: no reason to move */
#define BOUNDED_PART 0.05 /* of the rate */
/* Gaps that end within both of these are left alone, and speeds are smoothed over as long. */
#define HORIZON 4 /* periods */
#define HORIZON_NS 2e9
#define SURE 3 /* standard errors by which rates must differ */
#define BUSY_PART 0.02 /* of a period: over less time a speed says nothing */

double policy_dplb_threshold(const struct policy_dplb_params *params, double rate)
{
	if (params->threshold != 0)
		return fmax(params->threshold, 0);
	if (!(rate > 0))
		return INFINITY;
	return rate * (params->bounded ? BOUNDED_PART
				       : fmax(POLICY_DPLB_THRESHOLD,
						 TURNS_NS / (double)params->period_ns));
}

static double horizon(uint64_t period_ns)
{
	return fmax(HORIZON, HORIZON_NS / (double)period_ns);
}

/* Of the mean speed of the last n points. The scatter tells that from the second point on, but two
 * or three may agree by chance. Turns of 30 ms at the beginning and at the end are always possible. */
static double standard_error(const struct policy_dplb_state *state, double n, uint64_t period_ns)
{
	double scatter = n > 1 ? sqrt(state->variance / (n - 1)) : 0;

	return fmax(scatter, state->speed * TURNS_NS / ((double)period_ns * n));
}

void policy_dplb_learn(
	struct policy_dplb_state *state, uint64_t updates, uint64_t busy_ns, uint64_t period_ns)
{
	double gone_ns = (double)busy_ns - (double)state->busy_ns;

	if (gone_ns < BUSY_PART * (double)period_ns)
		return;
	double speed = (double)(updates - state->updates) * (double)period_ns / gone_ns;
	double n = fmin((double)++state->points, horizon(period_ns));
	double off = speed - state->speed;
	state->speed += off / n;
	state->variance += (off * (speed - state->speed) - state->variance) / n;
	state->error = standard_error(state, n, period_ns);
	state->updates = updates;
	state->busy_ns = busy_ns;
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

/* The rate with some more subdomains. */
static double rate(const struct policy_dplb_rank *rank, int more)
{
	return rank->rate * rank->subdomains / ((double)rank->subdomains + more);
}

/* Does a move from one to the other, which is ahead by the gap, do more good than harm? */
static bool pays(const struct policy_dplb_params *params, const struct policy_dplb_rank *from,
	const struct policy_dplb_rank *to, double gap)
{
	double periods = horizon(params->period_ns);
	double unsure = SURE * hypot(from->doubt, to->doubt);
	double now = to->rate - from->rate; /* by which the gap grows in a period */
	struct policy_dplb_rank slow = *from, fast = *to;

	if (params->threshold < 0 || !(from->rate > 0) || !(to->rate > 0))
		return true;
	if (now < unsure && gap < (unsure - now) * periods)
		return false;
	if (fabs(now) < unsure) {
		slow.rate = fast.rate = (from->rate + to->rate) / 2;
		now = 0;
	}
	double then = rate(&fast, 1) - rate(&slow, -1);
	return fabs(then) < fabs(now) || gap > fabs(then) * periods;
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
		most.room == 0 ||
		!(most.average - self->average > policy_dplb_threshold(params, self->rate)) ||
		!pays(params, self, &most, most.average - self->average))
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

uint32_t policy_dplb_pick(uint32_t random, uint32_t n,
	struct policy_dplb_place (*look)(const void *arg, uint32_t place), const void *arg)
{
	struct policy_dplb_place best = look(arg, random);
	uint32_t pick = random;

	for (uint32_t k = 1; k < n; k++) {
		uint32_t place = (uint32_t)(((uint64_t)random + k) % n);
		struct policy_dplb_place one = look(arg, place);
		if (one.halos_saved > best.halos_saved ||
			(one.halos_saved == best.halos_saved && one.updates < best.updates)) {
			best = one;
			pick = place;
		}
	}
	return pick;
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
