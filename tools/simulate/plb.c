/* SPDX-License-Identifier: MIT */
/* jugglectl simulate plb: subdomains that move between the workers of a node. */
#include "tools/simulate/subdomain_run.h"

#include "tools/command/subcommands.h"

static const char doc[] =
	"Simulate a node whose workers update subdomains at different speeds, and balance them by "
	"progressive load balancing, in virtual time."
	"\v"
	"LIST has numbers from 0 and ranges, or is any:N for N chosen at random. PCT may be a "
	"range, from which each gets a random value. --slow may be given several times.\n\n"
	"Exit status: 0, 1 when something is not possible, 2 when the command line is wrong.";

/* The variants that are simulated by default. */
static void choose(struct subdomain_options *options)
{
	static const struct method_balance all[] = {
		{.kind = PROGRESS_BALANCE_NONE},
		{.kind = PROGRESS_BALANCE_SPLIT},
		{.kind = PROGRESS_BALANCE_JOINT},
		{PROGRESS_BALANCE_HYBRID, POLICY_PLB_DEFAULT_HYBRID_EVERY},
	};

	if (!options->slow_given)
		options->slow[options->slows++] = (struct subdomain_slow){
			.list = "0", .length = 1, .least = 0.19, .most = 0.19};
	if (options->balances > 0 || options->params.mode == MODE_SYNC)
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		options->balance[options->balances++] = all[i];
}

int simulate_plb_main(int argc, char **argv)
{
	struct argp argp = subdomain_argp;
	struct subdomain_options options = subdomain_defaults();

	argp.doc = doc;
	options.dplb[options.dplbs++] = (struct method_dplb){.kind = DPLB_NONE};
	return subdomain_main(&argp, argc, argv, &options, choose);
}
