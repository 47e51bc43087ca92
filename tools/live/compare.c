/* SPDX-License-Identifier: MIT */
/* Rates: what two samples show that one does not. Pure. */
#include "tools/live/internal.h"

#include <math.h>
#include <stdlib.h>

/* A rate per second. NAN when no time has passed, or when the counter went back, which happens when
 * another counter has taken the name. */
static double rate(uint64_t before, uint64_t after, double seconds)
{
	return after < before || !(seconds > 0) ? NAN : (double)(after - before) / seconds;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) * 1e-9 : NAN;
}

/* ---- Threads ---- */

static int by_tid(const void *a, const void *b)
{
	const struct live_thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Threads of a rank are sorted by pid and tid. A pid has only one rank, but that may become known
 * later. */
static const struct live_thread *find_thread(
	const struct live_sample *before, const struct live_thread *thread)
{
	size_t low = 0, high = before->threads;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct live_thread *other = &before->thread[middle];
		int order = other->rank != thread->rank ? (other->rank < thread->rank ? -1 : 1)
							: by_tid(other, thread);
		if (order == 0)
			return other;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The time since which a worker's updates count. */
static uint64_t updates_since_ns(const struct live_sample *sample, const struct live_thread *thread)
{
	uint64_t created_ns = thread->process < 0 ? 0 : sample->process[thread->process].created_ns;

	return created_ns > 0 ? created_ns : thread->since_ns;
}

/* When the counters of threads were written: at juggle's last balancing point. */
static uint64_t counted_ns(const struct live_sample *sample)
{
	return sample->wrapped && sample->heartbeat_ns > 0 ? sample->heartbeat_ns : sample->now_ns;
}

static void compare_thread(const struct live_sample *before, const struct live_sample *after,
	struct live_thread *thread)
{
	const struct live_thread *then = before == NULL ? NULL : find_thread(before, thread);
	/* If it began later, it has the same tid by chance. */
	if (then != NULL && thread->since_ns > before->now_ns)
		then = NULL;
	double s = seconds(then == NULL ? thread->since_ns : counted_ns(before), counted_ns(after));

	thread->share = rate(then == NULL ? 0 : then->progress_ns, thread->progress_ns, s) * 1e-9;
	thread->wait_share = rate(then == NULL ? 0 : then->wait_ns, thread->wait_ns, s) * 1e-9;
	if (thread->wait_share > 1) /* the kernel reports a wait when it is over */
		thread->wait_share = 1;
	s = seconds(then == NULL ? updates_since_ns(after, thread) : before->now_ns, after->now_ns);
	thread->updates_per_s =
		thread->worker < 0 || (then != NULL && then->worker < 0)
			? NAN
			: rate(then == NULL ? 0 : then->updates, thread->updates, s);
	thread->lead_s = NAN;
	live_compare_told(then, thread);
}

/* The team that a thread is compared with. */
static int32_t team(const struct live_sample *sample, const struct live_thread *thread)
{
	return sample->wrapped ? thread->domain : thread->process;
}

struct member {
	int32_t team;
	size_t thread;
};

static int by_team(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->team != y->team)
		return x->team < y->team ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* The leads of one team; returns their spread. */
static double compare_team(struct live_thread *thread, const struct member *member, size_t n)
{
	double sum = 0, least = INFINITY, most = -INFINITY;

	if (n < 2) /* nobody to compare it with */
		return NAN;
	for (size_t i = 0; i < n; i++)
		sum += (double)thread[member[i].thread].balance_ns;
	for (size_t i = 0; i < n; i++) {
		struct live_thread *one = &thread[member[i].thread];
		one->lead_s = ((double)one->balance_ns - sum / (double)n) * 1e-9;
		least = fmin(least, one->lead_s);
		most = fmax(most, one->lead_s);
	}
	return most - least;
}

static void compare_leads(struct live_sample *sample)
{
	struct member *member = malloc((sample->threads + 1) * sizeof *member);
	size_t n = 0;

	sample->thread_spread_s = NAN;
	if (member == NULL)
		return;
	for (size_t i = 0; i < sample->threads; i++)
		if (sample->thread[i].compute)
			member[n++] = (struct member){team(sample, &sample->thread[i]), i};
	qsort(member, n, sizeof *member, by_team);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && member[end].team == member[first].team;)
			end++;
		sample->thread_spread_s = fmax(sample->thread_spread_s,
			compare_team(sample->thread, member + first, end - first));
	}
	free(member);
}

/* ---- Processes that publish ---- */

static int by_rank(const void *a, const void *b)
{
	const struct live_process *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The same segment in the sample before. */
static const struct live_process *find_process(
	const struct live_sample *before, const struct live_process *process)
{
	if (before == NULL || before->processes == 0)
		return NULL;
	const struct live_process *other =
		bsearch(process, before->process, before->processes, sizeof *process, by_rank);
	return other != NULL && other->error == 0 && other->created_ns == process->created_ns &&
			       other->subdomains == process->subdomains
		       ? other
		       : NULL;
}

static void compare_subdomains(
	const struct live_process *then, struct live_process *process, double s)
{
	for (uint32_t i = 0; i < process->subdomains; i++) {
		bool here = process->subdomain[i].holder != UINT32_MAX;
		bool came = then != NULL && then->subdomain[i].holder == UINT32_MAX;
		process->updates_per_s[i] =
			!here || came ? NAN
				      : rate(then == NULL ? 0 : then->subdomain[i].updates,
						process->subdomain[i].updates, s);
	}
}

static void compare_process(
	const struct live_sample *before, struct live_process *process, uint64_t now_ns)
{
	const struct live_process *then = find_process(before, process);
	double s = seconds(then == NULL ? process->created_ns : before->now_ns, now_ns);

	process->iteration_rate = process->moves_per_s = NAN;
	if (process->error != 0)
		return;
	if (process->held > 0)
		process->iteration_rate =
			rate(then == NULL ? 0 : then->updates, process->updates, s) / process->held;
	process->moves_per_s = rate(then == NULL ? 0 : then->moves, process->moves, s);
	compare_subdomains(then, process, s);
}

void live_compare(const struct live_sample *before, struct live_sample *after)
{
	double s = seconds(before == NULL ? after->start_ns : before->now_ns, after->now_ns);
	double updates = 0, held = 0, moves = 0;

	after->interval_s = s;
	for (size_t i = 0; i < after->threads; i++)
		compare_thread(before, after, &after->thread[i]);
	compare_leads(after);
	for (size_t p = 0; p < after->processes; p++) {
		struct live_process *process = &after->process[p];
		compare_process(before, process, after->now_ns);
		if (isnan(process->iteration_rate) || isnan(process->moves_per_s))
			continue;
		updates += process->iteration_rate * process->held;
		moves += process->moves_per_s;
		held += process->held;
	}
	after->iteration_rate = held > 0 ? updates / held : NAN;
	after->moves_per_s = held > 0 ? moves : NAN;
	live_compare_phases(before, after);
	after->cycles_per_s = after->migrations_per_s = after->balancer_share = NAN;
	if (!after->wrapped)
		return;
	after->cycles_per_s = rate(before == NULL ? 0 : before->cycles, after->cycles, s);
	after->migrations_per_s =
		rate(before == NULL ? 0 : before->migrations, after->migrations, s);
	after->balancer_share =
		rate(before == NULL ? 0 : before->balancer_cpu_ns, after->balancer_cpu_ns, s) *
		1e-9;
}
