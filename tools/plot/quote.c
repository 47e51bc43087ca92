/* SPDX-License-Identifier: MIT */
#include "tools/plot/quote.h"

#include "daemon/base/json_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The length of the character at `text`; 0 when it is not UTF-8 or not allowed in XML. */
static size_t character_bytes(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} kind[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t k = 0; k < 4; k++) {
		if ((text[0] & kind[k].mask) != kind[k].lead)
			continue;
		uint32_t code = text[0] & (unsigned char)~kind[k].mask;
		for (size_t i = 1; i <= k; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[i] & 0x3f);
		}
		bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
		bool surrogate = code >= 0xd800 && code < 0xe000;
		if (control || surrogate || code < kind[k].least || code > 0x10ffff ||
			(code & 0xfffe) == 0xfffe)
			return 0;
		return k + 1;
	}
	return 0;
}

void quote_text(FILE *to, const char *text, size_t characters)
{
	fputc('\'', to);
	for (size_t i = 0; *text != '\0'; i++) {
		size_t bytes = character_bytes((const unsigned char *)text);
		if (i + 3 >= characters && strlen(text) > 3) {
			fputs("...", to);
			break;
		}
		if (bytes == 0)
			fputc('?', to);
		else
			fprintf(to, "%.*s%s", (int)bytes, text, *text == '\'' ? "'" : "");
		text += bytes > 0 ? bytes : 1;
	}
	fputc('\'', to);
}

void quote_json(FILE *to, const char *text)
{
	json_t *string = json_text(text);

	if (json_dumpf(string, to, JSON_ENCODE_ANY) < 0)
		fputs("\"?\"", to);
	json_decref(string);
}

/* '<' is only in strings. */
static int put_escaped(const char *text, size_t bytes, void *to)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] == '<')
			fputs("\\u003c", to);
		else
			fputc(text[i], to);
	return 0;
}

void quote_value_in_page(FILE *to, const json_t *value)
{
	if (json_dump_callback(value, put_escaped, to, JSON_ENCODE_ANY | JSON_COMPACT) < 0)
		fputs("\"?\"", to);
}

void quote_in_page(FILE *to, const char *text)
{
	json_t *string = json_text(text);

	quote_value_in_page(to, string);
	json_decref(string);
}
