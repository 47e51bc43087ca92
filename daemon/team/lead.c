/* SPDX-License-Identifier: MIT */
/*
 * One balancing point, as the leader of a team sees it: who is there, how far they have
 * come, whether to balance at all, and which threads change places.
 */
#include "daemon/base/clock.h"
#include "daemon/team/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "daemon/proc/proc.h"

#define SLOW_NS UINT64_C(20000000) /* between looks at idle threads, and when aside */
#define EAGER_NS UINT64_C(5000000) /* the same while the job is starting */
#define EAGER_FOR_NS UINT64_C(1000000000)
#define WINDOW_NS UINT64_C(50000000) /* what policy_regime_update() takes in at a time */
#define CALM_WINDOW_NS UINT64_C(200000000) /* the same, while threads never sleep */
#define SETTLE_NS UINT64_C(10000000) /* after a change of regime, before a window begins */
#define NAME_NS UINT64_C(50000000)
#define BLOCKS_SAMPLE 4 /* threads whose sleeps are counted; a look costs 10 samples */
/* With --period auto: after so many points without a move the next is further off. */
#define QUIET_POINTS 32
#define QUIET_DOUBLINGS 2
/* Switches a second and CPU. Threads that spin are switched by our own ticks and
 * moves, some 1,400 times; threads that yield were switched at least 6,000 times. */
#define YIELDING_HZ 2500.0
#define YIELDING_WINDOW_NS UINT64_C(10000000)
/* With --period auto: threads that have not yielded for so long are in a long phase. */
#define LONG_PHASE_NS UINT64_C(100000000)
#define LONG_PHASE_PERIODS 4

static const struct options *options_of(const struct team *team)
{
	return team->context->options;
}

bool lead_swaps(const struct team *team)
{
	return team->regime == POLICY_BALANCE && team->m > 1 &&
	       team->chooser.reason != POLICY_REASON_SUBDOMAINS &&
	       options_of(team)->policy == POLICY_NAME_JUGGLE;
}

/* ---- Placing and releasing ---- */

/* Confine a thread to its CPU for the first time since it was released. */
static void confine(struct team *team, size_t i)
{
	struct worker *worker = team->worker[i];

	atomic_store_explicit(&worker->pinned, true, memory_order_release);
	ledger_confined(team->context->ledger, worker->ledger);
	int r = act_pin(worker->slot.tid, team->cpu[team->thread[i].cpu].os_cpu);
	if (r == -EINVAL)
		eventfd_write(team->context->kick_fd, 1);
	else if (r == -EPERM) /* it has become another user's: leave it alone from now on */
		worker->off_limits = true;
}

/* Leave a thread to the kernel, with the mask it had (within -c). */
static void release(struct team *team, size_t i)
{
	const struct options *options = options_of(team);

	if (team->thread[i].cpu == POLICY_NO_CPU)
		return;
	team->thread[i].cpu = POLICY_NO_CPU;
	(void)ledger_restore(team->context->ledger, team->worker[i]->ledger,
		options->cpus_given ? &options->cpus : NULL);
}

/* Put every compute thread that has no CPU on one. */
static void place(struct team *team)
{
	size_t count = policy_place(team->thread, team->active, team->cpu, team->m, team->move);

	for (size_t k = 0; k < count; k++)
		confine(team, team->move[k].thread);
}

/* After departures: never more than one apart. */
static void even_out(struct team *team)
{
	size_t count = policy_even_out(team->thread, team->active, team->cpu, team->m, team->move);

	for (size_t k = 0; k < count; k++) {
		confine(team, team->move[k].thread);
		team->worker[team->move[k].thread]->migrations++;
		telemetry_add(&team->context->telemetry->migrations, 1);
	}
}

void lead_release_all(struct team *team)
{
	for (size_t i = 0; i < team->n; i++)
		release(team, i);
}

static int64_t mean_progress_ns(const struct team *team)
{
	int64_t sum = 0;

	for (size_t i = 0; i < team->active; i++)
		sum += team->thread[i].progress_ns / (int64_t)team->active;
	return sum;
}

static void enter(struct team *team, enum policy_regime regime, uint64_t now)
{
	struct telemetry *t = team->context->telemetry;
	int64_t mean = mean_progress_ns(team);

	/* Who was ahead under the other regime says nothing of this one. */
	for (size_t i = 0; i < team->active; i++)
		team->thread[i].progress_ns = mean;
	if (regime == POLICY_BALANCE)
		place(team);
	else
		lead_release_all(team);
	team->regime = regime;
	team->quiet_points = 0;
	team->window.open = false;
	team->window.number++; /* the looks of the last one are too old to begin with */
	team->window.start_ns = now + SETTLE_NS;
	telemetry_add(&t->regime_changes, 1);
	trace_begin(team->context->trace);
	trace_line(team->context->trace, "regime %llu %zu %s %s", (unsigned long long)now,
		team->domain, regime == POLICY_BALANCE ? "balance" : "aside",
		policy_reason_text(team->chooser.reason));
	trace_end(team->context->trace);
}

/* ---- Membership ---- */

static void swap(struct team *team, size_t i, size_t j)
{
	struct worker *worker = team->worker[i];
	struct policy_thread thread = team->thread[i];

	team->worker[i] = team->worker[j];
	team->thread[i] = team->thread[j];
	team->worker[j] = worker;
	team->thread[j] = thread;
}

/* Before a thread becomes a compute thread here: should another domain have it? Hands it
 * over and returns true if so. */
static bool goes_elsewhere(struct team *team, size_t i)
{
	struct team_exchange *exchange = team->context->exchange;
	struct worker *worker = team->worker[i];
	size_t to = team->domain;

	pthread_mutex_lock(&exchange->lock);
	if (!worker->chosen && exchange->open)
		to = policy_pick_domain(exchange->threads, exchange->cpus, exchange->teams);
	if (!worker->chosen)
		exchange->threads[to]++;
	worker->chosen = true;
	if (to != team->domain) {
		swap(team, i, --team->n);
		worker->next = NULL;
		team_add(exchange->team[to], worker);
	}
	pthread_mutex_unlock(&exchange->lock);
	return to != team->domain;
}

/* It is no compute thread of this domain any more. */
static void give_up_place(struct team *team, struct worker *worker)
{
	struct team_exchange *exchange = team->context->exchange;

	if (!worker->chosen)
		return;
	worker->chosen = false;
	pthread_mutex_lock(&exchange->lock);
	exchange->threads[team->domain]--;
	pthread_mutex_unlock(&exchange->lock);
}

static void remove_ended(struct team *team, size_t i)
{
	struct worker *worker = team->worker[i];

	if (i < team->active) {
		swap(team, i, --team->active);
		i = team->active;
	}
	swap(team, i, --team->n);
	give_up_place(team, worker);
	show_flags(worker, TELEMETRY_THREAD_ENDED);
	show_cpu(worker, -1);
	pthread_mutex_lock(&team->lock);
	worker->next = team->ended;
	team->ended = worker;
	pthread_mutex_unlock(&team->lock);
}

static int reserve(struct team *team, size_t capacity)
{
	if (capacity <= team->capacity)
		return 0;
	capacity += capacity / 2 + 16;
	void *worker = realloc(team->worker, capacity * sizeof *team->worker);
	if (worker != NULL)
		team->worker = worker;
	void *thread = realloc(team->thread, capacity * sizeof *team->thread);
	if (thread != NULL)
		team->thread = thread;
	void *move = realloc(team->move, capacity * sizeof *team->move);
	if (move != NULL)
		team->move = move;
	if (worker == NULL || thread == NULL || move == NULL)
		return -ENOMEM;
	for (uint32_t b = 0; b < team->balancers; b++) {
		void *slot =
			realloc(team->balancer[b].slot, capacity * sizeof *team->balancer->slot);
		if (slot == NULL)
			return -ENOMEM;
		team->balancer[b].slot = slot;
	}
	team->capacity = capacity;
	return 0;
}

static void activate(struct team *team, size_t i)
{
	swap(team, i, team->active);
	/* It joins in the middle of the others: neither ahead nor behind. */
	team->thread[team->active] =
		(struct policy_thread){.cpu = POLICY_NO_CPU, .progress_ns = mean_progress_ns(team)};
	show_flags(team->worker[team->active], TELEMETRY_THREAD_COMPUTE);
	team->active++;
}

static void deactivate(struct team *team, size_t i)
{
	give_up_place(team, team->worker[i]);
	release(team, i);
	show_flags(team->worker[i], 0);
	show_cpu(team->worker[i], -1);
	swap(team, i, --team->active);
}

void lead_collect(struct team *team)
{
	pthread_mutex_lock(&team->lock);
	struct worker *list = team->incoming;
	team->incoming = NULL;
	pthread_mutex_unlock(&team->lock);
	while (list != NULL) {
		struct worker *worker = list;
		list = list->next;
		if (reserve(team, team->n + 1) < 0) { /* it runs on, but unbalanced */
			pthread_mutex_lock(&team->lock);
			worker->next = team->ended;
			team->ended = worker;
			pthread_mutex_unlock(&team->lock);
			continue;
		}
		team->worker[team->n] = worker;
		team->thread[team->n++] = (struct policy_thread){.cpu = POLICY_NO_CPU};
		show_flags(worker, 0);
		if (worker->chosen)
			activate(team, team->n - 1);
	}
}

/* ---- Progress ---- */

/* What a thread did since the last look, from its slot; false when it has ended. */
static bool look(
	struct worker *worker, uint64_t now, struct policy_thread *thread, uint64_t *elapsed_ns)
{
	struct sampler_slot *slot = &worker->slot;

	thread->run_ns = thread->wait_ns = thread->gain_ns = thread->left_ns = 0;
	*elapsed_ns = 0;
	if (slot->error == -ESRCH)
		return false;
	if (slot->error != 0)
		return true; /* no news: the same totals next time, or better */
	if (worker->seen) {
		thread->run_ns = slot->run_ns - worker->run_ns;
		thread->wait_ns = slot->wait_ns - worker->wait_ns;
		thread->gain_ns = slot->progress - worker->progress;
		if (worker->left_run_ns > worker->run_ns) {
			thread->left_ns = worker->left_run_ns - worker->run_ns;
			thread->left_cpu = worker->left_cpu;
		}
		*elapsed_ns = now - worker->looked_ns;
	}
	worker->seen = true;
	worker->run_ns = slot->run_ns;
	worker->wait_ns = slot->wait_ns;
	worker->progress = slot->progress;
	worker->slices = slot->slices;
	worker->looked_ns = now;
	if (worker->shown != NULL) {
		telemetry_add(&worker->shown->progress_ns, thread->run_ns);
		telemetry_add(&worker->shown->wait_ns, thread->wait_ns);
		telemetry_set(&worker->shown->migrations, worker->migrations);
	}
	return true;
}

/* Over some periods, since one may be cut short and hold a single burst of moves. */
static void look_for_yields(struct team *team, uint64_t now, uint64_t switches)
{
	uint64_t elapsed_ns = now - team->switches_from_ns;

	team->switches += switches;
	if (elapsed_ns < YIELDING_WINDOW_NS)
		return;
	if ((double)team->switches * 1e9 > YIELDING_HZ * (double)elapsed_ns * (double)team->m)
		team->yielded_ns = now;
	team->switches = 0;
	team->switches_from_ns = now;
}

/* Take in what the balancers have sampled of the compute threads. */
static void look_at_active(struct team *team, uint64_t now)
{
	bool left = false;
	uint64_t switches = 0;

	for (size_t i = 0; i < team->active;) {
		struct worker *worker = team->worker[i];
		struct policy_thread *thread = &team->thread[i];
		uint64_t elapsed_ns, slices = worker->slices;

		if (!look(worker, now, thread, &elapsed_ns)) {
			remove_ended(team, i);
			left = true;
			continue;
		}
		switches += worker->slices - slices;
		if (team->window.open) {
			team->window.run_ns += thread->run_ns;
			team->window.wait_ns += thread->wait_ns;
		}
		/* Waiting for a CPU is not sleeping. */
		policy_idle_update(&worker->idle, thread->run_ns + thread->wait_ns, elapsed_ns);
		i++;
	}
	look_for_yields(team, now, switches);
	gain_add(team, now);
	if (left && team->regime == POLICY_BALANCE &&
		options_of(team)->policy == POLICY_NAME_JUGGLE)
		even_out(team);
}

/* A program that forks, execs: what it is called, and so what --idle says of it, is seen
 * only some time after it was met. */
static void look_at_name(struct team *team, struct worker *worker, uint64_t now)
{
	struct proc_thread thread;

	if (worker->renamed || now - worker->met_ns < NAME_NS)
		return;
	worker->renamed = true;
	if (proc_read_thread(worker->slot.pid, worker->slot.tid, &thread) < 0)
		return;
	worker_show_comm(worker, thread.comm);
	worker_apply_idle_rule(worker, options_of(team), thread.comm);
}

static bool computes(const struct worker *worker)
{
	if (worker->off_limits || worker->idle_by_rule)
		return false;
	if (worker->compute_by_rule || worker->role == PUBLISHED_WORKER)
		return true;
	/* A program that names its workers has told what the others are. */
	return worker->role == PUBLISHED_NOTHING && !worker->idle.idle;
}

/* Do all compute threads work on subdomains that move between them? */
static bool subdomains_move(const struct team *team)
{
	for (size_t i = 0; i < team->active; i++)
		if (team->worker[i]->role != PUBLISHED_WORKER || !team->worker[i]->balanced)
			return false;
	return team->active > 0;
}

/* Now and then: new threads, idle threads that woke up, compute threads that fell idle. */
static void look_at_members(struct team *team, struct balancer *leader, uint64_t now)
{
	bool fewer = false, more = false;
	size_t count = 0;

	lead_collect(team);
	gain_look_at_roles(team);
	for (size_t i = team->active; i < team->n; i++)
		leader->slot[count++] = &team->worker[i]->slot;
	sampler_read(leader->sampler, leader->slot, count);
	for (size_t i = team->active; i < team->n;) {
		struct worker *worker = team->worker[i];
		struct policy_thread thread;
		uint64_t elapsed_ns;

		if (!look(worker, now, &thread, &elapsed_ns)) {
			remove_ended(team, i);
			continue;
		}
		look_at_name(team, worker, now);
		policy_idle_update(&worker->idle, thread.run_ns, elapsed_ns);
		if (computes(worker)) {
			if (goes_elsewhere(team, i))
				continue;
			activate(team, i);
			more = true;
			/* What was swapped to place i was looked at before. */
		}
		i++;
	}
	for (size_t i = 0; i < team->active;) {
		struct worker *worker = team->worker[i];
		look_at_name(team, worker, now);
		if (!computes(worker)) {
			deactivate(team, i);
			fewer = true;
		} else {
			i++;
		}
	}
	if (team->regime == POLICY_BALANCE && more)
		place(team);
	if (team->regime == POLICY_BALANCE && fewer &&
		options_of(team)->policy == POLICY_NAME_JUGGLE)
		even_out(team);
	team->chooser.subdomains = subdomains_move(team);
	team->last_slow_ns = now;
}

/* ---- Regime ---- */

static void begin_window(struct team *team, uint64_t now)
{
	team->window.open = true;
	team->window.start_ns = now;
	team->window.run_ns = 0;
	team->window.wait_ns = 0;
	team->window.number++;
	for (size_t i = 0; i < team->active && i < BLOCKS_SAMPLE; i++) {
		struct worker *worker = team->worker[i];
		if (worker->blocks_window != team->window.number &&
			proc_read_blocks(worker->slot.pid, worker->slot.tid, &worker->blocks) == 0)
			worker->blocks_window = team->window.number;
	}
}

/* What the window that ends here counted; the next one may begin with the same looks. */
static double window_blocks(struct team *team)
{
	uint64_t sum = 0;
	uint32_t count = 0;

	for (size_t i = 0; i < team->active; i++) {
		struct worker *worker = team->worker[i];
		uint64_t blocks;
		if (worker->blocks_window != team->window.number ||
			proc_read_blocks(worker->slot.pid, worker->slot.tid, &blocks) < 0)
			continue;
		sum += blocks - worker->blocks;
		worker->blocks = blocks;
		worker->blocks_window = team->window.number + 1;
		count++;
	}
	return count > 0 ? (double)sum / count : 0;
}

/* Have the compute threads that -n announced been there? */
static bool all_expected(struct team *team)
{
	uint32_t expected = options_of(team)->threads;

	if (!team->expected)
		team->expected =
			expected == 0
				? team->active > 0
				: telemetry_get32(&team->context->telemetry->threads) >= expected;
	return team->expected;
}

/* --policy static and observe. */
static enum policy_regime choose_by_option(struct team *team)
{
	const struct options *options = options_of(team);

	team->chooser.reason = POLICY_REASON_OPTION;
	if (options->policy == POLICY_NAME_OBSERVE || !all_expected(team))
		return POLICY_ASIDE;
	/* Pinning a program before it has started its threads would show it one CPU. */
	return team->regime == POLICY_BALANCE || team->active >= team->m || options->threads > 0
		       ? POLICY_BALANCE
		       : POLICY_ASIDE;
}

static void choose_regime(struct team *team, uint64_t now)
{
	if (options_of(team)->policy != POLICY_NAME_JUGGLE) {
		enum policy_regime regime = choose_by_option(team);
		if (regime != team->regime)
			enter(team, regime, now);
		return;
	}
	if (!all_expected(team))
		return;
	if (policy_regime_count(&team->chooser, (uint32_t)team->active, (uint32_t)team->m))
		enter(team, team->chooser.regime, now);
	if (now < team->window.start_ns)
		return;
	if (!team->window.open) {
		begin_window(team, now);
		return;
	}
	bool calm = team->chooser.reason == POLICY_REASON_NEVER_IDLE;
	if (now - team->window.start_ns < (calm ? CALM_WINDOW_NS : WINDOW_NS))
		return;
	struct policy_window window = {
		.elapsed_ns = now - team->window.start_ns,
		.run_ns = team->window.run_ns,
		.wait_ns = team->window.wait_ns,
		.since_yield_ns = now - team->yielded_ns,
		.blocks = window_blocks(team),
		.threads = (uint32_t)team->active,
		.cpus = (uint32_t)team->m,
	};
	if (policy_regime_update(&team->chooser, &window))
		enter(team, team->chooser.regime, now);
	else
		begin_window(team, now);
}

/* ---- The balancing point ---- */

/* Tick where threads share a CPU and may spin there: what sleeps or yields gives way by
 * itself, and a tick is only a disturbance. */
static void set_tickers(struct team *team)
{
	bool spins = lead_swaps(team) && team->chooser.spins && !team->chooser.subdomains;

	for (size_t j = 0; j < team->m && team->ticker != NULL; j++)
		ticker_set(&team->ticker[j], spins && team->cpu[j].threads > 1);
}

/* How long until the next one. */
static uint64_t next_period_ns(struct team *team, uint64_t now)
{
	const struct options *options = options_of(team);
	bool wanted = options->policy != POLICY_NAME_JUGGLE && !options->period_auto;
	uint64_t period = options->period_ns;

	if (!lead_swaps(team) && !wanted) {
		bool eager = now - team->context->telemetry->start_ns < EAGER_FOR_NS;
		uint64_t slow = eager ? EAGER_NS : SLOW_NS;
		if (period < slow)
			period = slow;
	} else if (options->period_auto) {
		uint32_t doublings = team->quiet_points / QUIET_POINTS;
		period <<= doublings < QUIET_DOUBLINGS ? doublings : QUIET_DOUBLINGS;
		/* Where they spin instead, the length of phases cannot be seen. */
		if (team->chooser.yields && now - team->yielded_ns > LONG_PHASE_NS &&
			period < LONG_PHASE_PERIODS * options->period_ns)
			period = LONG_PHASE_PERIODS * options->period_ns;
	}
	atomic_store_explicit(&team->period_ns, period, memory_order_relaxed);
	telemetry_set(&team->context->telemetry->period_ns, options->period_ns);
	double random = (double)rand_r(&team->random) / RAND_MAX;
	return (uint64_t)((double)period * (1 + options->jitter * (2 * random - 1)));
}

void lead(struct team *team, struct balancer *leader)
{
	const struct options *options = options_of(team);
	uint64_t now = clock_monotonic_ns();
	uint64_t elapsed_ns = now - team->last_ns;

	uint64_t slow =
		now - team->context->telemetry->start_ns < EAGER_FOR_NS ? EAGER_NS : SLOW_NS;

	team->last_ns = now;
	look_at_active(team, now);
	if (now - team->last_slow_ns >= slow) {
		look_at_members(team, leader, now);
		choose_regime(team, now);
	}
	/* Last, since the moves name threads by their place in the arrays. */
	team->moves = 0;
	if (lead_swaps(team)) {
		struct policy_juggle_params params = policy_juggle_defaults(options->margin_ns);
		team->moves = policy_juggle(&params, elapsed_ns, team->thread, team->active,
			team->cpu, team->m, team->order, team->move);
	}
	team->quiet_points = team->moves == 0 ? team->quiet_points + 1 : 0;
	set_tickers(team);
	show_point(team, now, elapsed_ns);
	if (team->watch != NULL && proc_watch_changed(team->watch))
		eventfd_write(team->context->kick_fd, 1);

	uint64_t deadline = atomic_load_explicit(&team->deadline_ns, memory_order_relaxed);
	deadline += next_period_ns(team, now);
	if (deadline <= now) /* late: do not try to catch up */
		deadline = now + atomic_load_explicit(&team->period_ns, memory_order_relaxed);
	atomic_store_explicit(&team->deadline_ns, deadline, memory_order_relaxed);
}
