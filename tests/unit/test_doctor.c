/* SPDX-License-Identifier: MIT */
/* jugglectl doctor: parsers, command lines of launchers, programs' libraries, and what the rules make
 * of machines that are not here. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"
#include "libraries.h"
#include "rule.h"
#include "system.h"
#include "text.h"

enum { FINDINGS = 128 };

/* ---- Facts and findings ---- */

static struct act_mask mask_of(const char *list)
{
	struct act_mask mask;

	assert_int_equal(doctor_parse_cpus(list, &mask), 0);
	return mask;
}

static void assert_mask(const struct act_mask *mask, const char *list)
{
	char text[200];

	doctor_print_cpus(mask, text, sizeof(text));
	assert_string_equal(text, list);
}

/* A machine of four equal CPUs without anything special. */
static void plain(struct doctor_system *system)
{
	doctor_system_init(system);
	system->cpus = system->mask = system->online = system->first = system->cores =
		mask_of("0-3");
	system->domains = 1;
	system->kernel = (struct doctor_version){6, 18, 44};
	strcpy(system->release, "6.18.44");
	system->tick_ns = 4000000;
	system->seccomp = 0;
	system->autogroup = 0;
	system->uid = 1000;
	system->open_files = 1024;
	system->shm_tmpfs = true;
	system->shm_free_bytes = 1 << 30;
	system->segment_bytes = 1 << 20;
	system->sampler_error[SAMPLER_TASKSTATS] = -EPERM;
}

/* The level of one rule's finding; *out, if wanted, is the finding. */
static enum doctor_level level_of(
	const struct doctor_system *system, const char *id, struct doctor_finding *out)
{
	struct doctor_finding *finding = calloc(FINDINGS, sizeof(*finding));
	enum doctor_level level = DOCTOR_NONE;

	assert_non_null(finding);
	size_t n = doctor_judge(system, finding, FINDINGS);
	assert_in_range(n, 1, FINDINGS - 1);
	for (size_t i = 0; i < n; i++) {
		assert_true(finding[i].level > DOCTOR_NONE && finding[i].text[0] != '\0');
		if (strcmp(finding[i].id, id) != 0)
			continue;
		level = finding[i].level;
		if (out != NULL)
			*out = finding[i];
	}
	free(finding);
	return level;
}

#define assert_level(system, id, level) assert_int_equal(level_of(system, id, NULL), level)

static void assert_says(const struct doctor_system *system, const char *id, enum doctor_level level,
	const char *text, const char *advice)
{
	struct doctor_finding finding = {0};

	assert_int_equal(level_of(system, id, &finding), level);
	if (strstr(finding.text, text) == NULL || strstr(finding.advice, advice) == NULL)
		fail_msg("%s: \"%s\" -> \"%s\"", id, finding.text, finding.advice);
}

static enum doctor_level worst(const struct doctor_system *system)
{
	struct doctor_finding *finding = calloc(FINDINGS, sizeof(*finding));

	assert_non_null(finding);
	enum doctor_level level = doctor_worst(finding, doctor_judge(system, finding, FINDINGS));
	free(finding);
	return level;
}

/* ---- Recorded machines ---- */

static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
}

static int remove_one(const char *path, const struct stat *file, int type, struct FTW *where)
{
	(void)file;
	(void)type;
	(void)where;
	return remove(path);
}

/* Unpack a fixture, and read it as the machine on which juggle is to use these CPUs. */
static void read_machine(struct doctor_system *system, const char *name, const char *cpus)
{
	const char *folder = getenv("JUGGLE_FIXTURES");
	char root[] = "/tmp/test-doctor.XXXXXX", path[4096], line[1024];

	if (folder == NULL)
		fail_msg("JUGGLE_FIXTURES is not set");
	snprintf(path, sizeof(path), "%s/doctor/%s", folder, name);
	FILE *fixture = fopen(path, "r");
	assert_non_null(fixture);
	assert_non_null(mkdtemp(root));
	while (fgets(line, sizeof(line), fixture) != NULL) {
		char *colon = strchr(line, ':');
		assert_non_null(colon);
		*colon = '\0';
		snprintf(path, sizeof(path), "%s/%s", root, line);
		make_folders(path);
		FILE *file = fopen(path, "a");
		assert_non_null(file);
		fputs(colon + 1, file);
		fclose(file);
	}
	fclose(fixture);
	plain(system);
	system->cpus = system->mask = mask_of(cpus);
	memset(&system->first, 0, sizeof(system->first));
	memset(&system->cores, 0, sizeof(system->cores));
	doctor_read_machine(system, root);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_hybrid(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	read_machine(s, "hybrid", "0-7");
	assert_mask(&s->first, "0,2,4-7");
	assert_mask(&s->cores, "0,2,4-7");
	assert_mask(&s->kind[1], "4-7");
	assert_int_equal(s->max_khz.most, 4700000);
	assert_false(isfinite(s->quota_cpus));
	assert_says(s, "cpu_speeds", DOCTOR_WARNING, "(0-3) and small ones (4-7)", "juggle -c 0-3");
	assert_says(s, "smt", DOCTOR_NOTE, "of 6 cores", "juggle -c 0,2,4-7");
	assert_level(s, "governor", DOCTOR_NONE); /* intel_pstate's powersave is another */
	assert_says(s, "sched_yield", DOCTOR_NOTE, "6.12.40", "6.12.63");
	s->sampler_error[SAMPLER_PERF] = -EPERM;
	assert_says(s, "sampler_perf", DOCTOR_NOTE, "is 4", "=2");
	assert_int_equal(worst(s), DOCTOR_WARNING);
	/* Kept to one kind. */
	read_machine(s, "hybrid", "4-7");
	assert_level(s, "cpu_speeds", DOCTOR_NONE);
	assert_level(s, "smt", DOCTOR_NONE);
	assert_says(s, "cpu_mask", DOCTOR_NOTE, "4 of the 8", "juggle -c");
	free(s);
}

static void test_quota(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	read_machine(s, "quota", "4-11");
	assert_true(s->quota_cpus == 2.5);
	assert_mask(&s->cpuset, "4-11");
	assert_mask(&s->cores, "4-11");
	assert_says(s, "cpu_quota", DOCTOR_WARNING, "2.5 CPUs, and 8", "2 of them");
	assert_says(s, "cpuset", DOCTOR_NOTE, "8 of 16", "");
	assert_level(s, "cpu_mask", DOCTOR_NONE);
	assert_level(s, "seccomp", DOCTOR_NOTE);
	assert_level(s, "hidepid", DOCTOR_NONE);
	assert_false(s->may_move_others);
	s->cpus = mask_of("4,5");
	assert_level(s, "cpu_quota", DOCTOR_GOOD);
	/* CPUs of others. */
	s->cpus = mask_of("2-5");
	s->cpus_given = true;
	assert_says(s, "cpus_given", DOCTOR_PROBLEM, "2-3 are outside the cpuset", "");
	s->cpus = mask_of("4,16");
	assert_says(s, "cpus_given", DOCTOR_PROBLEM, "16 is offline", "");
	free(s);
}

static void test_cgroup1(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));
	static const char *const job[] = {
		"SLURM_JOB_ID=77", "SLURM_CPU_BIND=quiet,mask_cpu:0xff", NULL};

	(void)state;
	assert_non_null(s);
	read_machine(s, "cgroup1", "0-7");
	assert_true(s->quota_cpus == 6);
	assert_mask(&s->cpuset, "0-7");
	assert_true(s->hidepid);
	assert_level(s, "hidepid", DOCTOR_NOTE);
	assert_says(s, "kernel_version", DOCTOR_NOTE, "4.18.0-513.el8", "");
	assert_level(s, "time_slices", DOCTOR_NOTE);
	assert_level(s, "sched_yield", DOCTOR_NONE); /* older than the fault */
	assert_level(s, "batch_system", DOCTOR_NONE);
	s->environment = job;
	assert_says(s, "batch_system", DOCTOR_NOTE,
		"job 77 of Slurm, with 8 CPUs here; SLURM_CPU_BIND", "");
	free(s);
}

static void test_server(void **state)
{
	struct doctor_system *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	read_machine(s, "server", "0-11");
	assert_mask(&s->first, "0-7");
	assert_says(s, "isolated_cpus", DOCTOR_WARNING, "8-11", "--always");
	assert_says(s, "nohz_full", DOCTOR_NOTE, "10-11", "perf");
	assert_says(s, "offline_cpus", DOCTOR_NOTE, "12-15", "");
	assert_says(s, "sched_ext", DOCTOR_WARNING, "scx_example", "");
	assert_level(s, "governor", DOCTOR_NOTE);
	assert_level(s, "cpu_speeds", DOCTOR_NONE);
	assert_true(s->may_move_others);
	assert_level(s, "autogroup", DOCTOR_NONE);
	free(s);
}

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
	/* Of what nothing is known, nothing bad is said; but without CPUs known. */
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
	s->shm_tmpfs = false;
	assert_level(s, "shared_memory", DOCTOR_WARNING);
	s->shm_free_bytes = 1000;
	assert_says(s, "shared_memory", DOCTOR_WARNING, "0.0 MB left", "--shm-size");
	s->shm_error = -EACCES;
	assert_says(s, "shared_memory", DOCTOR_WARNING, "can't be used", "");
	s->capacity = (struct doctor_range){430, 1024};
	s->instructions = true;
	assert_says(s, "cpu_speeds", DOCTOR_WARNING, "42 %", "--sampler perf");
	s->sampler_error[SAMPLER_PERF] = -EPERM;
	assert_says(s, "cpu_speeds", DOCTOR_WARNING, "", "-c");
	strcpy(s->governor, "powersave");
	strcpy(s->driver, "acpi-cpufreq");
	assert_level(s, "governor", DOCTOR_WARNING);
	free(s);
}

/* ---- Launchers ---- */

static void parse(struct doctor_launcher *out, enum doctor_launcher_kind kind, const char *line)
{
	static char words[500];
	const char *command[40];
	size_t n = 0;

	snprintf(words, sizeof(words), "%s", line);
	for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL;)
		command[n++] = word;
	command[n] = NULL;
	doctor_launcher_parse(out, kind, command);
}

static void test_launchers(void **state)
{
	static const struct {
		enum doctor_launcher_kind kind;
		const char *line, *bind;
		uint32_t ranks;
		int program;
		bool oversubscribe, hosts, yield, unsure;
	} cases[] = {
		{DOCTOR_OPEN_MPI, "mpirun -n 3 a", "", 3, 3, false, false, false, false},
		{DOCTOR_OPEN_MPI, "mpirun --bind-to none --oversubscribe -np 7 a -n 9", "none", 7,
			6, true, false, false, false},
		{DOCTOR_OPEN_MPI, "mpirun --mca mpi_yield_when_idle 1 -x A=b --host n1,n2 a", "", 0,
			8, false, true, true, false},
		{DOCTOR_OPEN_MPI, "mpirun --map-by :OVERSUBSCRIBE -n 1 a : -n 2 b", "", 3, 5, true,
			false, false, false},
		{DOCTOR_OPEN_MPI, "mpirun --brand-new-option a", "", 0, 2, false, false, false,
			true},
		{DOCTOR_OPEN_MPI, "mpirun -n", "", 0, -1, false, false, false, true},
		{DOCTOR_OPEN_MPI, "mpirun -n x a", "", 0, 3, false, false, false, false},
		{DOCTOR_OPEN_MPI, "mpirun --mca hwloc_base_binding_policy core a", "core", 0, 4,
			false, false, false, false},
		{DOCTOR_OPEN_MPI, "mpirun", "", 0, -1, false, false, false, false},
		{DOCTOR_HYDRA, "mpiexec -genv A b -bind-to core -n 2 a", "core", 2, 8, false, false,
			false, false},
		{DOCTOR_SRUN, "srun -n4 --cpu-bind=none -N 2 a", "none", 4, 5, false, false, false,
			false},
		{DOCTOR_SRUN, "srun --ntasks=5 -- a", "", 5, 3, false, false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct doctor_launcher found;
		parse(&found, cases[i].kind, cases[i].line);
		if (strcmp(found.bind, cases[i].bind) != 0 || found.ranks != cases[i].ranks ||
			found.program != cases[i].program || found.hosts != cases[i].hosts ||
			found.oversubscribe != cases[i].oversubscribe ||
			found.yield != cases[i].yield || found.unsure != cases[i].unsure)
			fail_msg("%s: bind %s, %u ranks, program %d", cases[i].line, found.bind,
				found.ranks, found.program);
	}
}

/* What the rules say of a launcher's command line; inner is what it starts. */
static void launch(struct doctor_system *s, enum doctor_launcher_kind kind, const char *line,
	const char *inner)
{
	static const char *const command[] = {"mpirun", NULL};

	plain(s);
	s->command = command;
	strcpy(s->program.name, "mpirun");
	strcpy(s->inner.name, inner);
	parse(&s->launcher, kind, line);
}

static void test_mpi_rules(void **state)
{
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
	assert_says(s, "mpi_slots", DOCTOR_WARNING, "refuses 7", "--oversubscribe");
	assert_level(s, "mpi_binding", DOCTOR_GOOD);
	launch(s, DOCTOR_OPEN_MPI, "mpirun --oversubscribe --bind-to none -n 7 a", "a");
	assert_level(s, "mpi_slots", DOCTOR_NONE);
	assert_level(s, "mpi_binding", DOCTOR_GOOD);
	assert_says(s, "mpi_ranks", DOCTOR_GOOD, "1.14 times", "-n 7 -m 4");
	assert_level(s, "mpi_wait", DOCTOR_NONE);
	s->container = true;
	assert_level(s, "mpi_single_copy", DOCTOR_NOTE);
	/* Hardware threads are no cores. */
	launch(s, DOCTOR_OPEN_MPI, "mpirun -n 4 a", "a");
	s->cores = mask_of("0,1");
	assert_says(s, "mpi_slots", DOCTOR_WARNING, "4 ranks on 2 cores", "");
	launch(s, DOCTOR_OPEN_MPI, "mpirun --use-hwthread-cpus -n 4 a", "a");
	s->cores = mask_of("0,1");
	assert_level(s, "mpi_slots", DOCTOR_NONE);
	launch(s, DOCTOR_HYDRA, "mpiexec -n 7 a", "a");
	assert_level(s, "mpi_binding", DOCTOR_GOOD);
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
	assert_says(s, "command", DOCTOR_PROBLEM, "", "126");
	s->program.error = 0;
	s->program.elf = true;
	s->environment = bound;
	assert_level(s, "omp_binding", DOCTOR_NOTE); /* it has no OpenMP */
	assert_level(s, "command_wrapper", DOCTOR_NONE);
	strcpy(s->program.name, "/usr/bin/env");
	assert_level(s, "command_wrapper", DOCTOR_NOTE);
	assert_level(s, "omp_binding", DOCTOR_WARNING); /* who knows */
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
	s->program.privileged = true;
	assert_level(s, "command_privileges", DOCTOR_PROBLEM);
	s->may_move_others = true;
	assert_level(s, "command_privileges", DOCTOR_NONE);
	strcpy(s->program.name, "/usr/bin/juggle");
	assert_level(s, "command_juggle", DOCTOR_NOTE);
	free(s);
}

/* ---- Parsers ---- */

static void test_parsers(void **state)
{
	static const char cgroup[] = "9:name=systemd:/a\n4:cpu,cpuacct:/b/c\n2:cpuset:/..\n0::/d\n";
	struct act_mask mask;
	struct doctor_version version = {0};
	char text[32];
	uint64_t number = 0;

	(void)state;
	mask = mask_of("0-2,8,99999");
	assert_mask(&mask, "0-2,8");
	mask = mask_of("");
	assert_mask(&mask, "");
	static const char *const wrong[] = {"x", "1,", ",1", "1-", "-1", "1-2-3", "1 2", "0x1"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(doctor_parse_cpus(wrong[i], &mask), -EBADMSG);
	mask = mask_of("1,3,5,7,9,11,13,15,17,19,21");
	doctor_print_cpus(&mask, text, 16);
	assert_true(strlen(text) < 16);
	assert_non_null(strstr(text, ",..."));

	assert_int_equal(doctor_parse_version("6.12.63-generic", &version), 0);
	assert_true(version.major == 6 && version.minor == 12 && version.patch == 63);
	assert_int_equal(doctor_parse_version("7.0", &version), 0);
	assert_int_equal(doctor_parse_version("", &version), -EBADMSG);
	assert_int_equal(doctor_parse_version("x.y", &version), -EBADMSG);

	assert_int_equal(doctor_parse_status("A:\t1\nSeccomp:\t2\n", "Seccomp", 10, &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(
		doctor_parse_status("Seccomp_filters:\t2", "Seccomp", 10, &number), -ENOENT);

	assert_int_equal(doctor_parse_cgroup(cgroup, "cpu", text, sizeof(text)), 0);
	assert_string_equal(text, "/b/c");
	assert_int_equal(doctor_parse_cgroup(cgroup, "cpuset", text, sizeof(text)), 0);
	assert_string_equal(text, "/");
	assert_int_equal(doctor_parse_cgroup(cgroup, "", text, sizeof(text)), 0);
	assert_string_equal(text, "/d");
	assert_int_equal(doctor_parse_cgroup(cgroup, "memory", text, sizeof(text)), -ENOENT);
	assert_int_equal(doctor_parse_cgroup("nonsense", "", text, sizeof(text)), -ENOENT);

	assert_true(doctor_parse_cpu_max("150000 100000") == 1.5);
	static const char *const unlimited[] = {
		"max 100000", "", "0 0", "-1 100000", "x", "nan nan"};
	for (size_t i = 0; i < sizeof unlimited / sizeof *unlimited; i++)
		assert_false(isfinite(doctor_parse_cpu_max(unlimited[i])));

	assert_false(doctor_parse_hidepid("proc /proc proc rw,hidepid=0 0 0\n"));
	assert_true(doctor_parse_hidepid("proc /proc proc rw,hidepid=invisible 0 0\n"));
	assert_false(doctor_parse_hidepid("proc /mnt/proc proc rw,hidepid=2 0 0\n"));
}

/* ---- Libraries of programs ---- */

static void test_own_libraries(void **state)
{
	struct doctor_program *program = calloc(1, sizeof(*program));
	int fd = open("/proc/self/exe", O_RDONLY);

	(void)state;
	assert_non_null(program);
	assert_int_equal(doctor_read_libraries(fd, program), 0);
	assert_true(program->elf && !program->fixed);
	assert_non_null(doctor_library(program, "libcmocka.so"));
	assert_non_null(doctor_library(program, "libc.so"));
	assert_null(doctor_library(program, "libmpi"));
	close(fd);
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(doctor_read_libraries(fd, program), -ENOEXEC);
	close(fd);
	free(program);
}

/* Any cut, and any bytes of the headers made nonsense: it reads something, or refuses. */
static void test_damaged_program(void **state)
{
	enum { HEAD = 4096, TRIES = 2000 };
	struct doctor_program *program = calloc(1, sizeof(*program));
	unsigned short random[3] = {7, 8, 9};
	unsigned char head[HEAD];
	char path[] = "/tmp/test-doctor.XXXXXX";
	int own = open("/proc/self/exe", O_RDONLY), fd = mkstemp(path);
	int refused = 0;

	(void)state;
	assert_non_null(program);
	assert_true(own >= 0 && fd >= 0);
	unlink(path);
	assert_int_equal(read(own, head, HEAD), HEAD);
	for (int i = 0; i < TRIES; i++) {
		unsigned char damaged[HEAD];
		memcpy(damaged, head, HEAD);
		for (int k = 0; k < 3; k++)
			damaged[nrand48(random) % 800] = (unsigned char)nrand48(random);
		assert_int_equal(pwrite(fd, damaged, HEAD, 0), HEAD);
		assert_int_equal(ftruncate(fd, i % 2 == 0 ? HEAD : nrand48(random) % HEAD), 0);
		memset(program, 0, sizeof(*program));
		refused += doctor_read_libraries(fd, program) != 0;
		assert_true(program->libraries <= DOCTOR_LIBRARIES_MAX);
	}
	assert_true(refused > TRIES / 4);
	close(fd);
	close(own);
	free(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_cgroup1),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_plain_machine),
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_yield_versions),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_terminal_is_safe),
		cmocka_unit_test(test_small_things),
		cmocka_unit_test(test_launchers),
		cmocka_unit_test(test_mpi_rules),
		cmocka_unit_test(test_command_rules),
		cmocka_unit_test(test_parsers),
		cmocka_unit_test(test_own_libraries),
		cmocka_unit_test(test_damaged_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
