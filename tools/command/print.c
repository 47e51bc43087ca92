/* SPDX-License-Identifier: MIT */
/* What subcommands print; see print.h. */
#include "tools/command/print.h"

#include "daemon/base/json_file.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Print exactly one line, whatever characters the names in it contain. */
static void print_line(const char *program, const char *format, va_list args)
{
	char *text = text_format(format, args);

	fprintf(stderr, "%s: %s\n", program, text != NULL ? text : format);
	free(text);
}

int command_fail(const char *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(program, format, args);
	va_end(args);
	return COMMAND_IMPOSSIBLE;
}

int command_wrong(const char *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(program, format, args);
	va_end(args);
	return COMMAND_WRONG;
}

void command_words(const char *text, int column, int indent)
{
	bool first = true;

	for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
		int length = (int)strcspn(text, " ");
		if (!first && column + 1 + length > COMMAND_COLUMNS) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (!first)
			column += printf(" ");
		column += printf("%.*s", length, text);
		text += length;
		first = false;
	}
	putchar('\n');
}

void command_sentences(const char *format, ...)
{
	char text[1001];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	command_words(text, 0, 0);
}

int command_print_json(const char *program, json_t *object)
{
	int r = json_file_write("-", object);

	return r < 0 ? command_fail(program, "cannot write: %s", strerror(-r)) : 0;
}

int command_flush(const char *program)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return command_fail(program, "cannot write: %s", strerror(errno));
}
