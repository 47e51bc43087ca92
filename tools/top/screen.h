/* SPDX-License-Identifier: MIT */
/* The whole screen of jugglectl top: which panel has how much of it. Pure, as panels.h. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "tools/top/panels.h"

/* Smaller ones are told to be too small. */
enum { SCREEN_ROWS_MIN = 12, SCREEN_COLS_MIN = 60 };

/* Draw on a canvas that was just blanked, of any size. */
void screen_draw(struct canvas *canvas, const struct frame *frame);

#endif
