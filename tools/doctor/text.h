/* SPDX-License-Identifier: MIT */
/* Reading what kernels write into small files. Parsers take strings, and are pure. */
#ifndef DOCTOR_TEXT_H
#define DOCTOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/cpuset.h"
#include "tools/doctor/system.h"

/* Read the beginning of a file below root into out, without the newline at its end. Returns 0 or a
 * negative errno; then out is "". */
int doctor_read_file(const char *root, const char *path, char *out, size_t bytes);
/* The same, of a number. */
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

/* Parse the line "KEY:\tVALUE" of /proc/PID/status, whose value is a number of that base. Returns 0
 * or -ENOENT. */
int doctor_parse_status(const char *text, const char *key, int base, uint64_t *out);

/* The path that /proc/self/cgroup gives for a controller ("" for cgroup v2); one outside the cgroup
 * namespace is "/". Returns 0 or -ENOENT. */
int doctor_parse_cgroup(const char *text, const char *controller, char *out, size_t bytes);

/* cpu.max: "max 100000", "150000 100000". Returns CPUs, INFINITY for no limit or nonsense. */
double doctor_parse_cpu_max(const char *text);

/* Does /proc/self/mounts say that /proc hides processes of other users? */
bool doctor_parse_hidepid(const char *mounts);

/* A line of /proc/stat on one CPU: "cpu3 1 2 3 ...". *cpu is below CPUSET_CPUS_MAX, *share the
 * share of stolen time. Returns 0; or -EBADMSG, with both unchanged, for other lines and those of
 * old kernels. */
int doctor_parse_stolen(const char *line, int *cpu, double *share);

#endif
