/* SPDX-License-Identifier: MIT */
/* Feeds arbitrary files to jugglectl predict --from: reports, traces, results of ubench. What is
 * accepted has to be in range. */
#undef NDEBUG
#include "tools/predict/measurement.h"

#include "daemon/base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const struct measurement *m)
{
	assert(m->threads >= 1 && m->threads <= MEASUREMENT_COUNT_MAX);
	assert(m->cpus >= 1 && m->cpus <= MEASUREMENT_COUNT_MAX);
	assert(m->elapsed_s > 0 && m->work_s > 0);
	assert(m->phase_s >= 0 && m->phases >= 0 && m->phases <= MEASUREMENT_PHASES_MAX);
	assert(m->period_s >= 0);
	assert(m->speeds == 0 || m->speeds == m->cpus);
	for (uint32_t j = 0; j < m->speeds; j++)
		assert(m->speed[j] > 0 && m->speed[j] <= 1);
	assert(m->balanced >= 0 && m->balanced <= 1 && m->others >= 0 && m->others <= 1);
	char printable[sizeof m->reason];
	text_printable(printable, sizeof printable, m->reason, sizeof m->reason);
	assert(strcmp(printable, m->reason) == 0);
	assert(measurement_kind_name(m->kind) != NULL && measurement_way_name(m->way) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct measurement measurement;
	char error[200] = "";
	FILE *file = bytes > 0 ? fmemopen((void *)data, bytes, "r") : NULL;

	if (file == NULL)
		return 0;
	int r = measurement_read(&measurement, file, error, sizeof error);
	fclose(file);
	assert(r == 0 || r == -EBADMSG || r == -EPROTO);
	if (r == 0)
		check(&measurement);
	else if (r == -EBADMSG)
		assert(error[0] != '\0' && memchr(error, '\0', sizeof error) != NULL);
	return 0;
}
