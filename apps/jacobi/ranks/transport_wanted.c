/* SPDX-License-Identifier: MIT */
/*
 * What launchers pass to the processes that they start. It is separate from MPI, so that a build
 * without MPI can report the launcher instead of running the same problem several times.
 */
#include "apps/jacobi/ranks/transport.h"

#include <stdlib.h>

uint32_t transport_expected(void)
{
	/* The launcher nearest to the process comes first: srun may have started mpirun. A batch
	 * script, or the shell of salloc, has many SLURM_ variables, but is not a step of several
	 * tasks. */
	static const char *const sizes[] = {
		"OMPI_COMM_WORLD_SIZE",
		"PMI_SIZE",
		"MV2_COMM_WORLD_SIZE",
		"PALS_SIZE",
		"SLURM_STEP_NUM_TASKS",
		"MPI_LOCALNRANKS",
	};
	static const char *const servers[] = {"PMIX_RANK", "PMI_FD", "PMI_PORT"};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *text = getenv(sizes[i]);
		char *end;

		if (!text)
			continue;
		unsigned long value = strtoul(text, &end, 10);
		if (end != text && !*end && value > 0 && value <= UINT32_MAX)
			return (uint32_t)value;
	}
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		if (getenv(servers[i]))
			return 0;
	return 1;
}

bool transport_wanted(void)
{
	return transport_expected() != 1;
}
