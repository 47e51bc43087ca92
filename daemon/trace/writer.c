/* SPDX-License-Identifier: MIT */
#include "daemon/trace/writer.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/clock.h"
#include "daemon/base/file.h"
#include "daemon/base/json_text.h"
#include "daemon/trace/format.h"

#define BUFFER_BYTES (4u << 20)
#define PATIENCE_NS 1000000000 /* with a slow reader, at the end */

struct buffer {
	char *text;
	size_t bytes;
};

struct trace {
	int fd;
	bool failed;
	pthread_mutex_t lock; /* guards what follows */
	struct buffer fill;
	size_t begun; /* where the current record starts */
	bool overflow; /* the current record does not fit */
	uint64_t dropped;
	pthread_mutex_t write_lock; /* guards the buffer that is written out */
	struct buffer drain;
	size_t written; /* bytes of it */
};

static int write_header(int fd, const struct options *options, const struct telemetry *t)
{
	json_t *header =
		json_pack("{s:s, s:o, s:I, s:s, s:s, s:s, s:s, s:f, s:b, s:f, s:I, s:b, s:i}",
			"version", JUGGLE_VERSION, "command", json_text(t->command), "start_ns",
			(json_int_t)t->start_ns, "policy", t->policy, "sampler", t->sampler,
			"balancers", t->balancers, "domains", t->domains, "period_s",
			(double)options->period_ns * 1e-9, "period_auto", options->period_auto,
			"jitter", options->jitter, "margin_ns", (json_int_t)options->margin_ns,
			"always", options->always, "threads", (int)options->threads);
	char *text = json_dumps(header, JSON_COMPACT);

	json_decref(header);
	if (text == NULL)
		return -ENOMEM;
	int r = dprintf(fd, "%s%d %s\n", TRACE_MAGIC, TRACE_VERSION, text) < 0 ? -errno : 0;
	free(text);
	return r;
}

int trace_new(struct trace **out, const struct options *options, const struct telemetry *telemetry)
{
	struct trace *trace = calloc(1, sizeof *trace);

	if (trace == NULL)
		return -ENOMEM;
	trace->fill.text = malloc(BUFFER_BYTES);
	trace->drain.text = malloc(BUFFER_BYTES);
	int r = -ENOMEM;
	trace->fd = -1;
	if (trace->fill.text != NULL && trace->drain.text != NULL) {
		trace->fd = file_open_output(options->trace, true);
		r = trace->fd < 0 ? trace->fd : write_header(trace->fd, options, telemetry);
	}
	if (r < 0) {
		if (trace->fd >= 0)
			close(trace->fd);
		free(trace->fill.text);
		free(trace->drain.text);
		free(trace);
		return r;
	}
	pthread_mutex_init(&trace->lock, NULL);
	pthread_mutex_init(&trace->write_lock, NULL);
	*out = trace;
	return 0;
}

/* If all that was taken has been written, take what has come since. */
static void take_buffer(struct trace *trace)
{
	if (trace->written < trace->drain.bytes)
		return;
	pthread_mutex_lock(&trace->lock);
	struct buffer full = trace->fill;
	trace->fill = trace->drain;
	trace->drain = full;
	trace->fill.bytes = 0;
	pthread_mutex_unlock(&trace->lock);
	trace->written = 0;
}

/* Both buffers, at the end. */
static int write_rest(struct trace *trace, uint64_t until_ns)
{
	int r = 0;

	for (int buffers = 0; buffers < 2 && !trace->failed; buffers++) {
		take_buffer(trace);
		r = file_write_all(trace->fd, trace->drain.text + trace->written,
			trace->drain.bytes - trace->written, until_ns);
		trace->written = trace->drain.bytes;
		trace->failed = r < 0;
	}
	return r;
}

int trace_free(struct trace *trace)
{
	if (trace == NULL)
		return 0;
	uint64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
	int r = write_rest(trace, until_ns);
	if (trace->dropped > 0 && r == 0) {
		trace_begin(trace);
		trace_print(trace, "dropped %llu\n", (unsigned long long)trace->dropped);
		trace_end(trace);
		r = write_rest(trace, until_ns);
	}
	close(trace->fd);
	pthread_mutex_destroy(&trace->lock);
	pthread_mutex_destroy(&trace->write_lock);
	free(trace->fill.text);
	free(trace->drain.text);
	free(trace);
	return r;
}

void trace_begin(struct trace *trace)
{
	if (trace == NULL)
		return;
	pthread_mutex_lock(&trace->lock);
	trace->begun = trace->fill.bytes;
	trace->overflow = false;
}

static void print(struct trace *trace, const char *format, va_list args)
{
	if (trace->overflow)
		return;
	size_t room = BUFFER_BYTES - trace->fill.bytes;
	int n = vsnprintf(trace->fill.text + trace->fill.bytes, room, format, args);
	if (n < 0 || (size_t)n >= room)
		trace->overflow = true;
	else
		trace->fill.bytes += (size_t)n;
}

void trace_print(struct trace *trace, const char *format, ...)
{
	va_list args;

	if (trace == NULL)
		return;
	va_start(args, format);
	print(trace, format, args);
	va_end(args);
}

bool trace_end(struct trace *trace)
{
	if (trace == NULL)
		return true;
	bool kept = !trace->overflow;
	if (!kept) {
		trace->fill.bytes = trace->begun;
		trace->dropped++;
	}
	pthread_mutex_unlock(&trace->lock);
	return kept;
}

int trace_flush(struct trace *trace)
{
	int r = 0;

	if (trace == NULL)
		return 0;
	pthread_mutex_lock(&trace->write_lock);
	take_buffer(trace);
	while (!trace->failed && trace->written < trace->drain.bytes) {
		ssize_t n = file_write_some(trace->fd, trace->drain.text + trace->written,
			trace->drain.bytes - trace->written);
		if (n == 0)
			break;
		r = n < 0 ? (int)n : 0;
		trace->failed = n < 0;
		trace->written += n < 0 ? 0 : (size_t)n;
	}
	if (trace->failed)
		trace->written = trace->drain.bytes;
	pthread_mutex_unlock(&trace->write_lock);
	return r;
}
