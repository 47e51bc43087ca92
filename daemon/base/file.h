/* SPDX-License-Identifier: MIT */
/* Files by their descriptors. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

/* Write all of it, however many calls that takes. Returns 0 or a negative errno; a part may have
 * been written then. */
int file_write_all(int fd, const void *data, size_t bytes);

#endif
