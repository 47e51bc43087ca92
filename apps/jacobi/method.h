/* SPDX-License-Identifier: MIT */
/*
 * How the grid is cut, updated and balanced: the values of the options of jacobi and of the
 * simulators that model it. Their defaults are here, or with the policies.
 */
#ifndef JACOBI_METHOD_H
#define JACOBI_METHOD_H

#include "apps/jacobi/grid.h"
#include "libprogress/policy/plb.h"
#include "libprogress/progress.h"

#include <argp.h>

#include <stdbool.h>
#include <stdint.h>

#define METHOD_SUBDOMAINS 4 /* of each thread */
#define METHOD_SUBDOMAINS_MAX 65536
#define METHOD_DEAD_BAND_MAX 1000000
#define METHOD_ITERATIONS 5000
#define METHOD_ITERATIONS_MAX INT64_C(1000000000000)

enum mode {
	MODE_SYNC, /* a barrier after each iteration; with several ranks, over all */
	MODE_SSYNC, /* halos are at most `bound` iterations older than the reader */
	MODE_ASYNC, /* with the newest halos */
};

/* What moves subdomains between ranks. */
enum dplb {
	DPLB_DEFAULT,
	DPLB_NONE,
	DPLB_GLOBAL, /* by the progress of all ranks */
	DPLB_NEIGHBOURS, /* by the progress of a neighbourhood */
	DPLB_RANDOM, /* without regard to progress: to test moving */
};

/* Between threads, and between ranks. */
struct method_balance {
	enum progress_balancing kind;
	uint32_t hybrid_every;
};
struct method_dplb {
	enum dplb kind;
	uint32_t reach; /* of a neighbourhood */
};

/* ---- Values of options, for parsers: return 0 or, after a message of one line, EINVAL ---- */

/* Sets *bound to N of ssync:N, else to UINT64_MAX. */
int method_read_mode(struct argp_state *state, const char *arg, int64_t bound_max, enum mode *mode,
	uint64_t *bound);
int method_read_cut(struct argp_state *state, const char *arg, enum grid_cut *cut);
/* ROWSxCOLS. */
int method_read_grid(struct argp_state *state, const char *arg, uint32_t *rows, uint32_t *columns);
/* The residual relative to that at the start. */
int method_read_residual(struct argp_state *state, const char *arg, double *residual);

/* --pairs, --low, --high and --dead-band; the input is a struct policy_plb_params, at first
 * METHOD_PLB_DEFAULTS. */
extern const struct argp method_plb_argp;
#define METHOD_PLB_DEFAULTS                                                                        \
	{                                                                                          \
		.pairs = POLICY_PLB_DEFAULT_PAIRS, .low = POLICY_PLB_DEFAULT_LOW,                  \
		.high = POLICY_PLB_DEFAULT_HIGH, .dead_band = POLICY_PLB_DEFAULT_DEAD_BAND         \
	}

/* The bound that PLB is told of: that of ssync, where 0 means 1, as 0 would be none. */
uint32_t method_plb_bound(enum mode mode, uint64_t bound);

/* A word of --balance or --dplb. Returns whether it is one, and then sets all of *out. */
bool method_read_balance(const char *word, struct method_balance *out);
bool method_read_dplb(const char *word, struct method_dplb *out);

/* ---- The reverse ---- */

struct method_name {
	char text[40];
};

/* With their numbers: ssync:30, hybrid:500, neighbours:4. */
struct method_name method_mode_name(enum mode mode, uint64_t bound);
struct method_name method_balance_name(const struct method_balance *balance);
struct method_name method_dplb_name(const struct method_dplb *dplb);
const char *method_cut_name(enum grid_cut cut);

#endif
