/* SPDX-License-Identifier: MIT */
/*
 * OpenMP by libgomp, which calls no tools: the functions that compilers call instead.
 *
 * The barrier at the end of a parallel region is within the library, but each thread runs the region's
 * function, and has arrived at the barrier when that returns. It departs when the library gives it
 * another region to run, or, if it has begun the region, when the library returns.
 *
 * LLVM's runtime has these functions for programs that gcc has compiled. They are left alone, as it
 * calls tools.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libprogress/phases/dynamic.h"
#include "libprogress/phases/export.h"
#include "libprogress/phases/forward.h"
#include "libprogress/phases/phases.h"
#include "libprogress/phases/site.h"
#include "libprogress/phases/table.h"
#include "libprogress/phases/untold.h"
#include "libprogress/phases/wait.h"

/* The functions: name, what is said of them, number. */
#define PARALLELS(X)                                                                               \
	X(GOMP_parallel_reductions, "parallel region", 0)                                          \
	X(GOMP_parallel, "parallel region", 1)                                                     \
	X(GOMP_parallel_loop_static, "parallel region", 2)                                         \
	X(GOMP_parallel_loop_runtime, "parallel region", 5)                                        \
	X(GOMP_parallel_loop_nonmonotonic_runtime, "parallel region", 8)                           \
	X(GOMP_parallel_loop_maybe_nonmonotonic_runtime, "parallel region", 9)                     \
	X(GOMP_parallel_sections, "parallel region", 10)
/* Regions that are a loop whose iterations are handed out to whoever asks. */
#define DYNAMIC_PARALLELS(X)                                                                       \
	X(GOMP_parallel_loop_dynamic, "parallel region", 3)                                        \
	X(GOMP_parallel_loop_guided, "parallel region", 4)                                         \
	X(GOMP_parallel_loop_nonmonotonic_dynamic, "parallel region", 6)                           \
	X(GOMP_parallel_loop_nonmonotonic_guided, "parallel region", 7)
/* Functions that wait for all threads of the region. */
#define BARRIERS(X)                                                                                \
	X(GOMP_barrier, "barrier", 11)                                                             \
	X(GOMP_barrier_cancel, "barrier", 12)                                                      \
	X(GOMP_loop_end, "end of loop", 13)                                                        \
	X(GOMP_loop_end_cancel, "end of loop", 14)                                                 \
	X(GOMP_sections_end, "end of sections", 15)                                                \
	X(GOMP_sections_end_cancel, "end of sections", 16)                                         \
	X(GOMP_single_copy_start, "single", 17)                                                    \
	X(GOMP_single_copy_end, "single", 18)                                                      \
	X(GOMP_workshare_task_reduction_unregister, "reduction", 19)
#define TASKS(X)                                                                                   \
	X(GOMP_task, "tasks", 20)                                                                  \
	X(GOMP_taskloop, "tasks", 21)                                                              \
	X(GOMP_taskloop_ull, "tasks", 22)
/* Such loops within regions, ... */
#define DYNAMIC_LOOPS(X)                                                                           \
	X(GOMP_loop_dynamic_start, "loop", 23)                                                     \
	X(GOMP_loop_guided_start, "loop", 24)                                                      \
	X(GOMP_loop_nonmonotonic_dynamic_start, "loop", 25)                                        \
	X(GOMP_loop_nonmonotonic_guided_start, "loop", 26)
/* ... with unsigned iterations ... */
#define DYNAMIC_ULL_LOOPS(X)                                                                       \
	X(GOMP_loop_ull_dynamic_start, "loop", 27)                                                 \
	X(GOMP_loop_ull_guided_start, "loop", 28)                                                  \
	X(GOMP_loop_ull_nonmonotonic_dynamic_start, "loop", 29)                                    \
	X(GOMP_loop_ull_nonmonotonic_guided_start, "loop", 30)
/* ... and all loops but static ones, as LLVM's compilers call its runtime, which in older versions does not tell tools
 * how loops are scheduled. With the type of iterations. */
#define LLVM_LOOPS(X)                                                                              \
	X(__kmpc_dispatch_init_4, int32_t, 31)                                                     \
	X(__kmpc_dispatch_init_4u, uint32_t, 32)                                                   \
	X(__kmpc_dispatch_init_8, int64_t, 33)                                                     \
	X(__kmpc_dispatch_init_8u, uint64_t, 34)

#define COUNT(symbol, said, number) +1
enum {
	FUNCTIONS = 0 PARALLELS(COUNT) DYNAMIC_PARALLELS(COUNT) BARRIERS(COUNT) TASKS(COUNT)
		DYNAMIC_LOOPS(COUNT) DYNAMIC_ULL_LOOPS(COUNT) LLVM_LOOPS(COUNT)
};

#define ENTRY(symbol_, said_, number_)                                                             \
	[number_] = {.number = SITE_GOMP + (number_),                                              \
		.source = PHASES_GOMP,                                                             \
		.said = said_,                                                                     \
		.symbol = #symbol_,                                                                \
		.family = functions,                                                               \
		.members = FUNCTIONS},
#define LLVM_ENTRY(symbol, type, number) ENTRY(symbol, "loop", number)
static struct function functions[FUNCTIONS] = {PARALLELS(ENTRY) DYNAMIC_PARALLELS(ENTRY) BARRIERS(
	ENTRY) TASKS(ENTRY) DYNAMIC_LOOPS(ENTRY) DYNAMIC_ULL_LOOPS(ENTRY) LLVM_LOOPS(LLVM_ENTRY)};

/* What is run instead of a region's function. It lives until all threads have left the barrier at the end of the
 * region. */
struct region {
	void *first; /* the first word of its data, which the library may look at: reductions */
	void (*run)(void *data);
	void *data;
	struct function *function; /* which began the region, and where it was called */
	const void *address;
	double chunks; /* that its iterations are handed out in; 0: they are not */
	const struct untold_waits *leader; /* of the thread that began it */
	struct untold_team team;
	_Atomic unsigned answers; /* of the others, to the leader */
};

static void run_region(void *data)
{
	struct region *region = data;
	bool joins = region->leader != &untold_waits;

	if (joins)
		wait_join_region(&region->team);
	else
		wait_begin_region();
	if (region->chunks > 0)
		dynamic_loop(region->chunks);
	region->run(region->data);
	bool untold = untold_leave(true);
	if (!untold)
		wait_arrive(WAIT_REGION, site_at(region->function, region->address), NULL);
	if (joins && (region->team.rests || region->team.handed_on > 0))
		atomic_fetch_or(&region->answers, untold ? UNTOLD_RESTS : UNTOLD_RESTLESS);
}

typedef long begin_region(void (*)(void *), void *, long, long, long, long, long, long);

/* Of the number of threads that a region may have, 0 means any. */
static bool is_alone(long threads)
{
	return (unsigned)threads == 1;
}

static long begin(
	begin_region *next, struct region *region, long c, long d, long e, long f, long g, long h)
{
	bool leads = !is_alone(c) && !untold_waits.within;
	bool untold = untold_leave(false);

	if (!untold)
		wait_fork(site_at(region->function, region->address));
	if (leads)
		region->team = untold_tell_team(untold);
	long result = next(run_region, region, c, d, e, f, g, h);
	if (leads)
		untold_hear_team(&region->team, atomic_load(&region->answers));
	wait_depart(WAIT_REGION);
	return result;
}

/* What calls tools is called last of all, for it to see where it was called. Where modules have runtimes of their own,
 * no region is handed on, as a thread may begin regions of several teams. */
#define REGION(symbol, number, chunks_)                                                            \
	EXPORT begin_region symbol;                                                                \
	long symbol(                                                                               \
		void (*run)(void *), void *data, long c, long d, long e, long f, long g, long h)   \
	{                                                                                          \
		struct function *function = &functions[number];                                    \
		const void *address = __builtin_return_address(0);                                 \
		union {                                                                            \
			void *found;                                                               \
			begin_region *begin;                                                       \
		} next = {site_next_without_tools(function)};                                      \
		if (next.found && !is_alone(c) && untold_hand_on()) {                              \
			long result = next.begin(run, data, c, d, e, f, g, h);                     \
			untold_end_handed_on();                                                    \
			return result;                                                             \
		}                                                                                  \
		if (!next.found) {                                                                 \
			struct site *site = site_at(function, address);                            \
			next.found = site_next(site, function, address);                           \
			if (next.found && site_calls_tools(site, function, next.found))            \
				return next.begin(run, data, c, d, e, f, g, h);                    \
		}                                                                                  \
		if (!next.found) {                                                                 \
			run(data);                                                                 \
			return 1;                                                                  \
		}                                                                                  \
		void *first = (number) == 0 ? *(void **)data : NULL;                               \
		struct region region = {.first = first,                                            \
			.run = run,                                                                \
			.data = data,                                                              \
			.function = function,                                                      \
			.address = address,                                                        \
			.chunks = chunks_,                                                         \
			.leader = &untold_waits};                                                  \
		return begin(next.begin, &region, c, d, e, f, g, h);                               \
	}

#define PARALLEL(symbol, said, number) REGION(symbol, number, 0)
#define DYNAMIC_PARALLEL(symbol, said, number)                                                     \
	REGION(symbol, number, dynamic_chunks((double)d, (double)e, (double)f, (double)g))

#define BARRIER(symbol, said, number)                                                              \
	EXPORT long symbol(long argument);                                                         \
	long symbol(long argument)                                                                 \
	{                                                                                          \
		struct function *function = &functions[number];                                    \
		union {                                                                            \
			void *found;                                                               \
			long (*call)(long);                                                        \
		} next = {site_next_without_tools(function)};                                      \
		if (next.found && untold_leave(true))                                              \
			return next.call(argument);                                                \
		const void *address = __builtin_return_address(0);                                 \
		struct site *site = site_at(function, address);                                    \
		next.found = site_next(site, function, address);                                   \
		if (!next.found)                                                                   \
			return 0;                                                                  \
		if (site_calls_tools(site, function, next.found) ||                                \
			!wait_arrive(WAIT_CALL, site, __builtin_frame_address(0)))                 \
			return next.call(argument);                                                \
		long result = next.call(argument);                                                 \
		wait_depart(WAIT_CALL);                                                            \
		return result;                                                                     \
	}

/* Creates explicit tasks, which may be run by threads that wait at a barrier. */
static void *task(struct function *function, const void *address)
{
	struct site *site = site_at(function, address);
	void *next = site_next(site, function, address);

	if (next && !site_calls_tools(site, function, next))
		table_mark_tasks();
	return next;
}

#define TASK(symbol, said, number)                                                                 \
	EXPORT LONG_FUNCTION(symbol);                                                              \
	LONG_FUNCTION(symbol)                                                                      \
	{                                                                                          \
		struct function *function = &functions[number];                                    \
		union {                                                                            \
			void *found;                                                               \
			long (*call)(LONG_WORDS);                                                  \
		} next = {task(function, __builtin_return_address(0))};                            \
		return next.found ? next.call(LONG_PASSED) : 0;                                    \
	}

#define LOOP(symbol, number, chunks)                                                               \
	EXPORT LONG_FUNCTION(symbol);                                                              \
	LONG_FUNCTION(symbol)                                                                      \
	{                                                                                          \
		union {                                                                            \
			void *found;                                                               \
			long (*call)(LONG_WORDS);                                                  \
		} next = {site_next_at(&functions[number], __builtin_return_address(0))};          \
		dynamic_loop(chunks);                                                              \
		return next.found ? next.call(LONG_PASSED) : 0;                                    \
	}

/* Of iterations from b up to c, without it, or down to c. */
static double ull_chunks(bool up, uint64_t b, uint64_t c, uint64_t step, uint64_t chunk)
{
	return up ? dynamic_chunks((double)b, (double)c, (double)step, (double)chunk)
		  : dynamic_chunks((double)c, (double)b, (double)-step, (double)chunk);
}

#define DYNAMIC_LOOP(symbol, said, number)                                                         \
	LOOP(symbol, number, dynamic_chunks((double)a, (double)b, (double)c, (double)d))
#define DYNAMIC_ULL_LOOP(symbol, said, number)                                                     \
	LOOP(symbol, number,                                                                       \
		ull_chunks((bool)(a & 0xff), (unsigned long)b, (unsigned long)c, (unsigned long)d, \
			(unsigned long)e))

/* Is it handed out, by the schedule as compilers pass it to LLVM's runtime, with modifiers above these bits? */
static bool is_dynamic(long schedule)
{
	enum {
		BITS = 0xff,
		DYNAMIC = 35,
		GUIDED = 36,
		GUIDED_ITERATIVE = 42,
		GUIDED_ANALYTICAL = 43
	};

	switch (schedule & BITS) {
	case DYNAMIC:
	case GUIDED:
	case GUIDED_ITERATIVE:
	case GUIDED_ANALYTICAL:
		return true;
	default:
		return false;
	}
}

/* Of iterations from first to last, with it. */
static double llvm_chunks(long schedule, double first, double last, long step, long chunk)
{
	return is_dynamic(schedule)
		       ? dynamic_chunks(first, last + (double)step, (double)step, (double)chunk)
		       : 0;
}

#define LLVM_LOOP(symbol, type, number)                                                            \
	LOOP(symbol, number,                                                                       \
		sizeof(type) == 4                                                                  \
			? llvm_chunks(c, (double)(type)d, (double)(type)e, (int32_t)f, (int32_t)g) \
			: llvm_chunks(c, (double)(type)d, (double)(type)e, f, g))

/* LLVM's runtime has all of the family. Programs may have libgomp, too: which one a function is of goes by the first
 * that is found, so it has to be the same as where the program calls that. */
void dynamic_find(const void *address)
{
	enum { GOMP_PARALLEL = 1 };

	(void)site_next_at(&functions[GOMP_PARALLEL], address);
}

PARALLELS(PARALLEL)
DYNAMIC_PARALLELS(DYNAMIC_PARALLEL)
BARRIERS(BARRIER)
TASKS(TASK)
DYNAMIC_LOOPS(DYNAMIC_LOOP)
DYNAMIC_ULL_LOOPS(DYNAMIC_ULL_LOOP)
LLVM_LOOPS(LLVM_LOOP)
