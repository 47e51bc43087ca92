/* SPDX-License-Identifier: MIT */
/* Simulate subdomains in all wanted variants of balancing, and print the results. */
#ifndef SUBDOMAIN_RUN_H
#define SUBDOMAIN_RUN_H

#include "tools/simulate/subdomain_options.h"

/* The common part of both subcommands: read the command line into *options, which has the defaults;
 * call `choose` to set what was not named; run. argv[0] is the full name. Returns the exit
 * status. */
int subdomain_main(const struct argp *argp, int argc, char **argv,
	struct subdomain_options *options, void (*choose)(struct subdomain_options *options));

#endif
