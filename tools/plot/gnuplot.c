/* SPDX-License-Identifier: MIT */
#include "gnuplot.h"

#include "output.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(int script, int picture, int errors, pid_t *pid)
{
	char name[] = "gnuplot", defaults[] = "-d"; /* the user's settings don't change pictures */
	char *const argv[] = {name, defaults, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	int r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r == 0) {
		posix_spawnattr_setsigdefault(&attributes, &signals);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
		posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
		posix_spawn_file_actions_adddup2(&actions, picture, STDOUT_FILENO);
		posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
		r = posix_spawnp(pid, name, &actions, &attributes, argv, environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* The first line of what it said that is no quotation of the script, fit to be printed. */
static void read_why(int errors, char why[200])
{
	char text[2000];
	ssize_t n = pread(errors, text, sizeof(text) - 1, 0);
	char *save = NULL;

	text[n > 0 ? n : 0] = '\0';
	why[0] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
		line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t^");
		if (*line == '\0' || strncmp(line, "gnuplot>", 8) == 0)
			continue;
		snprintf(why, 200, "%.190s", line);
		for (char *at = why; *at != '\0'; at++)
			if ((unsigned char)*at < ' ' || *at == 0x7f)
				*at = '?';
		if (strstr(line, "line ") != NULL) /* "line 7: what is wrong" */
			return;
	}
}

int gnuplot_run(int script, int picture, char why[200])
{
	pid_t pid;
	int status = 0, errors = output_scratch();

	why[0] = '\0';
	if (errors < 0)
		return errors;
	if (lseek(script, 0, SEEK_SET) < 0) {
		int r = -errno;
		close(errors);
		return r;
	}
	int r = start(script, picture, errors, &pid);
	while (r == 0 && waitpid(pid, &status, 0) < 0)
		r = errno == EINTR ? 0 : -errno;
	if (r == 0 && WIFSIGNALED(status)) {
		snprintf(why, 200, "signal %d", WTERMSIG(status));
		r = -EIO;
	} else if (r == 0 && WEXITSTATUS(status) != 0) {
		read_why(errors, why);
		r = -EIO;
	}
	close(errors);
	return r;
}
