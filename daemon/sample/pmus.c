/* SPDX-License-Identifier: MIT */
#include "daemon/sample/pmus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/parse.h"
#include "daemon/sample/back_end.h"

/* Only a PMU of cores has a file "cpus", which lists them, and only where there may be several
 * kinds; others have a "cpumask". Some kernels have only the names. */
static bool is_of_cores(int folder, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/cpus", name);
	return faccessat(folder, path, F_OK, 0) == 0 || strcmp(name, "cpu_core") == 0 ||
	       strcmp(name, "cpu_atom") == 0 || strncmp(name, "armv", 4) == 0;
}

static int read_type(int folder, const char *name, uint32_t *type)
{
	char path[300], text[16];
	int64_t value;

	snprintf(path, sizeof(path), "%s/type", name);
	SAMPLE_AUTO_CLOSE int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (bytes <= 0)
		return -EBADMSG;
	text[text[bytes - 1] == '\n' ? bytes - 1 : bytes] = '\0';
	if (parse_integer(text, 0, UINT32_MAX, &value) < 0)
		return -EBADMSG;
	*type = (uint32_t)value;
	return 0;
}

/* Returns 0, or -EBADMSG. */
static int insert(uint32_t *type, int count, uint32_t value)
{
	if (count == PMUS_MAX)
		return -EBADMSG;
	for (; count > 0 && type[count - 1] > value; count--)
		type[count] = type[count - 1];
	type[count] = value;
	return 0;
}

int pmus_find(const char *devices, uint32_t type[PMUS_MAX])
{
	DIR *dir = opendir(devices);
	struct dirent *entry;
	uint32_t value = 0;
	int count = 0, error = 0;

	if (dir == NULL)
		return 0;
	while (error == 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || !is_of_cores(dirfd(dir), entry->d_name))
			continue;
		error = read_type(dirfd(dir), entry->d_name, &value);
		if (error == 0)
			error = insert(type, count, value);
		count += error == 0;
	}
	closedir(dir);
	return error == 0 ? count : error;
}

/* On a core of another kind the time of an event is enabled, but doesn't run. So an event's own two
 * times don't show what it missed; the longest one, and all that ran, do. */
struct pmus_value pmus_sum(const struct pmus_value *value, size_t count)
{
	struct pmus_value sum = {0};

	for (size_t i = 0; i < count; i++) {
		sum.count += value[i].count;
		sum.running_ns += value[i].running_ns;
		if (value[i].enabled_ns > sum.enabled_ns)
			sum.enabled_ns = value[i].enabled_ns;
	}
	if (sum.running_ns > 0 && sum.running_ns < sum.enabled_ns)
		sum.count = (uint64_t)((double)sum.count * (double)sum.enabled_ns /
				       (double)sum.running_ns);
	return sum;
}
