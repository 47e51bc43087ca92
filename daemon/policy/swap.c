/* SPDX-License-Identifier: MIT */
/*
 * One balancing point of Juggle: Sections 2.1 (idle discount), 2.2 (ahead and behind)
 * and 2.3 (redistribution, Fig. 3).
 */
#include "daemon/policy/swap.h"

#include <math.h>
#include <stdlib.h>

#include "daemon/policy/distribute.h"
#include "daemon/policy/speeds.h"

#define NEAR 5 /* speed margins */
/* A swap behind one cache has to make up for this part of the difference in progress that the swap whose turn
 * it is would. Less keeps more threads behind their caches, and lets them get further apart. Simulated. */
#define NEARBY 0.85
#define BELIEVED_PERIODS 4 /* fewer don't show what a CPU gives that was promised more, or less */
#define FORGET_NS 1e9 /* what disturbed a CPU that is not used is forgotten over that long */

static uint32_t one_more(uint32_t periods, const struct policy_swap_params *params)
{
	if (periods < params->speed_periods || periods == 0)
		return periods + 1;
	return params->speed_periods > 0 ? params->speed_periods : 1;
}

/* Section 2.1: the speed of a CPU is the mean progress of its threads, times
 * t_real/(t_real - t_idle).
 *
 * A CPU is idle, for the job, while none of its threads is runnable. The kernel reports the idle
 * time of CPUs only in steps of 10 ms, so it is estimated from the threads: at least one was
 * runnable for no less than the sum of what they ran, and no less than the longest of run plus
 * wait. */
void policy_measure_cpus(const struct policy_swap_params *params, uint64_t elapsed_ns,
	struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	double elapsed = (double)elapsed_ns;

	policy_count(threads, n, cpus, m);
	for (size_t j = 0; j < m; j++) {
		cpus[j].mean_progress = 0;
		cpus[j].fast_slots = 0;
		cpus[j].runnable = 0;
		cpus[j].periods = one_more(cpus[j].periods, params);
		cpus[j].ran -= cpus[j].ran / cpus[j].periods;
		cpus[j].gained -= cpus[j].gained / cpus[j].periods;
	}
	for (size_t i = 0; i < n; i++) {
		struct policy_thread *thread = &threads[i];
		if (thread->cpu == POLICY_NO_CPU)
			continue;
		double run = (double)thread->run_ns / elapsed;
		double gain = (double)thread->gain_ns / elapsed;
		double want = run + (double)thread->wait_ns / elapsed;
		double left =
			thread->run_ns > 0 ? (double)thread->left_ns / (double)thread->run_ns : 0;
		struct policy_cpu *cpu = &cpus[thread->cpu];

		thread->periods = one_more(thread->periods, params);
		thread->runnable += (want - thread->runnable) / thread->periods;
		cpu->mean_progress += (double)thread->progress_ns;
		cpu->ran += run * (1 - left) / cpu->periods;
		cpu->gained += gain * (1 - left) / cpu->periods;
		if (thread->runnable > cpu->runnable)
			cpu->runnable = thread->runnable;
		if (left > 0) {
			cpu = &cpus[thread->left_cpu];
			cpu->ran += run * left / cpu->periods;
			cpu->gained += gain * left / cpu->periods;
		}
	}
	for (size_t j = 0; j < m; j++) {
		struct policy_cpu *cpu = &cpus[j];
		if (cpu->threads > 0)
			cpu->mean_progress /= cpu->threads;
		if (cpu->runnable > 1)
			cpu->runnable = 1;
		if (cpu->ran > cpu->runnable)
			cpu->runnable = cpu->ran;
		/* Its threads slept nearly all the time: take what it could have given them. */
		double share = cpu->runnable < 1.0 / 64 ? policy_rate_of(cpus, j)
							: cpu->gained / cpu->runnable;
		cpu->speed = cpu->threads > 0 ? elapsed * share / cpu->threads : 0;
		if (cpu->threads == 0) {
			cpu->potential +=
				(cpu->rated - cpu->potential) * fmin(1, elapsed / FORGET_NS);
			/* It is measured anew when it is used again. */
			cpu->periods = 0;
			cpu->ran = cpu->gained = 0;
		} else if (cpu->periods >= BELIEVED_PERIODS) {
			cpu->potential = share;
		}
	}
}

/* The margin is xi, or less where few of many threads lag. Their lag is the sum of the leads of all
 * others, so each of the others leads by little, and xi would hide who is ahead. */
static double ahead_margin(const struct policy_swap_params *params,
	const struct policy_thread *threads, size_t n, double mean)
{
	double leads = 0, lag = 0, margin = (double)params->margin_ns;
	size_t leading = 0;

	for (size_t i = 0; i < n; i++) {
		double lead = (double)threads[i].progress_ns - mean;
		if (threads[i].cpu == POLICY_NO_CPU)
			continue;
		lag = fmax(lag, -lead);
		leads += fmax(lead, 0);
		leading += lead > 0;
	}
	if (params->to_the_letter & POLICY_PAPER_MARGIN || leading == 0 || lag <= 2 * margin)
		return margin;
	double mean_lead = leads / (double)leading;
	return mean_lead < margin ? mean_lead / 2 : margin;
}

/* Section 2.2: behind means P < mean + xi. But a thread that sleeps while its CPU stands still waits
 * for others, and one that starves may be the one they wait for. */
static bool is_behind(const struct policy_swap_params *params, const struct policy_thread *thread,
	int64_t limit_ns)
{
	if (params->to_the_letter & POLICY_PAPER_SLEEPERS)
		return thread->progress_ns < limit_ns;
	return thread->starves || (thread->progress_ns < limit_ns && !thread->asleep);
}

static void classify_threads(
	const struct policy_swap_params *params, struct policy_thread *threads, size_t n)
{
	double sum = 0;
	size_t placed = 0;

	for (size_t i = 0; i < n; i++) {
		threads[i].moved = threads[i].behind = false;
		if (threads[i].cpu == POLICY_NO_CPU)
			continue;
		sum += (double)threads[i].progress_ns;
		placed++;
	}
	int64_t mean = placed > 0 ? (int64_t)(sum / (double)placed) : 0;
	for (size_t i = 0; i < n && params->forget_periods > 0; i++)
		if (threads[i].cpu != POLICY_NO_CPU)
			threads[i].progress_ns -=
				(threads[i].progress_ns - mean) / params->forget_periods;
	int64_t margin_ns = (int64_t)ahead_margin(params, threads, n, (double)mean);
	for (size_t i = 0; i < n; i++)
		if (threads[i].cpu != POLICY_NO_CPU)
			threads[i].behind = is_behind(params, &threads[i], mean + margin_ns);
}

/* Section 2.3: fast CPUs are those above the mean speed, here by a margin, as speeds are measured.
 * Where few of many CPUs are slow, the others are hardly above the mean. So a CPU that is near the
 * fastest is fast too, unless all CPUs are near each other. */
static double fast_limit(
	const struct policy_swap_params *params, const struct policy_cpu *cpus, size_t m)
{
	double slowest = HUGE_VAL, fastest = 0, sum = 0;
	size_t used = 0;

	for (size_t j = 0; j < m; j++) {
		if (cpus[j].threads == 0)
			continue;
		slowest = fmin(slowest, cpus[j].speed);
		fastest = fmax(fastest, cpus[j].speed);
		sum += cpus[j].speed;
		used++;
	}
	if (params->to_the_letter & POLICY_PAPER_FAST)
		return used > 0 ? sum / (double)used : HUGE_VAL;
	double middle = (slowest + fastest) / 2;
	if (used == 0 || fastest <= middle * (1 + params->speed_margin))
		return HUGE_VAL;
	return fmin(sum / (double)used * (1 + params->speed_margin),
		fmax(middle, fastest * (1 - NEAR * params->speed_margin)));
}

/* An empty CPU has no threads to swap and takes no part. */
static void classify_cpus(const struct policy_swap_params *params,
	const struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	double limit = fast_limit(params, cpus, m);

	for (size_t j = 0; j < m; j++)
		cpus[j].fast = cpus[j].threads > 0 && cpus[j].speed > limit;
	for (size_t i = 0; i < n; i++)
		if (threads[i].cpu != POLICY_NO_CPU && cpus[threads[i].cpu].fast &&
			!threads[i].behind)
			cpus[threads[i].cpu].fast_slots++;
}

static int by_progress(const void *a, const void *b, void *context)
{
	const struct policy_cpu *cpus = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	double x = cpus[i].mean_progress, y = cpus[j].mean_progress;
	int ascending = (x > y) - (x < y);

	if (ascending == 0)
		return (i > j) - (i < j);
	return cpus[i].fast ? -ascending : ascending;
}

/* Sort the CPUs of one class by the mean progress of their threads: slow ones ascending, fast ones
 * descending. */
static size_t order_cpus(struct policy_cpu *cpus, size_t m, bool fast, uint32_t *order)
{
	size_t count = 0;

	for (size_t j = 0; j < m; j++)
		if (cpus[j].threads > 0 && cpus[j].fast == fast)
			order[count++] = (uint32_t)j;
	qsort_r(order, count, sizeof *order, by_progress, cpus);
	return count;
}

/* The thread to move from a CPU: the furthest behind of its behind threads, or the furthest ahead
 * of its ahead threads. The links are those from before the swaps: threads that came have `moved`. */
static int32_t pick_thread(
	const struct policy_thread *threads, const struct policy_cpu *cpu, bool behind)
{
	int32_t pick = POLICY_NO_ROW;

	for (int32_t i = cpu->first; i != POLICY_NO_ROW; i = threads[i].next) {
		if (threads[i].behind != behind || threads[i].moved)
			continue;
		if (pick == POLICY_NO_ROW ||
			(behind ? threads[i].progress_ns < threads[pick].progress_ns
				: threads[i].progress_ns > threads[pick].progress_ns))
			pick = i;
	}
	return pick;
}

static void move_thread(struct policy_thread *thread, uint32_t to)
{
	thread->cpu = (int32_t)to;
	thread->moved = true;
}

/* Drop a CPU from the cycle when it has no thread left to give. */
static void drop(uint32_t *order, size_t *count, size_t at)
{
	--*count;
	for (size_t k = at; k < *count; k++)
		order[k] = order[k + 1];
}

static bool any_slots(const struct policy_cpu *cpus, const uint32_t *fast, size_t count)
{
	for (size_t f = 0; f < count; f++)
		if (cpus[fast[f]].fast_slots > 0)
			return true;
	return false;
}

/* Would a swap of these two CPUs make up for that difference in progress, nearly? */
static bool swaps_enough(const struct policy_thread *threads, const struct policy_cpu *slow,
	const struct policy_cpu *fast, double difference_ns)
{
	int32_t behind = pick_thread(threads, slow, true),
		ahead = pick_thread(threads, fast, false);

	return behind != POLICY_NO_ROW && fast->fast_slots > 0 &&
	       (double)(threads[ahead].progress_ns - threads[behind].progress_ns) >=
		       NEARBY * difference_ns;
}

/* Where the two CPUs whose turn it is don't share a cache: another pair that has one of them, does, and
 * does as well, nearly. */
static void prefer_nearby(const struct policy_thread *threads, const struct policy_cpu *cpus,
	const uint32_t *slow, size_t slow_count, const uint32_t *fast, size_t fast_count, size_t *s,
	size_t *f)
{
	const struct policy_cpu *slower = &cpus[slow[*s]], *faster = &cpus[fast[*f]];

	if (slower->cache == faster->cache)
		return;
	double difference_ns = (double)(threads[pick_thread(threads, faster, false)].progress_ns -
					threads[pick_thread(threads, slower, true)].progress_ns);
	for (size_t k = 0; k < fast_count; k++)
		if (cpus[fast[k]].cache == slower->cache &&
			swaps_enough(threads, slower, &cpus[fast[k]], difference_ns)) {
			*f = k;
			return;
		}
	for (size_t k = 0; k < slow_count; k++)
		if (cpus[slow[k]].cache == faster->cache &&
			swaps_enough(threads, &cpus[slow[k]], faster, difference_ns)) {
			*s = k;
			return;
		}
}

size_t policy_swap(const struct policy_swap_params *params, uint64_t elapsed_ns,
	struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m, uint32_t *order)
{
	if (n == 0 || m < 2 || elapsed_ns == 0)
		return 0;
	policy_measure_cpus(params, elapsed_ns, threads, n, cpus, m);
	return policy_swap_measured(params, threads, n, cpus, m, order);
}

size_t policy_swap_measured(const struct policy_swap_params *params, struct policy_thread *threads,
	size_t n, struct policy_cpu *cpus, size_t m, uint32_t *order)
{
	uint32_t *slow = order, *fast = order + m;
	size_t count = 0;

	classify_threads(params, threads, n);
	classify_cpus(params, threads, n, cpus, m);
	size_t slow_count = order_cpus(cpus, m, false, slow);
	size_t fast_count = order_cpus(cpus, m, true, fast);

	/* Fig. 3. */
	size_t s = 0, f = 0;
	while (slow_count > 0 && fast_count > 0) {
		s %= slow_count;
		f %= fast_count;
		int32_t behind = pick_thread(threads, &cpus[slow[s]], true);
		if (behind == POLICY_NO_ROW) {
			drop(slow, &slow_count, s);
			continue;
		}
		if (cpus[fast[f]].fast_slots == 0) {
			if (!(params->to_the_letter & POLICY_PAPER_LINE_9)) {
				drop(fast, &fast_count, f);
			} else { /* line 9 */
				if (!any_slots(cpus, fast, fast_count))
					break;
				s++;
				f++;
			}
			continue;
		}
		size_t a = s, b = f;
		if (!(params->to_the_letter & POLICY_PAPER_CACHES))
			prefer_nearby(threads, cpus, slow, slow_count, fast, fast_count, &a, &b);
		behind = pick_thread(threads, &cpus[slow[a]], true);
		int32_t ahead = pick_thread(threads, &cpus[fast[b]], false);
		move_thread(&threads[behind], fast[b]);
		move_thread(&threads[ahead], slow[a]);
		cpus[fast[b]].fast_slots--;
		count += 2;
		s += a == s;
		f += b == f;
	}
	return count;
}
