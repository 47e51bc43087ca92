/* SPDX-License-Identifier: MIT */
/*
 * Writing a workload's result: one JSON object, to a file or standard output.
 */
#ifndef BASE_JSON_FILE_H
#define BASE_JSON_FILE_H

#include <jansson.h>

/* Write the object and a newline to the file, replacing it; "-" is standard output. Takes over the
 * reference to object. Returns 0; -ENOMEM when object is NULL, so that a failed json_pack() can be
 * passed on; or a negative errno when writing fails, also on a full disk or a closed pipe. */
int json_file_write(const char *path, json_t *object);

#endif
