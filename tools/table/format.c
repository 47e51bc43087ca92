/* SPDX-License-Identifier: MIT */
/* Formats numbers and text for a few columns; see format.h. */
#include "tools/table/format.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define WHOLE_MAX 999999
#define SIGN_MIN 0.0005 /* smaller numbers are shown as 0.000 */
#define AGE_MAX_S 1e12 /* there is no room for more */

static const struct format unknown = {"-"};

/* At these bounds printf() would round up to one digit more. */
static struct format print_digits(double number, const char *unit)
{
	int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
	struct format out;

	snprintf(out.text, FORMAT_BYTES, "%.*f%s", digits, number, unit);
	return out;
}

/* number is at least 0. */
static struct format print_number(double number)
{
	static const char *const unit[] = {"k", "M", "G", "T", "P", "E"};
	struct format out;
	size_t i = 0;

	if (number == 0)
		return (struct format){"0"};
	if (number < 0.0995) {
		snprintf(out.text, FORMAT_BYTES, "%.3f", number);
		return out;
	}
	if (number < 9999.5)
		return print_digits(number, "");
	for (number /= 1000; number >= 999.5 && i + 1 < sizeof unit / sizeof *unit; i++)
		number /= 1000;
	if (number >= 999.5)
		return (struct format){">999E"};
	return print_digits(number, unit[i]);
}

static struct format print_sign(double number, bool plus)
{
	if (isnan(number))
		return unknown;
	struct format out, digits = print_number(fabs(number));
	if (fabs(number) < SIGN_MIN || (number > 0 && !plus))
		return digits;
	snprintf(out.text, FORMAT_BYTES, "%c%.*s", number < 0 ? '-' : '+', FORMAT_BYTES - 2,
		digits.text);
	return out;
}

struct format format_number(double number)
{
	return print_sign(number, false);
}

struct format format_signed(double number)
{
	return print_sign(number, true);
}

struct format format_count(uint64_t count)
{
	struct format out;

	if (count > WHOLE_MAX)
		return format_number((double)count);
	snprintf(out.text, FORMAT_BYTES, "%u", (unsigned)count);
	return out;
}

struct format format_percent(double share)
{
	return format_number(100 * share);
}

/* Times that people chose are whole numbers; measured ones hardly ever are. */
static struct format print_whole(double number)
{
	struct format out;

	if (fabs(number) >= 999.5 || fabs(number - round(number)) > 1e-9)
		return format_number(number);
	snprintf(out.text, FORMAT_BYTES, "%.0f", number);
	return out;
}

struct format format_time(double seconds)
{
	static const struct {
		double of_s;
		const char *name;
	} units[] = {{1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}, {1, "s"}};
	struct format out;
	size_t i = 0;

	if (isnan(seconds))
		return unknown;
	if (seconds == 0)
		return (struct format){"0 s"};
	while (units[i].of_s > 1 && fabs(seconds) * units[i].of_s >= 999.5)
		i++;
	struct format number = print_whole(seconds * units[i].of_s);
	snprintf(out.text, FORMAT_BYTES, "%.*s %s", FORMAT_BYTES - 4, number.text, units[i].name);
	return out;
}

struct format format_age(double seconds)
{
	static const struct {
		double s;
		char name;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	struct format out;
	size_t i = 0;

	if (!(seconds >= 0) || seconds >= AGE_MAX_S)
		return unknown;
	if (seconds < 60) {
		snprintf(out.text, FORMAT_BYTES, "%ds", (int)seconds);
		return out;
	}
	while (seconds < units[i].s)
		i++;
	double large = floor(seconds / units[i].s);
	double small = floor((seconds - large * units[i].s) / units[i + 1].s);
	snprintf(out.text, FORMAT_BYTES, "%.0f%c%02.0f%c", large, units[i].name, small,
		units[i + 1].name);
	return out;
}

/* Bytes that continue a character of UTF-8 take no column. */
static bool begins_character(char byte)
{
	return (byte & 0xc0) != 0x80;
}

int format_columns(const char *text)
{
	int columns = 0;

	for (; *text != '\0'; text++)
		columns += begins_character(*text);
	return columns;
}

int format_cut(const char *text, int columns)
{
	int bytes = 0;

	for (; text[bytes] != '\0'; bytes++)
		if (begins_character(text[bytes]) && columns-- <= 0)
			break;
	return bytes;
}
