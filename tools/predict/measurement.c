/* SPDX-License-Identifier: MIT */
/* Reports, traces and results of real runs; see measurement.h. */
#include "tools/predict/measurement.h"

#include "daemon/base/text.h"
#include "daemon/trace/reader.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_BEGIN "# juggle trace"
#define READ_BYTES ((size_t)1 << 16)
#define TIME_S_MAX 1e10 /* 300 years */
#define TIME_S_MIN 1e-9
#define LOAD_BALANCE_EQUAL 0.95 /* of threads that may count as equal */

/* A file being read into a measurement. Only the first error is reported. */
struct reading {
	struct measurement *out;
	json_t *root;
	char *error;
	size_t error_bytes;
	bool failed;
};

static void refuse(struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse(struct reading *reading, const char *format, ...)
{
	va_list args;

	if (reading->failed)
		return;
	va_start(args, format);
	vsnprintf(reading->error, reading->error_bytes, format, args);
	va_end(args);
	text_make_printable(reading->error); /* text of a file goes to a terminal */
	reading->failed = true;
}

static void set_reason(struct measurement *out, const char *reason)
{
	snprintf(out->reason, sizeof out->reason, "%s", reason);
	text_make_printable(out->reason);
}

const char *measurement_kind_name(enum measurement_kind kind)
{
	static const char *const names[] = {"report", "trace", "ubench"};

	return names[kind];
}

const char *measurement_way_name(enum measurement_way way)
{
	static const char *const names[] = {"unknown", "pinned", "linux", "juggle"};

	return names[way];
}

static enum measurement_way way_of_policy(struct reading *reading, const char *policy)
{
	if (strcmp(policy, "juggle") == 0 || strcmp(policy, "juggle2012") == 0)
		return MEASUREMENT_JUGGLE;
	if (strcmp(policy, "static") == 0)
		return MEASUREMENT_PINNED;
	if (strcmp(policy, "observe") == 0)
		return MEASUREMENT_LINUX;
	refuse(reading, "the policy is none of juggle, juggle2012, static and observe");
	return MEASUREMENT_UNKNOWN;
}

/* ---- Values of JSON ---- */

/* A number from min to max; 0 after an error. */
static double number(
	struct reading *reading, const json_t *object, const char *key, double min, double max)
{
	const json_t *value = json_object_get(object, key);
	double found = json_number_value(value);

	if (value == NULL)
		refuse(reading, "\"%s\" is missing", key);
	else if (!json_is_number(value) || !(found >= min && found <= max))
		refuse(reading, "\"%s\" is not a number from %g to %g", key, min, max);
	return reading->failed ? 0 : found;
}

static uint32_t count(struct reading *reading, const char *key, uint32_t min, uint32_t max)
{
	double found = number(reading, reading->root, key, min, max);

	if (floor(found) != found)
		refuse(reading, "\"%s\" is not a whole number", key);
	return (uint32_t)found;
}

/* A string; "" after an error. */
static const char *text(struct reading *reading, const char *key)
{
	const char *found = json_string_value(json_object_get(reading->root, key));

	if (found == NULL)
		refuse(reading, "\"%s\" is missing, or no text", key);
	return found != NULL ? found : "";
}

/* ---- The three kinds ---- */

static void read_ubench(struct reading *reading)
{
	struct measurement *out = reading->out;
	const json_t *root = reading->root, *pin = json_object_get(root, "pin");

	out->kind = MEASUREMENT_UBENCH;
	if (json_object_get(root, "elapsed_s") == NULL)
		refuse(reading, "ubench has only measured its rate here: there was no run");
	out->threads = count(reading, "threads", 1, MEASUREMENT_COUNT_MAX);
	out->cpus = count(reading, "cpus", 1, MEASUREMENT_COUNT_MAX);
	out->phase_s = number(reading, root, "phase_s", TIME_S_MIN, TIME_S_MAX);
	out->phases = count(reading, "phases", 1, MEASUREMENT_PHASES_MAX);
	out->elapsed_s = number(reading, root, "elapsed_s", TIME_S_MIN, TIME_S_MAX);
	out->unequal = number(reading, root, "imbalance_pct", 0, 1e9) > 0;
	out->spins = strcmp(text(reading, "barrier"), "spin") == 0;
	if (!json_is_boolean(pin))
		refuse(reading, "\"pin\" is neither true nor false");
	/* Otherwise ubench does not know how its threads were placed. */
	out->way = json_is_true(pin) ? MEASUREMENT_PINNED : MEASUREMENT_UNKNOWN;
	out->work_s = out->phase_s * out->phases;
}

/* On a CPU with k threads at most k - 1 wait while one runs, and k while other work runs. */
static void set_others(struct measurement *out, double run_s, double wait_s)
{
	double each = ceil((double)out->threads / out->cpus);
	double lost_s = (wait_s - (each - 1) * run_s) / each;

	out->others = fmax(0, fmin(1, lost_s / (out->cpus * out->elapsed_s)));
}

/* CPU time of all threads of a report, and how long some of them waited. Idle threads hardly add to
 * it. */
static double work_of_report(struct reading *reading, double *wait_s)
{
	const json_t *list = json_object_get(reading->root, "thread"), *thread;
	double sum = 0;
	size_t i;

	if (!json_is_array(list))
		refuse(reading, "\"thread\" is missing, or no array");
	*wait_s = 0;
	json_array_foreach(list, i, thread)
	{
		sum += number(reading, thread, "progress_s", 0, TIME_S_MAX);
		if (json_object_get(thread, "wait_s") != NULL)
			*wait_s += number(reading, thread, "wait_s", 0, TIME_S_MAX);
	}
	return sum;
}

/* Reports of older versions have none; and 0 stands for one that was not known. */
static void speeds_of_report(struct reading *reading)
{
	const json_t *list = json_object_get(reading->root, "cpu_speeds"), *speed;
	struct measurement *out = reading->out;
	bool known = true, differ = false;
	size_t i;

	if (list == NULL || out->cpus > MEASUREMENT_SPEEDS_MAX)
		return;
	if (!json_is_array(list) || json_array_size(list) != out->cpus)
		refuse(reading, "\"cpu_speeds\" is no array with a speed for each CPU");
	json_array_foreach(list, i, speed)
	{
		double found = json_number_value(speed);
		if (!json_is_number(speed) || !(found >= 0 && found <= 1))
			refuse(reading,
				"\"cpu_speeds\" has something else than numbers from 0 to 1");
		if (reading->failed)
			return;
		out->speed[i] = found;
		known = known && found > 0;
		differ = differ || found != out->speed[0];
	}
	out->speeds = known && differ ? out->cpus : 0;
}

/* What runtimes told of phases, if they did; older reports have none. */
static void phases_of_report(struct reading *reading)
{
	const json_t *phases = json_object_get(reading->root, "phases");
	struct measurement *out = reading->out;

	if (!json_is_object(phases) || !json_is_number(json_object_get(phases, "phases")))
		return;
	out->told = true;
	out->threads = (uint32_t)number(reading, phases, "threads", 1, MEASUREMENT_COUNT_MAX);
	out->phases = floor(number(reading, phases, "phases", 1, MEASUREMENT_PHASES_MAX));
	out->phase_s = number(reading, phases, "work_s", TIME_S_MIN, TIME_S_MAX);
	out->elapsed_s = number(reading, phases, "told_s", TIME_S_MIN, TIME_S_MAX);
	out->load_balance = number(reading, phases, "load_balance", 0, 1);
	out->unequal = out->load_balance < LOAD_BALANCE_EQUAL;
	out->work_s = out->phase_s * out->phases;
}

/* Ways that it spent time in come with the longest first. */
static void reason_of_report(struct reading *reading)
{
	const json_t *ways = json_object_get(reading->root, "regimes"), *way;
	size_t i;

	json_array_foreach(ways, i, way)
	{
		const char *regime = json_string_value(json_object_get(way, "regime"));
		const char *reason = json_string_value(json_object_get(way, "reason"));
		if (regime != NULL && strcmp(regime, "aside") == 0 && reason != NULL) {
			set_reason(reading->out, reason);
			return;
		}
	}
}

static void read_report(struct reading *reading)
{
	struct measurement *out = reading->out;
	const json_t *root = reading->root, *cpus = json_object_get(root, "cpus");

	out->kind = MEASUREMENT_REPORT;
	out->threads = count(reading, "threads", 0, MEASUREMENT_COUNT_MAX);
	if (out->threads == 0)
		refuse(reading, "juggle saw no compute threads in that run");
	if (!json_is_array(cpus) || json_array_size(cpus) == 0 ||
		json_array_size(cpus) > MEASUREMENT_COUNT_MAX)
		refuse(reading, "\"cpus\" is missing, or no array of CPUs");
	out->cpus = (uint32_t)json_array_size(cpus);
	speeds_of_report(reading);
	out->elapsed_s = number(reading, root, "elapsed_s", TIME_S_MIN, TIME_S_MAX);
	out->period_s = number(reading, root, "period_s", TIME_S_MIN, TIME_S_MAX);
	out->way = way_of_policy(reading, text(reading, "policy"));
	if (json_object_get(root, "point_s") != NULL)
		out->point_s = number(reading, root, "point_s", 0, TIME_S_MAX);
	double balanced_s = number(reading, root, "balanced_s", 0, TIME_S_MAX);
	reason_of_report(reading);
	if (number(reading, root, "threads_unlisted", 0, 1e18) > 0)
		refuse(reading, "the report does not list all threads (\"threads_unlisted\")");
	double wait_s, work_s = work_of_report(reading, &wait_s);
	if (reading->failed)
		return;
	set_others(out, work_s, wait_s);
	out->balanced = fmin(balanced_s / out->elapsed_s, 1);
	out->work_s = work_s / out->threads;
	if (out->work_s < TIME_S_MIN)
		refuse(reading, "the threads have used no CPU time (\"progress_s\")");
	phases_of_report(reading);
}

/* A file from which some bytes have been read already. It can be a pipe. */
struct source {
	FILE *file;
	const char *begin;
	size_t bytes;
};

static size_t read_more(void *buffer, size_t bytes, void *data)
{
	struct source *source = data;
	size_t got = source->bytes < bytes ? source->bytes : bytes;

	if (got == 0)
		return fread(buffer, 1, bytes, source->file);
	memcpy(buffer, source->begin, got);
	source->begin += got;
	source->bytes -= got;
	return got;
}

static int parse_json(struct reading *reading, FILE *file, const char *begin, size_t bytes)
{
	struct source source = {.file = file, .begin = begin, .bytes = bytes};
	json_error_t error;

	reading->root = json_load_callback(read_more, &source, 0, &error);
	if (ferror(file))
		return -EIO;
	if (reading->root == NULL && json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	if (reading->root == NULL)
		refuse(reading, "damaged, or cut short: %s in line %d", error.text, error.line);
	else if (!json_is_object(reading->root))
		refuse(reading, "no JSON object");
	if (reading->failed)
		return -EBADMSG;
	const char *program = json_string_value(json_object_get(reading->root, "program"));
	if (program != NULL && strncmp(program, "ubench", strlen("ubench")) == 0)
		read_ubench(reading);
	else if (program == NULL && json_object_get(reading->root, "policy") != NULL)
		read_report(reading);
	else
		refuse(reading, "neither a report or trace of juggle nor a result of ubench");
	return reading->failed ? -EBADMSG : 0;
}

/* The most threads at a time, and the CPU time of all. Each domain has its own points. Returns the
 * time of the last one. */
static uint64_t work_of_trace(struct reading *reading, const struct trace_file *trace)
{
	uint64_t last[TRACE_DOMAINS_MAX] = {0};
	uint64_t end_ns = trace->start_ns, now = 0, most = 0;
	double run_s = 0, wait_s = 0;

	for (size_t i = 0; i < trace->points; i++) {
		const struct trace_point *point = &trace->point[i];
		now += point->threads - last[point->domain];
		last[point->domain] = point->threads;
		most = now > most ? now : most;
		end_ns = point->now_ns > end_ns ? point->now_ns : end_ns;
		for (size_t t = 0; t < point->threads; t++) {
			run_s += (double)point->thread[t].run_ns * 1e-9;
			wait_s += (double)point->thread[t].wait_ns * 1e-9;
		}
	}
	if (most == 0 || most > MEASUREMENT_COUNT_MAX || run_s < TIME_S_MIN || run_s > TIME_S_MAX ||
		end_ns == trace->start_ns) {
		refuse(reading, "no compute threads, or no CPU time, in that trace");
		return end_ns;
	}
	reading->out->threads = (uint32_t)most;
	reading->out->elapsed_s = (double)(end_ns - trace->start_ns) * 1e-9;
	reading->out->work_s = run_s / (double)most;
	set_others(reading->out, run_s, wait_s);
	return end_ns;
}

#define REASONS_MAX 64 /* far more than there are */

/* How a trace's time was spent: times of a domain count by its CPUs. */
struct spent {
	double balanced_s;
	struct {
		const char *reason;
		double aside_s;
	} why[REASONS_MAX];
	size_t reasons;
};

static void spend(
	struct spent *spent, const struct trace_regime *regime, double cpus, uint64_t end_ns)
{
	double time_s = cpus * ((double)end_ns - (double)regime->now_ns) * 1e-9;
	size_t k = 0;

	if (regime->balance) {
		spent->balanced_s += time_s;
		return;
	}
	while (k < spent->reasons && strcmp(spent->why[k].reason, regime->reason) != 0)
		k++;
	if (k == REASONS_MAX)
		return;
	if (k == spent->reasons)
		spent->why[spent->reasons++].reason = regime->reason;
	spent->why[k].aside_s += time_s;
}

/* For how long it was balanced, and why it was not, as in reports. */
static void regimes_of_trace(
	struct reading *reading, const struct trace_file *trace, uint64_t end_ns)
{
	const struct trace_regime *now[TRACE_DOMAINS_MAX] = {0};
	double cpus[TRACE_DOMAINS_MAX] = {0}, longest_s = 0;
	struct spent spent = {0};

	for (size_t j = 0; j < trace->cpus; j++)
		cpus[trace->cpu[j].domain]++;
	for (size_t i = 0; i < trace->regimes; i++) {
		const struct trace_regime *next = &trace->regime[i];
		if (now[next->domain] != NULL)
			spend(&spent, now[next->domain], cpus[next->domain], next->now_ns);
		now[next->domain] = next;
	}
	if (now[0] == NULL)
		return;
	for (size_t d = 0; d < TRACE_DOMAINS_MAX; d++)
		if (now[d] != NULL)
			spend(&spent, now[d], cpus[d], end_ns);
	for (size_t k = 0; k < spent.reasons; k++)
		if (spent.why[k].aside_s > longest_s) {
			longest_s = spent.why[k].aside_s;
			set_reason(reading->out, spent.why[k].reason);
		}
	reading->out->balanced =
		fmax(0, fmin(1, spent.balanced_s / (double)trace->cpus / reading->out->elapsed_s));
}

static void read_trace(struct reading *reading, const struct trace_file *trace)
{
	struct measurement *out = reading->out;

	out->kind = MEASUREMENT_TRACE;
	if (trace->cut_short)
		refuse(reading, "the trace is cut short: how long the run took is not known");
	if (trace->dropped > 0)
		refuse(reading, "%llu records are missing in the trace",
			(unsigned long long)trace->dropped);
	if (trace->cpus == 0 || trace->cpus > MEASUREMENT_COUNT_MAX || !(trace->period_s > 0))
		refuse(reading, "no CPUs, or no period, in the first line");
	out->way = way_of_policy(reading, trace->policy);
	out->cpus = (uint32_t)trace->cpus;
	out->period_s = trace->period_s;
	if (reading->failed)
		return;
	uint64_t end_ns = work_of_trace(reading, trace);
	if (!reading->failed)
		regimes_of_trace(reading, trace, end_ns);
}

/* The whole text, including what has been read already. Returns 0 or a negative errno. */
static int read_all(FILE *file, const char *begin, size_t begin_bytes, char **text, size_t *bytes)
{
	size_t room = READ_BYTES;

	*text = malloc(room);
	if (*text == NULL)
		return -ENOMEM;
	memcpy(*text, begin, begin_bytes);
	*bytes = begin_bytes;
	for (;;) {
		*bytes += fread(*text + *bytes, 1, room - *bytes, file);
		if (ferror(file))
			return -EIO;
		if (*bytes < room)
			return 0;
		room *= 2;
		char *grown = realloc(*text, room);
		if (grown == NULL)
			return -ENOMEM;
		*text = grown;
	}
}

static int parse_trace(struct reading *reading, FILE *file, const char *begin, size_t begin_bytes)
{
	struct trace_file trace = {0};
	struct trace_error error = {0};
	char *text = NULL;
	size_t bytes = 0;
	int r = read_all(file, begin, begin_bytes, &text, &bytes);

	if (r == 0)
		r = trace_parse(&trace, text, bytes, &error);
	free(text);
	if (r == 0)
		read_trace(reading, &trace);
	else if ((r == -EBADMSG || r == -EPROTO) && error.line > 0)
		refuse(reading, "line %zu: %s", error.line, error.text);
	else if (r == -EBADMSG)
		refuse(reading, "%s", error.text);
	trace_file_deinit(&trace);
	return reading->failed ? -EBADMSG : r;
}

int measurement_read(struct measurement *measurement, FILE *file, char *error, uint32_t error_bytes)
{
	struct reading reading = {.out = measurement, .error = error, .error_bytes = error_bytes};
	char begin[sizeof TRACE_BEGIN - 1];
	int r;

	*measurement = (struct measurement){.balanced = 1, .load_balance = 1};
	size_t bytes = fread(begin, 1, sizeof begin, file);
	if (ferror(file))
		r = -errno;
	else if (bytes == sizeof begin && memcmp(begin, TRACE_BEGIN, bytes) == 0)
		r = parse_trace(&reading, file, begin, bytes);
	else
		r = parse_json(&reading, file, begin, bytes);
	json_decref(reading.root);
	return r;
}
