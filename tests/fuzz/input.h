/* SPDX-License-Identifier: MIT */
/* Takes an input of a fuzzer apart, from its beginning. After its end there are zeros. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct input {
	const uint8_t *at;
	size_t left;
};

static inline void input_copy(struct input *input, void *out, size_t bytes)
{
	size_t n = bytes < input->left ? bytes : input->left;

	memset(out, 0, bytes);
	if (n > 0)
		memcpy(out, input->at, n);
	input->at += n;
	input->left -= n;
}

static inline uint8_t input_byte(struct input *input)
{
	uint8_t byte;

	input_copy(input, &byte, sizeof byte);
	return byte;
}

/* The rest as a string, in memory that ends where it ends. free() it. */
static inline char *input_text(struct input *input)
{
	char *text = malloc(input->left + 1);

	if (text == NULL)
		abort();
	memcpy(text, input->at, input->left);
	text[input->left] = '\0';
	input->left = 0;
	return text;
}

/* ---- Structures in shared memory ---- */

/* The inputs of these targets are lists of writes to fields. Fields have numbers, so that inputs mean
 * the same when the layout changes. New fields come last. */
struct field {
	size_t at, bytes;
};
#define FIELD(type, name)                                                                          \
	{                                                                                          \
		offsetof(struct type, name), sizeof(((struct type *)0)->name)                      \
	}

/* Write to a field of a record: its number, the place in a field of more than 8 bytes, and up to 8
 * bytes for it. */
static inline void input_write(
	struct input *input, void *record, const struct field *field, size_t fields)
{
	const struct field *to = &field[input_byte(input) % fields];
	size_t at = input_byte(input) * sizeof(uint64_t) % to->bytes, room = to->bytes - at;

	input_copy(input, (char *)record + to->at + at,
		room < sizeof(uint64_t) ? room : sizeof(uint64_t));
}

#endif
