/* SPDX-License-Identifier: MIT */
#include "daemon/topology/speed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/parse.h"

/* No machine has cores this much slower than its fastest; a damaged or wrong file may say so. */
#define SLOWEST 0.05
#define LARGEST INT64_C(1000000000000)

static const struct speed_source *const sources[] = {
	&speed_option,
	&speed_capacity,
	&speed_kinds,
	&speed_cppc,
	&speed_frequency,
};

/* Make the fastest 1. Returns the speed of the slowest. */
static double scale(double *speed, size_t cpus)
{
	double fastest = speed[0], slowest = speed[0];

	for (size_t i = 1; i < cpus; i++) {
		fastest = speed[i] > fastest ? speed[i] : fastest;
		slowest = speed[i] < slowest ? speed[i] : slowest;
	}
	for (size_t i = 0; i < cpus; i++)
		speed[i] /= fastest;
	return slowest / fastest;
}

const char *speeds_read(const struct speed_query *query, double *speed)
{
	const char *from = "equal";
	double slowest = 1;

	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
		bool asked = sources[i] == &speed_option; /* the user may exaggerate */
		if (sources[i]->read(query, speed) < 0)
			continue;
		slowest = scale(speed, query->cpus);
		if (slowest < SLOWEST && !asked)
			continue;
		if (asked || slowest < 1 - SPEED_MARGIN)
			from = sources[i]->name;
		break;
	}
	for (size_t i = 0; i < query->cpus; i++)
		if (slowest >= 1 - SPEED_MARGIN)
			speed[i] = 1;
	return from;
}

int speed_parse(const char *text, size_t bytes, double *out)
{
	char number[24];
	int64_t value;

	if (bytes > 0 && text[bytes - 1] == '\n')
		bytes--;
	if (bytes == 0 || bytes >= sizeof number || memchr(text, '\0', bytes) != NULL)
		return -EBADMSG;
	memcpy(number, text, bytes);
	number[bytes] = '\0';
	if (parse_integer(number, 1, LARGEST, &value) < 0)
		return -EBADMSG;
	*out = (double)value;
	return 0;
}

static int read_file(int folder, int os_cpu, const char *name, double *out)
{
	char path[64], text[32];

	snprintf(path, sizeof path, "cpu%d/%s", os_cpu, name);
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENODATA;
	ssize_t bytes = read(fd, text, sizeof text);
	close(fd);
	return bytes < 0 || speed_parse(text, (size_t)bytes, out) < 0 ? -ENODATA : 0;
}

/* The speed of an earlier CPU of the same core; 0 when there is none. */
static double sibling_speed(const struct speed_query *query, const double *speed, size_t cpu)
{
	for (size_t i = cpu; i-- > 0;)
		if (query->cpu[i].core == query->cpu[cpu].core)
			return speed[i];
	return 0;
}

int speed_read_files(const struct speed_query *query, const char *name, double *speed)
{
	if (query->folder < 0)
		return -ENODATA;
	for (size_t i = 0; i < query->cpus; i++) {
		speed[i] = sibling_speed(query, speed, i);
		if (speed[i] <= 0 &&
			read_file(query->folder, query->cpu[i].os_cpu, name, &speed[i]) < 0)
			return -ENODATA;
	}
	return 0;
}
