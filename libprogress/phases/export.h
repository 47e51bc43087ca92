/* SPDX-License-Identifier: MIT */
#ifndef LIBPHASES_EXPORT_H
#define LIBPHASES_EXPORT_H

/* Seen by the program: everything else is hidden. */
#define EXPORT __attribute__((visibility("default")))

#endif
