/* SPDX-License-Identifier: MIT */
/* A grid of characters to draw on; see canvas.h. */
#include "tools/top/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void blank(struct canvas *canvas)
{
	for (size_t i = 0; i < (size_t)canvas->rows * (size_t)canvas->cols; i++)
		canvas->cell[i] = (struct canvas_cell){.ch = L' '};
}

int canvas_resize(struct canvas *canvas, int rows, int cols)
{
	if (rows != canvas->rows || cols != canvas->cols || canvas->cell == NULL) {
		free(canvas->cell);
		canvas->rows = canvas->cols = 0;
		canvas->cell = calloc((size_t)rows * (size_t)cols + 1, sizeof(struct canvas_cell));
		if (canvas->cell == NULL)
			return -ENOMEM;
		canvas->rows = rows;
		canvas->cols = cols;
	}
	blank(canvas);
	return 0;
}

void canvas_deinit(struct canvas *canvas)
{
	free(canvas->cell);
	*canvas = (struct canvas){0};
}

struct canvas_area canvas_whole(struct canvas *canvas)
{
	return (struct canvas_area){.canvas = canvas, .rows = canvas->rows, .cols = canvas->cols};
}

/* The part of [at, at + length) that is within [0, limit). */
static void clip(int *at, int *length, int limit)
{
	if (*at < 0) {
		*length += *at;
		*at = 0;
	}
	if (*at > limit)
		*at = limit;
	if (*length > limit - *at)
		*length = limit - *at;
	if (*length < 0)
		*length = 0;
}

struct canvas_area canvas_part(const struct canvas_area *area, int row, int col, int rows, int cols)
{
	clip(&row, &rows, area->rows);
	clip(&col, &cols, area->cols);
	return (struct canvas_area){.canvas = area->canvas,
		.row = area->row + row,
		.col = area->col + col,
		.rows = rows,
		.cols = cols};
}

/* Set a cell. If this overwrites one half of a double-width character, blank the other half. */
static void set(struct canvas *canvas, int row, int col, wchar_t ch, enum canvas_style style)
{
	struct canvas_cell *line = canvas->cell + (size_t)row * (size_t)canvas->cols;

	if (line[col].ch == 0 && ch != 0 && col > 0)
		line[col - 1].ch = L' ';
	if (col + 1 < canvas->cols && line[col + 1].ch == 0)
		line[col + 1].ch = L' ';
	line[col] = (struct canvas_cell){.ch = ch, .style = (uint8_t)style};
}

/* The next character of a text, which must not be at its end. Bytes that aren't UTF-8 become
 * '?'. */
static wchar_t next_char(const char **text)
{
	const unsigned char *at = (const unsigned char *)*text;
	int more = at[0] < 0x80   ? 0
		   : at[0] < 0xc2 ? -1
		   : at[0] < 0xe0 ? 1
		   : at[0] < 0xf0 ? 2
		   : at[0] < 0xf5 ? 3
				  : -1;
	uint32_t ch = more > 0 ? at[0] & (0x3fu >> more) : at[0];

	*text += 1;
	if (more < 0)
		return L'?';
	for (int i = 1; i <= more; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return L'?';
		ch = ch << 6 | (at[i] & 0x3f);
	}
	*text += more;
	return (wchar_t)ch;
}

int canvas_text(
	const struct canvas_area *area, int row, int col, enum canvas_style style, const char *text)
{
	if (row < 0 || row >= area->rows || col < 0)
		return col;
	while (*text != '\0' && col < area->cols) {
		wchar_t ch = next_char(&text);
		int width = ch < 0x80 ? 1 : area->canvas->utf8 ? wcwidth(ch) : -1;
		if (width == 0)
			continue;
		if (width < 0 || ch < 0x20 || ch == 0x7f) {
			ch = L'?';
			width = 1;
		}
		if (col + width > area->cols) {
			ch = L' ';
			width = 1;
		}
		set(area->canvas, area->row + row, area->col + col, ch, style);
		if (width == 2)
			set(area->canvas, area->row + row, area->col + col + 1, 0, style);
		col += width;
	}
	return col;
}

int canvas_print(const struct canvas_area *area, int row, int col, enum canvas_style style,
	const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return canvas_text(area, row, col, style, text);
}

static int width_of(const struct canvas *canvas, const char *text)
{
	int width = 0;

	while (*text != '\0') {
		wchar_t ch = next_char(&text);
		int one = ch < 0x80 ? 1 : canvas->utf8 ? wcwidth(ch) : -1;
		width += one < 0 ? 1 : one;
	}
	return width;
}

void canvas_field(const struct canvas_area *area, int row, int col, int width, bool right,
	enum canvas_style style, const char *text)
{
	struct canvas_area part = canvas_part(area, row, col, 1, width);
	int needed = right ? width_of(area->canvas, text) : 0;

	canvas_text(&part, 0, right && needed < part.cols ? part.cols - needed : 0, style, text);
}

void canvas_put(const struct canvas_area *area, int row, int col, enum canvas_style style,
	wchar_t ch, char ascii)
{
	if (row < 0 || row >= area->rows || col < 0 || col >= area->cols)
		return;
	set(area->canvas, area->row + row, area->col + col,
		area->canvas->utf8 ? ch : (wchar_t)ascii, style);
}

void canvas_fill(const struct canvas_area *area, int row, int col, enum canvas_style style,
	wchar_t ch, char ascii)
{
	for (; col < area->cols; col++)
		canvas_put(area, row, col, style, ch, ascii);
}
