/* SPDX-License-Identifier: MIT */
/* A trace through the policy that the daemon runs; see follow.h. */
#include "tools/replay/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Between two looks at loads: as long as the policy smooths them. */
#define LOAD_POINTS 64
#define LOAD_MAX 0.99 /* a CPU that gives nothing would let a simulation never end */
#define NO_INDEX (-1)

/* A thread at the point before. */
struct known {
	int32_t tid;
	uint32_t periods;
	double runnable;
	int32_t left_cpu; /* index of the CPU that the point moved it away from, or NO_INDEX */
};

/* A domain with what the policy keeps from point to point. */
struct pool {
	struct policy_cpu *cpu;
	size_t *which; /* of each, its index in trace->cpu */
	size_t m;
	uint32_t *order;
	struct known *known; /* threads of the last point, by tid */
	size_t count, room;
	bool balance;
	size_t next_regime; /* in the trace: those before are done, or other domains' */
	uint64_t points, window_ns; /* where the window under way began */
};

struct follower {
	const struct trace_file *trace;
	struct replay_follow *out;
	struct policy_juggle_params params;
	bool swaps; /* the daemon moved threads, where it balanced */
	uint64_t begin_ns;
	struct pool *pool; /* TRACE_DOMAINS_MAX */
	int32_t *index; /* of each CPU number, its index in the pool it is in */
	int32_t *domain; /* of each CPU number, that pool */
	struct policy_thread *thread; /* scratch, room for each thread of a point */
	struct policy_move *move;
	struct trace_move *decided, *recorded; /* the same */
	size_t room;
};

static int by_tid(const void *a, const void *b)
{
	const struct known *one = a, *other = b;

	return (one->tid > other->tid) - (one->tid < other->tid);
}

static int add_cpu(struct follower *f, size_t i)
{
	const struct trace_cpu *cpu = &f->trace->cpu[i];
	struct pool *pool = &f->pool[cpu->domain];

	if (f->index[cpu->os_cpu] != NO_INDEX)
		return 0;
	void *grown = reallocarray(pool->cpu, pool->m + 1, sizeof(*pool->cpu));
	if (grown == NULL)
		return -ENOMEM;
	pool->cpu = grown;
	grown = reallocarray(pool->which, pool->m + 1, sizeof(*pool->which));
	if (grown == NULL)
		return -ENOMEM;
	pool->which = grown;
	grown = reallocarray(pool->order, pool->m + 1, 2 * sizeof(*pool->order));
	if (grown == NULL)
		return -ENOMEM;
	pool->order = grown;
	pool->cpu[pool->m] = (struct policy_cpu){.os_cpu = cpu->os_cpu};
	pool->which[pool->m] = i;
	f->index[cpu->os_cpu] = (int32_t)pool->m++;
	f->domain[cpu->os_cpu] = (int32_t)cpu->domain;
	return 0;
}

static int reserve(struct follower *f, struct pool *pool, size_t threads)
{
	if (threads > f->room) {
		void *thread = reallocarray(f->thread, threads, sizeof(*f->thread));
		if (thread != NULL)
			f->thread = thread;
		void *move = reallocarray(f->move, threads, sizeof(*f->move));
		if (move != NULL)
			f->move = move;
		void *decided = reallocarray(f->decided, threads, sizeof(*f->decided));
		if (decided != NULL)
			f->decided = decided;
		void *recorded = reallocarray(f->recorded, threads, sizeof(*f->recorded));
		if (recorded != NULL)
			f->recorded = recorded;
		if (thread == NULL || move == NULL || decided == NULL || recorded == NULL)
			return -ENOMEM;
		f->room = threads;
	}
	if (threads > pool->room) {
		void *known = reallocarray(pool->known, threads, sizeof(*pool->known));
		if (known == NULL)
			return -ENOMEM;
		pool->known = known;
		pool->room = threads;
	}
	return 0;
}

static struct known *find_known(const struct pool *pool, int32_t tid)
{
	struct known key = {.tid = tid};

	return pool->count > 0 ? bsearch(&key, pool->known, pool->count, sizeof(key), by_tid)
			       : NULL;
}

/* How much of its time a thread that was just moved ran before: the trace does not tell, but what
 * is more than the period certainly was. */
static uint64_t left_ns(const struct trace_thread *thread, uint64_t elapsed_ns)
{
	return thread->run_ns > elapsed_ns ? thread->run_ns - elapsed_ns : 0;
}

/* The threads as the policy got them. The trace has their progress after a part of leads and lags
 * was forgotten, which changes neither their mean nor any order; so the policy, asked not to forget
 * any more, comes to what it came to then. Returns whether all are on CPUs of the domain. */
static bool set_threads(struct follower *f, struct pool *pool, const struct trace_point *point)
{
	for (size_t i = 0; i < point->threads; i++) {
		const struct trace_thread *thread = &point->thread[i];
		const struct known *known = find_known(pool, thread->tid);

		if (thread->os_cpu < 0 || f->domain[thread->os_cpu] != (int32_t)point->domain)
			return false;
		f->thread[i] = (struct policy_thread){.cpu = f->index[thread->os_cpu],
			.progress_ns = thread->progress_ns,
			.gain_ns = thread->run_ns,
			.run_ns = thread->run_ns,
			.wait_ns = thread->wait_ns};
		if (known == NULL)
			continue;
		f->thread[i].runnable = known->runnable;
		f->thread[i].periods = known->periods;
		if (known->left_cpu != NO_INDEX) {
			f->thread[i].left_ns = left_ns(thread, point->elapsed_ns);
			f->thread[i].left_cpu = known->left_cpu;
		}
	}
	return true;
}

static void keep_threads(struct follower *f, struct pool *pool, const struct trace_point *point)
{
	for (size_t i = 0; i < point->threads; i++)
		pool->known[i] = (struct known){.tid = point->thread[i].tid,
			.periods = f->thread[i].periods,
			.runnable = f->thread[i].runnable,
			.left_cpu = NO_INDEX};
	pool->count = point->threads;
	qsort(pool->known, pool->count, sizeof(*pool->known), by_tid);
	for (size_t k = 0; k < point->moves; k++) {
		const struct trace_move *move = &point->move[k];
		struct known *known = find_known(pool, move->tid);
		if (known != NULL && f->domain[move->from] == (int32_t)point->domain)
			known->left_cpu = f->index[move->from];
	}
}

static int by_thread(const void *a, const void *b)
{
	const struct trace_move *one = a, *other = b;

	return (one->tid > other->tid) - (one->tid < other->tid);
}

/* Are the decisions the recorded moves, in whatever order? */
static bool same_moves(const struct follower *f, const struct pool *pool,
	const struct trace_point *point, size_t moves)
{
	if (moves != point->moves)
		return false;
	for (size_t k = 0; k < moves; k++) {
		f->decided[k] = (struct trace_move){.tid = point->thread[f->move[k].thread].tid,
			.from = pool->cpu[f->move[k].from].os_cpu,
			.to = pool->cpu[f->move[k].to].os_cpu};
		f->recorded[k] = point->move[k];
	}
	qsort(f->decided, moves, sizeof(*f->decided), by_thread);
	qsort(f->recorded, moves, sizeof(*f->recorded), by_thread);
	return memcmp(f->decided, f->recorded, moves * sizeof(*f->decided)) == 0;
}

/* The share of a CPU that the job got while it had something to run there; more than 1 where times
 * are counted for a CPU that were used on another. */
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

/* What other work took of the domain's CPUs in the window that ends: what the job did not get. What
 * one got above 1 was got on the others. */
static int add_loads(struct follower *f, struct pool *pool, uint64_t now_ns)
{
	uint64_t from_ns = pool->window_ns > f->begin_ns ? pool->window_ns - f->begin_ns : 0;
	double lost = 0, above = 0;

	for (size_t j = 0; j < pool->m; j++) {
		double share = pool->cpu[j].threads > 0 ? got(&pool->cpu[j]) : 1;
		if (share > 1)
			above += share - 1;
		else
			lost += 1 - share;
	}
	double keep = above < lost ? 1 - above / lost : 0;
	for (size_t j = 0; j < pool->m; j++) {
		if (pool->cpu[j].threads == 0)
			continue;
		int r = add_load(
			&f->out->cpu[pool->which[j]], from_ns, keep * (1 - got(&pool->cpu[j])));
		if (r < 0)
			return r;
	}
	pool->window_ns = now_ns;
	return 0;
}

static int follow_point(struct follower *f, const struct trace_point *point)
{
	struct pool *pool = &f->pool[point->domain];
	struct replay_decisions *decisions = &f->out->decisions;

	if (!pool->balance || pool->m == 0 || point->threads == 0 || point->elapsed_ns == 0) {
		pool->count = 0;
		return 0;
	}
	int r = reserve(f, pool, point->threads);
	if (r < 0)
		return r;
	if (!set_threads(f, pool, point)) {
		pool->count = 0;
		return 0;
	}
	if (pool->points == 0)
		pool->window_ns =
			point->now_ns -
			(point->elapsed_ns < point->now_ns ? point->elapsed_ns : point->now_ns);
	size_t moves = policy_juggle(&f->params, point->elapsed_ns, f->thread, point->threads,
		pool->cpu, pool->m, pool->order, f->move);
	keep_threads(f, pool, point);
	if (f->swaps && pool->m > 1) {
		decisions->points++;
		decisions->same += same_moves(f, pool, point, moves);
		decisions->recorded_moves += point->moves;
		decisions->moves += moves;
	}
	return ++pool->points % LOAD_POINTS == 0 ? add_loads(f, pool, point->now_ns) : 0;
}

/* Between domains records are not sorted, within each they are; a regime changes before the point of
 * the same time. Each domain has to go through the list, which is short. */
static void follow_regimes(struct follower *f, uint32_t domain, uint64_t now_ns)
{
	struct pool *pool = &f->pool[domain];

	for (; pool->next_regime < f->trace->regimes; pool->next_regime++) {
		const struct trace_regime *regime = &f->trace->regime[pool->next_regime];
		if (regime->domain == domain && regime->now_ns > now_ns)
			return;
		if (regime->domain == domain)
			pool->balance = regime->balance;
	}
}

static int follow(struct follower *f)
{
	const struct trace_file *trace = f->trace;

	for (size_t i = 0; i < trace->cpus; i++) {
		int r = add_cpu(f, i);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < trace->points; i++) {
		follow_regimes(f, trace->point[i].domain, trace->point[i].now_ns);
		int r = follow_point(f, &trace->point[i]);
		if (r < 0)
			return r;
	}
	/* A short trace has only the window that its end cuts. */
	for (size_t d = 0; d < TRACE_DOMAINS_MAX; d++)
		if (f->pool[d].points > 0 && f->pool[d].points < LOAD_POINTS &&
			add_loads(f, &f->pool[d], 0) < 0)
			return -ENOMEM;
	return 0;
}

static int set_up(struct follower *f)
{
	size_t numbers = TRACE_OS_CPU_MAX + 1;

	f->pool = calloc(TRACE_DOMAINS_MAX, sizeof(*f->pool));
	f->index = malloc(numbers * sizeof(*f->index));
	f->domain = malloc(numbers * sizeof(*f->domain));
	f->out->cpu = calloc(f->trace->cpus + 1, sizeof(*f->out->cpu));
	f->out->cpus = f->trace->cpus;
	if (f->pool == NULL || f->index == NULL || f->domain == NULL || f->out->cpu == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < numbers; i++)
		f->index[i] = f->domain[i] = NO_INDEX;
	return 0;
}

static void tear_down(struct follower *f)
{
	for (size_t d = 0; d < TRACE_DOMAINS_MAX && f->pool != NULL; d++) {
		free(f->pool[d].cpu);
		free(f->pool[d].which);
		free(f->pool[d].order);
		free(f->pool[d].known);
	}
	free(f->pool);
	free(f->index);
	free(f->domain);
	free(f->thread);
	free(f->move);
	free(f->decided);
	free(f->recorded);
}

int replay_follow_init(struct replay_follow *out, const struct trace_file *trace,
	const struct policy_juggle_params *params, uint64_t begin_ns)
{
	struct follower f = {.trace = trace,
		.out = out,
		.params = *params,
		.swaps = strcmp(trace->policy, "juggle") == 0,
		.begin_ns = begin_ns};

	*out = (struct replay_follow){0};
	f.params.forget_periods = 0;
	int r = set_up(&f);
	if (r == 0)
		r = follow(&f);
	tear_down(&f);
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
