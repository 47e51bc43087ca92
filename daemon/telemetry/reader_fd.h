/* SPDX-License-Identifier: MIT */
/* The reader of telemetry behind the opening of a file, so that tests can give it any. */
#ifndef JUGGLE_TELEMETRY_READER_FD_H
#define JUGGLE_TELEMETRY_READER_FD_H

#include "daemon/telemetry/reader.h"

/* As telemetry_reader_open(), of a file that is open to be read. The descriptor is taken over, and
 * closed when that fails. */
int telemetry_reader_open_fd(
	int fd, pid_t pid, uid_t uid, struct telemetry_reader **out, uint32_t *version);

#endif
