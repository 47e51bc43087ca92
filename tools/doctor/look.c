/* SPDX-License-Identifier: MIT */
/* Inspects the command that juggle is to run, without running anything. */
#include "tools/doctor/launcher.h"
#include "tools/doctor/libraries.h"
#include "tools/doctor/system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Judge a file as execve() would. */
static int check_file(const char *path)
{
	struct stat file;

	if (stat(path, &file) != 0)
		return -errno;
	if (!S_ISREG(file.st_mode))
		return S_ISDIR(file.st_mode) ? -EISDIR : -EACCES;
	return access(path, X_OK) == 0 ? 0 : -errno;
}

/* Find a program as execvp(3) does: the first in PATH that can be executed, or the reason why there
 * is none. */
static int find_program(
	const struct doctor_system *system, const char *name, char *out, size_t bytes)
{
	const char *path = doctor_env(system, "PATH");
	int error = -ENOENT;

	if (name[0] == '\0')
		return -ENOENT;
	if (strchr(name, '/') != NULL) {
		snprintf(out, bytes, "%s", name);
		return check_file(name);
	}
	if (path == NULL)
		path = "/bin:/usr/bin";
	for (;; path++) {
		size_t length = strcspn(path, ":");
		int whole = length > 0 ? snprintf(out, bytes, "%.*s/%s", (int)length, path, name)
				       : snprintf(out, bytes, "./%s", name);
		if (length < INT_MAX / 2 && whole >= 0 && (size_t)whole < bytes) {
			int r = check_file(out);
			if (r == 0)
				return 0;
			if (r == -EACCES)
				error = r;
		}
		path += length;
		if (*path == '\0')
			break;
	}
	out[0] = '\0';
	return error;
}

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
	program->error = find_program(system, name, program->path, sizeof(program->path));
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
	enum doctor_launcher_kind kind = doctor_launcher_kind(&system->program);
	if (kind == DOCTOR_NO_LAUNCHER)
		return;
	doctor_launcher_parse(&system->launcher, kind, system->command);
	if (system->launcher.program >= 0)
		look_at(system, &system->inner, system->command[system->launcher.program]);
}
