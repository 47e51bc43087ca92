/* SPDX-License-Identifier: MIT */
/*
 * What only /proc/PID/task/TID/status has: how often a thread went to sleep voluntarily, which shows
 * barriers that block, and its affinity mask with CPUs that are offline.
 */
#include "daemon/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Status of a machine with 8,192 CPUs: the mask is there twice, as bits and as a list. */
#define STATUS_BYTES 16384

/* Where a field's value starts; its length goes to *length. NULL: there is none, or no end of it. */
static const char *value_of(const char *text, size_t bytes, const char *field, size_t *length)
{
	size_t name = strlen(field);
	const char *at = memmem(text, bytes, field, name);

	if (at == NULL)
		return NULL;
	at += name;
	const char *end = memchr(at, '\n', (size_t)(text + bytes - at));
	while (end != NULL && at < end && (*at == ' ' || *at == '\t'))
		at++;
	*length = end != NULL ? (size_t)(end - at) : 0;
	return end != NULL ? at : NULL;
}

int proc_parse_blocks(const char *text, size_t bytes, uint64_t *out)
{
	size_t length;
	const char *at = value_of(text, bytes, "\nvoluntary_ctxt_switches:", &length);
	uint64_t value = 0;
	size_t digits = 0;

	if (at == NULL)
		return -EBADMSG;
	for (; digits < length && at[digits] >= '0' && at[digits] <= '9'; digits++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(at[digits] - '0'), &value))
			return -EBADMSG;
	if (digits == 0 || digits != length)
		return -EBADMSG;
	*out = value;
	return 0;
}

int proc_parse_mask(const char *text, size_t bytes, struct cpuset *out)
{
	size_t length;
	const char *at = value_of(text, bytes, "\nCpus_allowed_list:", &length);
	char list[STATUS_BYTES];

	if (at == NULL || length >= sizeof list)
		return -EBADMSG;
	memcpy(list, at, length);
	list[length] = '\0';
	return cpuset_parse(list, out) < 0 ? -EBADMSG : 0;
}

int proc_open_status(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

/* One read gets the whole text, as far as there is room. Returns its length, or a negative errno. */
static ssize_t read_status(int fd, char *text, size_t room)
{
	ssize_t n = pread(fd, text, room, 0);

	return n < 0 ? -errno : n;
}

int proc_read_blocks(int fd, uint64_t *out)
{
	char text[STATUS_BYTES];
	ssize_t n = read_status(fd, text, sizeof text);

	return n < 0 ? (int)n : proc_parse_blocks(text, (size_t)n, out);
}

int proc_read_mask(pid_t pid, pid_t tid, struct cpuset *out)
{
	char text[STATUS_BYTES];
	int fd = proc_open_status(pid, tid);

	if (fd < 0)
		return fd;
	ssize_t n = read_status(fd, text, sizeof text);
	close(fd);
	return n < 0 ? (int)n : proc_parse_mask(text, (size_t)n, out);
}
