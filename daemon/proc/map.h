/* SPDX-License-Identifier: MIT */
/*
 * A map from pids to indices, by which a scan knows the processes that it has met. Each scan
 * empties the map, so that costs nothing, however large the map has grown.
 */
#ifndef JUGGLE_PROC_MAP_H
#define JUGGLE_PROC_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_map_slot {
	uint32_t round; /* the slot is in use when this is the map's round */
	pid_t pid;
	size_t value;
};

/* A zeroed map is empty. */
struct proc_map {
	struct proc_map_slot *slots;
	size_t capacity; /* 0 or a power of two */
	size_t n;
	uint32_t round;
};

/* Accepts a zeroed map. */
void proc_map_deinit(struct proc_map *map);
/* Remove everything, but keep the memory. */
void proc_map_clear(struct proc_map *map);
/* Returns 1 when added, 0 when the pid was there (its value stays), or -ENOMEM. */
int proc_map_add(struct proc_map *map, pid_t pid, size_t value);
/* Returns the value, or NULL when the pid isn't there. Valid until the next add. */
const size_t *proc_map_get(const struct proc_map *map, pid_t pid);

#endif
