/* SPDX-License-Identifier: MIT */
/* The functions behind those that we interpose. */
#ifndef LIBPHASES_NEXT_H
#define LIBPHASES_NEXT_H

#include <stdbool.h>

/* What a call of `symbol` from an address would have reached without us; NULL if nothing. */
void *next_function(const char *symbol, const void *address);

/* Whether a function is in a library of LLVM's OpenMP runtime or its kin. */
bool next_is_llvms(const void *function);

#endif
