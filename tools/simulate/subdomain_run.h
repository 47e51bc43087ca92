/* SPDX-License-Identifier: MIT */
/* Simulate subdomains in all variants of balancing that were asked for, and print what came of it. */
#ifndef SUBDOMAIN_RUN_H
#define SUBDOMAIN_RUN_H

#include "tools/simulate/subdomain_options.h"

/* The rest of a subcommand: read the command line into *options, which has the defaults; let `choose` name what
 * was not named; run. argv[0] is the whole name. Returns the exit status. */
int subdomain_main(const struct argp *argp, int argc, char **argv,
	struct subdomain_options *options, void (*choose)(struct subdomain_options *options));

#endif
