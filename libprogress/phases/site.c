/* SPDX-License-Identifier: MIT */
/*
 * The sites of this process; see site.h.
 */
#include "libprogress/phases/site.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "libprogress/phases/name.h"
#include "libprogress/phases/next.h"
#include "libprogress/phases/phases.h"
#include "libprogress/phases/table.h"

#define SITES_KNOWN 2048 /* a power of 2 */
#define NAME_LOOKS 20000 /* microseconds */
#define INDEX_UNKNOWN 0 /* site.index is index + 1 */

struct site {
	_Atomic uint64_t key; /* 0: free */
	void *_Atomic next;
	_Atomic uint64_t module; /* which alone reaches `next`, or 0 */
	const struct function *_Atomic function;
	_Atomic uint32_t index;
	_Atomic uint32_t calls_tools; /* an answer */
};

enum { UNKNOWN, YES, NO };

static struct site known[SITES_KNOWN];

/* One address can return from several functions: that of a call through a pointer. */
static uint64_t key_of(const struct function *function, const void *address)
{
	return (uint64_t)(uintptr_t)address * SITE_FUNCTIONS + function->number;
}

struct site *site_at(const struct function *function, const void *address)
{
	uint64_t key = key_of(function, address);
	uint32_t start = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40);

	for (uint32_t i = 0; i < SITES_KNOWN; i++) {
		struct site *site = &known[(start + i) % SITES_KNOWN];
		uint64_t found = atomic_load_explicit(&site->key, memory_order_acquire);
		if (found == key)
			return site;
		if (found == 0) {
			if (atomic_compare_exchange_strong(&site->key, &found, key)) {
				atomic_store(&site->function, function);
				return site;
			}
			if (found == key)
				return site;
		}
	}
	return NULL;
}

/* Another module may have been loaded where the caller was. */
static bool is_outdated(struct site *site, const void *address)
{
	uint64_t module = atomic_load_explicit(&site->module, memory_order_acquire);
	return module != 0 && module != next_module(address);
}

void *site_next(struct site *site, const struct function *function, const void *address)
{
	void *next = site ? atomic_load_explicit(&site->next, memory_order_acquire) : NULL;
	if (next && !is_outdated(site, address))
		return next;

	uint64_t module;
	int saved = errno;
	next = next_function(function->symbol, address, &module);
	if (site) {
		atomic_store(&site->calls_tools, UNKNOWN);
		atomic_store(&site->index, INDEX_UNKNOWN);
		atomic_store_explicit(&site->next, next, memory_order_release);
		atomic_store_explicit(&site->module, module, memory_order_release);
	}
	errno = saved;
	return next;
}

bool site_calls_tools(struct site *site, const void *next)
{
	uint32_t answer =
		site ? atomic_load_explicit(&site->calls_tools, memory_order_relaxed) : UNKNOWN;
	if (answer == UNKNOWN) {
		int saved = errno;
		answer = next_is_llvms(next) ? YES : NO;
		if (site)
			atomic_store_explicit(&site->calls_tools, answer, memory_order_relaxed);
		errno = saved;
	}
	return answer == YES;
}

static bool is_named(struct phases_site *site, const char *name, size_t bytes)
{
	/* Another process may have taken it just now, for the same name. */
	for (int i = 0; i < NAME_LOOKS; i++) {
		if (atomic_load_explicit(&site->named, memory_order_acquire) == 1)
			return strncmp(site->name, name, bytes) == 0;
	}
	return false;
}

/* Finds it by name, as other processes of the job wait in the same places, or adds it. */
static uint32_t publish(
	struct phases_table *table, const struct function *function, uint64_t address)
{
	char name[sizeof table->site[0].name];

	name_site(name, sizeof name, function->said, (const void *)(uintptr_t)address);
	for (uint32_t i = 1; i < PHASES_SITES; i++) {
		struct phases_site *site = &table->site[i];
		uint64_t none = 0;
		if (atomic_load(&site->address) == 0 &&
			atomic_compare_exchange_strong(
				&site->address, &none, address ? address : 1)) {
			memcpy(site->name, name, sizeof name);
			atomic_store(&site->pid, (uint32_t)getpid());
			atomic_store_explicit(&site->named, 1, memory_order_release);
			uint32_t used = atomic_load(&table->header.sites_used);
			while (used <= i && !atomic_compare_exchange_weak(
						    &table->header.sites_used, &used, i + 1))
				;
			return i;
		}
		if (is_named(site, name, sizeof name))
			return i;
	}
	return 0;
}

uint32_t site_index(struct site *site)
{
	if (!site)
		return 0;
	uint32_t index = atomic_load_explicit(&site->index, memory_order_relaxed);
	if (index != INDEX_UNKNOWN)
		return index - 1;

	const struct function *function = atomic_load(&site->function);
	struct phases_table *table = table_get();
	if (!function || !table)
		return 0;
	int saved = errno;
	atomic_fetch_or(&table->header.sources, function->source);
	index = publish(table, function, atomic_load(&site->key) / SITE_FUNCTIONS);
	atomic_store(&site->index, index + 1);
	errno = saved;
	return index;
}

void site_add(uint32_t index, uint32_t waits, uint64_t waited_ns)
{
	struct phases_table *table = table_get();
	if (table && index < PHASES_SITES) {
		atomic_fetch_add_explicit(&table->site[index].waits, waits, memory_order_relaxed);
		atomic_fetch_add_explicit(
			&table->site[index].waited_ns, waited_ns, memory_order_relaxed);
	}
}

void sites_forget(void)
{
	for (uint32_t i = 0; i < SITES_KNOWN; i++) {
		if (atomic_load_explicit(&known[i].key, memory_order_relaxed) != 0)
			atomic_store(&known[i].index, INDEX_UNKNOWN);
	}
}
