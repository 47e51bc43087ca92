/* SPDX-License-Identifier: MIT */
/* jugglectl simulate: chooses the simulated machine. */
#include "tools/command/print.h"
#include "tools/command/subcommands.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *summary;
	int (*main)(int argc, char **argv);
} machines[] = {
	{"juggle", "threads that juggle moves between CPUs", simulate_juggle_main},
	{"plb", "subdomains that move between the workers of a node", simulate_plb_main},
	{"dplb", "subdomains that move between nodes, too", simulate_dplb_main},
};

int simulate_main(int argc, char **argv)
{
	char name[64];

	for (size_t i = 0; argc > 1 && i < sizeof machines / sizeof *machines; i++) {
		if (strcmp(argv[1], machines[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "%s %s", argv[0], argv[1]);
		argv[1] = name;
		return machines[i].main(argc - 1, argv + 1);
	}
	if (argc > 1 && strcmp(argv[1], "--help") != 0)
		return command_wrong(argv[0], "%s: no such machine (juggle, plb or dplb)", argv[1]);
	FILE *to = argc > 1 ? stdout : stderr;
	fprintf(to, "Usage: %s MACHINE [OPTION...]\nSimulate in virtual time.\n\n", argv[0]);
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		fprintf(to, "  %-10s %s\n", machines[i].name, machines[i].summary);
	fprintf(to, "\n`%s MACHINE --help` lists the options of each.\n", argv[0]);
	return argc > 1 ? command_flush(argv[0]) : COMMAND_WRONG;
}
