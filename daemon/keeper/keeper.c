/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/keeper.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/keeper/checks.h"
#include "daemon/keeper/children.h"
#include "daemon/keeper/report.h"
#include "daemon/policy/policy.h"
#include "daemon/proc/proc.h"
#include "daemon/telemetry/writer.h"

#define FINISH_MS 3000 /* how long the balancer may take to let go of the job */
#define KILLED_MS 1000 /* and to die, when it has not */

struct keeper {
	const struct options *options;
	struct telemetry *telemetry;
	struct ledger *ledger;
	struct caller_signals caller_signals; /* what the command gets */
	int signal_fd;
	int control_fd; /* write end: tells the balancer to finish; it ends with us */
	int job_fd; /* -p: pidfd of the process */
	pid_t balancer; /* 0: it has ended */
	pid_t command; /* 0: it has ended, or -p */
	int status; /* of the command, as waitpid() has it */
	bool detach; /* -p: a signal asks to let go, or nothing of ours is left there */
};

/* ---- Minding them ---- */

/* What the balancer would have done at its end. */
static size_t restore(const struct keeper *k)
{
	bool attached = k->options->pid != 0;
	struct proc_scan_options what = {
		.root = attached ? k->options->pid : getpid(), .include_root = attached};
	struct proc_scan *scan;
	size_t count = ledger_restore_all(k->ledger);

	if (proc_scan_new(&scan, &what) == 0) {
		ledger_restore_born(k->ledger, scan);
		proc_scan_free(scan);
	}
	return count;
}

static void balancer_ended(struct keeper *k, int status)
{
	k->balancer = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		k->detach = true; /* it has finished, told to or not */
		return;
	}
	size_t count = restore(k);
	telemetry_set32(&k->telemetry->state, TELEMETRY_LOST);
	telemetry_set32(&k->telemetry->regime, POLICY_ASIDE);
	if (WIFSIGNALED(status) && !k->options->quiet)
		fprintf(stderr,
			"juggle: the balancer was killed (%s); the job runs on, its %zu threads "
			"with the affinity that they had\n",
			strsignal(WTERMSIG(status)), count);
}

/* The command stopped (Ctrl-Z, or by itself): stop too, so that the shell sees it. */
static void follow_stop(void)
{
	raise(SIGSTOP);
}

/* Reap whatever ended: the command, the balancer, and orphans of the job, whose parent
 * we are as a subreaper. */
static void reap(struct keeper *k)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid == k->command && WIFSTOPPED(status)) {
			/* SIGSTOP is somebody's who stops the command alone, and will continue it
			 * alone; the terminal's signals are for both. */
			if (WSTOPSIG(status) != SIGSTOP)
				follow_stop();
		} else if (pid == k->command && !WIFSTOPPED(status)) {
			k->command = 0;
			k->status = status;
		} else if (pid == k->balancer && !WIFSTOPPED(status)) {
			balancer_ended(k, status);
		}
	}
}

/* Blocked signals arrive even where the caller (nohup, a shell's &) ignores them. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Signals that reach juggle are the command's. What the terminal sends goes to the whole
 * foreground group, and so has reached the command already; what the command itself
 * sends to its group, too. What comes of our own doing (SIGPIPE: nobody reads our
 * messages) is not meant for it. */
static void pass_on(struct keeper *k, const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;

	if (k->options->pid != 0) {
		if (is_ignored(number))
			return;
		if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
			k->detach = true;
		else if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
			follow_stop();
		return;
	}
	if (k->command == 0 || info->ssi_code == SI_KERNEL || (pid_t)info->ssi_pid == k->command ||
		(pid_t)info->ssi_pid == getpid())
		return;
	kill(k->command, number);
}

static void read_signals(struct keeper *k)
{
	struct signalfd_siginfo info;

	while (read(k->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			reap(k);
		else
			pass_on(k, &info);
	}
}

static bool job_runs(struct keeper *k, const struct pollfd *job)
{
	if (k->options->pid != 0)
		return !k->detach && job->revents == 0;
	return k->command != 0;
}

static void mind(struct keeper *k)
{
	struct pollfd fds[2] = {
		{.fd = k->signal_fd, .events = POLLIN},
		{.fd = k->job_fd, .events = POLLIN},
	};

	while (job_runs(k, &fds[1])) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		read_signals(k);
	}
}

/* Let the balancer put everything back; do it here if it does not manage. */
static void finish_balancer(struct keeper *k)
{
	struct pollfd fd = {.fd = k->signal_fd, .events = POLLIN};
	uint64_t until_ns = clock_monotonic_ns() + FINISH_MS * UINT64_C(1000000);

	close(k->control_fd);
	bool killed = false;
	while (k->balancer != 0) {
		int left_ms = (int)((int64_t)(until_ns - clock_monotonic_ns()) / 1000000);
		if (left_ms <= 0 && killed) { /* frozen, perhaps; it will do nothing more */
			balancer_ended(k, SIGKILL);
			break;
		}
		if (left_ms <= 0) {
			kill(k->balancer, SIGKILL);
			killed = true;
			left_ms = KILLED_MS;
			until_ns = clock_monotonic_ns() + KILLED_MS * UINT64_C(1000000);
		}
		if (poll(&fd, 1, left_ms) < 0 && errno != EINTR)
			break;
		read_signals(k);
	}
}

/* ---- Checks before anything starts ---- */

/* No descriptor of ours may get the number of a standard stream that the caller closed:
 * the balancer replaces its own, and messages go to 2. The command finds them closed. */
static void hold_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* ---- Telemetry ---- */

static void describe(struct keeper *k, enum sampler_kind sampler)
{
	const struct options *o = k->options;
	struct telemetry *t = k->telemetry;
	size_t used = 0;

	for (char **word = o->command; word != NULL && *word != NULL; word++) {
		int n = snprintf(t->command + used, sizeof t->command - used, "%s%s",
			used > 0 ? " " : "", *word);
		if (n < 0 || (size_t)n >= sizeof t->command - used)
			break;
		used += (size_t)n;
	}
	if (o->pid != 0)
		snprintf(t->command, sizeof t->command, "-p %d", (int)o->pid);
	snprintf(t->policy, sizeof t->policy, "%s", options_policy_name(o->policy));
	snprintf(t->sampler, sizeof t->sampler, "%s", sampler_kind_name(sampler));
	snprintf(t->balancers, sizeof t->balancers, "%s", o->balancer_per_cpu ? "cpu" : "domain");
	snprintf(t->domains, sizeof t->domains, "%s", o->joint ? "joint" : "split");
	t->attached = o->pid != 0;
	atomic_store(&t->job_pid, o->pid);
	telemetry_set(&t->period_ns, o->period_ns);
}

static int command_failed(const struct keeper *k, int error)
{
	const char *command = k->options->command[0];

	if (error == -ENOENT) {
		fprintf(stderr, "juggle: %s: command not found\n", command);
		return EXIT_NOT_FOUND;
	}
	fprintf(stderr, "juggle: cannot execute %s: %s\n", command, strerror(-error));
	return error == -EAGAIN || error == -ENOMEM || error == -EMFILE ? EXIT_JUGGLE_FAILED
									: EXIT_CANNOT_EXECUTE;
}

static int exit_status(const struct keeper *k)
{
	if (k->options->pid != 0)
		return 0;
	return WIFSIGNALED(k->status) ? 128 + WTERMSIG(k->status) : WEXITSTATUS(k->status);
}

static int set_up(struct keeper *k, struct options *options)
{
	struct check_results checked;
	int why_not;
	sigset_t all;

	int r = checks_run(options, &checked);
	k->job_fd = checked.process_fd;
	if (r < 0)
		return r;
	r = ledger_new(&k->ledger);
	if (r == 0)
		r = telemetry_create(&k->telemetry, &why_not);
	if (r < 0) {
		fprintf(stderr, "juggle: %s\n", strerror(-r));
		return r;
	}
	if (why_not != 0 && !options->quiet)
		fprintf(stderr,
			"juggle: no telemetry for jugglectl, since /dev/shm cannot be used (%s)\n",
			strerror(why_not));
	describe(k, checked.sampler);
	/* A caller that ignores SIGCHLD would have us never hear of the command's end. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &k->caller_signals.sigchld);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &k->caller_signals.blocked);
	k->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k->signal_fd < 0) {
		r = -errno;
		fprintf(stderr, "juggle: signalfd: %s\n", strerror(-r));
		return r;
	}
	/* Children whose parent ends become ours, and so stay below us and are found. */
	if (options->pid == 0)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	return 0;
}

int keeper_run(const struct options *options)
{
	struct options checked = *options;
	struct keeper k = {.options = &checked, .signal_fd = -1, .control_fd = -1, .job_fd = -1};
	uint64_t start_ns = clock_monotonic_ns();
	int status = EXIT_JUGGLE_FAILED;

	hold_standard_streams();
	if (set_up(&k, &checked) < 0)
		return EXIT_JUGGLE_FAILED;
	struct balancer_start start = {
		.options = &checked,
		.telemetry = k.telemetry,
		.ledger = k.ledger,
		.signal_fd = k.signal_fd,
	};
	int r = k.balancer = children_start_balancer(&start, &k.control_fd);
	if (r < 0) {
		fprintf(stderr, "juggle: cannot start the balancer: %s\n", strerror(-r));
		telemetry_unlink(k.telemetry);
		return EXIT_JUGGLE_FAILED;
	}
	r = 0;
	if (options->pid == 0) {
		pid_t command = children_start_command(&checked, &k.caller_signals);
		if (command < 0)
			r = command;
		else
			atomic_store(&k.telemetry->job_pid, k.command = command);
	}
	if (r == 0) {
		mind(&k);
		status = exit_status(&k);
	} else {
		status = command_failed(&k, r);
	}
	finish_balancer(&k);
	double elapsed = (double)(clock_monotonic_ns() - start_ns) * 1e-9;
	telemetry_unlink(k.telemetry);
	if (r == 0 && options->report != NULL) {
		int failed =
			report_write(options->report, report_build(k.telemetry, status, elapsed));
		if (failed < 0)
			fprintf(stderr, "juggle: --report %s: %s\n", options->report,
				strerror(-failed));
	}
	if (r == 0 && options->verbose > 0)
		report_summary(stderr, k.telemetry, elapsed);
	telemetry_unmap(k.telemetry);
	ledger_free(k.ledger);
	return status;
}
