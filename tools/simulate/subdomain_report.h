/* SPDX-License-Identifier: MIT */
/* The results of simulated subdomains, as a table or as JSON. */
#ifndef SUBDOMAIN_REPORT_H
#define SUBDOMAIN_REPORT_H

#include "tools/simulate/subdomain_options.h"

/* Of one variant. */
struct subdomain_outcome {
	struct method_balance balance;
	struct method_dplb dplb;
	struct cluster_result result;
	double residual; /* relative to its first value; 0 without cells */
	double solved_s; /* when it was small enough; 0: not yet */
};

struct subdomain_report {
	const struct subdomain_options *options;
	double capacity; /* mean speed of workers */
	const struct subdomain_outcome *outcomes;
	uint32_t count;
};

/* Print it to standard output. Returns the exit status. */
int subdomain_report(const char *program, const struct subdomain_report *report);

#endif
