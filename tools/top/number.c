/* SPDX-License-Identifier: MIT */
/* Numbers as lengths; see number.h. */
#include "tools/top/number.h"

#include <math.h>

double number_scale(double most)
{
	if (!isfinite(most) || most <= 0)
		return 1;
	double unit = pow(10, floor(log10(most)));
	if (unit <= 0 || !isfinite(unit * 10))
		return most;
	/* A little less, since 5 * 0.1 is not exactly 0.5. */
	double times = most / unit * (1 - 1e-12);
	return unit * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

int number_steps(double share, int steps)
{
	if (!(share > 0))
		return 0;
	return share >= 1 ? steps : (int)(share * steps + 0.5);
}
