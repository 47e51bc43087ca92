/* SPDX-License-Identifier: MIT */
/* Writing to files that users name, and reading small ones that the kernel writes. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open a file to be written, which is made if it doesn't exist, and emptied if it does and `anew` is
 * set. It may be a FIFO, whose reader may come up to a second later. Writing to it never blocks.
 * Returns a descriptor or a negative errno; -ENXIO when nobody reads from the FIFO, -EOPNOTSUPP for
 * a socket. */
int file_open_output(const char *path, bool anew);

/* Write as much as goes without waiting. Returns the number of bytes, 0 if the reader has to read
 * first, or a negative errno. */
ssize_t file_write_some(int fd, const void *data, size_t bytes);

/* Write all the data, in as many calls as that takes. Returns 0; -ETIMEDOUT when a reader has not
 * read it by then (CLOCK_MONOTONIC, in ns; UINT64_MAX: wait for it); or another negative errno. After
 * an error, a part may have been written. */
int file_write_all(int fd, const void *data, size_t bytes, uint64_t until_ns);

/* Make this all that a file, of file_open_output(), holds. Where others do the same to it at this time, it is one after
 * the other, as far as the file system has locks. Returns as file_write_all(); -ETIMEDOUT with the file as it was where
 * another holds the lock until then. */
int file_write_whole(int fd, const void *data, size_t bytes, uint64_t until_ns);

/* Read the beginning of a file below root ("" for the machine's own) into out, as a string without the
 * newline at its end. Never blocks, even if the file is a FIFO. Returns 0 or a negative errno; then out
 * is "". */
int file_read_text(const char *root, const char *path, char *out, size_t bytes);

/* Close this descriptor and all above it. */
void file_close_from(int first);

#endif
