/* SPDX-License-Identifier: MIT */
/*
 * Numbers and times as people type them; parse.h says why this is strict.
 */
#include "daemon/base/parse.h"

#include <argz.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int parse_words(const char *text, char **words, size_t *bytes)
{
	if (argz_create_sep(text, ' ', words, bytes) != 0)
		return -ENOMEM;
	/* A blank at the end leaves an empty word. */
	size_t n = *bytes;
	if (n > 0 && (*words)[n - 1] == '\0' && (n == 1 || (*words)[n - 2] == '\0'))
		--*bytes;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

/* [ digits ] [ "." digits ]: the value is mantissa / divisor. */
struct decimal {
	uint64_t mantissa;
	uint64_t divisor;
	const char *rest;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int decimal_scan(const char *text, struct decimal *out)
{
	const char *p = text;
	uint64_t mantissa = 0, divisor = 1;

	if (!is_digit(*p) && *p != '.')
		return -EINVAL;
	for (; is_digit(*p); p++) {
		if (mantissa > (INT64_MAX - 9) / 10)
			return -ERANGE;
		mantissa = mantissa * 10 + (uint64_t)(*p - '0');
	}
	if (*p == '.') {
		p++;
		if (!is_digit(*p))
			return -EINVAL;
		for (; is_digit(*p); p++) {
			/* Ignore digits that no longer fit: they are far below the resolution of
			 * any unit. */
			if (mantissa > (INT64_MAX - 9) / 10 || divisor >= UINT64_C(1000000000000))
				continue;
			mantissa = mantissa * 10 + (uint64_t)(*p - '0');
			divisor *= 10;
		}
	}
	*out = (struct decimal){.mantissa = mantissa, .divisor = divisor, .rest = p};
	return 0;
}

/* The decimal times factor, rounded to nearest. */
static int decimal_scale(const struct decimal *decimal, uint64_t factor, uint64_t *out)
{
	uint64_t whole = decimal->mantissa / decimal->divisor;
	uint64_t part = decimal->mantissa % decimal->divisor;

	if (whole > (uint64_t)INT64_MAX / factor)
		return -ERANGE;
	/* part < divisor <= 10^12 and the factors are < 2^41, so the quotient is taken in
	 * floating point: exact to far better than one in 10^12. */
	uint64_t small = (uint64_t)((double)part / (double)decimal->divisor * (double)factor + 0.5);
	if (whole * factor > (uint64_t)INT64_MAX - small)
		return -ERANGE;
	*out = whole * factor + small;
	return 0;
}

static int parse_with_unit(const char *text, const struct unit *units, size_t count, uint64_t *out)
{
	struct decimal decimal;
	int rc = decimal_scan(text, &decimal);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		if (strcmp(decimal.rest, units[i].name) == 0)
			return decimal_scale(&decimal, units[i].factor, out);
	return -EINVAL;
}

int parse_time_ns(const char *text, uint64_t *out_ns)
{
	static const struct unit units[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", 1000000000},
		{"min", UINT64_C(60000000000)},
	};

	if (strcmp(text, "0") == 0) {
		*out_ns = 0;
		return 0;
	}
	return parse_with_unit(text, units, sizeof(units) / sizeof(units[0]), out_ns);
}

int parse_size_bytes(const char *text, uint64_t *out_bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"K", UINT64_C(1) << 10},
		{"KB", UINT64_C(1) << 10},
		{"KiB", UINT64_C(1) << 10},
		{"M", UINT64_C(1) << 20},
		{"MB", UINT64_C(1) << 20},
		{"MiB", UINT64_C(1) << 20},
		{"G", UINT64_C(1) << 30},
		{"GB", UINT64_C(1) << 30},
		{"GiB", UINT64_C(1) << 30},
		{"T", UINT64_C(1) << 40},
		{"TB", UINT64_C(1) << 40},
		{"TiB", UINT64_C(1) << 40},
	};

	return parse_with_unit(text, units, sizeof(units) / sizeof(units[0]), out_bytes);
}

int parse_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
	struct decimal decimal;
	bool negative = *text == '-';
	int rc = decimal_scan(text + negative, &decimal);

	if (rc < 0)
		return rc;
	if (*decimal.rest || decimal.divisor != 1)
		return -EINVAL;

	int64_t value = negative ? -(int64_t)decimal.mantissa : (int64_t)decimal.mantissa;
	if (value < min || value > max)
		return -ERANGE;
	*out = value;
	return 0;
}

int parse_named_integer(const char *text, const char *name, int64_t min, int64_t max, int64_t *out)
{
	size_t length = strlen(name);

	if (strncmp(text, name, length) != 0 || text[length] != ':')
		return -EINVAL;
	return parse_integer(text + length + 1, min, max, out);
}

int parse_fraction(const char *text, double max, double *out)
{
	struct decimal decimal;
	int rc = decimal_scan(text, &decimal);

	if (rc < 0)
		return rc;
	if (*decimal.rest)
		return -EINVAL;

	double value = (double)decimal.mantissa / (double)decimal.divisor;
	if (value > max)
		return -ERANGE;
	*out = value;
	return 0;
}

/* strtod() alone would take blanks, signs, "inf" and hexadecimal numbers. */
int parse_positive(const char *text, double max, double *out)
{
	char *end;
	double value;

	if (!is_digit(*text) && *text != '.')
		return -EINVAL;
	value = strtod(text, &end);
	if (end == text || *end != '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
		return -EINVAL;
	if (!(value > 0 && value <= max))
		return -ERANGE;
	*out = value;
	return 0;
}

#define SPEED_LEAST 0.01
#define SPEED_MOST 100.0
#define SPEED_CHARS 32

/* One word of the list: [COUNTx]SPEED. */
static int parse_speed(const char *text, size_t length, int64_t *copies, double *speed)
{
	char word[SPEED_CHARS];
	int rc = 0;

	if (length >= sizeof(word))
		return -EINVAL;
	memcpy(word, text, length);
	word[length] = '\0';
	char *x = strchr(word, 'x');
	*copies = 1;
	if (x != NULL) {
		*x = '\0';
		rc = parse_integer(word, 1, INT32_MAX, copies);
	}
	if (rc == 0)
		rc = parse_fraction(x != NULL ? x + 1 : word, SPEED_MOST, speed);
	return rc == 0 && *speed < SPEED_LEAST ? -ERANGE : rc;
}

int parse_speeds(const char *text, size_t max, double *out, size_t *count)
{
	size_t stored = 0;

	for (const char *at = text; at != NULL;) {
		size_t length = strcspn(at, ",");
		int64_t copies = 1;
		double speed = 0;
		int rc = parse_speed(at, length, &copies, &speed);
		if (rc < 0)
			return rc;
		if ((uint64_t)copies > max - stored)
			return -ERANGE;
		while (copies-- > 0)
			out[stored++] = speed;
		at = at[length] == ',' ? at + length + 1 : NULL;
	}
	*count = stored;
	return 0;
}
