/* SPDX-License-Identifier: MIT */
/* The reader of segments behind the opening of a file, so that tests can give it any. */
#ifndef PROGRESS_READER_FD_H
#define PROGRESS_READER_FD_H

#include "libprogress/reader/reader.h"

/* As progress_reader_open(), of a file that is open to be read, and to be written if `writable`. The
 * descriptor is taken over, and closed when that fails. */
int progress_reader_open_fd(int fd, pid_t pid, uid_t uid, bool writable,
	struct progress_reader **out, uint32_t *version);

#endif
