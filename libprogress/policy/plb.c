/* SPDX-License-Identifier: MIT */
/* Progressive load balancing on a node: Algorithm 1 of PLB, joint, split and hybrid. */
#include "libprogress/policy/plb.h"

#include "libprogress/policy/random.h"

#define ALL_DOMAINS UINT32_MAX

struct plan {
	const struct policy_plb_params *params;
	struct policy_subdomain *subdomains;
	size_t n;
	struct policy_worker *workers;
	size_t w;
	struct policy_plb_move *moves;
	size_t count;
};

static bool belongs(const struct plan *plan, size_t s, uint32_t domain)
{
	uint32_t worker = plan->subdomains[s].worker;

	return worker < plan->w &&
	       (domain == ALL_DOMAINS || plan->workers[worker].domain == domain);
}

static bool was_moved(const struct plan *plan, size_t s)
{
	for (size_t k = 0; k < plan->count; k++)
		if (plan->moves[k].subdomain == s)
			return true;
	return false;
}

static void move(struct plan *plan, uint32_t s, uint32_t to)
{
	uint32_t from = plan->subdomains[s].worker;

	plan->moves[plan->count++] =
		(struct policy_plb_move){.subdomain = s, .from = from, .to = to};
	plan->subdomains[s].worker = to;
	plan->workers[from].subdomains--;
	plan->workers[to].subdomains++;
}

/* Line 1, with no more sorting than needed: the `pairs` most updated subdomains of a domain, the
 * most updated first, and the `pairs` least updated, the least updated first. Equal ones are in the
 * order of their numbers in `most`, and in reverse in `least`, as in a sorted list. Returns the
 * length of each. */
static size_t select_ends(const struct plan *plan, uint32_t domain, uint32_t *most, uint32_t *least)
{
	const struct policy_subdomain *subdomains = plan->subdomains;
	size_t pairs = plan->params->pairs, count = 0;

	for (size_t s = 0; s < plan->n && pairs > 0; s++) {
		if (!belongs(plan, s, domain))
			continue;
		uint64_t updates = subdomains[s].updates;
		size_t at = count < pairs ? count : pairs;
		while (at > 0 && subdomains[most[at - 1]].updates < updates)
			at--;
		for (size_t k = count < pairs ? count : pairs - 1; k > at; k--)
			most[k] = most[k - 1];
		if (at < pairs)
			most[at] = (uint32_t)s;

		at = count < pairs ? count : pairs;
		while (at > 0 && subdomains[least[at - 1]].updates >= updates)
			at--;
		for (size_t k = count < pairs ? count : pairs - 1; k > at; k--)
			least[k] = least[k - 1];
		if (at < pairs)
			least[at] = (uint32_t)s;
		count += count < pairs;
	}
	return count;
}

/* Line 8: the most updated subdomain of a worker, "other than botSubd" (Section 3.3); n if there is
 * none. */
static size_t most_updated(const struct plan *plan, uint32_t worker, uint32_t other_than)
{
	size_t pick = plan->n;

	for (size_t s = 0; s < plan->n; s++)
		if (plan->subdomains[s].worker == worker && s != other_than &&
			!was_moved(plan, s) &&
			(pick == plan->n ||
				plan->subdomains[s].updates > plan->subdomains[pick].updates))
			pick = s;
	return pick;
}

/* Lines 2 to 11. With fewer subdomains than twice the pairs the two ends meet: pairs beyond the
 * middle would undo earlier ones. */
static void balance_pairs(struct plan *plan, uint32_t domain, uint32_t *scratch)
{
	uint32_t *most = scratch, *least = scratch + plan->params->pairs;
	size_t pairs = select_ends(plan, domain, most, least);

	for (size_t i = 0; i < pairs; i++) {
		if (plan->subdomains[most[i]].updates <= plan->subdomains[least[i]].updates)
			break;
		uint32_t top = plan->subdomains[most[i]].worker;
		uint32_t bottom = plan->subdomains[least[i]].worker;
		if (top == bottom || plan->workers[top].subdomains >= plan->params->high ||
			plan->workers[bottom].subdomains <= plan->params->low)
			continue;
		size_t send = most_updated(plan, bottom, least[i]);
		if (send < plan->n)
			move(plan, (uint32_t)send, top);
	}
}

/* The mean updates of a domain's subdomains; false if it has none. */
static bool mean_updates(const struct plan *plan, uint32_t domain, double *mean)
{
	double sum = 0;
	size_t count = 0;

	for (size_t s = 0; s < plan->n; s++)
		if (belongs(plan, s, domain)) {
			sum += (double)plan->subdomains[s].updates;
			count++;
		}
	*mean = count > 0 ? sum / (double)count : 0;
	return count > 0;
}

/* Hybrid: a random subdomain moves from the domain with the fewest updates on average to the one
 * with the most, to its worker with the fewest subdomains. */
static void cross_domains(struct plan *plan, struct policy_plb_state *state, uint32_t domains)
{
	uint32_t slowest = 0, fastest = 0;
	double least = 0, most = 0;
	size_t found = 0, choices = 0;

	for (uint32_t d = 0; d < domains; d++) {
		double mean;
		if (!mean_updates(plan, d, &mean))
			continue;
		if (found == 0 || mean < least) {
			least = mean;
			slowest = d;
		}
		if (found == 0 || mean > most) {
			most = mean;
			fastest = d;
		}
		found++;
	}
	size_t to = plan->w;
	for (size_t k = 0; k < plan->w; k++)
		if (plan->workers[k].domain == fastest &&
			plan->workers[k].subdomains < plan->params->high &&
			(to == plan->w ||
				plan->workers[k].subdomains < plan->workers[to].subdomains))
			to = k;
	if (found < 2 || slowest == fastest || to == plan->w)
		return;
	size_t pick = plan->n;
	for (size_t s = 0; s < plan->n; s++) {
		if (!belongs(plan, s, slowest) || was_moved(plan, s) ||
			plan->workers[plan->subdomains[s].worker].subdomains <= plan->params->low)
			continue;
		/* Each of the candidates with the same probability, in one pass. */
		if (policy_random(&state->random) % ++choices == 0)
			pick = s;
	}
	if (pick < plan->n)
		move(plan, (uint32_t)pick, (uint32_t)to);
}

size_t policy_plb(const struct policy_plb_params *params, struct policy_plb_state *state,
	struct policy_subdomain *subdomains, size_t n, struct policy_worker *workers, size_t w,
	uint32_t domains, uint32_t *scratch, struct policy_plb_move *moves)
{
	struct plan plan = {.params = params,
		.subdomains = subdomains,
		.n = n,
		.workers = workers,
		.w = w,
		.moves = moves};

	state->points++;
	for (size_t k = 0; k < w; k++)
		workers[k].subdomains = 0;
	for (size_t s = 0; s < n; s++)
		if (subdomains[s].worker < w)
			workers[subdomains[s].worker].subdomains++;
	if (params->mode == POLICY_PLB_JOINT)
		balance_pairs(&plan, ALL_DOMAINS, scratch);
	for (uint32_t d = 0; d < domains && params->mode != POLICY_PLB_JOINT; d++)
		balance_pairs(&plan, d, scratch);
	if (params->mode == POLICY_PLB_HYBRID && state->points % params->hybrid_every == 0)
		cross_domains(&plan, state, domains);
	return plan.count;
}
