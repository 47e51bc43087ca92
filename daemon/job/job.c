/* SPDX-License-Identifier: MIT */
#include "daemon/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/base/clock.h"
#include "daemon/job/reach.h"
#include "daemon/telemetry/writer.h"

/* Until a scan that nothing calls for, at least and at most. */
#define SCAN_ANYWAY_NS UINT64_C(1000000000)
#define SCAN_ANYWAY_MOST_NS UINT64_C(5000000000)

static bool is_known(const void *context, pid_t pid, pid_t tid)
{
	const struct job_thread *thread = roster_find(context, tid);

	return thread != NULL && thread->slot.pid == pid;
}

int job_init(struct job *job, const struct options *options, struct telemetry *telemetry,
	struct ledger *ledger, pid_t keeper)
{
	struct proc_scan_options what = {
		.root = options->pid != 0 ? options->pid : keeper,
		.include_root = options->pid != 0,
		/* With -p, juggle itself may be below the process. */
		.except = options->pid != 0 ? keeper : getpid(),
		.is_known = is_known,
		.context = &job->roster,
	};

	*job = (struct job){.options = options,
		.telemetry = telemetry,
		.telemetry_fd = -1,
		.ledger = ledger,
		.foreign = options->pid != 0 && act_may_set_mask(options->pid) == -EPERM};
	int r = sampler_new(&job->sampler, options->sampler);
	return r == 0 ? proc_scan_new(&job->scan, &what) : r;
}

void job_deinit(struct job *job)
{
	for (size_t i = 0; i < job->roster.count; i++)
		free(job->roster.entry[i].thread);
	roster_deinit(&job->roster); /* so that the last scans leave out nobody */
	if (job->ledger != NULL)
		ledger_give_back(job->ledger, job->scan);
	proc_scan_free(job->scan);
	sampler_free(job->sampler);
	*job = (struct job){0};
}

/* ---- Forgetting threads ---- */

/* Masks are given back cut down to these; NULL: as they were. */
static const struct cpuset *within(const struct job *job)
{
	return job->options->cpus_given ? &job->options->cpus : NULL;
}

/* A thread has ended. Its process may go on, as a program that it, or another thread, has executed. */
static void mend_leader(struct job *job, const struct job_thread *thread)
{
	const struct job_thread *leader = roster_find(&job->roster, thread->slot.pid);

	if (leader == NULL || leader->slot.pid != thread->slot.pid)
		return;
	if (leader == thread && ledger_is_changed(job->ledger, thread->ledger))
		(void)ledger_restore(job->ledger, thread->ledger, within(job));
	else if (leader == thread || ledger_is_changed(job->ledger, thread->ledger))
		ledger_suspect(job->ledger, leader->ledger, within(job));
}

static void forget(struct job *job, struct job_thread *thread)
{
	mend_leader(job, thread);
	roster_remove(&job->roster, thread);
	if (job->told != NULL)
		told_free_row(job->told, thread->told_row, thread->slot.pid, thread->slot.tid);
	sampler_detach(job->sampler, &thread->slot);
	job_thread_close(thread);
	ledger_forget(job->ledger, thread->ledger);
	job->listed -= thread->shown != NULL;
	job_thread_show_flags(thread, TELEMETRY_THREAD_ENDED);
	free(thread);
}

void job_forget(struct job *job, struct job_thread *list)
{
	while (list != NULL) {
		struct job_thread *next = list->next;
		forget(job, list);
		list = next;
	}
}

/* ---- Meeting threads ---- */

/* A child of a thread that we confined inherits the one CPU. Give it the mask that the ledger has
 * for it. */
static int record_mask(struct job *job, const struct proc_thread *found, struct job_thread *thread)
{
	const struct cpuset *cpus = &job->options->cpus;
	struct cpuset mask;
	bool inherited = false;
	int r = cpuset_of_thread(found->tid, &mask);

	if (r < 0)
		return r;
	/* CPUs that are offline now may come back. */
	if (!cpuset_contains(&mask, cpus))
		(void)proc_read_mask(found->pid, found->tid, &mask);
	if (cpuset_count(&mask) == 1 && cpuset_has(cpus, cpuset_nth(&mask, 0)))
		inherited = ledger_inherited(job->ledger, found, &mask) == 0;
	/* The children that it has by now may be confined, too. */
	r = inherited
		    ? ledger_record_confined(
			      job->ledger, found->pid, found->tid, found->start_ticks, &mask)
		    : ledger_record(job->ledger, found->pid, found->tid, found->start_ticks, &mask);
	if (r < 0)
		return r;
	thread->ledger = r;
	thread->short_slice = ledger_inherits_short(job->ledger, r);
	if (inherited)
		(void)ledger_restore(job->ledger, r, within(job));
	return 0;
}

static void show(struct job *job, const struct proc_thread *found, struct job_thread *thread)
{
	struct telemetry_thread *shown = NULL;

	if (job->listed < TELEMETRY_THREADS)
		shown = telemetry_slot(job->telemetry, job->telemetry_fd, &job->slot_search);
	thread->shown = shown;
	if (shown == NULL) {
		telemetry_add(&job->telemetry->unlisted, 1);
		return;
	}
	job->listed++;
	telemetry_set32(&shown->flags, 0); /* readers skip the slot meanwhile */
	atomic_thread_fence(memory_order_release);
	shown->tid = found->tid;
	shown->pid = found->pid;
	shown->start_ticks = found->start_ticks;
	job_thread_show_comm(thread, found->comm);
	telemetry_set(&shown->progress_ns, 0);
	telemetry_set(&shown->wait_ns, 0);
	telemetry_set(&shown->migrations, 0);
	atomic_store_explicit(&shown->balance_ns, 0, memory_order_relaxed);
	shown->met_ns = thread->met_ns;
	shown->told_ns = 0;
	telemetry_set(&shown->arrivals, 0);
	telemetry_set(&shown->waited_ns, 0);
	telemetry_set(&shown->useful_ns, 0);
	telemetry_set(&shown->told_until_ns, 0);
	atomic_store_explicit(&shown->os_cpu, -1, memory_order_relaxed);
	atomic_store_explicit(&shown->flags, TELEMETRY_THREAD_USED, memory_order_release);
}

static void warn_full(struct job *job)
{
	if (!job->warned_full && !job->options->quiet)
		fprintf(stderr, "juggle: too many threads; the newest are left alone\n");
	job->warned_full = true;
}

/* A thread that can't be met (because it has ended, say) is not balanced. */
static struct job_thread *meet(struct job *job, const struct proc_thread *found)
{
	struct job_thread *thread = calloc(1, sizeof *thread);

	if (thread == NULL)
		return NULL;
	thread->slot.pid = found->pid;
	thread->slot.tid = found->tid;
	thread->status_fd = -1;
	thread->told_row = TOLD_NO_ROW;
	thread->start_ticks = found->start_ticks;
	thread->met_ns = clock_monotonic_ns();
	int r = sampler_attach(job->sampler, &thread->slot);
	if (r == 0)
		r = record_mask(job, found, thread);
	if (r < 0) {
		if (r == -ENOSPC)
			warn_full(job);
		sampler_detach(job->sampler, &thread->slot);
		free(thread);
		return NULL;
	}
	thread->rule = job_thread_rule(thread, job->options, found->comm);
	reach_inherit(&job->roster, found, thread);
	show(job, found, thread);
	if (roster_add(&job->roster, thread) < 0) {
		forget(job, thread);
		return NULL;
	}
	job->new_processes |= found->pid == found->tid;
	return thread;
}

static void trace_birth(
	struct job *job, const struct proc_thread *found, const struct job_thread *thread)
{
	trace_begin(job->trace);
	trace_print(job->trace, "birth %llu %d %d %s\n", (unsigned long long)thread->met_ns,
		found->tid, found->pid, thread->shown != NULL ? thread->shown->comm : "?");
	trace_end(job->trace);
}

void job_find_usable(struct job *job, const struct cpuset *own, struct cpuset *usable)
{
	reach_find(&job->roster, job->ledger, own, within(job), usable);
}

uint64_t job_next_scan_ns(const struct job *job, enum job_scan_reason reason)
{
	/* The pause in multiples of what a scan takes. */
	static const uint64_t shares[] = {
		[JOB_SCAN_EAGER] = 4, [JOB_SCAN_WANTED] = 50, [JOB_SCAN_ANYWAY] = 500};
	uint64_t pause_ns = job->scan_ns * shares[reason];

	if (reason == JOB_SCAN_ANYWAY && pause_ns < SCAN_ANYWAY_NS)
		pause_ns = SCAN_ANYWAY_NS;
	if (reason == JOB_SCAN_ANYWAY && pause_ns > SCAN_ANYWAY_MOST_NS)
		pause_ns = SCAN_ANYWAY_MOST_NS;
	return job->scanned_ns + pause_ns;
}

struct job_thread *job_scan_threads(struct job *job)
{
	const struct proc_thread *found;
	struct job_thread *list = NULL, **end = &list;
	size_t n, ours;
	uint64_t begin_ns = clock_thread_ns();

	job->new_processes = false;
	if (proc_scan_run(job->scan, &found, &n) < 0)
		return NULL;
	job->scanned_ns = clock_monotonic_ns();
	uint64_t took_ns = clock_thread_ns() - begin_ns;
	job->scan_ns = took_ns < job->last_scan_ns ? took_ns : job->last_scan_ns;
	job->last_scan_ns = took_ns;
	ours = proc_scan_known(job->scan);
	for (size_t i = 0; i < n; i++) {
		if (roster_has(&job->roster, &found[i])) {
			ours++;
			continue;
		}
		/* Another user's thread. Ask again at each scan: it may become ours, as a child of
		 * slurmstepd does before it runs the program. */
		if (act_may_set_mask(found[i].tid) < 0)
			continue;
		ours++;
		struct job_thread *thread = meet(job, &found[i]);
		if (thread == NULL)
			continue;
		trace_birth(job, &found[i], thread);
		*end = thread;
		end = &thread->next;
	}
	job->gone = job->foreign && ours == 0 && proc_scan_settled(job->scan);
	return list;
}
