/* SPDX-License-Identifier: MIT */
#include "tools/plot/gnuplot.h"

#include "daemon/base/text.h"
#include "tools/command/output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_FOUND = 127, NOT_STARTED = 126 }; /* exit statuses, as of shells */

/* In the child. Control-C only makes gnuplot skip a command; it ends because we do. */
static _Noreturn void become_gnuplot(int script, int picture, int errors, pid_t parent)
{
	char name[] = "gnuplot", defaults[] = "-d"; /* without the user's settings */
	char *const argv[] = {name, defaults, NULL};

	signal(SIGPIPE, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
		dup2(script, STDIN_FILENO) >= 0 && dup2(picture, STDOUT_FILENO) >= 0 &&
		dup2(errors, STDERR_FILENO) >= 0)
		execvp(name, argv);
	_exit(errno == ENOENT ? NOT_FOUND : NOT_STARTED);
}

/* The first line of its error output that does not quote the script, made printable. */
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
		text_make_printable(why);
		if (strstr(line, "line ") != NULL) /* "line 7: what is wrong" */
			return;
	}
}

int gnuplot_run(int script, int picture, char why[200])
{
	int status = 0, errors = output_scratch();

	why[0] = '\0';
	if (errors < 0)
		return errors;
	if (lseek(script, 0, SEEK_SET) < 0) {
		int r = -errno;
		close(errors);
		return r;
	}
	pid_t self = getpid(), pid = fork();
	if (pid == 0)
		become_gnuplot(script, picture, errors, self);
	int r = pid < 0 ? -errno : 0;
	while (r == 0 && waitpid(pid, &status, 0) < 0)
		r = errno == EINTR ? 0 : -errno;
	if (r == 0 && WIFSIGNALED(status)) {
		snprintf(why, 200, "signal %d", WTERMSIG(status));
		r = -EIO;
	} else if (r == 0 && WEXITSTATUS(status) == NOT_FOUND) {
		r = -ENOENT;
	} else if (r == 0 && WEXITSTATUS(status) == NOT_STARTED) {
		r = -EACCES;
	} else if (r == 0 && WEXITSTATUS(status) != 0) {
		read_why(errors, why);
		r = -EIO;
	}
	close(errors);
	return r;
}
