/* SPDX-License-Identifier: MIT */
/* jugglectl doctor: its readers of recorded machines, of text, of launchers' command lines, and of
 * programs' libraries. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/recorded.h"
#include "tests/unit/tools/doctor/facts.h"
#include "tools/doctor/libraries.h"

static void assert_mask(const struct cpuset *mask, const char *list)
{
	char text[200];

	cpuset_format(mask, text, sizeof(text));
	assert_string_equal(text, list);
}

/* ---- Recorded machines ---- */

/* Unpack a fixture, and read it as the machine on which juggle is to use these CPUs. */
static void read_machine(struct doctor_system *system, const char *name, const char *cpus)
{
	char root[] = RECORDED_ROOT, fixture[64];

	snprintf(fixture, sizeof(fixture), "doctor/%s", name);
	recorded_unpack(fixture, root);
	plain(system);
	system->cpus = system->mask = mask_of(cpus);
	memset(&system->first, 0, sizeof(system->first));
	memset(&system->cores, 0, sizeof(system->cores));
	doctor_read_machine(system, root);
	recorded_remove(root);
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
	assert_false(isfinite(s->quota_cpus));
	assert_says(s, "cpu_speeds", DOCTOR_WARNING, "(0-3) and small ones (4-7)", "--speeds");
	assert_level(s, "cpu_stolen", DOCTOR_NONE); /* nothing is known of it */
	assert_says(s, "smt", DOCTOR_NOTE, "of 6 cores", "juggle -c 0,2,4-7");
	assert_level(s, "governor", DOCTOR_NONE); /* intel_pstate's powersave is different */
	assert_says(s, "sched_yield", DOCTOR_NOTE, "6.12.40", "6.12.63");
	s->sampler_error[SAMPLER_PERF] = -EPERM;
	assert_says(s, "sampler_perf", DOCTOR_NOTE, "is 4", "=2");
	assert_int_equal(worst(s), DOCTOR_WARNING);
	/* Restricted to one kind. */
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
	assert_says(s, "cpu_quota", DOCTOR_WARNING, "2.5 CPUs, and there are 8", "juggle --fit");
	assert_says(s, "cpuset", DOCTOR_NOTE, "8 of 16", "");
	assert_level(s, "cpu_mask", DOCTOR_NONE);
	assert_level(s, "seccomp", DOCTOR_NOTE);
	assert_level(s, "hidepid", DOCTOR_NONE);
	assert_false(s->may_move_others);
	s->cpus = mask_of("4,5");
	assert_level(s, "cpu_quota", DOCTOR_GOOD);
	/* CPUs that others use. */
	s->cpus = mask_of("2-5");
	s->cpus_given = true;
	assert_says(s, "cpus_given", DOCTOR_PROBLEM, "2-3 are outside the cpuset", "");
	s->cpus = mask_of("4,16");
	assert_says(s, "cpus_given", DOCTOR_PROBLEM, "16 is offline", "");
	assert_level(s, "cpu_count", DOCTOR_NONE);
	s->cpus = mask_of("4,5");
	assert_level(s, "cpus_given", DOCTOR_NONE);
	assert_says(s, "cpu_count", DOCTOR_GOOD, "would use 2 CPUs: 4-5", "");
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
	assert_true(s->stolen[0] == 0.03 && s->stolen[3] == 0.12 && s->stolen[12] == 0);
	assert_says(s, "cpu_stolen", DOCTOR_NOTE,
		"3.8 % of the CPUs' time since boot, most of CPU 3: 12.0 %", "take turns");
	s->cpus = mask_of("0-2");
	assert_says(s, "cpu_stolen", DOCTOR_NOTE, "3.0 %", "no placement");
	assert_says(s, "cpu_load", DOCTOR_WARNING, "4212.6 on 12 CPUs", "");
	assert_true(s->may_move_others);
	assert_level(s, "autogroup", DOCTOR_NONE);
	free(s);
}

/* ---- Command lines of launchers ---- */

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
		parse_launcher(&found, cases[i].kind, cases[i].line);
		if (strcmp(found.bind, cases[i].bind) != 0 || found.ranks != cases[i].ranks ||
			found.program != cases[i].program || found.hosts != cases[i].hosts ||
			found.oversubscribe != cases[i].oversubscribe ||
			found.yield != cases[i].yield || found.unsure != cases[i].unsure)
			fail_msg("%s: bind %s, %u ranks, program %d", cases[i].line, found.bind,
				found.ranks, found.program);
	}
}

/* ---- Parsers ---- */

static void test_parsers(void **state)
{
	struct cpuset mask;
	struct doctor_version version = {0};
	char text[32];
	uint64_t number = 0;

	(void)state;
	mask = mask_of("0-2,8");
	assert_mask(&mask, "0-2,8");
	mask = mask_of("");
	assert_mask(&mask, "");
	static const char *const wrong[] = {
		"x", "1,", ",1", "1-", "-1", "1-2-3", "1 2", "0x1", "99999"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(doctor_parse_cpus(wrong[i], &mask), -EBADMSG);
	mask = mask_of("1,3,5,7,9,11,13,15,17,19,21");
	cpuset_format(&mask, text, 16);
	assert_true(strlen(text) < 16);
	assert_non_null(strstr(text, ",..."));

	double load = 7;
	assert_int_equal(doctor_parse_load("4213.07 3000.20 0.00 9/12000 81234\n", &load), 0);
	assert_true(load == 4213.07);
	static const char *const no_loads[] = {
		"", "1", "1.", "x.00 ", ".50 ", "-1.00 ", "1234567890.00 "};
	for (size_t i = 0; i < sizeof no_loads / sizeof *no_loads; i++)
		assert_int_equal(doctor_parse_load(no_loads[i], &load), -EBADMSG);

	int64_t whole = 7;
	assert_int_equal(doctor_parse_number("-12", &whole), 0);
	assert_int_equal(whole, -12);
	static const char *const no_numbers[] = {"", "x", "1 ", "1x", "99999999999999999999"};
	for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++)
		assert_int_equal(doctor_parse_number(no_numbers[i], &whole), -EBADMSG);
	assert_int_equal(whole, -12);
	assert_int_equal(doctor_parse_version("6.12.63-generic", &version), 0);
	assert_true(version.major == 6 && version.minor == 12 && version.patch == 63);
	assert_int_equal(doctor_parse_version("7.0", &version), 0);
	assert_int_equal(doctor_parse_version("", &version), -EBADMSG);
	assert_int_equal(doctor_parse_version("x.y", &version), -EBADMSG);

	assert_int_equal(doctor_parse_status("A:\t1\nSeccomp:\t2\n", "Seccomp", 10, &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(
		doctor_parse_status("Seccomp_filters:\t2", "Seccomp", 10, &number), -ENOENT);

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_cgroup1),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_launchers),
		cmocka_unit_test(test_parsers),
		cmocka_unit_test(test_own_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
