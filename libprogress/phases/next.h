/* SPDX-License-Identifier: MIT */
/* The functions behind those that we interpose. */
#ifndef LIBPHASES_NEXT_H
#define LIBPHASES_NEXT_H

#include <stdbool.h>
#include <stdint.h>

/* What any call of `symbol` would reach without us; NULL if it depends on the caller, or is nothing. */
void *next_of_all(const char *symbol);

/* What a call from an address would reach if next_of_all() finds nothing; NULL if nothing. Sets the
 * identity of the module that alone reaches it. */
void *next_of_module(const char *symbol, const void *address, uint64_t *module);

/* The identity of the module that has an address now, 0 if that can't be told quickly: another one may be
 * where it was. */
uint64_t next_module(const void *address);

/* Whether a function is in a library of LLVM's OpenMP runtime or its kin. */
bool next_is_llvms(const void *function);

#endif
