/* SPDX-License-Identifier: MIT */
/*
 * OpenMP runtimes that call tools: LLVM's, Intel's, AMD's. The few types that are needed are those of
 * the OpenMP specification, 5.0, chapter 4.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprogress/phases/dynamic.h"
#include "libprogress/phases/export.h"
#include "libprogress/phases/phases.h"
#include "libprogress/phases/site.h"
#include "libprogress/phases/table.h"
#include "libprogress/phases/untold.h"
#include "libprogress/phases/wait.h"

enum {
	CALLBACK_THREAD_BEGIN = 1,
	CALLBACK_PARALLEL_BEGIN = 3,
	CALLBACK_TASK_CREATE = 5,
	CALLBACK_SYNC_REGION_WAIT = 16
};
enum { THREAD_WORKER = 2 };
enum { SCOPE_BEGIN = 1, SCOPE_END = 2 };
enum { TASK_EXPLICIT = 4 };
enum { SYNC_TASKWAIT = 5, SYNC_TASKGROUP = 6, SYNC_REDUCTION = 7 };

union ompt_data {
	uint64_t value;
	const void *address;
};

typedef void (*ompt_callback)(void);
typedef ompt_callback (*ompt_lookup)(const char *name);

struct ompt_start_tool_result {
	int (*initialize)(ompt_lookup lookup, int device, union ompt_data *data);
	void (*finalize)(union ompt_data *data);
	union ompt_data data;
};

EXPORT struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime);

/* A worker is created for a region, which it begins at once. */
static void thread_begin(int type, union ompt_data *thread)
{
	(void)thread;
	if (type == THREAD_WORKER)
		wait_begin();
}

/* Where the region was begun is kept with it. */
static void parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel,
	unsigned threads, int flags, const void *address)
{
	(void)task;
	(void)frame;
	(void)threads;
	(void)flags;
	wait_begin();
	dynamic_find(address);
	if (parallel)
		parallel->address = address;
}

/* All barriers; in waits for tasks, threads run tasks. At the end of a parallel region only the thread
 * that has begun it has an address. */
static void sync_region_wait(int kind, int endpoint, union ompt_data *parallel,
	union ompt_data *task, const void *address)
{
	static struct function barrier = {
		.number = SITE_OMPT, .source = PHASES_OMPT, .said = "barrier"};
	static struct function region = {
		.number = SITE_OMPT + 1, .source = PHASES_OMPT, .said = "parallel region"};

	(void)task;
	if (kind == SYNC_TASKWAIT || kind == SYNC_TASKGROUP || kind == SYNC_REDUCTION)
		return;
	if (endpoint == SCOPE_BEGIN) {
		if (untold_leave(true))
			return;
		const void *begun = parallel ? parallel->address : NULL;
		bool end = begun && (!address || address == begun);
		wait_arrive(WAIT_OMPT, end ? site_at(&region, begun) : site_at(&barrier, address),
			NULL);
	} else if (endpoint == SCOPE_END) {
		wait_depart(WAIT_OMPT);
	}
}

static void task_create(union ompt_data *parent, const void *frame, union ompt_data *task,
	int flags, int dependences, const void *address)
{
	(void)parent;
	(void)frame;
	(void)task;
	(void)dependences;
	(void)address;
	if (flags & TASK_EXPLICIT)
		table_mark_tasks();
}

static int initialize(ompt_lookup lookup, int device, union ompt_data *data)
{
	(void)device;
	(void)data;
	union {
		ompt_callback found;
		int (*call)(int event, ompt_callback callback);
	} set_callback = {lookup("ompt_set_callback")};
	union {
		void (*thread)(int, union ompt_data *);
		void (*wait)(int, int, union ompt_data *, union ompt_data *, const void *);
		void (*region)(union ompt_data *, const void *, union ompt_data *, unsigned, int,
			const void *);
		void (*task)(
			union ompt_data *, const void *, union ompt_data *, int, int, const void *);
		ompt_callback any;
	} callback;

	if (!set_callback.found)
		return 0;
	callback.thread = thread_begin;
	set_callback.call(CALLBACK_THREAD_BEGIN, callback.any);
	callback.wait = sync_region_wait;
	set_callback.call(CALLBACK_SYNC_REGION_WAIT, callback.any);
	callback.region = parallel_begin;
	set_callback.call(CALLBACK_PARALLEL_BEGIN, callback.any);
	callback.task = task_create;
	set_callback.call(CALLBACK_TASK_CREATE, callback.any);
	return 1;
}

static void finalize(union ompt_data *data)
{
	(void)data;
}

/* Whether the environment names a tool that is not this library. */
static bool others_wanted(void)
{
	const char *list = getenv("OMP_TOOL_LIBRARIES");

	while (list && *list) {
		size_t length = strcspn(list, ":");
		const char *slash = memrchr(list, '/', length);
		const char *name = slash ? slash + 1 : list;
		size_t left = length - (size_t)(name - list);
		if (left && (left < strlen("libphases.so") ||
				    strncmp(name, "libphases.so", strlen("libphases.so")) != 0))
			return true;
		list += length + (list[length] == ':');
	}
	return false;
}

/* A runtime has room for one tool, and asks libraries in its address space before those that the
 * environment names: others go first. */
struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct ompt_start_tool_result result = {initialize, finalize, {0}};
	static _Atomic int asked;
	union start_tool {
		void *found;
		struct ompt_start_tool_result *(*call)(unsigned, const char *);
	};
	const union start_tool here = {.call = ompt_start_tool};
	const union start_tool next = {dlsym(RTLD_NEXT, "ompt_start_tool")};
	const bool preloaded = dlsym(RTLD_DEFAULT, "ompt_start_tool") == here.found;

	dlerror();
	if (!preloaded)
		return &result;
	struct ompt_start_tool_result *others =
		next.found && next.found != here.found ? next.call(version, runtime) : NULL;
	if (others)
		return others;
	return asked++ == 0 && others_wanted() ? NULL : &result;
}
