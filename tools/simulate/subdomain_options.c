/* SPDX-License-Identifier: MIT */
/* Options of the simulated subdomains; see subdomain_options.h. */
#include "tools/simulate/subdomain_options.h"

#include "tools/command/print.h"
#include "tools/simulate/subdomain_work.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX METHOD_SUBDOMAINS_MAX /* of workers, too */
#define SUBDOMAINS_MAX UINT64_C(50000000)
#define SOURCE_MAX 1e12
#define SLOWER_MAX 99.0 /* percent */
#define TIME_DEFAULT_NS UINT64_C(10000000000)

enum {
	KEY_SOCKETS = 0x100,
	KEY_CUT,
	KEY_MODE,
	KEY_PERIOD,
	KEY_UPDATE,
	KEY_SLOW,
	KEY_VARIATION,
	KEY_JITTER,
	KEY_POINT_COST,
	KEY_MOVE_COST,
	KEY_EDGE_COST,
	KEY_FOREIGN,
	KEY_TIME,
	KEY_GRID,
	KEY_SOURCE,
	KEY_CHECK,
	KEY_SERIES,
	KEY_LINES,
	KEY_SEED,
};

static const struct argp_option table[] = {
	{"workers", 'w', "N", 0, "Workers of each rank, 1 to 65536 (default: 24, with ranks 36)",
		0},
	{"sockets", KEY_SOCKETS, "N", 0,
		"Sockets over which the workers are spread evenly (default: 2)", 0},
	{"subdomains", 's', "N", 0,
		"Subdomains of each worker at the start, 1 to 65536 (default: " COMMAND_LINE_TEXT(
			METHOD_SUBDOMAINS) ")",
		0},
	{"cut", KEY_CUT, "NAME", 0,
		"How to cut the grid: 1d (strips of rows) or 2d (blocks with short edges) "
		"(default: 1d)",
		0},
	{"mode", KEY_MODE, "NAME", 0, "sync, ssync:N or async (default: async)", 0},
	{"balance", 'b', "LIST", 0,
		"Balancing within nodes: none, split, joint, hybrid:N; one run for each of them "
		"(default: all four with hybrid:" COMMAND_LINE_TEXT(
			POLICY_PLB_DEFAULT_HYBRID_EVERY) ", with ranks that alone; none with "
							 "--mode "
							 "sync)",
		0},
	{"period", KEY_PERIOD, "TIME", 0,
		"Time between balancing points (default: " COMMAND_LINE_TEXT(
			POLICY_PLB_DEFAULT_PERIOD_MS) "ms)",
		0},
	{"update", KEY_UPDATE, "TIME", 0,
		"Time of an update at full speed (default: 23us, with ranks 250us)", 0},
	{"slow", KEY_SLOW, "LIST:PCT", 0,
		"Workers that are slower by a percentage, such as 0,4-7:19 or any:3:15-40, or "
		"none, see below (default: 0:19, with ranks none)",
		0},
	{"variation", KEY_VARIATION, "PCT", 0,
		"Speeds of workers vary by up to this much to either side, 0 to 99 (default: 1)",
		0},
	{"jitter", KEY_JITTER, "PCT", 0,
		"Times of updates vary by up to this much to either side, 0 to 100 (default: 5)",
		0},
	{"point-cost", KEY_POINT_COST, "TIME", 0,
		"Time that a balancing point costs its worker, for each subdomain (default: 20ns)",
		0},
	{"move-cost", KEY_MOVE_COST, "TIME", 0,
		"A worker's first update of a subdomain takes this much longer, because its cells "
		"are in "
		"another cache (default: 125us, with ranks 0)",
		0},
	{"edge-cost", KEY_EDGE_COST, "TIME", 0,
		"An update takes this much longer for each neighbour that another worker updated "
		"last (default: 0ns)",
		0},
	{"foreign", KEY_FOREIGN, "PCT", 0,
		"An update takes this much longer if the memory is on another socket, 0 to 1000 "
		"(default: 15)",
		0},
	{"time", KEY_TIME, "TIME", 0,
		"Stop after this virtual time (default: 10s, with --iterations or --residual no "
		"limit)",
		0},
	{"iterations", 'n', "N", 0,
		"Stop after N updates of each subdomain on average (default: no limit)", 0},
	{"residual", 'r', "R", 0,
		"Solve the heat equation, and stop when the residual is R times that of the "
		"start, above 0, below 1 (default: only count updates)",
		0},
	{"grid", KEY_GRID, "ROWSxCOLS", 0,
		"Cells of the grid for --residual, all workers together "
		"(default: " COMMAND_LINE_TEXT(GRID_WORKER_SIDE) " x " COMMAND_LINE_TEXT(
			GRID_WORKER_SIDE) " for each)",
		0},
	{"source", KEY_SOURCE, "HEIGHT", 0,
		"Height of the source on the north, as a multiple of the cells' value at the "
		"start, above 0, up to 1e12 (default: 1)",
		0},
	{"check", KEY_CHECK, "TIME", 0,
		"Time between looks at the residual (default: 50 iterations)", 0},
	{"series", KEY_SERIES, "FILE", 0,
		"Write how far some subdomains are ahead of the mean, over time; for one variant "
		"only (default: nowhere)",
		0},
	{"lines", KEY_LINES, "N", 0, "How many subdomains --series has, 1 to 65536 (default: 8)",
		0},
	{"seed", KEY_SEED, "N", 0, "Seed of all random choices, 0 or more (default: 1)", 0},
	{0},
};

struct subdomain_options subdomain_defaults(void)
{
	return (struct subdomain_options){
		.params =
			{
				.ranks = 1,
				.workers = 24,
				.sockets = 2,
				.each = METHOD_SUBDOMAINS,
				.strips = true,
				.mode = MODE_ASYNC,
				.update_ns = 23e3,
				.jitter = 0.05,
				.foreign = 0.15,
				.move_ns = 125e3,
				.plb_params = METHOD_PLB_DEFAULTS,
				.plb_period_ns = POLICY_PLB_DEFAULT_PERIOD_NS,
				.plb_point_ns = 20,
				.seed = 1,
			},
		.variation = 0.01,
		.lines = 8,
	};
}

static bool take_balance(void *options, const char *word)
{
	struct subdomain_options *out = options;

	return out->balances < SUBDOMAIN_CHOICES_MAX &&
	       method_read_balance(word, &out->balance[out->balances++]);
}

/* ---- What is slow ---- */

static bool read_percentage(char *text, struct subdomain_slow *out)
{
	char *dash = strchr(text, '-');

	if (dash)
		*dash = '\0';
	bool right = parse_fraction(text, SLOWER_MAX, &out->least) == 0 &&
		     parse_fraction(dash ? dash + 1 : text, SLOWER_MAX, &out->most) == 0 &&
		     out->most >= out->least;
	if (dash)
		*dash = '-'; /* for the message */
	if (!right)
		return false;
	out->least /= 100;
	out->most /= 100;
	return true;
}

/* The next item of a list: a number or a range. Returns what follows it, or NULL when it is
 * neither. */
static const char *read_item(const char *at, const char *end, uint32_t *first, uint32_t *last)
{
	uint32_t *out[] = {first, last};

	for (unsigned i = 0; i < 2; i++) {
		uint64_t number = 0;
		const char *begin = at;

		for (; at < end && *at >= '0' && *at <= '9'; at++) {
			number = number * 10 + (uint64_t)(*at - '0');
			if (number >= UINT32_MAX)
				return NULL;
		}
		if (at == begin)
			return NULL;
		*out[i] = (uint32_t)number;
		if (i == 0 && (at == end || *at != '-')) {
			*last = *first;
			break;
		}
		at += i == 0;
	}
	if (*last < *first || (at < end && *at != ',') || at + 1 == end)
		return NULL;
	return at < end ? at + 1 : at;
}

static bool is_list(const char *list, size_t length)
{
	const char *at = list, *end = list + length;
	uint32_t first, last;

	while (at && at < end)
		at = read_item(at, end, &first, &last);
	return at && length > 0;
}

error_t subdomain_read_slow(struct argp_state *state, const char *option, char *arg,
	enum subdomain_part part, struct subdomain_options *out)
{
	struct subdomain_slow slow = {.part = part};
	char *colon = strrchr(arg, ':');
	int64_t any;

	out->slow_given = true;
	if (strcmp(arg, "none") == 0)
		return 0;
	if (colon)
		*colon = '\0';
	bool is_any = colon && parse_named_integer(arg, "any", 0, UINT32_MAX - 1, &any) == 0;
	bool wrong = out->slows == SUBDOMAIN_SLOW_MAX || !colon ||
		     !read_percentage(colon + 1, &slow) || (!is_any && !is_list(arg, strlen(arg)));
	if (colon && wrong)
		*colon = ':';
	if (wrong)
		return command_line_refuse(state, option, arg,
			"LIST:PCT, as 0,4-7:19, or any:N:PCT, PCT from 0 to 99 or a range; at most "
			"32 times");
	if (is_any && any == 0)
		return 0;
	if (is_any)
		slow.any = (uint32_t)any;
	else
		slow.list = arg;
	slow.length = strlen(arg);
	out->slow[out->slows++] = slow;
	return 0;
}

/* ---- The parser ---- */

static error_t read_source(struct argp_state *state, const char *arg, double *out)
{
	if (parse_positive(arg, SOURCE_MAX, out) < 0)
		return command_line_refuse(
			state, "--source", arg, "a number above 0, up to 1e12, as 100");
	return 0;
}

static error_t read_cost(
	struct argp_state *state, const char *option, const char *arg, uint64_t min_ns, double *out)
{
	uint64_t ns = 0;
	error_t error = command_line_time(state, option, arg, min_ns, &ns);

	if (error == 0 && ns > UINT64_C(1000000000000))
		return command_line_refuse(state, option, arg, "at most 1000s");
	*out = (double)ns;
	return error;
}

/* Options of the machine and its noise. */
static error_t read_machine(int key, char *arg, struct argp_state *state)
{
	struct subdomain_options *out = state->input;
	struct cluster_params *params = &out->params;
	enum grid_cut cut = GRID_CUT_1D;
	error_t error;

	switch (key) {
	case 'w':
		return command_line_count(state, "--workers", arg, 1, COUNT_MAX, &params->workers);
	case KEY_SOCKETS:
		return command_line_count(state, "--sockets", arg, 1, COUNT_MAX, &params->sockets);
	case 's':
		return command_line_count(state, "--subdomains", arg, 1, COUNT_MAX, &params->each);
	case KEY_CUT:
		error = method_read_cut(state, arg, &cut);
		params->strips = cut == GRID_CUT_1D;
		return error;
	case KEY_UPDATE:
		return read_cost(state, "--update", arg, 1, &params->update_ns);
	case KEY_SLOW:
		return subdomain_read_slow(state, "--slow", arg, SUBDOMAIN_WORKERS, out);
	case KEY_VARIATION:
		return command_line_percent(state, "--variation", arg, SLOWER_MAX, &out->variation);
	case KEY_JITTER:
		return command_line_percent(state, "--jitter", arg, 100, &params->jitter);
	case KEY_POINT_COST:
		return read_cost(state, "--point-cost", arg, 0, &params->plb_point_ns);
	case KEY_MOVE_COST:
		return read_cost(state, "--move-cost", arg, 0, &params->move_ns);
	case KEY_EDGE_COST:
		return read_cost(state, "--edge-cost", arg, 0, &params->edge_ns);
	case KEY_FOREIGN:
		return command_line_percent(state, "--foreign", arg, 1000, &params->foreign);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct subdomain_options *out = state->input;
	int64_t number = 0;
	uint64_t bound;
	error_t error;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &out->params.plb_params;
		return 0;
	case KEY_MODE:
		error = method_read_mode(state, arg, UINT32_MAX, &out->params.mode, &bound);
		out->params.bound = (uint32_t)bound;
		return error;
	case 'b':
		out->balances = 0;
		return command_line_list(state, "--balance", arg,
			"at most 8 of none, split, joint and hybrid:N, as none,hybrid:500",
			take_balance, out);
	case KEY_PERIOD:
		return command_line_time(state, "--period", arg, 1, &out->params.plb_period_ns);
	case KEY_TIME:
		return command_line_time(state, "--time", arg, 1, &out->time_ns);
	case 'n':
		error = command_line_integer(
			state, "--iterations", arg, 1, METHOD_ITERATIONS_MAX, &number);
		out->iterations = (uint64_t)number;
		return error;
	case 'r':
		return method_read_residual(state, arg, &out->residual);
	case KEY_GRID:
		return method_read_grid(state, arg, &out->rows, &out->columns);
	case KEY_SOURCE:
		return read_source(state, arg, &out->source);
	case KEY_CHECK:
		return command_line_time(state, "--check", arg, 1, &out->check_ns);
	case KEY_SERIES:
		out->series = arg;
		return 0;
	case KEY_LINES:
		out->lines_given = true;
		return command_line_count(state, "--lines", arg, 1, COUNT_MAX, &out->lines);
	case KEY_SEED:
		return command_line_seed(state, "--seed", arg, &out->params.seed);
	default:
		return read_machine(key, arg, state);
	}
}

static const struct argp_child children[] = {{.argp = &method_plb_argp}, {0}};

const struct argp subdomain_argp = {.options = table, .parser = read_option, .children = children};

/* ---- Together ---- */

static uint32_t parts(const struct cluster_params *params, enum subdomain_part part)
{
	return params->ranks * (part == SUBDOMAIN_WORKERS          ? params->workers
				       : part == SUBDOMAIN_SOCKETS ? params->sockets
								   : 1);
}

static int check_slow(const char *program, const struct subdomain_options *options)
{
	static const char *const names[] = {"workers", "sockets", "ranks"};

	for (uint32_t i = 0; i < options->slows; i++) {
		const struct subdomain_slow *slow = &options->slow[i];
		uint32_t first, last = slow->any > 0 ? slow->any - 1 : 0;
		uint32_t have = parts(&options->params, slow->part);
		const char *at = slow->list, *end = at ? at + slow->length : NULL;

		do {
			if (at)
				at = read_item(at, end, &first, &last);
			if (last >= have)
				return command_wrong(program,
					"%u slow %s are requested, or number %u: there are %u, "
					"numbered from 0",
					(unsigned)last + 1, names[slow->part], (unsigned)last,
					(unsigned)have);
		} while (at && at < end);
	}
	return 0;
}

static int check_modes(const char *program, struct subdomain_options *options)
{
	bool sync = options->params.mode == MODE_SYNC;

	for (uint32_t i = 0; sync && i < options->balances; i++)
		if (options->balance[i].kind != PROGRESS_BALANCE_NONE)
			return command_wrong(program,
				"--balance %s: in --mode sync subdomains stay where they are",
				method_balance_name(&options->balance[i]).text);
	for (uint32_t i = 0; sync && i < options->dplbs; i++)
		if (options->dplb[i].kind != DPLB_NONE)
			return command_wrong(program,
				"--dplb %s: in --mode sync subdomains stay where they are",
				method_dplb_name(&options->dplb[i]).text);
	if (sync && options->balances == 0)
		options->balance[options->balances++] =
			(struct method_balance){.kind = PROGRESS_BALANCE_NONE};
	if (sync && options->dplbs == 0)
		options->dplb[options->dplbs++] = (struct method_dplb){.kind = DPLB_NONE};
	return 0;
}

int subdomain_complete(const char *program, struct subdomain_options *options)
{
	struct cluster_params *params = &options->params;
	uint64_t n = (uint64_t)params->ranks * params->workers;
	int status = check_modes(program, options);

	if (status != 0)
		return status;
	if (n > SUBDOMAINS_MAX / params->each)
		return command_wrong(program,
			"more than 50 million subdomains: use fewer ranks, --workers or "
			"--subdomains");
	if (params->sockets > params->workers)
		return command_wrong(program, "--sockets %u: more than the %u workers",
			(unsigned)params->sockets, (unsigned)params->workers);
	if (options->residual == 0 &&
		(options->rows > 0 || options->check_ns > 0 || options->source > 0))
		return command_wrong(
			program, "--grid, --source and --check need cells: give --residual, too");
	if (options->check_ns > 0 && (double)options->check_ns < params->update_ns)
		return command_wrong(
			program, "--check: shorter than --update, so nothing would have changed");
	if (params->plb_params.low > params->plb_params.high)
		return command_wrong(program, "--low %u: more than --high %u",
			(unsigned)params->plb_params.low, (unsigned)params->plb_params.high);
	if (options->lines_given && !options->series)
		return command_wrong(program, "--lines is for pictures: give --series, too");
	if (options->series && (options->balances > 1 || options->dplbs > 1))
		return command_wrong(program,
			"--series is for one variant: give one --balance (and one --dplb)");
	if (options->time_ns == 0 && options->iterations == 0 && options->residual == 0)
		options->time_ns = TIME_DEFAULT_NS;
	params->plb_params.bound = method_plb_bound(params->mode, params->bound);
	if (!subdomain_work_fits(options))
		return command_wrong(program,
			"that would take hours: use a longer --update or --period%s, a shorter "
			"--time, or "
			"fewer "
			"--iterations or workers",
			params->ranks > 1 ? " or --look" : "");
	status = check_slow(program, options);
	if (status == 0)
		subdomain_announce(program, options);
	return status;
}

struct field_params subdomain_field(const struct subdomain_options *options)
{
	const struct cluster_params *params = &options->params;

	return (struct field_params){
		.rows = options->rows,
		.columns = options->columns,
		.ranks = params->ranks,
		.workers = params->workers,
		.each = params->each,
		.strips = params->strips,
		.source = options->source,
		.lockstep = params->mode == MODE_SYNC,
	};
}

/* ---- Speeds ---- */

static void slow_down(const struct cluster_params *params, enum subdomain_part part,
	uint32_t number, double lost, double *speeds)
{
	uint32_t parts_of_rank = parts(params, part) / params->ranks;
	uint32_t rank = number / parts_of_rank, within = number % parts_of_rank;

	for (uint32_t w = 0; w < params->workers; w++)
		if ((uint64_t)w * parts_of_rank / params->workers == within)
			speeds[(size_t)rank * params->workers + w] *= 1 - lost;
}

static double lost(const struct subdomain_slow *slow, unsigned short random[3])
{
	return slow->least + (slow->most - slow->least) * erand48(random);
}

/* Choose a set of CPUs at random; all sets of that size are equally likely. */
static void slow_any(const struct cluster_params *params, const struct subdomain_slow *slow,
	unsigned short random[3], double *speeds)
{
	uint32_t have = parts(params, slow->part), left = slow->any;

	for (uint32_t i = 0; i < have && left > 0; i++)
		if (erand48(random) * (have - i) < left) {
			slow_down(params, slow->part, i, lost(slow, random), speeds);
			left--;
		}
}

static void slow_listed(const struct cluster_params *params, const struct subdomain_slow *slow,
	unsigned short random[3], double *speeds)
{
	const char *at = slow->list, *end = at + slow->length;
	uint32_t first = 0, last = 0;

	while (at && at < end) {
		at = read_item(at, end, &first, &last);
		for (uint64_t i = first; at && i <= last; i++)
			slow_down(params, slow->part, (uint32_t)i, lost(slow, random), speeds);
	}
}

double *subdomain_speeds(const char *program, const struct subdomain_options *options, int *status)
{
	const struct cluster_params *params = &options->params;
	size_t n = (size_t)params->ranks * params->workers;
	unsigned short random[3] = {(unsigned short)params->seed,
		(unsigned short)(params->seed >> 16), (unsigned short)(params->seed >> 32)};
	double *speeds = calloc(n, sizeof(*speeds));

	if (!speeds) {
		*status = command_fail(program, "out of memory");
		return NULL;
	}
	erand48(random); /* small seeds give similar first numbers */
	erand48(random);
	for (size_t i = 0; i < n; i++)
		speeds[i] = 1 + options->variation * (2 * erand48(random) - 1);
	for (uint32_t i = 0; i < options->slows; i++) {
		if (options->slow[i].list)
			slow_listed(params, &options->slow[i], random, speeds);
		else
			slow_any(params, &options->slow[i], random, speeds);
	}
	return speeds;
}
