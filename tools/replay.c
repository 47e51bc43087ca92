/* SPDX-License-Identifier: MIT */
#include "command.h"

int replay_main(int argc, char **argv)
{
	(void)argc;
	return command_fail(argv[0], "not written yet");
}
