/* SPDX-License-Identifier: MIT */
/*
 * Writing a workload's result. The programs share this code so that none forgets to check whether
 * its result reached the disk.
 */
#include "daemon/base/json_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Flush and close (standard output: flush only). 0 or negative errno. */
static int finish(FILE *stream)
{
	int rc = 0;

	if (fflush(stream) != 0 || ferror(stream))
		rc = errno ? -errno : -EIO;
	if (stream != stdout && fclose(stream) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

int json_file_write(const char *path, json_t *object)
{
	FILE *stream = stdout;
	int rc = 0;

	if (!object)
		return -ENOMEM;
	if (strcmp(path, "-") != 0)
		stream = fopen(path, "we");
	if (!stream) {
		rc = -errno;
	} else {
		errno = 0;
		if (json_dumpf(object, stream, JSON_REAL_PRECISION(12)) < 0)
			rc = errno ? -errno : -EIO;
		else
			fputc('\n', stream);
		int closed = finish(stream);
		if (rc == 0)
			rc = closed;
	}
	json_decref(object);
	return rc;
}
