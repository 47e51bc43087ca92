/* SPDX-License-Identifier: MIT */
#include "daemon/base/file.h"

#include <errno.h>
#include <unistd.h>

int file_write_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t n = write(fd, at, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}
