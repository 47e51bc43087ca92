/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/children.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/balancer.h"
#include "daemon/keeper/guard.h"
#include "daemon/telemetry/writer.h"

static void close_pipe(const int pipe_fd[2])
{
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

/* ---- The balancer ---- */

static void publish_telemetry(const struct balancer_start *start, pid_t keeper)
{
	int fd = start->telemetry_fd;
	int r = fd < 0 ? fd : telemetry_publish(fd, keeper);

	if (r < 0 && !start->options->quiet)
		fprintf(stderr,
			"juggle: no telemetry for jugglectl, since /dev/shm cannot be used (%s)\n",
			strerror(-r));
}

_Noreturn static void run_balancer(
	const struct balancer_start *start, pid_t keeper, int control_fd, const int life[2])
{
	struct balancer_setup setup = {
		.options = start->options,
		.telemetry = start->telemetry,
		.telemetry_fd = start->telemetry_fd,
		.ledger = start->ledger,
		.phases = start->phases,
		.keeper = keeper,
		.control_fd = control_fd,
	};

	const struct guard_start guard_setup = {
		.options = start->options,
		.ledger = start->ledger,
		.keeper = keeper,
		.life = {life[0], life[1]},
	};

	close(start->signal_fd);
	pid_t guard = guard_start(&guard_setup);
	publish_telemetry(start, keeper);
	int status = balancer_run(&setup);
	/* The keeper removes the name, too, but may have been killed. */
	telemetry_unlink(keeper);
	guard_end(guard);
	_exit(status);
}

pid_t children_start_balancer(const struct balancer_start *start, int *control_fd, int *life_fd)
{
	pid_t keeper = getpid();
	int control[2], life[2];

	if (pipe2(life, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(control, O_CLOEXEC) < 0) {
		int error = errno;
		close_pipe(life);
		return -error;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(control[1]); /* the keeper's is the only one: its death closes the pipe */
		run_balancer(start, keeper, control[0], life);
	}
	if (pid < 0) {
		pid = -errno;
		close_pipe(control);
		close_pipe(life);
		return pid;
	}
	close(life[0]);
	close(control[0]);
	*control_fd = control[1];
	*life_fd = life[1];
	return pid;
}

/* ---- The command ---- */

static void ignore(int signal)
{
	(void)signal;
}

/* A process that stops before it is the command would stop the keeper, too, for good. A handler lasts
 * until the command is executed; what others ignore, it ignores. */
static void outlive_stops(void)
{
	static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
	const struct sigaction nothing = {.sa_handler = ignore};
	struct sigaction before;

	for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
		if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(stops[i], &nothing, NULL);
}

/* Become the command. Where that fails, the errno goes into failure_fd, which execvp() closes
 * otherwise. Until then the process has its memory in common with the keeper, which waits. */
_Noreturn static void execute(const struct command_start *start, int failure_fd)
{
	const struct options *options = start->options;

	if (options->cpus_given)
		(void)act_set_mask(0, &options->cpus); /* the checks have tried it */
	sigaction(SIGCHLD, &start->caller->sigchld, NULL);
	outlive_stops();
	sigprocmask(SIG_SETMASK, &start->caller->blocked, NULL);
	execvp(options->command[0], options->command);
	int error = errno;
	/* The exit status counts only when the keeper has not read the error. */
	ssize_t written = write(failure_fd, &error, sizeof error);
	_exit(written == sizeof error ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

pid_t children_start_command(const struct command_start *start)
{
	int failure[2], error;
	ssize_t n;

	if (start->table[0] != '\0')
		preload_set(start->preload, start->table);
	if (pipe2(failure, O_CLOEXEC) < 0)
		return -errno;
	/* After fork(), both processes would copy each page that they write to. */
	pid_t pid = vfork();
	if (pid == 0)
		execute(start, failure[1]);
	if (pid < 0) {
		pid = -errno;
		close_pipe(failure);
		return pid;
	}
	close(failure[1]);
	do
		n = read(failure[0], &error, sizeof error);
	while (n < 0 && errno == EINTR);
	close(failure[0]);
	if (n == sizeof error) {
		waitpid(pid, NULL, 0);
		return -error;
	}
	return pid;
}
