/* SPDX-License-Identifier: MIT */
/* juggle(1): run a parallel program and keep all of its threads progressing at the same rate. */
#include "daemon/keeper/keeper.h"

int main(int argc, char **argv)
{
	struct options options;

	options_parse(&options, argc, argv);
	int status = keeper_run(&options);
	options_deinit(&options);
	return status;
}
