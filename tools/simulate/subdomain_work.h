/* SPDX-License-Identifier: MIT */
/* How much there is to simulate: what would take hours is refused, what takes long is announced. */
#ifndef SUBDOMAIN_WORK_H
#define SUBDOMAIN_WORK_H

#include "tools/simulate/subdomain_options.h"

#include <stdbool.h>

/* Is it less than hours? Always, by this, with --residual. */
bool subdomain_work_fits(const struct subdomain_options *options);

/* Say on standard error about how long it takes, if that is long. */
void subdomain_announce(const char *program, const struct subdomain_options *options);

#endif
