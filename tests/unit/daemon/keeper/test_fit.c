/* SPDX-License-Identifier: MIT */
/* What --fit sets, by CPUs, quota, ranks, and what the environment has. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/keeper/fit.h"

#include "daemon/base/program.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ALL(n)                                                                                     \
	"OMP_NUM_THREADS=" #n " OPENBLAS_NUM_THREADS=" #n " MKL_NUM_THREADS=" #n                   \
	" BLIS_NUM_THREADS=" #n " NUMEXPR_NUM_THREADS=" #n " "
#define PASSIVE "OMP_WAIT_POLICY=passive "
#define YIELD "OMPI_MCA_mpi_yield_when_idle=1 "

static void test_decide(void **state)
{
	static const struct {
		const char *expected;
		int cpus, shared_cpus;
		double quota_cpus;
		uint32_t ranks;
		bool launcher;
		const char *environment[3];
	} cases[] = {
		{ALL(4), 4, 4, INFINITY, 1, false, {NULL}},
		{ALL(3), 4, 4, 2.5, 1, false, {NULL}},
		{ALL(1), 2, 2, 1, 1, false, {NULL}},
		{ALL(1), 4, 4, 0.1, 1, false, {"HOME=/", NULL}},
		{ALL(4), 4, 4, 64, 1, false, {NULL}},
		/* Nothing that is set is overridden, not even by a near name. */
		{"", 4, 4, 4, 1, false, {"OMP_NUM_THREADS=4", NULL}},
		{"", 4, 4, 4, 1, false, {"OMP_NUM_THREADS=", NULL}},
		{ALL(4), 4, 4, 4, 1, false, {"OMP_NUM_THREADS_X=1", NULL}},
		{"OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4 BLIS_NUM_THREADS=4 ", 4, 4, 4, 1, false,
			{"MKL_NUM_THREADS=2", "NUMEXPR_MAX_THREADS=2", NULL}},
		{"OMP_NUM_THREADS=4 MKL_NUM_THREADS=4 BLIS_NUM_THREADS=4 NUMEXPR_NUM_THREADS=4 ", 4,
			4, 4, 1, false, {"GOTO_NUM_THREADS=2", NULL}},
		/* The user wants more threads than fit. */
		{PASSIVE, 4, 4, 2, 1, false, {"OMP_NUM_THREADS=3", NULL}},
		{PASSIVE, 4, 4, 4, 1, false, {"OMP_NUM_THREADS=2,3", NULL}},
		{"", 4, 4, 4, 1, false, {"OMP_NUM_THREADS=2,2", NULL}},
		{"", 4, 4, 4, 1, false, {"OMP_NUM_THREADS=x", NULL}},
		{"", 4, 4, 2, 1, false, {"OMP_NUM_THREADS=3", "OMP_WAIT_POLICY=active", NULL}},
		{"", 4, 4, 2, 1, false, {"OMP_NUM_THREADS=3", "KMP_BLOCKTIME=0", NULL}},
		{PASSIVE, 4, 4, 4, 1, false,
			{"OMP_NUM_THREADS=99999999999999999999,9999999,9999", NULL}},
		/* Ranks divide the CPUs, whether or not each is bound to its own. */
		{ALL(4), 16, 16, INFINITY, 4, false, {NULL}},
		{ALL(4), 8, 16, INFINITY, 4, false, {NULL}},
		{ALL(4), 4, 16, INFINITY, 4, false, {NULL}},
		{ALL(2), 2, 16, INFINITY, 4, false, {NULL}},
		{ALL(2), 16, 16, 8, 4, false, {NULL}},
		{ALL(1), 2, 2, INFINITY, 2, false, {NULL}},
		{ALL(1) PASSIVE YIELD, 2, 2, INFINITY, 3, false, {NULL}},
		{ALL(1) PASSIVE YIELD, 4, 4, 2, 3, false, {NULL}},
		{ALL(1) PASSIVE, 2, 2, INFINITY, 3, false, {"MPI_LOCALNRANKS=3", NULL}},
		{ALL(1) PASSIVE, 2, 2, INFINITY, 3, false,
			{"OMPI_MCA_mpi_yield_when_idle=0", NULL}},
		{PASSIVE YIELD, 4, 4, INFINITY, 2, false, {"OMP_NUM_THREADS=3", NULL}},
		/* Of a launcher's ranks only that there may be one for each CPU is known. */
		{"", 4, 4, INFINITY, 1, true, {NULL}},
		{"", 4, 4, 4, 1, true, {NULL}},
		{PASSIVE YIELD, 4, 4, 3, 1, true, {NULL}},
	};
	(void)state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct fit_facts facts = {.cpus = cases[i].cpus,
			.shared_cpus = cases[i].shared_cpus,
			.quota_cpus = cases[i].quota_cpus,
			.ranks = cases[i].ranks,
			.launcher = cases[i].launcher,
			.environment = cases[i].environment};
		struct fit_setting setting[FIT_SETTINGS];
		char text[512] = "";
		size_t n = fit_decide(&facts, setting);
		assert_true(n <= FIT_SETTINGS);
		for (size_t k = 0; k < n; k++)
			sprintf(text + strlen(text), "%s=%s ", setting[k].name, setting[k].value);
		if (strcmp(text, cases[i].expected) != 0)
			fail_msg("case %zu: '%s', not '%s'", i, text, cases[i].expected);
	}
}

static void test_local_ranks(void **state)
{
	static const struct {
		uint32_t ranks;
		const char *environment[4];
	} cases[] = {
		{1, {NULL}},
		{4, {"A=b", "OMPI_COMM_WORLD_LOCAL_SIZE=4", NULL}},
		{3, {"MPI_LOCALNRANKS=3", NULL}},
		{5, {"MV2_COMM_WORLD_LOCAL_SIZE=5", NULL}},
		{4, {"SLURM_STEP_TASKS_PER_NODE=9", "OMPI_COMM_WORLD_LOCAL_SIZE=4", NULL}},
		{9, {"SLURM_STEP_TASKS_PER_NODE=9", NULL}},
		{4, {"SLURM_STEP_TASKS_PER_NODE=4(x2),3", "SLURM_NODEID=1", NULL}},
		{3, {"SLURM_STEP_TASKS_PER_NODE=4(x2),3", "SLURM_NODEID=2", NULL}},
		{1, {"SLURM_STEP_TASKS_PER_NODE=4(x2),3", "SLURM_NODEID=3", NULL}},
		/* A batch script is no step. */
		{1, {"SLURM_TASKS_PER_NODE=8", NULL}},
		/* Damaged. */
		{1, {"OMPI_COMM_WORLD_LOCAL_SIZE=", NULL}},
		{1, {"OMPI_COMM_WORLD_LOCAL_SIZE=x", NULL}},
		{1, {"OMPI_COMM_WORLD_LOCAL_SIZE=0", NULL}},
		{1, {"OMPI_COMM_WORLD_LOCAL_SIZE=-3", NULL}},
		{1, {"OMPI_COMM_WORLD_LOCAL_SIZE=99999999999", NULL}},
		{1, {"SLURM_STEP_TASKS_PER_NODE=", NULL}},
		{1, {"SLURM_STEP_TASKS_PER_NODE=-4", NULL}},
		{1, {"SLURM_STEP_TASKS_PER_NODE=4(x", "SLURM_NODEID=1", NULL}},
		{1, {"SLURM_STEP_TASKS_PER_NODE=4(x-9),3", "SLURM_NODEID=1", NULL}},
		{4, {"SLURM_STEP_TASKS_PER_NODE=4", "SLURM_NODEID=x", NULL}},
	};
	(void)state;

	for (size_t i = 0; i < COUNT(cases); i++)
		if (fit_local_ranks(cases[i].environment) != cases[i].ranks)
			fail_msg("case %zu: %u ranks", i, fit_local_ranks(cases[i].environment));
}

static void test_launchers(void **state)
{
	static const char *const launchers[] = {"mpirun", "/usr/bin/mpirun", "mpiexec.hydra",
		"./srun", "mpirun.openmpi", "orterun", "orted", "prted", "hydra_pmi_proxy"};
	static const char *const others[] = {"", "/", "mpirun/", "mpirunx", "./app", "sh", "mpi"};
	(void)state;

	for (size_t i = 0; i < COUNT(launchers); i++)
		assert_true(program_is_launcher(launchers[i]));
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(program_is_launcher(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_local_ranks),
		cmocka_unit_test(test_launchers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
