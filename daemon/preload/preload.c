/* SPDX-License-Identifier: MIT */
#include "daemon/preload/preload.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "daemon/base/elf_file.h"
#include "daemon/base/environment.h"
#include "daemon/base/program.h"
#include "daemon/preload/folders.h"
#include "libprogress/phases/phases.h"

#define LIBRARY "libphases.so"
#define ARGUMENTS_MOST 64 /* that are looked at */
#define SEARCHES_MOST 16 /* of them, that are looked for in PATH */
#define LIBRARIES_MOST 48 /* of libraries that are followed */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool begins_with_one(const char *text, const char *const *beginnings)
{
	for (; *beginnings != NULL; beginnings++)
		if (begins(text, *beginnings))
			return true;
	return false;
}

/* ---- Reasons against it ---- */

__attribute__((format(printf, 2, 3))) static void say_why(
	struct preload *out, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(out->why, sizeof out->why, format, list);
	va_end(list);
	for (char *c = out->why; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* The reason stands in out->why already. */
static void refuse(struct preload *out, bool impossible)
{
	out->wanted = false;
	out->impossible = impossible;
}

/* ---- The library ---- */

static bool find_beside(const char *folder, const char *path, char out[PATH_MAX])
{
	char whole[PATH_MAX];
	int n = snprintf(whole, sizeof whole, "%s%s", folder, path);

	return n > 0 && (size_t)n < sizeof whole && realpath(whole, out) != NULL &&
	       access(out, R_OK) == 0;
}

/* That of the same build, or of the same installation. */
static bool find_library(const char *const *environment, char out[PATH_MAX])
{
	const char *given = environment_value(environment, PRELOAD_PATH_ENVIRONMENT);
	char folder[PATH_MAX];

	if (given != NULL)
		return find_beside("", given, out);
	ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
	if (n > 0) {
		folder[n] = '\0';
		*strrchr(folder, '/') = '\0';
		if (find_beside(folder, "/../libprogress/phases/" LIBRARY, out) ||
			find_beside(folder, "/../" JUGGLE_LIBDIR "/juggle/" LIBRARY, out))
			return true;
	}
	return find_beside("", JUGGLE_PREFIX "/" JUGGLE_LIBDIR "/juggle/" LIBRARY, out);
}

/* ---- What is in the way ---- */

static const char *const sanitizers[] = {"libasan.", "libtsan.", "libubsan.", "liblsan.",
	"libhwasan.", "libmsan.", "libclang_rt.", NULL};

/* A word of a list, as LD_PRELOAD has them; its length is 0 at the end. */
static size_t next_word(const char **at, const char *separators)
{
	*at += strspn(*at, separators);
	return strcspn(*at, separators);
}

/* Does the list have a file whose name, in lower case, begins with one of these? */
static bool lists(const char *list, const char *const *beginnings)
{
	char name[64];
	size_t length;

	for (; list != NULL && (length = next_word(&list, " :")) > 0; list += length) {
		size_t begin = length;
		while (begin > 0 && list[begin - 1] != '/')
			begin--;
		snprintf(name, sizeof name, "%.*s",
			length - begin < sizeof name ? (int)(length - begin) : (int)sizeof name,
			list + begin);
		for (char *c = name; *c != '\0'; c++)
			*c = (char)tolower((unsigned char)*c);
		if (begins_with_one(name, beginnings))
			return true;
	}
	return false;
}

/* Other tools that want to know of barriers. */
static bool has_tool(const char *const *environment, struct preload *out)
{
	static const char *const tools[] = {"libtau", "libscorep", "scorep", "libdlb", "libextrae",
		"libmpitrace", "libomptrace", "libompitrace", "libpttrace", "libvt", "libvampir",
		"libhpcrun", "libcaliper", "libmpip", NULL};
	const char *preloaded = environment_value(environment, "LD_PRELOAD");
	const char *tool = environment_value(environment, "OMP_TOOL_LIBRARIES");
	const char *omp_tool = environment_value(environment, "OMP_TOOL");
	static const char *const ours[] = {LIBRARY, NULL};

	if (preloaded != NULL && lists(preloaded, tools))
		say_why(out, "another tool is there already (LD_PRELOAD)");
	else if (tool != NULL && tool[0] != '\0' && !lists(tool, ours))
		say_why(out, "another tool is there already (OMP_TOOL_LIBRARIES)");
	else if (omp_tool != NULL && strcasecmp(omp_tool, "disabled") == 0)
		say_why(out, "OMP_TOOL is disabled");
	else
		return false;
	return true;
}

/* Programs that start others where libphases may not be, or not fit. */
static bool starts_elsewhere(const char *const *command, const char *const *environment)
{
	static const char *const containers[] = {"apptainer", "singularity", "docker", "podman",
		"ch-run", "shifter", "sarus", "enroot", "udocker", "bwrap", "chroot", "nsenter",
		"unshare", "ssh", "srun", NULL};
	static const char *const hosts[] = {"-host", "--host", "-machinefile", "--machinefile",
		"-default-hostfile", "--default-hostfile", NULL};
	const char *nodes = environment_value(environment, "SLURM_JOB_NUM_NODES");

	for (const char *const *name = containers; *name != NULL; name++)
		if (strcmp(file_name(command[0]), *name) == 0)
			return true;
	if (!program_is_launcher(command[0]))
		return false;
	if (nodes != NULL && strcmp(nodes, "1") != 0)
		return true;
	/* Up to the program. */
	for (const char *const *word = command + 1;
		*word != NULL && ((*word)[0] == '-' || strchr(*word, '/') == NULL); word++)
		if ((begins_with_one(*word, hosts) || strcmp(*word, "-f") == 0) &&
			(word[1] == NULL || !begins(word[1], "localhost")))
			return true;
	return false;
}

/* ---- Programs ---- */

struct search {
	struct preload *out;
	const char *const *environment;
	struct elf own; /* this program */
	char runtime[ELF_NAME_BYTES]; /* what is wanted; "": nothing yet */
	bool sanitized; /* a file needs the runtime of a sanitizer */
	unsigned followed; /* libraries so far */
};

enum { MENTIONS_BARRIERS = 1, MENTIONS_OWN = 2, MENTIONS_SANITIZER = 4 };

/* Take in the libraries that a file needs. */
static void judge_libraries(struct search *s, const struct elf *elf, const char *name)
{
	static const char *const runtimes[] = {
		"libgomp.", "libomp.", "libomp5.", "libomp-", "libiomp5.", "libmpi", NULL};

	for (size_t i = 0; i < elf->libraries; i++) {
		const char *library = elf->library[i];
		if (begins_with_one(library, sanitizers) && !s->sanitized) {
			s->sanitized = true;
			say_why(s->out, "%.60s needs a sanitizer's runtime, which comes first",
				name);
		}
		if (begins_with_one(library, runtimes) && s->runtime[0] == '\0')
			memcpy(s->runtime, library, sizeof s->runtime);
	}
}

static void judge_symbols(struct search *s, int fd, const struct elf *elf, const char *name)
{
	/* The last is of waits.h. */
	static const char *const words[] = {
		"pthread_barrier_wait", "phases_arrive", "san_init", NULL};
	unsigned found = elf_mentions(fd, elf, words);

	if ((found & MENTIONS_SANITIZER) && !s->sanitized) {
		s->sanitized = true;
		say_why(s->out, "%.60s contains a sanitizer's runtime", name);
	}
	if ((found & (MENTIONS_BARRIERS | MENTIONS_OWN)) && s->runtime[0] == '\0')
		strcpy(s->runtime, words[found & MENTIONS_BARRIERS ? 0 : 1]);
}

/* The libraries of its libraries: one level, those of the system left out. */
static void follow_libraries(struct search *s, const struct elf *elf, const char *path)
{
	static const char *const system[] = {"libc.", "libm.", "libpthread.", "libdl.", "librt.",
		"libgcc_s.", "libstdc++.", "libgfortran.", "libquadmath.", "ld-", NULL};
	struct folders folders;
	struct elf library;

	folders_init(&folders, elf->run_path, path,
		environment_value(s->environment, "LD_LIBRARY_PATH"));
	for (size_t i = 0; i < elf->libraries && s->followed < LIBRARIES_MOST; i++) {
		if (begins_with_one(elf->library[i], system))
			continue;
		s->followed++;
		int fd = folders_open(&folders, elf->library[i]);
		if (fd < 0)
			continue;
		if (elf_read(fd, &library) == 0)
			judge_libraries(s, &library, elf->library[i]);
		close(fd);
	}
}

/* Will the kernel give it other privileges than ours? Then the loader heeds nothing. */
static bool is_privileged(int fd)
{
	struct stat file;

	if (fstat(fd, &file) < 0)
		return true;
	return ((file.st_mode & S_ISUID) && file.st_uid != getuid()) ||
	       ((file.st_mode & S_ISGID) && (file.st_mode & S_IXGRP) && file.st_gid != getgid()) ||
	       (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/* Can libphases be preloaded into the program? Says why not. */
static bool is_possible(
	struct search *s, int fd, const struct elf *elf, int error, const char *name)
{
	if (is_privileged(fd))
		say_why(s->out, "%.60s gets privileges when it is started", name);
	else if (error == 0 && elf->fixed)
		say_why(s->out, "%.60s is linked statically", name);
	else if (error == 0 ? elf->machine != s->own.machine ||
				      strcmp(elf->interpreter, s->own.interpreter) != 0
			    : error == -ENOTSUP)
		say_why(s->out, "%.60s is for another kind of machine or C library", name);
	else
		return true;
	return false;
}

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* elf_read(), which tells programs for other kinds of machines from what are none: -ENOTSUP. */
static int read_program(int fd, struct elf *elf)
{
	char magic[4] = "";
	int r = elf_read(fd, elf);

	if (r == -ENOEXEC && pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
		memcmp(magic, "\177ELF", sizeof magic) == 0)
		r = -ENOTSUP;
	return r;
}

/* Take in a program file. Returns false, with the reason said, if libphases can't be preloaded. */
static bool judge_program(struct search *s, const char *path, const char *name)
{
	struct elf elf;
	int fd = open_file(path);

	if (fd < 0) /* it may be executed, but not read */
		return true;
	int error = read_program(fd, &elf);
	bool possible = is_possible(s, fd, &elf, error, name);
	if (possible && error == 0) {
		judge_libraries(s, &elf, name);
		judge_symbols(s, fd, &elf, name);
		if (s->runtime[0] == '\0')
			follow_libraries(s, &elf, path);
	}
	close(fd);
	return possible;
}

/* Programs among the arguments, as those of launchers. */
static void judge_arguments(struct search *s, const char *const *command)
{
	const char *path = environment_value(s->environment, "PATH");
	char found[PATH_MAX], why[sizeof s->out->why];
	unsigned searches = 0;

	for (int i = 1; i <= ARGUMENTS_MOST && command[i] != NULL && !s->sanitized; i++) {
		const char *word = command[i];
		if (word[0] == '-' || strchr(word, '=') != NULL)
			continue;
		if (strchr(word, '/') == NULL && searches++ >= SEARCHES_MOST)
			continue;
		memcpy(why, s->out->why, sizeof why);
		if (program_find(path, word, found, sizeof found) == 0 &&
			!judge_program(s, found, file_name(word)))
			memcpy(s->out->why, why, sizeof why); /* the command itself goes by */
	}
}

/* ---- Deciding ---- */

static bool judge_library(struct search *s)
{
	struct preload *out = s->out;
	struct elf elf;

	if (!find_library(s->environment, out->library)) {
		say_why(out, LIBRARY " is not found");
		return false;
	}
	if (strpbrk(out->library, " :") != NULL) {
		say_why(out, "the path of " LIBRARY " has a blank or colon");
		return false;
	}
	int fd = open_file(out->library);
	int r = fd < 0 ? -errno : elf_read(fd, &elf);
	if (fd >= 0)
		close(fd);
	if (r < 0) {
		say_why(out, LIBRARY ": %s", strerror(-r));
		return false;
	}
	judge_libraries(s, &elf, LIBRARY);
	s->runtime[0] = '\0';
	return !s->sanitized;
}

static bool read_own(struct elf *out)
{
	int fd = open_file("/proc/self/exe");
	int r = fd < 0 ? -errno : elf_read(fd, out);

	if (fd >= 0)
		close(fd);
	return r == 0;
}

static void judge(struct search *s, enum phases_choice choice, const char *const *command)
{
	struct preload *out = s->out;
	char found[PATH_MAX];

	if (!judge_library(s) || !read_own(&s->own)) {
		refuse(out, true);
		return;
	}
	if (lists(environment_value(s->environment, "LD_PRELOAD"), sanitizers)) {
		say_why(out, "LD_PRELOAD has a sanitizer's runtime, which comes first");
		refuse(out, true);
		return;
	}
	if (program_find(environment_value(s->environment, "PATH"), command[0], found,
		    sizeof found) < 0) {
		say_why(out, "the command can't be executed");
		return;
	}
	if (!judge_program(s, found, file_name(command[0]))) {
		refuse(out, true);
		return;
	}
	judge_arguments(s, command);
	if (s->sanitized) {
		refuse(out, true);
		return;
	}
	if (choice == PHASES_ON) {
		out->wanted = true;
		return;
	}
	if (has_tool(s->environment, out))
		return;
	if (starts_elsewhere(command, s->environment)) {
		say_why(out, "%.60s may start programs elsewhere", file_name(command[0]));
		return;
	}
	out->wanted = s->runtime[0] != '\0';
	say_why(out, "%s",
		out->wanted ? s->runtime : "neither OpenMP, MPI nor pthread barriers are found");
}

void preload_decide(struct preload *out, enum phases_choice choice, const char *const *command,
	const char *const *environment)
{
	struct search search = {.out = out, .environment = environment};

	*out = (struct preload){.wanted = false};
	if (choice == PHASES_OFF)
		say_why(out, "off");
	else
		judge(&search, choice, command);
}

/* ---- Setting ---- */

char *preload_join(const char *was, const char *library, bool first)
{
	static const char *const ours[] = {LIBRARY, NULL};
	char *joined = NULL;

	if (was == NULL || was[0] == '\0')
		return strdup(library);
	if (lists(was, ours))
		return NULL;
	if (asprintf(&joined, "%s:%s", first ? library : was, first ? was : library) < 0)
		return NULL;
	return joined;
}

static void set_list(const char *name, const char *library, bool first)
{
	char *value = preload_join(getenv(name), library, first);

	if (value != NULL)
		setenv(name, value, 1);
	free(value);
}

void preload_set(const struct preload *preload, const char *table)
{
	setenv(PHASES_ENVIRONMENT, table, 1);
	set_list("LD_PRELOAD", preload->library, true);
	set_list("OMP_TOOL_LIBRARIES", preload->library, false);
}
