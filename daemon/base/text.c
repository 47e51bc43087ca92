/* SPDX-License-Identifier: MIT */
/* Makes text from others fit to print; see text.h. */
#include "daemon/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The length of the UTF-8 character at text, of at most `bytes` bytes; 0 for anything else and for
 * characters that can't be printed. */
static size_t character(const unsigned char *text, size_t bytes)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = text[0] < 0x80   ? 1
		   : text[0] < 0xc0 ? 0
		   : text[0] < 0xe0 ? 2
		   : text[0] < 0xf0 ? 3
		   : text[0] < 0xf8 ? 4
				    : 0;

	if (n == 0 || n > bytes)
		return 0;
	uint32_t code = n == 1 ? text[0] : text[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	/* Characters that change the writing direction, and line separators. */
	bool turns = (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
	if (control || turns || code < least[n] || code > 0x10ffff || (code >> 11) == 0x1b)
		return 0;
	return n;
}

void text_printable(char *out, size_t out_bytes, const char *text, size_t bytes)
{
	size_t length = strnlen(text, bytes), at = 0, filled = 0;

	while (at < length) {
		size_t n = character((const unsigned char *)text + at, length - at);
		if (filled + (n > 0 ? n : 1) >= out_bytes)
			break;
		if (n > 0)
			memmove(out + filled, text + at, n);
		else
			out[filled] = '?';
		filled += n > 0 ? n : 1;
		at += n > 0 ? n : 1;
	}
	out[filled] = '\0';
}

void text_make_printable(char *text)
{
	size_t bytes = strlen(text);

	text_printable(text, bytes + 1, text, bytes);
}

char *text_format(const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		return NULL;
	text_make_printable(text);
	return text;
}

void text_line(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_format(format, args);
	va_end(args);
	fprintf(out, "%s\n", text != NULL ? text : format);
	free(text);
}

static ssize_t pass_on(void *out, const char *text, size_t bytes)
{
	char *printable = malloc(bytes);
	size_t filled = 0;

	if (printable == NULL)
		return 0; /* an error */
	for (size_t at = 0, n; at < bytes; at += n) {
		bool newline = text[at] == '\n';
		size_t fit = newline ? 1 : character((const unsigned char *)text + at, bytes - at);
		n = fit > 0 ? fit : 1;
		if (fit > 0)
			memcpy(printable + filled, text + at, n);
		else
			printable[filled] = '?';
		filled += n;
	}
	fwrite(printable, 1, filled, out);
	free(printable);
	return (ssize_t)bytes;
}

FILE *text_stream(FILE *out)
{
	FILE *stream = fopencookie(out, "w", (cookie_io_functions_t){.write = pass_on});

	if (stream != NULL)
		setvbuf(stream, NULL, _IOLBF, BUFSIZ);
	return stream;
}
