/* SPDX-License-Identifier: MIT */
/* The functions behind those that we interpose. */
#ifndef LIBPHASES_NEXT_H
#define LIBPHASES_NEXT_H

#include <stdbool.h>
#include <stdint.h>

/* What a call of `symbol` from an address would have reached without us; NULL if nothing. Where only
 * the caller's module reaches it, that module's identity, else 0. */
void *next_function(const char *symbol, const void *address, uint64_t *module);

/* The identity of the module that has an address now, 0 if that can't be told quickly: another one may be
 * where it was. */
uint64_t next_module(const void *address);

/* Whether a function is in a library of LLVM's OpenMP runtime or its kin. */
bool next_is_llvms(const void *function);

#endif
