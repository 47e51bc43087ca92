/* SPDX-License-Identifier: MIT */
/*
 * The common part of the command lines of `jugglectl simulate plb` and `jugglectl simulate dplb`.
 */
#ifndef SUBDOMAIN_OPTIONS_H
#define SUBDOMAIN_OPTIONS_H

#include "tools/command/parse.h"
#include "tools/sim/cluster.h"
#include "tools/sim/field.h"

enum { SUBDOMAIN_CHOICES_MAX = 8, SUBDOMAIN_SLOW_MAX = 32 };

/* The kinds of parts that can be slower than the rest. */
enum subdomain_part { SUBDOMAIN_WORKERS, SUBDOMAIN_SOCKETS, SUBDOMAIN_RANKS, SUBDOMAIN_PARTS };

struct subdomain_slow {
	enum subdomain_part part;
	const char *list; /* numbers and ranges, not checked yet; NULL: any */
	size_t length; /* of the list */
	uint32_t any; /* how many, at random */
	double least, most; /* share of the speed that is lost, at random between the two */
};

struct subdomain_options {
	struct command_options command;
	bool between_ranks; /* jugglectl simulate dplb */
	struct cluster_params
		params; /* without speeds, and without what differs between variants */
	struct method_balance balance[SUBDOMAIN_CHOICES_MAX];
	struct method_dplb dplb[SUBDOMAIN_CHOICES_MAX];
	uint32_t balances, dplbs; /* how many of each; every pair is a variant */
	struct subdomain_slow slow[SUBDOMAIN_SLOW_MAX];
	uint32_t slows;
	bool slow_given;
	double variation; /* of the speeds of workers, a share */
	uint64_t time_ns, iterations; /* 0: not given */
	double residual; /* 0: without cells */
	uint32_t rows, columns; /* of cells; 0: as jacobi chooses */
	double source; /* above the value inside; 0: as in jacobi */
	uint64_t check_ns; /* time between checks of the residual; 0: 50 iterations */
	const char *series;
	uint32_t lines;
	bool lines_given;
};

/* The options that both have; its input is a struct subdomain_options. */
extern const struct argp subdomain_argp;

/* The defaults of both: a node of the first paper, not balanced. */
struct subdomain_options subdomain_defaults(void);

/* For parsers: read a list of slower parts, "LIST:PCT", or none. Returns 0; or EINVAL after a
 * message. */
error_t subdomain_read_slow(struct argp_state *state, const char *option, char *arg,
	enum subdomain_part part, struct subdomain_options *out);

/* Complete what was read, and check that it fits together. Returns 0, or an exit status after a
 * message. */
int subdomain_complete(const char *program, struct subdomain_options *options);

/* The cells, for --residual. */
struct field_params subdomain_field(const struct subdomain_options *options);

/* The speed of each worker of each rank, by options->params.seed; free() it. NULL after a message,
 * with the exit status in *status. */
double *subdomain_speeds(const char *program, const struct subdomain_options *options, int *status);

#endif
