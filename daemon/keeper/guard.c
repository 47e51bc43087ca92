/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/file.h"
#include "daemon/telemetry/writer.h"

#define PATIENCE_NS 100000000

/* Whoever kills all processes named juggle, or with a command line that has that word, does not mean
 * this one. The arguments lie one behind another, from the name on. */
static void change_name(void)
{
	static const char name[] = "mask-guard";
	size_t room = strlen(program_invocation_name);
	int fd = open("/proc/self/cmdline", O_RDONLY);
	char part[4096];
	ssize_t n, bytes = 0;

	while (fd >= 0 && (n = read(fd, part, sizeof part)) > 0)
		bytes += n;
	close(fd);
	prctl(PR_SET_NAME, name);
	memset(program_invocation_name, 0, bytes > 0 ? (size_t)bytes : room);
	memcpy(program_invocation_name, name, room < sizeof name ? room : sizeof name);
}

/* Whoever kills a process group does not mean this one, and nobody has to wait for its end to see the
 * end of a pipe. Standard input becomes the pipe that tells the end of the others. */
static void stand_apart(int life)
{
	setpgid(0, 0);
	dup2(life, STDIN_FILENO);
	int null = open("/dev/null", O_RDWR);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	file_close_from(STDERR_FILENO + 1);
}

_Noreturn static void guard_main(const struct guard_start *start)
{
	bool attached = start->options->pid != 0;
	const struct proc_scan_options what = {
		.root = attached ? start->options->pid : start->keeper, .include_root = attached};
	struct proc_scan *scan = NULL;
	ssize_t n;
	char byte;

	change_name();
	stand_apart(start->life[0]);
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0 && !ledger_is_closed(start->ledger)) {
		(void)proc_scan_new(&scan, &what);
		ledger_give_back(start->ledger, scan);
		telemetry_unlink(start->keeper);
	}
	_exit(0);
}

pid_t guard_start(const struct guard_start *start)
{
	pid_t pid = fork();

	if (pid == 0)
		guard_main(start);
	int error = errno;
	if (pid > 0)
		setpgid(pid, pid); /* before anything depends on it; the guard does the same */
	close(start->life[0]);
	return pid < 0 ? -error : pid;
}

void guard_end(pid_t pid)
{
	const struct timespec patience = {.tv_nsec = PATIENCE_NS};
	sigset_t child;

	if (pid <= 0 || kill(pid, SIGKILL) < 0)
		return;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* One that is frozen ends later; somebody else reaps it. */
	while (waitpid(pid, NULL, WNOHANG) == 0)
		if (sigtimedwait(&child, NULL, &patience) < 0 && errno != EINTR)
			return;
}
