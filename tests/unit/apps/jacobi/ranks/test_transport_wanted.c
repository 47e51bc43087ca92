/* SPDX-License-Identifier: MIT */
#include "apps/jacobi/ranks/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(uint32_t processes, const char *const variables[][2], size_t n)
{
	const char *format = getenv("CMOCKA_MESSAGE_OUTPUT");
	char *kept = format ? strdup(format) : NULL;

	clearenv();
	if (kept)
		setenv("CMOCKA_MESSAGE_OUTPUT", kept, 1);
	free(kept);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
	assert_int_equal(transport_expected(), processes);
	assert_int_equal(transport_wanted(), processes != 1);
}

#define EXPECT(processes, ...)                                                                     \
	do {                                                                                       \
		static const char *const variables[][2] = {__VA_ARGS__};                           \
		expect(processes, variables, sizeof(variables) / sizeof(variables[0]));            \
	} while (0)

static void test_launchers(void **state)
{
	(void)state;
	EXPECT(1, {"HOME", "/"});
	EXPECT(4, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"});
	EXPECT(1, {"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"});
	EXPECT(2, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}, {"MPI_LOCALNRANKS", "1"});
	EXPECT(0, {"PMIX_RANK", "0"});
	EXPECT(0, {"PMI_FD", "7"});
}

/* The shell of salloc and a batch script run alone; srun may start several processes, or mpirun's
 * daemons. */
static void test_slurm(void **state)
{
	(void)state;
	EXPECT(1, {"SLURM_JOB_ID", "1"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"});
	EXPECT(1, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "8"}, {"PMIX_RANK", "0"});
	EXPECT(8, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "3"});
	EXPECT(4, {"SLURM_STEP_NUM_TASKS", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"});
}

static void test_nonsense(void **state)
{
	(void)state;
	EXPECT(1, {"OMPI_COMM_WORLD_SIZE", ""});
	EXPECT(1, {"OMPI_COMM_WORLD_SIZE", "4x"});
	EXPECT(1, {"OMPI_COMM_WORLD_SIZE", "0"});
	EXPECT(1, {"OMPI_COMM_WORLD_SIZE", "-2"});
	EXPECT(3, {"OMPI_COMM_WORLD_SIZE", "many"}, {"PMI_SIZE", "3"});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launchers),
		cmocka_unit_test(test_slurm),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
