/* SPDX-License-Identifier: MIT */
/*
 * The layout of windows; see window.h.
 */
#include "apps/jacobi/ranks/window.h"

#include <string.h>

#define LINE 64
#define LANES 4 /* a multiplication takes some cycles, but one can begin in each */

static size_t round_up(size_t n)
{
	return (n + LINE - 1) / LINE * LINE;
}

void window_init(struct window *window, const struct grid *grid, uint32_t slots)
{
	uint32_t most[GRID_SIDES] = {0};

	for (uint32_t id = 0; id < grid_subdomains(grid); id++) {
		struct grid_block block = grid_block(grid, id);

		for (enum grid_side side = 0; side < GRID_SIDES; side++)
			if (grid_edge_cells(&block, side) > most[side])
				most[side] = grid_edge_cells(&block, side);
	}
	*window = (struct window){.slots = slots, .directory = WINDOW_SURVEY_BYTES};
	window->homes = round_up(window->directory + slots * sizeof(struct window_entry));
	window->halos =
		round_up(window->homes + grid_rank_subdomains(grid) * sizeof(struct window_home));
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		window->halo_bytes[side] =
			round_up(sizeof(struct window_halo) + most[side] * sizeof(double));
		window->slot_bytes += 2 * window->halo_bytes[side];
	}
	window->bytes = window->halos + slots * window->slot_bytes;
}

size_t window_halo_at(
	const struct window *window, uint32_t slot, enum grid_side side, unsigned which)
{
	size_t at = window->halos + slot * window->slot_bytes;

	for (enum grid_side s = 0; s < side; s++)
		at += 2 * window->halo_bytes[s];
	return at + which * window->halo_bytes[side];
}

uint64_t window_seal(const void *record, size_t bytes)
{
	const char *from = (const char *)record + sizeof(uint64_t);
	size_t words = bytes / sizeof(uint64_t) - 1;
	uint64_t lane[LANES] = {1, 2, 3, 4}, hash = words;

	/* Each step is a bijection, so that a single changed word always changes the hash. */
	for (size_t i = 0; i < words; i++) {
		uint64_t word;

		memcpy(&word, from + i * sizeof(word), sizeof(word));
		lane[i % LANES] = (lane[i % LANES] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		lane[i % LANES] ^= lane[i % LANES] >> 29;
	}
	for (size_t i = 0; i < LANES; i++)
		hash = (hash ^ lane[i]) * UINT64_C(0xbf58476d1ce4e5b9) + i;
	return hash;
}

bool window_is_sealed(const void *record, size_t bytes)
{
	uint64_t seal;

	memcpy(&seal, record, sizeof(seal));
	return seal == window_seal(record, bytes);
}
