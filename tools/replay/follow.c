/* SPDX-License-Identifier: MIT */
/* A trace through the decision step; see follow.h. */
#include "tools/replay/follow.h"

#include "tools/replay/domain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Points between two looks at loads: as many as the policy smooths over. */
#define LOAD_POINTS 64
#define LOAD_MAX 0.99 /* with a CPU that does no work for the job, a simulation would never end */

/* The window over which the loads of a domain are counted. */
struct window {
	uint64_t points, begin_ns;
};

struct follower {
	const struct trace_file *trace;
	struct replay_follow *out;
	struct replay_settings settings;
	uint64_t begin_ns;
	struct replay_domain *domain; /* TRACE_DOMAINS_MAX */
	struct window *window; /* the same */
	size_t next_team; /* in the trace */
};

bool replay_recorded_settings(const struct trace_file *trace, struct replay_settings *out)
{
	*out = (struct replay_settings){.kind = policy_kind_find(trace->policy),
		.period_ns = (uint64_t)(trace->period_s * 1e9 + 0.5),
		.period_auto = trace->period_auto,
		.always = trace->always,
		.jitter = trace->jitter,
		.margin_ns = (int64_t)trace->margin_ns};
	return out->kind != NULL;
}

/* ---- Loads ---- */

/* The share of a CPU that the job got while it had something to run there. It exceeds 1 where the
 * CPU time of a thread that moved counts for the wrong CPU. */
static double got(const struct policy_cpu *cpu)
{
	double runnable = cpu->runnable > 1 ? 1 : cpu->runnable;

	return runnable > 0 ? cpu->ran / runnable : 1;
}

static int add_load(struct replay_load *cpu, uint64_t from_ns, double share)
{
	if (cpu->loads == cpu->room) {
		size_t room = cpu->room > 0 ? 2 * cpu->room : 16;
		void *grown = reallocarray(cpu->load, room, sizeof(*cpu->load));
		if (grown == NULL)
			return -ENOMEM;
		cpu->load = grown;
		cpu->room = room;
	}
	share = share > 0 ? share < LOAD_MAX ? share : LOAD_MAX : 0;
	cpu->load[cpu->loads++] = (struct threads_load){.from_ns = from_ns, .share = share};
	cpu->share += (share - cpu->share) / (double)cpu->loads;
	return 0;
}

/* End a window. Other work took what the job did not get. A surplus above 1 on one CPU belongs to
 * the others. */
static int add_loads(struct follower *f, uint32_t domain, uint64_t now_ns)
{
	struct window *window = &f->window[domain];
	const struct replay_domain *d = &f->domain[domain];
	uint64_t from_ns = window->begin_ns > f->begin_ns ? window->begin_ns - f->begin_ns : 0;
	double lost = 0, above = 0;

	for (size_t j = 0; j < d->policy.m; j++) {
		double share = d->policy.cpu[j].threads > 0 ? got(&d->policy.cpu[j]) : 1;
		if (share > 1)
			above += share - 1;
		else
			lost += 1 - share;
	}
	double keep = above < lost ? 1 - above / lost : 0;
	for (size_t j = 0; j < d->policy.m; j++) {
		const struct policy_cpu *cpu = &d->policy.cpu[j];
		size_t which = replay_domain_cpu(d, j);
		/* The simulation has only the CPUs that were there at the start. */
		if (cpu->threads == 0 || which >= f->out->cpus)
			continue;
		int r = add_load(&f->out->cpu[which], from_ns, keep * (1 - got(cpu)));
		if (r < 0)
			return r;
	}
	window->begin_ns = now_ns;
	return 0;
}

static int watch_loads(struct follower *f, const struct trace_point *point)
{
	struct window *window = &f->window[point->domain];

	if (!policy_swaps(&f->domain[point->domain].policy))
		return 0;
	if (window->points == 0)
		window->begin_ns =
			point->now_ns -
			(point->elapsed_ns < point->now_ns ? point->elapsed_ns : point->now_ns);
	return ++window->points % LOAD_POINTS == 0 ? add_loads(f, point->domain, point->now_ns) : 0;
}

/* ---- Decisions ---- */

static void part(struct replay_parting *parting, uint64_t now_ns)
{
	if (!parting->parted)
		*parting = (struct replay_parting){.parted = true, .now_ns = now_ns};
}

static void compare(struct replay_decisions *decisions, const struct replay_domain *domain,
	const struct trace_point *point)
{
	const struct policy_decision *decision = &domain->policy.decision;
	bool regime = replay_domain_same_regime(domain, point);
	bool moved = replay_domain_same_moves(domain, point);
	bool period = replay_domain_same_period(domain, point);

	decisions->points++;
	decisions->same += regime && moved && period;
	decisions->recorded_moves += point->moves;
	for (size_t k = 0; k < decision->moves; k++)
		decisions->moves += decision->move[k].from != POLICY_NO_CPU &&
				    decision->move[k].to != POLICY_NO_CPU;
	if (!regime)
		part(&decisions->regime, point->now_ns);
	if (!moved)
		part(&decisions->moved, point->now_ns);
	if (!period)
		part(&decisions->period, point->now_ns);
}

/* ---- The whole ---- */

/* Begin the domains whose team record comes before that point. */
static int begin_domains(struct follower *f, size_t point)
{
	const struct trace_file *trace = f->trace;

	for (; f->next_team < trace->teams && trace->team[f->next_team].first_point <= point;
		f->next_team++) {
		const struct trace_team *team = &trace->team[f->next_team];
		struct replay_domain *domain = &f->domain[team->domain];
		const struct policy_params params = {.kind = f->settings.kind,
			.period_ns = f->settings.period_ns,
			.period_auto = f->settings.period_auto,
			.jitter = f->settings.jitter,
			.margin_ns = f->settings.margin_ns,
			.always = f->settings.always,
			.expected = trace->expected,
			.by_work = team->by_work,
			.tickers = team->tickers,
			.bells = team->bells,
			.slices = team->slices,
			.domain = team->domain,
			.domains = team->domains,
			.start_ns = trace->start_ns,
			.begin_ns = team->now_ns,
			.seed = team->seed};
		replay_domain_deinit(domain);
		int r = replay_domain_init(domain, trace, team, &params);
		if (r < 0)
			return r;
		f->window[team->domain] = (struct window){0};
	}
	return 0;
}

static int follow(struct follower *f)
{
	const struct trace_file *trace = f->trace;
	int r = 0;

	for (size_t i = 0; i < trace->points && r == 0; i++) {
		const struct trace_point *point = &trace->point[i];
		struct replay_domain *domain = &f->domain[point->domain];
		r = begin_domains(f, i);
		if (r < 0 || domain->policy.m == 0)
			continue;
		r = replay_domain_step(domain, point);
		if (r < 0)
			break;
		compare(&f->out->decisions, domain, point);
		r = watch_loads(f, point);
		replay_domain_forget(domain, point);
	}
	/* A short trace has no complete window: use the one that its end cuts. */
	for (uint32_t d = 0; d < TRACE_DOMAINS_MAX && r == 0; d++)
		if (f->window[d].points > 0 && f->window[d].points < LOAD_POINTS)
			r = add_loads(f, d, 0);
	return r;
}

int replay_follow_init(struct replay_follow *out, const struct trace_file *trace,
	const struct replay_settings *settings, uint64_t begin_ns)
{
	struct follower f = {
		.trace = trace, .out = out, .settings = *settings, .begin_ns = begin_ns};
	int r = -ENOMEM;

	*out = (struct replay_follow){
		.cpus = trace->cpus, .cpu = calloc(trace->cpus + 1, sizeof(*out->cpu))};
	f.domain = calloc(TRACE_DOMAINS_MAX, sizeof(*f.domain));
	f.window = calloc(TRACE_DOMAINS_MAX, sizeof(*f.window));
	if (out->cpu != NULL && f.domain != NULL && f.window != NULL)
		r = follow(&f);
	for (size_t d = 0; d < TRACE_DOMAINS_MAX && f.domain != NULL; d++)
		replay_domain_deinit(&f.domain[d]);
	free(f.domain);
	free(f.window);
	if (r < 0)
		replay_follow_deinit(out);
	return r;
}

void replay_follow_deinit(struct replay_follow *follow)
{
	for (size_t i = 0; i < follow->cpus && follow->cpu != NULL; i++)
		free(follow->cpu[i].load);
	free(follow->cpu);
	*follow = (struct replay_follow){0};
}
