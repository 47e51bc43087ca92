/* SPDX-License-Identifier: MIT */
/* Notices that files have appeared in a folder or left it, at the cost of one stat(2). */
#ifndef BASE_FOLDER_WATCH_H
#define BASE_FOLDER_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct folder_watch {
	const char *path;
	struct timespec changed; /* the folder's time of change, as last seen */
	uint64_t again_ns; /* the folder has to be read once more after this time ... */
	bool again; /* ... if this is set */
};

/* path has to outlive the watch. */
void folder_watch_init(struct folder_watch *watch, const char *path);

/* Has the folder to be read? The first time it has, after each change, and once more a little later:
 * a file that appeared just after it was read need not show. now_ns: CLOCK_MONOTONIC. A folder that
 * doesn't exist never changes. */
bool folder_watch_changed(struct folder_watch *watch, uint64_t now_ns);

/* A file was found that is not complete yet: read the folder again a little later. */
void folder_watch_repeat(struct folder_watch *watch, uint64_t now_ns);

#endif
