/* SPDX-License-Identifier: MIT */
/*
 * Feeds arbitrary words, a line each, to command lines of jugglectl that have more than plain numbers:
 * those of stat, simulate juggle, simulate plb and dplb. The first byte chooses which.
 */
#undef NDEBUG
#include "tools/simulate/juggle.h"
#include "tools/simulate/subdomain_options.h"
#include "tools/stat/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "tests/fuzz/input.h"

enum { WORDS = 64, WORKERS = 4096 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Messages are many, and go nowhere. The fuzzer and the sanitizers write to the descriptor. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w");
	assert(stdout != NULL && stderr != NULL);
	return 0;
}

static void check_stat(int argc, char **argv)
{
	struct stat_options options;

	if (stat_options_parse(&options, argc, argv) == 0)
		assert(options.order < ORDERS && stat_options_chosen(&options) <= STAT_TABLES);
}

static void check_threads(int argc, char **argv)
{
	struct simulate_juggle *options = malloc(sizeof *options);

	assert(options != NULL);
	if (simulate_juggle_parse(argc, argv, options) == 0) {
		const struct threads_params *params = &options->params;
		assert(params->threads >= 1 && params->threads <= SIMULATE_THREADS_MAX);
		assert(params->cpus >= 1 && params->cpus <= SIMULATE_CPUS_MAX);
		for (size_t j = 0; j < params->cpus; j++)
			assert(params->cpu[j].speed > 0 && params->cpu[j].domain < params->domains);
		assert(simulate_worst_ns(params) > 0 && simulate_steps(options) > 0);
	}
	free(options);
}

/* What the options say of the speed of each worker, unless there are many. */
static void check_speeds(const struct subdomain_options *options)
{
	size_t n = (size_t)options->params.ranks * options->params.workers;
	int status = 0;

	if (n > WORKERS)
		return;
	double *speeds = subdomain_speeds("fuzz", options, &status);
	assert(speeds != NULL);
	for (size_t i = 0; i < n; i++)
		assert(speeds[i] >= 0 && speeds[i] <= 2);
	free(speeds);
}

static void check_subdomains(uint8_t ranks, int argc, char **argv)
{
	struct subdomain_options *options = malloc(sizeof *options);

	assert(options != NULL);
	*options = subdomain_defaults();
	options->params.ranks = 1 + ranks % 4;
	options->params.look_ns = 1000000;
	options->balances = options->dplbs = 1;
	if (command_parse(&subdomain_argp, argc, argv, options, &options->command) == 0 &&
		subdomain_complete("fuzz", options) == 0)
		check_speeds(options);
	free(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	char program[] = "jugglectl fuzz", *argv[WORDS + 2] = {program};
	uint8_t which = input_byte(&input);
	char *text = input_text(&input), *rest = text;
	int argc = 1;

	while (argc <= WORDS && rest != NULL)
		argv[argc++] = strsep(&rest, "\n");
	if (which % 3 == 0)
		check_stat(argc, argv);
	else if (which % 3 == 1)
		check_threads(argc, argv);
	else
		check_subdomains(which / 3, argc, argv);
	free(text);
	return 0;
}
