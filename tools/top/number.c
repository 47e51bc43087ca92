/* SPDX-License-Identifier: MIT */
/* Numbers as jugglectl top shows them; see number.h. */
#include "number.h"

#include <math.h>
#include <stdio.h>

static struct number not_known(void)
{
	return (struct number){"-"};
}

struct number number_of(double value)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
	struct number out;
	size_t unit = 0;

	if (!isfinite(value))
		return not_known();
	if (fabs(value) >= 1e21) {
		snprintf(out.text, sizeof(out.text), "%.1e", value);
		return out;
	}
	for (; fabs(value) >= 999.5 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1000;
	double size = fabs(value);
	int places = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
	if (value == floor(value))
		places = 0;
	snprintf(out.text, sizeof(out.text), "%.*f%s", places, value, units[unit]);
	return out;
}

struct number number_time(double seconds)
{
	struct number out;
	double size = fabs(seconds);

	if (!isfinite(seconds))
		return not_known();
	if (size >= 86400 * 100.0)
		snprintf(out.text, sizeof(out.text), "%.12s days", number_of(seconds / 86400).text);
	else if (size >= 86400)
		snprintf(out.text, sizeof(out.text), "%.1f days", seconds / 86400);
	else if (size >= 3600)
		snprintf(out.text, sizeof(out.text), "%d h %02d min", (int)seconds / 3600,
			(int)size / 60 % 60);
	else if (size >= 60)
		snprintf(out.text, sizeof(out.text), "%d min %02d s", (int)seconds / 60,
			(int)size % 60);
	else if (size >= 1 || size == 0)
		snprintf(out.text, sizeof(out.text), "%.3g s", seconds);
	else if (size >= 1e-3)
		snprintf(out.text, sizeof(out.text), "%.3g ms", seconds * 1e3);
	else
		snprintf(out.text, sizeof(out.text), "%.3g us", seconds * 1e6);
	return out;
}

struct number number_percent(double share)
{
	struct number out;

	if (!isfinite(share))
		return not_known();
	if (fabs(share) >= 100)
		snprintf(out.text, sizeof(out.text), "%.12s %%", number_of(share * 100).text);
	else
		snprintf(out.text, sizeof(out.text), "%.*f %%", fabs(share) < 0.0995 ? 1 : 0,
			share * 100);
	return out;
}

double number_scale(double most)
{
	if (!isfinite(most) || most <= 0)
		return 1;
	double unit = pow(10, floor(log10(most)));
	if (unit <= 0 || !isfinite(unit * 10))
		return most;
	/* A little less, as 5 * 0.1 is not quite 0.5. */
	double times = most / unit * (1 - 1e-12);
	return unit * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

int number_steps(double share, int steps)
{
	if (!(share > 0))
		return 0;
	return share >= 1 ? steps : (int)(share * steps + 0.5);
}
