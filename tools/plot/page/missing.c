/* SPDX-License-Identifier: MIT */
/* For builds without dygraphs: there are no pages. */
#include "tools/plot/page.h"

const struct page_frame page_frame = {0};
