/* SPDX-License-Identifier: MIT */
/*
 * Sites: places in the program that call a function which waits. A site also knows which function that
 * is, as programs can contain several of a name, e.g. Python's modules with a libgomp each.
 */
#ifndef LIBPHASES_SITE_H
#define LIBPHASES_SITE_H

#include <stdbool.h>
#include <stdint.h>

/* Functions have numbers, below SITE_FUNCTIONS. */
enum {
	SITE_PTHREAD,
	SITE_OWN,
	SITE_OMPT, /* barriers */
	SITE_GOMP = 16, /* from here on */
	SITE_MPI = 64,
	SITE_FUNCTIONS = 1024,
};

struct function {
	uint32_t number;
	uint32_t source; /* a PHASES_ constant */
	const char *said; /* in the names of sites: "MPI_Allreduce", "barrier" */
	const char *symbol; /* of what is interposed, or NULL */
	/* Others of the same library, which are looked for together with it: to look for one takes the
	 * lock of the loader, under which a thread may wait for others at barriers, in constructors. */
	struct function *family;
	uint32_t members;
	/* What all callers would call without us, once it has been found, and whether that calls tools. */
	_Atomic uint32_t calls_tools;
	void *_Atomic next;
};

struct site;

/* The site of a call that returns to `address`. NULL when there are too many. */
struct site *site_at(struct function *function, const void *address);

/* What the caller at `address` would have called without us. NULL if there is none: whoever only
 * asks whether the program has such a function is misled by ours. */
void *site_next(struct site *site, struct function *function, const void *address);

/* Looks for a function ahead of its first call. */
void site_find(struct function *function);

/* Whether the function behind, found by site_next(), is one of a runtime that calls tools: see
 * ompt.c. */
bool site_calls_tools(struct site *site, const struct function *function, const void *next);

/* What all callers of the function would call without us, if that is known and calls no tools; else NULL. */
void *site_next_without_tools(const struct function *function);

/* What the caller at `address` would have called without us, for functions that wait for nobody. NULL as above. */
void *site_next_at(struct function *function, const void *address);

/* Its index in the table, 0 if it has none. Makes it known there at the first call. */
uint32_t site_index(struct site *site);

/* Adds waits to the totals of a site of the table. */
void site_add(uint32_t index, uint32_t waits, uint64_t waited_ns);

/* There will be another table. */
void sites_forget(void);

#endif
