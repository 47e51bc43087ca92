/* SPDX-License-Identifier: MIT */
/*
 * Open addressing, at most half full. It is needed because a scan can meet a process twice, when
 * the process changes its parent meanwhile, and because a job may have thousands.
 */
#include "daemon/proc/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The slot of pid, or the free one where it belongs. */
static struct proc_map_slot *find(const struct proc_map *map, pid_t pid)
{
	size_t mask = map->capacity - 1;
	/* The high bits too: pids of a job often differ by a constant stride. */
	uint32_t hash = (uint32_t)pid * UINT32_C(2654435769);
	size_t at = (hash ^ hash >> 16) & mask;

	while (map->slots[at].round == map->round && map->slots[at].pid != pid)
		at = (at + 1) & mask;
	return &map->slots[at];
}

static int grow(struct proc_map *map)
{
	struct proc_map bigger = {.capacity = map->capacity ? map->capacity * 2 : 64, .round = 1};

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slots[i].round != map->round)
			continue;
		*find(&bigger, map->slots[i].pid) = (struct proc_map_slot){
			.round = bigger.round,
			.pid = map->slots[i].pid,
			.value = map->slots[i].value,
		};
		bigger.n++;
	}
	free(map->slots);
	*map = bigger;
	return 0;
}

void proc_map_deinit(struct proc_map *map)
{
	free(map->slots);
	*map = (struct proc_map){0};
}

void proc_map_clear(struct proc_map *map)
{
	map->n = 0;
	map->round++;
	if (map->round == 0) { /* slots of 2^32 rounds ago would look used */
		if (map->slots)
			memset(map->slots, 0, map->capacity * sizeof(*map->slots));
		map->round = 1;
	}
}

int proc_map_add(struct proc_map *map, pid_t pid, size_t value)
{
	struct proc_map_slot *slot;

	if (2 * (map->n + 1) > map->capacity) {
		int r = grow(map);

		if (r < 0)
			return r;
	}
	slot = find(map, pid);
	if (slot->round == map->round)
		return 0;
	*slot = (struct proc_map_slot){.round = map->round, .pid = pid, .value = value};
	map->n++;
	return 1;
}

const size_t *proc_map_get(const struct proc_map *map, pid_t pid)
{
	const struct proc_map_slot *slot;

	if (map->capacity == 0)
		return NULL;
	slot = find(map, pid);
	return slot->round == map->round ? &slot->value : NULL;
}
