/* SPDX-License-Identifier: MIT */
/* Running commands; see run.h. */
#include "tools/compare/run.h"

#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS (5 * CLOCK_NS_PER_S) /* with a command that is to end */
#define TICK_MS 250 /* for the progress line */
#define ALMOST 0.95 /* of a run that takes longer than those before */

extern char **environ;

int run_watch_init(struct run_watch *watch)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	struct sigaction action;
	sigset_t ending;

	sigemptyset(&ending);
	/* Those that are ignored, as with nohup, would reach the descriptor, too. */
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&ending, signals[i]);
	watch->signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
	if (watch->signals < 0)
		return -errno;
	/* Ctrl-Z would stop the clock's owner, and not the command. */
	sigaddset(&ending, SIGTSTP);
	sigprocmask(SIG_BLOCK, &ending, &watch->before);
	return 0;
}

void run_watch_deinit(struct run_watch *watch)
{
	close(watch->signals);
	sigprocmask(SIG_SETMASK, &watch->before, NULL);
}

/* Start a command whose output goes to a descriptor, -1 for nowhere. Returns its pid or a negative
 * errno. */
static pid_t start(const sigset_t *mask, char *const command[], int output)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	pid_t pid;

	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, mask);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (output >= 0)
			posix_spawn_file_actions_adddup2(&files, output, fd);
		else
			posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
	int error = posix_spawnp(&pid, command[0], &files, &attributes, command, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return error == 0 ? pid : -error;
}

static int open_process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0u); /* closes on exec by itself */

	return fd < 0 ? -errno : fd;
}

static int exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* ---- A run ---- */

/* As much as a pipe holds. Returns whether there may be more. */
static bool drain(int fd, struct output *output)
{
	char data[65536];
	ssize_t n = read(fd, data, sizeof data);

	if (n > 0)
		output_take(output, data, (size_t)n);
	return n != 0;
}

static int caught(const struct run_watch *watch)
{
	struct signalfd_siginfo info;

	return read(watch->signals, &info, sizeof info) == (ssize_t)sizeof info
		       ? (int)info.ssi_signo
		       : 0;
}

static void show_progress(const struct run_watch *watch, double elapsed_s)
{
	double part = watch->expected_s > 0 ? elapsed_s / watch->expected_s : 0;

	command_progress(
		watch->progress, watch->done + watch->share * (part < ALMOST ? part : ALMOST));
}

static void end_group(pid_t pid, int signal)
{
	kill(-pid, signal);
	kill(-pid, SIGCONT);
}

struct run {
	pid_t pid;
	uint64_t begin_ns;
	uint64_t until_ns; /* when it has to end, or be killed once it was told to end */
	bool ending;
};

/* End it as it has to, first kindly. */
static void end_run(struct run *run, int signal, uint64_t now_ns)
{
	end_group(run->pid, run->ending ? SIGKILL : signal);
	run->until_ns = run->ending ? UINT64_MAX : now_ns + PATIENCE_NS;
	run->ending = true;
}

static void watch_run(struct run_watch *watch, struct run *run, int process, int pipe,
	struct output *output, struct run_end *out)
{
	struct pollfd fds[] = {{.fd = process, .events = POLLIN}, {.fd = pipe, .events = POLLIN},
		{.fd = watch->signals, .events = POLLIN}};

	while (fds[0].revents == 0) {
		uint64_t now_ns = clock_monotonic_ns();
		if (now_ns >= run->until_ns) {
			out->late |= !run->ending;
			end_run(run, SIGTERM, now_ns);
		}
		show_progress(watch, (double)(now_ns - run->begin_ns) * 1e-9);
		if (poll(fds, 3, TICK_MS) <= 0)
			continue;
		out->elapsed_s = (double)(clock_monotonic_ns() - run->begin_ns) * 1e-9;
		if (fds[1].revents != 0 && !drain(pipe, output))
			fds[1].fd = -1; /* all have closed it */
		int signal = fds[2].revents != 0 ? caught(watch) : 0;
		if (signal != 0) {
			out->signal = signal;
			end_run(run, signal, clock_monotonic_ns());
		}
	}
}

int run_to_end(
	struct run_watch *watch, char *const command[], struct output *output, struct run_end *out)
{
	struct run run = {.begin_ns = clock_monotonic_ns(), .until_ns = UINT64_MAX};
	int pipe[2], wait_status = 0;

	*out = (struct run_end){0};
	if (pipe2(pipe, O_CLOEXEC) < 0)
		return -errno;
	fcntl(pipe[0], F_SETFL, O_NONBLOCK);
	if (watch->timeout_ns > 0)
		run.until_ns = run.begin_ns + watch->timeout_ns;
	run.pid = start(&watch->before, command, pipe[1]);
	close(pipe[1]);
	int process = run.pid < 0 ? run.pid : open_process(run.pid);
	if (process >= 0) {
		watch_run(watch, &run, process, pipe[0], output, out);
		(void)drain(pipe[0], output); /* what is below it may still write: not for us */
		output_end(output);
		close(process);
	} else if (run.pid > 0)
		end_group(run.pid, SIGKILL);
	close(pipe[0]);
	if (run.ending)
		end_group(run.pid, SIGKILL); /* what is left of it */
	if (run.pid > 0 && waitpid(run.pid, &wait_status, 0) == run.pid)
		out->status = exit_status(wait_status);
	return process < 0 ? process : 0;
}

/* ---- Beside ---- */

int run_beside_start(const struct run_watch *watch, const char *command, struct run_beside *beside)
{
	char *const words[] = {"sh", "-c", (char *)command, NULL};

	*beside = (struct run_beside){0};
	pid_t pid = start(&watch->before, words, -1);
	if (pid < 0)
		return pid;
	beside->pid = pid;
	beside->fd = open_process(pid);
	if (beside->fd >= 0)
		return 0;
	int r = beside->fd;
	run_beside_stop(beside);
	return r;
}

static bool beside_ends_within(const struct run_beside *beside, int ms)
{
	struct pollfd process = {.fd = beside->fd, .events = POLLIN};

	return beside->fd >= 0 && poll(&process, 1, ms) > 0;
}

/* Kill what is left of its group. Returns its exit status. */
static int finish_beside(struct run_beside *beside)
{
	int wait_status = 0;

	end_group(beside->pid, SIGKILL);
	waitpid(beside->pid, &wait_status, 0);
	if (beside->fd >= 0)
		close(beside->fd);
	beside->pid = 0;
	return exit_status(wait_status);
}

bool run_beside_has_ended(struct run_beside *beside, int *status)
{
	if (beside->pid == 0 || !beside_ends_within(beside, 0))
		return false;
	*status = finish_beside(beside);
	return true;
}

void run_beside_stop(struct run_beside *beside)
{
	if (beside->pid == 0)
		return;
	end_group(beside->pid, SIGTERM);
	(void)beside_ends_within(beside, (int)(PATIENCE_NS / 1000000));
	(void)finish_beside(beside);
}
