/* SPDX-License-Identifier: MIT */
/* jugglectl simulate plb: subdomains that move between the workers of a node. */
#include "subdomain_run.h"

static error_t read_none(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static const char doc[] =
	"Simulate a node whose workers update subdomains at different speeds, and balance them by "
	"progressive load balancing, in virtual time."
	"\v"
	"LIST has numbers from 0 and ranges, or is any:N for N by chance; PCT may be a range, from "
	"which each gets a value by chance. --slow may be given several times.\n\n"
	"Exit status: 0, 1 when something is not possible, 2 when the command line is wrong.";

/* What is simulated unless something else is named. */
static void choose(struct subdomain_options *options)
{
	static const struct subdomain_balance all[] = {
		{.hybrid_every = 1},
		{.plb = true, .mode = POLICY_PLB_SPLIT, .hybrid_every = 1},
		{.plb = true, .mode = POLICY_PLB_JOINT, .hybrid_every = 1},
		{.plb = true, .mode = POLICY_PLB_HYBRID, .hybrid_every = 500},
	};

	if (!options->slow_given)
		options->slow[options->slows++] = (struct subdomain_slow){
			.list = "0", .length = 1, .least = 0.19, .most = 0.19};
	if (options->balances > 0 || options->params.mode == CLUSTER_SYNC)
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		options->balance[options->balances++] = all[i];
}

int simulate_plb_main(int argc, char **argv)
{
	const struct argp_child children[] = {{.argp = &subdomain_argp}, {0}};
	const struct argp argp = {.parser = read_none, .doc = doc, .children = children};
	struct subdomain_options options = {
		.params =
			{
				.ranks = 1,
				.workers = 24,
				.sockets = 2,
				.each = 4,
				.strips = true,
				.mode = CLUSTER_ASYNC,
				.update_ns = 23e3,
				.jitter = 0.05,
				.foreign = 0.15,
				.plb_params = {.pairs = 6, .low = 2, .high = 6},
				.plb_period_ns = UINT64_C(1000000),
				.plb_point_ns = 20,
				.seed = 1,
			},
		.dplb = {{.kind = CLUSTER_DPLB_NONE}},
		.dplbs = 1,
		.variation = 0.01,
		.lines = 8,
	};
	struct command_options command;
	int rc = command_parse(&argp, argc, argv, &options, &command);

	if (rc != 0)
		return rc < 0 ? COMMAND_WRONG : 0;
	options.command = command;
	choose(&options);
	rc = subdomain_complete(argv[0], &options);
	return rc != 0 ? rc : subdomain_run(argv[0], &options, false);
}
