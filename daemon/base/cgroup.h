/* SPDX-License-Identifier: MIT */
/*
 * Where the control groups of a process are in the file system, by what the kernel writes into
 * /proc/PID/cgroup and /proc/self/mountinfo: version 2, version 1, or both at once. A controller is
 * named as in these files, such as "cpu"; "" stands for version 2. The parsers take strings, and are
 * pure.
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_PATH_BYTES 4096 /* of the folder of a group */
#define CGROUP_TEXT_BYTES 8192 /* room for /proc/PID/cgroup, or the mounts */

/* The folder of a group, from the root of the file system. Its first `top` bytes are the mount point
 * ("" for the root itself): no more of the groups above can be seen. */
struct cgroup_folder {
	size_t top;
	char path[CGROUP_PATH_BYTES];
};

/* The path that /proc/PID/cgroup gives for a controller; one outside the cgroup namespace is "/".
 * Returns 0 or -ENOENT. */
int cgroup_parse_path(const char *groups, const char *controller, char *out, size_t bytes);

/* Find the folder of a controller's group. mounts: lines of mountinfo. In a container, only a part of
 * the tree may be mounted. Returns 0, or -ENOENT when the group is nowhere. */
int cgroup_find(
	const char *mounts, const char *groups, const char *controller, struct cgroup_folder *out);

/* Go to the group above. Returns false at the top. */
bool cgroup_go_up(struct cgroup_folder *folder);

/* cpu.max: "max 100000", "150000 100000". Returns CPUs, INFINITY for no limit or nonsense. */
double cgroup_parse_cpu_max(const char *text);

/* The number in a line "KEY NUMBER" of cpu.stat. Returns 0 or -ENOENT. */
int cgroup_parse_stat(const char *text, const char *key, uint64_t *out);

/* Read the lines of cgroups in /proc/self/mountinfo below root; there may be thousands of others.
 * Returns 0 or a negative errno; then out is "". */
int cgroup_read_mounts(const char *root, char *out, size_t bytes);

#endif
