/* SPDX-License-Identifier: MIT */
/* The metrics of several jobs, printed once or written again and again. */
#ifndef JUGGLECTL_STAT_EXPORT_H
#define JUGGLECTL_STAT_EXPORT_H

#include "tools/stat/options.h"

/* Print metrics of all jobs, or of those that are named, as the options say. Returns an exit
 * status. */
int export_metrics(const char *program, const struct stat_options *options);

#endif
