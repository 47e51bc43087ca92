/* SPDX-License-Identifier: MIT */
#include "daemon/progress/host.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/base/futex.h"
#include "daemon/telemetry/writer.h"
#include "libprogress/progress.h"

#define COST_FACTOR 100 /* time between points, at least, in multiples of their CPU time */
#define COST_SMOOTHING 8
#define WORKERS_NS UINT64_C(20000000) /* between reads of the workers */
#define CLOSED_NS UINT64_C(100000000) /* between checks whether the segment is closed */
#define SHOW_NS UINT64_C(100000000) /* between reads of the subdomains for the spread */
#define SHOW_EACH_NS UINT64_C(10000) /* the same for each subdomain: reading one takes 20 ns */
#define BUSY_NS UINT64_C(10000000) /* before the next attempt while somebody else balances */
#define BEAT_NS UINT64_C(200000000) /* renewing a claim when periods are longer */

struct progress_host {
	struct progress_host_setup setup;
	pthread_t thread;
	_Atomic uint32_t signal; /* futex: changes when there is something to do */
	_Atomic bool stop;
	pthread_mutex_t lock; /* guards `incoming` */
	struct progress_segment *incoming;
	/* Only for the host's thread: */
	struct progress_segment *segments;
	bool changed; /* workers came or went: the table of threads must be replaced */
};

void progress_host_warn(const struct options *options, pid_t pid, int error, uint32_t version)
{
	char why[64];

	if (options->quiet)
		return;
	if (error == -EPROTO)
		snprintf(why, sizeof why, "it is of version %u", version);
	else if (error == -EBADMSG)
		snprintf(why, sizeof why, "it is damaged");
	else
		snprintf(why, sizeof why, "%s", strerror(-error));
	fprintf(stderr, "juggle: cannot use the progress segment of process %d: %s\n", (int)pid,
		why);
}

uint64_t progress_host_pace(uint64_t *mean_ns, uint64_t cost_ns, uint64_t start_ns, uint64_t due_ns)
{
	if (*mean_ns == 0)
		*mean_ns = cost_ns;
	*mean_ns = (*mean_ns * (COST_SMOOTHING - 1) + cost_ns) / COST_SMOOTHING;
	uint64_t earliest = start_ns + *mean_ns * COST_FACTOR;
	return due_ns > earliest ? due_ns : earliest;
}

uint64_t progress_host_next_look(uint64_t now_ns, uint32_t subdomains, uint64_t sample_ns)
{
	uint64_t pause_ns = subdomains * SHOW_EACH_NS;
	uint64_t show_ns = now_ns + (pause_ns > SHOW_NS ? pause_ns : SHOW_NS);

	return sample_ns < show_ns ? sample_ns : show_ns;
}

struct progress_host_held progress_host_held(
	const struct progress_subdomain_view *subdomain, uint32_t n)
{
	struct progress_host_held found = {0};

	for (uint32_t s = 0; s < n; s++) {
		uint64_t updates = subdomain[s].updates;
		if (subdomain[s].holder == PROGRESS_NOBODY)
			continue;
		found.least = found.held == 0 || updates < found.least ? updates : found.least;
		found.most = updates > found.most ? updates : found.most;
		found.held++;
	}
	return found;
}

/* ---- Segments change hands ---- */

static void free_segment(struct progress_segment *segment)
{
	free(segment->worker);
	free(segment->subdomain);
	free(segment->tid);
	progress_trace_free(segment->traced);
	free(segment);
}

void progress_segment_release(struct progress_segment *segment, enum progress_segment_state why)
{
	if (atomic_exchange_explicit(&segment->state, why, memory_order_acq_rel) !=
		PROGRESS_SEGMENT_LIVE)
		free_segment(segment);
}

struct progress_segment *progress_host_add(
	struct progress_host *host, pid_t pid, struct progress_reader *reader)
{
	const struct progress_info *info = progress_reader_info(reader);
	struct progress_segment *segment = calloc(1, sizeof *segment);

	if (segment != NULL) {
		segment->worker = calloc(info->workers, sizeof *segment->worker);
		segment->tid = calloc(info->workers, sizeof *segment->tid);
		segment->subdomain = calloc(info->subdomains, sizeof *segment->subdomain);
	}
	if (segment == NULL || segment->worker == NULL || segment->tid == NULL) {
		if (segment != NULL)
			free_segment(segment);
		progress_reader_close(reader);
		return NULL;
	}
	segment->pid = pid;
	segment->reader = reader;
	segment->traced = progress_trace_new(host->setup.trace, pid, info);
	segment->balance = host->setup.options->policy->balance != NULL &&
			   info->balancing != PROGRESS_BALANCE_NONE;
	segment->shown = telemetry_progress_slot(host->setup.telemetry);
	if (segment->shown != NULL) {
		segment->shown->pid = pid;
		segment->shown->rank = info->rank;
		segment->shown->workers = info->workers;
		segment->shown->subdomains = info->subdomains;
		segment->shown->balancing = info->balancing;
		atomic_store_explicit(
			&segment->shown->flags, TELEMETRY_PROGRESS_USED, memory_order_release);
	}
	pthread_mutex_lock(&host->lock);
	segment->next = host->incoming;
	host->incoming = segment;
	pthread_mutex_unlock(&host->lock);
	atomic_fetch_add_explicit(&host->signal, 1, memory_order_release);
	futex_wake(&host->signal);
	return segment;
}

/* Returns whether there were any. */
static bool take_incoming(struct progress_host *host)
{
	pthread_mutex_lock(&host->lock);
	struct progress_segment *list = host->incoming;
	host->incoming = NULL;
	pthread_mutex_unlock(&host->lock);
	bool any = list != NULL;
	while (list != NULL) {
		struct progress_segment *next = list->next;
		list->next = host->segments;
		host->segments = list;
		list = next;
	}
	return any;
}

/* ---- Looking ---- */

static int look_at_workers(struct progress_host *host, struct progress_segment *segment)
{
	uint32_t workers = progress_reader_info(segment->reader)->workers;
	int r = progress_reader_workers(segment->reader, segment->worker);

	for (uint32_t w = 0; w < workers && r == 0; w++) {
		uint32_t tid = segment->worker[w].tid;
		if (tid != segment->tid[w]) {
			segment->tid[w] = tid;
			host->changed = true;
		} else if (tid != 0 && !host->changed) {
			struct published_thread *entry =
				published_entry(host->setup.published, segment->pid, (pid_t)tid);
			if (entry != NULL)
				atomic_store_explicit(&entry->updates, segment->worker[w].updates,
					memory_order_relaxed);
		}
	}
	return r;
}

static int look_at_subdomains(struct progress_segment *segment, uint64_t now, bool last)
{
	if ((segment->shown == NULL && segment->traced == NULL) || segment->subdomain == NULL)
		return 0;
	int r = segment->traced != NULL ? progress_reader_workers(segment->reader, segment->worker)
					: 0;
	if (r == 0)
		r = progress_reader_subdomains(segment->reader, segment->subdomain);
	if (r < 0)
		return r;
	uint32_t subdomains = progress_reader_info(segment->reader)->subdomains;
	if (segment->shown != NULL) {
		struct progress_host_held found =
			progress_host_held(segment->subdomain, subdomains);
		telemetry_set(&segment->shown->held, found.held);
		telemetry_set(&segment->shown->updates_least, found.least);
		telemetry_set(&segment->shown->updates_most, found.most);
	}
	progress_trace_look(segment->traced, now, segment->worker, segment->subdomain, last);
	return 0;
}

/* Publish the workers for the teams, after some came or went. */
static void publish(struct progress_host *host)
{
	struct published_thread *thread = NULL;
	size_t n = 0, count = 0;

	for (struct progress_segment *s = host->segments; s != NULL; s = s->next)
		for (uint32_t w = 0; w < progress_reader_info(s->reader)->workers; w++)
			count += s->tid[w] != 0;
	if (count > 0) {
		thread = malloc(count * sizeof *thread);
		if (thread == NULL)
			return; /* try again at the next visit */
	}
	for (struct progress_segment *s = host->segments; s != NULL; s = s->next)
		for (uint32_t w = 0; w < progress_reader_info(s->reader)->workers; w++)
			if (s->tid[w] != 0)
				thread[n++] = (struct published_thread){.pid = s->pid,
					.tid = (pid_t)s->tid[w],
					.balanced = s->balance,
					.updates = s->worker[w].updates};
	published_replace(host->setup.published, thread, n);
	host->changed = false;
}

/* ---- Balancing ---- */

/* One balancing point of one segment, unless somebody else balances it. */
static int balance(struct progress_host *host, struct progress_segment *segment, uint64_t now)
{
	uint64_t period_ns = progress_reader_info(segment->reader)->period_ns;
	uint32_t moves = 0;
	int r;

	segment->due_ns = now + (period_ns < BEAT_NS ? period_ns : BEAT_NS);
	if (now < segment->point_ns) {
		r = progress_reader_claim(segment->reader, getpid(), now);
		return r == -EBUSY ? 0 : r;
	}
	r = progress_reader_balance(segment->reader, now, &moves);
	if (r == -ENOTCONN) { /* not ours yet, or no longer */
		r = progress_reader_claim(segment->reader, getpid(), now);
		if (r == 0)
			r = progress_reader_balance(segment->reader, now, &moves);
	}
	if (r == -EBUSY || r == -ENOTCONN) {
		segment->due_ns = now + BUSY_NS;
		return 0;
	}
	segment->point_ns = now + period_ns;
	if (r == 0 && segment->shown != NULL) {
		telemetry_add(&segment->shown->points, 1);
		telemetry_add(&segment->shown->moves, moves);
	}
	progress_trace_moves(segment->traced, host->setup.trace, segment->pid, now,
		progress_reader_moves(segment->reader), moves);
	return r;
}

/* Do all that is due for one segment. Returns 0, or why to drop it: -ESTALE when it was closed. */
static int visit(struct progress_host *host, struct progress_segment *segment, uint64_t now)
{
	bool wanted = now < atomic_load_explicit(
				    &host->setup.published->wanted_until_ns, memory_order_relaxed);
	int r = 0;

	if (segment->balance)
		r = balance(host, segment, now);
	else
		segment->due_ns = now + (wanted ? progress_reader_info(segment->reader)->period_ns
						: WORKERS_NS);
	/* The counters are wanted during long periods, too. */
	if (wanted && segment->due_ns > now + WORKERS_NS)
		segment->due_ns = now + WORKERS_NS;
	if (r == 0 && (wanted || now >= segment->workers_ns)) {
		r = look_at_workers(host, segment);
		segment->workers_ns = now + WORKERS_NS;
	}
	if (r == 0 && now >= segment->show_ns) {
		r = look_at_subdomains(segment, now, false);
		segment->show_ns = progress_host_next_look(now,
			progress_reader_info(segment->reader)->subdomains,
			progress_trace_next(segment->traced));
	}
	if (r == 0 && now >= segment->closed_ns) {
		r = progress_reader_closed(segment->reader) ? -ESTALE : 0;
		segment->closed_ns = now + CLOSED_NS;
	}
	return r;
}

/* Read the counters a last time, give the claim back, and release the segment. */
static void drop(struct progress_host *host, struct progress_segment *segment, int error)
{
	if (error == 0 || error == -ESTALE) {
		(void)look_at_subdomains(segment, clock_monotonic_ns(), true);
	} else {
		progress_host_warn(host->setup.options, segment->pid, error, 0);
		segment->damaged = true;
	}
	progress_reader_close(segment->reader);
	if (segment->shown != NULL)
		telemetry_set32(
			&segment->shown->flags, TELEMETRY_PROGRESS_USED | TELEMETRY_PROGRESS_ENDED);
	host->changed = true;
	progress_segment_release(segment, PROGRESS_SEGMENT_DROPPED);
}

/* Visit all segments that are due. Returns when the next one is due. */
static uint64_t visit_all(struct progress_host *host, uint64_t now)
{
	uint64_t next_ns = FUTEX_FOREVER;

	for (struct progress_segment **at = &host->segments; *at != NULL;) {
		struct progress_segment *segment = *at;
		int r = 0;
		bool ended = atomic_load_explicit(&segment->state, memory_order_acquire) ==
			     PROGRESS_SEGMENT_ENDED;
		if (!ended && now >= segment->due_ns)
			r = visit(host, segment, now);
		if (ended || r < 0) {
			*at = segment->next;
			drop(host, segment, r);
			continue;
		}
		if (segment->due_ns < next_ns)
			next_ns = segment->due_ns;
		at = &segment->next;
	}
	if (host->changed)
		publish(host);
	return next_ns;
}

static void *host_main(void *argument)
{
	struct progress_host *host = argument;
	uint64_t mean_ns = 0, until_ns = 0;

	prctl(PR_SET_NAME, "juggle/plb");
	prctl(PR_SET_TIMERSLACK, 1);
	/* It runs at once when it is due. Works without. */
	(void)act_set_own_slice(ACT_SLICE_LEAST_NS);
	uint64_t used_ns = clock_thread_ns();
	for (;;) {
		uint32_t seen = atomic_load_explicit(&host->signal, memory_order_acquire);
		if (atomic_load_explicit(&host->stop, memory_order_acquire))
			break;
		uint64_t now = clock_monotonic_ns();
		if (take_incoming(host) || now >= until_ns) {
			uint64_t due_ns = visit_all(host, now);
			/* The cost includes waking up and reading the clock. */
			uint64_t before_ns = used_ns;
			used_ns = clock_thread_ns();
			until_ns = progress_host_pace(&mean_ns, used_ns - before_ns, now, due_ns);
		}
		futex_wait_until(&host->signal, seen, until_ns);
	}
	(void)take_incoming(host);
	while (host->segments != NULL) {
		struct progress_segment *segment = host->segments;
		host->segments = segment->next;
		drop(host, segment, 0);
	}
	return NULL;
}

int progress_host_new(struct progress_host **out, const struct progress_host_setup *setup)
{
	struct progress_host *host = calloc(1, sizeof *host);

	if (host == NULL)
		return -ENOMEM;
	host->setup = *setup;
	pthread_mutex_init(&host->lock, NULL);
	int r = pthread_create(&host->thread, NULL, host_main, host);
	if (r != 0) {
		pthread_mutex_destroy(&host->lock);
		free(host);
		return -r;
	}
	*out = host;
	return 0;
}

void progress_host_free(struct progress_host *host)
{
	if (host == NULL)
		return;
	atomic_store_explicit(&host->stop, true, memory_order_release);
	atomic_fetch_add_explicit(&host->signal, 1, memory_order_release);
	futex_wake(&host->signal);
	pthread_join(host->thread, NULL);
	pthread_mutex_destroy(&host->lock);
	free(host);
}
