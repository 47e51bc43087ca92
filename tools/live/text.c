/* SPDX-License-Identifier: MIT */
/* What the files of a process say of it: its command line and its rank. */
#include "tools/live/internal.h"
#include "daemon/base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most of an environment that is read. */
#define ENVIRON_BYTES (256 * 1024)

/* Read up to `bytes` of a file of a process. Returns 0 when it can't be read. */
static size_t read_file(pid_t pid, const char *name, char *out, size_t bytes)
{
	char path[64];
	size_t filled = 0;
	ssize_t n = 0;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	do {
		n = read(fd, out + filled, bytes - filled);
		filled += n > 0 ? (size_t)n : 0;
	} while (n > 0 && filled < bytes);
	close(fd);
	return filled;
}

void live_command(pid_t pid, char *out, size_t out_bytes)
{
	char text[4 * LIVE_COMMAND_BYTES];
	size_t n = read_file(pid, "cmdline", text, sizeof text);

	while (n > 0 && text[n - 1] == '\0')
		n--;
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	text_printable(out, out_bytes, text, n);
}

void live_job_command(const struct telemetry *t, char *out, size_t out_bytes)
{
	pid_t pid = atomic_load_explicit(&t->job_pid, memory_order_relaxed);

	out[0] = '\0';
	if (t->attached != 0 && pid > 0)
		live_command(pid, out, out_bytes);
	if (out[0] == '\0')
		text_printable(out, out_bytes, t->command, sizeof t->command);
}

/* The value of a variable; -1 when it isn't a number. */
static int32_t number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text >= '0' && *text <= '9' && *end == '\0' && value <= INT32_MAX ? (int32_t)value
										  : -1;
}

int32_t live_rank_in(const char *text, size_t bytes)
{
	/* MPICH's mpirun comes before the srun that may have started it. */
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="};
	int32_t found[sizeof names / sizeof *names];

	memset(found, -1, sizeof found);
	for (const char *at = text; at < text + bytes; at += strlen(at) + 1)
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (strncmp(at, names[i], strlen(names[i])) == 0)
				found[i] = number(at + strlen(names[i]));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (found[i] >= 0)
			return found[i];
	return -1;
}

int32_t live_rank(pid_t pid)
{
	char *text = malloc(ENVIRON_BYTES + 1);

	if (text == NULL)
		return -1;
	size_t n = read_file(pid, "environ", text, ENVIRON_BYTES);
	text[n] = '\0';
	int32_t rank = live_rank_in(text, n);
	free(text);
	return rank;
}

int32_t live_rank_of(pid_t pid, int32_t published)
{
	return published > 0 ? published : live_rank(pid);
}
