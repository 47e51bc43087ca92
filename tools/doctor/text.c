/* SPDX-License-Identifier: MIT */
/* Reads small files that the kernel writes; see text.h. */
#include "tools/doctor/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/file.h"

int doctor_read_number(const char *root, const char *path, int64_t *out)
{
	char text[64];
	int error = file_read_text(root, path, text, sizeof(text));

	return error != 0 ? error : doctor_parse_number(text, out);
}

int doctor_read_cpus(const char *root, const char *path, struct cpuset *out)
{
	char text[16384];
	int error = file_read_text(root, path, text, sizeof(text));

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

int doctor_parse_load(const char *text, double *out)
{
	unsigned long whole;
	unsigned hundredths;

	if (*text == '-' || sscanf(text, "%9lu.%2u ", &whole, &hundredths) != 2)
		return -EBADMSG;
	*out = (double)whole + hundredths * 1e-2;
	return 0;
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
