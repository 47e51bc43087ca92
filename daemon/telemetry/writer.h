/* SPDX-License-Identifier: MIT */
/* Making and filling the segment of telemetry of this process: for juggle, and no tool. */
#ifndef JUGGLE_TELEMETRY_WRITER_H
#define JUGGLE_TELEMETRY_WRITER_H

#include "daemon/telemetry/telemetry.h"

/* Create the segment of this process, all live fields zero, pid and times set; where
 * /dev/shm cannot be used, memory without a name serves the report alone. *named tells
 * which; *why_not is the errno for the latter. Children made by fork() share it.
 * Returns 0 or -ENOMEM. */
int telemetry_create(struct telemetry **out, int *why_not);
/* Remove the name, if it has one. The mapping stays. */
void telemetry_unlink(const struct telemetry *telemetry);
void telemetry_unmap(struct telemetry *telemetry);

struct telemetry_cpu *telemetry_cpus(const struct telemetry *telemetry);
struct telemetry_thread *telemetry_threads(const struct telemetry *telemetry);
struct telemetry_progress *telemetry_progress(const struct telemetry *telemetry);

/* A free slot for a thread, possibly that of one that ended; NULL when all are taken.
 * *search is the caller's, begins at 0. */
struct telemetry_thread *telemetry_slot(struct telemetry *telemetry, uint32_t *search);

/* The next slot for a segment of libprogress; NULL when all have been used. */
struct telemetry_progress *telemetry_progress_slot(struct telemetry *telemetry);

#endif
