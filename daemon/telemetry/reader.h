/* SPDX-License-Identifier: MIT */
/*
 * Reading another process's telemetry: for jugglectl.
 *
 * By pread(2) instead of a mapping, so that a segment that is cut short while it is read gives an error
 * and never SIGBUS. Nothing that is read is trusted: what is handed out has counts within the arrays,
 * and strings that end. Functions return 0 or a negative errno code; one reader must not be used
 * by two threads at once.
 */
#ifndef JUGGLE_TELEMETRY_READER_H
#define JUGGLE_TELEMETRY_READER_H

#include <stdbool.h>

#include "daemon/telemetry/telemetry.h"

struct telemetry_reader;

/* Open the segment of a juggle, read-only. Returns 0 and sets *out (to be closed with
 * telemetry_reader_close()); -ENOENT (it has none), -EAGAIN (not filled in yet), -EACCES, -EPERM (not
 * that user's, readable by others, or not that process's file), -EPROTO (another version: *version,
 * which may be NULL, tells), -EBADMSG (not telemetry, or damaged), -ENOMEM. */
int telemetry_reader_open(pid_t pid, uid_t uid, struct telemetry_reader **out, uint32_t *version);
/* Accepts NULL. */
void telemetry_reader_close(struct telemetry_reader *reader);

/* Has its name gone? Then the juggle has ended, or another has taken its place. */
bool telemetry_reader_closed(const struct telemetry_reader *reader);

/* Read the header: strings end, cpus, slots and progress_slots are at most the capacities, the state is a
 * known one. Its arrays are not behind it. -EBADMSG when it was cut short. */
int telemetry_reader_header(struct telemetry_reader *reader, struct telemetry *out);

/* Read the first n records, at most the capacity; comm ends. -EBADMSG when cut short, -EINVAL for more
 * than the capacity. */
int telemetry_reader_cpus(struct telemetry_reader *reader, struct telemetry_cpu *out, uint32_t n);
int telemetry_reader_threads(
	struct telemetry_reader *reader, struct telemetry_thread *out, uint32_t n);
int telemetry_reader_progress(
	struct telemetry_reader *reader, struct telemetry_progress *out, uint32_t n);

#endif
