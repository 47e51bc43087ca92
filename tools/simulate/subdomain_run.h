/* SPDX-License-Identifier: MIT */
/* Simulate subdomains in all variants of balancing that were asked for, and print what came of it. */
#ifndef SUBDOMAIN_RUN_H
#define SUBDOMAIN_RUN_H

#include "subdomain_options.h"

/* By complete options. between_ranks: tell of what happens there, too. Returns the exit status. */
int subdomain_run(const char *program, const struct subdomain_options *options, bool between_ranks);

#endif
