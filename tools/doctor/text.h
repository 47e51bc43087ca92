/* SPDX-License-Identifier: MIT */
/* Reading what kernels write into small files. Parsers take strings, and are pure. */
#ifndef DOCTOR_TEXT_H
#define DOCTOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/cpuset.h"
#include "tools/doctor/system.h"

/* Read a number from a file below root. Returns 0 or a negative errno. */
int doctor_read_number(const char *root, const char *path, int64_t *out);
/* The same, of a list of CPUs; also empty ones. On an error out is empty. */
int doctor_read_cpus(const char *root, const char *path, struct cpuset *out);

/* A whole number, and nothing behind it. Returns 0, or -EBADMSG with out unchanged. */
int doctor_parse_number(const char *text, int64_t *out);

/* "0-3,8". Kernels write "" or "(null)" for an empty list. Returns 0, or -EBADMSG with out
 * empty. */
int doctor_parse_cpus(const char *text, struct cpuset *out);

/* "6.12.63-generic"; "6.18" is 6.18.0. Returns 0 or -EBADMSG. */
int doctor_parse_version(const char *text, struct doctor_version *out);
/* Whether a version is this one, or later. */
bool doctor_version_from(const struct doctor_version *version, int major, int minor, int patch);

/* The first average of /proc/loadavg. Returns 0, or -EBADMSG with out unchanged. */
int doctor_parse_load(const char *text, double *out);

/* Parse the line "KEY:\tVALUE" of /proc/PID/status, whose value is a number of that base. Returns 0
 * or -ENOENT. */
int doctor_parse_status(const char *text, const char *key, int base, uint64_t *out);

/* Does /proc/self/mounts say that /proc hides processes of other users? */
bool doctor_parse_hidepid(const char *mounts);

#endif
