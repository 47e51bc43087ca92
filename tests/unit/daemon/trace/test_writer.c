// SPDX-License-Identifier: MIT
/*
 * The trace: a header that a JSON parser reads, whole records or none, and one error when the disk
 * is full.
 */
#undef NDEBUG
#include "daemon/progress/traced.h"
#include "daemon/telemetry/writer.h"
#include "daemon/trace/parser.h"
#include "daemon/trace/writer.h"
#include "libprogress/policy/plb.h"
#include "libprogress/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message("SKIPPED: " __VA_ARGS__);                                            \
		skip();                                                                            \
	} while (0)

#define HEADER "# juggle trace 2 "

/* Everything that can be published can be traced, and everything traced can be read. */
_Static_assert(TRACE_WORKERS_MAX == PROGRESS_WORKERS_MAX, "limits differ");
_Static_assert(TRACE_SUBDOMAINS_MAX == PROGRESS_SUBDOMAINS_MAX, "limits differ");
_Static_assert(PROGRESS_TRACE_SUBDOMAINS_MAX <= TRACE_SUBDOMAINS_MAX, "limits differ");
_Static_assert(PROGRESS_TRACE_UPDATES_MAX == TRACE_NUMBER_MAX, "limits differ");

/* A job on three CPUs, a file to trace it to, and what the file holds. */
struct fixture {
	struct telemetry *telemetry;
	struct options options;
	char path[64];
	char *text;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	int telemetry_fd;

	if (f == NULL || telemetry_create(&f->telemetry, &telemetry_fd) < 0)
		return -1;
	close(telemetry_fd);
	strcpy(f->telemetry->command, "./app \"with\\ quotes\" \t\xc3\xa9");
	strcpy(f->telemetry->policy, "juggle");
	strcpy(f->telemetry->sampler, "schedstat");
	strcpy(f->telemetry->balancers, "domain");
	strcpy(f->telemetry->domains, "split");
	f->options = (struct options){.period_ns = 2000000,
		.period_auto = true,
		.jitter = 0.1,
		.margin_ns = 500000,
		.always = true,
		.threads = 7,
		.trace = f->path};
	strcpy(f->path, "/tmp/test_trace.XXXXXX");
	int fd = mkstemp(f->path);
	if (fd < 0 || close(fd) < 0)
		return -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->path);
	telemetry_unmap(f->telemetry);
	free(f->text);
	free(f);
	return 0;
}

static struct trace *open_trace(struct fixture *f)
{
	struct trace *trace = NULL;

	assert_int_equal(trace_new(&trace, &f->options, f->telemetry), 0);
	assert_non_null(trace);
	return trace;
}

/* Reads the file and returns what follows the header's line. */
static const char *body(struct fixture *f)
{
	FILE *file = fopen(f->path, "r");

	assert_non_null(file);
	free(f->text);
	f->text = malloc(32u << 20);
	assert_non_null(f->text);
	size_t bytes = fread(f->text, 1, (32u << 20) - 1, file);
	f->text[bytes] = '\0';
	fclose(file);
	assert_int_equal(strlen(f->text), bytes);
	const char *line = strchr(f->text, '\n');
	assert_non_null(line);
	return line + 1;
}

static json_t *header(struct fixture *f)
{
	json_error_t error;

	(void)body(f);
	assert_int_equal(strncmp(f->text, HEADER, strlen(HEADER)), 0);
	*strchr(f->text, '\n') = '\0';
	json_t *json = json_loads(f->text + strlen(HEADER), JSON_REJECT_DUPLICATES, &error);
	if (json == NULL)
		fail_msg("%s: %s", error.text, f->text);
	return json;
}

static void test_header(void **state)
{
	struct fixture *f = *state;
	const char *version, *command, *policy, *sampler, *balancers, *domains;
	json_int_t start_ns, margin_ns;
	double period_s, jitter;
	int period_auto, always, threads;

	trace_free(open_trace(f));
	json_t *json = header(f);
	assert_int_equal(
		json_unpack(json,
			"{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:F, s:b, s:F, s:I, s:b, s:i}",
			"version", &version, "command", &command, "start_ns", &start_ns, "policy",
			&policy, "sampler", &sampler, "balancers", &balancers, "domains", &domains,
			"period_s", &period_s, "period_auto", &period_auto, "jitter", &jitter,
			"margin_ns", &margin_ns, "always", &always, "threads", &threads),
		0);
	assert_string_equal(command, f->telemetry->command);
	assert_string_equal(policy, "juggle");
	assert_string_equal(sampler, "schedstat");
	assert_string_equal(balancers, "domain");
	assert_string_equal(domains, "split");
	assert_true(start_ns == (json_int_t)f->telemetry->start_ns);
	assert_float_equal(period_s, 0.002, 1e-9);
	/* With full precision: replayed periods depend on it. */
	assert_true(jitter == f->options.jitter);
	assert_true(period_auto && always && threads == 7 && margin_ns == 500000);
	json_decref(json);
}

/* Words of a command line are bytes, and may be cut in the middle of a character. */
static void test_header_of_bytes(void **state)
{
	struct fixture *f = *state;

	strcpy(f->telemetry->command, "caf\xe9");
	struct trace *trace = open_trace(f);
	trace_begin(trace);
	trace_print(trace, "one\n");
	trace_end(trace);
	trace_free(trace);
	assert_string_equal(body(f), "one\n");
	json_t *json = header(f);
	assert_true(json_is_string(json_object_get(json, "command")));
	json_decref(json);
}

static void test_records(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = open_trace(f);

	assert_string_equal(body(f), "");
	for (int i = 0; i < 3; i++) {
		trace_begin(trace);
		trace_print(trace, "point %d\n", i);
		trace_print(trace, "%s\n", "");
		trace_print(trace, "  thread %s\n", "x");
		trace_end(trace);
	}
	assert_string_equal(body(f), ""); /* in memory until somebody asks */
	assert_int_equal(trace_flush(trace), 0);
	assert_string_equal(body(f), "point 0\n\n  thread x\npoint 1\n\n  thread x\npoint 2\n\n"
				     "  thread x\n");
	assert_int_equal(trace_flush(trace), 0);
	trace_begin(trace);
	trace_print(trace, "last\n");
	trace_end(trace);
	trace_begin(trace);
	trace_end(trace);
	trace_free(trace);
	const char *text = body(f);
	assert_string_equal(text + strlen(text) - 17, "\n  thread x\nlast\n");
}

/* Add a record of two lines of that width, with the same number at both ends. */
static void add_record(struct trace *trace, int number, int width)
{
	trace_begin(trace);
	trace_print(trace, "begin %d %0*d\n", number, width, 0);
	trace_print(trace, "end %d\n", number);
	trace_end(trace);
}

/* Checks that all records are whole and in order. Returns their number, and the number of dropped
 * ones that the last line gives. */
static unsigned long count_records(const char *text, unsigned long *dropped)
{
	unsigned long count = 0;
	long before = -1;

	*dropped = 0;
	while (*text != '\0') {
		char *end;
		/* Not sscanf(): it first searches for the end of the whole text. */
		if (strncmp(text, "dropped ", 8) == 0) {
			*dropped = strtoul(text + 8, &end, 10);
			assert_string_equal(end, "\n"); /* the last line, once */
			return count;
		}
		assert_int_equal(strncmp(text, "begin ", 6), 0);
		long begin = strtol(text + 6, &end, 10);
		text = strchr(end, '\n');
		assert_non_null(text);
		assert_int_equal(strncmp(text, "\nend ", 5), 0);
		assert_int_equal(strtol(text + 5, &end, 10), begin);
		assert_int_equal(*end, '\n');
		assert_true(begin > before);
		text = end + 1;
		before = begin;
		count++;
	}
	return count;
}

static void test_overflow(void **state)
{
	struct fixture *f = *state;
	unsigned long dropped;

	/* Records of different sizes, so that the end can fall anywhere; more than 8 MB. */
	for (int width = 1; width < 5000; width = width * 7 + 1) {
		struct trace *trace = open_trace(f);
		unsigned long records = 10000000 / (unsigned)(width + 20);
		for (unsigned long i = 0; i < records; i++)
			add_record(trace, (int)i, width);
		trace_free(trace);
		unsigned long written = count_records(body(f), &dropped);
		assert_true(written > 0 && dropped > 0);
		assert_int_equal(written + dropped, records);
	}
}

/* After a flush there is room again, and the trace says how many were dropped in between. */
static void test_overflow_then_room(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = open_trace(f);
	unsigned long dropped;

	for (int i = 0; i < 50; i++)
		add_record(trace, i, 100000);
	assert_int_equal(trace_flush(trace), 0);
	for (int i = 50; i < 60; i++)
		add_record(trace, i, 100000);
	trace_free(trace);
	unsigned long written = count_records(body(f), &dropped);
	assert_int_equal(written + dropped, 60);
	assert_in_range(dropped, 8, 12); /* of 50 records 41 fit into 4 MB */
	assert_non_null(strstr(f->text, "\nend 59\n"));
}

/* A record that is larger than the buffer does not take the next one with it. */
static void test_huge_record(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = open_trace(f);
	unsigned long dropped;

	add_record(trace, 1, 1);
	add_record(trace, 2, 5 << 20);
	add_record(trace, 3, 1);
	trace_begin(trace);
	trace_print(trace, "begin 4\n");
	for (int i = 0; i < 100; i++)
		trace_print(trace, "%0*d\n", 100000, 0);
	trace_print(trace, "end 4\n");
	trace_end(trace);
	add_record(trace, 5, 1);
	trace_free(trace);
	assert_int_equal(count_records(body(f), &dropped), 3);
	assert_int_equal(dropped, 2);
}

enum { WRITERS = 4, RECORDS = 500 };

static void *write_records(void *argument)
{
	for (int i = 0; i < RECORDS; i++) {
		trace_begin(argument);
		trace_print(argument, "begin 0\n");
		trace_print(argument, "end 0\n");
		trace_end(argument);
	}
	return NULL;
}

/* Records of several threads do not mix while another thread writes them out. */
static void test_threads(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = open_trace(f);
	pthread_t threads[WRITERS];
	int count = 0;

	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_records, trace), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(trace_flush(trace), 0);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	trace_free(trace);
	const char *text = body(f);
	for (; strncmp(text, "begin 0\nend 0\n", 14) == 0; text += 14)
		count++;
	assert_string_equal(text, "");
	assert_int_equal(count, WRITERS * RECORDS);
}

static void test_cannot_open(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = NULL;

	f->options.trace = "/nonexistent/trace";
	assert_int_equal(trace_new(&trace, &f->options, f->telemetry), -ENOENT);
	f->options.trace = "/tmp";
	assert_int_equal(trace_new(&trace, &f->options, f->telemetry), -EISDIR);
	assert_null(trace);
}

static void test_full_from_the_start(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = NULL;

	if (access("/dev/full", W_OK) < 0)
		SKIP("there is no /dev/full here\n");
	f->options.trace = "/dev/full";
	assert_int_equal(trace_new(&trace, &f->options, f->telemetry), -ENOSPC);
	assert_null(trace);
}

/* The disk fills up later: /dev/full replaces the file once it is open. */
static void test_full_later(void **state)
{
	struct fixture *f = *state;

	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (full < 0)
		SKIP("there is no /dev/full here\n");
	int fd = dup(full); /* the lowest free number, which open() will use next */
	assert_true(fd >= 0);
	close(fd);
	struct trace *trace = open_trace(f);
	assert_int_equal(dup2(full, fd), fd);
	close(full);

	add_record(trace, 1, 10);
	assert_int_equal(trace_flush(trace), -ENOSPC);
	for (int i = 2; i < 5; i++) {
		add_record(trace, i, 10);
		assert_int_equal(trace_flush(trace), 0); /* reported once */
	}
	trace_free(trace);
	assert_string_equal(body(f), "");
}

/* Records of a program with three subdomains, in time that the test sets. */
static void test_subdomains(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = open_trace(f);
	const struct progress_info info = {.rank = 3, .workers = 2, .subdomains = 3};
	struct progress_subdomain_view view[] = {{.updates = 7, .owner = 1, .holder = 1},
		{.updates = 0, .owner = UINT32_MAX, .holder = PROGRESS_NOBODY},
		{.updates = UINT64_MAX, .owner = 0, .holder = 0}};
	const struct progress_worker_view worker[2] = {{.tid = 1}, {.tid = 2}};
	const struct policy_plb_move move[] = {{0, 1, 0}, {2, 0, 1}};
	struct progress_trace *p = progress_trace_new(trace, 42, &info);

	assert_non_null(p);
	progress_trace_moves(p, trace, 42, 5, move, 1); /* the owners are not known yet */
	assert_int_equal(progress_trace_next(p), 0);
	progress_trace_look(p, 10, worker, view, false);
	assert_int_equal(progress_trace_next(p), 50000010);
	view[0].updates = 10;
	progress_trace_look(p, 49000000, worker, view, false); /* too early */
	progress_trace_moves(p, trace, 42, 100000000, move, 2);
	progress_trace_moves(p, trace, 42, 100000005, move, 0);
	view[0].owner = view[0].holder = 0;
	view[2].owner = view[2].holder = 1;
	progress_trace_look(p, 100000010, worker, view, false); /* the owners are known */
	view[1] = (struct progress_subdomain_view){.updates = 1};
	progress_trace_look(p, 300000000, worker, view, false);
	view[0].updates = 11;
	progress_trace_look(p, 300000001, worker, view, true);
	progress_trace_free(p);
	trace_free(trace);
	assert_string_equal(body(f), "plb 5 42 1\n"
				     "subdomains 10 42 3 2 1 -1 0\n"
				     "updates 10 42 7 -1 4611686018427387903\n"
				     "plb 100000000 42 2\n"
				     "give 100000000 42 0 1 0\n"
				     "give 100000000 42 2 0 1\n"
				     "updates 100000010 42 10 -1 4611686018427387903\n"
				     "subdomains 300000000 42 3 2 0 0 1\n"
				     "updates 300000000 42 10 1 4611686018427387903\n"
				     "updates 300000001 42 11 1 4611686018427387903\n");
}

/* Leaves no room until the next flush. */
static void fill(struct trace *trace)
{
	for (int width = 100000; width > 0; width /= 10)
		do {
			trace_begin(trace);
			trace_print(trace, "%0*d\n", width, 0);
		} while (trace_end(trace));
}

/* The records of subdomains: text, which has 2000 bytes. */
static const char *of_program(struct fixture *f, char *text)
{
	*text = '\0';
	for (const char *line = body(f); *line != '\0'; line = strchr(line, '\n') + 1)
		if (strchr("psguh", *line) != NULL)
			strncat(text, line, (size_t)(strchr(line, '\n') + 1 - line));
	return text;
}

/* A holder that does not pass on what it should, and one that has left. What is read before a worker
 * came is as it will be. */
static void test_holders(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = open_trace(f);
	const struct progress_info info = {.workers = 2, .subdomains = 2};
	struct progress_subdomain_view view[] = {
		{.owner = 0, .holder = 0}, {.owner = 1, .holder = 1}};
	struct progress_worker_view worker[2] = {0};
	const struct policy_plb_move move = {0, 0, 1};
	struct progress_trace *p = progress_trace_new(trace, 42, &info);

	assert_non_null(p);
	progress_trace_look(p, 1, worker, view, false);
	worker[0] = worker[1] = (struct progress_worker_view){.tid = 1, .iterations = 1};
	progress_trace_moves(p, trace, 42, 50000000, &move, 1);
	view[0].owner = 1;
	progress_trace_look(p, 100000000, worker, view, false);
	progress_trace_look(p, 200000000, worker, view, false);
	view[0].holder = 1;
	progress_trace_look(p, 300000000, worker, view, false);
	progress_trace_look(p, 400000000, worker, view, false);
	worker[1].tid = 0;
	fill(trace);
	progress_trace_look(p, 500000000, worker, view, false); /* lost */
	assert_int_equal(trace_flush(trace), 0);
	worker[1].tid = 3;
	progress_trace_look(p, 600000000, worker, view, false);
	worker[1].tid = 0;
	progress_trace_look(p, 600000001, worker, view, true);
	progress_trace_free(p);
	trace_free(trace);
	char text[2000];
	assert_string_equal(of_program(f, text), "subdomains 1 42 0 2 0 1\n"
						 "updates 1 42 0 0\n"
						 "plb 50000000 42 1\n"
						 "give 50000000 42 0 0 1\n"
						 "holders 100000000 42 0 1\n"
						 "updates 100000000 42 0 0\n"
						 "holders 200000000 42 0 1\n"
						 "updates 200000000 42 0 0\n"
						 "holders 300000000 42 1 1\n"
						 "updates 300000000 42 0 0\n"
						 "updates 400000000 42 0 0\n"
						 "holders 600000000 42 1 1\n"
						 "updates 600000000 42 0 0\n"
						 "holders 600000001 42 -1 -1\n"
						 "updates 600000001 42 0 0\n");
}

/* As long as records of a program keep being dropped, the trace does not say who owns what. */
static void test_subdomains_dropped(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = open_trace(f);
	const struct progress_info info = {.workers = 2, .subdomains = 1};
	struct progress_subdomain_view view = {.updates = 1};
	const struct progress_worker_view worker[2] = {{.tid = 1}, {.tid = 2}};
	const struct policy_plb_move there = {0, 0, 1}, back = {0, 1, 0};
	struct progress_trace *p = progress_trace_new(trace, 42, &info);

	assert_non_null(p);
	fill(trace);
	progress_trace_look(p, 1, worker, &view, false); /* lost */
	assert_int_equal(trace_flush(trace), 0);
	progress_trace_look(p, 100000000, worker, &view, false);
	fill(trace);
	progress_trace_moves(p, trace, 42, 110000000, &there, 1); /* lost */
	assert_int_equal(trace_flush(trace), 0);
	progress_trace_moves(p, trace, 42, 120000000, &back, 1); /* from whom? */
	progress_trace_moves(p, trace, 42, 130000000, &there, 1);
	view.owner = view.holder = 1;
	progress_trace_look(p, 200000000, worker, &view, false);
	progress_trace_moves(p, trace, 42, 210000000, &back, 1);
	progress_trace_free(p);
	trace_free(trace);
	char text[2000];
	assert_string_equal(of_program(f, text), "subdomains 100000000 42 0 2 0\n"
						 "updates 100000000 42 1\n"
						 "plb 120000000 42 1\n"
						 "plb 130000000 42 1\n"
						 "subdomains 200000000 42 0 2 1\n"
						 "updates 200000000 42 1\n"
						 "plb 210000000 42 1\n"
						 "give 210000000 42 0 1 0\n");
	assert_non_null(strstr(f->text, "\ndropped "));
}

/* However many there are, the number of values per second is limited; and of too many none are
 * written. */
static void test_many_subdomains(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = open_trace(f);
	struct progress_info info = {.workers = 1, .subdomains = PROGRESS_TRACE_SUBDOMAINS_MAX};
	struct progress_subdomain_view *view = calloc(info.subdomains, sizeof *view);
	const struct progress_worker_view worker[1] = {{.tid = 1}};
	const struct policy_plb_move move = {0, 0, 0};
	struct progress_trace *p = progress_trace_new(trace, 42, &info);

	assert_non_null(view);
	assert_non_null(p);
	for (uint64_t now = 1; now < UINT64_C(20000000000); now += 1000000)
		progress_trace_look(p, now, worker, view, false);
	progress_trace_free(p);
	info.subdomains++;
	p = progress_trace_new(trace, 42, &info);
	assert_null(p);
	assert_true(progress_trace_next(p) == UINT64_MAX);
	progress_trace_look(p, 1, worker, view, false);
	progress_trace_moves(p, trace, 42, 1, &move, 1);
	progress_trace_free(p);
	assert_null(progress_trace_new(NULL, 42, &info));
	progress_trace_moves(NULL, NULL, 42, 1, &move, 1);
	trace_free(trace);
	const char *text = body(f);
	int samples = 0;
	for (const char *at = text; (at = strstr(at, "updates ")) != NULL; at++)
		samples++;
	assert_int_equal(samples, 4); /* in 20 s, one every 6.6 s */
	assert_string_equal(text + strlen(text) - 11, "plb 1 42 1\n");
	free(view);
}

static void test_null(void **state)
{
	(void)state;
	trace_begin(NULL);
	trace_print(NULL, "%d\n", 1);
	assert_true(trace_end(NULL));
	assert_int_equal(trace_flush(NULL), 0);
	trace_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_header),
		TEST(test_header_of_bytes),
		TEST(test_records),
		TEST(test_overflow),
		TEST(test_overflow_then_room),
		TEST(test_huge_record),
		TEST(test_threads),
		TEST(test_cannot_open),
		TEST(test_full_from_the_start),
		TEST(test_full_later),
		TEST(test_subdomains),
		TEST(test_holders),
		TEST(test_subdomains_dropped),
		TEST(test_many_subdomains),
		cmocka_unit_test(test_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
