/* SPDX-License-Identifier: MIT */
/* Values of cells; see value.h. */
#include "tools/table/value.h"

#include <math.h>
#include <stddef.h>

struct value value_unknown(void)
{
	return (struct value){.kind = VALUE_UNKNOWN};
}

struct value value_bool(bool yes)
{
	return (struct value){.kind = VALUE_BOOL, .yes = yes};
}

struct value value_count(uint64_t count)
{
	if (count > INT64_MAX)
		return value_unknown();
	return (struct value){.kind = VALUE_WHOLE, .whole = (int64_t)count};
}

struct value value_id(int64_t id)
{
	if (id < 0)
		return value_unknown();
	return (struct value){.kind = VALUE_WHOLE, .whole = id};
}

struct value value_real(double real)
{
	if (!isfinite(real))
		return value_unknown();
	return (struct value){.kind = VALUE_REAL, .real = real};
}

struct value value_rate(double real)
{
	return real >= 0 ? value_real(real) : value_unknown();
}

struct value value_seconds(uint64_t ns)
{
	return value_real((double)ns * 1e-9);
}

struct value value_text(const char *text)
{
	if (text == NULL || text[0] == '\0')
		return value_unknown();
	return (struct value){.kind = VALUE_TEXT, .text = text};
}
