/* SPDX-License-Identifier: MIT */
/*
 * A grid of characters to draw on: what jugglectl top shows, before it goes to a terminal.
 *
 * So all drawing can be tested without a terminal. Everything is cut at the edges of its area, also
 * characters of two columns; nothing is ever written outside. Characters that the locale's encoding
 * may lack, and those without a width, are left out. wcwidth() needs setlocale().
 */
#ifndef TOP_CANVAS_H
#define TOP_CANVAS_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

enum { CANVAS_LEVELS = 5 };

enum canvas_style {
	CANVAS_PLAIN,
	CANVAS_DIM,
	CANVAS_BOLD,
	CANVAS_TITLE, /* the first and the last line */
	CANVAS_HEAD, /* of a panel */
	CANVAS_CHOSEN, /* the chosen line of a list, the column that is sorted by */
	CANVAS_AHEAD,
	CANVAS_BEHIND,
	CANVAS_WARNING,
	CANVAS_LEVEL, /* how far behind, in CANVAS_LEVELS; 0 is not behind */
	CANVAS_STYLES = CANVAS_LEVEL + CANVAS_LEVELS,
};

struct canvas_cell {
	wchar_t ch; /* 0: the right half of the one before */
	uint8_t style;
};

struct canvas {
	int rows, cols;
	bool utf8; /* false: ASCII only */
	struct canvas_cell *cell;
};

/* A rectangle of it, which may be empty. */
struct canvas_area {
	struct canvas *canvas;
	int row, col, rows, cols;
};

/* Give a canvas, zeroed or used, this size, 0 or more, and blank it. -ENOMEM: it is empty then. */
int canvas_resize(struct canvas *canvas, int rows, int cols);
/* Accepts a zeroed one, and zeroes it. */
void canvas_deinit(struct canvas *canvas);

struct canvas_area canvas_whole(struct canvas *canvas);
/* The part of a rectangle that is within the area, whose upper left corner is (0, 0). */
struct canvas_area canvas_part(
	const struct canvas_area *area, int row, int col, int rows, int cols);

/* Draw UTF-8 text in a row. Returns the column after it, at most that of the edge. */
int canvas_text(const struct canvas_area *area, int row, int col, enum canvas_style style,
	const char *text);
int canvas_print(const struct canvas_area *area, int row, int col, enum canvas_style style,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same in a field of `width` columns, aligned right if `right`. */
void canvas_field(const struct canvas_area *area, int row, int col, int width, bool right,
	enum canvas_style style, const char *text);
/* Draw one character of one column, or another one if only ASCII may be used. */
void canvas_put(const struct canvas_area *area, int row, int col, enum canvas_style style,
	wchar_t ch, char ascii);
/* Fill a row of the area from a column on with one character. */
void canvas_fill(const struct canvas_area *area, int row, int col, enum canvas_style style,
	wchar_t ch, char ascii);

#endif
