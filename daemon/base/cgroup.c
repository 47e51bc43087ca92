/* SPDX-License-Identifier: MIT */
#include "daemon/base/cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next line of a text; the end of it after the last one. */
static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
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

/* Is the group outside of those that this process sees? Names may have dots, too. */
static bool is_outside(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")) != NULL; at += 3)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

int cgroup_parse_path(const char *groups, const char *controller, char *out, size_t bytes)
{
	for (const char *line = groups; *line != '\0';) {
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
			if (is_outside(out) || out[0] != '/')
				snprintf(out, bytes, "/");
			return 0;
		}
		line += length + (line[length] == '\n');
	}
	return -ENOENT;
}

/* ---- Mounts ---- */

/* A field of mountinfo, up to a blank. Blanks and the like in names are octal: "\040". Returns what
 * follows, or NULL when there is no such field, or it is too long. */
static const char *take_field(const char *text, char *out, size_t bytes)
{
	size_t n = 0;

	while (*text == ' ')
		text++;
	while (*text != '\0' && *text != ' ' && *text != '\n') {
		char one = *text++;
		if (one == '\\' && strspn(text, "01234567") >= 3) {
			one = (char)((text[0] - '0') * 64 + (text[1] - '0') * 8 + text[2] - '0');
			text += 3;
		}
		if (n + 1 >= bytes)
			return NULL;
		out[n++] = one;
	}
	out[n] = '\0';
	return n > 0 ? text : NULL;
}

struct mount {
	char root[CGROUP_PATH_BYTES]; /* what is mounted of the tree of groups */
	char point[CGROUP_PATH_BYTES];
	char kind[32];
	char options[512]; /* with the controllers of version 1 */
};

/* "31 23 0:28 ROOT POINT OPTIONS [FIELD...] - KIND SOURCE OPTIONS" */
static bool parse_mount(const char *line, struct mount *out)
{
	char skipped[CGROUP_PATH_BYTES];

	for (int i = 0; i < 3 && line != NULL; i++)
		line = take_field(line, skipped, sizeof skipped);
	if (line != NULL)
		line = take_field(line, out->root, sizeof out->root);
	if (line != NULL)
		line = take_field(line, out->point, sizeof out->point);
	do
		line = line != NULL ? take_field(line, skipped, sizeof skipped) : NULL;
	while (line != NULL && strcmp(skipped, "-") != 0);
	if (line != NULL)
		line = take_field(line, out->kind, sizeof out->kind);
	if (line != NULL)
		line = take_field(line, skipped, sizeof skipped);
	return line != NULL && take_field(line, out->options, sizeof out->options) != NULL;
}

static bool is_of(const struct mount *mount, const char *controller)
{
	if (*controller == '\0')
		return strcmp(mount->kind, "cgroup2") == 0;
	return strcmp(mount->kind, "cgroup") == 0 &&
	       has_word(mount->options, strlen(mount->options), controller);
}

/* The folder that a path in the tree of groups has by this mount. */
static bool place(const struct mount *mount, const char *path, struct cgroup_folder *out)
{
	size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
	size_t top = strcmp(mount->point, "/") == 0 ? 0 : strlen(mount->point);

	if (strncmp(path, mount->root, root) != 0 || (path[root] != '/' && path[root] != '\0'))
		return false;
	const char *below = strcmp(path + root, "/") == 0 ? "" : path + root;
	out->top = top;
	return (size_t)snprintf(out->path, sizeof out->path, "%.*s%s", (int)top, mount->point,
		       below) < sizeof out->path;
}

int cgroup_find(
	const char *mounts, const char *groups, const char *controller, struct cgroup_folder *out)
{
	struct mount mount;
	char path[CGROUP_PATH_BYTES];

	if (cgroup_parse_path(groups, controller, path, sizeof path) < 0)
		return -ENOENT;
	for (const char *line = mounts; *line != '\0'; line = next_line(line))
		if (parse_mount(line, &mount) && is_of(&mount, controller) &&
			place(&mount, path, out))
			return 0;
	return -ENOENT;
}

bool cgroup_go_up(struct cgroup_folder *folder)
{
	char *slash = strrchr(folder->path + folder->top, '/');

	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

int cgroup_read_mounts(const char *root, char *out, size_t bytes)
{
	char name[CGROUP_PATH_BYTES], *line = NULL;
	size_t room = 0, used = 0;
	ssize_t n;

	out[0] = '\0';
	if ((size_t)snprintf(name, sizeof name, "%s/proc/self/mountinfo", root) >= sizeof name)
		return -ENAMETOOLONG;
	FILE *file = fopen(name, "re");
	if (file == NULL)
		return -errno;
	while ((n = getline(&line, &room, file)) > 0)
		if (strstr(line, " - cgroup") != NULL && used + (size_t)n < bytes) {
			memcpy(out + used, line, (size_t)n + 1);
			used += (size_t)n;
		}
	free(line);
	fclose(file);
	return 0;
}

/* ---- Small files ---- */

double cgroup_parse_cpu_max(const char *text)
{
	double quota, period;

	if (sscanf(text, "%lf %lf", &quota, &period) != 2 || !(quota > 0) || !(period > 0))
		return INFINITY;
	return quota / period;
}

int cgroup_parse_stat(const char *text, const char *key, uint64_t *out)
{
	size_t length = strlen(key);

	for (const char *line = text; *line != '\0'; line = next_line(line)) {
		char *end;
		if (strncmp(line, key, length) != 0 || line[length] != ' ' ||
			line[length + 1] < '0' || line[length + 1] > '9')
			continue;
		errno = 0;
		uint64_t value = strtoull(line + length + 1, &end, 10);
		if (errno != 0 || (*end != '\n' && *end != '\0'))
			return -ENOENT;
		*out = value;
		return 0;
	}
	return -ENOENT;
}
