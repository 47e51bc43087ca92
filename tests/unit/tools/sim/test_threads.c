/* SPDX-License-Identifier: MIT */
/* Threads on simulated CPUs: compared with the fluid model and the equations of the Juggle paper;
 * and the daemon's policy on less regular machines than theirs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef NDEBUG
#include "tests/unit/sanitized.h"
#include "tools/sim/ideal.h"
#include "tools/sim/threads.h"

#include <errno.h>
#include <math.h>

#define MS UINT64_C(1000000)
#define S (1000 * MS)

enum { CPUS_MAX = 64 };
enum { PINNED, REACTIVE, IDEAL, JUGGLE };

struct machine {
	struct threads_cpu cpu[CPUS_MAX];
	struct threads_params params;
};

/* JUGGLE is juggle --always. */
static void set_balancer(struct machine *machine, int balancer)
{
	struct threads_params *params = &machine->params;

	params->balancer = balancer == REACTIVE ? THREADS_REACTIVE
			   : balancer == IDEAL  ? THREADS_IDEAL
						: THREADS_POLICY;
	params->kind = balancer == PINNED ? &policy_kind_static : &policy_kind_juggle;
	params->always = true;
}

static void begin(struct machine *machine, uint32_t n, uint32_t m, int balancer)
{
	assert_true(m <= CPUS_MAX);
	for (uint32_t j = 0; j < m; j++)
		machine->cpu[j] = (struct threads_cpu){.speed = 1};
	machine->params = (struct threads_params){.threads = n,
		.domains = 1,
		.cpu = machine->cpu,
		.cpus = m,
		.phase_ns = 1 * S,
		.phases = 1,
		.period_ns = 10 * MS,
		.seed = 1};
	set_balancer(machine, balancer);
}

/* Does no CPU of a domain have two more threads than another? */
static bool even(const struct machine *machine, const struct threads_sim *sim)
{
	uint32_t count[CPUS_MAX] = {0};
	struct threads_view view;

	for (uint32_t i = 0; threads_look(sim, i, &view); i++)
		count[view.cpu]++;
	for (uint32_t a = 0; a < machine->params.cpus; a++)
		for (uint32_t b = 0; b < machine->params.cpus; b++)
			if ((machine->params.joint ||
				    machine->cpu[a].domain == machine->cpu[b].domain) &&
				count[a] > count[b] + 1)
				return false;
	return true;
}

/* Run to the end in steps, checking the invariants. */
static struct threads_result run(const struct machine *machine)
{
	const struct threads_params *params = &machine->params;
	struct threads_result result;
	struct threads_sim *sim;
	struct threads_view view;
	uint64_t until = 0, step = params->phase_ns * params->phases / 10 + 1;
	double before = 0, sum = 0, most = 0;

	assert_int_equal(threads_new(&sim, params), 0);
	while (!threads_run(sim, until += step)) {
		assert_true(threads_done(sim) >= before);
		before = threads_done(sim);
		/* Threads at the barrier must not keep the rest apart for good. */
		if (params->balancer != THREADS_REACTIVE)
			assert_true(even(machine, sim));
		assert_true(until < 1000 * S);
	}
	assert_float_equal(threads_done(sim), 1, 0);
	threads_get(sim, &result);
	for (uint32_t i = 0; threads_look(sim, i, &view); i++) {
		assert_true(view.waiting);
		sum += view.progress_ns;
		most = fmax(most, view.progress_ns);
	}
	/* No time is lost or gained. */
	double all = (double)params->phase_ns * (double)params->phases * params->threads;
	if (params->imbalance <= 0)
		assert_float_equal(sum / all, 1, 1e-9);
	threads_free(sim);
	return result;
}

static double time_s(const struct machine *machine)
{
	return (double)run(machine).time_ns / 1e9;
}

/* A kernel that takes its time: later than one that spreads threads at once, and sooner than pinned
 * threads; and one that moves threads between busy CPUs, too, makes up for barriers that yield. */
static void test_late_kernel(void **unused)
{
	struct machine machine;
	(void)unused;

	for (int barrier = THREADS_BLOCK; barrier <= THREADS_YIELD; barrier++) {
		begin(&machine, 3, 2, PINNED);
		machine.params.barrier = (enum threads_barrier)barrier;
		machine.params.phases = 20;
		machine.params.phase_ns = 50 * MS;
		double pinned = time_s(&machine);
		set_balancer(&machine, REACTIVE);
		double at_once = time_s(&machine);
		machine.params.pull_ns = 20 * MS;
		double later = time_s(&machine);
		machine.params.stray_ns = 10 * MS;
		double strays = time_s(&machine);
		if (barrier == THREADS_BLOCK) {
			assert_float_equal(pinned / at_once, 4.0 / 3, 1e-6);
			/* A CPU is idle for 10 ms in the mean, while the two others share one. */
			assert_float_equal((later - at_once) / 20, 0.005, 0.0015);
			assert_true(later < pinned);
		} else {
			assert_float_equal(at_once, pinned, 1e-6);
			assert_float_equal(later, pinned, 1e-6);
			assert_true(strays < 0.9 * pinned);
		}
	}
}

/* With ideal balancing this is the fluid model: the same times, points and moves. */
static void test_ideal(void **unused)
{
	const double periods[] = {0.0173, 0.1, 0.25, 0.77, 1, 1.9, 3};
	struct machine machine;
	(void)unused;

	for (uint32_t n = 2; n <= 20; n++)
		for (uint32_t m = 1; m <= 14; m += m < 4 ? 1 : 3)
			for (size_t k = 0; k < 7; k++)
				for (uint64_t phases = 1; phases <= 7; phases += 3) {
					begin(&machine, n, m, IDEAL);
					machine.params.phases = phases;
					machine.params.period_ns = (uint64_t)(periods[k] * 1e9);
					machine.params.jitter = phases == 7 ? 0.1 : 0;
					const struct ideal_case c = {.threads = n,
						.cpus = m,
						.phase = 1,
						.period = periods[k],
						.phases = phases,
						.jitter = machine.params.jitter,
						.seed = 1};
					struct ideal_result ideal;
					assert_int_equal(ideal_run(&c, &ideal), 0);
					struct threads_result result = run(&machine);
					double time = (double)result.time_ns / 1e9;
					assert_float_equal(time / ideal.time, 1, 1e-9);
					assert_int_equal(result.points, ideal.points);
					assert_int_equal(result.migrations, ideal.migrations);
				}
}

/* Eqs. 1 and 16; and Eq. 30, for 1 < n/m < 2, where each phase is the same. */
static void test_static_and_reactive(void **unused)
{
	struct machine machine;
	(void)unused;

	for (uint32_t m = 1; m <= 16; m += 1 + m / 4)
		for (uint32_t n = 1; n <= (SANITIZED ? 20 : 40); n += 1 + n / 16) {
			double ratio = (double)n / m;
			begin(&machine, n, m, PINNED);
			machine.params.phases = 3;
			machine.params.period_ns = 10 * MS;
			struct threads_result pinned = run(&machine);
			assert_float_equal((double)pinned.time_ns / 1e9, 3 * ceil(ratio), 1e-8);
			assert_int_equal(pinned.migrations, 0);
			set_balancer(&machine, REACTIVE);
			if (n > m && n < 2 * m)
				assert_float_equal(time_s(&machine),
					3 * (2 - exp2(floor(log2(2 - ratio)))), 1e-8);
			else if (n % m == 0)
				assert_float_equal(time_s(&machine), 3 * ratio, 1e-8);
			else if (n > m)
				assert_true(time_s(&machine) < 3 * ceil(ratio) - 0.01);
			/* Threads that do not sleep are not seen to wait. */
			machine.params.barrier = THREADS_SPIN;
			assert_int_equal(run(&machine).migrations, 0);
		}
}

/* The daemon's policy: ideal except for a period or two, where all it sees is exact. */
static void test_juggle(void **unused)
{
	struct machine machine;
	(void)unused;

	for (uint32_t m = 2; m <= (SANITIZED ? 8 : 16); m += 2)
		for (uint32_t n = m; n <= 3 * m; n += 1 + m / 5) {
			begin(&machine, n, m, JUGGLE);
			machine.params.phases = 3;
			machine.params.period_ns = 10 * MS;
			struct threads_result result = run(&machine);
			double time = (double)result.time_ns / 1e9, ratio = (double)n / m;
			assert_true(time >= 3 * ratio * (1 - 1e-9));
			assert_true(time <= 3 * ceil(ratio) * (1 + 1e-9));
			assert_true(time <= 3 * ratio * 1.06);
			assert_int_equal(result.migrations % 2, 0);
			if (n % m == 0)
				assert_int_equal(result.migrations, 0);
			assert_float_equal(result.busy, 3 * n / (m * time), 1e-6);
			/* The spread does not grow with the run. */
			assert_true(result.lag_ns < 10e7);
			machine.params.phase_ns *= 5;
			assert_true(run(&machine).lag_ns < 10e7);
		}
}

/* Domains of today's size, with one thread too many, also with the daemon's margin, compared with
 * which the lead of so many threads is small. */
static void test_large_domains(void **unused)
{
	static const struct {
		uint32_t n, m;
	} cases[] = {{27, 26}, {33, 32}, {65, 64}, {35, 17}, {40, 13}};
	struct machine machine;
	(void)unused;

	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		begin(&machine, cases[k].n, cases[k].m, JUGGLE);
		machine.params.phases = 3;
		machine.params.period_ns = 10 * MS;
		assert_true(time_s(&machine) <= 3 * 1.06 * cases[k].n / cases[k].m);
		machine.params.period_ns = 2 * MS;
		machine.params.margin_ns = (int64_t)MS / 2;
		assert_true(time_s(&machine) <= 3 * 1.06 * cases[k].n / cases[k].m);
	}
}

/* CPUs of three speeds: the middle one must not count as fast because one is very slow, nor as slow
 * for ever because one is very fast. */
static void test_three_speeds(void **unused)
{
	const struct threads_load loads[] = {{.share = 0.8}};
	struct machine machine;
	(void)unused;

	begin(&machine, 17, 8, JUGGLE);
	machine.params.phases = 10;
	machine.params.period_ns = 10 * MS;
	machine.cpu[7].load = loads;
	machine.cpu[7].loads = 1;
	assert_true(time_s(&machine) <= 10 * 1.06 * 17 / 7.2);
	begin(&machine, 12, 8, JUGGLE);
	machine.params.phases = 10;
	machine.params.period_ns = 10 * MS;
	machine.params.by_work = true;
	for (size_t j = 0; j < 4; j++)
		machine.cpu[j].speed = 0.5;
	machine.cpu[4].speed = 2;
	assert_true(time_s(&machine) <= 10 * 1.25 * 12 / 7.0);
}

/* Slices, ticks and the cost of moves: less gain than ideal, but some. */
static void test_kernel(void **unused)
{
	struct machine machine;
	(void)unused;

	begin(&machine, 8, 7, JUGGLE);
	machine.params.phase_ns = 5 * S;
	double exact = time_s(&machine);
	machine.params.slice_ns = 3 * MS;
	machine.params.tick_ns = 4 * MS;
	double coarse = time_s(&machine);
	assert_true(coarse < 7 && coarse >= 5 * 8 / 7.0 * (1 - 1e-9));
	assert_true(exact < 1.01 * 5 * 8 / 7.0);
	/* Two threads on a CPU with slices of 3 ms come to 1 s of work each at the end. */
	begin(&machine, 2, 1, PINNED);
	machine.params.slice_ns = 3 * MS;
	assert_float_equal(time_s(&machine), 2, 1e-9);
	/* Each move costs at most this much per thread and point. */
	begin(&machine, 8, 7, JUGGLE);
	machine.params.phase_ns = 5 * S;
	machine.params.migration_ns = 1 * MS;
	double moving = time_s(&machine);
	assert_true(moving > exact * 1.01 && moving < exact * 1.1);
	machine.params.migration_ns = 0;
	machine.params.point_ns = 1 * MS;
	double pointing = time_s(&machine);
	assert_true(pointing > exact * 1.005 && pointing < exact * 1.1);
	machine.params.tick_ns = 10 * MS;
	assert_true(time_s(&machine) < 10);
}

/* The shorter a slice, the less it matters. In the limit it does not matter at all, however often
 * threads block, wake and are moved to CPUs whose own threads are at the barrier. */
static void test_short_slices(void **unused)
{
	static const struct {
		uint32_t n, m;
	} cases[] = {{3, 2}, {7, 4}, {9, 8}, {16, 12}};
	struct machine machine;
	(void)unused;

	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
		for (int balancer = PINNED; balancer <= JUGGLE; balancer++)
			for (int barrier = THREADS_BLOCK; barrier <= THREADS_SPIN; barrier++) {
				begin(&machine, cases[k].n, cases[k].m, balancer);
				machine.params.barrier = barrier;
				machine.params.phase_ns = 20 * MS;
				machine.params.period_ns = 1 * MS;
				machine.params.phases = 5;
				double finest = time_s(&machine);
				machine.params.slice_ns = MS / 50;
				assert_float_equal(time_s(&machine) / finest, 1, 0.01);
				machine.params.slice_ns = 0;
				machine.params.imbalance = 0.5;
				finest = time_s(&machine);
				machine.params.slice_ns = MS / 50;
				/* juggle's decisions can depend on the smallest difference. */
				double within = balancer == JUGGLE ? 0.1 : 0.01;
				assert_float_equal(time_s(&machine) / finest, 1, within);
			}
}

/* A thread that yields gets nothing while another computes, and does not make up for it in the next
 * phase: at any time two threads on a CPU are where they are with the finest slices. */
static void test_yield_is_for_good(void **unused)
{
	struct machine machine;
	struct threads_sim *finest, *sliced;
	struct threads_view a, b;
	bool ended = false;
	(void)unused;

	begin(&machine, 2, 1, PINNED);
	machine.params.barrier = THREADS_YIELD;
	machine.params.imbalance = 0.5;
	machine.params.phase_ns = 20 * MS;
	machine.params.phases = 10;
	assert_int_equal(threads_new(&finest, &machine.params), 0);
	machine.params.slice_ns = MS / 50;
	assert_int_equal(threads_new(&sliced, &machine.params), 0);
	for (uint64_t until = MS; !ended; until += MS) {
		ended = threads_run(finest, until);
		threads_run(sliced, until);
		for (uint32_t i = 0; i < 2; i++) {
			assert_true(threads_look(finest, i, &a) && threads_look(sliced, i, &b));
			assert_float_equal(a.progress_ns, b.progress_ns, 0.1e6);
		}
	}
	threads_free(finest);
	threads_free(sliced);
}

/* A moved thread shares the new CPU at once: it does not wait for the others to catch up, nor do
 * they for it. 3 on 2: in the first second one thread is alone, in the second another. */
static void test_moved_thread_joins(void **unused)
{
	struct machine machine;
	struct threads_sim *sim;
	struct threads_view view;
	double sum = 0;
	(void)unused;

	begin(&machine, 3, 2, IDEAL);
	machine.params.phase_ns = 10 * S;
	machine.params.period_ns = 1 * S;
	machine.params.slice_ns = 10 * MS;
	assert_int_equal(threads_new(&sim, &machine.params), 0);
	assert_false(threads_run(sim, 2 * S));
	for (uint32_t i = 0; threads_look(sim, i, &view); i++) {
		bool fair = fabs(view.progress_ns - 1.5e9) < 0.02e9 ||
			    fabs(view.progress_ns - 1e9) < 0.02e9;
		assert_true(fair);
		sum += view.progress_ns;
	}
	assert_float_equal(sum, 4e9, 1);
	assert_false(threads_look(sim, 3, &view));
	threads_free(sim);
}

/* When a tick is longer than a period, what is seen of a thread with its own CPU is old. Threads
 * come further apart, but only by a few ticks, since what a thread ran before it was moved does not
 * count as the speed of its new CPU. */
static void test_ticks(void **unused)
{
	struct machine machine;
	(void)unused;

	begin(&machine, 9, 8, JUGGLE);
	machine.params.phase_ns = 5 * S;
	machine.params.period_ns = 4 * MS;
	machine.params.margin_ns = (int64_t)MS / 2;
	struct threads_result exact = run(&machine);
	machine.params.tick_ns = 10 * MS;
	struct threads_result stale = run(&machine);
	assert_true(stale.lag_mean_ns > 1.5 * exact.lag_mean_ns);
	assert_true(stale.lag_ns < 15e6);
	assert_true(stale.migrations < exact.migrations);
}

/* n = 3 and m = 2 with all kinds of barriers: no difference when pinned, and all gain when
 * balanced. */
static void test_barriers(void **unused)
{
	struct machine machine;
	(void)unused;

	for (int barrier = THREADS_BLOCK; barrier <= THREADS_SPIN; barrier++)
		for (uint64_t slice = 0; slice <= 3 * MS; slice += 3 * MS) {
			begin(&machine, 3, 2, PINNED);
			machine.params.barrier = barrier;
			machine.params.phases = 20;
			machine.params.slice_ns = slice;
			double pinned = time_s(&machine);
			assert_float_equal(pinned, 40, 0.1);
			set_balancer(&machine, JUGGLE);
			double time = time_s(&machine);
			assert_true(time < 0.82 * pinned && time >= 30 * (1 - 1e-9));
		}
	/* When one CPU has one thread more than the other, a spinning thread takes time from those
	 * that compute beside it, if their work differs. */
	begin(&machine, 3, 2, PINNED);
	machine.params.imbalance = 0.5;
	machine.params.phases = 20;
	double block = time_s(&machine);
	machine.params.barrier = THREADS_YIELD;
	assert_float_equal(time_s(&machine), block, 1e-6);
	machine.params.barrier = THREADS_SPIN;
	assert_true(time_s(&machine) > 1.05 * block);
}

/* Section 2.4: split, each domain is by itself: 9 threads on 4 and 4 CPUs are 5 and 4. */
static void test_domains(void **unused)
{
	struct machine machine;
	(void)unused;

	begin(&machine, 9, 8, JUGGLE);
	machine.params.domains = 2;
	for (uint32_t j = 0; j < 8; j++)
		machine.cpu[j].domain = j / 4;
	machine.params.phase_ns = 4 * S;
	assert_float_equal(time_s(&machine), 4 * 5 / 4.0, 0.1);
	set_balancer(&machine, IDEAL);
	assert_float_equal(time_s(&machine), 4 * 5 / 4.0, 0.05);
	machine.params.joint = true;
	assert_float_equal(time_s(&machine), 4 * 9 / 8.0, 0.05);
	set_balancer(&machine, JUGGLE);
	double joint = time_s(&machine);
	assert_float_equal(joint, 4 * 9 / 8.0, 0.1);
	/* Threads are slower away from where they began. */
	machine.params.remote = 0.5;
	double remote = time_s(&machine);
	assert_true(remote > 1.05 * joint && remote < 1.5 * joint + 1e-6);
}

/* A domain can have more CPUs than threads, or no thread at all. */
static void test_empty_domains(void **unused)
{
	struct machine machine;
	(void)unused;

	for (uint32_t n = 1; n <= 3; n++)
		for (int balancer = PINNED; balancer <= JUGGLE; balancer++) {
			begin(&machine, n, 4, balancer);
			machine.params.domains = 4;
			for (uint32_t j = 0; j < 4; j++)
				machine.cpu[j].domain = j;
			assert_float_equal(time_s(&machine), 1, 1e-9);
		}
}

/* Other work, all the time or part of it. */
static void test_loads(void **unused)
{
	const struct threads_load half = {.share = 0.5};
	const struct threads_load later[] = {{.from_ns = S / 2, .share = 0.75}, {.from_ns = S}};
	struct machine machine;
	(void)unused;

	begin(&machine, 2, 2, PINNED);
	machine.cpu[0].load = &half;
	machine.cpu[0].loads = 1;
	assert_float_equal(time_s(&machine), 2, 1e-8);
	machine.cpu[0].load = later;
	machine.cpu[0].loads = 2;
	assert_float_equal(time_s(&machine), 1 + 0.375, 1e-8);
	/* Two threads take turns on the CPU that other work slows down: 2 / 1.5. */
	begin(&machine, 2, 2, JUGGLE);
	machine.cpu[0].load = &half;
	machine.cpu[0].loads = 1;
	machine.params.phase_ns = 4 * S;
	assert_float_equal(time_s(&machine), 4 * 2 / 1.5, 0.1);
	/* For good: that thread never ends, but others do. */
	const struct threads_load all = {.share = 1};
	struct threads_sim *sim;
	set_balancer(&machine, PINNED);
	machine.cpu[0].load = &all;
	assert_int_equal(threads_new(&sim, &machine.params), 0);
	assert_false(threads_run(sim, 100 * S));
	assert_float_equal(threads_done(sim), 0.5, 1e-9);
	threads_free(sim);
}

/* CPU time does not show that a CPU is slow; work does, and so do speeds that are known. */
static void test_speeds(void **unused)
{
	struct machine machine;
	(void)unused;

	begin(&machine, 4, 4, PINNED);
	machine.cpu[3].speed = 0.5;
	machine.params.phase_ns = 4 * S;
	machine.params.untold = true;
	double pinned = time_s(&machine);
	assert_float_equal(pinned, 8, 1e-8);
	set_balancer(&machine, JUGGLE);
	assert_float_equal(time_s(&machine), pinned, 1e-8);
	machine.params.untold = false;
	assert_float_equal(time_s(&machine), 4 * 4 / 3.5, 0.2);
	machine.params.untold = true;
	machine.params.by_work = true;
	assert_float_equal(time_s(&machine), 4 * 4 / 3.5, 0.2);
	/* Without --always, that has to be found out first. */
	machine.params.always = false;
	machine.params.phases = 5;
	assert_float_equal(time_s(&machine), 5 * 4 * 4 / 3.5, 1);
	machine.params.barrier = THREADS_BLOCK;
	assert_float_equal(time_s(&machine), 5 * 4 * 4 / 3.5, 1);
}

static void test_seed(void **unused)
{
	struct machine machine;
	(void)unused;

	begin(&machine, 7, 4, JUGGLE);
	machine.params.imbalance = 0.3;
	machine.params.jitter = 0.1;
	machine.params.phases = 10;
	machine.params.slice_ns = 3 * MS;
	machine.params.tick_ns = 4 * MS;
	struct threads_result a = run(&machine), b = run(&machine);
	assert_int_equal(a.time_ns, b.time_ns);
	assert_int_equal(a.migrations, b.migrations);
	machine.params.seed = 2;
	assert_int_not_equal(run(&machine).time_ns, a.time_ns);
}

/* Very short phases after a long time: rounding must not stop it. */
static void test_short_phases(void **unused)
{
	struct machine machine;
	(void)unused;

	begin(&machine, 3, 2, JUGGLE);
	machine.params.phase_ns = 3;
	machine.params.phases = 20000;
	machine.params.period_ns = 1000;
	machine.params.slice_ns = 7;
	assert_true(run(&machine).time_ns <= 2 * 3 * 20000 + 7);
	const struct threads_load late = {.share = 0, .from_ns = UINT64_C(1) << 60};
	machine.cpu[0].load = &late;
	machine.cpu[0].loads = 1;
	assert_true(run(&machine).time_ns <= 2 * 3 * 20000 + 7);
}

static void test_invalid(void **unused)
{
	const struct threads_load bad_share = {.share = 1.5};
	struct machine machine[15];
	struct threads_sim *sim;
	(void)unused;

	for (size_t i = 0; i < 15; i++)
		begin(&machine[i], 3, 2, JUGGLE);
	assert_int_equal(threads_new(&sim, &machine[0].params), 0);
	threads_free(sim);
	threads_free(NULL);
	machine[0].params.threads = 0;
	machine[1].params.cpus = 0;
	machine[2].params.domains = 0;
	machine[3].params.domains = 2; /* empty */
	machine[4].cpu[1].domain = 1;
	machine[5].cpu[1].speed = 0;
	machine[6].cpu[1].speed = NAN;
	machine[7].params.phase_ns = 0;
	machine[8].params.phases = 0;
	machine[9].params.period_ns = 0;
	machine[10].params.imbalance = 1;
	machine[11].params.jitter = 1;
	machine[12].params.point_ns = machine[12].params.period_ns;
	machine[13].params.remote = -1;
	machine[14].cpu[0].load = &bad_share;
	machine[14].cpu[0].loads = 1;
	for (size_t i = 0; i < 15; i++)
		assert_int_equal(threads_new(&sim, &machine[i].params), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ideal),
		cmocka_unit_test(test_late_kernel),
		cmocka_unit_test(test_static_and_reactive),
		cmocka_unit_test(test_juggle),
		cmocka_unit_test(test_large_domains),
		cmocka_unit_test(test_three_speeds),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_short_slices),
		cmocka_unit_test(test_yield_is_for_good),
		cmocka_unit_test(test_moved_thread_joins),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_barriers),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_empty_domains),
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_short_phases),
		cmocka_unit_test(test_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
