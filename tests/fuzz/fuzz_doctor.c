/* SPDX-License-Identifier: MIT */
/*
 * Feeds arbitrary bytes to the readers of jugglectl doctor: programs, small files of the kernel, command
 * lines of launchers, and the environment with all rules that judge it. The first byte chooses which.
 */
#undef NDEBUG
#include "daemon/base/cgroup.h"
#include "daemon/base/elf_file.h"
#include "daemon/base/text.h"
#include "tools/doctor/judge.h"
#include "tools/doctor/launcher.h"
#include "tools/doctor/libraries.h"
#include "tools/doctor/text.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/input.h"

enum { WORDS = 64, FINDINGS = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_program(const struct input *input)
{
	static const char *const words[] = {"pthread_barrier_wait", NULL};
	struct elf elf;
	static int fd = -1; /* kept, because a file takes long to create */
	struct doctor_program *program = calloc(1, sizeof(*program));

	if (fd < 0)
		fd = memfd_create("program", MFD_CLOEXEC);
	assert(program != NULL && fd >= 0 && ftruncate(fd, 0) == 0 &&
		pwrite(fd, input->at, input->left, 0) == (ssize_t)input->left);
	if (elf_read(fd, &elf) == 0)
		(void)elf_mentions(fd, &elf, words);
	assert(strlen(elf.interpreter) < sizeof elf.interpreter &&
		strlen(elf.run_path) < sizeof elf.run_path);
	(void)doctor_read_libraries(fd, program);
	assert(program->libraries <= DOCTOR_LIBRARIES_MAX);
	for (size_t i = 0; i < program->libraries; i++)
		assert(memchr(program->library[i], '\0', sizeof(program->library[i])) != NULL);
	free(program);
}

static void read_text(const char *text)
{
	struct cpuset mask;
	struct doctor_version version;
	char out[64];
	double load;
	uint64_t number;
	int64_t whole;

	if (doctor_parse_cpus(text, &mask) == 0)
		cpuset_format(&mask, out, sizeof(out));
	(void)doctor_parse_number(text, &whole);
	if (doctor_parse_version(text, &version) == 0)
		assert(version.major > 0 && version.minor >= 0 && version.patch >= 0);
	(void)doctor_parse_status(text, "Seccomp", 10, &number);
	if (cgroup_parse_path(text, "cpu", out, sizeof(out)) == 0)
		assert(out[0] == '/' && strstr(out, "/../") == NULL);
	struct cgroup_folder folder;
	if (cgroup_find(text, "1:cpu:/a\n0::/b\n", "cpu", &folder) == 0 ||
		cgroup_find(text, text, "", &folder) == 0) {
		assert(folder.top <= strlen(folder.path));
		while (cgroup_go_up(&folder))
			assert(folder.top <= strlen(folder.path));
	}
	(void)cgroup_parse_stat(text, "throttled_usec", &number);
	assert(cgroup_parse_cpu_max(text) >= 0);
	(void)doctor_parse_hidepid(text);
	if (doctor_parse_load(text, &load) == 0)
		assert(load >= 0);
}

/* Lines, up to an empty one, which is left out. The list ends with NULL. Returns what follows. */
static char *split(char *text, const char *words[WORDS + 1])
{
	size_t n = 0;

	for (char *word; n < WORDS && (word = strsep(&text, "\n")) != NULL && *word != '\0';)
		words[n++] = word;
	words[n] = NULL;
	return text;
}

static void read_command(enum doctor_launcher_kind kind, const char *const *words)
{
	struct doctor_launcher launcher;
	size_t n = 0;

	if (words[0] == NULL)
		return;
	doctor_launcher_parse(&launcher, kind, words);
	while (words[n] != NULL)
		n++;
	assert(launcher.program == -1 || (launcher.program > 0 && (size_t)launcher.program < n));
}

static void check_printable(const char *text)
{
	char *printable = strdup(text);

	assert(printable != NULL);
	text_make_printable(printable);
	assert(strcmp(printable, text) == 0);
	free(printable);
}

/* A machine and a program whose names come from the input, as do the variables. */
static void judge(uint8_t which, const char *const *environment, const char *const *command)
{
	static const char *const library[] = {"libgomp.so.1", "libomp.so.5", "libmpi.so.40",
		"libmpich.so.12", "libmpi.so.12", "libopen-rte.so.40", "libtbb.so.12", "libc.so.6"};
	struct doctor_system *system = malloc(sizeof(*system));
	struct doctor_finding *finding = calloc(FINDINGS, sizeof(*finding));

	assert(system != NULL && finding != NULL);
	doctor_system_init(system);
	(void)doctor_parse_cpus("0-3", &system->cpus);
	system->mask = system->online = system->first = system->cores = system->cpus;
	system->environment = environment;
	if (command[0] != NULL) {
		system->command = command;
		snprintf(system->program.name, sizeof(system->program.name), "%s", command[0]);
		snprintf(system->release, sizeof(system->release), "%s", command[0]);
		snprintf(system->governor, sizeof(system->governor), "%s", command[0]);
		system->program.elf = true;
		system->program.libraries = 1;
		strcpy(system->program.library[0], library[which % 8]);
		system->inner = system->program;
		enum doctor_launcher_kind launcher = doctor_launcher_kind(&system->program);
		if (launcher != DOCTOR_NO_LAUNCHER)
			doctor_launcher_parse(&system->launcher, launcher, command);
	}
	size_t n = doctor_judge(system, finding, FINDINGS);
	assert(n <= FINDINGS);
	for (size_t i = 0; i < n; i++) {
		check_printable(finding[i].text);
		check_printable(finding[i].advice);
	}
	free(finding);
	free(system);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	const char *words[WORDS + 1], *command[WORDS + 1];
	uint8_t which = input_byte(&input) % 7;

	if (which == 0) {
		read_program(&input);
		return 0;
	}
	uint8_t library = which == 6 ? input_byte(&input) : 0;
	char *text = input_text(&input);
	if (which == 1) {
		read_text(text);
	} else {
		char *rest = split(text, words);
		split(rest, command);
		if (which < 6)
			read_command((enum doctor_launcher_kind)(which - 1), words);
		else
			judge(library, words, command);
	}
	free(text);
	return 0;
}
