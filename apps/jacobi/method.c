/* SPDX-License-Identifier: MIT */
/* The words of the options; see method.h. */
#include "apps/jacobi/method.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"
#include "libprogress/policy/dplb.h"
#include "libprogress/policy/plb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REACH_MAX 65536

static const char *const modes[] = {
	[MODE_SYNC] = "sync", [MODE_SSYNC] = "ssync", [MODE_ASYNC] = "async"};
static const char *const balances[] = {
	[PROGRESS_BALANCE_DEFAULT] = "",
	[PROGRESS_BALANCE_NONE] = "none",
	[PROGRESS_BALANCE_JOINT] = "joint",
	[PROGRESS_BALANCE_SPLIT] = "split",
	[PROGRESS_BALANCE_HYBRID] = "hybrid",
};
static const char *const dplbs[] = {
	[DPLB_DEFAULT] = "",
	[DPLB_NONE] = "none",
	[DPLB_GLOBAL] = "global",
	[DPLB_NEIGHBOURS] = "neighbours",
	[DPLB_RANDOM] = "random",
};
static const char *const cuts[] = {[GRID_CUT_1D] = "1d", [GRID_CUT_2D] = "2d"};

/* ---- Reading ---- */

int method_read_mode(struct argp_state *state, const char *arg, int64_t bound_max, enum mode *mode,
	uint64_t *bound)
{
	int64_t number;

	*bound = UINT64_MAX;
	if (strcmp(arg, modes[MODE_SYNC]) == 0) {
		*mode = MODE_SYNC;
	} else if (strcmp(arg, modes[MODE_ASYNC]) == 0) {
		*mode = MODE_ASYNC;
	} else if (parse_named_integer(arg, modes[MODE_SSYNC], 0, bound_max, &number) == 0) {
		*mode = MODE_SSYNC;
		*bound = (uint64_t)number;
	} else {
		return command_line_refuse(
			state, "--mode", arg, "sync, async or ssync:N, as ssync:30");
	}
	return 0;
}

int method_read_cut(struct argp_state *state, const char *arg, enum grid_cut *cut)
{
	size_t which = *cut;
	error_t error = command_line_choice(state, "--cut", arg, cuts, 2, &which);

	*cut = (enum grid_cut)which;
	return error;
}

int method_read_grid(struct argp_state *state, const char *arg, uint32_t *rows, uint32_t *columns)
{
	const char *x = strchr(arg, 'x');
	char rows_text[16];
	int64_t down, across;

	if (x != NULL && (size_t)(x - arg) < sizeof(rows_text)) {
		snprintf(rows_text, sizeof(rows_text), "%.*s", (int)(x - arg), arg);
		if (parse_integer(rows_text, 1, GRID_SIDE_MAX, &down) == 0 &&
			parse_integer(x + 1, 1, GRID_SIDE_MAX, &across) == 0) {
			*rows = (uint32_t)down;
			*columns = (uint32_t)across;
			return 0;
		}
	}
	return command_line_refuse(
		state, "--grid", arg, "rows and columns from 1 to 16777216, as 600x300");
}

int method_read_residual(struct argp_state *state, const char *arg, double *residual)
{
	double number;

	if (parse_positive(arg, 1, &number) < 0 || number == 1)
		return command_line_refuse(
			state, "--residual", arg, "a number above 0 and below 1, as 1e-4");
	*residual = number;
	return 0;
}

bool method_read_balance(const char *word, struct method_balance *out)
{
	int64_t every;

	*out = (struct method_balance){.hybrid_every = POLICY_PLB_DEFAULT_HYBRID_EVERY};
	if (parse_named_integer(word, "hybrid", 1, UINT32_MAX, &every) == 0) {
		*out = (struct method_balance){PROGRESS_BALANCE_HYBRID, (uint32_t)every};
		return true;
	}
	for (unsigned kind = PROGRESS_BALANCE_NONE; kind < PROGRESS_BALANCE_HYBRID; kind++)
		if (strcmp(word, balances[kind]) == 0)
			out->kind = (enum progress_balancing)kind;
	return out->kind != PROGRESS_BALANCE_DEFAULT;
}

bool method_read_dplb(const char *word, struct method_dplb *out)
{
	int64_t reach;

	*out = (struct method_dplb){.reach = POLICY_DPLB_DEFAULT_REACH};
	if (parse_named_integer(word, "neighbours", 2, REACH_MAX, &reach) == 0) {
		*out = (struct method_dplb){DPLB_NEIGHBOURS, (uint32_t)reach};
		return true;
	}
	for (unsigned kind = DPLB_NONE; kind <= DPLB_RANDOM; kind++)
		if (strcmp(word, dplbs[kind]) == 0)
			out->kind = (enum dplb)kind;
	return out->kind != DPLB_DEFAULT;
}

enum {
	KEY_PAIRS = 0x1000, /* apart from the keys of those who use this */
	KEY_LOW,
	KEY_HIGH,
	KEY_DEAD_BAND,
};

static const struct argp_option plb_table[] = {
	{"pairs", KEY_PAIRS, "N", 0,
		"How many of the most and of the least updated subdomains to look at, 1 to 1024 "
		"(default: " COMMAND_LINE_TEXT(POLICY_PLB_DEFAULT_PAIRS) ")",
		0},
	{"low", KEY_LOW, "N", 0,
		"A worker with N subdomains or fewer gives none away, 1 to --high "
		"(default: " COMMAND_LINE_TEXT(POLICY_PLB_DEFAULT_LOW) ")",
		0},
	{"high", KEY_HIGH, "N", 0,
		"A worker with N subdomains or more takes no more, 1 to 65536 "
		"(default: " COMMAND_LINE_TEXT(POLICY_PLB_DEFAULT_HIGH) ")",
		0},
	{"dead-band", KEY_DEAD_BAND, "N", 0,
		"Gaps up to the updates that a subdomain gets in N periods move nothing, 0 to "
		"1000000; 0 is the paper's algorithm (default: " COMMAND_LINE_TEXT(
			POLICY_PLB_DEFAULT_DEAD_BAND) ", with ssync no more than half of its "
						      "bound)",
		0},
	{0},
};

static error_t read_plb(int key, char *arg, struct argp_state *state)
{
	struct policy_plb_params *out = state->input;
	int64_t number = 0;
	error_t error;

	switch (key) {
	case KEY_PAIRS:
		return command_line_count(
			state, "--pairs", arg, 1, PROGRESS_PAIRS_MAX, &out->pairs);
	case KEY_LOW:
		return command_line_count(state, "--low", arg, 1, METHOD_SUBDOMAINS_MAX, &out->low);
	case KEY_HIGH:
		return command_line_count(
			state, "--high", arg, 1, METHOD_SUBDOMAINS_MAX, &out->high);
	case KEY_DEAD_BAND:
		error = command_line_integer(
			state, "--dead-band", arg, 0, METHOD_DEAD_BAND_MAX, &number);
		out->dead_band = (uint32_t)number;
		return error;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp method_plb_argp = {.options = plb_table, .parser = read_plb};

uint32_t method_plb_bound(enum mode mode, uint64_t bound)
{
	if (mode != MODE_SSYNC)
		return 0;
	return bound == 0 ? 1 : bound < UINT32_MAX ? (uint32_t)bound : UINT32_MAX;
}

/* ---- Names ---- */

static struct method_name name_of(const char *word, bool has_number, uint64_t number)
{
	struct method_name name;

	if (has_number)
		snprintf(name.text, sizeof(name.text), "%s:%" PRIu64, word, number);
	else
		snprintf(name.text, sizeof(name.text), "%s", word);
	return name;
}

struct method_name method_mode_name(enum mode mode, uint64_t bound)
{
	return name_of(modes[mode], mode == MODE_SSYNC, bound);
}

struct method_name method_balance_name(const struct method_balance *balance)
{
	return name_of(balances[balance->kind], balance->kind == PROGRESS_BALANCE_HYBRID,
		balance->hybrid_every);
}

struct method_name method_dplb_name(const struct method_dplb *dplb)
{
	return name_of(dplbs[dplb->kind], dplb->kind == DPLB_NEIGHBOURS, dplb->reach);
}

const char *method_cut_name(enum grid_cut cut)
{
	return cuts[cut];
}
