/* SPDX-License-Identifier: MIT */
#include "daemon/balancer.h"
#include "daemon/base/clock.h"

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

#include "daemon/job/roster.h"
#include "daemon/proc/proc.h"
#include "daemon/progress/finder.h"
#include "daemon/team/team.h"
#include "daemon/telemetry/writer.h"

#define EAGER_MS 4 /* between looks for new threads while the job is starting */
#define EAGER_FOR_NS UINT64_C(1000000000)
#define CALM_MS 100
#define YOUNG_MS 10 /* while a process may still be about to publish its progress */
#define YOUNG_FOR_NS UINT64_C(1000000000)
#define CPUS_CHECK_NS UINT64_C(500000000)
#define SCAN_SHARE 50 /* a scan that took d is followed by at least this many d without */
#define EAGER_SHARE 4 /* the same while the job is starting */
#define SCAN_ANYWAY_NS UINT64_C(1000000000) /* births can be missed: look again so often */

struct scanner {
	const struct balancer_setup *setup;
	struct team_context context;
	struct topology topology;
	struct team_exchange exchange; /* the teams */
	struct proc_watch watch; /* for new threads, while the job is starting */
	struct cpuset usable; /* CPUs of -c that are online and in the cpuset now */
	struct published published; /* what threads tell of themselves */
	struct progress_finder finder;
	struct sampler *sampler; /* attaches slots */
	struct proc_scan *scan;
	struct roster roster; /* threads that were met */
	bool foreign; /* -p: the process is another user's, what we may move is below it */
	bool deserted; /* and nothing of that is left */
	uint32_t slot_search;
	uint64_t started_ns, young_until_ns, last_cpus_ns, next_scan_ns, next_eager_ns;
	bool warned_full;
	bool untraceable; /* the trace could not be begun */
};

static void warn(const struct scanner *s, const char *text, int error)
{
	if (s->setup->options->quiet)
		return;
	if (error < 0)
		fprintf(stderr, "juggle: %s: %s\n", text, strerror(-error));
	else
		fprintf(stderr, "juggle: %s\n", text);
}

/* ---- Forgetting a thread ---- */

static void forget(struct scanner *s, struct worker *worker)
{
	roster_remove(&s->roster, worker);
	sampler_detach(s->sampler, &worker->slot);
	ledger_forget(s->setup->ledger, worker->ledger);
	if (worker->shown != NULL)
		telemetry_set32(
			&worker->shown->flags, TELEMETRY_THREAD_USED | TELEMETRY_THREAD_ENDED);
	free(worker);
}

static void collect_ended(struct scanner *s)
{
	for (size_t d = 0; d < s->exchange.teams; d++) {
		struct worker *list = team_take_ended(s->exchange.team[d]);
		while (list != NULL) {
			struct worker *next = list->next;
			forget(s, list);
			list = next;
		}
	}
}

/* ---- Meeting a thread ---- */

/* A thread that is born of one that we have confined inherits that mask. What
 * it should have instead is what its process had, or, when that is new, its parent. When
 * that was never met, or has ended, any confined thread may be an ancestor.
 * ledger_restore_born() has the same rule. */
static const struct worker *confined_relative(
	const struct scanner *s, const struct proc_thread *thread)
{
	const struct worker *own = NULL, *parent = NULL, *any = NULL;
	bool own_met = false, parent_met = false;

	for (size_t i = 0; i < s->roster.count; i++) {
		const struct worker *other = s->roster.entry[i].worker;
		bool pinned = atomic_load_explicit(&other->pinned, memory_order_acquire);
		if (other->slot.pid == thread->pid) {
			own_met = true;
			own = pinned ? other : own;
		} else if (other->slot.pid == thread->ppid) {
			parent_met = true;
			parent = pinned ? other : parent;
		}
		any = pinned ? other : any;
	}
	if (own_met)
		return own;
	return parent_met ? parent : any;
}

static int record_original(
	struct scanner *s, const struct proc_thread *thread, struct worker *worker)
{
	struct cpuset mask;
	bool inherited = false;
	int r = cpuset_of_thread(thread->tid, &mask);

	if (r < 0)
		return r;
	if (cpuset_count(&mask) == 1 && cpuset_has(&s->usable, cpuset_nth(&mask, 0))) {
		const struct worker *relative = confined_relative(s, thread);
		if (relative != NULL) {
			ledger_mask(s->setup->ledger, relative->ledger, &mask);
			inherited = true;
		}
	}
	r = ledger_record(s->setup->ledger, thread->pid, thread->tid, thread->start_ticks, &mask);
	if (r < 0)
		return r;
	worker->ledger = r;
	if (inherited) {
		/* So may be what was born of it until now. */
		atomic_store_explicit(&worker->pinned, true, memory_order_release);
		ledger_confined(s->setup->ledger, r);
		(void)ledger_restore(s->setup->ledger, r,
			s->setup->options->cpus_given ? &s->setup->options->cpus : NULL);
	}
	return 0;
}

static void list_thread(struct scanner *s, const struct proc_thread *thread, struct worker *worker)
{
	struct telemetry_thread *shown = telemetry_slot(s->setup->telemetry, &s->slot_search);

	worker->shown = shown;
	if (shown == NULL) {
		telemetry_add(&s->setup->telemetry->unlisted, 1);
		return;
	}
	telemetry_set32(&shown->flags, 0); /* readers skip it meanwhile */
	atomic_thread_fence(memory_order_release);
	shown->tid = thread->tid;
	shown->pid = thread->pid;
	shown->start_ticks = thread->start_ticks;
	worker_show_comm(worker, thread->comm);
	telemetry_set(&shown->progress_ns, 0);
	telemetry_set(&shown->wait_ns, 0);
	telemetry_set(&shown->migrations, 0);
	atomic_store_explicit(&shown->balance_ns, 0, memory_order_relaxed);
	shown->met_ns = clock_monotonic_ns();
	atomic_store_explicit(&shown->os_cpu, -1, memory_order_relaxed);
	atomic_store_explicit(&shown->flags, TELEMETRY_THREAD_USED, memory_order_release);
}

/* A thread that cannot be met (gone, say) is simply not balanced. */
static struct worker *meet(struct scanner *s, const struct proc_thread *thread)
{
	struct worker *worker = calloc(1, sizeof *worker);

	if (worker == NULL)
		return NULL;
	worker->slot.pid = thread->pid;
	worker->slot.tid = thread->tid;
	worker->start_ticks = thread->start_ticks;
	int r = sampler_attach(s->sampler, &worker->slot);
	if (r == 0)
		r = record_original(s, thread, worker);
	if (r < 0) {
		if (r == -ENOSPC && !s->warned_full) {
			warn(s, "too many threads; the newest are left alone", 0);
			s->warned_full = true;
		}
		sampler_detach(s->sampler, &worker->slot);
		free(worker);
		return NULL;
	}
	worker_apply_idle_rule(worker, s->setup->options, thread->comm);
	worker->idle.idle = !worker->compute_by_rule;
	worker->met_ns = clock_monotonic_ns();
	if (thread->pid == thread->tid) {
		s->young_until_ns = worker->met_ns + YOUNG_FOR_NS;
		progress_finder_hurry(&s->finder);
	}
	list_thread(s, thread, worker);
	if (roster_add(&s->roster, worker) < 0) {
		forget(s, worker);
		return NULL;
	}
	return worker;
}

/* ---- Scanning ---- */

static void scan(struct scanner *s)
{
	const struct proc_thread *thread;
	size_t n, ours = 0;
	uint64_t begin = clock_monotonic_ns();

	collect_ended(s);
	if (proc_scan_run(s->scan, &thread, &n) < 0)
		return;
	/* Without the time of meeting threads, which is spent once for each. */
	uint64_t end = clock_monotonic_ns();
	s->next_scan_ns = end + (end - begin) * SCAN_SHARE;
	s->next_eager_ns = end + (end - begin) * EAGER_SHARE;
	for (size_t i = 0; i < n; i++) {
		if (roster_has(&s->roster, &thread[i])) {
			ours++;
			continue;
		}
		/* Another user's: cheap to ask each time, and it may become ours, as a child of
		 * slurmstepd does before it runs the program. */
		if (act_may_set_mask(thread[i].tid) < 0)
			continue;
		ours++;
		struct worker *worker = meet(s, &thread[i]);
		if (worker == NULL)
			continue;
		trace_begin(s->context.trace);
		trace_line(s->context.trace, "birth %llu %d %d %s", (unsigned long long)begin,
			thread[i].tid, thread[i].pid,
			worker->shown != NULL ? worker->shown->comm : "?");
		trace_end(s->context.trace);
		/* Any team will do: it finds the right one when the thread begins to compute. */
		worker->next = NULL;
		team_add(s->exchange.team[0], worker);
	}
	s->deserted = s->foreign && ours == 0 && proc_scan_settled(s->scan);
}

static void look_for_progress(struct scanner *s, uint64_t now)
{
	pid_t *pid;

	if (!progress_finder_due(&s->finder, now))
		return;
	size_t count = roster_processes(&s->roster, &pid);
	progress_finder_look(&s->finder, pid, count, now);
	free(pid);
}

/* ---- Teams ---- */

/* May threads pass between the teams? Only while all of them are there. */
static void open_exchange(struct scanner *s, bool open)
{
	pthread_mutex_lock(&s->exchange.lock);
	s->exchange.open = open;
	pthread_mutex_unlock(&s->exchange.lock);
}

static void stop_teams(struct scanner *s, struct worker **workers)
{
	*workers = NULL;
	open_exchange(s, false);
	for (size_t d = 0; d < s->exchange.teams; d++)
		team_stop(s->exchange.team[d]);
	for (size_t d = 0; d < s->exchange.teams; d++) {
		struct worker *list = team_free(s->exchange.team[d]);
		while (list != NULL) {
			struct worker *next = list->next;
			list->next = *workers;
			*workers = list;
			list = next;
		}
	}
	free(s->exchange.team);
	free(s->exchange.threads);
	free(s->exchange.cpus);
	s->exchange.team = NULL;
	s->exchange.threads = s->exchange.cpus = NULL;
	s->exchange.teams = 0;
	topology_deinit(&s->topology);
	telemetry_set32(&s->setup->telemetry->threads, 0);
	telemetry_set32(&s->setup->telemetry->idle_threads, 0);
}

static void show_cpus(struct scanner *s)
{
	struct telemetry *t = s->setup->telemetry;
	size_t count = s->topology.cpus < TELEMETRY_CPUS ? s->topology.cpus : TELEMETRY_CPUS;

	for (size_t i = 0; i < count; i++)
		telemetry_cpus(t)[i] = (struct telemetry_cpu){
			.os_cpu = s->topology.cpu[i].os_cpu, .domain = s->topology.cpu[i].domain};
	telemetry_set32(&t->cpus, (uint32_t)count);
}

static int start_teams(struct scanner *s)
{
	int r = topology_init(&s->topology, &s->usable, s->setup->options->joint);

	if (r < 0)
		return r;
	s->exchange.team = calloc(s->topology.domains, sizeof *s->exchange.team);
	s->exchange.threads = calloc(s->topology.domains, sizeof *s->exchange.threads);
	s->exchange.cpus = calloc(s->topology.domains, sizeof *s->exchange.cpus);
	if (s->exchange.team == NULL || s->exchange.threads == NULL || s->exchange.cpus == NULL)
		return -ENOMEM;
	show_cpus(s);
	if (s->setup->options->trace != NULL && s->context.trace == NULL && !s->untraceable) {
		r = trace_new(&s->context.trace, s->setup->options->trace, s->setup->telemetry);
		s->untraceable = r < 0;
		if (r < 0)
			warn(s, "there will be no trace", r);
	}
	for (size_t i = 0; i < s->topology.cpus;) {
		size_t count = 1;
		while (i + count < s->topology.cpus &&
			s->topology.cpu[i + count].domain == s->topology.cpu[i].domain)
			count++;
		r = team_new(&s->exchange.team[s->exchange.teams], &s->context, &s->topology.cpu[i],
			count);
		if (r < 0)
			return r;
		s->exchange.cpus[s->exchange.teams++] = (uint32_t)count;
		i += count;
	}
	open_exchange(s, true);
	return 0;
}

/* The header of the trace tells the CPUs of the start; here they are others. */
static void trace_cpus(struct scanner *s)
{
	char list[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < s->topology.cpus && used + 32 < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, " %d:%d",
			s->topology.cpu[i].os_cpu, s->topology.cpu[i].domain);
	trace_begin(s->context.trace);
	trace_line(s->context.trace, "cpus %llu%s", (unsigned long long)clock_monotonic_ns(), list);
	trace_end(s->context.trace);
}

/* CPUs went offline, came back, or left or joined the cpuset: begin anew with those that
 * can be used. The kernel shows by the mask of this very thread, which asked for all. */
static int check_cpus(struct scanner *s)
{
	struct cpuset usable;
	struct worker *workers;

	s->last_cpus_ns = clock_monotonic_ns();
	if (cpuset_of_thread(0, &usable) < 0 || cpuset_count(&usable) == 0 ||
		memcmp(&usable, &s->usable, sizeof usable) == 0)
		return 0;
	stop_teams(s, &workers);
	s->usable = usable;
	int r = start_teams(s);
	if (r < 0)
		return r;
	trace_cpus(s);
	while (workers != NULL) {
		struct worker *next = workers->next;
		if (workers->slot.error == -ESRCH)
			forget(s, workers);
		else {
			workers->next = NULL;
			workers->chosen = false;
			team_add(s->exchange.team[0], workers);
		}
		workers = next;
	}
	return 0;
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

static int set_up(struct scanner *s)
{
	const struct options *options = s->setup->options;
	struct proc_scan_options what = {
		.root = options->pid != 0 ? options->pid : s->setup->keeper,
		.include_root = options->pid != 0,
		/* With -p, juggle may itself be below the process: both of its processes are then. */
		.except = options->pid != 0 ? s->setup->keeper : getpid(),
	};

	s->started_ns = clock_monotonic_ns();
	s->foreign = options->pid != 0 && act_may_set_mask(options->pid) == -EPERM;
	proc_watch_init(&s->watch);
	pthread_mutex_init(&s->exchange.lock, NULL);
	published_init(&s->published);
	s->context = (struct team_context){
		.options = options,
		.telemetry = s->setup->telemetry,
		.ledger = s->setup->ledger,
		.published = &s->published,
		.exchange = &s->exchange,
		.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	if (s->context.kick_fd < 0)
		return -errno;
	int r = act_set_mask(0, &options->cpus);
	if (r == 0)
		r = cpuset_of_thread(0, &s->usable);
	if (r == 0)
		r = sampler_new(&s->sampler, options->sampler);
	if (r < 0)
		return r;
	s->context.sampler = sampler_kind(s->sampler);
	r = proc_scan_new(&s->scan, &what);
	if (r == 0)
		r = start_teams(s);
	struct progress_host_setup host = {
		.options = options,
		.telemetry = s->setup->telemetry,
		.trace = s->context.trace,
		.published = &s->published,
	};
	progress_finder_init(&s->finder, &host);
	return r;
}

static void tear_down(struct scanner *s)
{
	struct worker *workers;

	progress_finder_deinit(&s->finder);
	stop_teams(s, &workers);
	ledger_restore_all(s->setup->ledger);
	if (s->scan != NULL)
		ledger_restore_born(s->setup->ledger, s->scan);
	while (workers != NULL) {
		struct worker *next = workers->next;
		free(workers);
		workers = next;
	}
	trace_free(s->context.trace);
	proc_watch_deinit(&s->watch);
	published_deinit(&s->published);
	pthread_mutex_destroy(&s->exchange.lock);
	proc_scan_free(s->scan);
	sampler_free(s->sampler);
	roster_deinit(&s->roster);
	if (s->context.kick_fd >= 0)
		close(s->context.kick_fd);
}

static void show_cost(struct scanner *s)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		telemetry_set(&s->setup->telemetry->balancer_cpu_ns,
			((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) *
					1000000000u +
				((uint64_t)usage.ru_utime.tv_usec +
					(uint64_t)usage.ru_stime.tv_usec) *
					1000u);
}

/* Returns 0 when told to finish or when nothing is left to balance, or a negative errno. */
static int run(struct scanner *s)
{
	struct pollfd fds[2] = {
		{.fd = s->setup->control_fd, .events = POLLIN},
		{.fd = s->context.kick_fd, .events = POLLIN},
	};
	bool wanted = true;

	for (;;) {
		uint64_t now = clock_monotonic_ns();
		bool eager = now - s->started_ns < EAGER_FOR_NS;
		if ((eager && proc_watch_changed(&s->watch)) ||
			now >= s->next_scan_ns + SCAN_ANYWAY_NS)
			wanted = true;
		if (wanted && now >= (eager ? s->next_eager_ns : s->next_scan_ns)) {
			scan(s);
			if (s->deserted)
				return 0;
			wanted = !proc_scan_settled(s->scan);
			now = clock_monotonic_ns();
		}
		look_for_progress(s, now);
		if (now - s->last_cpus_ns >= CPUS_CHECK_NS) {
			int r = check_cpus(s);
			if (r < 0)
				return r;
			collect_ended(s);
		}
		show_cost(s);
		int r = trace_flush(s->context.trace);
		if (r < 0)
			warn(s, "the trace stops here", r);
		int wait_ms = eager ? EAGER_MS : now < s->young_until_ns ? YOUNG_MS : CALM_MS;
		if (wanted && s->next_scan_ns > now && (s->next_scan_ns - now) / 1000000 < CALM_MS)
			wait_ms = (int)((s->next_scan_ns - now) / 1000000) + 1;
		if (poll(fds, 2, wait_ms) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents != 0)
			return 0;
		eventfd_t count;
		if (fds[1].revents != 0 && eventfd_read(s->context.kick_fd, &count) == 0) {
			wanted = true;
			s->last_cpus_ns = 0;
		}
	}
}

int balancer_run(const struct balancer_setup *setup)
{
	struct scanner scanner = {.setup = setup};

	prctl(PR_SET_NAME, "juggle/balance");
	close_standard_streams();
	raise_descriptor_limit();
	int r = set_up(&scanner);
	if (r == 0) {
		telemetry_set32(&setup->telemetry->state, TELEMETRY_RUNNING);
		r = run(&scanner);
	}
	if (r < 0)
		warn(&scanner, "balancing ends, the job runs on", r);
	tear_down(&scanner);
	show_cost(&scanner);
	telemetry_set32(&setup->telemetry->state, r < 0 ? TELEMETRY_LOST : TELEMETRY_ENDED);
	return r < 0 ? EXIT_JUGGLE_FAILED : 0;
}
