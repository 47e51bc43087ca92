/* SPDX-License-Identifier: MIT */
/* jugglectl simulate dplb: subdomains that move between the workers of each node, and between
 * nodes. */
#include "tools/simulate/subdomain_run.h"

#include "tools/command/subcommands.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"

#define RANKS_MAX 100000
#define THRESHOLD_MAX 1e12

enum {
	KEY_RANKS = 0x200,
	KEY_DPLB,
	KEY_DPLB_PERIOD,
	KEY_DPLB_THRESHOLD,
	KEY_SLOW_SOCKETS,
	KEY_SLOW_RANKS,
	KEY_LATENCY,
	KEY_SEND,
	KEY_LOOK,
};

static const struct argp_option table[] = {
	{"ranks", KEY_RANKS, "N", 0, "Ranks, one on each node, 1 to 100000 (default: 15)", -1},
	{"dplb", KEY_DPLB, "LIST", 0,
		"Balancing between nodes: none, global, neighbours[:REACH], random; one run for "
		"each of them (default: none,global,neighbours; none with --mode sync)",
		-1},
	{"dplb-period", KEY_DPLB_PERIOD, "TIME", 0,
		"Time between balancing points of ranks (default: " COMMAND_LINE_TEXT(
			POLICY_DPLB_DEFAULT_PERIOD_MS) "ms)",
		-1},
	{"dplb-threshold", KEY_DPLB_THRESHOLD, "N", 0,
		"Ignore a difference of at most N updates between the means of two ranks, 0 to "
		"1000000000000; 0 is the paper's algorithm (default: half of its own updates in a "
		"period, "
		"with ssync see below)",
		-1},
	{"slow-sockets", KEY_SLOW_SOCKETS, "LIST:PCT", 0,
		"Like --slow, for sockets, numbered through all ranks (default: none)", -1},
	{"slow-ranks", KEY_SLOW_RANKS, "LIST:PCT", 0,
		"Like --slow, for ranks (default: any:1:40, or none when other slow ones are "
		"given)",
		-1},
	{"latency", KEY_LATENCY, "TIME", 0, "Latency of a halo between ranks (default: 2us)", -1},
	{"send", KEY_SEND, "TIME", 0,
		"Time for which a subdomain that moves to another rank is not updated (default: "
		"1ms)",
		-1},
	{"look", KEY_LOOK, "TIME", 0,
		"Time between the looks of a rank at what others publish, 1us or more (default: "
		"2ms)",
		-1},
	{0},
};

static const char doc[] =
	"Simulate nodes whose workers update subdomains at different speeds, and balance them by "
	"progressive load balancing, on each node and between them, in virtual time."
	"\v"
	"neighbours are the ranks whose numbers differ by 1, 2, 4 ... up to REACH, 2 to 65536 "
	"(" COMMAND_LINE_TEXT(
		POLICY_DPLB_DEFAULT_REACH) " "
					   "by default). LIST has numbers from 0 and ranges, or "
					   "is any:N for N chosen at random. PCT may be a range, "
					   "from which each gets a random value. Workers are "
					   "numbered through all ranks. --slow, --slow-sockets and "
					   "--slow-ranks may be given several times. With ssync, "
					   "ranks compare what their subdomains would get in a "
					   "period if none waited, and ignore a difference of one "
					   "twentieth.\n\n"
					   "Exit status: 0, 1 when something is not possible, 2 "
					   "when the command line is wrong.";

static bool take_dplb(void *options, const char *word)
{
	struct subdomain_options *out = options;

	return out->dplbs < SUBDOMAIN_CHOICES_MAX &&
	       method_read_dplb(word, &out->dplb[out->dplbs++]);
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct subdomain_options *out = state->input;
	struct cluster_params *params = &out->params;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = out;
		return 0;
	case KEY_RANKS:
		return command_line_count(state, "--ranks", arg, 1, RANKS_MAX, &params->ranks);
	case KEY_DPLB:
		out->dplbs = 0;
		return command_line_list(state, "--dplb", arg,
			"at most 8 of none, global, neighbours, neighbours:REACH, as neighbours:8, "
			"and random",
			take_dplb, out);
	case KEY_DPLB_PERIOD:
		return command_line_time(state, "--dplb-period", arg, 1, &params->dplb_period_ns);
	case KEY_DPLB_THRESHOLD:
		if (parse_fraction(arg, THRESHOLD_MAX, &params->dplb_params.threshold) < 0)
			return command_line_refuse(
				state, "--dplb-threshold", arg, "a number from 0 to 1000000000000");
		if (params->dplb_params.threshold == 0)
			params->dplb_params.threshold = POLICY_DPLB_THRESHOLD_NONE;
		return 0;
	case KEY_SLOW_SOCKETS:
		return subdomain_read_slow(state, "--slow-sockets", arg, SUBDOMAIN_SOCKETS, out);
	case KEY_SLOW_RANKS:
		return subdomain_read_slow(state, "--slow-ranks", arg, SUBDOMAIN_RANKS, out);
	case KEY_LATENCY:
		return command_line_time(state, "--latency", arg, 0, &params->latency_ns);
	case KEY_SEND:
		return command_line_time(state, "--send", arg, 0, &params->send_ns);
	case KEY_LOOK:
		return command_line_time(state, "--look", arg, 1000, &params->look_ns);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The variants that are simulated by default. */
static void choose(struct subdomain_options *options)
{
	static const enum dplb kinds[] = {DPLB_NONE, DPLB_GLOBAL, DPLB_NEIGHBOURS};
	bool sync = options->params.mode == MODE_SYNC;

	if (!options->slow_given)
		options->slow[options->slows++] = (struct subdomain_slow){
			.part = SUBDOMAIN_RANKS, .any = 1, .least = 0.4, .most = 0.4};
	if (options->balances == 0 && !sync)
		options->balance[options->balances++] = (struct method_balance){
			PROGRESS_BALANCE_HYBRID, POLICY_PLB_DEFAULT_HYBRID_EVERY};
	if (options->dplbs > 0 || sync)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		options->dplb[options->dplbs++] =
			(struct method_dplb){kinds[i], POLICY_DPLB_DEFAULT_REACH};
}

int simulate_dplb_main(int argc, char **argv)
{
	const struct argp_child children[] = {{.argp = &subdomain_argp}, {0}};
	const struct argp argp = {
		.options = table, .parser = read_option, .doc = doc, .children = children};
	struct subdomain_options options = subdomain_defaults();
	struct cluster_params *params = &options.params;

	params->ranks = 15;
	params->workers = 36;
	params->update_ns = 250e3;
	params->move_ns = 0; /* the papers' million cells a rank are in no cache */
	params->latency_ns = 2000;
	params->send_ns = UINT64_C(1000000);
	params->look_ns = UINT64_C(2000000);
	params->dplb_period_ns = POLICY_DPLB_DEFAULT_PERIOD_NS;
	options.between_ranks = true;
	return subdomain_main(&argp, argc, argv, &options, choose);
}
