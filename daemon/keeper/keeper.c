/* SPDX-License-Identifier: MIT */
/*
 * The order of a run, and the loop in it. First come the checks, the memory that is shared, and
 * the signals; then the command, and after it the balancer, or before it, if an account is
 * wanted; at the end the segment's name is removed and the report written. What to do meanwhile is
 * decided in state.c and carried out here.
 */
#include "daemon/keeper/keeper.h"

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

#include "daemon/base/clock.h"
#include "daemon/base/quota.h"
#include "daemon/base/text.h"
#include "daemon/keeper/checks.h"
#include "daemon/keeper/children.h"
#include "daemon/keeper/fit.h"
#include "daemon/keeper/report.h"
#include "daemon/keeper/state.h"
#include "daemon/policy/policy.h"
#include "daemon/proc/proc.h"
#include "daemon/telemetry/writer.h"
#include "daemon/topology/topology.h"
#include "libprogress/phases/make.h"
#include "libprogress/reader/reader.h"
#include "libprogress/reader/segment_file.h"

#define MS_NS UINT64_C(1000000)

extern char **environ;

struct keeper {
	const struct options *options;
	struct telemetry *telemetry;
	int telemetry_fd; /* negative: there is no file */
	struct ledger *ledger;
	struct caller_signals caller_signals; /* what the command gets */
	int signal_fd;
	int control_fd; /* to the balancer */
	int life_fd; /* closed when this process has ended */
	int process_fd; /* -p: pidfd of the process */
	int fifo_fd[2]; /* kept open for their readers */
	struct preload preload; /* of libphases */
	struct phases_table *phases; /* NULL: there is none */
	int phases_fd; /* from which the job opens it */
	char phases_path[48]; /* "": nothing is preloaded */
	bool asked; /* whether the speeds of CPUs differ, and for the quota */
	struct keeper_state state;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Starting the balancer ---- */

/* Returns 0, or a negative errno. A command runs on without a balancer. */
static int start_balancer(struct keeper *k)
{
	const struct balancer_start start = {
		.options = k->options,
		.telemetry = k->telemetry,
		.telemetry_fd = k->telemetry_fd,
		.ledger = k->ledger,
		.phases = k->phases,
		.signal_fd = k->signal_fd,
	};
	pid_t pid = children_start_balancer(&start, &k->control_fd, &k->life_fd);

	if (pid < 0) {
		telemetry_set32(&k->telemetry->state, TELEMETRY_LOST);
		if (k->state.attached || !k->options->quiet)
			fprintf(stderr, "juggle: cannot start the balancer: %s%s\n", strerror(-pid),
				k->state.attached ? "" : "; the command runs without it");
		return pid;
	}
	k->state.balancer = pid;
	return 0;
}

/* ---- Carrying out what the state machine says ---- */

/* A balancer that fails has said so itself; one that is killed cannot. */
static void balancer_lost(struct keeper *k, int signal)
{
	bool attached = k->options->pid != 0;
	const struct proc_scan_options what = {
		.root = attached ? k->options->pid : getpid(), .include_root = attached};
	struct proc_scan *scan = NULL;
	(void)proc_scan_new(&scan, &what);
	size_t count = ledger_give_back(k->ledger, scan);
	proc_scan_free(scan);

	telemetry_set32(&k->telemetry->state, TELEMETRY_LOST);
	telemetry_set32(&k->telemetry->regime, POLICY_ASIDE);
	if (signal != 0 && !k->options->quiet)
		fprintf(stderr,
			"juggle: the balancer was killed (%s); the job keeps running, and its %zu "
			"threads have their original affinity masks\n",
			strsignal(signal), count);
}

/* Take an event through the state machine and carry the actions out. Returns whether children
 * are to be reaped: that is left to the caller, since each of them is an event, too. */
static bool handle(struct keeper *k, struct keeper_event event)
{
	event.now_ns = clock_monotonic_ns();
	struct keeper_actions actions = keeper_state_step(&k->state, &event);
	if (actions.pass_on != 0)
		kill(k->state.command, actions.pass_on);
	if (actions.stop)
		raise(SIGSTOP);
	if (actions.start_balancer)
		(void)start_balancer(k);
	if (actions.close_control)
		close_fd(&k->control_fd);
	if (actions.kill_balancer)
		kill(k->state.balancer, SIGKILL);
	if (actions.restore)
		balancer_lost(k, actions.balancer_signal);
	return actions.reap;
}

/* ---- Watching ---- */

static void reap(struct keeper *k)
{
	struct keeper_event event = {.kind = KEEPER_EVENT_CHILD};

	while ((event.pid = waitpid(-1, &event.wait_status, WNOHANG | WUNTRACED)) > 0)
		handle(k, event);
}

static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void read_signals(struct keeper *k)
{
	struct signalfd_siginfo info;

	while (read(k->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		struct keeper_event event = {
			.kind = KEEPER_EVENT_SIGNAL,
			.pid = (pid_t)info.ssi_pid,
			.signal = (int)info.ssi_signo,
			.code = info.ssi_code,
			.ignored = is_ignored((int)info.ssi_signo),
		};
		if (handle(k, event))
			reap(k);
	}
}

/* Threads that may use only some of the CPUs can be too many for those, whatever they tell. */
static struct told_outline told_of_job(const struct keeper *k, uint64_t now_ns)
{
	struct cpuset mask;

	if (cpuset_of_thread(k->state.command, &mask) == 0 &&
		!cpuset_contains(&mask, &k->options->cpus))
		return (struct told_outline){0};
	return told_outline(
		k->phases, (now_ns - k->state.start_ns) * cpuset_count(&k->options->cpus));
}

static bool younger_than(const struct keeper *k, uint64_t now_ns, uint64_t ms)
{
	return now_ns < k->state.start_ns + ms * MS_NS;
}

static int cpus_at_a_time(const struct keeper *k)
{
	struct quota quota;

	quota_init(&quota, "");
	(void)quota_look(&quota, k->state.command);
	return quota_cpus_of(quota.cpus, cpuset_count(&k->options->cpus));
}

/* Asked once, and not of short commands: reading takes as long as many looks. */
static void ask(struct keeper *k, uint64_t now_ns, struct keeper_sight *sight)
{
	const struct topology_setup setup = options_topology(k->options);

	if (k->asked || younger_than(k, now_ns, KEEPER_SPEEDS_MS))
		return;
	k->asked = true;
	sight->speeds_differ = topology_speeds_differ(&k->options->cpus, &setup);
	sight->at_a_time = cpus_at_a_time(k);
}

static bool publishes(pid_t pid)
{
	int fd = segment_file_open(&progress_reader_files, geteuid(), pid, false);
	bool found = fd >= 0;

	close_fd(&fd);
	return found;
}

static struct keeper_sight look_around(struct keeper *k, uint64_t now_ns)
{
	const struct options *o = k->options;

	struct keeper_sight sight = {
		.wanted = o->always || o->speed != NULL || o->policy != &policy_kind_juggle,
		.publishes = publishes(k->state.command),
		.young = younger_than(k, now_ns, KEEPER_YOUNG_MS),
		.running = proc_running(),
		.online = (int)sysconf(_SC_NPROCESSORS_ONLN),
		.usable = cpuset_count(&o->cpus),
		.at_a_time = cpuset_count(&o->cpus),
		.told = told_of_job(k, now_ns),
	};
	ask(k, now_ns, &sight);
	return sight;
}

static void pass_time(struct keeper *k)
{
	struct keeper_event event = {.kind = KEEPER_EVENT_TIME};
	uint64_t now_ns = clock_monotonic_ns();

	if (keeper_state_wait_ms(&k->state, now_ns) != 0)
		return;
	if (k->state.phase == KEEPER_STARTING) {
		const struct keeper_sight sight = look_around(k, now_ns);
		event.load = keeper_load_of(&sight);
		told_let_all_rest(k->phases, keeper_lets_rest(&sight) ? PHASES_RESTS : 0);
	}
	handle(k, event);
}

/* Wait until the job is over and the balancer has ended. Signals come first: a juggle that was
 * stopped for long finds out that the balancer has finished before it finds that its time is
 * over. Returns 0, or the negative errno of poll(). */
static int watch(struct keeper *k)
{
	struct pollfd fds[2] = {
		{.fd = k->signal_fd, .events = POLLIN},
		{.fd = k->process_fd, .events = POLLIN},
	};

	while (k->state.phase != KEEPER_OVER) {
		int wait_ms = keeper_state_wait_ms(&k->state, clock_monotonic_ns());
		if (poll(fds, 2, wait_ms) < 0 && errno != EINTR)
			return -errno;
		read_signals(k);
		if (fds[1].revents != 0) {
			fds[1] = (struct pollfd){.fd = -1};
			handle(k, (struct keeper_event){.kind = KEEPER_EVENT_NO_JOB});
		}
		pass_time(k);
	}
	return 0;
}

/* ---- Before the start ---- */

/* Descriptors of ours must not get the numbers of standard streams that the caller closed: the
 * balancer replaces its own, and messages go to 2. The command finds them closed. */
static void hold_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* ---- Phases ---- */

/* The job opens our descriptor, and gets none by itself. */
static void make_phases(struct keeper *k)
{
	int r = phases_make(&k->phases_fd, &k->phases);

	if (r < 0) {
		k->preload.wanted = false;
		k->preload.impossible = true;
		snprintf(k->preload.why, sizeof k->preload.why, "no table: %s", strerror(-r));
		return;
	}
	snprintf(k->phases_path, sizeof k->phases_path, "/proc/%d/fd/%d", (int)getpid(),
		k->phases_fd);
}

static void set_up_phases(struct keeper *k)
{
	const struct options *o = k->options;

	if (o->pid != 0 && o->phases != PHASES_OFF)
		return; /* the processes may have tables of their own */
	preload_decide(&k->preload, o->phases, (const char *const *)o->command,
		(const char *const *)environ);
	if (k->preload.wanted)
		make_phases(k);
	if (k->preload.impossible && o->phases == PHASES_ON && !o->quiet)
		text_line(stderr, "juggle: --phases on is not possible: %s", k->preload.why);
	if (!k->preload.wanted)
		memcpy(k->telemetry->untold, k->preload.why, sizeof k->preload.why);
}

/* The part of telemetry that stays as it is. */
static void describe_run(struct keeper *k, enum sampler_kind sampler)
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
	snprintf(t->policy, sizeof t->policy, "%s", o->policy->name);
	snprintf(t->sampler, sizeof t->sampler, "%s", sampler_kind_name(sampler));
	snprintf(t->balancers, sizeof t->balancers, "domain");
	snprintf(t->domains, sizeof t->domains, "%s", topology_domains_names[o->domains]);
	t->attached = o->pid != 0;
	atomic_store(&t->job_pid, o->pid);
	telemetry_set(&t->period_ns, o->period_ns);
}

/* What the keeper shares with the balancer. */
static int share_memory(struct keeper *k)
{
	int r = ledger_new(&k->ledger);

	if (r == 0)
		r = telemetry_create(&k->telemetry, &k->telemetry_fd);
	if (r < 0)
		fprintf(stderr, "juggle: %s\n", strerror(-r));
	return r;
}

/* From here on signals wait until they are read. */
static int block_signals(struct keeper *k)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	sigset_t all;

	/* A caller that ignores SIGCHLD would keep the ends of our children from us. */
	sigaction(SIGCHLD, &by_default, &k->caller_signals.sigchld);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &k->caller_signals.blocked);
	k->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k->signal_fd >= 0)
		return 0;
	int r = -errno;
	fprintf(stderr, "juggle: signalfd: %s\n", strerror(-r));
	return r;
}

static int set_up(struct keeper *k, struct options *options)
{
	struct check_results checked;
	int r = checks_run(options, &checked);

	k->process_fd = checked.process_fd;
	k->fifo_fd[0] = checked.fifo_fd[0];
	k->fifo_fd[1] = checked.fifo_fd[1];
	if (r == 0 && options->fit)
		r = fit_environment(options);
	if (r == 0)
		r = block_signals(k); /* SIGXFSZ, too, which a limit on files would kill us with */
	if (r == 0)
		r = share_memory(k);
	if (r < 0)
		return r;
	set_up_phases(k);
	describe_run(k, checked.sampler);
	/* Children whose parent ends become ours, and so stay below us and are found. */
	if (r == 0 && options->pid == 0)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	return r;
}

/* ---- Running ---- */

/* Say why the command did not start. Returns the exit status for that. */
static int explain_command(const char *command, int error)
{
	if (error == -ENOENT) {
		text_line(stderr, "juggle: %s: command not found", command);
		return EXIT_NOT_FOUND;
	}
	text_line(stderr, "juggle: cannot execute %s: %s", command, strerror(-error));
	return error == -EAGAIN || error == -ENOMEM || error == -EMFILE ? EXIT_JUGGLE_FAILED
									: EXIT_CANNOT_EXECUTE;
}

/* Returns 0, or a negative errno, with *status set. */
static int start_command(struct keeper *k, int *status)
{
	const struct command_start start = {.options = k->options,
		.caller = &k->caller_signals,
		.preload = &k->preload,
		.table = k->phases_path};
	pid_t pid = children_start_command(&start);

	if (pid < 0) {
		*status = explain_command(k->options->command[0], pid);
		return pid;
	}
	k->state.command = pid;
	atomic_store(&k->telemetry->job_pid, pid);
	return 0;
}

/* These give an account of every command, from its beginning on. */
static bool gives_account(const struct options *options)
{
	return options->verbose > 0 || options->report != NULL || options->trace != NULL;
}

/* Start the command, and before it the balancer, if that is not to begin later. Returns 0, or a negative
 * errno, with *status set. */
static int start_job(struct keeper *k, int *status)
{
	if (gives_account(k->options)) {
		k->state.phase = KEEPER_WATCHING;
		(void)start_balancer(k);
	}
	int r = start_command(k, status);
	if (r < 0) {
		handle(k, (struct keeper_event){.kind = KEEPER_EVENT_NO_JOB});
	} else if (k->state.phase == KEEPER_STARTING) {
		uint64_t now_ns = clock_monotonic_ns();
		k->state.deadline_ns = now_ns + KEEPER_SOON_MS * MS_NS;
		k->state.start_ns = now_ns;
	}
	return r;
}

/* Start the job or attach to it, and wait for its end. Returns 0 when it has run, with *status set to
 * the exit status of juggle; else a negative errno after a message, with *status set where it is not
 * EXIT_JUGGLE_FAILED. */
static int run(struct keeper *k, int *status)
{
	int r = k->state.attached ? start_balancer(k) : start_job(k, status);

	if (r < 0 && k->state.attached)
		return r;
	int failed = watch(k);
	if (failed < 0)
		fprintf(stderr, "juggle: poll: %s\n", strerror(-failed));
	else if (r == 0)
		*status = keeper_state_exit_status(&k->state);
	return r == 0 ? failed : r;
}

/* In one piece, since ranks that are each wrapped end at the same time. */
static void say(const struct keeper *k, double elapsed_s,
	void (*print)(FILE *out, const struct telemetry *telemetry, double elapsed_s))
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (out == NULL)
		return;
	print(out, k->telemetry, elapsed_s);
	if (fclose(out) == 0)
		fwrite(text, 1, bytes, stderr);
	free(text);
}

static void report(const struct keeper *k, int status, double elapsed_s)
{
	const char *path = k->options->report;

	if (path != NULL) {
		int r = report_write(path, report_build(k->telemetry, status, elapsed_s));
		if (r < 0)
			text_line(stderr, "juggle: --report %s: %s", path, strerror(-r));
	}
	if (k->options->verbose > 0)
		say(k, elapsed_s, report_summary);
	else if (!k->options->quiet && isatty(STDERR_FILENO) && isatty(STDOUT_FILENO))
		say(k, elapsed_s, report_line);
}

static void tear_down(struct keeper *k)
{
	close_fd(&k->telemetry_fd);
	close_fd(&k->control_fd);
	close_fd(&k->life_fd);
	close_fd(&k->process_fd);
	close_fd(&k->signal_fd);
	close_fd(&k->fifo_fd[0]);
	close_fd(&k->fifo_fd[1]);
	if (k->telemetry != NULL)
		telemetry_unmap(k->telemetry);
	ledger_free(k->ledger);
	close_fd(&k->phases_fd);
	phases_unmap(k->phases);
}

int keeper_run(const struct options *options)
{
	struct options checked = *options;
	struct keeper k = {
		.options = &checked,
		.telemetry_fd = -1,
		.signal_fd = -1,
		.control_fd = -1,
		.life_fd = -1,
		.process_fd = -1,
		.fifo_fd = {-1, -1},
		.phases_fd = -1,
		.state = {.keeper = getpid(),
			.attached = options->pid != 0,
			.phase = options->pid != 0 ? KEEPER_WATCHING : KEEPER_STARTING,
			.leads_session = getsid(0) == getpid()},
	};
	uint64_t start_ns = clock_monotonic_ns();
	int status = EXIT_JUGGLE_FAILED;

	hold_standard_streams();
	int r = set_up(&k, &checked);
	if (r == 0)
		r = run(&k, &status);
	double elapsed_s = (double)(clock_monotonic_ns() - start_ns) * 1e-9;
	/* However the run ended, the segment's name must not stay behind. */
	if (k.telemetry != NULL)
		telemetry_unlink(getpid());
	if (r == 0)
		report(&k, status, elapsed_s);
	tear_down(&k);
	return status;
}
