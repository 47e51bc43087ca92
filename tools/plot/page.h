/* SPDX-License-Identifier: MIT */
/*
 * Web pages that need no other file: the parts of page/, with the data between them. Scripts there
 * draw the panels, in a browser; here are the numbers.
 */
#ifndef PLOT_PAGE_H
#define PLOT_PAGE_H

#include "tools/plot/picture.h"

/* What all pages begin and end with; made by page/bundle. */
struct page_frame {
	const unsigned char *head, *tail; /* NULL: the build has no pages */
	size_t head_bytes, tail_bytes;
};

extern const struct page_frame page_frame;

/* Write the page of a run, with the picture's panels, whatever its size. The chart and the braid
 * should have been made for chart_page. ferror(3) shows whether that failed. Returns 0 or -ENOMEM. */
int page_write(const struct picture *picture, FILE *to);

/* Around the data of any page, which are JSON without '<'. */
void page_begin(FILE *to);
void page_end(FILE *to);

#endif
