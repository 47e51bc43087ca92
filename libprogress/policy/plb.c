/* SPDX-License-Identifier: MIT */
/* Progressive load balancing on a node: Algorithm 1 of PLB, joint, split and hybrid. */
#include "libprogress/policy/plb.h"

#include "libprogress/policy/random.h"

#include <math.h>

#define ALL_DOMAINS UINT32_MAX
#define SMOOTH 16 /* points over which speeds are smoothed */
#define PATIENCE 100 /* points in which a gap may close by itself */
/* A worker in the middle of an iteration makes a gap of one update, two workers that are not in step
 * make another, and a subdomain that moves may miss an iteration of the one that gives it and one of
 * the one that takes it. */
#define LEAST_BAND 4

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

/* Learn the speeds of workers from what they did since the last point, if that was a period ago. */
static void measure(struct plan *plan, uint64_t points, bool away)
{
	double weight = points < SMOOTH ? (double)points : SMOOTH;

	for (size_t k = 0; k < plan->w; k++) {
		struct policy_worker *worker = &plan->workers[k];
		uint64_t made =
			worker->updates > worker->before ? worker->updates - worker->before : 0;

		worker->before = worker->updates;
		if (points > 0 && !away)
			worker->speed += ((double)made - worker->speed) / weight;
	}
}

/* Count what workers own, and find the homes of subdomains that are new. */
static void take_stock(struct plan *plan, bool first)
{
	for (size_t k = 0; k < plan->w; k++) {
		plan->workers[k].subdomains = 0;
		plan->workers[k].mean = 0;
		plan->workers[k].least = UINT64_MAX;
		plan->workers[k].most = 0;
	}
	for (size_t s = 0; s < plan->n; s++) {
		struct policy_subdomain *subdomain = &plan->subdomains[s];

		if (subdomain->worker >= plan->w) {
			subdomain->home = POLICY_PLB_NOBODY;
			continue;
		}
		if (first || subdomain->home >= plan->w)
			subdomain->home = subdomain->worker;
		struct policy_worker *worker = &plan->workers[subdomain->worker];
		worker->subdomains++;
		worker->mean += ((double)subdomain->updates - worker->mean) / worker->subdomains;
		if (subdomain->updates < worker->least)
			worker->least = subdomain->updates;
		if (subdomain->updates > worker->most)
			worker->most = subdomain->updates;
	}
}

/* The largest gap, in updates, that moves nothing. Half of the bound leaves as much for the time
 * until a move has an effect. While no speed is known, nothing moves. */
static double dead_band(const struct plan *plan, uint32_t domain)
{
	const struct policy_plb_params *params = plan->params;
	double speeds = 0, subdomains = 0;

	if (params->dead_band == 0)
		return 0;
	for (size_t k = 0; k < plan->w; k++) {
		const struct policy_worker *worker = &plan->workers[k];

		if (worker->subdomains == 0 || (domain != ALL_DOMAINS && worker->domain != domain))
			continue;
		speeds += worker->speed;
		subdomains += worker->subdomains;
	}
	if (!(speeds > 0))
		return INFINITY;
	double band = fmax(LEAST_BAND, params->dead_band * speeds / subdomains);
	return params->bound > 0 ? fmin(band, params->bound / 2.0) : band;
}

/* Updates of each of a worker's subdomains from point to point, if it owned some more. */
static double rate(const struct policy_worker *worker, int more)
{
	return worker->speed / ((double)worker->subdomains + more);
}

/* Does a gap close by itself, soon? */
static bool closes(const struct plan *plan, uint32_t top, uint32_t bottom, double gap)
{
	return (rate(&plan->workers[bottom], 0) - rate(&plan->workers[top], 0)) * PATIENCE >= gap;
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

/* Line 1, with no more sorting than needed: the `pairs` most, or least, updated subdomains of a
 * domain, from the end, of those beyond a limit. Equal ones are in the order of their numbers, or in
 * reverse, as in a sorted list: so none that is found later displaces an equal one. Returns how many
 * there are. */
static size_t select_end(
	const struct plan *plan, uint32_t domain, bool most, uint64_t limit, uint32_t *list)
{
	const struct policy_subdomain *subdomains = plan->subdomains;
	uint64_t flip = most ? 0 : UINT64_MAX, last = limit ^ flip;
	size_t pairs = plan->params->pairs, count = 0;

	for (size_t i = 0; i < plan->n && pairs > 0; i++) {
		size_t s = most ? i : plan->n - 1 - i;
		uint64_t key = subdomains[s].updates ^ flip;

		if (key <= last || !belongs(plan, s, domain))
			continue;
		size_t at = count < pairs ? count++ : pairs - 1;
		for (; at > 0 && (subdomains[list[at - 1]].updates ^ flip) < key; at--)
			list[at] = list[at - 1];
		list[at] = (uint32_t)s;
		if (count == pairs)
			last = subdomains[list[pairs - 1]].updates ^ flip;
	}
	return count;
}

/* The least and the most updates of a subdomain of that domain. */
static void find_range(const struct plan *plan, uint32_t domain, uint64_t *least, uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 0;
	for (size_t k = 0; k < plan->w; k++) {
		const struct policy_worker *worker = &plan->workers[k];

		if (domain != ALL_DOMAINS && worker->domain != domain)
			continue;
		*least = worker->least < *least ? worker->least : *least;
		*most = worker->most > *most ? worker->most : *most;
	}
}

/* How many more neighbours have different workers if it moves. Subdomains whose numbers follow each
 * other are taken for neighbours, as they are where each worker begins with a block of them. */
static int separates(const struct plan *plan, size_t s, uint32_t to)
{
	const struct policy_subdomain *subdomain = &plan->subdomains[s];
	int more = 0;

	if (s > 0)
		more += (subdomain[-1].worker == subdomain->worker) - (subdomain[-1].worker == to);
	if (s + 1 < plan->n)
		more += (subdomain[1].worker == subdomain->worker) - (subdomain[1].worker == to);
	return more;
}

/* Line 8: the most updated subdomain of a worker, "other than botSubd" (Section 3.3); n if there is
 * none. Those whose home is there have a lead of the dead band. Those that the move would separate from
 * neighbours fall back by some of it, if it is wide: workers that wait have to be helped soon. Of equal ones
 * that goes which it separates from the fewest. */
static size_t most_updated(
	const struct plan *plan, uint32_t worker, uint32_t other_than, uint32_t to, double band)
{
	bool wide = band > LEAST_BAND && plan->params->bound == 0;
	double each = wide ? (band - LEAST_BAND) / 2 : 0;
	size_t pick = plan->n;
	double most = 0;
	int fewest = 0;

	for (size_t s = 0; s < plan->n; s++) {
		const struct policy_subdomain *subdomain = &plan->subdomains[s];

		if (subdomain->worker != worker || s == other_than || was_moved(plan, s))
			continue;
		int more = plan->params->dead_band > 0 ? separates(plan, s, to) : 0;
		double updates = (double)subdomain->updates + (subdomain->home == to ? band : 0) -
				 each * more;
		if (pick < plan->n && (updates < most || (updates == most && more >= fewest)))
			continue;
		pick = s;
		most = updates;
		fewest = more;
	}
	return pick;
}

/* Lines 2 to 11. With fewer subdomains than twice the pairs the two ends meet: pairs beyond the
 * middle would undo earlier ones. Of the ends, only what is further than the band from the other end
 * can be in a pair. */
static void balance_pairs(struct plan *plan, uint32_t domain, uint32_t *scratch)
{
	uint32_t *most = scratch, *least = scratch + plan->params->pairs;
	double band = dead_band(plan, domain);
	uint64_t lowest, highest;

	find_range(plan, domain, &lowest, &highest);
	if (highest <= lowest || (double)(highest - lowest) <= band)
		return;
	uint64_t whole = (uint64_t)band;
	size_t pairs = select_end(plan, domain, true, lowest + whole, most);
	size_t others = select_end(plan, domain, false, highest - whole, least);
	for (size_t i = 0; i < pairs && i < others; i++) {
		uint64_t high = plan->subdomains[most[i]].updates,
			 low = plan->subdomains[least[i]].updates;
		if (high <= low || (double)(high - low) <= band)
			break;
		uint32_t top = plan->subdomains[most[i]].worker;
		uint32_t bottom = plan->subdomains[least[i]].worker;
		if (top == bottom || plan->workers[top].subdomains >= plan->params->high ||
			plan->workers[bottom].subdomains <= plan->params->low ||
			(band > 0 && closes(plan, top, bottom, (double)(high - low))))
			continue;
		size_t send = most_updated(plan, bottom, least[i], top, band);
		if (send < plan->n)
			move(plan, (uint32_t)send, top);
	}
}

/* May it go home, and would the rates then be more even? */
static bool may_go_home(const struct plan *plan, size_t s, uint32_t domain)
{
	const struct policy_subdomain *subdomain = &plan->subdomains[s];

	if (subdomain->home == subdomain->worker || subdomain->home >= plan->w ||
		!belongs(plan, s, domain))
		return false;
	const struct policy_worker *here = &plan->workers[subdomain->worker];
	const struct policy_worker *home = &plan->workers[subdomain->home];
	if (home->domain == POLICY_PLB_NOWHERE ||
		(domain != ALL_DOMAINS && home->domain != domain) ||
		here->subdomains <= plan->params->low || here->subdomains < 2 ||
		home->subdomains >= plan->params->high || home->subdomains == 0 ||
		here->mean > home->mean)
		return false;
	return fabs(rate(here, -1) - rate(home, 1)) < fabs(rate(here, 0) - rate(home, 0));
}

/* The one that going home separates from the fewest neighbours, so that several go in the order in which
 * they lie; n: none may. */
static size_t pick_home(const struct plan *plan, uint32_t domain)
{
	size_t pick = plan->n;
	int fewest = 0;

	for (size_t s = 0; s < plan->n; s++) {
		if (!may_go_home(plan, s, domain) || was_moved(plan, s))
			continue;
		int more = separates(plan, s, plan->subdomains[s].home);
		if (pick < plan->n && more >= fewest)
			continue;
		pick = s;
		fewest = more;
	}
	return pick;
}

static void go_home(struct plan *plan, uint32_t domain)
{
	for (uint32_t i = 0; i < plan->params->pairs; i++) {
		size_t pick = pick_home(plan, domain);
		if (pick == plan->n)
			return;
		move(plan, (uint32_t)pick, plan->subdomains[pick].home);
	}
}

static void balance_domain(struct plan *plan, uint32_t domain, uint32_t *scratch)
{
	if (plan->params->dead_band > 0)
		go_home(plan, domain);
	balance_pairs(plan, domain, scratch);
}

/* A domain, after the moves so far. */
struct domain {
	double mean; /* updates of its subdomains */
	double speed, subdomains; /* of all its workers */
};

static struct domain sum_up(const struct plan *plan, uint32_t d)
{
	struct domain sum = {0};

	for (size_t k = 0; k < plan->w; k++)
		if (plan->workers[k].domain == d && plan->workers[k].subdomains > 0)
			sum.speed += plan->workers[k].speed;
	for (size_t s = 0; s < plan->n; s++)
		if (belongs(plan, s, d)) {
			sum.subdomains++;
			sum.mean +=
				((double)plan->subdomains[s].updates - sum.mean) / sum.subdomains;
		}
	return sum;
}

static double domain_rate(const struct domain *domain, int more)
{
	return domain->speed / (domain->subdomains + more);
}

/* The domains with the fewest and the most updates on average. Returns their gap; below 0: there are
 * not two. */
static double find_ends(
	const struct plan *plan, uint32_t domains, uint32_t *slowest, uint32_t *fastest)
{
	double least = INFINITY, most = -INFINITY;

	for (uint32_t d = 0; d < domains; d++) {
		struct domain domain = sum_up(plan, d);
		if (domain.subdomains == 0)
			continue;
		if (domain.mean < least) {
			least = domain.mean;
			*slowest = d;
		}
		if (domain.mean > most) {
			most = domain.mean;
			*fastest = d;
		}
	}
	return most > least ? most - least : -1;
}

/* Is the gap within the dead band, or closes soon? Crossings are rare, so it has more time. */
static bool domains_even(const struct plan *plan, uint32_t slowest, uint32_t fastest, double gap)
{
	struct domain slow = sum_up(plan, slowest), fast = sum_up(plan, fastest);
	double points = (double)PATIENCE * plan->params->hybrid_every;

	return gap <= dead_band(plan, ALL_DOMAINS) ||
	       (domain_rate(&slow, 0) - domain_rate(&fast, 0)) * points >= gap;
}

/* The worker of a domain with the fewest subdomains, if it takes one more; or w. */
static size_t find_room(const struct plan *plan, uint32_t domain)
{
	size_t to = plan->w;

	for (size_t k = 0; k < plan->w; k++)
		if (plan->workers[k].domain == domain &&
			plan->workers[k].subdomains < plan->params->high &&
			(to == plan->w ||
				plan->workers[k].subdomains < plan->workers[to].subdomains))
			to = k;
	return to;
}

static bool can_leave(const struct plan *plan, size_t s)
{
	return plan->workers[plan->subdomains[s].worker].subdomains > plan->params->low &&
	       !was_moved(plan, s);
}

/* Each of the candidates with the same probability, in one pass. */
static size_t pick_any(const struct plan *plan, struct policy_plb_state *state, uint32_t from)
{
	size_t pick = plan->n, choices = 0;

	for (size_t s = 0; s < plan->n; s++)
		if (belongs(plan, s, from) && can_leave(plan, s) &&
			policy_random(&state->random) % ++choices == 0)
			pick = s;
	return pick;
}

static uint32_t home_domain(const struct plan *plan, size_t s)
{
	uint32_t home = plan->subdomains[s].home;

	return home < plan->w ? plan->workers[home].domain : POLICY_PLB_NOWHERE;
}

/* The most updated, as within a domain; but first those whose home is there. */
static size_t pick_to(const struct plan *plan, uint32_t from, uint32_t to)
{
	size_t pick = plan->n;
	bool pick_goes_home = false;

	for (size_t s = 0; s < plan->n; s++) {
		bool goes_home = home_domain(plan, s) == to;
		if (!belongs(plan, s, from) || goes_home < pick_goes_home ||
			(pick < plan->n && goes_home == pick_goes_home &&
				plan->subdomains[s].updates <= plan->subdomains[pick].updates) ||
			!can_leave(plan, s))
			continue;
		pick = s;
		pick_goes_home = goes_home;
	}
	return pick;
}

/* Of the domain that is behind, or level, one goes back to the other, where it belongs, if rates then
 * are more even. */
static void cross_home(struct plan *plan, uint32_t slowest, uint32_t fastest)
{
	struct domain here = sum_up(plan, slowest), home = sum_up(plan, fastest);

	if (here.subdomains < 2 || fabs(domain_rate(&here, -1) - domain_rate(&home, 1)) >=
					   fabs(domain_rate(&here, 0) - domain_rate(&home, 0)))
		return;
	for (size_t s = 0; s < plan->n; s++) {
		if (!belongs(plan, s, slowest) || home_domain(plan, s) != fastest ||
			!can_leave(plan, s) ||
			plan->workers[plan->subdomains[s].home].subdomains >= plan->params->high)
			continue;
		move(plan, (uint32_t)s, plan->subdomains[s].home);
		return;
	}
}

/* Hybrid: a subdomain moves from the domain with the fewest updates on average to the one with the
 * most, to its worker with the fewest subdomains. In the paper it is a random one, at each such
 * point. */
static void cross_domains(struct plan *plan, struct policy_plb_state *state, uint32_t domains)
{
	uint32_t slowest = 0, fastest = 0;
	double gap = find_ends(plan, domains, &slowest, &fastest);
	bool banded = plan->params->dead_band > 0;

	if (gap < 0)
		return;
	if (banded && domains_even(plan, slowest, fastest, gap)) {
		cross_home(plan, slowest, fastest);
		return;
	}
	size_t to = find_room(plan, fastest);
	if (to == plan->w)
		return;
	size_t pick = banded ? pick_to(plan, slowest, fastest) : pick_any(plan, state, slowest);
	if (pick < plan->n)
		move(plan, (uint32_t)pick, (uint32_t)to);
}

bool policy_plb_rests(
	const struct policy_plb_params *params, uint64_t updates, uint64_t least, uint64_t round)
{
	return params->dead_band > 0 && params->bound == 0 && round % 2 == 1 && updates > least &&
	       updates - least > LEAST_BAND;
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

	take_stock(&plan, state->points == 0);
	measure(&plan, state->points++, state->away);
	state->away = false;
	if (params->mode == POLICY_PLB_JOINT)
		balance_domain(&plan, ALL_DOMAINS, scratch);
	for (uint32_t d = 0; d < domains && params->mode != POLICY_PLB_JOINT; d++)
		balance_domain(&plan, d, scratch);
	if (params->mode == POLICY_PLB_HYBRID && state->points % params->hybrid_every == 0)
		cross_domains(&plan, state, domains);
	return plan.count;
}
