/* SPDX-License-Identifier: MIT */
/*
 * What the user of jugglectl top has chosen to see, and how each key changes that. Keys are data,
 * so that this needs no terminal. Pure; owns no memory except `entry`.
 */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "tools/live/live.h"

enum view_panel {
	VIEW_OVERVIEW,
	VIEW_THREADS,
	VIEW_CPUS,
	VIEW_SUBDOMAINS,
	VIEW_HELP,
	VIEW_JOBS,
	VIEW_PANELS,
};

/* The first ones can be asked for by --view. */
enum { VIEW_NAMED = VIEW_HELP };
extern const char *const view_names[VIEW_NAMED];

enum view_sort {
	VIEW_BY_LEAD, /* the one furthest behind comes first */
	VIEW_BY_SHARE, /* the largest first, likewise the next two */
	VIEW_BY_WAIT,
	VIEW_BY_MOVES,
	VIEW_BY_CPU,
	VIEW_BY_TID, /* by rank, process and thread, as in the sample */
	VIEW_SORTS,
};
extern const char *const view_sort_names[VIEW_SORTS];

/* What a key asks its caller to do. */
enum view_request {
	VIEW_NOTHING,
	VIEW_QUIT,
	VIEW_NEXT_JOB,
	VIEW_LIST_JOBS,
	VIEW_OPEN_JOB, /* entry[chosen] */
};

/* Keys that are not characters: beyond Unicode. */
enum view_key {
	VIEW_KEY_UP = 0x110000,
	VIEW_KEY_DOWN,
	VIEW_KEY_LEFT,
	VIEW_KEY_RIGHT,
	VIEW_KEY_PAGE_UP,
	VIEW_KEY_PAGE_DOWN,
	VIEW_KEY_HOME,
	VIEW_KEY_END,
	VIEW_KEY_ENTER,
	VIEW_KEY_BACKSPACE,
	VIEW_KEY_ESCAPE,
};

#define VIEW_INTERVAL_MIN_NS UINT64_C(100000000)
#define VIEW_INTERVAL_MAX_NS UINT64_C(3600000000000)

enum { VIEW_FILTER_BYTES = 64 };

struct view {
	enum view_panel panel, last; /* last: the one to return to from the help or the list */
	enum view_sort sort;
	bool reverse, by_worker;
	bool paused, ended, picking; /* picking: no job is open yet */
	uint64_t interval_ns;
	/* The first line shown. Drawing brings it into range, and sets how many fit. */
	size_t scroll[VIEW_PANELS], page[VIEW_PANELS];
	char filter[VIEW_FILTER_BYTES]; /* "": all threads */
	char kept_filter[VIEW_FILTER_BYTES]; /* the previous one, while another is typed */
	bool typing;
	char message[200]; /* shown until the next key */
	/* The jobs to choose from; the array is freed with the view. */
	struct live_entry *entry;
	size_t entries, chosen;
};

/* Accepts a zeroed one. */
void view_deinit(struct view *view);

/* A character, or an enum view_key; others do nothing. */
enum view_request view_key(struct view *view, uint32_t key);

#endif
