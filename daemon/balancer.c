/* SPDX-License-Identifier: MIT */
#include "daemon/balancer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/base/clock.h"
#include "daemon/job/job.h"
#include "daemon/job/limit.h"
#include "daemon/progress/finder.h"
#include "daemon/team/teams.h"
#include "daemon/telemetry/writer.h"

/* Between looks for published progress and for what changes beside the job: this part of the age of the
 * youngest process, as programs publish their progress soon after they begin. Unless the period is long,
 * the teams look for births more often, and kick. */
#define PAUSE_SHARE 4
#define PAUSE_LEAST_MS 10
#define PAUSE_UNTIL_EXECUTED_MS 1 /* by the command, which nothing announces */
#define PAUSE_MOST_MS 500
#define EAGER_FOR_NS UINT64_C(1000000000) /* the job is starting */
#define CPUS_CHECK_NS UINT64_C(500000000)
#define REFUSED_WAIT_MOST_NS UINT64_C(30000000000)
#define NEIGHBOURS_NS UINT64_C(500000000) /* while the job is starting, with each look */
#define FIGURES_NS UINT64_C(500000000) /* of what the hypervisor takes, and of what is shown */
#define PATIENCE_NS UINT64_C(5000000000) /* until threads that -n expects are missed */
#define TABLES_NS UINT64_C(1000000000) /* between looks for tables of phases, with -p */
#define TABLES_SHARE 100 /* the same in multiples of what the last look took */

struct balancer {
	const struct balancer_setup *setup;
	struct job job;
	struct teams teams;
	struct published published; /* what programs publish of their threads */
	struct told told; /* what their runtimes tell */
	struct neighbours neighbours;
	struct stolen stolen;
	struct progress_finder finder;
	struct proc_watch watch; /* notices births where no team does */
	struct limit limit; /* by the job's quota */
	struct cpuset reachable; /* those of teams.own that the job's cpusets leave it */
	struct cpuset usable; /* those of them that the teams use */
	struct trace *trace; /* NULL: none */
	int kick_fd;
	bool missed; /* it was said that threads are missing */
	uint64_t started_ns, youngest_ns, last_cpus_ns, last_neighbours_ns, last_figures_ns,
		next_tables_ns;
	/* While the same CPUs are refused again and again, as processes of the job are in different
	 * cpusets: look no earlier than this, and how much later the next time. */
	uint64_t refused_until_ns, refused_wait_ns;
};

static void warn(const struct balancer_setup *setup, const char *text, int error)
{
	if (!setup->options->quiet)
		fprintf(stderr, "juggle: %s: %s\n", text, strerror(-error));
}

/* ---- Checks from time to time ---- */

/* Before the command is executed, its process is a copy of the keeper, and no part of the job. */
static bool is_executed(const struct balancer *b)
{
	return atomic_load_explicit(&b->setup->telemetry->job_pid, memory_order_relaxed) != 0;
}

static void scan(struct balancer *b)
{
	job_forget(&b->job, teams_take_ended(&b->teams));
	struct job_thread *met = job_scan_threads(&b->job);
	if (b->job.new_processes) {
		b->youngest_ns = b->job.scanned_ns;
		progress_finder_hurry(&b->finder);
	}
	teams_add(&b->teams, met);
}

static void look_for_progress(struct balancer *b, uint64_t now_ns)
{
	pid_t *pid;

	if (!progress_finder_due(&b->finder, now_ns))
		return;
	size_t count = roster_processes(&b->job.roster, &pid);
	progress_finder_look(&b->finder, pid, count, now_ns);
	free(pid);
}

/* Processes that juggle has not started may have tables of phases of their own. */
static void look_for_tables(struct balancer *b, uint64_t now_ns)
{
	pid_t *pid;

	if (b->setup->options->phases == PHASES_OFF || now_ns < b->next_tables_ns)
		return;
	if (b->setup->options->pid != 0) {
		size_t count = roster_processes(&b->job.roster, &pid);
		for (size_t i = 0; i < count; i++)
			(void)told_add_process(&b->told, pid[i]);
		free(pid);
	}
	told_sweep(&b->told, now_ns);
	uint64_t end_ns = clock_monotonic_ns();
	b->next_tables_ns = end_ns + TABLES_NS + (end_ns - now_ns) * TABLES_SHARE;
}

static bool is_refused(struct balancer *b, uint64_t now_ns)
{
	return now_ns >= b->refused_until_ns &&
	       atomic_exchange_explicit(&b->teams.refused, false, memory_order_relaxed);
}

/* Which CPUs can the job reach? Of what the teams were refused until now, job_find_usable() learns
 * all. No thread may be confined. */
static void find_reachable(struct balancer *b, const struct cpuset *own, uint64_t now_ns)
{
	struct cpuset before = b->reachable;

	atomic_store_explicit(&b->teams.refused, false, memory_order_relaxed);
	b->teams.own = *own;
	job_find_usable(&b->job, own, &b->reachable);
	if (memcmp(&b->reachable, &before, sizeof before) != 0)
		b->refused_wait_ns = 0;
	else if (b->refused_wait_ns < REFUSED_WAIT_MOST_NS)
		b->refused_wait_ns = 2 * b->refused_wait_ns + CPUS_CHECK_NS;
	b->refused_until_ns = now_ns + b->refused_wait_ns;
}

static void find_usable(const struct balancer *b, struct cpuset *out)
{
	const struct topology_setup setup = options_topology(b->setup->options);

	*out = b->reachable;
	limit_cut(&b->limit, &setup, out);
}

/* Returns whether it has changed. */
static bool look_at_quota(struct balancer *b, uint64_t now_ns)
{
	pid_t pid = atomic_load_explicit(&b->setup->telemetry->job_pid, memory_order_relaxed);
	double before = b->limit.quota.cpus;

	if (pid == 0 || !limit_due(&b->limit, now_ns))
		return false;
	limit_look(&b->limit, pid, now_ns);
	return b->limit.quota.cpus != before;
}

/* Begin anew with other CPUs when some went offline or came back, or left or joined a cpuset, or when
 * the quota is enough for more of them, or fewer. The mask of this thread, which asked for all CPUs,
 * shows our own; the teams notice the job's. */
static int check_cpus(struct balancer *b, bool new_quota, uint64_t now_ns)
{
	struct cpuset own, usable;
	bool refused = is_refused(b, now_ns);

	b->last_cpus_ns = now_ns;
	if (cpuset_of_thread(0, &own) < 0 || cpuset_count(&own) == 0)
		return 0;
	bool moved = memcmp(&own, &b->teams.own, sizeof own) != 0 || refused;
	if (!moved && !new_quota)
		return 0;
	if (!moved) {
		find_usable(b, &usable);
		if (memcmp(&usable, &b->usable, sizeof usable) == 0)
			return 0;
	}
	struct job_thread *threads = teams_stop(&b->teams);
	if (moved)
		find_reachable(b, &own, now_ns);
	find_usable(b, &b->usable);
	int r = teams_start(&b->teams, &b->usable);
	if (r < 0)
		return r;
	teams_add(&b->teams, threads);
	return 0;
}

/* Say once that nothing is balanced, because fewer compute threads have come than -n expects. */
static void miss_threads(struct balancer *b, bool ended)
{
	const struct options *options = b->setup->options;
	uint32_t most = telemetry_get32(&b->setup->telemetry->threads_most);

	if (b->missed || options->quiet || options->policy == &policy_kind_observe || most == 0 ||
		most >= options->threads)
		return;
	b->missed = true;
	fprintf(stderr,
		"juggle: -n %u: %s more than %u compute thread%s at the same time, so nothing %s\n",
		options->threads, ended ? "there were never" : "until now there were not", most,
		most == 1 ? "" : "s", ended ? "was balanced" : "is balanced yet");
}

static void show_cost(const struct balancer *b)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		telemetry_set(&b->setup->telemetry->balancer_cpu_ns,
			((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) *
					1000000000u +
				((uint64_t)usage.ru_utime.tv_usec +
					(uint64_t)usage.ru_stime.tv_usec) *
					1000u);
}

static void show_told(const struct balancer *b)
{
	struct telemetry *t = b->setup->telemetry;
	struct told_site *site;
	size_t sites = told_sites(&b->told, &site);

	telemetry_set32(&t->told, told_sources(&b->told));
	for (size_t i = 0; i < sites; i++)
		telemetry_show_site(t, site[i].name, site[i].waits, site[i].waited_ns);
	free(site);
}

/* ---- The process ---- */

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void close_standard_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		close(null);
	}
}

static void start_trace(struct balancer *b)
{
	const struct options *options = b->setup->options;

	if (options->trace == NULL)
		return;
	int r = trace_new(&b->trace, options, b->setup->telemetry);
	if (r < 0)
		warn(b->setup, "no trace will be written", r);
}

static int set_up(struct balancer *b)
{
	const struct balancer_setup *setup = b->setup;
	const struct options *options = setup->options;

	b->started_ns = b->youngest_ns = clock_monotonic_ns();
	limit_init(&b->limit, setup->telemetry, b->started_ns);
	proc_watch_init(&b->watch);
	published_init(&b->published);
	told_init(&b->told, setup->phases);
	neighbours_init(&b->neighbours);
	b->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->kick_fd < 0)
		return -errno;
	int r = act_set_mask(0, &options->cpus);
	if (r == 0)
		r = cpuset_of_thread(0, &b->teams.own);
	b->reachable = b->teams.own;
	/* The command began in the same groups as this process. */
	limit_look(&b->limit, options->pid, b->started_ns);
	find_usable(b, &b->usable);
	if (r == 0)
		r = job_init(&b->job, options, setup->telemetry, setup->ledger, setup->keeper);
	if (r < 0)
		return r;
	b->job.telemetry_fd = setup->telemetry_fd;
	b->job.trace = b->trace;
	b->job.told = &b->told;
	const struct progress_host_setup host = {.options = options,
		.telemetry = setup->telemetry,
		.trace = b->trace,
		.published = &b->published};
	progress_finder_init(&b->finder, &host);
	b->teams.context = (struct team_context){.options = options,
		.telemetry = setup->telemetry,
		.ledger = setup->ledger,
		.trace = b->trace,
		.published = &b->published,
		.told = &b->told,
		.neighbours = &b->neighbours,
		.stolen = &b->stolen,
		.sampler = sampler_kind(b->job.sampler),
		.kick_fd = b->kick_fd};
	return teams_start(&b->teams, &b->usable);
}

static void tear_down(struct balancer *b)
{
	progress_finder_deinit(&b->finder);
	show_told(b);
	(void)teams_stop(&b->teams); /* the job's roster has their threads, too */
	job_deinit(&b->job);
	int r = trace_free(b->trace);
	if (r < 0)
		warn(b->setup, "the trace ends early", r);
	proc_watch_deinit(&b->watch);
	published_deinit(&b->published);
	told_deinit(&b->told);
	if (b->kick_fd >= 0)
		close(b->kick_fd);
}

/* How long to sleep. A scan is due at next_scan_ns, if one is wanted. */
static int pause_ms(const struct balancer *b, uint64_t now_ns, bool wanted, uint64_t next_scan_ns)
{
	uint64_t age_ms = (now_ns - b->youngest_ns) / 1000000;
	uint64_t pause_ms = age_ms / PAUSE_SHARE;

	if (!is_executed(b))
		return PAUSE_UNTIL_EXECUTED_MS;
	if (pause_ms < PAUSE_LEAST_MS)
		pause_ms = PAUSE_LEAST_MS;
	if (pause_ms > PAUSE_MOST_MS)
		pause_ms = PAUSE_MOST_MS;
	if (wanted && next_scan_ns > now_ns && (next_scan_ns - now_ns) / 1000000 < pause_ms)
		return (int)((next_scan_ns - now_ns) / 1000000) + 1;
	return (int)pause_ms;
}

/* Returns 0 when asked to finish, or when nothing is left to balance; or a negative errno. */
static int run(struct balancer *b)
{
	struct pollfd fds[2] = {
		{.fd = b->setup->control_fd, .events = POLLIN},
		{.fd = b->kick_fd, .events = POLLIN},
	};
	bool wanted = true;

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		bool starting = now_ns - b->started_ns < EAGER_FOR_NS;
		enum job_scan_reason reason = starting ? JOB_SCAN_EAGER : JOB_SCAN_WANTED;
		if (proc_watch_changed(&b->watch) ||
			now_ns >= job_next_scan_ns(&b->job, JOB_SCAN_ANYWAY))
			wanted = true;
		if (is_executed(b) && wanted && now_ns >= job_next_scan_ns(&b->job, reason)) {
			scan(b);
			if (b->job.gone)
				return 0;
			wanted = !proc_scan_settled(b->job.scan);
			now_ns = clock_monotonic_ns();
		}
		look_for_progress(b, now_ns);
		look_for_tables(b, now_ns);
		bool new_quota = look_at_quota(b, now_ns);
		if (new_quota || now_ns - b->last_cpus_ns >= CPUS_CHECK_NS) {
			int r = check_cpus(b, new_quota, now_ns);
			if (r < 0)
				return r;
			job_forget(&b->job, teams_take_ended(&b->teams));
		}
		if (starting || now_ns - b->last_neighbours_ns >= NEIGHBOURS_NS) {
			b->last_neighbours_ns = now_ns;
			neighbours_look(&b->neighbours, b->setup->telemetry, clock_monotonic_ns());
		}
		if (now_ns - b->last_figures_ns >= FIGURES_NS) {
			b->last_figures_ns = now_ns;
			stolen_look(&b->stolen, now_ns);
			teams_show_stolen(&b->teams);
			show_cost(b);
			show_told(b);
		}
		if (now_ns - b->started_ns >= PATIENCE_NS)
			miss_threads(b, false);
		int r = trace_flush(b->trace);
		if (r < 0)
			warn(b->setup, "the trace ends early", r);
		uint64_t next_scan_ns = job_next_scan_ns(&b->job, reason);
		if (poll(fds, 2, pause_ms(b, now_ns, wanted, next_scan_ns)) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents != 0)
			return 0;
		eventfd_t count;
		if (fds[1].revents != 0 && eventfd_read(b->kick_fd, &count) == 0) {
			wanted = true;
			b->last_cpus_ns = 0;
		}
	}
}

#define ENDS "balancing ends; the job keeps running"

/* Returns 0 or a negative errno. */
static int balance(struct balancer *b)
{
	int r = set_up(b);

	if (r == 0) {
		telemetry_set32(&b->setup->telemetry->state, TELEMETRY_RUNNING);
		r = run(b);
	}
	if (r < 0)
		warn(b->setup, ENDS, r);
	if (r == 0)
		miss_threads(b, true);
	tear_down(b);
	show_cost(b);
	return r;
}

int balancer_run(const struct balancer_setup *setup)
{
	struct balancer *b = calloc(1, sizeof *b);
	int r = -ENOMEM;

	prctl(PR_SET_NAME, "juggle/balance");
	if (b != NULL) {
		b->setup = setup;
		b->kick_fd = -1;
		b->teams.context.telemetry = setup->telemetry;
		start_trace(b); /* which may be /dev/stdout */
		close_standard_streams();
		raise_descriptor_limit();
		r = balance(b);
	} else {
		warn(setup, ENDS, r);
	}
	free(b);
	telemetry_set32(&setup->telemetry->state, r < 0 ? TELEMETRY_LOST : TELEMETRY_ENDED);
	return r < 0 ? EXIT_JUGGLE_FAILED : 0;
}
