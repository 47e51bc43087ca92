/* SPDX-License-Identifier: MIT */
/* The CPU on which a thread last ran, for threads that the kernel places. */
#include "daemon/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "daemon/proc/read.h"

int proc_parse_cpu(const char *text, size_t bytes, int32_t *out)
{
	enum { FIELD_AFTER_COMM = 3, FIELD_PROCESSOR = 39, CPU_MAX = 1 << 20 };
	/* A name may contain parentheses and blanks; the fields after it don't. */
	const char *at = memrchr(text, ')', bytes), *end = text + bytes;
	int32_t cpu = 0;
	int digits = 0;

	for (int field = FIELD_AFTER_COMM; field <= FIELD_PROCESSOR && at != NULL; field++) {
		at = memchr(at, ' ', (size_t)(end - at));
		at = at == NULL ? NULL : at + 1;
	}
	for (; at != NULL && at < end && *at >= '0' && *at <= '9' && cpu < CPU_MAX; at++, digits++)
		cpu = 10 * cpu + (*at - '0');
	if (digits == 0 || at == end || *at != ' ' || cpu >= CPU_MAX)
		return -EBADMSG;
	*out = cpu;
	return 0;
}

int proc_read_cpu(pid_t pid, pid_t tid, int32_t *out)
{
	char path[PROC_PATH_BYTES], text[PROC_STAT_BYTES];

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	__attribute__((cleanup(proc_close_fd))) int fd = proc_open_at(AT_FDCWD, path, 0);
	if (fd < 0)
		return fd;
	ssize_t n = proc_read_fd(fd, text, sizeof text);
	return n < 0 ? (int)n : proc_parse_cpu(text, (size_t)n, out);
}
