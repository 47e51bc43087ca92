/* SPDX-License-Identifier: MIT */
/*
 * The terminal of jugglectl top: the only file that knows ncurses. It shows a canvas, and tells
 * keys, signals and sizes. One at a time, as ncurses has it.
 */
#ifndef TOP_TERMINAL_H
#define TOP_TERMINAL_H

#include "tools/top/canvas.h"

#include <stdint.h>

struct terminal;

/* What terminal_wait() returns. */
enum terminal_event {
	TERMINAL_TIME, /* it is over */
	TERMINAL_KEY, /* a character, or an enum view_key */
	TERMINAL_REDRAW, /* another size, or back from being stopped */
	TERMINAL_END, /* SIGINT, SIGTERM, SIGHUP, or the terminal is gone */
};

/* Why a screen cannot be shown here, in words that follow "a live screen needs ...". NULL: it
 * can. */
const char *terminal_lacks(void);

/* Take over the terminal. From here to terminal_close() the signals that would end or stop the
 * program are blocked and waited for. colour: use colours where there are. Returns 0, or a
 * negative errno code: the terminal is as it was. */
int terminal_open(bool colour, struct terminal **out);
/* Give it back as it was. Accepts NULL. Returns the signal that ended it, 0 for none: the
 * caller may raise it. */
int terminal_close(struct terminal *terminal);

/* How large it is now, each at least 1. */
void terminal_size(const struct terminal *terminal, int *rows, int *cols);
/* Show a canvas; of another size, what fits. Nothing is done while the terminal takes no output. */
void terminal_show(struct terminal *terminal, const struct canvas *canvas);
/* Wait until a moment of CLOCK_MONOTONIC at the latest. */
enum terminal_event terminal_wait(struct terminal *terminal, uint64_t until_ns, uint32_t *key);

#endif
