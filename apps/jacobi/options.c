/* SPDX-License-Identifier: MIT */
/*
 * The command line of jacobi; see options.h.
 */
#include "apps/jacobi/options.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"
#include "libprogress/policy/dplb.h"
#include "libprogress/policy/plb.h"

#include <errno.h>
#include <stdio.h>

#define PERIOD_NS_MIN UINT64_C(100000)
#define PERIOD_NS_MAX UINT64_C(3600000000000)
#define DPLB_PERIOD_NS_MIN UINT64_C(1000000)

enum {
	KEY_GRID = 0x100,
	KEY_CUT,
	KEY_MODE,
	KEY_HOST,
	KEY_PERIOD,
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
		"Threads, 1 to 4096 (default: OMP_NUM_THREADS, or else one for each CPU of the "
		"affinity mask)",
		0},
	{"grid", KEY_GRID, "ROWSxCOLS", 0,
		"Cells of the grid, up to 16777216 a side (default: " COMMAND_LINE_TEXT(
			GRID_WORKER_SIDE) " x " COMMAND_LINE_TEXT(GRID_WORKER_SIDE) " for each "
										    "thread)",
		0},
	{"subdomains", 's', "N", 0,
		"Subdomains of each thread at the start, 1 to 65536 (default: " COMMAND_LINE_TEXT(
			METHOD_SUBDOMAINS) ")",
		0},
	{"cut", KEY_CUT, "NAME", 0,
		"How to cut the grid: 1d (strips of rows) or 2d (blocks with short edges) "
		"(default: 1d)",
		0},
	{"mode", KEY_MODE, "NAME", 0, "sync, ssync:N or async, see below (default: async)", 0},
	{"balance", 'b', "NAME", 0,
		"Move subdomains between threads: none, split, joint or hybrid:N, see below "
		"(default: hybrid:" COMMAND_LINE_TEXT(
			POLICY_PLB_DEFAULT_HYBRID_EVERY) " with --mode async, else none)",
		0},
	{"host", KEY_HOST, "NAME", 0,
		"Who balances: self (the threads in turn) or daemon (juggle alone) "
		"(default: self)",
		0},
	{"period", KEY_PERIOD, "TIME", 0,
		"Time between balancing points, 100us to 3600s (default: " COMMAND_LINE_TEXT(
			POLICY_PLB_DEFAULT_PERIOD_MS) "ms)",
		0},
	{"dplb", KEY_DPLB, "NAME", 0,
		"Move subdomains between ranks: none, global, neighbours[:REACH] or random, see "
		"below (default: global with --mode async, else none)",
		0},
	{"dplb-period", KEY_DPLB_PERIOD, "TIME", 0,
		"Time between balancing points of ranks, 1ms to 3600s (default: " COMMAND_LINE_TEXT(
			POLICY_DPLB_DEFAULT_PERIOD_MS) "ms)",
		0},
	{"dplb-threshold", KEY_DPLB_THRESHOLD, "N", 0,
		"Ignore a difference of at most N updates between the means of two ranks, 0 to "
		"1000000000000; 0 is the paper's algorithm (default: half of its own updates in a "
		"period, with ssync see below)",
		0},
	{"seed", KEY_SEED, "N", 0, "Seed of the random choices of --dplb, 0 or more (default: 1)",
		0},
	{"check", KEY_CHECK, NULL, 0,
		"After moves, all ranks meet and check that each subdomain is on exactly one rank",
		0},
	{"iterations", 'n', "N", 0,
		"Stop when one thread has done N updates for each subdomain that it had at the "
		"start, 1 to 1000000000000 (default: " COMMAND_LINE_TEXT(
			METHOD_ITERATIONS) ", or no limit with --residual)",
		0},
	{"residual", 'r', "R", 0,
		"Stop when the residual is R times that of the start, above 0, below 1 "
		"(default: stop by --iterations alone)",
		0},
	{"pin", KEY_PIN, NULL, 0,
		"Pin thread i to the i-th CPU of the affinity mask, modulo their number", 0},
	{"json", KEY_JSON, "FILE", 0,
		"Write the result as JSON; - is standard output (default: text on standard output)",
		0},
	{"output", KEY_OUTPUT, "FILE", 0, "Write the solution, as NumPy's .npy", 0},
	{"trace", KEY_TRACE, "FILE", 0,
		"Write the update counts of all subdomains every millisecond; with several ranks, "
		"each writes FILE.RANK",
		0},
	{"quiet", 'q', NULL, 0, "Print no text on standard output, and no progress on the terminal",
		0},
	{0},
};

static const char doc[] =
	"Solve the heat equation on a rectangle by Jacobi iterations, with or without waiting for "
	"neighbours, and with or without moving subdomains between threads."
	"\v"
	"Modes: sync has a barrier after each iteration; ssync:N updates a subdomain only with "
	"halos that are at most N iterations older; async takes the newest halos and never "
	"waits.\n\n"
	"Balancing between threads (not with sync): split moves subdomains between threads of one "
	"NUMA node; joint moves them between all threads; hybrid:N is split with one move between "
	"nodes at every Nth point while they drift apart.\n\n"
	"Balancing between ranks that mpirun has started (not with sync; no effect without ranks): "
	"global moves subdomains from the least advanced rank to the most advanced one; neighbours "
	"does so among ranks whose numbers differ by 1, 2, 4 ... up to REACH, 2 to 65536 "
	"(" COMMAND_LINE_TEXT(
		POLICY_DPLB_DEFAULT_REACH) " by default); random moves any subdomain to any rank, "
					   "as a test. With ssync, ranks compare what their "
					   "subdomains would get in a period if none waited, and "
					   "ignore a difference of one twentieth.\n\n"
					   "Exit status: 0, 1 when the run failed, 2 when the "
					   "command line is wrong.";

static const char *const hosts[] = {"self", "daemon"};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct jacobi_options *out = state->input;
	int64_t number = 0;
	size_t which = 0;
	error_t error;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &out->plb;
		return 0;
	case 't':
		return command_line_count(
			state, "--threads", arg, 1, OPTIONS_THREADS_MAX, &out->threads);
	case KEY_GRID:
		return method_read_grid(state, arg, &out->rows, &out->columns);
	case 's':
		return command_line_count(
			state, "--subdomains", arg, 1, METHOD_SUBDOMAINS_MAX, &out->subdomains);
	case KEY_CUT:
		return method_read_cut(state, arg, &out->cut);
	case KEY_MODE:
		return method_read_mode(state, arg, METHOD_ITERATIONS_MAX, &out->mode, &out->bound);
	case 'b':
		if (method_read_balance(arg, &out->balance))
			return 0;
		return command_line_refuse(
			state, "--balance", arg, "none, split, joint or hybrid:N, as hybrid:500");
	case KEY_HOST:
		error = command_line_choice(state, "--host", arg, hosts, 2, &which);
		out->self_hosted = which == 0;
		return error;
	case KEY_PERIOD:
		return command_line_time_within(
			state, "--period", arg, PERIOD_NS_MIN, PERIOD_NS_MAX, &out->period_ns);
	case KEY_DPLB:
		if (method_read_dplb(arg, &out->dplb))
			return 0;
		return command_line_refuse(state, "--dplb", arg,
			"none, global, neighbours, neighbours:REACH, as neighbours:8, or random");
	case KEY_DPLB_PERIOD:
		return command_line_time_within(state, "--dplb-period", arg, DPLB_PERIOD_NS_MIN,
			PERIOD_NS_MAX, &out->dplb_period_ns);
	case KEY_DPLB_THRESHOLD:
		if (parse_fraction(arg, (double)METHOD_ITERATIONS_MAX, &out->dplb_threshold) < 0)
			return command_line_refuse(
				state, "--dplb-threshold", arg, "a number from 0 to 1000000000000");
		if (out->dplb_threshold == 0)
			out->dplb_threshold = PROGRESS_THRESHOLD_NONE;
		return 0;
	case KEY_SEED:
		return command_line_seed(state, "--seed", arg, &out->seed);
	case KEY_CHECK:
		out->check = true;
		return 0;
	case 'n':
		error = command_line_integer(
			state, "--iterations", arg, 1, METHOD_ITERATIONS_MAX, &number);
		out->iterations = (uint64_t)number;
		return error;
	case 'r':
		return method_read_residual(state, arg, &out->residual);
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
static int complete(struct jacobi_options *out, bool silent)
{
	if (out->balance.kind == PROGRESS_BALANCE_DEFAULT)
		out->balance.kind =
			out->mode == MODE_ASYNC ? PROGRESS_BALANCE_HYBRID : PROGRESS_BALANCE_NONE;
	if (out->mode == MODE_SYNC && out->balance.kind != PROGRESS_BALANCE_NONE)
		return stay("balance", method_balance_name(&out->balance).text, silent);
	out->plb.bound = method_plb_bound(out->mode, out->bound);
	if (out->dplb.kind == DPLB_DEFAULT)
		out->dplb.kind = out->mode == MODE_ASYNC ? DPLB_GLOBAL : DPLB_NONE;
	if (out->mode == MODE_SYNC && out->dplb.kind != DPLB_NONE)
		return stay("dplb", method_dplb_name(&out->dplb).text, silent);
	if (out->plb.low > out->plb.high) {
		if (!silent)
			fprintf(stderr, "jacobi: --low %u: more than --high %u\n",
				(unsigned)out->plb.low, (unsigned)out->plb.high);
		return -EINVAL;
	}
	if (out->iterations == 0)
		out->iterations = out->residual > 0 ? UINT64_MAX : METHOD_ITERATIONS;
	return 0;
}

int jacobi_options_parse(int argc, char **argv, bool silent, struct jacobi_options *out)
{
	struct jacobi_options options = {
		.subdomains = METHOD_SUBDOMAINS,
		.mode = MODE_ASYNC,
		.bound = UINT64_MAX,
		.self_hosted = true,
		.period_ns = POLICY_PLB_DEFAULT_PERIOD_NS,
		.plb = METHOD_PLB_DEFAULTS,
		.balance.hybrid_every = POLICY_PLB_DEFAULT_HYBRID_EVERY,
		.dplb.reach = POLICY_DPLB_DEFAULT_REACH,
		.dplb_period_ns = POLICY_DPLB_DEFAULT_PERIOD_NS,
		.seed = 1,
	};
	const struct argp_child children[] = {{.argp = &method_plb_argp}, {0}};
	const struct argp argp = {
		.options = table, .parser = read_option, .doc = doc, .children = children};
	int rc = command_line_parse(
		&argp, "jacobi", silent ? ARGP_NO_ERRS : 0, argc, argv, &options);

	if (rc)
		return rc;
	*out = options;
	return complete(out, silent);
}
