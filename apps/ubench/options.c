/* SPDX-License-Identifier: MIT */
/*
 * The command line of the three programs; see options.h.
 */
#include "apps/ubench/options.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PHASE_NS_MIN UINT64_C(1000)
#define PHASE_NS_MAX UINT64_C(3600000000000)
#define PHASES_MAX 1000000000
#define RATE_MAX 1000000000
#define IMBALANCE_MAX 10000.0
#define MEMORY_MAX (UINT64_C(1) << 42)

enum {
	KEY_RATE = 0x100,
	KEY_CALIBRATE,
	KEY_PIN,
	KEY_IMBALANCE,
	KEY_SPEEDS,
	KEY_JSON,
};

static const struct argp_option table[] = {
	{"threads", 't', "N", 0,
		"Threads, 1 to 4096 (default: one for each CPU of the affinity mask; ubench-omp: "
		"OMP_NUM_THREADS; ubench-mpi: the number of ranks, and no other is accepted)",
		0},
	{"phase", 'e', "TIME", 0,
		"Length of a phase on a CPU of its own, such as 500us, 20ms, 0.5s; 1us to 3600s "
		"(default: 20ms)",
		0},
	{"phases", 'p', "N", 0, "Number of phases, 1 to 1000000000 (default: 100)", 0},
	{"barrier", 'b', "NAME", 0, "The barrier after each phase, see below", 0},
	{"memory", 'm', "BYTES", 0,
		"Memory of each thread, which reads and writes one cache line of it every 16 "
		"steps; K, M or G may follow, up to 4T (default: 0, registers only)",
		0},
	{"imbalance", KEY_IMBALANCE, "PCT", 0,
		"Thread 0 has this much more work, 0 to 10000 percent (default: 0)", 0},
	{"pin", KEY_PIN, NULL, 0,
		"Pin thread i to the i-th CPU of the affinity mask, modulo their number: "
		"the static baseline",
		0},
	{"speeds", KEY_SPEEDS, "LIST", 0,
		"Emulate CPUs of unequal speed: the i-th number is that of the i-th CPU of the "
		"affinity mask, such as 1,0.55 or 8x1,16x0.55; 0.01 to 100, relative to the "
		"fastest (default: all equal)",
		0},
	{"rate", KEY_RATE, "STEPS", 0,
		"Steps of work in a millisecond, 1 to 1000000000 (default: measured at the start, "
		"0.2 s). Runs to be compared need the same rate, measured with the same -m",
		0},
	{"calibrate", KEY_CALIBRATE, NULL, 0, "Measure the rate, print it as JSON and exit", 0},
	{"json", KEY_JSON, "FILE", 0, "Where to write the result (default: -, standard output)", 0},
	{"quiet", 'q', NULL, 0, "Print no remarks on standard error", 0},
	{0},
};

struct parsing {
	const struct model *model;
	struct ubench_options options;
};

static error_t read_barrier(struct argp_state *state, const struct model *model, const char *arg,
	struct ubench_options *out)
{
	char expected[128] = "";

	for (int kind = 0; kind < BARRIER_KINDS; kind++) {
		const char *name = barrier_name((enum barrier_kind)kind);

		if (!(model->barriers >> kind & 1))
			continue;
		if (strcmp(arg, name) == 0) {
			out->barrier = (enum barrier_kind)kind;
			return 0;
		}
		snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s%s",
			*expected ? " or " : "", name);
	}
	return command_line_refuse(state, "--barrier", arg, expected);
}

static error_t read_speeds(struct argp_state *state, const char *arg, struct ubench_options *out)
{
	double fastest = 0;

	if (parse_speeds(arg, CPUSET_CPUS_MAX, out->speed, &out->speed_count) < 0)
		return command_line_refuse(state, "--speeds", arg,
			"numbers from 0.01 to 100, as 1,0.55 or 8x1,16x0.55");
	for (size_t i = 0; i < out->speed_count; i++)
		if (out->speed[i] > fastest)
			fastest = out->speed[i];
	for (size_t i = 0; i < out->speed_count; i++)
		out->speed[i] /= fastest;
	return 0;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	struct ubench_options *out = &parsing->options;
	int64_t number = 0;
	error_t error = 0;

	switch (key) {
	case 't':
		error = command_line_integer(
			state, "--threads", arg, 1, OPTIONS_THREADS_MAX, &number);
		out->threads = (int)number;
		return error;
	case 'e':
		return command_line_time_within(
			state, "--phase", arg, PHASE_NS_MIN, PHASE_NS_MAX, &out->phase_ns);
	case 'p':
		error = command_line_integer(state, "--phases", arg, 1, PHASES_MAX, &number);
		out->phases = (uint64_t)number;
		return error;
	case 'b':
		return read_barrier(state, parsing->model, arg, out);
	case 'm':
		if (parse_size_bytes(arg, &out->memory_bytes) < 0 || out->memory_bytes > MEMORY_MAX)
			return command_line_refuse(
				state, "--memory", arg, "bytes from 0 to 4T, as 4096 or 2M");
		return 0;
	case KEY_IMBALANCE:
		if (parse_fraction(arg, IMBALANCE_MAX, &out->imbalance_pct) < 0)
			return command_line_refuse(
				state, "--imbalance", arg, "a percentage from 0 to 10000");
		return 0;
	case KEY_SPEEDS:
		return read_speeds(state, arg, out);
	case KEY_RATE:
		error = command_line_integer(state, "--rate", arg, 1, RATE_MAX, &number);
		out->rate_steps_per_ms = (uint64_t)number;
		return error;
	case KEY_PIN:
		out->pin = true;
		return 0;
	case KEY_CALIBRATE:
		out->calibrate = true;
		return 0;
	case KEY_JSON:
		out->json = arg;
		return 0;
	case 'q':
		out->quiet = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int ubench_options_parse(
	int argc, char **argv, const struct model *model, bool silent, struct ubench_options *out)
{
	struct parsing parsing = {
		.model = model,
		.options =
			{
				.phase_ns = UINT64_C(20000000),
				.phases = 100,
				.barrier = model->barrier_default,
				.json = "-",
			},
	};
	char doc[2048];
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};
	int rc;

	snprintf(doc, sizeof(doc),
		"%s\vThe work is done in steps. ubench, ubench-omp and ubench-mpi do the same "
		"steps, so equal options and an equal --rate give an equal checksum. The result is "
		"a JSON object: elapsed_s is the wall time from the first barrier to the last, "
		"ideal_s is what it would be with the work spread evenly over the CPUs, by their "
		"speeds, and phase_times_s has the times of the first 10000 phases as thread 0 "
		"sees them."
		"\n\n--speeds is an emulation: a thread asks every few microseconds which CPU it "
		"is "
		"on, and on a slow one does further steps that count for nothing. Barriers and "
		"access to memory (-m) are not slowed."
		"\n\n%s\n\nExit status: 0, 1 when the run failed, 2 when the command line is "
		"wrong.",
		model->doc, model->notes);

	rc = command_line_parse(
		&argp, model->program, silent ? ARGP_NO_ERRS : 0, argc, argv, &parsing);
	if (rc == 0)
		*out = parsing.options;
	return rc;
}
