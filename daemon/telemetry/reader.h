/* SPDX-License-Identifier: MIT */
/*
 * Reading another process's telemetry: for jugglectl.
 *
 * It uses pread(2) instead of a mapping, so that a segment that is cut short meanwhile gives an
 * error and never SIGBUS. It trusts nothing that it reads: counts are clipped to the sizes of the
 * arrays, and strings are terminated. Functions return 0 or a negative errno. Two threads must not
 * use one reader at once.
 */
#ifndef JUGGLE_TELEMETRY_READER_H
#define JUGGLE_TELEMETRY_READER_H

#include <stdbool.h>

#include "daemon/telemetry/telemetry.h"

struct telemetry_reader;
struct segment_file_kind; /* segment_file.h */

/* Which files are telemetry. */
extern const struct segment_file_kind telemetry_reader_files;

/* Open the segment of a juggle, read-only. Returns 0 and sets *out (to be closed by
 * telemetry_reader_close()); -ENOENT (no segment), -EAGAIN (not filled in yet), -EACCES, -EPERM
 * (not that user's, readable by others, or not that process's file), -EPROTO (another version; sets
 * *version unless version is NULL), -EBADMSG (not telemetry, or damaged), -ENOMEM. */
int telemetry_reader_open(pid_t pid, uid_t uid, struct telemetry_reader **out, uint32_t *version);
/* Accepts NULL. */
void telemetry_reader_close(struct telemetry_reader *reader);

/* Has the segment's name gone, or, where it has none, all of its juggle? Then that juggle has ended, or
 * another has its place. */
bool telemetry_reader_closed(const struct telemetry_reader *reader);

/* Read the header, without the arrays behind it. Strings are terminated; cpus, slots and
 * progress_slots are at most the capacities; the state is a known one. Returns -EBADMSG when the
 * segment was cut short. */
int telemetry_reader_header(struct telemetry_reader *reader, struct telemetry *out);

/* Read the first n elements of an array; comm is terminated. Returns -EBADMSG when the segment was
 * cut short, -EINVAL when n exceeds the capacity. */
int telemetry_reader_cpus(struct telemetry_reader *reader, struct telemetry_cpu *out, uint32_t n);
int telemetry_reader_threads(
	struct telemetry_reader *reader, struct telemetry_thread *out, uint32_t n);
int telemetry_reader_progress(
	struct telemetry_reader *reader, struct telemetry_progress *out, uint32_t n);

#endif
