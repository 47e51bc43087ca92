/* SPDX-License-Identifier: MIT */
/* jugglectl(1): a table of subcommands, each in its own folder. */
#include "tools/command/print.h"
#include "tools/command/subcommands.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *summary;
	int (*main)(int argc, char **argv);
} subcommands[] = {
	{"list", "list jobs, and programs that publish progress, on this machine", list_main},
	{"stat", "print the progress of a job's threads and subdomains", stat_main},
	{"top", "show the same as a live screen", top_main},
	{"doctor", "say what helps or hinders juggle here, and what to do about it", doctor_main},
	{"plot", "draw a traced run", plot_main},
	{"clean", "remove what killed processes left in /dev/shm", clean_main},
	{"compare", "time a command under Linux, pinned and under juggle, in turn", compare_main},
	{"predict", "predict by theory whether juggle helps n threads on m CPUs", predict_main},
	{"simulate", "simulate threads, or subdomains, in virtual time", simulate_main},
	{"replay", "say what another policy or period would have done to a traced run",
		replay_main},
};

static void print_help(FILE *to)
{
	fputs("Usage: jugglectl COMMAND [OPTION...]\n"
	      "Show, explain and predict what juggle does.\n\n",
		to);
	for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
		fprintf(to, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
	fputs("\n`jugglectl COMMAND --help` lists the options of each.\n"
	      "Exit status: 0, 1 when something is not possible, 2 when the command line is\n"
	      "wrong.\n",
		to);
}

int main(int argc, char **argv)
{
	char name[64];

	if (argc < 2) {
		print_help(stderr);
		return COMMAND_WRONG;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return command_flush("jugglectl");
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("jugglectl (juggle) %s\n", JUGGLE_VERSION);
		return command_flush("jugglectl");
	}
	for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) {
		if (strcmp(argv[1], subcommands[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "jugglectl %s", argv[1]);
		argv[1] = name;
		int status = subcommands[i].main(argc - 1, argv + 1);
		/* argp does not report failures to print help. */
		return status == 0 ? command_flush(name) : status;
	}
	return command_wrong("jugglectl", "%s: no such command (try --help)", argv[1]);
}
