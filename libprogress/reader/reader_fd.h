/* SPDX-License-Identifier: MIT */
/* The reader of segments without the opening of the file, so that tests can give it any file. */
#ifndef PROGRESS_READER_FD_H
#define PROGRESS_READER_FD_H

#include "libprogress/reader/reader.h"

/* As progress_reader_open(), for a file that is open for reading, and for writing if `writable`.
 * Takes over the descriptor, and closes it on an error. */
int progress_reader_open_fd(int fd, pid_t pid, uid_t uid, bool writable,
	struct progress_reader **out, uint32_t *version);

#endif
