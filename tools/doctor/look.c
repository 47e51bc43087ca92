/* SPDX-License-Identifier: MIT */
/* Inspects the command that juggle is to run, without running anything. */
#include "tools/doctor/launcher.h"
#include "tools/doctor/libraries.h"
#include "tools/doctor/system.h"

#include "daemon/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static void read_file(struct doctor_program *program, uid_t uid)
{
	char begin[2] = "";
	struct stat file;
	int fd = open(program->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	/* A file that may be executed but not read is not an error. */
	if (fd < 0)
		return;
	if (fstat(fd, &file) == 0)
		/* A program that is set-uid to another user than root keeps our real user ID, so we
		 * may move it. */
		program->privileged =
			((file.st_mode & S_ISUID) != 0 && file.st_uid == 0 && uid != 0) ||
			fgetxattr(fd, "security.capability", NULL, 0) > 0;
	program->script = pread(fd, begin, sizeof(begin), 0) == 2 && memcmp(begin, "#!", 2) == 0;
	if (!program->script)
		(void)doctor_read_libraries(fd, program);
	close(fd);
}

static void look_at(
	const struct doctor_system *system, struct doctor_program *program, const char *name)
{
	char real[PATH_MAX];

	*program = (struct doctor_program){0};
	snprintf(program->name, sizeof(program->name), "%s", name);
	program->error = program_find(
		doctor_env(system, "PATH"), name, program->path, sizeof(program->path));
	if (program->error != 0)
		return;
	read_file(program, system->uid);
	/* mpirun is often a link to the actual launcher. */
	if (realpath(program->path, real) != NULL)
		snprintf(program->path, sizeof(program->path), "%s", real);
}

void doctor_look_at_command(struct doctor_system *system)
{
	look_at(system, &system->program, system->command[0]);
	preload_decide(&system->phases, PHASES_AUTO, system->command, system->environment);
	enum doctor_launcher_kind kind = doctor_launcher_kind(&system->program);
	if (kind == DOCTOR_NO_LAUNCHER)
		return;
	doctor_launcher_parse(&system->launcher, kind, system->command);
	if (system->launcher.program >= 0)
		look_at(system, &system->inner, system->command[system->launcher.program]);
}
