/* SPDX-License-Identifier: MIT */
/* How often a thread went to sleep voluntarily, which shows barriers that block. */
#include "daemon/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int proc_parse_blocks(const char *text, size_t bytes, uint64_t *out)
{
	static const char field[] = "\nvoluntary_ctxt_switches:";
	const char *at = memmem(text, bytes, field, sizeof field - 1);
	const char *end = text + bytes;
	uint64_t value = 0;
	int digits = 0;

	if (at == NULL)
		return -EBADMSG;
	at += sizeof field - 1;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	for (; at < end && *at >= '0' && *at <= '9'; at++, digits++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return -EBADMSG;
	if (digits == 0 || at == end || *at != '\n')
		return -EBADMSG;
	*out = value;
	return 0;
}

int proc_read_blocks(pid_t pid, pid_t tid, uint64_t *out)
{
	char path[64], text[4096];

	snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ssize_t n = read(fd, text, sizeof text);
	int r = n < 0 ? -errno : 0;
	close(fd);
	return r < 0 ? r : proc_parse_blocks(text, (size_t)n, out);
}
