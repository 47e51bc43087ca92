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
#define MODULES_KNOWN 16
#define FAMILY_MOST 40
#define INDEX_UNKNOWN 0 /* site.index is index + 1 */

struct site {
	_Atomic uint64_t key; /* 0: free */
	void *_Atomic next;
	_Atomic uint64_t module; /* which alone reaches `next`, or 0 */
	struct function *_Atomic function;
	_Atomic uint32_t index;
	_Atomic uint32_t calls_tools; /* an answer */
};

enum { UNKNOWN, YES, NO };

static struct site known[SITES_KNOWN];

/* What modules call that alone reach a family of functions. */
static struct {
	_Atomic uint64_t module;
	_Atomic uint32_t calls_tools;
	void *_Atomic next[FAMILY_MOST];
} modules[MODULES_KNOWN];

/* One address can return from several functions: that of a call through a pointer. */
static uint64_t key_of(const struct function *function, const void *address)
{
	return (uint64_t)(uintptr_t)address * SITE_FUNCTIONS + function->number;
}

struct site *site_at(struct function *function, const void *address)
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

/* Remembers what all callers of a function and its family would call. */
static void found_for_all(struct function *function, void *next)
{
	uint32_t tools = next_is_llvms(next) ? YES : NO;

	atomic_store(&function->calls_tools, tools);
	atomic_store_explicit(&function->next, next, memory_order_release);
	for (uint32_t i = 0; i < function->members; i++) {
		struct function *other = &function->family[i];
		if (atomic_load(&other->next))
			continue;
		atomic_store(&other->calls_tools, tools);
		atomic_store_explicit(
			&other->next, next_of_all(other->symbol), memory_order_release);
	}
}

/* The same for what one module would call. */
static void found_for_module(
	const struct function *function, void *next, const void *address, uint64_t module)
{
	uint32_t i = 0;
	uint64_t none = 0;

	while (i < MODULES_KNOWN &&
		!atomic_compare_exchange_strong(&modules[i].module, &none, module)) {
		if (none == module)
			return;
		none = 0;
		i++;
	}
	if (i < MODULES_KNOWN)
		atomic_store(&modules[i].calls_tools, next_is_llvms(next) ? YES : NO);
	for (uint32_t k = 0; i < MODULES_KNOWN && k < function->members && k < FAMILY_MOST; k++)
		atomic_store(&modules[i].next[k],
			next_of_module(function->family[k].symbol, address, &module));
}

static void *known_of_module(const struct function *function, uint64_t module, uint32_t *tools)
{
	size_t member = function->members ? (size_t)(function - function->family) : FAMILY_MOST;

	for (uint32_t i = 0; member < FAMILY_MOST && module && i < MODULES_KNOWN; i++) {
		if (atomic_load(&modules[i].module) != module)
			continue;
		void *next = atomic_load(&modules[i].next[member]);
		*tools = next ? atomic_load(&modules[i].calls_tools) : UNKNOWN;
		return next;
	}
	return NULL;
}

static void *find(struct site *site, struct function *function, const void *address)
{
	uint64_t module = next_module(address);
	uint32_t tools = UNKNOWN;
	void *next = known_of_module(function, module, &tools);

	if (!next && (next = next_of_all(function->symbol))) {
		found_for_all(function, next);
		tools = atomic_load(&function->calls_tools);
		module = 0;
	} else if (!next) {
		next = next_of_module(function->symbol, address, &module);
		if (next && module && function->members)
			found_for_module(function, next, address, module);
	}
	if (site) {
		atomic_store(&site->calls_tools, tools);
		atomic_store(&site->index, INDEX_UNKNOWN);
		atomic_store_explicit(&site->next, next, memory_order_release);
		atomic_store_explicit(&site->module, module, memory_order_release);
	}
	return next;
}

void site_find(struct function *function)
{
	int saved = errno;
	void *next = next_of_all(function->symbol);
	if (next)
		found_for_all(function, next);
	errno = saved;
}

void *site_next(struct site *site, struct function *function, const void *address)
{
	void *next = atomic_load_explicit(&function->next, memory_order_acquire);
	if (next)
		return next;
	next = site ? atomic_load_explicit(&site->next, memory_order_acquire) : NULL;
	if (next && !is_outdated(site, address))
		return next;
	int saved = errno;
	next = find(site, function, address);
	errno = saved;
	return next;
}

void *site_next_at(struct function *function, const void *address)
{
	void *next = atomic_load_explicit(&function->next, memory_order_acquire);
	return next ? next : site_next(site_at(function, address), function, address);
}

void *site_next_without_tools(const struct function *function)
{
	void *next = atomic_load_explicit(&function->next, memory_order_acquire);
	uint32_t tools = atomic_load_explicit(&function->calls_tools, memory_order_relaxed);

	return tools == NO ? next : NULL;
}

bool site_calls_tools(struct site *site, const struct function *function, const void *next)
{
	uint32_t answer = atomic_load_explicit(&function->calls_tools, memory_order_relaxed);
	if (answer == UNKNOWN && site)
		answer = atomic_load_explicit(&site->calls_tools, memory_order_relaxed);
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
