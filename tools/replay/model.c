/* SPDX-License-Identifier: MIT */
/* What a trace shows of the program and its run; see model.h. */
#include "tools/replay/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define DIFFERENCES_MAX 4096
#define LEAD_POINTS 64 /* a lead is forgotten over this many points */
#define CLUSTER_MIN 5
#define NEAR 0.05 /* of a phase: how near a time must be to a whole number of phases */
#define NEAR_SHARE 0.4 /* by chance it would be a tenth; some sleeps are false */
#define PHASES_JUDGED 4
#define PHASE_MIN_PERIODS 1.5 /* shorter phases begin and end unseen */

/* What the trace has shown of a thread so far. */
struct course {
	int32_t tid;
	double run_ns; /* so far */
	double lead_ns; /* over the mean of the others; long-term drift is forgotten */
	double slept_at_ns; /* the value of run_ns when it was last found asleep; < 0: never */
	double zero_ns; /* for how long it has neither run nor waited */
};

/* A stretch in which one domain had all its threads. */
struct stretch {
	uint64_t begin_ns, end_ns;
	size_t threads;
};

struct reader {
	const struct trace_file *trace;
	struct replay_model *model;
	struct stretch *stretch; /* TRACE_DOMAINS_MAX */
	struct course *course; /* by tid */
	size_t courses;
	double wait_ns, thread_time_ns, lag_sum_ns;
	uint64_t placed, lags;
	double *difference_ns;
	size_t differences;
};

static int by_tid(const void *a, const void *b)
{
	const struct course *one = a, *other = b;

	return (one->tid > other->tid) - (one->tid < other->tid);
}

static struct course *find(const struct reader *r, int32_t tid)
{
	struct course key = {.tid = tid};

	return bsearch(&key, r->course, r->courses, sizeof(key), by_tid);
}

/* ---- When all threads were there ---- */

struct span {
	uint32_t domain;
	size_t threads;
	double ns;
};

static int by_threads(const void *a, const void *b)
{
	const struct span *one = a, *other = b;

	if (one->domain != other->domain)
		return one->domain < other->domain ? -1 : 1;
	return (one->threads > other->threads) - (one->threads < other->threads);
}

/* How many threads each domain had for the longest time. */
static int find_threads(struct reader *r)
{
	const struct trace_file *trace = r->trace;
	struct span *span = calloc(trace->points + 1, sizeof(*span));
	double best[TRACE_DOMAINS_MAX] = {0}, sum = 0;

	if (span == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < trace->points; i++)
		span[i] = (struct span){.domain = trace->point[i].domain,
			.threads = trace->point[i].threads,
			.ns = (double)trace->point[i].elapsed_ns};
	qsort(span, trace->points, sizeof(*span), by_threads);
	for (size_t i = 0; i < trace->points; i++) {
		bool same = i > 0 && by_threads(&span[i], &span[i - 1]) == 0;
		uint32_t domain = span[i].domain;

		sum = same ? sum + span[i].ns : span[i].ns;
		if (span[i].threads > 0 && sum >= best[domain]) {
			best[domain] = sum;
			r->stretch[domain].threads = span[i].threads;
		}
	}
	free(span);
	return 0;
}

static int find_stretches(struct reader *r)
{
	const struct trace_file *trace = r->trace;
	struct replay_model *model = r->model;
	uint64_t threads = 0;

	for (size_t i = 0; i < trace->points; i++) {
		const struct trace_point *point = &trace->point[i];
		struct stretch *stretch = &r->stretch[point->domain];

		if (point->threads == 0 || point->threads != stretch->threads)
			continue;
		if (stretch->begin_ns == 0)
			stretch->begin_ns = point->now_ns;
		stretch->end_ns = point->now_ns;
	}
	for (size_t d = 0; d < TRACE_DOMAINS_MAX; d++) {
		const struct stretch *stretch = &r->stretch[d];

		if (stretch->end_ns <= stretch->begin_ns)
			continue;
		threads += stretch->threads;
		if (model->begin_ns == 0 || stretch->begin_ns < model->begin_ns)
			model->begin_ns = stretch->begin_ns;
		if (stretch->end_ns > model->end_ns)
			model->end_ns = stretch->end_ns;
	}
	model->threads = threads < UINT32_MAX ? (uint32_t)threads : UINT32_MAX;
	return threads > 0 ? 0 : -ENODATA;
}

static int list_threads(struct reader *r)
{
	const struct trace_file *trace = r->trace;
	size_t count = 0;

	for (size_t i = 0; i < trace->points; i++)
		count += trace->point[i].threads;
	r->course = calloc(count + 1, sizeof(*r->course));
	if (r->course == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < trace->points; i++)
		for (size_t k = 0; k < trace->point[i].threads; k++)
			r->course[r->courses++] = (struct course){
				.tid = trace->point[i].thread[k].tid, .slept_at_ns = -1};
	qsort(r->course, r->courses, sizeof(*r->course), by_tid);
	size_t kept = 0;
	for (size_t i = 0; i < r->courses; i++)
		if (kept == 0 || r->course[kept - 1].tid != r->course[i].tid)
			r->course[kept++] = r->course[i];
	r->courses = kept;
	return 0;
}

/* ---- Along the trace ---- */

/* Was a thread asleep in the periods without any CPU time or waiting? The times of a running thread
 * may be reported late; then they are longer than the period in which they appear. */
static void look_for_sleep(struct reader *r, struct course *course,
	const struct trace_thread *thread, double elapsed_ns)
{
	double used = (double)thread->run_ns + (double)thread->wait_ns;

	if (used <= 0) {
		course->zero_ns += elapsed_ns;
		return;
	}
	if (course->zero_ns > 0 && used < elapsed_ns + course->zero_ns / 2) {
		double at = course->run_ns;
		if (course->slept_at_ns >= 0 && at > course->slept_at_ns &&
			r->differences < DIFFERENCES_MAX)
			r->difference_ns[r->differences++] = at - course->slept_at_ns;
		course->slept_at_ns = at;
	}
	course->zero_ns = 0;
}

/* The difference between the leads of a point's threads. Not all CPU time is progress, so leads
 * drift apart in the long run without meaning anything; that drift is forgotten. */
static double lag_of(struct reader *r, const struct trace_point *point)
{
	double least = INFINITY, most = -INFINITY, mean = 0;

	for (size_t i = 0; i < point->threads; i++)
		mean += (double)point->thread[i].run_ns / (double)point->threads;
	for (size_t i = 0; i < point->threads; i++) {
		struct course *course = find(r, point->thread[i].tid);

		course->lead_ns += (double)point->thread[i].run_ns - mean;
		course->lead_ns -= course->lead_ns / LEAD_POINTS;
		least = fmin(least, course->lead_ns);
		most = fmax(most, course->lead_ns);
	}
	return most - least;
}

static void take_point(struct reader *r, const struct trace_point *point)
{
	struct replay_model *model = r->model;
	bool placed = point->threads > 0;

	for (size_t i = 0; i < point->threads; i++) {
		const struct trace_thread *thread = &point->thread[i];
		struct course *course = find(r, thread->tid);

		look_for_sleep(r, course, thread, (double)point->elapsed_ns);
		course->run_ns += (double)thread->run_ns;
		model->work_ns += (double)thread->run_ns;
		r->wait_ns += (double)thread->wait_ns;
		r->thread_time_ns += (double)point->elapsed_ns;
		model->idle_auto |= thread->rule == POLICY_RULE_NONE;
		placed = placed && thread->os_cpu >= 0;
	}
	model->points++;
	model->migrations += point->moves;
	r->placed += placed;
	if (point->threads > 0) {
		double lag_ns = lag_of(r, point);
		model->lag_ns = fmax(model->lag_ns, lag_ns);
		r->lag_sum_ns += lag_ns;
		r->lags++;
	}
}

static int read_points(struct reader *r)
{
	const struct trace_file *trace = r->trace;
	struct replay_model *model = r->model;
	double period_ns = 0;

	r->difference_ns = calloc(DIFFERENCES_MAX, sizeof(*r->difference_ns));
	if (r->difference_ns == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < trace->points; i++) {
		const struct trace_point *point = &trace->point[i];
		const struct stretch *stretch = &r->stretch[point->domain];
		if (point->now_ns > stretch->begin_ns && point->now_ns <= stretch->end_ns) {
			take_point(r, point);
			period_ns += (double)point->elapsed_ns;
		}
	}
	if (model->work_ns <= 0)
		return -ENODATA;
	model->asleep = fmax(0, 1 - (model->work_ns + r->wait_ns) / r->thread_time_ns);
	model->balanced = (double)r->placed / (double)model->points;
	model->lag_mean_ns = r->lags > 0 ? r->lag_sum_ns / (double)r->lags : 0;
	period_ns /= (double)model->points;
	model->phase_ns = replay_model_phase(r->difference_ns, r->differences,
		period_ns * PHASE_MIN_PERIODS, model->work_ns / model->threads / 4);
	return 0;
}

int replay_model_init(struct replay_model *model, const struct trace_file *trace)
{
	struct reader reader = {.trace = trace, .model = model};

	*model = (struct replay_model){0};
	reader.stretch = calloc(TRACE_DOMAINS_MAX, sizeof(*reader.stretch));
	int r = reader.stretch != NULL ? find_threads(&reader) : -ENOMEM;
	if (r == 0)
		r = find_stretches(&reader);
	if (r == 0)
		r = list_threads(&reader);
	if (r == 0)
		r = read_points(&reader);
	free(reader.stretch);
	free(reader.course);
	free(reader.difference_ns);
	return r;
}

/* ---- Phases ---- */

static int by_size(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* The middle of the range where most differences are within a few percent of each other; 0 when
 * they are no cluster. They are sorted. */
static double densest(const double *difference_ns, size_t count, double min_ns, double max_ns)
{
	size_t most = 0, first = 0, end = 0;

	for (size_t i = 0; i < count; i++) {
		if (difference_ns[i] < min_ns || difference_ns[i] > max_ns)
			continue;
		while (end < count && difference_ns[end] <= difference_ns[i] * (1 + 2 * NEAR))
			end++;
		if (end - i > most) {
			most = end - i;
			first = i;
		}
	}
	return most >= CLUSTER_MIN ? difference_ns[first + most / 2] : 0;
}

uint64_t replay_model_phase(double *difference_ns, size_t count, double min_ns, double max_ns)
{
	size_t near = 0, judged = 0;

	if (count == 0)
		return 0;
	qsort(difference_ns, count, sizeof(*difference_ns), by_size);
	double phase_ns = densest(difference_ns, count, min_ns, max_ns);
	if (phase_ns <= 0)
		return 0;
	/* When there are many phases, the length varies too much to tell. */
	for (size_t i = 0; i < count && difference_ns[i] < (PHASES_JUDGED + 0.5) * phase_ns; i++) {
		double phases = difference_ns[i] / phase_ns;
		near += phases > 0.5 && fabs(phases - round(phases)) <= NEAR;
		judged++;
	}
	return (double)near >= NEAR_SHARE * (double)judged ? (uint64_t)phase_ns : 0;
}
