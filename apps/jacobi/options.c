/* SPDX-License-Identifier: MIT */
/*
 * The command line of jacobi; see options.h.
 */
#include "apps/jacobi/options.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS_MAX INT64_C(1000000000000)
#define PERIOD_NS_MIN UINT64_C(100000)
#define PERIOD_NS_MAX UINT64_C(3600000000000)
#define DPLB_PERIOD_NS_MIN UINT64_C(1000000)
#define COUNT_MAX 65536
#define REACH_MAX 65536

enum {
	KEY_GRID = 0x100,
	KEY_CUT,
	KEY_MODE,
	KEY_HOST,
	KEY_PERIOD,
	KEY_PAIRS,
	KEY_LOW,
	KEY_HIGH,
	KEY_DPLB,
	KEY_DPLB_PERIOD,
	KEY_DPLB_THRESHOLD,
	KEY_SEED,
	KEY_CHECK,
	KEY_PIN,
	KEY_JSON,
	KEY_OUTPUT,
	KEY_TRACE,
};

static const struct argp_option table[] = {
	{"threads", 't', "N", 0,
		"Threads, 1 to 4096 (default: what OMP_NUM_THREADS says, else one for each CPU of "
		"the affinity mask)",
		0},
	{"grid", KEY_GRID, "ROWSxCOLS", 0,
		"Cells, up to 16777216 a side (default: 300 x 300 for each thread)", 0},
	{"subdomains", 's', "N", 0, "Subdomains of each thread, 1 to 65536 (default: 4)", 0},
	{"cut", KEY_CUT, "NAME", 0,
		"1d, into strips of rows, or 2d, into blocks with short edges (default: 1d)", 0},
	{"mode", KEY_MODE, "NAME", 0, "sync, ssync:N or async, see below (default: async)", 0},
	{"balance", 'b', "NAME", 0,
		"Move subdomains between threads: none, split, joint or hybrid:N, see below "
		"(default: split with --mode async, else none)",
		0},
	{"host", KEY_HOST, "NAME", 0,
		"Who balances: self, the threads in turn, or daemon, juggle alone (default: self)",
		0},
	{"period", KEY_PERIOD, "TIME", 0, "Between balancing points, 100us to 3600s (default: 1ms)",
		0},
	{"pairs", KEY_PAIRS, "N", 0,
		"Of the most and the least updated subdomains to look at, 1 to 1024 (default: 6)",
		0},
	{"low", KEY_LOW, "N", 0,
		"A thread with so many subdomains gives none away, 1 to 65536 (default: 2)", 0},
	{"high", KEY_HIGH, "N", 0,
		"A thread with so many subdomains takes no more, 1 to 65536 (default: 6)", 0},
	{"dplb", KEY_DPLB, "NAME", 0,
		"Move subdomains between ranks: none, global, neighbours[:REACH] or random, see "
		"below (default: global with --mode async, else none)",
		0},
	{"dplb-period", KEY_DPLB_PERIOD, "TIME", 0,
		"Between balancing points of ranks, 1ms to 3600s (default: 500ms)", 0},
	{"dplb-threshold", KEY_DPLB_THRESHOLD, "N", 0,
		"Let a rank be that is at most N updates behind in the mean of its subdomains, 0 "
		"to 1000000000000 (default: half of its own updates in a period, or of the bound "
		"of ssync)",
		0},
	{"seed", KEY_SEED, "N", 0,
		"0 or more; the random choices of --dplb begin with it (default: 1)", 0},
	{"check", KEY_CHECK, NULL, 0,
		"All ranks meet after moves and see that each subdomain is on exactly one", 0},
	{"iterations", 'n', "N", 0,
		"Stop when one thread has done N for each of its first subdomains, 1 to "
		"1000000000000 (default: 5000, or no limit with --residual)",
		0},
	{"residual", 'r', "R", 0,
		"Stop when the residual is R times that of the start, above 0, below 1 "
		"(default: go by the iterations alone)",
		0},
	{"pin", KEY_PIN, NULL, 0,
		"Pin thread i to the i-th CPU of the affinity mask, modulo their number", 0},
	{"json", KEY_JSON, "FILE", 0,
		"Write the result as JSON, - is standard output (default: as text there)", 0},
	{"output", KEY_OUTPUT, "FILE", 0, "Write the solution, as NumPy's .npy", 0},
	{"trace", KEY_TRACE, "FILE", 0,
		"Write the update counts of all subdomains every millisecond; each of several "
		"ranks to FILE.RANK",
		0},
	{"quiet", 'q', NULL, 0, "No text on standard output, no progress on the terminal", 0},
	{0},
};

static const char doc[] =
	"Solve the heat equation on a rectangle by Jacobi iterations, with or without waiting for "
	"neighbours, and with or without moving subdomains between threads."
	"\v"
	"Modes: sync has a barrier after each iteration; ssync:N updates a subdomain only with "
	"halos that are at most N iterations older; async with the newest there are.\n\n"
	"Balancing (not with sync): split moves subdomains between threads of one NUMA node, joint "
	"between all, hybrid:N is split with one move between nodes at every Nth point.\n\n"
	"Balancing of ranks, of which mpirun starts several (not with sync; without ranks these "
	"options have no effect): global moves subdomains from the rank that is the most behind "
	"to the most advanced, neighbours does so among ranks whose numbers differ by 1, 2, 4 "
	"... up to REACH, 2 to 65536 (4 unless given), random moves any anywhere, as a test.\n\n"
	"Exit status: 0, 1 when the run failed, 2 when the command line is wrong.";

const char *options_mode_name(enum mode mode)
{
	static const char *const names[] = {"sync", "ssync", "async"};

	return names[mode];
}

const char *options_balancing_name(enum progress_balancing balancing)
{
	static const char *const names[] = {"", "none", "joint", "split", "hybrid"};

	return names[balancing];
}

const char *options_dplb_name(enum dplb dplb)
{
	static const char *const names[] = {"", "none", "global", "neighbours", "random"};

	return names[dplb];
}

const char *options_cut_name(enum grid_cut cut)
{
	return cut == GRID_CUT_1D ? "1d" : "2d";
}

static error_t read_count(
	struct argp_state *state, const char *option, const char *arg, int64_t max, uint32_t *out)
{
	int64_t number = 0;
	error_t error = command_line_integer(state, option, arg, 1, max, &number);

	*out = (uint32_t)number;
	return error;
}

/* NAME:N; false when it is not. */
static bool read_named_number(
	const char *arg, const char *name, int64_t min, int64_t max, int64_t *out)
{
	size_t length = strlen(name);

	return strncmp(arg, name, length) == 0 && arg[length] == ':' &&
	       parse_integer(arg + length + 1, min, max, out) == 0;
}

/* min_ns is less than a second. */
static error_t read_period(struct argp_state *state, const char *option, const char *arg,
	uint64_t min_ns, uint64_t *out_ns)
{
	char expected[64];

	if (parse_time_ns(arg, out_ns) == 0 && *out_ns >= min_ns && *out_ns <= PERIOD_NS_MAX)
		return 0;
	snprintf(expected, sizeof(expected), "a time with its unit from %lluus to 3600s, as 10ms",
		(unsigned long long)(min_ns / 1000));
	return command_line_refuse(state, option, arg, expected);
}

static error_t read_grid(struct argp_state *state, const char *arg, struct options *out)
{
	const char *x = strchr(arg, 'x');
	char rows_text[16];
	int64_t rows, columns;

	if (x && (size_t)(x - arg) < sizeof(rows_text)) {
		snprintf(rows_text, sizeof(rows_text), "%.*s", (int)(x - arg), arg);
		if (parse_integer(rows_text, 1, GRID_SIDE_MAX, &rows) == 0 &&
			parse_integer(x + 1, 1, GRID_SIDE_MAX, &columns) == 0) {
			out->rows = (uint32_t)rows;
			out->columns = (uint32_t)columns;
			return 0;
		}
	}
	return command_line_refuse(
		state, "--grid", arg, "rows and columns from 1 to 16777216, as 600x300");
}

static error_t read_mode(struct argp_state *state, const char *arg, struct options *out)
{
	int64_t bound;

	out->bound = UINT64_MAX;
	if (strcmp(arg, "sync") == 0) {
		out->mode = MODE_SYNC;
	} else if (strcmp(arg, "async") == 0) {
		out->mode = MODE_ASYNC;
	} else if (read_named_number(arg, "ssync", 0, ITERATIONS_MAX, &bound)) {
		out->mode = MODE_SSYNC;
		out->bound = (uint64_t)bound;
	} else {
		return command_line_refuse(
			state, "--mode", arg, "sync, async or ssync:N, as ssync:30");
	}
	return 0;
}

static error_t read_balancing(struct argp_state *state, const char *arg, struct options *out)
{
	int64_t every;

	if (read_named_number(arg, "hybrid", 1, UINT32_MAX, &every)) {
		out->balancing = PROGRESS_BALANCE_HYBRID;
		out->hybrid_every = (uint32_t)every;
		return 0;
	}
	for (unsigned i = PROGRESS_BALANCE_NONE; i < PROGRESS_BALANCE_HYBRID; i++)
		if (strcmp(arg, options_balancing_name((enum progress_balancing)i)) == 0) {
			out->balancing = (enum progress_balancing)i;
			return 0;
		}
	return command_line_refuse(
		state, "--balance", arg, "none, split, joint or hybrid:N, as hybrid:500");
}

static error_t read_dplb(struct argp_state *state, const char *arg, struct options *out)
{
	int64_t reach;

	if (read_named_number(arg, "neighbours", 2, REACH_MAX, &reach)) {
		out->dplb = DPLB_NEIGHBOURS;
		out->dplb_reach = (uint32_t)reach;
		return 0;
	}
	for (enum dplb dplb = DPLB_NONE; dplb <= DPLB_RANDOM; dplb++)
		if (strcmp(arg, options_dplb_name(dplb)) == 0) {
			out->dplb = dplb;
			return 0;
		}
	return command_line_refuse(state, "--dplb", arg,
		"none, global, neighbours, neighbours:REACH, as neighbours:8, or random");
}

/* Exponents are what people write here, so the strict parsers of times and counts won't do. */
static error_t read_residual(struct argp_state *state, const char *arg, double *out)
{
	char *end;
	double value = strtod(arg, &end);

	if (*end || strspn(arg, "0123456789.eE-") != strlen(arg) || !(value > 0 && value < 1))
		return command_line_refuse(
			state, "--residual", arg, "a number above 0 and below 1, as 1e-4");
	*out = value;
	return 0;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct options *out = state->input;
	int64_t number = 0;
	error_t error;

	switch (key) {
	case 't':
		return read_count(state, "--threads", arg, OPTIONS_THREADS_MAX, &out->threads);
	case KEY_GRID:
		return read_grid(state, arg, out);
	case 's':
		return read_count(state, "--subdomains", arg, COUNT_MAX, &out->subdomains);
	case KEY_CUT:
		if (strcmp(arg, "1d") != 0 && strcmp(arg, "2d") != 0)
			return command_line_refuse(state, "--cut", arg, "1d or 2d");
		out->cut = *arg == '1' ? GRID_CUT_1D : GRID_CUT_2D;
		return 0;
	case KEY_MODE:
		return read_mode(state, arg, out);
	case 'b':
		return read_balancing(state, arg, out);
	case KEY_HOST:
		if (strcmp(arg, "self") != 0 && strcmp(arg, "daemon") != 0)
			return command_line_refuse(state, "--host", arg, "self or daemon");
		out->self_hosted = *arg == 's';
		return 0;
	case KEY_PERIOD:
		return read_period(state, "--period", arg, PERIOD_NS_MIN, &out->period_ns);
	case KEY_PAIRS:
		return read_count(state, "--pairs", arg, PROGRESS_PAIRS_MAX, &out->pairs);
	case KEY_LOW:
		return read_count(state, "--low", arg, COUNT_MAX, &out->low);
	case KEY_HIGH:
		return read_count(state, "--high", arg, COUNT_MAX, &out->high);
	case KEY_DPLB:
		return read_dplb(state, arg, out);
	case KEY_DPLB_PERIOD:
		return read_period(
			state, "--dplb-period", arg, DPLB_PERIOD_NS_MIN, &out->dplb_period_ns);
	case KEY_DPLB_THRESHOLD:
		if (parse_fraction(arg, (double)ITERATIONS_MAX, &out->dplb_threshold) < 0)
			return command_line_refuse(
				state, "--dplb-threshold", arg, "a number from 0 to 1000000000000");
		return 0;
	case KEY_SEED:
		if (parse_integer(arg, 0, INT64_MAX, &number) < 0)
			return command_line_refuse(state, "--seed", arg, "a whole number from 0");
		out->seed = (uint64_t)number;
		return 0;
	case KEY_CHECK:
		out->check = true;
		return 0;
	case 'n':
		error = command_line_integer(
			state, "--iterations", arg, 1, ITERATIONS_MAX, &number);
		out->iterations = (uint64_t)number;
		return error;
	case 'r':
		return read_residual(state, arg, &out->residual);
	case KEY_PIN:
		out->pin = true;
		return 0;
	case KEY_JSON:
		out->json = arg;
		return 0;
	case KEY_OUTPUT:
		out->output = arg;
		return 0;
	case KEY_TRACE:
		out->trace = arg;
		return 0;
	case 'q':
		out->quiet = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int stay(const char *option, const char *name, bool silent)
{
	if (!silent)
		fprintf(stderr, "jacobi: --%s %s: in --mode sync subdomains stay where they are\n",
			option, name);
	return -EINVAL;
}

/* What depends on more than one option. */
static int complete(struct options *out, bool silent)
{
	if (out->balancing == PROGRESS_BALANCE_DEFAULT)
		out->balancing =
			out->mode == MODE_ASYNC ? PROGRESS_BALANCE_SPLIT : PROGRESS_BALANCE_NONE;
	if (out->mode == MODE_SYNC && out->balancing != PROGRESS_BALANCE_NONE)
		return stay("balance", options_balancing_name(out->balancing), silent);
	if (out->dplb == DPLB_DEFAULT)
		out->dplb = out->mode == MODE_ASYNC ? DPLB_GLOBAL : DPLB_NONE;
	if (out->mode == MODE_SYNC && out->dplb != DPLB_NONE)
		return stay("dplb", options_dplb_name(out->dplb), silent);
	if (out->iterations == 0)
		out->iterations = out->residual > 0 ? UINT64_MAX : 5000;
	return 0;
}

int options_parse(int argc, char **argv, bool silent, struct options *out)
{
	struct options options = {
		.subdomains = 4,
		.mode = MODE_ASYNC,
		.bound = UINT64_MAX,
		.self_hosted = true,
		.period_ns = UINT64_C(1000000),
		.pairs = 6,
		.low = 2,
		.high = 6,
		.hybrid_every = 500,
		.dplb_reach = 4,
		.dplb_period_ns = UINT64_C(500000000),
		.dplb_threshold = -1,
		.seed = 1,
	};
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};
	int rc = command_line_parse(
		&argp, "jacobi", silent ? ARGP_NO_ERRS : 0, argc, argv, &options);

	if (rc)
		return rc;
	*out = options;
	return complete(out, silent);
}
