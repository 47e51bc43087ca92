/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/children.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/balancer.h"
#include "daemon/keeper/guard.h"
#include "daemon/telemetry/writer.h"

/* Fork, with a pipe between the two processes. Returns 0 in the child, its pid in the parent, or a
 * negative errno, with the pipe closed. */
static pid_t fork_with_pipe(int pipe_fd[2])
{
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid < 0) {
		pid = -errno;
		close(pipe_fd[0]);
		close(pipe_fd[1]);
	}
	return pid;
}

/* ---- The balancer ---- */

/* Starting to balance costs more than a command that ends so soon could gain. */
#define SOON_MS 10

/* Returns true when the command has ended meanwhile; false at once where an account of it is wanted. */
static bool wait_for_early_end(const struct options *options, int control_fd)
{
	struct pollfd end = {.fd = control_fd, .events = POLLIN};
	bool account = options->trace != NULL || options->report != NULL || options->verbose > 0;

	return options->pid == 0 && !account && poll(&end, 1, SOON_MS) > 0;
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
	int status = 0;

	close(start->signal_fd);
	pid_t guard = guard_start(&guard_setup);
	if (wait_for_early_end(start->options, control_fd))
		telemetry_set32(&start->telemetry->state, TELEMETRY_ENDED);
	else
		status = balancer_run(&setup);
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
	pid_t pid = fork_with_pipe(control);
	if (pid == 0) {
		close(control[1]); /* the keeper's is the only one: its death closes the pipe */
		run_balancer(start, keeper, control[0], life);
	}
	close(life[0]);
	if (pid < 0) {
		close(life[1]);
		return pid;
	}
	close(control[0]);
	*control_fd = control[1];
	*life_fd = life[1];
	return pid;
}

/* ---- The command ---- */

/* Become the command. Where that fails, the errno goes into failure_fd, which execvp() closes
 * otherwise. */
_Noreturn static void execute(const struct command_start *start, int failure_fd)
{
	const struct options *options = start->options;

	if (options->cpus_given)
		(void)act_set_mask(0, &options->cpus); /* the checks have tried it */
	if (start->table[0] != '\0')
		preload_set(start->preload, start->table);
	sigaction(SIGCHLD, &start->caller->sigchld, NULL);
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
	pid_t pid = fork_with_pipe(failure);
	ssize_t n;

	if (pid < 0)
		return pid;
	if (pid == 0)
		execute(start, failure[1]);
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
