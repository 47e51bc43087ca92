/* SPDX-License-Identifier: MIT */
#include "daemon/preload/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_MOST 16 /* of a list, that are looked into */

static int find_libc(struct dl_phdr_info *info, size_t bytes, void *usual)
{
	const char *name = strrchr(info->dlpi_name, '/');

	(void)bytes;
	if (name == NULL || strncmp(name, "/libc.so", 8) != 0)
		return 0;
	snprintf(usual, PATH_MAX, "%.*s", (int)(name - info->dlpi_name), info->dlpi_name);
	return 1;
}

void folders_init(
	struct folders *folders, const char *run_path, const char *path, const char *library_path)
{
	*folders = (struct folders){
		.run_path = run_path, .library_path = library_path != NULL ? library_path : ""};
	if (realpath(path, folders->origin) != NULL)
		*strrchr(folders->origin, '/') = '\0';
	dl_iterate_phdr(find_libc, folders->usual);
}

static int open_in(const char *before, const char *folder, size_t length, const char *library)
{
	char path[PATH_MAX];
	struct stat file;
	int n = snprintf(path, sizeof path, "%s%.*s/%s", before, (int)length, folder, library);

	if (n < 0 || (size_t)n >= sizeof path)
		return -ENAMETOOLONG;
	if (stat(path, &file) < 0)
		return -errno;
	if (!S_ISREG(file.st_mode))
		return -ENOENT;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Which part of a folder's name stands for the program's own folder? */
static size_t origin_length(const char *folder)
{
	static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};

	for (int i = 0; i < 2; i++)
		if (strncmp(folder, names[i], strlen(names[i])) == 0)
			return strlen(names[i]);
	return 0;
}

static int open_listed(const struct folders *folders, const char *list, const char *library)
{
	int fd = -ENOENT;

	for (int i = 0; fd < 0 && i < FOLDERS_MOST && *list != '\0'; i++) {
		size_t length = strcspn(list, ":;"), origin = origin_length(list);
		if (length < PATH_MAX && origin <= length)
			fd = open_in(origin > 0 ? folders->origin : "", list + origin,
				length - origin, library);
		list += length;
		list += *list != '\0';
	}
	return fd;
}

int folders_open(const struct folders *folders, const char *library)
{
	/* The first is usually in the loader's cache; the loader looks into the others last. */
	static const char others[] = "/usr/local/lib:/lib:/usr/lib";

	if (strchr(library, '/') != NULL)
		return -ENOENT; /* relative to where the program will be, perhaps */
	int fd = open_listed(folders, folders->run_path, library);
	if (fd < 0)
		fd = open_listed(folders, folders->library_path, library);
	if (fd < 0)
		fd = open_in("", folders->usual, strlen(folders->usual), library);
	if (fd < 0 && strncmp(folders->usual, "/usr/", 5) != 0)
		fd = open_in("/usr", folders->usual, strlen(folders->usual), library);
	if (fd < 0)
		fd = open_listed(folders, others, library);
	return fd;
}
