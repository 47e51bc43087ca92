/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses, without dladdr(3) where the C library allows it: that takes a lock which a
 * thread holds while it runs the constructors of a library. If these wait for other threads, at a
 * barrier, those must not wait for the lock.
 */
#include "libprogress/phases/name.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OTHERS_BYTES 24 /* of a name, besides what waits and where */

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* as _dl_find_object() */

struct symbols {
	const ElfW(Sym) * symbol;
	const char *string;
	const uint32_t *hash;
};

/* The addresses of a library's dynamic section have been made absolute, except on some machines. */
static const void *pointer(const struct link_map *map, ElfW(Addr) value)
{
	return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

static struct symbols symbols_of(const struct link_map *map)
{
	struct symbols found = {0};

	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			found.symbol = pointer(map, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_STRTAB)
			found.string = pointer(map, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_GNU_HASH)
			found.hash = pointer(map, entry->d_un.d_ptr);
	}
	return found;
}

/* The hash table holds all defined symbols; how many there are, its last chain tells. Returns the
 * number of the first symbol that it holds, and where they end. */
static uint32_t defined_symbols(const uint32_t *hash, uint32_t *end)
{
	uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2], last = 0;
	const uint32_t *bucket = hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof *hash);
	const uint32_t *chain = bucket + buckets;

	for (uint32_t i = 0; i < buckets; i++) {
		if (bucket[i] > last)
			last = bucket[i];
	}
	if (last >= first) {
		while (!(chain[last - first] & 1))
			last++;
	}
	*end = last >= first ? last + 1 : first;
	return first;
}

/* The function that holds an address, and how far the address is in it. NULL if none does. */
static const char *function_at(const struct link_map *map, uintptr_t address, uintptr_t *offset)
{
	struct symbols symbols = symbols_of(map);
	uint32_t end;

	if (!symbols.symbol || !symbols.string || !symbols.hash)
		return NULL;
	for (uint32_t i = defined_symbols(symbols.hash, &end); i < end; i++) {
		const ElfW(Sym) *symbol = &symbols.symbol[i];
		uintptr_t start = map->l_addr + symbol->st_value;
		if ((symbol->st_info & 0xf) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
			address - start < symbol->st_size) {
			*offset = address - start;
			return symbols.string + symbol->st_name;
		}
	}
	return NULL;
}

static const char *place(uintptr_t address, uintptr_t *offset, const char **file)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found) != 0)
		return NULL;
	*offset = address - found.dlfo_link_map->l_addr;
	*file = found.dlfo_link_map->l_name;
	return function_at(found.dlfo_link_map, address, offset);
}

#else

static const char *place(uintptr_t address, uintptr_t *offset, const char **file)
{
	Dl_info found;

	if (dladdr((void *)address, &found) == 0)
		return NULL;
	*file = found.dli_fname;
	*offset = address - (uintptr_t)(found.dli_sname ? found.dli_saddr : found.dli_fbase);
	return found.dli_sname;
}

#endif

void name_site(char *name, size_t bytes, const char *what, const void *address)
{
	char program[256];
	const char *file = NULL;
	uintptr_t offset = 0;

	/* An address that a call returns to may be the first one of the next function. */
	const char *where = address ? place((uintptr_t)address - 1, &offset, &file) : NULL;
	memset(name, 0, bytes);
	if (!where && file && !file[0]) { /* the program has no name in the list of libraries */
		ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
		program[length > 0 ? length : 0] = '\0';
		file = program;
	}
	if (!where && file)
		where = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	int length = snprintf(name, bytes, "%s", what);
	int room = (int)bytes - length - OTHERS_BYTES;
	if (where && where[0] && room > 0)
		snprintf(name + length, bytes - (size_t)length, " in %.*s+%#jx", room, where,
			(uintmax_t)offset + 1);
}
