/* SPDX-License-Identifier: MIT */
/* Command lines of mpirun, mpiexec and srun: what they say about binding and the number of
 * ranks. */
#ifndef DOCTOR_LAUNCHER_H
#define DOCTOR_LAUNCHER_H

#include "tools/doctor/system.h"

/* Which launcher a program is, by the name of its file (after following links) and its
 * libraries. */
enum doctor_launcher_kind doctor_launcher_kind(const struct doctor_program *program);

/* Read the arguments of a launcher of that kind; command[0] is its name. Pure. */
void doctor_launcher_parse(
	struct doctor_launcher *out, enum doctor_launcher_kind kind, const char *const *command);

#endif
