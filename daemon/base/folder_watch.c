/* SPDX-License-Identifier: MIT */
#include "daemon/base/folder_watch.h"

#include <sys/stat.h>

/* The kernel sets a folder's time of change to that of its last tick, at most 10 ms ago. */
#define TICK_NS UINT64_C(20000000)

void folder_watch_init(struct folder_watch *watch, const char *path)
{
	*watch = (struct folder_watch){.path = path};
}

void folder_watch_repeat(struct folder_watch *watch, uint64_t now_ns)
{
	watch->again_ns = now_ns + TICK_NS;
	watch->again = true;
}

bool folder_watch_changed(struct folder_watch *watch, uint64_t now_ns)
{
	struct stat status;

	if (stat(watch->path, &status) == 0 &&
		(status.st_mtim.tv_sec != watch->changed.tv_sec ||
			status.st_mtim.tv_nsec != watch->changed.tv_nsec)) {
		watch->changed = status.st_mtim;
		folder_watch_repeat(watch, now_ns);
		return true;
	}
	if (!watch->again || now_ns < watch->again_ns)
		return false;
	watch->again = false;
	return true;
}
