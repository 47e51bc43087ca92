/* SPDX-License-Identifier: MIT */
/*
 * The terminal of jugglectl top: the only file that knows ncurses. It shows a canvas, and returns
 * keys, signals and sizes. Only one at a time, because of ncurses.
 */
#ifndef TOP_TERMINAL_H
#define TOP_TERMINAL_H

#include "tools/top/canvas.h"

#include <stdint.h>

struct terminal;

/* What terminal_wait() returns. */
enum terminal_event {
	TERMINAL_TIME, /* the time has come */
	TERMINAL_KEY, /* a character, or an enum view_key */
	TERMINAL_REDRAW, /* another size, or back from being stopped */
	TERMINAL_END, /* SIGINT, SIGTERM, SIGHUP, or the terminal is gone */
};

/* Why a screen can't be shown here, in words that follow "a live screen needs ..."; NULL: it
 * can. */
const char *terminal_lacks(void);

/* Take over the terminal. Until terminal_close() the signals that would end or stop the program are
 * blocked, and taken by terminal_wait(). colour: use colours if there are any. Returns 0, or a
 * negative errno code with the terminal unchanged. */
int terminal_open(bool colour, struct terminal **out);
/* Restore the terminal. Accepts NULL. Returns the signal that ended it, or 0; the caller may raise
 * it. */
int terminal_close(struct terminal *terminal);

/* Its size now, each at least 1. */
void terminal_size(const struct terminal *terminal, int *rows, int *cols);
/* Show a canvas, or the part that fits. Does nothing while the terminal takes no output. */
void terminal_show(struct terminal *terminal, const struct canvas *canvas);
/* Wait for an event, at most until a moment of CLOCK_MONOTONIC. */
enum terminal_event terminal_wait(struct terminal *terminal, uint64_t until_ns, uint32_t *key);

#endif
