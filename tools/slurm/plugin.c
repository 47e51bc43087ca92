/* SPDX-License-Identifier: MIT */
/*
 * The option --juggle of srun, as a SPANK plugin: one juggle on each node, for all tasks of the step there.
 *
 * The first task of a node starts it, just before it becomes the user's program. So juggle belongs to
 * the user and to the control groups of the step: it can do no more than the tasks, and ends with them
 * in any case. It is not a child of the task, which may wait for its children. It attaches to
 * slurmstepd, the parent of all tasks.
 *
 * Whatever fails here, the tasks run without juggle, after one line on standard error. No function
 * returns an error, except for options that juggle does not take, before the step begins.
 */
#include <argz.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/base/cpuset.h"
#include "daemon/base/environment.h"
#include "daemon/base/parse.h"
#include "daemon/preload/preload.h"

#define WELCOME_MS 100 /* for juggle to begin, before the first task */
#define FAREWELL_MS 3000 /* for juggle to write its report, after the last task */
#define OPTIONS_ENVIRONMENT "JUGGLE_OPTIONS"
#define ENVIRONMENT_BYTES 131072 /* the most that the kernel passes in a variable */
#define NAME_LEAST 4 /* of --phases: shorter abbreviations are of other options, too */

enum { EXIT_WRONG_OPTIONS = 125 }; /* of juggle */

SPANK_PLUGIN(juggle, 1)

/* SPANK hands no context to its callbacks. */
static struct {
	const char *juggle; /* the path of the program */
	bool wanted;
	char *options; /* for juggle; owned */
	struct cpuset *cpus; /* of all tasks of the node; shared with them */
	int alive
		[2]; /* a pipe that has no writer any more when juggle and the tasks' starts are over */
	unsigned tasks; /* that run */
} step = {.juggle = JUGGLE_PATH, .alive = {-1, -1}};

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	dprintf(STDERR_FILENO, "juggle: %s; the tasks run without it\n", text);
}

/* ---- The option ---- */

/* Becomes juggle, which reads these options and no more. */
__attribute__((noreturn)) static void become_reader(const char *options, int message_fd)
{
	dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDOUT_FILENO);
	dup2(message_fd, STDERR_FILENO);
	if (setenv(OPTIONS_ENVIRONMENT, options, 1) == 0)
		execl(step.juggle, "juggle", "--version", (char *)NULL);
	_exit(EXIT_SUCCESS);
}

/* Does juggle refuse these options? Then its message has been printed. False also where there is no
 * juggle, since nodes may have one. */
static bool are_refused(const char *options)
{
	char message[256] = "";
	int status = 0, fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return false;
	pid_t pid = fork();
	if (pid == 0)
		become_reader(options, fd[1]);
	close(fd[1]);
	FILE *answer = fdopen(fd[0], "r");
	if (answer != NULL) {
		(void)fgets(message, sizeof message, answer);
		while (getc(answer) != EOF) /* to the end, so that no write fails */
			;
		fclose(answer);
	} else
		close(fd[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || message[0] == '\0' || !WIFEXITED(status) ||
		WEXITSTATUS(status) != EXIT_WRONG_OPTIONS)
		return false;
	slurm_error("%.*s", (int)strcspn(message, "\n"), message);
	return true;
}

static int take_option(int value, const char *argument, int remote)
{
	(void)value;
	/* Without an argument Slurm passes NULL, or what it has made of that on the way to the node. */
	if (argument == NULL || strcmp(argument, "(null)") == 0)
		argument = "";
	if (!remote && are_refused(argument))
		return -1;
	step.wanted = true;
	free(step.options);
	step.options = strdup(argument);
	return 0;
}

struct spank_option spank_options[] = {
	{"juggle", "[OPTIONS]",
		"Balance the tasks of each node by juggle(1); OPTIONS are its own, separated by "
		"blanks.",
		2, 0, take_option},
	SPANK_OPTIONS_TABLE_END,
};

/* ---- srun, and slurmstepd before the options are read ---- */

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	static const char key[] = "juggle=";

	(void)spank;
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], key, sizeof key - 1) == 0)
			step.juggle = argv[i] + sizeof key - 1;
	return 0;
}

/* ---- slurmstepd ---- */

int slurm_spank_user_init(spank_t spank, int argc, char *argv[])
{
	(void)spank, (void)argc, (void)argv;
	if (!step.wanted)
		return 0;
	void *shared = mmap(
		NULL, sizeof *step.cpus, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared != MAP_FAILED && pipe2(step.alive, O_CLOEXEC) == 0)
		step.cpus = shared;
	return 0;
}

/* Tasks have their masks by now, and wait for slurmstepd before they go on. */
int slurm_spank_task_post_fork(spank_t spank, int argc, char *argv[])
{
	struct cpuset cpus;
	pid_t task;

	(void)argc, (void)argv;
	if (step.cpus == NULL)
		return 0;
	step.tasks++;
	if (spank_get_item(spank, S_TASK_PID, &task) == ESPANK_SUCCESS &&
		cpuset_of_thread(task, &cpus) == 0)
		cpuset_or(step.cpus, &cpus);
	return 0;
}

/* When the last task has ended, Slurm kills what is left of the step: not before juggle has ended. */
int slurm_spank_task_exit(spank_t spank, int argc, char *argv[])
{
	struct pollfd juggle = {.fd = step.alive[0]};

	(void)spank, (void)argc, (void)argv;
	if (step.cpus == NULL || --step.tasks > 0)
		return 0;
	close(step.alive[1]);
	while (poll(&juggle, 1, FAREWELL_MS) < 0 && errno == EINTR)
		;
	close(step.alive[0]);
	return 0;
}

/* ---- The tasks ---- */

/* The options of the user's environment, then those of the command line. The CPUs are those of all tasks,
 * and not only of the first one; the user may have named others. Returns NULL without memory. */
static char *all_options(spank_t spank)
{
	char cpus[4096], own[ENVIRONMENT_BYTES], *all;

	if (spank_getenv(spank, OPTIONS_ENVIRONMENT, own, sizeof own) != ESPANK_SUCCESS)
		own[0] = '\0';
	cpuset_format(step.cpus, cpus, sizeof cpus);
	return asprintf(&all, "-c %s %s %s", cpus, own, step.options) < 0 ? NULL : all;
}

/* The last --phases among options that juggle has accepted, which may be abbreviated. */
static enum phases_choice phases_choice(const char *options)
{
	static const char name[] = "--phases";
	enum phases_choice choice = PHASES_AUTO;
	char *words = NULL, *word = NULL;
	size_t bytes = 0;

	if (parse_words(options, &words, &bytes) < 0)
		return choice;
	while ((word = argz_next(words, bytes, word)) != NULL) {
		size_t n = strcspn(word, "=");
		if (n < NAME_LEAST || strncmp(word, name, n) != 0)
			continue;
		const char *value = word[n] == '=' ? word + n + 1 : argz_next(words, bytes, word);
		if (value != NULL)
			choice = strcmp(value, "on") == 0    ? PHASES_ON
				 : strcmp(value, "off") == 0 ? PHASES_OFF
							     : PHASES_AUTO;
	}
	free(words);
	return choice;
}

static void add_to_list(spank_t spank, const char *const *environment, const char *name,
	const char *library, bool first)
{
	char *value = preload_join(environment_value(environment, name), library, first);

	if (value != NULL)
		spank_setenv(spank, name, value, 1);
	free(value);
}

/* juggle can't set the environment of a process that it attaches to: what --phases does is done here. */
static void preload_phases(spank_t spank, const char *options)
{
	struct preload preload;
	char **command, **environment;
	int words;

	if (spank_get_item(spank, S_JOB_ARGV, &words, &command) != ESPANK_SUCCESS ||
		spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS)
		return;
	const char *const *before = (const char *const *)environment;
	preload_decide(&preload, phases_choice(options), (const char *const *)command, before);
	if (!preload.wanted)
		return;
	add_to_list(spank, before, "LD_PRELOAD", preload.library, true);
	if (spank_get_item(spank, S_JOB_ENV, &environment) == ESPANK_SUCCESS)
		add_to_list(spank, (const char *const *)environment, "OMP_TOOL_LIBRARIES",
			preload.library, false);
}

/* Becomes juggle. */
__attribute__((noreturn)) static void become_juggle(spank_t spank, pid_t stepd, const char *options)
{
	char pid[16], **environment = NULL;
	char *argv[] = {(char[]){"juggle"}, (char[]){"-p"}, pid, NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	fcntl(step.alive[1], F_SETFD, 0);
	snprintf(pid, sizeof pid, "%d", (int)stepd);
	if (spank_setenv(spank, OPTIONS_ENVIRONMENT, options, 1) == ESPANK_SUCCESS &&
		spank_get_item(spank, S_JOB_ENV, &environment) == ESPANK_SUCCESS)
		execve(step.juggle, argv, environment);
	complain("%s: %s", step.juggle, strerror(errno));
	_exit(EXIT_FAILURE);
}

/* Until juggle publishes what it does, and so has looked for tasks, or has ended: a task that is over
 * within milliseconds shall not be missed, and called missing. */
static void wait_for_juggle(pid_t juggle)
{
	char path[64];

	snprintf(path, sizeof path, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)juggle);
	for (int ms = 0; ms < WELCOME_MS; ms++) {
		if (access(path, F_OK) == 0 || waitpid(juggle, NULL, WNOHANG) != 0)
			return;
		poll(NULL, 0, 1);
	}
}

/* By a process in between that ends soon, and in a session of its own: a terminal of the task and its
 * signals are not for juggle. */
static void start_juggle(spank_t spank, const char *options)
{
	pid_t stepd = getppid();
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		pid = fork();
		if (pid == 0)
			become_juggle(spank, stepd, options);
		if (pid > 0)
			wait_for_juggle(pid);
		_exit(pid < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (pid < 0 || status != 0)
		complain("no process for it");
}

int slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
	int task = 0;

	(void)argc, (void)argv;
	if (!step.wanted || spank_get_item(spank, S_TASK_ID, &task) != ESPANK_SUCCESS)
		return 0;
	bool found = access(step.juggle, X_OK) == 0;
	char *options = found && step.cpus != NULL ? all_options(spank) : NULL;
	if (options != NULL) {
		if (task == 0)
			start_juggle(spank, options);
		preload_phases(spank, options);
	} else if (task == 0) {
		complain("%s: %s", step.juggle, found ? "no memory" : strerror(errno));
	}
	free(options);
	return 0;
}
