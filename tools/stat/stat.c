/* SPDX-License-Identifier: MIT */
#include "command.h"

int stat_main(int argc, char **argv)
{
	struct command_options options;
	const struct argp argp = {0};
	int r = command_parse(&argp, argc, argv, NULL, &options);

	return r < 0 ? COMMAND_WRONG : 0;
}
