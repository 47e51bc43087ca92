/* SPDX-License-Identifier: MIT */
/* Writing to file descriptors. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

/* Write all the data, in as many calls as that takes. Returns 0 or a negative errno; then a part
 * may have been written. */
int file_write_all(int fd, const void *data, size_t bytes);

#endif
