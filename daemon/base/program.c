/* SPDX-License-Identifier: MIT */
#include "daemon/base/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

int program_find(const char *path, const char *name, char *out, size_t bytes)
{
	int error = -ENOENT;

	out[0] = '\0';
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

bool program_is_launcher(const char *command)
{
	static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "srun",
		/* What these execute to start the ranks of a machine. No name is longer than a thread's. */
		"orted", "prted", "hydra_pmi_proxy"};
	const char *slash = strrchr(command, '/');
	const char *name = slash != NULL ? slash + 1 : command;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t length = strlen(names[i]);
		/* mpiexec.hydra, mpirun.openmpi */
		if (strncmp(name, names[i], length) == 0 &&
			(name[length] == '\0' || name[length] == '.'))
			return true;
	}
	return false;
}
