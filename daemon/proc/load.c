/* SPDX-License-Identifier: MIT */
/* What each CPU did since boot, by /proc/stat. */
#include "daemon/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/proc/read.h"

#define LINE_BYTES 256 /* of a CPU, and to spare */

/* A number, after blanks; so large ones are cut that sums don't overflow. */
static bool take(const char **at, const char *end, uint64_t *out)
{
	uint64_t value = 0;
	int digits = 0;

	while (*at < end && **at == ' ')
		(*at)++;
	for (; *at < end && **at >= '0' && **at <= '9' && value < UINT64_C(1) << 56; digits++)
		value = 10 * value + (uint64_t)(*(*at)++ - '0');
	*out = value;
	return digits > 0;
}

/* "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST GUEST_NICE"; guests count as user, too. */
static void parse_line(const char *at, const char *end, struct proc_cpu_times *out, size_t max)
{
	enum { STEAL = 7 };
	struct proc_cpu_times times = {0};
	uint64_t cpu, ticks;

	if (!take(&at, end, &cpu) || cpu >= max)
		return;
	for (int field = 0; field <= STEAL; field++) {
		if (!take(&at, end, &ticks))
			return;
		times.total_ticks += ticks;
		if (field == STEAL)
			times.stolen_ticks = ticks;
	}
	out[cpu] = times;
}

void proc_parse_cpu_times(const char *text, size_t bytes, struct proc_cpu_times *out, size_t max)
{
	const char *end = text + bytes;

	memset(out, 0, max * sizeof *out);
	while (end - text > 3 && memcmp(text, "cpu", 3) == 0) {
		const char *line = memchr(text, '\n', (size_t)(end - text));
		if (line == NULL) /* cut short */
			return;
		if (text[3] != ' ') /* the sum of all */
			parse_line(text + 3, line, out, max);
		text = line + 1;
	}
}

int proc_read_cpu_times(struct proc_cpu_times *out, size_t max)
{
	__attribute__((cleanup(proc_close_fd))) int fd = proc_open_at(AT_FDCWD, "/proc/stat", 0);
	size_t bytes = (max + 1) * LINE_BYTES;

	if (fd < 0)
		return fd;
	char *text = malloc(bytes);
	if (text == NULL)
		return -ENOMEM;
	ssize_t n = proc_read_fd(fd, text, bytes);
	if (n >= 0)
		proc_parse_cpu_times(text, (size_t)n, out, max);
	free(text);
	return n < 0 ? (int)n : 0;
}
