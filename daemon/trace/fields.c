/* SPDX-License-Identifier: MIT */
#include "daemon/trace/parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int trace_refuse(struct trace_parser *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	p->error->line = p->line;
	return -EBADMSG;
}

void *trace_append(struct trace_array *array, size_t bytes)
{
	if (array->count == array->room) {
		size_t room = array->room > 0 ? 2 * array->room : 16;
		void *item = reallocarray(array->item, room, bytes);
		if (item == NULL)
			return NULL;
		array->item = item;
		array->room = room;
	}
	return memset((char *)array->item + bytes * array->count++, 0, bytes);
}

bool trace_next_line(struct trace_parser *p)
{
	const char *newline = p->at < p->end ? memchr(p->at, '\n', (size_t)(p->end - p->at)) : NULL;

	if (newline == NULL)
		return false;
	p->line++;
	p->field = p->at;
	p->stop = newline;
	p->at = newline + 1;
	return true;
}

bool trace_take_word(struct trace_parser *p, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t)(p->stop - p->field) <= bytes || memcmp(p->field, word, bytes) != 0 ||
		p->field[bytes] != ' ')
		return false;
	p->field += bytes + 1;
	return true;
}

bool trace_take_flag(struct trace_parser *p, const char *word)
{
	size_t bytes = strlen(word), left = (size_t)(p->stop - p->field);

	if (left < bytes || memcmp(p->field, word, bytes) != 0 ||
		(left > bytes && p->field[bytes] != ' '))
		return false;
	p->field += left > bytes ? bytes + 1 : bytes;
	return true;
}

bool trace_take_number(struct trace_parser *p, char mark, uint64_t max, uint64_t *out)
{
	const char *at = p->field;
	uint64_t number = 0;

	for (; at < p->stop && *at >= '0' && *at <= '9'; at++) {
		if (number > TRACE_NUMBER_MAX / 10)
			return false;
		number = 10 * number + (uint64_t)(*at - '0');
	}
	if (at == p->field || number > max || number > TRACE_NUMBER_MAX)
		return false;
	if (at < p->stop ? *at != mark : mark != '\n')
		return false;
	p->field = at < p->stop ? at + 1 : at;
	*out = number;
	return true;
}

bool trace_take_signed(struct trace_parser *p, char mark, uint64_t max, int64_t *out)
{
	bool negative = p->field < p->stop && *p->field == '-';
	uint64_t number;

	p->field += negative;
	if (!trace_take_number(p, mark, max, &number))
		return false;
	*out = negative ? -(int64_t)number : (int64_t)number;
	return true;
}

bool trace_take_item(struct trace_parser *p, uint64_t max, int64_t *out)
{
	bool last = memchr(p->field, ' ', (size_t)(p->stop - p->field)) == NULL;

	return trace_take_signed(p, last ? '\n' : ' ', max, out);
}

bool trace_take_tid(struct trace_parser *p, int32_t *out)
{
	uint64_t number;

	if (!trace_take_number(p, ' ', INT32_MAX, &number) || number == 0)
		return false;
	*out = (int32_t)number;
	return true;
}

bool trace_take_cpu(struct trace_parser *p, char mark, int32_t *out)
{
	uint64_t number;

	if (!trace_take_number(p, mark, TRACE_OS_CPU_MAX, &number))
		return false;
	*out = (int32_t)number;
	return true;
}

bool trace_take_cpu_or_none(struct trace_parser *p, char mark, int32_t *out)
{
	int64_t number;

	if (!trace_take_signed(p, mark, TRACE_OS_CPU_MAX, &number) || number < -1)
		return false;
	*out = (int32_t)number;
	return true;
}

bool trace_take_named(struct trace_parser *p, const char *name, uint64_t max, uint64_t *out)
{
	const char *field = p->field;
	size_t bytes = strlen(name);
	int64_t number;

	if ((size_t)(p->stop - field) <= bytes || memcmp(field, name, bytes) != 0 ||
		field[bytes] != '=' || field[bytes + 1] == '-')
		return false;
	p->field += bytes + 1;
	if (!trace_take_item(p, max, &number)) {
		p->field = field;
		return false;
	}
	*out = (uint64_t)number;
	return true;
}

bool trace_take_domain(struct trace_parser *p, char mark, uint32_t *out)
{
	uint64_t number;

	if (!trace_take_number(p, mark, TRACE_DOMAINS_MAX - 1, &number))
		return false;
	*out = (uint32_t)number;
	return true;
}

int trace_take_rest(struct trace_parser *p, const char **out)
{
	size_t bytes = (size_t)(p->stop - p->field);

	if (memchr(p->field, '\0', bytes) != NULL)
		return trace_refuse(p, "a NUL character");
	struct trace_text *text = malloc(sizeof(*text) + bytes + 1);
	if (text == NULL)
		return -ENOMEM;
	memcpy(text->bytes, p->field, bytes);
	text->bytes[bytes] = '\0';
	text->next = p->memory->texts;
	p->memory->texts = text;
	*out = text->bytes;
	return 0;
}
