/* SPDX-License-Identifier: MIT */
/* jugglectl doctor: what the rules conclude about made-up machines and commands. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/tools/doctor/facts.h"

/* ---- Rules on made-up facts ---- */

static void test_plain_machine(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	assert_int_equal(worst(s), DOCTOR_NOTE); /* taskstats needs privileges */
	s->sampler_error[SAMPLER_TASKSTATS] = 0;
	assert_int_equal(worst(s), DOCTOR_GOOD);
	/* Where nothing is known, nothing bad is reported; but the CPUs are known to be missing. */
	doctor_system_init(s);
	s->shm_tmpfs = true;
	assert_int_equal(worst(s), DOCTOR_GOOD);
	free(s);
}

static void test_impossible(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	s->cpus = s->mask = mask_of("2");
	assert_says(s, "cpu_count", DOCTOR_PROBLEM, "only one CPU to use, 2", "taskset");
	plain(s);
	s->affinity_error = -ENOSYS;
	assert_level(s, "affinity_mask", DOCTOR_PROBLEM);
	plain(s);
	s->proc_error = -EXDEV;
	assert_says(s, "proc", DOCTOR_PROBLEM, "another process namespace", "mount");
	s->proc_error = -ENOENT;
	s->births_seen = false;
	assert_says(s, "proc", DOCTOR_PROBLEM, "can't be used", "mount");
	assert_level(s, "loadavg", DOCTOR_NONE);
	plain(s);
	s->sampler_error[SAMPLER_SCHEDSTAT] = -EPERM;
	assert_level(s, "samplers", DOCTOR_NOTE); /* perf is left */
	s->sampler_error[SAMPLER_PERF] = -ENOSYS;
	assert_says(s, "samplers", DOCTOR_PROBLEM, "", "hidepid");
	free(s);
}

static void test_load(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	s->load = 8;
	assert_level(s, "cpu_load", DOCTOR_NONE);
	s->load = 8.01;
	assert_says(s, "cpu_load", DOCTOR_WARNING, "8.0 on 4 CPUs", "top");
	s->online = s->cpus = mask_of("0");
	assert_says(s, "cpu_load", DOCTOR_WARNING, "8.0 on 1 CPU:", "");
	doctor_system_init(s);
	s->load = 1e6; /* on how many CPUs is not known */
	assert_level(s, "cpu_load", DOCTOR_NONE);
	free(s);
}

static void test_threads(void **state)
{
	static const struct {
		uint32_t threads;
		enum doctor_level level;
		const char *text;
	} cases[] = {{3, DOCTOR_WARNING, "nothing to balance"}, {4, DOCTOR_NOTE, "1 for each"},
		{5, DOCTOR_GOOD, "1.60 times"}, {8, DOCTOR_NOTE, "2 for each"},
		{1000000, DOCTOR_NOTE, ""}, {999999, DOCTOR_GOOD, "1.00 times"}};
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	assert_level(s, "threads", DOCTOR_NONE);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		s->threads = cases[i].threads;
		assert_says(s, "threads", cases[i].level, cases[i].text, "");
	}
	free(s);
}

static void test_yield_versions(void **state)
{
	static const struct {
		struct doctor_version version;
		enum doctor_level level;
	} cases[] = {{{6, 5, 9}, DOCTOR_NONE}, {{6, 6, 0}, DOCTOR_NOTE}, {{6, 6, 120}, DOCTOR_NOTE},
		{{6, 12, 62}, DOCTOR_NOTE}, {{6, 12, 63}, DOCTOR_NONE}, {{6, 13, 80}, DOCTOR_NOTE},
		{{6, 17, 13}, DOCTOR_NONE}, {{6, 18, 1}, DOCTOR_NOTE}, {{6, 18, 2}, DOCTOR_NONE},
		{{6, 19, 0}, DOCTOR_NONE}, {{7, 0, 0}, DOCTOR_NONE}, {{0, 0, 0}, DOCTOR_NONE}};
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		s->kernel = cases[i].version;
		assert_level(s, "sched_yield", cases[i].level);
	}
	free(s);
}

static void test_environment(void **state)
{
	static const struct {
		const char *variable, *more;
		const char *id;
		enum doctor_level level;
	} cases[] = {
		{"OMP_PROC_BIND=true", NULL, "omp_binding", DOCTOR_WARNING},
		{"OMP_PROC_BIND=spread,close", NULL, "omp_binding", DOCTOR_WARNING},
		{"OMP_PROC_BIND=false", NULL, "omp_binding", DOCTOR_NONE},
		{"OMP_PROC_BIND=FALSE", "OMP_PLACES=cores", "omp_binding", DOCTOR_NONE},
		{"OMP_PLACES=cores", NULL, "omp_binding", DOCTOR_WARNING},
		{"GOMP_CPU_AFFINITY=0-3", NULL, "omp_binding", DOCTOR_WARNING},
		{"GOMP_CPU_AFFINITY=0", NULL, "omp_binding", DOCTOR_WARNING},
		{"GOMP_CPU_AFFINITY=", NULL, "omp_binding", DOCTOR_NONE},
		{"OMP_PROC_BIND=0", NULL, "omp_binding", DOCTOR_NONE},
		{"OMP_PROC_BIND=false", "KMP_AFFINITY=compact", "omp_binding", DOCTOR_WARNING},
		{"KMP_AFFINITY=verbose,none", NULL, "omp_binding", DOCTOR_NONE},
		{"OMP_PROC_BINDING=true", NULL, "omp_binding", DOCTOR_NONE},
		{"OMP_WAIT_POLICY=ACTIVE", NULL, "omp_wait", DOCTOR_NOTE},
		{"OMP_WAIT_POLICY=passive", NULL, "omp_wait", DOCTOR_GOOD},
		{"GOMP_SPINCOUNT=infinity", NULL, "omp_wait", DOCTOR_NOTE},
		{"GOMP_SPINCOUNT=300000", NULL, "omp_wait", DOCTOR_NONE},
		{"GOMP_SPINCOUNT=300k", NULL, "omp_wait", DOCTOR_NONE},
		{"GOMP_SPINCOUNT=1M", NULL, "omp_wait", DOCTOR_NOTE},
		{"GOMP_SPINCOUNT=", NULL, "omp_wait", DOCTOR_NONE},
		{"KMP_BLOCKTIME=infinite", NULL, "omp_wait", DOCTOR_NOTE},
		{"OMP_DYNAMIC=true", NULL, "omp_dynamic", DOCTOR_WARNING},
		{"OMP_DYNAMIC=false", NULL, "omp_dynamic", DOCTOR_NONE},
		{"OMPI_MCA_hwloc_base_binding_policy=core", NULL, "mpi_binding", DOCTOR_WARNING},
		{"OMPI_MCA_hwloc_base_binding_policy=none", NULL, "mpi_binding", DOCTOR_NONE},
		{"I_MPI_PIN=off", NULL, "mpi_binding", DOCTOR_NONE},
		{"I_MPI_PIN=0", NULL, "mpi_binding", DOCTOR_NONE},
		{"MV2_ENABLE_AFFINITY=0", NULL, "mpi_binding", DOCTOR_NONE},
		{"I_MPI_PIN=1", NULL, "mpi_binding", DOCTOR_WARNING},
		{"JUGGLE_OPTIONS=-v", NULL, "juggle_options", DOCTOR_NOTE},
		{"JUGGLE_OPTIONS=", NULL, "juggle_options", DOCTOR_NONE},
		{"PBS_JOBID=1.x", NULL, "batch_system", DOCTOR_NOTE},
		{"JOB_ID=5", NULL, "batch_system", DOCTOR_NONE},
	};
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *environment[] = {cases[i].variable, cases[i].more, NULL};
		s->environment = environment;
		if (level_of(s, cases[i].id, NULL) != cases[i].level)
			fail_msg("%s", cases[i].variable);
	}
	free(s);
}

static void test_terminal_is_safe(void **state)
{
	static const char *const environment[] = {"JUGGLE_OPTIONS=\033[2J\xff\n", NULL};
	struct doctor_finding finding = {0};
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	s->environment = environment;
	assert_int_equal(level_of(s, "juggle_options", &finding), DOCTOR_NOTE);
	assert_non_null(strstr(finding.text, "?[2J??"));
	free(s);
}

static void test_small_things(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	s->tick_ns = 10000000;
	assert_says(s, "tick", DOCTOR_NOTE, "10 ms", "-i 20ms");
	s->domains = 4;
	assert_says(s, "numa_domains", DOCTOR_NOTE, "4 NUMA", "joint");
	s->open_files = 64;
	assert_level(s, "open_files", DOCTOR_NOTE);
	s->births_seen = false;
	assert_level(s, "loadavg", DOCTOR_NOTE);
	s->stale_segments = 2;
	assert_says(s, "stale_segments", DOCTOR_NOTE, "2 segments", "clean");
	s->stale_segments = 1;
	assert_says(s, "stale_segments", DOCTOR_NOTE, "A dead process", "removes it");
	s->shm_tmpfs = false;
	assert_level(s, "shared_memory", DOCTOR_WARNING);
	s->shm_free_bytes = 1000;
	assert_says(s, "shared_memory", DOCTOR_WARNING, "0.0 MB left", "--shm-size");
	s->shm_error = -EACCES;
	assert_says(s, "shared_memory", DOCTOR_WARNING, "can't be used", "");
	strcpy(s->governor, "powersave");
	strcpy(s->driver, "acpi-cpufreq");
	assert_level(s, "governor", DOCTOR_WARNING);
	strcpy(s->driver, "amd_pstate_epp");
	assert_level(s, "governor", DOCTOR_NONE);
	free(s);
}

/* The CPUs of `plain` and so many more: first fast ones, then small ones. */
static void make_hybrid(struct doctor_system *s, int fast, int small, double speed)
{
	char list[32];

	plain(s);
	snprintf(list, sizeof(list), "0-%d", fast + small - 1);
	s->cpus = s->mask = s->online = s->first = s->cores = mask_of(list);
	for (int cpu = 0; cpu < fast + small; cpu++)
		s->speed[cpu] = cpu < fast ? 1 : speed;
	strcpy(s->speeds_from, "cpu_capacity");
}

static void test_speeds(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	make_hybrid(s, 8, 16, 0.55);
	/* A thread for each CPU, if nothing is said. */
	assert_says(s, "cpu_speeds", DOCTOR_NOTE, "by cpu_capacity: 8x1,16x0.55.",
		"24 threads up to 1.27 times");
	assert_level(s, "threads", DOCTOR_NONE);
	s->threads = 12;
	assert_says(s, "cpu_speeds", DOCTOR_NOTE, "", "12 threads up to 1.55 times");
	assert_says(s, "threads", DOCTOR_GOOD, "up to 1.55 times",
		"predict -n 12 --speeds 8x1,16x0.55 --phase");
	s->threads = 48; /* even, but for the speeds */
	assert_says(s, "threads", DOCTOR_GOOD, "up to 1.27 times", "predict -n 48");
	s->threads = 8;
	assert_says(s, "cpu_speeds", DOCTOR_NOTE, "", "hardly matters");
	assert_level(s, "threads", DOCTOR_WARNING);
	/* Small cores are worth their turns however slow they are, unless they add nothing. */
	make_hybrid(s, 10, 10, 0.28);
	assert_says(s, "cpu_speeds", DOCTOR_NOTE, "10x1,10x0.28", "Use all of them");
	make_hybrid(s, 8, 2, 0.05);
	assert_says(s, "cpu_speeds", DOCTOR_WARNING, "8x1,2x0.05", "8-9 have 1.2 %");
	make_hybrid(s, 8, 0, 1);
	assert_level(s, "cpu_speeds", DOCTOR_NONE);
	/* What is known of kinds only matters where speeds are not known. */
	s->kind[0] = mask_of("0-3");
	s->kind[1] = mask_of("4-7");
	assert_says(s, "cpu_speeds", DOCTOR_WARNING, "small ones (4-7)", "--speeds");
	s->speed[0] = 0;
	assert_level(s, "cpu_speeds", DOCTOR_WARNING);
	free(s);
}

/* Each CPU has its own speed: the list is cut, and not offered as an option. */
static void test_many_speeds(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	make_hybrid(s, 64, 0, 1);
	for (int cpu = 0; cpu < 64; cpu++)
		s->speed[cpu] = 1 - 0.01 * cpu;
	s->threads = 64;
	assert_says(s, "cpu_speeds", DOCTOR_NOTE, "1,0.99,0.98", "up to 1.85 times");
	assert_says(s, "cpu_speeds", DOCTOR_NOTE, "...", "");
	assert_says(s, "threads", DOCTOR_GOOD, "unequal speed", "");
	struct doctor_finding finding = {0};
	level_of(s, "threads", &finding);
	assert_string_equal(finding.advice, "");
	free(s);
}

static void test_stolen(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	s->stolen[1] = 0.004;
	assert_level(s, "cpu_stolen", DOCTOR_NONE);
	s->stolen[1] = 0.04;
	assert_says(s, "cpu_stolen", DOCTOR_NOTE,
		"1.0 % of the CPUs' time since boot, most of CPU 1: 4.0 %", "take turns");
	s->stolen[5] = 0.9; /* not ours */
	s->stolen[0] = s->stolen[2] = s->stolen[3] = 0.03;
	assert_says(s, "cpu_stolen", DOCTOR_NOTE, "CPU 1: 4.0 %", "no placement");
	free(s);
}

/* ---- Commands, and what they start ---- */

/* What the rules conclude from a launcher's command line; inner is the program that it starts. */
static void launch(struct doctor_system *s, enum doctor_launcher_kind kind, const char *line,
	const char *inner)
{
	static const char *const command[] = {"mpirun", NULL};

	plain(s);
	s->command = command;
	strcpy(s->program.name, "mpirun");
	strcpy(s->inner.name, inner);
	parse_launcher(&s->launcher, kind, line);
}

static void test_mpi_rules(void **state)
{
	static const char *const intel[] = {"I_MPI_ROOT=/opt/intel/mpi", NULL};
	static const char *const job[] = {"SLURM_JOB_ID=77", NULL};
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	launch(s, DOCTOR_OPEN_MPI, "mpirun -n 2 a", "a");
	assert_says(s, "mpi_binding", DOCTOR_WARNING, "two ranks", "--bind-to none");
	assert_says(s, "mpi_ranks", DOCTOR_WARNING, "2 ranks on 4 CPUs", "");
	assert_level(s, "mpi_wait", DOCTOR_NOTE);
	assert_level(s, "mpi_slots", DOCTOR_NONE);
	launch(s, DOCTOR_OPEN_MPI, "mpirun -n 3 a", "a");
	assert_says(s, "mpi_binding", DOCTOR_NOTE, "NUMA", "");
	launch(s, DOCTOR_OPEN_MPI, "mpirun -n 7 a", "a");
	assert_says(s, "mpi_slots", DOCTOR_PROBLEM, "refuses 7", "--oversubscribe");
	struct doctor_finding binding = {0};
	assert_int_equal(level_of(s, "mpi_binding", &binding), DOCTOR_GOOD);
	assert_string_equal(binding.advice, "");
	s->environment = job;
	assert_level(s, "mpi_slots", DOCTOR_NONE); /* the batch system says how many */
	launch(s, DOCTOR_OPEN_MPI, "mpirun --oversubscribe --bind-to none -n 7 a", "a");
	assert_level(s, "mpi_slots", DOCTOR_NONE);
	assert_level(s, "mpi_binding", DOCTOR_GOOD);
	assert_says(s, "mpi_ranks", DOCTOR_GOOD, "1.14 times", "-n 7 -m 4");
	assert_level(s, "mpi_wait", DOCTOR_NONE);
	s->container = true;
	assert_level(s, "mpi_single_copy", DOCTOR_NOTE);
	/* Hardware threads are not cores. */
	launch(s, DOCTOR_OPEN_MPI, "mpirun -n 4 a", "a");
	s->cores = mask_of("0,1");
	assert_says(s, "mpi_slots", DOCTOR_PROBLEM, "4 ranks on 2 cores", "");
	launch(s, DOCTOR_OPEN_MPI, "mpirun --use-hwthread-cpus -n 4 a", "a");
	s->cores = mask_of("0,1");
	assert_level(s, "mpi_slots", DOCTOR_NONE);
	/* Without a number there are as many as cores. */
	launch(s, DOCTOR_OPEN_MPI, "mpirun a", "a");
	assert_says(s, "mpi_binding", DOCTOR_NOTE, "NUMA", "--bind-to none");
	s->cores = mask_of("0,1");
	assert_says(s, "mpi_binding", DOCTOR_WARNING, "two ranks", "--bind-to none");
	launch(s, DOCTOR_HYDRA, "mpiexec -n 7 a", "a");
	assert_level(s, "mpi_binding", DOCTOR_GOOD);
	s->environment = intel;
	assert_says(s, "mpi_binding", DOCTOR_WARNING, "Intel", "I_MPI_PIN=off");
	launch(s, DOCTOR_HYDRA, "mpiexec -bind-to core -n 7 a", "a");
	assert_level(s, "mpi_binding", DOCTOR_WARNING);
	launch(s, DOCTOR_SRUN, "srun -n 7 a", "a");
	assert_says(s, "mpi_srun", DOCTOR_PROBLEM, "", "srun juggle");
	launch(s, DOCTOR_SRUN, "srun -n 7 juggle a", "juggle");
	assert_level(s, "mpi_srun", DOCTOR_NONE);
	assert_level(s, "mpi_inner_juggle", DOCTOR_GOOD);
	launch(s, DOCTOR_OPEN_MPI, "mpirun -n 2 juggle a", "juggle");
	assert_says(s, "mpi_inner_juggle", DOCTOR_WARNING, "one core", "numa");
	launch(s, DOCTOR_OPEN_MPI, "mpirun --bind-to none -n 2 juggle a", "/usr/bin/juggle");
	assert_says(s, "mpi_inner_juggle", DOCTOR_WARNING, "other's way", "");
	launch(s, DOCTOR_OPEN_MPI, "mpirun --bind-to numa -n 2 juggle a", "juggle");
	assert_level(s, "mpi_inner_juggle", DOCTOR_GOOD);
	launch(s, DOCTOR_OPEN_MPI, "mpirun --host x -n 2 a", "a");
	assert_level(s, "mpi_hosts", DOCTOR_WARNING);
	assert_level(s, "mpi_ranks", DOCTOR_NONE);
	launch(s, DOCTOR_OPEN_MPI, "mpirun --host localhost:4,localhost,x:2 -n 2 a", "a");
	assert_level(s, "mpi_hosts", DOCTOR_WARNING);
	launch(s, DOCTOR_OPEN_MPI, "mpirun --host localhost:4,localhost -n 5 a", "a");
	assert_level(s, "mpi_hosts", DOCTOR_NONE);
	assert_level(s, "mpi_ranks", DOCTOR_GOOD);
	launch(s, DOCTOR_OPEN_MPI, "mpirun --host x -n 2 a", "a");
	s->inner.error = -ENOENT; /* it may be there */
	assert_level(s, "launched_program", DOCTOR_NONE);
	free(s);
}

static void test_command_rules(void **state)
{
	static const char *const command[] = {"app", NULL};
	static const char *const environment[] = {"OMP_NUM_THREADS=6,2", NULL};
	static const char *const bound[] = {"OMP_PROC_BIND=true", NULL};
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	plain(s);
	s->command = command;
	strcpy(s->program.name, "app");
	s->program.error = -ENOENT;
	assert_says(s, "command", DOCTOR_PROBLEM, "not found in PATH", "127");
	s->program.error = -EACCES;
	assert_says(s, "command", DOCTOR_PROBLEM, "", "126. `chmod");
	s->program.error = -EISDIR;
	assert_says(s, "command", DOCTOR_PROBLEM, "directory", "126. Give a program");
	s->program.error = 0;
	s->program.elf = true;
	s->environment = bound;
	assert_level(s, "omp_binding", DOCTOR_NOTE); /* it does not use OpenMP */
	assert_level(s, "command_wrapper", DOCTOR_NONE);
	strcpy(s->program.name, "/usr/bin/env");
	assert_level(s, "command_wrapper", DOCTOR_NOTE);
	assert_level(s, "omp_binding", DOCTOR_WARNING); /* unknown */
	strcpy(s->program.name, "app");
	s->environment = environment;
	assert_level(s, "omp_threads", DOCTOR_NONE);
	strcpy(s->program.library[s->program.libraries++], "libgomp.so.1");
	assert_says(s, "omp_threads", DOCTOR_GOOD, "6 threads on 4 CPUs: balanced up to 1.33", "");
	assert_says(s, "command_kind", DOCTOR_GOOD, "app uses libgomp.so.1.", "");
	s->environment = bound;
	assert_level(s, "omp_binding", DOCTOR_WARNING);
	assert_says(s, "omp_threads", DOCTOR_NOTE, "not set", "OMP_NUM_THREADS=7");
	strcpy(s->program.library[s->program.libraries++], "libprogress.so.1");
	assert_level(s, "command_progress", DOCTOR_GOOD);
	assert_level(s, "command_phases", DOCTOR_NONE);
	strcpy(s->phases.why, "app is linked statically");
	s->phases.impossible = true;
	assert_says(s, "command_phases", DOCTOR_NOTE, "each other: app is linked statically.", "");
	s->phases.impossible = false;
	assert_says(s, "command_phases", DOCTOR_NOTE, "Nobody will tell", "--phases on");
	s->phases.wanted = true;
	assert_says(s, "command_phases", DOCTOR_GOOD, "(app is linked statically)", "");
	s->program.privileged = true;
	assert_level(s, "command_privileges", DOCTOR_PROBLEM);
	s->may_move_others = true;
	assert_level(s, "command_privileges", DOCTOR_NONE);
	strcpy(s->program.name, "/usr/bin/juggle");
	assert_level(s, "command_juggle", DOCTOR_NOTE);
	assert_level(s, "command_phases", DOCTOR_NONE);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_machine),
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_yield_versions),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_terminal_is_safe),
		cmocka_unit_test(test_small_things),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_many_speeds),
		cmocka_unit_test(test_stolen),
		cmocka_unit_test(test_mpi_rules),
		cmocka_unit_test(test_command_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
