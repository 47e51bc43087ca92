/* SPDX-License-Identifier: MIT */
/*
 * Text from others in JSON: command lines, names of threads and files may hold any bytes, JSON strings
 * only UTF-8.
 */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include <jansson.h>

/* A new string; text that is not UTF-8 is made fit to print, see text.h. NULL without memory. */
json_t *json_text(const char *text);

#endif
