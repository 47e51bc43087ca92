/* SPDX-License-Identifier: MIT */
/* Numbers in a few columns; see format.h. */
#include "format.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define WHOLE_MAX 999999
#define SIGN_MIN 0.0005 /* what is less is shown as 0.000 */

static int unknown(char out[FORMAT_BYTES])
{
	memcpy(out, "-", 2);
	return 1;
}

/* Bounds are those at which printf() would round up to one digit more. */
static int print_digits(char out[FORMAT_BYTES], double number, const char *unit)
{
	int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;

	return snprintf(out, FORMAT_BYTES, "%.*f%s", digits, number, unit);
}

/* number is at least 0, and finite. */
static int print_number(char out[FORMAT_BYTES], double number)
{
	static const char *const unit[] = {"k", "M", "G", "T", "P", "E"};
	size_t i = 0;

	if (number == 0)
		return snprintf(out, FORMAT_BYTES, "0");
	if (number < 0.0995)
		return snprintf(out, FORMAT_BYTES, "%.3f", number);
	if (number < 9999.5)
		return print_digits(out, number, "");
	for (number /= 1000; number >= 999.5 && i + 1 < sizeof unit / sizeof *unit; i++)
		number /= 1000;
	if (number >= 999.5)
		return snprintf(out, FORMAT_BYTES, ">999E");
	return print_digits(out, number, unit[i]);
}

static int print_sign(char out[FORMAT_BYTES], double number, bool plus)
{
	if (isnan(number))
		return unknown(out);
	if (fabs(number) < SIGN_MIN || (number > 0 && !plus))
		return print_number(out, fabs(number));
	char digits[FORMAT_BYTES];
	print_number(digits, fabs(number));
	return snprintf(
		out, FORMAT_BYTES, "%c%.*s", number < 0 ? '-' : '+', FORMAT_BYTES - 2, digits);
}

int format_number(char out[FORMAT_BYTES], double number)
{
	return print_sign(out, number, false);
}

int format_signed(char out[FORMAT_BYTES], double number)
{
	return print_sign(out, number, true);
}

int format_count(char out[FORMAT_BYTES], int64_t count)
{
	if (count < -(WHOLE_MAX / 10) || count > WHOLE_MAX)
		return format_number(out, (double)count);
	return snprintf(out, FORMAT_BYTES, "%lld", (long long)count);
}

int format_percent(char out[FORMAT_BYTES], double share)
{
	return format_number(out, 100 * share);
}

int format_time(char out[FORMAT_BYTES], double seconds)
{
	static const struct {
		double of_s;
		const char *name;
	} units[] = {{1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}};
	char number[FORMAT_BYTES];
	double scaled = seconds;
	const char *name = "s";

	if (isnan(seconds))
		return unknown(out);
	for (size_t i = 0; i < sizeof units / sizeof *units && seconds != 0; i++) {
		if (fabs(seconds) * units[i].of_s >= 999.5)
			continue;
		scaled = seconds * units[i].of_s;
		name = units[i].name;
		break;
	}
	format_number(number, scaled);
	return snprintf(out, FORMAT_BYTES, "%.*s %s", FORMAT_BYTES - 4, number, name);
}

int format_age(char out[FORMAT_BYTES], double seconds)
{
	static const struct {
		double s;
		const char *name;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};

	if (!(seconds >= 60) || seconds >= 1e12)
		return format_time(out, seconds);
	size_t i = 0;
	while (seconds < units[i].s)
		i++;
	double large = floor(seconds / units[i].s);
	double small = floor((seconds - large * units[i].s) / units[i + 1].s);
	char text[64];
	snprintf(text, sizeof(text), "%.0f %s %.0f %s", large, units[i].name, small,
		units[i + 1].name);
	return snprintf(out, FORMAT_BYTES, "%.*s", FORMAT_BYTES - 1, text);
}
