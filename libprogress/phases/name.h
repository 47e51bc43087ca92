/* SPDX-License-Identifier: MIT */
/* The names of sites. */
#ifndef LIBPHASES_NAME_H
#define LIBPHASES_NAME_H

#include <stddef.h>

/* Writes "WHAT in FUNCTION+OFFSET" for an address, "WHAT in FILE+OFFSET" if no exported function of the
 * program or library holds it, or "WHAT". Terminated, and zero to its end. */
void name_site(char *name, size_t bytes, const char *what, const void *address);

#endif
