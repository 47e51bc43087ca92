/* SPDX-License-Identifier: MIT */
/* Reads small files that the kernel writes; see text.h. */
#include "tools/doctor/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 8192

int doctor_read_file(const char *root, const char *path, char *out, size_t bytes)
{
	char name[NAME_BYTES];
	size_t filled = 0;
	ssize_t r = 0;

	out[0] = '\0';
	if ((size_t)snprintf(name, sizeof(name), "%s%s", root, path) >= sizeof(name))
		return -ENAMETOOLONG;
	/* Without O_NONBLOCK, opening a pipe in place of a file would block. */
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	while (filled + 1 < bytes && (r = read(fd, out + filled, bytes - 1 - filled)) > 0)
		filled += (size_t)r;
	int error = r < 0 ? -errno : 0;
	close(fd);
	out[error == 0 ? filled : 0] = '\0';
	size_t length = strlen(out);
	if (length > 0 && out[length - 1] == '\n')
		out[length - 1] = '\0';
	return error;
}

int doctor_read_number(const char *root, const char *path, int64_t *out)
{
	char text[64];
	int error = doctor_read_file(root, path, text, sizeof(text));

	return error != 0 ? error : doctor_parse_number(text, out);
}

int doctor_read_cpus(const char *root, const char *path, struct cpuset *out)
{
	char text[16384];
	int error = doctor_read_file(root, path, text, sizeof(text));

	if (error == 0)
		return doctor_parse_cpus(text, out);
	memset(out, 0, sizeof(*out));
	return error;
}

int doctor_parse_number(const char *text, int64_t *out)
{
	char *end;

	errno = 0;
	long long number = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0)
		return -EBADMSG;
	*out = number;
	return 0;
}

int doctor_parse_cpus(const char *text, struct cpuset *out)
{
	memset(out, 0, sizeof(*out));
	if (*text == '\0' || strcmp(text, "(null)") == 0)
		return 0;
	return cpuset_parse(text, out) < 0 ? -EBADMSG : 0;
}

int doctor_parse_version(const char *text, struct doctor_version *out)
{
	struct doctor_version version = {0};

	if (sscanf(text, "%4d.%4d.%4d", &version.major, &version.minor, &version.patch) < 2 ||
		version.major <= 0 || version.minor < 0 || version.patch < 0)
		return -EBADMSG;
	*out = version;
	return 0;
}

bool doctor_version_from(const struct doctor_version *version, int major, int minor, int patch)
{
	if (version->major != major)
		return version->major > major;
	if (version->minor != minor)
		return version->minor > minor;
	return version->patch >= patch;
}

int doctor_parse_status(const char *text, const char *key, int base, uint64_t *out)
{
	size_t length = strlen(key);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		char *end;
		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || line[length] != ':')
			continue;
		uint64_t value = strtoull(line + length + 1, &end, base);
		if (end == line + length + 1)
			return -ENOENT;
		*out = value;
		return 0;
	}
	return -ENOENT;
}

/* Is the word in a comma-separated list? */
static bool has_word(const char *list, size_t bytes, const char *word)
{
	size_t length = strlen(word);

	for (size_t at = 0; at <= bytes;) {
		const char *comma = memchr(list + at, ',', bytes - at);
		size_t end = comma != NULL ? (size_t)(comma - list) : bytes;
		if (end - at == length && memcmp(list + at, word, length) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

int doctor_parse_cgroup(const char *text, const char *controller, char *out, size_t bytes)
{
	for (const char *line = text; *line != '\0';) {
		size_t length = strcspn(line, "\n");
		const char *list = memchr(line, ':', length);
		const char *path =
			list != NULL ? memchr(list + 1, ':', length - (size_t)(list + 1 - line))
				     : NULL;
		if (path != NULL && has_word(list + 1, (size_t)(path - list - 1), controller)) {
			size_t rest = length - (size_t)(path + 1 - line);
			if (rest >= bytes)
				return -ENOENT;
			memcpy(out, path + 1, rest);
			out[rest] = '\0';
			if (strstr(out, "..") != NULL || out[0] != '/')
				snprintf(out, bytes, "/");
			return 0;
		}
		line += length + (line[length] == '\n');
	}
	return -ENOENT;
}

double doctor_parse_cpu_max(const char *text)
{
	double quota, period;

	if (sscanf(text, "%lf %lf", &quota, &period) != 2 || !(quota > 0) || !(period > 0))
		return INFINITY;
	return quota / period;
}

bool doctor_parse_hidepid(const char *mounts)
{
	bool hidden = false;

	for (const char *line = mounts; *line != '\0';) {
		char where[32], kind[16], options[512], *value;
		if (sscanf(line, "%*s %31s %15s %511s", where, kind, options) == 3 &&
			strcmp(where, "/proc") == 0 && strcmp(kind, "proc") == 0) {
			/* A later mount hides an earlier one. */
			value = strstr(options, "hidepid=");
			hidden = value != NULL && strncmp(value, "hidepid=0", 9) != 0 &&
				 strncmp(value, "hidepid=off", 11) != 0;
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return hidden;
}

int doctor_parse_stolen(const char *line, int *cpu, double *share)
{
	enum { STOLEN = 7, TIMES }; /* guests' times, behind it, are in the first ones, too */
	unsigned long long time[TIMES];
	double sum = 0;
	unsigned number;

	/* "cpu  1 2 3" is the sum of all. */
	if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9' ||
		sscanf(line, "cpu%5u %llu %llu %llu %llu %llu %llu %llu %llu", &number, &time[0],
			&time[1], &time[2], &time[3], &time[4], &time[5], &time[6],
			&time[STOLEN]) != 1 + TIMES ||
		number >= CPUSET_CPUS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < TIMES; i++)
		sum += (double)time[i];
	*cpu = (int)number;
	*share = sum > 0 ? (double)time[STOLEN] / sum : 0;
	return 0;
}
