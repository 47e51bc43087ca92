/* SPDX-License-Identifier: MIT */
/* What stat prints of made-up samples: text, CSV, JSON, orders, and unknown values. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprogress/progress.h"
#include "tools/stat/csv.h"
#include "tools/stat/metrics.h"
#include "tools/stat/record.h"
#include "tools/stat/text.h"
#include "tools/table/format.h"

#define MS UINT64_C(1000000)

enum { THREADS = 5, SUBDOMAINS = 4, OUTPUT_BYTES = 1 << 20 };

/* Two ranks with two workers each under juggle, and a launcher's thread; the second rank's segment
 * cannot be read. */
struct world {
	struct live_sample sample;
	struct live_cpu cpu[2];
	struct live_thread thread[THREADS];
	struct live_process process[2];
	struct progress_subdomain_view subdomain[SUBDOMAINS];
	double updates_per_s[SUBDOMAINS];
};

static void make_thread(struct live_thread *thread, int i)
{
	*thread = (struct live_thread){
		.tid = 4711 + i,
		.pid = 4711 + i / 2 * 2,
		.comm = "jacobi",
		.rank = i < 4 ? i / 2 : -1,
		.os_cpu = i % 2,
		.placed = i < 4,
		.compute = i < 4,
		.domain = i < 4 ? 0 : -1,
		.since_ns = 345 * MS,
		.progress_ns = (uint64_t)(1000 + i) * MS,
		.migrations = (uint64_t)i * 7,
		.process = i < 4 ? i / 2 : -1,
		.worker = i < 2 ? i : -1,
		.updates = 100,
		.share = 0.5 + 0.1 * i,
		.wait_share = 0.25,
		.lead_s = i < 4 ? (i - 1.5) * 1e-3 : NAN,
		.updates_per_s = i < 2 ? 1.2e6 : NAN,
	};
}

static void make_subdomains(struct world *world)
{
	for (uint32_t i = 0; i < SUBDOMAINS; i++) {
		world->subdomain[i] = (struct progress_subdomain_view){
			.updates = 100 + 10 * i, .iteration = 7, .residual = 1e-4 * i, .owner = 0};
		world->updates_per_s[i] = 1000 - i;
	}
	world->subdomain[0].residual = NAN;
	world->subdomain[1].holder = 1;
	world->subdomain[2].owner = UINT32_MAX;
	world->subdomain[3].holder = UINT32_MAX; /* an empty place */
}

static void make_processes(struct world *world)
{
	world->process[0] = (struct live_process){
		.pid = 4711,
		.rank = 0,
		.command = "jacobi, \"quoted\"",
		.workers = 2,
		.subdomains = SUBDOMAINS,
		.asked = PROGRESS_BALANCE_JOINT,
		.balancer_pid = 999,
		.points = 12,
		.moves = 3,
		.worker = NULL,
		.subdomain = world->subdomain,
		.held = 3,
		.least = 100,
		.most = 120,
		.mean = 110,
		.spread = 20,
		.iteration_rate = 150,
		.moves_per_s = 0.5,
		.updates_per_s = world->updates_per_s,
	};
	world->process[1] = (struct live_process){.pid = 4713, .rank = 1, .error = -EBADMSG};
}

static void make(struct world *world)
{
	memset(world, 0, sizeof(*world));
	for (int i = 0; i < THREADS; i++)
		make_thread(&world->thread[i], i);
	make_subdomains(world);
	make_processes(world);
	world->cpu[0] = (struct live_cpu){.speed = 1};
	world->cpu[1] = (struct live_cpu){.os_cpu = 1, .threads = 2, .speed = 1};
	world->sample = (struct live_sample){
		.now_ns = 12345 * MS,
		.start_ns = 345 * MS,
		.command = "mpirun -n 2 jacobi",
		.wrapped = true,
		.juggle_pid = 4700,
		.job_pid = 4701,
		.balancing = true,
		.reason = "trials: balancing keeps the CPUs busier",
		.policy = "juggle",
		.sampler = "schedstat",
		.balancers = "domain",
		.domains = "split",
		.speeds_from = "CPPC",
		.period_ns = 10 * MS,
		.way = {{true, POLICY_REASON_FASTER, 9000 * MS},
			{false, POLICY_REASON_TRIAL, 2900 * MS},
			{false, POLICY_REASON_FEW, 100 * MS}},
		.ways = 3,
		.pace = {[POLICY_PACE_ASIDE] = {3000 * MS, 20 * MS, 20 * MS},
			[POLICY_PACE_UNKNOWN] = {1000 * MS, 10 * MS, 10 * MS},
			[POLICY_PACE_YIELDS] = {8000 * MS, 2 * MS, 8 * MS}},
		.phase_ns = 15 * MS,
		.point_ns = 58000,
		.idle_threads = 1,
		.cycles = 1200,
		.migrations = 42,
		.cycle_median_ns = 8100,
		.cycle_p99_ns = 20000,
		.cycle_max_ns = 90000,
		.cpu = world->cpu,
		.cpus = 2,
		.thread = world->thread,
		.threads = THREADS,
		.compute_threads = 4,
		.process = world->process,
		.processes = 2,
		.workers = 2,
		.subdomains = 3,
		.spread = 20,
		.interval_s = 0.5,
		.cycles_per_s = 100,
		.migrations_per_s = 3.5,
		.balancer_share = 0.0042,
		.thread_spread_s = 0.003,
		.iteration_rate = 150,
		.moves_per_s = 0.5,
	};
}

/* ---- Texts ---- */

struct output {
	char *text;
	size_t bytes;
	FILE *file;
};

static void begin(struct output *output)
{
	output->file = open_memstream(&output->text, &output->bytes);
	assert_non_null(output->file);
}

/* The caller frees it. No line is wider than a terminal or ends with a blank. */
static char *finish(struct output *output)
{
	assert_int_equal(fclose(output->file), 0);
	for (const char *line = output->text; *line != '\0';) {
		size_t bytes = strcspn(line, "\n");
		if ((size_t)format_cut(line, TEXT_COLUMNS) < bytes ||
			(bytes > 0 && line[bytes - 1] == ' '))
			fail_msg("'%.*s'", (int)bytes, line);
		line += bytes + (line[bytes] == '\n');
	}
	return output->text;
}

static char *table_text(const struct sample_table *table, const struct live_sample *sample,
	enum sample_order order, size_t most)
{
	struct output output;

	begin(&output);
	assert_int_equal(text_table(output.file, table, sample, order, most, "--more"), 0);
	return finish(&output);
}

static void check(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

static void test_threads(void **state)
{
	struct world world;

	(void)state;
	make(&world);
	/* The pid is left out for lack of space, and the name is cut. */
	check(table_text(&sample_threads, &world.sample, ORDER_RANK, SIZE_MAX),
		"\n"
		"rank   TID CPU state  CPU s CPU % wait % lead ms  moves worker upd./s name\n"
		"   0  4711   0 behind  1.00  50.0   25.0   -1.50      0      0  1.20M jacobi\n"
		"   0  4712   1 behind  1.00  60.0   25.0   -0.50      7      1  1.20M jacobi\n"
		"   1  4713   0 ahead   1.00  70.0   25.0   +0.50     14      -      - jacobi\n"
		"   1  4714   1 ahead   1.00  80.0   25.0   +1.50     21      -      - jacobi\n"
		"   -  4715   0 idle    1.00  90.0   25.0       -     28      -      - jacobi\n");
}

static void make_phases(struct world *world)
{
	for (int i = 0; i < 2; i++) {
		world->thread[i].told = true;
		world->thread[i].arrivals = 1200;
		world->thread[i].useful_ns = 900 * MS;
		world->thread[i].waited_ns = 100 * MS;
		world->thread[i].phases_per_s = 120;
		world->thread[i].waited_share = 0.1 * (i + 1);
	}
	world->sample.site[0] = (struct live_site){"barrier in jacobi+0x12", 1000, 800 * MS};
	memset(world->sample.site[1].name, 'x', sizeof world->sample.site[1].name - 1);
	world->sample.site[1].waited_ns = 200 * MS;
	world->sample.site[2] = (struct live_site){"MPI_Wait in jacobi+0x34", 1, 1 * MS};
	world->sample.sites = 3;
	world->sample.efficiency = (struct efficiency){.threads = 2,
		.load_balance = 0.8,
		.communication_efficiency = 0.5,
		.parallel_efficiency = 0.4,
		.useful_share = 0.6,
		.lost_s = 1.5,
		.lost_share = 0.35,
		.phases = 1200,
		.phase_s = 0.00833,
		.work_s = 0.004,
		.waiting = 0.15};
	world->sample.verdict = WORTH_JUGGLE;
	snprintf(world->sample.advice, sizeof world->sample.advice, "%s",
		"juggle would bring up to 1.33 times the speed: 35 % of the CPUs' time was lost "
		"in waits. A multiple of 2 threads (--fit) needs no turns.");
}

/* Where runtimes tell of phases. */
static void test_phases(void **state)
{
	struct world world;
	struct output output;

	(void)state;
	make(&world);
	make_phases(&world);
	char *text = table_text(&sample_threads, &world.sample, ORDER_RANK, SIZE_MAX);
	assert_non_null(strstr(text, " moves worker upd./s sync % name\n"));
	assert_non_null(strstr(text, "   20.0 jacobi\n"));
	assert_non_null(strstr(text, "      - jacobi\n"));
	free(text);
	begin(&output);
	text_head(output.file, &world.sample, true);
	text = finish(&output);
	assert_non_null(strstr(text, "  phases      1200 of 8.33 ms (120/s)\n"
				     "  waits       79.9 % barrier in jacobi+0x12\n"
				     "              20.0 % xxxxx"));
	assert_null(strstr(text, "MPI_Wait")); /* too little */
	assert_non_null(strstr(text,
		"  efficiency  0.400: load balance 0.800, communication 0.500; CPUs 0.600\n"
		"  lost        1.50 s of CPU time in waits (35.0 %)\n"
		"  advice      juggle would bring up to 1.33 times the speed: 35 % of the CPUs'\n"
		"              time was lost in waits. A multiple of 2 threads (--fit) needs no\n"
		"              turns.\n"));
	free(text);
	/* A dead balancer has nothing to say; and why nobody tells is said. */
	world.sample.lost = true;
	snprintf(world.sample.not_told, sizeof world.sample.not_told, "the program is static");
	begin(&output);
	text_head(output.file, &world.sample, true);
	text = finish(&output);
	assert_null(strstr(text, "efficiency"));
	assert_non_null(strstr(text, "  phases      not told: the program is static\n"));
	free(text);
}

static void test_order(void **state)
{
	struct world world;
	struct sample_row *row;
	size_t n;

	(void)state;
	make(&world);
	world.thread[2].lead_s = -7;
	assert_int_equal(sample_rows(&sample_threads, &world.sample, 0, ORDER_LEAD, &row, &n), 0);
	const size_t by_lead[] = {2, 0, 1, 3, 4}; /* an idle thread's is unknown */
	assert_int_equal(n, THREADS);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(row[i].index, by_lead[i]);
	free(row);
	assert_int_equal(sample_rows(&sample_threads, &world.sample, 0, ORDER_MOVES, &row, &n), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(row[i].index, THREADS - 1 - i);
	free(row);
	assert_int_equal(sample_rows(&sample_threads, &world.sample, 0, ORDER_CPU, &row, &n), 0);
	const size_t by_cpu[] = {0, 2, 4, 1, 3};
	for (size_t i = 0; i < n; i++)
		assert_int_equal(row[i].index, by_cpu[i]);
	free(row);
}

/* The furthest behind first; an empty place is not a subdomain. */
static void test_subdomains(void **state)
{
	struct world world;

	(void)state;
	make(&world);
	check(table_text(&sample_subdomains, &world.sample, ORDER_LEAD, SIZE_MAX),
		"\n"
		"rank subdomain updates upd./s    lag iteration  residual owner holder moving\n"
		"   0         0     100   1000   10.0         7         -     0      0\n"
		"   0         1     110    999      0         7  1.00e-04     0      1 yes\n"
		"   0         2     120    998  -10.0         7  2.00e-04     -      0 -\n");
}

static void test_cut(void **state)
{
	struct world world;
	char *text;

	(void)state;
	make(&world);
	text = table_text(&sample_threads, &world.sample, ORDER_RANK, 2);
	assert_non_null(strstr(text, "jacobi\n... 3 more threads (--more)\n"));
	free(text);
	text = table_text(&sample_compute_threads, &world.sample, ORDER_RANK, 20);
	assert_null(strstr(text, "idle"));
	assert_null(strstr(text, "more"));
	free(text);
	world.sample.threads = 0;
	check(table_text(&sample_threads, &world.sample, ORDER_RANK, 2), "\nNo threads.\n");
}

static void test_processes(void **state)
{
	struct world world;
	struct output output;

	(void)state;
	make(&world);
	char *text = table_text(&sample_processes, &world.sample, ORDER_RANK, SIZE_MAX);
	assert_non_null(strstr(text, "\n   0  4711       2     3 joint juggle"));
	assert_non_null(strstr(text, "\n   1  4713       -     - -"));
	free(text);
	begin(&output);
	text_troubles(output.file, &world.sample, 20);
	check(finish(&output), "\nrank 1, process 4713: its segment is damaged\n");
	begin(&output);
	text_troubles(output.file, &world.sample, 0);
	check(finish(&output), "... 1 more that cannot be read\n");
}

static void test_who_balances(void **state)
{
	static const struct {
		pid_t pid;
		uint64_t points;
		bool wrapped;
		const char *text;
	} examples[] = {{0, 0, true, "nobody"}, {0, 5, false, "itself"}, {4711, 0, false, "itself"},
		{999, 5, true, "juggle"}, {999, 5, false, "other"}};
	struct world world;

	(void)state;
	make(&world);
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		world.process[0].balancer_pid = examples[i].pid;
		world.process[0].points = examples[i].points;
		world.sample.wrapped = examples[i].wrapped;
		char *text = table_text(&sample_processes, &world.sample, ORDER_RANK, 1);
		assert_non_null(strstr(text, examples[i].text));
		free(text);
	}
}

static void test_head(void **state)
{
	struct world world;
	struct output output;

	(void)state;
	make(&world);
	begin(&output);
	text_head(output.file, &world.sample, true);
	check(finish(&output),
		"mpirun -n 2 jacobi\n"
		"  processes   juggle 4700 around 4701, for 12s\n"
		"  state       balances: trials: balancing keeps the CPUs busier\n"
		"  so far      balanced 9 s: trials: balancing keeps the CPUs busier\n"
		"              aside 2.90 s: a trial\n"
		"  policy      juggle, domains split, sampler schedstat\n"
		"  period      10 ms: no sign of phases\n"
		"  period      2 ms to 8 ms: by phases, seen by yields\n"
		"              last for phases of 15 ms, and points of 58 us\n"
		"  its cost    0.42 % of a CPU; a point 8.10 us (p99 20 us, max 90 us)\n"
		"  points      1200 (100/s), 42 moves (3.50/s)\n"
		"  threads     4 compute, 1 idle, on 2 CPUs; spread 3 ms\n"
		"  subdomains  3 of 2 workers, spread 20, 150 iterations/s, 0.50 moves/s\n"
		"  averages    since the start\n");
}

/* Speeds, stolen time and quotas are shown where they say something. */
static void test_slow_cpus(void **state)
{
	struct world world;
	struct output output;

	(void)state;
	make(&world);
	check(table_text(&sample_cpus, &world.sample, ORDER_RANK, SIZE_MAX),
		"\nCPU domain threads\n  0      0       0\n  1      0       2\n");
	world.cpu[1].speed = 0.55;
	check(table_text(&sample_cpus, &world.sample, ORDER_RANK, SIZE_MAX),
		"\nCPU domain threads speed\n  0      0       0  1.00\n  1      0       2  0.55\n");
	world.cpu[0].stolen = 0.06;
	check(table_text(&sample_cpus, &world.sample, ORDER_RANK, SIZE_MAX),
		"\nCPU domain threads speed stolen %\n"
		"  0      0       0  1.00     6.00\n  1      0       2  0.55        0\n");
	world.sample.quota_cpus = 1.5;
	world.sample.throttled_ns = 2500 * MS;
	begin(&output);
	text_head(output.file, &world.sample, true);
	char *text = finish(&output);
	assert_non_null(
		strstr(text, "spread 3 ms\n"
			     "  CPUs        speeds 0.55 to 1, by CPPC; 3.00 % of their time "
			     "stolen\n"
			     "  quota       1.50 CPUs; throttled for 2.50 s so far\n"));
	free(text);
	/* One that is not known is not slow. */
	world.cpu[1].speed = NAN;
	world.cpu[0].stolen = 0;
	world.sample.quota_cpus = 0;
	begin(&output);
	text_head(output.file, &world.sample, true);
	text = finish(&output);
	assert_null(strstr(text, "speeds"));
	assert_non_null(strstr(text, "\n  quota       throttled for 2.50 s so far\n"));
	free(text);
}

/* The cells without juggle, and the unknown ones. */
static void test_head_unwrapped(void **state)
{
	struct world world;
	struct output output;

	(void)state;
	make(&world);
	memset(world.sample.command, 'x', 200);
	world.sample.wrapped = false;
	world.sample.iteration_rate = world.sample.moves_per_s = NAN;
	world.sample.thread_spread_s = NAN;
	world.sample.start_ns = world.sample.now_ns + 1; /* the clocks of hostile segments */
	begin(&output);
	text_head(output.file, &world.sample, false);
	char *text = finish(&output);
	assert_non_null(strstr(text, "xxx...\n  processes   2 processes, for -, without juggle\n"));
	assert_non_null(strstr(text, "\n  threads     4 compute\n"));
	assert_non_null(strstr(text, "\n  subdomains  3 of 2 workers, spread 20\n"));
	assert_non_null(strstr(text, "\n  averages    of the last 500 ms\n"));
	free(text);
}

static void test_interval(void **state)
{
	struct world world;
	struct output output;

	(void)state;
	make(&world);
	begin(&output);
	text_interval_titles(output.file);
	text_interval(output.file, &world.sample);
	check(finish(&output), "        ------------------threads------------------ juggle "
			       "-----subdomains------\n"
			       " time s count ahead behind spread ms  CPU % moves/s  CPU %  it./s "
			       "spread moves/s\n"
			       "   12.0     4     2      2      3.00   65.0    3.50   0.42    150 "
			       "    20    0.50\n");
	world.sample.wrapped = false;
	world.sample.subdomains = 0;
	world.sample.iteration_rate = world.sample.moves_per_s = NAN;
	begin(&output);
	text_interval(output.file, &world.sample);
	check(finish(&output), "   12.0     4     2      2      3.00   65.0       -      -      - "
			       "     -       -\n");
}

/* A dead balancer no longer counts: its threads' shares are not 0, but unknown. */
static void test_lost(void **state)
{
	struct world world;
	struct output output;

	(void)state;
	make(&world);
	world.sample.lost = true;
	begin(&output);
	text_interval(output.file, &world.sample);
	check(finish(&output), "   12.0     4     2      2      3.00      -       -      -    150  "
			       "   20    0.50\n");
	char *text = table_text(&sample_threads, &world.sample, ORDER_RANK, SIZE_MAX);
	assert_null(strstr(text, "CPU %"));
	assert_null(strstr(text, "wait %"));
	free(text);
	begin(&output);
	text_head(output.file, &world.sample, true);
	text = finish(&output);
	assert_non_null(strstr(text, "\n  state       lost: "));
	assert_non_null(strstr(text, "\n  points      1200, 42 moves\n"));
	free(text);
}

/* Whatever is in a sample, lines fit, and nothing is negative that can't be. */
static void test_absurd(void **state)
{
	struct world world;
	struct output output;

	(void)state;
	make(&world);
	for (int i = 0; i < THREADS; i++) {
		struct live_thread *thread = &world.thread[i];
		thread->pid = thread->tid = thread->rank = thread->os_cpu = thread->worker =
			INT32_MAX;
		thread->progress_ns = thread->wait_ns = thread->migrations = UINT64_MAX;
		thread->share = -1e300, thread->wait_share = INFINITY, thread->lead_s = -1e300;
		thread->updates_per_s = 1e300;
		memset(thread->comm, 'n', LIVE_COMM_BYTES - 1);
	}
	world.sample.cycles_per_s = world.sample.migrations_per_s = -1;
	world.sample.balancer_share = world.sample.iteration_rate = 1e300;
	world.sample.migrations = world.sample.cycles = world.sample.spread = UINT64_MAX;
	world.sample.start_ns = UINT64_MAX;
	char *text = table_text(&sample_threads, &world.sample, ORDER_LEAD, SIZE_MAX);
	assert_non_null(strstr(text, "nnnnn"));
	free(text);
	begin(&output);
	text_interval(output.file, &world.sample);
	check(finish(&output), "      -     4     0      4      3.00      -       -  >999E  >999E "
			       "     -    0.50\n");
}

/* Wide names, and characters of several bytes, are cut at characters. */
static void test_utf8(void **state)
{
	struct world world;
	char *text;

	(void)state;
	make(&world);
	for (int i = 0; i < 16; i++)
		memcpy(&world.thread[0].comm[2 * i], "\xc3\xa4", 3);
	world.sample.threads = 1;
	text = table_text(&sample_threads, &world.sample, ORDER_RANK, 1);
	size_t bytes = strlen(text);
	assert_memory_equal(text + bytes - 5, "\xc3\xa4\xc3\xa4\n", 5);
	free(text);
}

/* ---- CSV and JSON ---- */

static char *csv_text(const struct sample_table *table, const struct live_sample *sample)
{
	struct output output;

	begin(&output);
	csv_keys(output.file, table);
	assert_int_equal(csv_rows(output.file, table, sample, 1234, ORDER_RANK), 0);
	assert_int_equal(fclose(output.file), 0);
	return output.text;
}

static void test_csv(void **state)
{
	struct world world;
	char *text;

	(void)state;
	make(&world);
	text = csv_text(&sample_processes, &world.sample);
	assert_non_null(strstr(text, "unix_time_ms,rank,pid,workers,"));
	assert_non_null(strstr(text, "\n1234,0,4711,2,4,3,joint,juggle,999,12,3,0.5,"));
	assert_non_null(strstr(text, ",\"jacobi, \"\"quoted\"\"\"\n"));
	assert_non_null(strstr(text, "\n1234,1,4713,,,,,,,,,,,,,,,,,its segment is damaged,\n"));
	free(text);
	check(csv_text(&sample_cpus, &world.sample),
		"unix_time_ms,os_cpu,domain,threads,speed,stolen\n"
		"1234,0,0,0,1,0\n1234,1,0,2,1,0\n");
	world.cpu[0].speed = NAN;
	world.cpu[1].stolen = 0.125;
	check(csv_text(&sample_cpus, &world.sample),
		"unix_time_ms,os_cpu,domain,threads,speed,stolen\n"
		"1234,0,0,0,,0\n1234,1,0,2,1,0.125\n");
	text = csv_text(&sample_head, &world.sample);
	assert_non_null(strstr(
		text, "\n1234,12,0.5,mpirun -n 2 jacobi,true,4700,4701,false,false,balance,"));
	free(text);
}

static void test_json(void **state)
{
	const struct sample_table *const tables[] = {&sample_threads, &sample_subdomains};
	struct world world;

	(void)state;
	make(&world);
	json_t *json = record_json(tables, 2, &world.sample, 1234, ORDER_RANK);
	assert_non_null(json);
	assert_int_equal(json_integer_value(json_object_get(json, "unix_time_ms")), 1234);
	assert_string_equal(json_string_value(json_object_get(json, "regime")), "balance");
	json_t *threads = json_object_get(json, "thread");
	assert_int_equal(json_array_size(threads), THREADS);
	assert_true(json_is_null(json_object_get(json_array_get(threads, 4), "rank")));
	assert_true(json_is_null(json_object_get(json_array_get(threads, 4), "lead_s")));
	assert_true(json_is_false(json_object_get(json_array_get(threads, 4), "placed")));
	json_t *subdomains = json_object_get(json, "subdomain");
	assert_int_equal(json_array_size(subdomains), 3);
	json_t *first = json_array_get(subdomains, 0);
	assert_true(json_is_null(json_object_get(first, "residual")));
	assert_true(json_is_true(json_object_get(json_array_get(subdomains, 1), "moving")));
	assert_true(json_is_null(json_object_get(json_array_get(subdomains, 2), "owner")));
	assert_null(json_object_get(json, "progress"));
	json_decref(json);
}

/* In JSON and CSV each key occurs once. */
static char *metrics_text(enum metrics_format format, const struct live_sample *sample, size_t n)
{
	struct output output;

	begin(&output);
	metrics_print(output.file, format, sample, n);
	assert_int_equal(fclose(output.file), 0);
	return output.text;
}

static void test_metrics(void **state)
{
	struct world world;
	struct live_sample two[2];

	(void)state;
	make(&world);
	world.sample.uid = UINT32_MAX - 1; /* has no name */
	two[0] = two[1] = world.sample;
	snprintf(two[0].command, sizeof two[0].command, "sh -c \"a\\b\"");
	two[1].wrapped = false;
	two[1].thread_spread_s = NAN;
	two[0].efficiency =
		(struct efficiency){.threads = 3, .phase_s = INFINITY, .load_balance = 1};
	char *text = metrics_text(METRICS_OPENMETRICS, two, 2);
#define JOB_0 "{pid=\"4700\",user=\"4294967294\",command=\"sh -c \\\"a\\\\b\\\"\""
#define JOB_1 "{pid=\"4711\",user=\"4294967294\",command=\"mpirun -n 2 jacobi\""
	assert_non_null(strstr(text, "\njuggle_cpus" JOB_0 "} 2\n# TYPE juggle_threads gauge\n"));
	assert_non_null(strstr(text, "\njuggle_threads" JOB_0 ",state=\"compute\"} 4\n"
				     "juggle_threads" JOB_0 ",state=\"idle\"} 1\n"
				     "juggle_threads" JOB_1 ",state=\"compute\"} 4\n# TYPE"));
	assert_null(strstr(text, "juggle_thread_spread_seconds" JOB_1));
	assert_null(strstr(text, "\njuggle_phase_seconds{"));
	assert_non_null(strstr(text, "\njuggle_load_balance_ratio" JOB_0 "} 1\n#"));
	assert_non_null(strstr(text, "\n# TYPE juggle_regime_seconds counter\n"
				     "# UNIT juggle_regime_seconds seconds\n# HELP "));
	assert_non_null(strstr(text, "regime=\"aside\"} 3\n"));
	assert_non_null(strstr(text, "regime=\"balance\"} 9\n"));
	/* The second process can't be read. */
	assert_non_null(
		strstr(text, "\njuggle_subdomain_spread" JOB_0 ",rank=\"0\",process=\"4711\"} 20\n"
			     "juggle_subdomain_spread" JOB_1));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
	two[0].lost = true;
	text = metrics_text(METRICS_PROMETHEUS, two, 1);
	assert_non_null(strstr(text, "\njuggle_up" JOB_0 "} 0\n"));
	assert_null(strstr(text, "juggle_thread_spread_seconds{"));
	assert_non_null(
		strstr(text, "\n# TYPE juggle_moves_total counter\n# HELP juggle_moves_total "));
	assert_non_null(strstr(text, "\njuggle_moves_total" JOB_0 "} 42\n"));
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	free(text);
}

static void test_keys(void **state)
{
	const struct sample_table *const tables[] = {
		&sample_head, &sample_threads, &sample_processes, &sample_subdomains, &sample_cpus};

	(void)state;
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
		for (size_t i = 0; i < tables[t]->table.columns; i++) {
			const char *key = tables[t]->table.column[i].key;
			if (key == NULL) { /* only in text, and a comma must not begin a line */
				assert_non_null(tables[t]->table.column[i].title);
				assert_true(i > 0);
				continue;
			}
			assert_int_equal(
				strspn(key, "abcdefghijklmnopqrstuvwxyz_0123456789"), strlen(key));
			for (size_t k = 0; k < i; k++)
				if (tables[t]->table.column[k].key != NULL)
					assert_string_not_equal(
						key, tables[t]->table.column[k].key);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_subdomains),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_who_balances),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_slow_cpus),
		cmocka_unit_test(test_head_unwrapped),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_absurd),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
