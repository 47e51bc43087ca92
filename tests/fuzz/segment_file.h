/* SPDX-License-Identifier: MIT */
/* Files without a name for fuzzers of what reads segments. */
#ifndef FUZZ_SEGMENT_FILE_H
#define FUZZ_SEGMENT_FILE_H

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of so many bytes, which begins with these; what is missing is zero. As a segment it is for
 * its user alone. */
static inline int segment_file(const void *data, size_t bytes, size_t total)
{
	int fd = memfd_create("segment", MFD_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0600) < 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes ||
		ftruncate(fd, (off_t)total) < 0)
		abort();
	return fd;
}

#endif
