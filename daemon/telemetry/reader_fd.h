/* SPDX-License-Identifier: MIT */
/* The reader of telemetry without the opening of its file, so that tests can give it any file. */
#ifndef JUGGLE_TELEMETRY_READER_FD_H
#define JUGGLE_TELEMETRY_READER_FD_H

#include "daemon/telemetry/reader.h"

/* As telemetry_reader_open(), for a file that is open for reading. Takes over the descriptor, and
 * closes it on an error. */
int telemetry_reader_open_fd(
	int fd, pid_t pid, uid_t uid, struct telemetry_reader **out, uint32_t *version);

#endif
