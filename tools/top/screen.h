/* SPDX-License-Identifier: MIT */
/* The whole screen of jugglectl top: how much of it each panel gets. Pure, as panels.h. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "tools/top/panels.h"

/* A smaller screen only says that it is too small. */
enum { SCREEN_ROWS_MIN = 12, SCREEN_COLS_MIN = 60 };

/* Draw on a canvas that was just blanked, of any size. */
void screen_draw(struct canvas *canvas, const struct frame *frame);

#endif
