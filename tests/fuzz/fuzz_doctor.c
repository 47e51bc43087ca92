/* SPDX-License-Identifier: MIT */
/*
 * Feeds arbitrary bytes to the readers of jugglectl doctor: programs, small files of the kernel,
 * and command lines of launchers. The first byte chooses which.
 */
#include "tools/doctor/launcher.h"
#include "tools/doctor/libraries.h"
#include "tools/doctor/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_program(const uint8_t *data, size_t bytes)
{
	struct doctor_program *program = calloc(1, sizeof(*program));
	int fd = memfd_create("program", MFD_CLOEXEC);

	if (program != NULL && fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes)
		(void)doctor_read_libraries(fd, program);
	if (fd >= 0)
		close(fd);
	free(program);
}

static void read_text(const char *text)
{
	struct cpuset mask;
	struct doctor_version version;
	char out[64];
	uint64_t number;

	if (doctor_parse_cpus(text, &mask) == 0)
		cpuset_format(&mask, out, sizeof(out));
	(void)doctor_parse_version(text, &version);
	(void)doctor_parse_status(text, "Seccomp", 10, &number);
	(void)doctor_parse_cgroup(text, "cpu", out, sizeof(out));
	(void)doctor_parse_cgroup(text, "", out, sizeof(out));
	(void)doctor_parse_cpu_max(text);
	(void)doctor_parse_hidepid(text);
}

/* Words are separated by newlines. */
static void read_command(enum doctor_launcher_kind kind, char *text)
{
	const char *words[66];
	struct doctor_launcher launcher;
	size_t n = 0;

	for (char *rest = text, *word; n < 65 && (word = strsep(&rest, "\n")) != NULL;)
		words[n++] = word;
	words[n] = NULL;
	doctor_launcher_parse(&launcher, kind, words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes < 1)
		return 0;
	if (data[0] % 6 == 0) {
		read_program(data + 1, bytes - 1);
		return 0;
	}
	char *text = malloc(bytes);
	if (text == NULL)
		return 0;
	memcpy(text, data + 1, bytes - 1);
	text[bytes - 1] = '\0';
	if (data[0] % 6 == 1)
		read_text(text);
	else
		read_command((enum doctor_launcher_kind)(data[0] % 6 - 1), text);
	free(text);
	return 0;
}
