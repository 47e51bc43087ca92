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

void *next_function(const char *symbol, const void *address)
{
	Dl_info info;
	struct link_map *caller;

	void *found = dlsym(RTLD_NEXT, symbol);
	if (!found && dladdr1(address, &info, (void **)&caller, RTLD_DL_LINKMAP) &&
		caller->l_name[0])
		found = in_library(caller->l_name, symbol);
	for (size_t i = 0; !found && i < sizeof libraries / sizeof libraries[0]; i++)
		found = in_library(libraries[i], symbol);
	dlerror(); /* the program shall not find our failures */
	return found;
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
