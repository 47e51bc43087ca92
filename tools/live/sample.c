/* SPDX-License-Identifier: MIT */
/* One sample of a job: the contents of its segments and, where they lack something, of /proc. */
#include "tools/live/internal.h"

#include "daemon/base/text.h"
#include "daemon/policy/policy.h"
#include "daemon/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- What is not in a segment ---- */

/* CPU time of a thread since it began, and how long it waited for a CPU. */
static int read_schedstat(pid_t pid, pid_t tid, uint64_t *run_ns, uint64_t *wait_ns)
{
	char path[64], text[128];

	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ssize_t n = read(fd, text, sizeof text - 1);
	int error = n < 0 ? -errno : 0;
	close(fd);
	if (error != 0)
		return error;
	text[n] = '\0';
	char *end;
	*run_ns = strtoull(text, &end, 10);
	*wait_ns = strtoull(end, NULL, 10);
	return 0;
}

/* ---- juggle's part ---- */

static int site_order(const void *a, const void *b)
{
	const struct live_site *x = a, *y = b;

	if (x->waited_ns != y->waited_ns)
		return x->waited_ns < y->waited_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void take_sites(const struct telemetry *t, struct live_sample *out)
{
	if (telemetry_get32(&t->told) == 0)
		text_printable(out->not_told, sizeof out->not_told, t->untold, sizeof t->untold);
	out->sites = telemetry_get32(&t->sites);
	for (size_t i = 0; i < out->sites; i++) {
		const struct telemetry_site *site = &t->site[i];
		out->site[i] = (struct live_site){.waits = telemetry_get(&site->waits),
			.waited_ns = telemetry_get(&site->waited_ns)};
		text_printable(
			out->site[i].name, sizeof out->site[i].name, site->name, sizeof site->name);
	}
	qsort(out->site, out->sites, sizeof *out->site, site_order);
}

static void take_header(const struct telemetry *t, struct live_sample *out)
{
	out->wrapped = true;
	out->juggle_pid = t->pid;
	out->job_pid = atomic_load_explicit(&t->job_pid, memory_order_relaxed);
	out->start_ns = t->start_ns;
	out->attached = t->attached != 0;
	out->lost = telemetry_get32(&t->state) == TELEMETRY_LOST;
	out->balancing = telemetry_get32(&t->regime) == POLICY_BALANCE;
	out->reason = policy_reason_text((enum policy_reason)telemetry_get32(&t->reason));
	live_job_command(t, out->command, sizeof out->command);
	text_printable(out->policy, sizeof out->policy, t->policy, sizeof t->policy);
	text_printable(out->sampler, sizeof out->sampler, t->sampler, sizeof t->sampler);
	text_printable(out->balancers, sizeof out->balancers, t->balancers, sizeof t->balancers);
	text_printable(out->domains, sizeof out->domains, t->domains, sizeof t->domains);
	text_printable(out->speeds_from, sizeof out->speeds_from, t->speeds, sizeof t->speeds);
	out->quota_cpus = (double)telemetry_get(&t->quota) * 1e-3;
	out->throttled_ns = telemetry_get(&t->throttled_ns);
	out->period_ns = telemetry_get(&t->period_ns);
	out->heartbeat_ns = telemetry_get(&t->heartbeat_ns);
	out->idle_threads = telemetry_get32(&t->idle_threads);
	out->cycles = telemetry_get(&t->cycles);
	out->migrations = telemetry_get(&t->migrations);
	out->regime_changes = telemetry_get(&t->regime_changes);
	out->balancer_cpu_ns = telemetry_get(&t->balancer_cpu_ns);
	out->balanced_ns = telemetry_get(&t->balanced_ns);
	out->declined_ns = telemetry_declined_ns(t);
	out->ways = telemetry_ways(t, out->way);
	for (int k = 0; k < POLICY_PACES; k++)
		out->pace[k] = (struct live_pace){.time_ns = telemetry_get(&t->pace[k].time_ns),
			.least_ns = telemetry_get(&t->pace[k].least_ns),
			.most_ns = telemetry_get(&t->pace[k].most_ns)};
	out->phase_ns = telemetry_get(&t->phase_ns);
	out->point_ns = telemetry_get(&t->point_ns);
	out->cycle_median_ns = telemetry_quantile_ns(t, 0.5);
	out->cycle_max_ns = telemetry_get(&t->cycle_max_ns);
	/* Quantiles are the middles of ranges; the maximum is exact. */
	out->cycle_p99_ns = telemetry_quantile_ns(t, 0.99);
	if (out->cycle_p99_ns > out->cycle_max_ns)
		out->cycle_p99_ns = out->cycle_max_ns;
	out->unlisted = telemetry_get(&t->unlisted);
	take_sites(t, out);
	if (out->unlisted > 0) /* else those that are listed count, as they are shown */
		out->compute_threads = telemetry_get32(&t->threads);
}

static int cpu_order(const void *a, const void *b)
{
	const struct live_cpu *x = a, *y = b;

	return (x->os_cpu > y->os_cpu) - (x->os_cpu < y->os_cpu);
}

/* A domain has at least one CPU, so there can't be more domains than CPUs. */
static bool is_cpu(const struct telemetry_cpu *raw)
{
	return raw->os_cpu >= 0 && raw->domain >= 0 && raw->domain < TELEMETRY_CPUS;
}

static struct live_cpu make_cpu(const struct telemetry_cpu *raw)
{
	uint32_t speed = telemetry_get32(&raw->speed), stolen = telemetry_get32(&raw->stolen);

	return (struct live_cpu){.os_cpu = raw->os_cpu,
		.domain = raw->domain,
		.speed = speed > 0 && speed <= 1000 ? speed * 1e-3 : NAN,
		.stolen = stolen <= 1000 ? stolen * 1e-3 : 1};
}

/* Sort by number and drop duplicates. Returns how many are left. */
static size_t sort_cpus(struct live_cpu *cpu, size_t n)
{
	size_t kept = 0;

	if (n > 0)
		qsort(cpu, n, sizeof *cpu, cpu_order);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || cpu[i].os_cpu != cpu[kept - 1].os_cpu)
			cpu[kept++] = cpu[i];
	return kept;
}

static int take_cpus(struct telemetry_reader *reader, uint32_t n, struct live_sample *out)
{
	struct telemetry_cpu *raw = calloc(n + 1, sizeof *raw);
	int error = raw == NULL ? -ENOMEM : telemetry_reader_cpus(reader, raw, n);

	out->cpu = calloc(n + 1, sizeof *out->cpu);
	if (error == 0 && out->cpu == NULL)
		error = -ENOMEM;
	for (uint32_t i = 0; i < n && error == 0; i++)
		if (is_cpu(&raw[i]))
			out->cpu[out->cpus++] = make_cpu(&raw[i]);
	free(raw);
	if (error == 0)
		out->cpus = sort_cpus(out->cpu, out->cpus);
	return error;
}

static struct live_cpu *find_cpu(const struct live_sample *sample, int32_t os_cpu)
{
	struct live_cpu key = {.os_cpu = os_cpu};

	return sample->cpus == 0 ? NULL
				 : bsearch(&key, sample->cpu, sample->cpus, sizeof key, cpu_order);
}

static void take_thread(struct live_job *job, const struct telemetry_thread *raw,
	const struct live_sample *sample, struct live_thread *out)
{
	uint32_t flags = telemetry_get32(&raw->flags);

	*out = (struct live_thread){
		.tid = raw->tid,
		.pid = raw->pid,
		.rank = live_job_rank(job, raw->pid),
		.os_cpu = atomic_load_explicit(&raw->os_cpu, memory_order_relaxed),
		.compute = (flags & TELEMETRY_THREAD_COMPUTE) != 0,
		.domain = -1,
		.since_ns = raw->met_ns,
		.progress_ns = telemetry_get(&raw->progress_ns),
		.balance_ns = atomic_load_explicit(&raw->balance_ns, memory_order_relaxed),
		.wait_ns = telemetry_get(&raw->wait_ns),
		.migrations = telemetry_get(&raw->migrations),
		.told = (flags & TELEMETRY_THREAD_TOLD) != 0,
		.told_ns = raw->told_ns,
		.told_until_ns = telemetry_get(&raw->told_until_ns),
		.arrivals = telemetry_get(&raw->arrivals),
		.useful_ns = telemetry_get(&raw->useful_ns),
		.waited_ns = telemetry_get(&raw->waited_ns),
		.process = -1,
		.worker = -1,
	};
	text_printable(out->comm, sizeof out->comm, raw->comm, sizeof raw->comm);
	out->placed = out->os_cpu >= 0;
	if (!out->placed && proc_read_cpu(out->pid, out->tid, &out->os_cpu) != 0)
		out->os_cpu = -1;
	struct live_cpu *cpu = find_cpu(sample, out->os_cpu);
	if (cpu != NULL) {
		out->domain = cpu->domain;
		cpu->threads += out->compute;
	}
}

static bool is_there(const struct telemetry_thread *raw)
{
	uint32_t flags = telemetry_get32(&raw->flags);

	return (flags & TELEMETRY_THREAD_USED) && !(flags & TELEMETRY_THREAD_ENDED) &&
	       raw->pid > 0 && raw->tid > 0;
}

static int take_threads(struct live_job *job, uint32_t slots, struct live_sample *out)
{
	struct telemetry_thread *raw = malloc((slots + 1) * sizeof *raw);
	int error = raw == NULL ? -ENOMEM : telemetry_reader_threads(job->reader, raw, slots);

	out->thread = malloc((slots + 1) * sizeof *out->thread);
	if (error == 0 && out->thread == NULL)
		error = -ENOMEM;
	for (uint32_t i = 0; i < slots && error == 0; i++) {
		if (!is_there(&raw[i]))
			continue;
		take_thread(job, &raw[i], out, &out->thread[out->threads]);
		if (out->unlisted == 0)
			out->compute_threads += out->thread[out->threads].compute;
		out->threads++;
	}
	live_job_forget_ranks(job);
	free(raw);
	return error;
}

/* The processes that publish, as juggle has found them. */
static int update_members(struct live_job *job, uint32_t slots, uint64_t now_ns)
{
	struct telemetry_progress *raw = malloc((slots + 1) * sizeof *raw);
	pid_t *pid = malloc((slots + 1) * sizeof *pid);
	size_t n = 0;
	int error = raw == NULL || pid == NULL ? -ENOMEM
					       : telemetry_reader_progress(job->reader, raw, slots);

	for (uint32_t i = 0; i < slots && error == 0; i++) {
		uint32_t flags = telemetry_get32(&raw[i].flags);
		if ((flags & TELEMETRY_PROGRESS_USED) && !(flags & TELEMETRY_PROGRESS_ENDED) &&
			raw[i].pid > 0)
			pid[n++] = raw[i].pid;
	}
	if (error == 0)
		error = live_job_update(job, pid, n, now_ns);
	free(pid);
	free(raw);
	return error;
}

static int take_wrapped(struct live_job *job, struct live_sample *out)
{
	struct telemetry t;

	if (telemetry_reader_closed(job->reader))
		return -ESRCH;
	int error = telemetry_reader_header(job->reader, &t);
	if (error != 0)
		return error;
	if (telemetry_get32(&t.state) == TELEMETRY_ENDED || live_process_gone(job->pid, t.start_ns))
		return -ESRCH;
	take_header(&t, out);
	error = take_cpus(job->reader, telemetry_get32(&t.cpus), out);
	if (error == 0)
		error = take_threads(job, telemetry_get32(&t.slots), out);
	if (error == 0)
		error = update_members(job, telemetry_get32(&t.progress_slots), out->now_ns);
	return error;
}

/* ---- libprogress's part ---- */

static void sum_up(struct live_process *process)
{
	double sum = 0;

	process->least = UINT64_MAX;
	for (uint32_t s = 0; s < process->subdomains; s++) {
		const struct progress_subdomain_view *view = &process->subdomain[s];
		if (view->holder == UINT32_MAX)
			continue;
		process->held++;
		sum += (double)view->updates;
		if (view->updates < process->least)
			process->least = view->updates;
		if (view->updates > process->most)
			process->most = view->updates;
	}
	if (process->held == 0)
		process->least = 0;
	process->mean = process->held == 0 ? NAN : sum / process->held;
	process->spread = process->most - process->least;
	for (uint32_t w = 0; w < process->workers; w++) {
		process->updates += process->worker[w].updates;
	}
}

static void free_process(struct live_process *process)
{
	free(process->worker);
	free(process->subdomain);
	free(process->updates_per_s);
}

/* A segment may be a sparse file, which claims any number of records at no cost to its program, but
 * costs us memory. */
struct budget {
	uint32_t workers, subdomains; /* left in this sample */
};

static bool spend(struct budget *budget, const struct progress_info *info)
{
	if (info->workers > budget->workers || info->subdomains > budget->subdomains)
		return false;
	budget->workers -= info->workers;
	budget->subdomains -= info->subdomains;
	return true;
}

static int read_process(
	struct progress_reader *reader, struct budget *budget, struct live_process *out)
{
	struct progress_balancer_view balancer;
	const struct progress_info *info = progress_reader_info(reader);

	if (!spend(budget, info))
		return -E2BIG;
	out->worker = malloc(info->workers * sizeof *out->worker);
	out->subdomain = malloc(info->subdomains * sizeof *out->subdomain);
	out->updates_per_s = malloc(info->subdomains * sizeof *out->updates_per_s);
	if (out->worker == NULL || out->subdomain == NULL || out->updates_per_s == NULL)
		return -ENOMEM;
	int error = progress_reader_workers(reader, out->worker);
	if (error == 0)
		error = progress_reader_subdomains(reader, out->subdomain);
	if (error == 0)
		error = progress_reader_balancer(reader, &balancer);
	if (error != 0)
		return error;
	out->workers = info->workers;
	out->subdomains = info->subdomains;
	out->asked = info->balancing;
	out->created_ns = info->created_ns;
	out->balancer_pid = (pid_t)balancer.pid;
	out->points = balancer.points;
	out->moves = balancer.moves;
	sum_up(out);
	return 0;
}

/* Only -ENOMEM is returned; other errors are recorded in *out. */
static int take_process(
	const struct live_member *member, struct budget *budget, struct live_process *out)
{
	*out = (struct live_process){
		.pid = member->pid, .rank = member->rank, .error = member->error};
	memcpy(out->command, member->command, sizeof out->command);
	if (member->reader == NULL)
		return 0;
	int error = read_process(member->reader, budget, out);
	if (error != 0) {
		free_process(out);
		out->worker = NULL;
		out->subdomain = NULL;
		out->updates_per_s = NULL;
		out->error = error;
	}
	return error == -ENOMEM ? error : 0;
}

static int process_order(const void *a, const void *b)
{
	const struct live_process *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int take_processes(const struct live_job *job, struct live_sample *out)
{
	struct budget budget = {.workers = LIVE_WORKERS_MAX, .subdomains = LIVE_SUBDOMAINS_MAX};
	int error = 0;

	out->process = calloc(job->members + 1, sizeof *out->process);
	if (out->process == NULL)
		return -ENOMEM;
	uint64_t least = UINT64_MAX, most = 0;
	for (size_t i = 0; i < job->members && error == 0; i++) {
		struct live_process *process = &out->process[out->processes++];
		error = take_process(&job->member[i], &budget, process);
		out->workers += process->workers;
		out->subdomains += process->held;
		if (process->held > 0) {
			least = process->least < least ? process->least : least;
			most = process->most > most ? process->most : most;
		}
	}
	out->spread = out->subdomains > 0 ? most - least : 0;
	qsort(out->process, out->processes, sizeof *out->process, process_order);
	return error;
}

/* ---- Threads that are workers ---- */

/* A worker as a thread, for programs without juggle. */
static bool worker_thread(const struct live_process *process, uint32_t w, struct live_thread *out)
{
	struct proc_thread found;
	pid_t tid = (pid_t)process->worker[w].tid;

	*out = (struct live_thread){.tid = tid,
		.pid = process->pid,
		.rank = process->rank,
		.os_cpu = -1,
		.domain = -1,
		.compute = true};
	if (tid <= 0 || proc_read_thread(process->pid, tid, &found) != 0 ||
		read_schedstat(process->pid, tid, &out->progress_ns, &out->wait_ns) != 0)
		return false;
	if (proc_read_cpu(process->pid, tid, &out->os_cpu) != 0)
		out->os_cpu = -1;
	out->since_ns = proc_birth_ns(found.start_ticks);
	out->balance_ns = (int64_t)out->progress_ns;
	text_printable(out->comm, sizeof out->comm, found.comm, sizeof found.comm);
	return true;
}

static int make_threads(struct live_sample *out)
{
	out->thread = malloc((out->workers + 1) * sizeof *out->thread);
	if (out->thread == NULL)
		return -ENOMEM;
	for (size_t p = 0; p < out->processes; p++)
		for (uint32_t w = 0; w < out->process[p].workers; w++)
			if (worker_thread(&out->process[p], w, &out->thread[out->threads]))
				out->threads++;
	out->compute_threads = out->threads;
	return 0;
}

static int thread_order(const void *a, const void *b)
{
	const struct live_thread *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

struct process_of {
	pid_t pid;
	int32_t process;
};

static int pid_order(const void *a, const void *b)
{
	const struct process_of *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Find the process of each thread. Returns 0 or -ENOMEM. */
static int name_processes(struct live_sample *out)
{
	struct process_of *of = malloc((out->processes + 1) * sizeof *of);

	if (of == NULL)
		return -ENOMEM;
	for (size_t p = 0; p < out->processes; p++)
		of[p] = (struct process_of){out->process[p].pid, (int32_t)p};
	qsort(of, out->processes, sizeof *of, pid_order);
	for (size_t i = 0; i < out->threads; i++) {
		struct live_thread *thread = &out->thread[i];
		const struct process_of key = {.pid = thread->pid};
		const struct process_of *found =
			bsearch(&key, of, out->processes, sizeof *of, pid_order);
		if (found == NULL)
			continue;
		thread->process = found->process;
		/* The rank that the program itself published, so that both are sorted alike. */
		thread->rank = out->process[found->process].rank;
	}
	free(of);
	return 0;
}

/* Find the worker of each thread. */
static void name_workers(struct live_sample *out)
{
	if (out->threads == 0)
		return;
	qsort(out->thread, out->threads, sizeof *out->thread, thread_order);
	for (size_t p = 0; p < out->processes; p++) {
		const struct live_process *process = &out->process[p];
		for (uint32_t w = 0; w < process->workers; w++) {
			struct live_thread key = {.pid = process->pid,
				.rank = process->rank,
				.tid = (pid_t)process->worker[w].tid};
			struct live_thread *thread =
				key.tid <= 0 ? NULL
					     : bsearch(&key, out->thread, out->threads, sizeof key,
						       thread_order);
			if (thread != NULL) {
				thread->worker = (int32_t)w;
				thread->updates = process->worker[w].updates;
			}
		}
	}
}

/* ---- All of it ---- */

static int take_unwrapped(struct live_job *job, struct live_sample *out)
{
	int error = live_job_update(job, NULL, 0, out->now_ns);

	if (error == 0 && job->members == 0)
		error = -ESRCH;
	memcpy(out->command, job->command, sizeof out->command);
	out->reason = "";
	return error;
}

int live_take(struct live_job *job, struct live_sample *out)
{
	*out = (struct live_sample){.now_ns = clock_monotonic_ns(), .uid = job->uid};
	int error = job->reader != NULL ? take_wrapped(job, out) : take_unwrapped(job, out);

	if (error == 0)
		error = take_processes(job, out);
	if (error == 0 && !out->wrapped)
		error = make_threads(out);
	if (error == 0)
		error = name_processes(out);
	if (error != 0) {
		live_sample_deinit(out);
		return error;
	}
	name_workers(out);
	for (size_t p = 0; p < out->processes && !out->wrapped; p++)
		if (p == 0 || out->process[p].created_ns < out->start_ns)
			out->start_ns = out->process[p].created_ns;
	return 0;
}

void live_sample_deinit(struct live_sample *sample)
{
	for (size_t p = 0; p < sample->processes; p++)
		free_process(&sample->process[p]);
	free(sample->process);
	free(sample->thread);
	free(sample->cpu);
	*sample = (struct live_sample){0};
}

bool live_speeds_differ(const struct live_sample *sample)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < sample->cpus; i++) {
		least = fmin(least, sample->cpu[i].speed); /* ignores NAN */
		most = fmax(most, sample->cpu[i].speed);
	}
	return least < most;
}

double live_stolen(const struct live_sample *sample)
{
	double sum = 0;

	for (size_t i = 0; i < sample->cpus; i++)
		sum += sample->cpu[i].stolen;
	return sample->cpus > 0 ? sum / (double)sample->cpus : 0;
}

const char *live_regime_name(bool balancing)
{
	return balancing ? "balance" : "aside";
}
