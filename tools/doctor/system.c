/* SPDX-License-Identifier: MIT */
/* Looks up facts; see system.h. */
#include "tools/doctor/system.h"

#include "daemon/base/environment.h"

#include <limits.h>
#include <math.h>
#include <string.h>

void doctor_system_init(struct doctor_system *system)
{
	static const char *const nothing[] = {NULL};

	*system = (struct doctor_system){.quota_cpus = INFINITY,
		.autogroup = -1,
		.seccomp = -1,
		.perf_paranoid = INT_MIN,
		.births_seen = true,
		.environment = nothing,
		.launcher = {.program = -1}};
}

const char *doctor_env(const struct doctor_system *system, const char *name)
{
	return environment_value(system->environment, name);
}

const char *doctor_library(const struct doctor_program *program, const char *begin)
{
	for (size_t i = 0; i < program->libraries; i++)
		if (strncmp(program->library[i], begin, strlen(begin)) == 0)
			return program->library[i];
	return NULL;
}

const struct doctor_program *doctor_target(const struct doctor_system *system)
{
	if (system->command == NULL)
		return NULL;
	return system->inner.name[0] != '\0' ? &system->inner : &system->program;
}
