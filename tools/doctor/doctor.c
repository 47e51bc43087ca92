/* SPDX-License-Identifier: MIT */
/* jugglectl doctor: what helps and hinders juggle here. It gathers facts, applies the rules, and
 * this file prints the findings. */
#include "daemon/base/command_line.h"
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/subcommands.h"
#include "tools/doctor/judge.h"
#include "tools/doctor/system.h"
#include "tools/doctor/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FINDINGS_MAX = 128, INDENT = 5, THREADS_MAX = 1000000 };

static const struct argp_option table[] = {
	{"cpus", 'c', "LIST", 0,
		"CPUs that juggle would use, such as 0-5,8 (default: the affinity mask)", 0},
	{"threads", 'n', "N", 0,
		"Number of compute threads, to say whether they can gain (default: not known)", 0},
	{0},
};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct doctor_system *system = state->input;

	switch (key) {
	case 'c':
		if (doctor_parse_cpus(arg, &system->cpus) != 0 || cpuset_count(&system->cpus) == 0)
			return command_line_refuse(
				state, "--cpus", arg, "numbers and ranges of CPUs, as 0-5,8");
		system->cpus_given = true;
		return 0;
	case 'n':
		return command_line_count(
			state, "--threads", arg, 1, THREADS_MAX, &system->threads);
	case ARGP_KEY_ARG:
		/* Without "--", options of the command would have been taken for ours. */
		if (state->quoted == 0) {
			command_line_wrong(state, "%s: put -- before the command", arg);
			return EINVAL;
		}
		system->command = (const char *const *)state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- Text ---- */

static const char *title(enum doctor_group group)
{
	static const char *const titles[] = {
		"CPUs", "Kernel", "Reading progress", "Surroundings", "Command", "OpenMP", "MPI"};

	return titles[group];
}

static void print_finding(const struct doctor_finding *finding)
{
	static const char *const marks[] = {"", "ok", "--", "! ", "XX"};

	printf("  %s ", marks[finding->level]);
	command_words(finding->text, INDENT, INDENT);
	if (finding->advice[0] != '\0') {
		printf("%*s-> ", INDENT, "");
		command_words(finding->advice, INDENT + 3, INDENT);
	}
}

static void print_text(const struct doctor_finding *finding, size_t n, bool quiet)
{
	unsigned count[DOCTOR_PROBLEM + 1] = {0};
	int group = -1;

	for (size_t i = 0; i < n; i++) {
		count[finding[i].level]++;
		if (quiet && finding[i].level == DOCTOR_GOOD)
			continue;
		if (group != (int)finding[i].group) {
			group = (int)finding[i].group;
			printf("%s\n", title(finding[i].group));
		}
		print_finding(&finding[i]);
	}
	if (group >= 0)
		putchar('\n');
	if (count[DOCTOR_PROBLEM] > 0)
		command_sentences("juggle can't work here: see %s marked XX.",
			count[DOCTOR_PROBLEM] == 1 ? "the line" : "the lines");
	else if (count[DOCTOR_WARNING] > 0)
		command_sentences(
			"juggle works here, but could do better: see the exclamation marks (%u).",
			count[DOCTOR_WARNING]);
	else
		command_sentences("juggle works here.");
}

/* ---- JSON ---- */

static json_t *finding_json(const struct doctor_finding *finding)
{
	return json_pack("{ss ss ss ss ss}", "id", finding->id, "level",
		doctor_level_name(finding->level), "group", doctor_group_name(finding->group),
		"text", finding->text, "advice", finding->advice);
}

static int print_json(
	const char *program, const struct doctor_finding *finding, size_t n, bool quiet)
{
	static const char *const verdicts[] = {"works", "works", "works", "hindered", "impossible"};
	json_t *findings = json_array();

	for (size_t i = 0; i < n; i++)
		if (!(quiet && finding[i].level == DOCTOR_GOOD))
			json_array_append_new(findings, finding_json(&finding[i]));
	return command_print_json(program,
		json_pack("{ss ss ss so}", "program", "jugglectl doctor", "version", JUGGLE_VERSION,
			"verdict", verdicts[doctor_worst(finding, n)], "findings", findings));
}

int doctor_main(int argc, char **argv)
{
	struct doctor_system *system = malloc(sizeof(*system));
	struct doctor_finding *finding = calloc(FINDINGS_MAX, sizeof(*finding));
	struct command_options options;
	const struct argp argp = {
		.options = table, .parser = read_option, .args_doc = "[-- COMMAND [ARG...]]"};
	int status = 0;

	if (system == NULL || finding == NULL) {
		status = command_fail(argv[0], "no memory");
		goto end;
	}
	doctor_system_init(system);
	system->environment = (const char *const *)environ;
	int r = command_parse(&argp, argc, argv, system, &options);
	if (r != 0) {
		status = r < 0 ? COMMAND_WRONG : 0;
		goto end;
	}
	doctor_try_machine(system);
	doctor_read_machine(system, "");
	if (system->command != NULL)
		doctor_look_at_command(system);
	size_t n = doctor_judge(system, finding, FINDINGS_MAX);
	if (options.json)
		status = print_json(argv[0], finding, n, options.quiet);
	else {
		print_text(finding, n, options.quiet);
		status = command_flush(argv[0]);
	}
	if (status == 0 && doctor_worst(finding, n) == DOCTOR_PROBLEM)
		status = COMMAND_IMPOSSIBLE;
end:
	free(finding);
	free(system);
	return status;
}
