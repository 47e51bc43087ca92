/* SPDX-License-Identifier: MIT */
/* Poisson's equation on strips; see strips.h. */
#include "libprogress/examples/strips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double load(const struct strips *q, uint32_t row, uint32_t column)
{
	return atomic_load_explicit(
		&q->u[(size_t)row * (q->options.points + 2) + column], memory_order_relaxed);
}

static double source(const struct strips *q, uint32_t row, uint32_t column)
{
	return q->source[row] * q->source[column];
}

static double row_residual2(const struct strips *q, uint32_t row)
{
	double sum = 0;

	for (uint32_t c = 1; c <= q->options.points; c++) {
		double r = source(q, row, c) - 4 * load(q, row, c) + load(q, row - 1, c) +
			   load(q, row + 1, c) + load(q, row, c - 1) + load(q, row, c + 1);
		sum += r * r;
	}
	return sum;
}

/* Factorise the five-point Laplacian of the strip: L L^T, of as many bands as the strip has rows. */
bool strip_factorise(struct strip *s, uint32_t columns)
{
	size_t band = s->height, n = band * columns;
	double *column;

	s->factor = calloc(n * (band + 1), sizeof(*s->factor));
	s->x = malloc((n + band) * sizeof(*s->x));
	if (s->factor == NULL || s->x == NULL)
		return false;
	for (size_t j = 0; j < n; j++) {
		column = s->factor + j * (band + 1);
		column[0] = 4;
		if (band > 1)
			column[1] = (j + 1) % band == 0 ? 0 : -1;
		if (j + band < n)
			column[band] = -1;
	}
	for (size_t j = 0; j < n; j++) {
		column = s->factor + j * (band + 1);
		double diagonal = sqrt(column[0]);
		for (size_t i = 0; i <= band; i++)
			column[i] /= diagonal;
		column[0] = diagonal;
		for (size_t k = 1; k <= band && j + k < n; k++)
			for (size_t i = k; i <= band; i++)
				column[k * (band + 1) + i - k] -= column[i] * column[k];
	}
	return true;
}

/* x <- L^-T L^-1 x */
static void substitute(struct strip *s, uint32_t columns)
{
	size_t band = s->height, n = band * columns;
	double *x = s->x;

	/* Below the last unknowns factors are 0. */
	memset(x + n, 0, band * sizeof(*x));
	for (size_t j = 0; j < n; j++) {
		const double *column = s->factor + j * (band + 1);
		double value = x[j] /= column[0];
		for (size_t i = 1; i <= band; i++)
			x[j + i] -= column[i] * value;
	}
	for (size_t j = n; j-- > 0;) {
		const double *column = s->factor + j * (band + 1);
		double value = x[j];
		for (size_t i = 1; i <= band; i++)
			value -= column[i] * x[j + i];
		x[j] = value / column[0];
	}
}

double strip_update(struct strips *q, struct strip *s)
{
	uint32_t last = s->from + s->height - 1;
	double residual2 = 0;

	for (uint32_t r = s->row; r < s->row + s->rows; r++)
		residual2 += row_residual2(q, r);
	for (uint32_t c = 1; c <= q->options.points; c++) {
		double *x = s->x + (size_t)(c - 1) * s->height;
		for (uint32_t r = s->from; r <= last; r++)
			x[r - s->from] = source(q, r, c);
		x[0] += load(q, s->from - 1, c);
		x[s->height - 1] += load(q, last + 1, c);
	}
	substitute(s, q->options.points);
	for (uint32_t r = s->row; r < s->row + s->rows; r++)
		for (uint32_t c = 1; c <= q->options.points; c++)
			atomic_store_explicit(&q->u[(size_t)r * (q->options.points + 2) + c],
				s->x[(size_t)(c - 1) * s->height + r - s->from],
				memory_order_relaxed);
	atomic_store_explicit(&s->residual2, residual2, memory_order_relaxed);
	return residual2;
}

bool strips_seem_solved(const struct strips *q, double residual2)
{
	return residual2 <= q->options.tolerance * q->options.tolerance * q->source2;
}

double strips_residual(const struct strips *q)
{
	double sum = 0;

	for (uint32_t r = 1; r <= q->options.points; r++)
		sum += row_residual2(q, r);
	return sqrt(sum / q->source2);
}

double strips_error(const struct strips *q)
{
	double half = sin(M_PI / 2 / (q->options.points + 1)), eigenvalue = 8 * half * half;
	double sum = 0;

	for (uint32_t r = 1; r <= q->options.points; r++)
		for (uint32_t c = 1; c <= q->options.points; c++) {
			double e = load(q, r, c) * eigenvalue - source(q, r, c);
			sum += e * e;
		}
	return sqrt(sum / q->source2);
}

/* ---- The beginning and the end ---- */

/* From row to row, heights grow from the first strip's to `ratio` times that. Returns the first row
 * of a strip. */
static uint32_t first_row(const struct strips_options *o, uint32_t count, uint32_t strip)
{
	double slope = count > 1 ? (o->ratio - 1.0) / (count - 1) : 0;
	double below = strip + slope * strip * (strip - 1.0) / 2;
	double all = count + slope * count * (count - 1.0) / 2;

	return 1 + (uint32_t)lround(o->points * below / all);
}

bool strips_fit(const struct strips_options *o, uint32_t count, uint32_t rows)
{
	for (uint32_t i = 0; i < count; i++)
		if (first_row(o, count, i + 1) < first_row(o, count, i) + rows)
			return false;
	return true;
}

bool strips_init(struct strips *q, const struct strips_options *options, uint32_t count)
{
	uint32_t points = options->points;
	double sum = 0;

	*q = (struct strips){.options = *options, .count = count};
	q->u = calloc((size_t)(points + 2) * (points + 2), sizeof(*q->u));
	q->source = calloc(points + 2, sizeof(*q->source));
	q->strip = calloc(count, sizeof(*q->strip));
	if (q->u == NULL || q->source == NULL || q->strip == NULL)
		return false;
	for (uint32_t i = 1; i <= points; i++) {
		q->source[i] = sin(M_PI * i / (points + 1));
		sum += q->source[i] * q->source[i];
	}
	q->source2 = sum * sum;
	for (uint32_t i = 0; i < count; i++) {
		struct strip *s = &q->strip[i];
		s->row = first_row(options, count, i);
		s->rows = first_row(options, count, i + 1) - s->row;
		s->from = s->row > STRIPS_OVERLAP ? s->row - STRIPS_OVERLAP : 1;
		uint32_t end = s->row + s->rows + STRIPS_OVERLAP;
		s->height = (end <= points + 1 ? end : points + 1) - s->from;
	}
	return true;
}

void strips_deinit(struct strips *q)
{
	for (uint32_t i = 0; q->strip != NULL && i < q->count; i++) {
		free(q->strip[i].factor);
		free(q->strip[i].x);
	}
	free(q->strip);
	free(q->source);
	free(q->u);
}

/* ---- The command line ---- */

static const struct argp_option table[] = {
	{"strips", 's', "N", 0, "Strips of each thread or rank at the start, 1 to 64 (default: 4)",
		0},
	{"points", 'n', "N", 0, "Points of each row and column, 16 to 4096 (default: 191)", 0},
	{"ratio", 'r', "N", 0,
		"How many times as high as the first strip the last one is, 1 to 64 (default: 4)",
		0},
	{"tolerance", 'e', "E", 0, "Residual at the end, relative to the start (default: 1e-8)", 0},
	{"updates", 'u', "N", 0,
		"Give up when a strip has been updated that often (default: 1000000)", 0},
	{0},
};

uint32_t strips_read_count(struct argp_state *state, const char *arg, uint32_t least, uint32_t most)
{
	char *end;
	unsigned long value = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end != '\0' || value < least || value > most)
		argp_error(state, "'%s' is not a whole number from %u to %u", arg, least, most);
	return (uint32_t)value;
}

uint32_t strips_read_name(
	struct argp_state *state, const char *arg, const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(names[i], arg) == 0)
			return i;
	argp_error(state, "unknown name '%s'; see --help", arg);
	return 0;
}

static double share(struct argp_state *state, const char *arg)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end != '\0' || !(value >= 1e-12 && value < 1))
		argp_error(state, "'%s' is not a number from 1e-12 to 1", arg);
	return value;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct strips_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*o = (struct strips_options){.strips = 4,
			.points = 191,
			.ratio = 4,
			.updates = 1000000,
			.tolerance = 1e-8};
		return 0;
	case 's':
		o->strips = strips_read_count(state, arg, 1, 64);
		return 0;
	case 'n':
		o->points = strips_read_count(state, arg, 16, 4096);
		return 0;
	case 'r':
		o->ratio = strips_read_count(state, arg, 1, 64);
		return 0;
	case 'u':
		o->updates = strips_read_count(state, arg, 1, UINT32_MAX);
		return 0;
	case 'e':
		o->tolerance = share(state, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp strips_argp = {.options = table, .parser = read_option};
