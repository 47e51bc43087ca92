/* SPDX-License-Identifier: MIT */
/* Creating and filling the telemetry segment of this process: only for juggle, not for
 * jugglectl. */
#ifndef JUGGLE_TELEMETRY_WRITER_H
#define JUGGLE_TELEMETRY_WRITER_H

#include "daemon/telemetry/telemetry.h"

/* Create the segment of this process, with pid and times set and all live fields zero, as a file that
 * has no name yet: *fd. When /dev/shm can't be used, it is memory that serves only the report; *fd is
 * then a negative errno. Children made by fork() share it. Returns 0 or -ENOMEM. */
int telemetry_create(struct telemetry **out, int *fd);
/* Give the segment its name, as soon as there is somebody to remove it should its process be killed, the
 * keeper. Where another user has taken the name, the file is locked instead, and readers find it by the
 * descriptor that the keeper has open. Returns 0 or a negative errno. */
int telemetry_publish(int fd, pid_t keeper);
/* Remove the name of that process's segment, if there is one. Mappings stay. Does not look into the
 * segment, which others of this user can write to. */
void telemetry_unlink(pid_t keeper);
void telemetry_unmap(struct telemetry *telemetry);

struct telemetry_cpu *telemetry_cpus(const struct telemetry *telemetry);
struct telemetry_thread *telemetry_threads(const struct telemetry *telemetry);
struct telemetry_progress *telemetry_progress(const struct telemetry *telemetry);

/* A free slot for a thread, possibly that of a thread that ended; NULL when all are taken, or /dev/shm is
 * full. fd is that of telemetry_create(), open; negative where there is no file. *search belongs to the
 * caller, and begins at 0. */
struct telemetry_thread *telemetry_slot(struct telemetry *telemetry, int fd, uint32_t *search);

/* Tell how often and how long threads have waited at a site so far; left out where there is no room.
 * For one thread only. */
void telemetry_show_site(
	struct telemetry *telemetry, const char *name, uint64_t waits, uint64_t waited_ns);

/* The next slot for a segment of libprogress; NULL when all have been used. */
struct telemetry_progress *telemetry_progress_slot(struct telemetry *telemetry);

#endif
