/* SPDX-License-Identifier: MIT */
/*
 * What juggle makes of a damaged segment of libprogress while it changes: points of balancing, the
 * table of workers, and records in its trace, which a reader of traces has to accept.
 */
#undef NDEBUG
#include "daemon/progress/host.h"
#include "daemon/trace/reader.h"
#include "libprogress/reader/reader_fd.h"

#include <assert.h>
#include <stdio.h>

#include "tests/fuzz/segment_file.h"

#define PID 4711

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A trace that goes on from input to input, because its buffers are large. */
struct recorder {
	int fd;
	struct trace *trace;
	char header[1024];
	size_t header_bytes;
};

static size_t file_bytes(int fd)
{
	struct stat st;

	assert(fstat(fd, &st) == 0);
	return (size_t)st.st_size;
}

static void start_recorder(struct recorder *r)
{
	static struct telemetry telemetry = {.command = "./app", .policy = "juggle"};
	struct options options = {.jitter = 0};
	char path[32];

	r->fd = memfd_create("trace", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", r->fd);
	options.trace = path;
	assert(r->fd >= 0 && trace_new(&r->trace, &options, &telemetry) == 0);
	r->header_bytes = file_bytes(r->fd);
	assert(r->header_bytes < sizeof r->header &&
		pread(r->fd, r->header, r->header_bytes, 0) == (ssize_t)r->header_bytes);
}

/* Parse what was recorded behind `from`, as a trace of its own. */
static void check_trace(struct recorder *r, size_t from)
{
	assert(trace_flush(r->trace) == 0);
	size_t bytes = file_bytes(r->fd) - from;
	char *text = malloc(r->header_bytes + bytes);
	struct trace_file trace;
	struct trace_error error;

	assert(text != NULL);
	memcpy(text, r->header, r->header_bytes);
	assert(pread(r->fd, text + r->header_bytes, bytes, (off_t)from) == (ssize_t)bytes);
	if (trace_parse(&trace, text, r->header_bytes + bytes, &error) != 0) {
		fprintf(stderr, "line %zu: %s\n%.*s", error.line, error.text,
			(int)(r->header_bytes + bytes), text);
		abort();
	}
	trace_file_deinit(&trace);
	free(text);
	/* The next record goes behind it. */
	assert(ftruncate(r->fd, 0) == 0 && ftruncate(r->fd, (off_t)(from + bytes)) == 0);
}

/* All threads that there are, some of them twice. */
static void publish(struct published *published, const struct progress_info *info,
	const struct progress_worker_view *worker)
{
	struct published_thread *thread = calloc(info->workers, sizeof *thread);
	uint64_t updates;
	size_t n = 0;

	assert(thread != NULL);
	for (uint32_t w = 0; w < info->workers; w++)
		if (worker[w].tid != 0)
			thread[n++] = (struct published_thread){.pid = PID,
				.tid = (pid_t)worker[w].tid,
				.updates = worker[w].updates};
	published_replace(published, thread, n);
	assert(published_any(published) == (n > 0));
	for (uint32_t w = 0; w < info->workers; w++) {
		if (worker[w].tid == 0)
			continue;
		assert(published_entry(published, PID, (pid_t)worker[w].tid) != NULL);
		assert(published_look(published, PID, (pid_t)worker[w].tid, &updates) ==
			POLICY_ROLE_WORKER);
		assert(updates <= PROGRESS_TRACE_UPDATES_MAX);
	}
	assert(published_look(published, PID - 1, 1, &updates) == POLICY_ROLE_UNKNOWN);
}

/* One visit of the host. */
static void visit(struct recorder *r, struct progress_reader *reader, struct progress_trace *traced,
	uint64_t now_ns)
{
	const struct progress_info *info = progress_reader_info(reader);
	struct progress_worker_view *worker = calloc(info->workers, sizeof *worker);
	struct progress_subdomain_view *subdomain = calloc(info->subdomains, sizeof *subdomain);
	struct published published;
	uint32_t moves = 0;

	assert(worker != NULL && subdomain != NULL);
	if (progress_reader_claim(reader, PID, now_ns) == 0)
		(void)progress_reader_balance(reader, now_ns, &moves);
	progress_trace_moves(traced, r->trace, PID, now_ns, progress_reader_moves(reader), moves);
	assert(progress_reader_workers(reader, worker) == 0);
	assert(progress_reader_subdomains(reader, subdomain) == 0);
	(void)progress_host_held(subdomain, info->subdomains);
	progress_trace_look(traced, now_ns, worker, subdomain, now_ns % 2 == 0);
	assert(progress_trace_next(traced) > now_ns);
	assert(progress_host_next_look(now_ns, info->subdomains, progress_trace_next(traced)) >
		now_ns);
	published_init(&published);
	publish(&published, info, worker);
	published_deinit(&published);
	free(worker);
	free(subdomain);
}

/* Damage, and write, a segment; its header stays acceptable. */
static void change(int fd, struct segment *segment, struct input *input)
{
	for (uint8_t writes = input_byte(input) % 8; writes > 0; writes--)
		segment_damage(segment, input);
	segment_make_acceptable((struct segment_header *)segment->content, PID, segment->workers,
		segment->subdomains);
	segment_file_write(fd, segment->content, segment->bytes, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct recorder recorder = {.fd = -1};
	static int fd = -1;
	struct progress_reader *reader;
	struct input input = {data, bytes};
	struct segment segment =
		segment_new(PID, 1 + input_byte(&input) % 4, 1 + input_byte(&input) % 32);
	uint64_t now_ns = 1000000000;

	if (fd < 0) {
		fd = segment_file_new();
		start_recorder(&recorder);
	}
	size_t from = file_bytes(recorder.fd);
	memory_file_resize(fd, segment.bytes);
	change(fd, &segment, &input);
	assert(progress_reader_open_fd(memory_file_dup(fd), PID, geteuid(), true, &reader, NULL) ==
		0);
	struct progress_trace *traced =
		progress_trace_new(recorder.trace, PID, progress_reader_info(reader));
	assert(traced != NULL);
	do {
		visit(&recorder, reader, traced, now_ns);
		now_ns += 1 + UINT64_C(1000000) * input_byte(&input);
		change(fd, &segment, &input);
	} while (input.left > 0);
	progress_trace_free(traced);
	progress_reader_close(reader);
	free(segment.content);
	check_trace(&recorder, from);
	return 0;
}
