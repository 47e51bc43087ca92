/* SPDX-License-Identifier: MIT */
/*
 * Finding the interposed functions; see next.h.
 *
 * Usually they are in a library that all of the program sees. But Python, for one, loads modules so
 * that only each itself sees its libraries, and several of them can bring the same one along: then it
 * has to be the caller's.
 */
#include "libprogress/phases/next.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

/* For modules that leave it to others to load what they need. */
static const char *const libraries[] = {"libgomp.so.1", "libmpi.so.40", "libmpi.so.12",
	"libmpich.so.12", "libmpi.so.0", "libomp.so.5", "libomp.so", "libiomp5.so"};

static void *in_library(const char *file, const char *symbol)
{
	void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
	void *found = library ? dlsym(library, symbol) : NULL;
	if (library)
		dlclose(library);
	return found;
}

/* We remember the function: its library has to stay, even if the program closes it. */
static void keep(void *function)
{
	Dl_info info;
	struct link_map *map;

	if (dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) && map->l_name[0]) {
		void *library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		if (library)
			dlclose(library);
	}
}

/* The program shall not find our failures, either. */
static void *kept(void *function)
{
	if (function)
		keep(function);
	dlerror();
	return function;
}

void *next_of_all(const char *symbol)
{
	return kept(dlsym(RTLD_NEXT, symbol));
}

void *next_of_module(const char *symbol, const void *address, uint64_t *module)
{
	Dl_info info;
	struct link_map *caller;
	void *found = NULL;

	*module = next_module(address);
	if (dladdr1(address, &info, (void **)&caller, RTLD_DL_LINKMAP) && caller->l_name[0])
		found = in_library(caller->l_name, symbol);
	for (size_t i = 0; !found && i < sizeof libraries / sizeof libraries[0]; i++)
		found = in_library(libraries[i], symbol);
	return kept(found);
}

uint64_t next_module(const void *address)
{
	uint64_t identity = 0;
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* as _dl_find_object() */
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found) == 0) {
		identity = (uintptr_t)found.dlfo_map_start;
		for (const char *c = found.dlfo_link_map->l_name; *c; c++)
			identity = (identity ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	}
#else
	(void)address;
#endif
	return identity;
}

bool next_is_llvms(const void *function)
{
	Dl_info info;
	struct link_map *library;

	bool is = dladdr1(function, &info, (void **)&library, RTLD_DL_LINKMAP) &&
		  in_library(library->l_name, "__kmpc_fork_call");
	dlerror();
	return is;
}
