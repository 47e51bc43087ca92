/* SPDX-License-Identifier: MIT */
/*
 * The frame of the NAS kernels; see nas.h.
 */
#include "apps/nas/nas.h"

#include "daemon/base/command_line.h"
#include "daemon/base/json_file.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define THREADS_MAX 4096
#define REPEATS_MAX 1000000

static const char *const class_names[NAS_CLASSES] = {"S", "W", "A", "B"};

uint64_t nas_random_skip(uint64_t state, uint64_t numbers)
{
	uint64_t power = NAS_MULTIPLIER;

	/* Products modulo 2^64 have the same low 46 bits as modulo 2^46. */
	for (; numbers > 0; numbers >>= 1) {
		if (numbers & 1)
			state *= power;
		power *= power;
	}
	return state & NAS_MODULUS_MASK;
}

/* ---- Options ---- */

struct nas_options {
	size_t class;
	int64_t threads; /* 0: as the OpenMP runtime has it */
	int64_t repeats;
};

static const struct argp_option table[] = {
	{"class", 'c', "NAME", 0,
		"Size of the problem, S, W, A or B: each is larger than the one before "
		"(default: S)",
		0},
	{"threads", 't', "N", 0, "Threads, 1 to 4096 (default: OMP_NUM_THREADS)", 0},
	{"repeats", 'r', "N", 0, "Run the part that counts that often, 1 to 1000000 (default: 1)",
		0},
	{0},
};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct nas_options *out = state->input;

	switch (key) {
	case 'c':
		return command_line_choice(
			state, "--class", arg, class_names, NAS_CLASSES, &out->class);
	case 't':
		return command_line_integer(state, "--threads", arg, 1, THREADS_MAX, &out->threads);
	case 'r':
		return command_line_integer(state, "--repeats", arg, 1, REPEATS_MAX, &out->repeats);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- The run ---- */

static bool verified(const struct nas_result *result)
{
	for (size_t i = 0; i < result->checks; i++) {
		const struct nas_check *check = &result->check[i];
		double error = fabs(check->found / check->published - 1);

		if (!(error <= check->tolerance)) /* nor is NaN right */
			return false;
	}
	return true;
}

/* All threads exist afterwards. Returns how many there are: OMP_THREAD_LIMIT may allow fewer. */
static int start_threads(void)
{
	int threads = 1;

#pragma omp parallel
#pragma omp master
	threads = omp_get_num_threads();
	return threads;
}

static json_t *found_and_published(const struct nas_result *result)
{
	json_t *all = json_object();

	for (size_t i = 0; i < result->checks; i++)
		json_object_set_new(all, result->check[i].name,
			json_pack("{s:f, s:f}", "found", result->check[i].found, "published",
				result->check[i].published));
	return all;
}

int nas_main(const struct nas_program *program, int argc, char **argv)
{
	char doc[1024];
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};
	struct nas_options options = {.repeats = 1};
	struct nas_result result = {0};

	snprintf(doc, sizeof(doc),
		"%s\vThe kernel is one of the NAS Parallel Benchmarks', written anew. Prints a "
		"JSON "
		"object: elapsed_s is the time without preparations, verified says whether the "
		"results agree with the published ones.\n\nExit status: 0, 1 when the run failed "
		"or its results are wrong, 2 when the command line is wrong.",
		program->doc);
	int rc = command_line_parse(&argp, program->name, 0, argc, argv, &options);
	if (rc)
		return rc < 0 ? 2 : 0;

	omp_set_dynamic(0);
	if (options.threads)
		omp_set_num_threads((int)options.threads);
	int threads = start_threads();
	rc = program->run((enum nas_class)options.class, (int)options.repeats, &result);
	bool right = rc == 0 && verified(&result);
	if (rc == 0)
		rc = json_file_write(
			"-", json_pack("{s:s, s:s, s:s, s:i, s:I, s:f, s:b, s:o}", "program",
				     program->name, "version", JUGGLE_VERSION, "class",
				     class_names[options.class], "threads", threads, "repeats",
				     (json_int_t)options.repeats, "elapsed_s",
				     (double)(result.end_ns - result.begin_ns) / 1e9, "verified",
				     right, "results", found_and_published(&result)));
	if (rc < 0) {
		fprintf(stderr, "%s: %s\n", program->name, strerror(-rc));
		return 1;
	}
	if (!right)
		fprintf(stderr, "%s: the results are wrong\n", program->name);
	return right ? 0 : 1;
}
