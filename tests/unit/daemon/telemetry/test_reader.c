// SPDX-License-Identifier: MIT
/*
 * The reader of telemetry: what it returns, and what it refuses, whatever file has the name of a
 * segment.
 */
#undef NDEBUG
#include "daemon/telemetry/reader_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/telemetry/writer.h"
#include "tests/unit/random.h"

#define PATH_BYTES 64
#define CPUS_OFFSET sizeof(struct telemetry)
#define THREADS_OFFSET (CPUS_OFFSET + TELEMETRY_CPUS * sizeof(struct telemetry_cpu))
#define PROGRESS_OFFSET (THREADS_OFFSET + TELEMETRY_THREADS * sizeof(struct telemetry_thread))
#define TOTAL_BYTES (PROGRESS_OFFSET + TELEMETRY_PROGRESS * sizeof(struct telemetry_progress))

/* Each test has this process's segment; afterwards any file with its name is removed. */
struct fixture {
	struct telemetry *t;
	char path[PATH_BYTES], aside[PATH_BYTES + 8];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	int fd;

	*state = f;
	assert_non_null(f);
	snprintf(f->path, sizeof f->path, "/dev/shm/juggle.%u.%d", (unsigned)getuid(),
		(int)getpid());
	snprintf(f->aside, sizeof f->aside, "%s.aside", f->path);
	assert_int_equal(telemetry_create(&f->t, &fd), 0);
	if (fd < 0 || telemetry_publish(fd, getpid()) != 0) {
		telemetry_unmap(f->t);
		f->t = NULL;
	}
	if (fd >= 0)
		close(fd);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->t != NULL)
		telemetry_unmap(f->t);
	if (unlink(f->path) < 0)
		rmdir(f->path);
	unlink(f->aside);
	free(f);
	return 0;
}

#define FIXTURE(f)                                                                                 \
	struct fixture *f = *state;                                                                \
	if (f->t == NULL) {                                                                        \
		print_message("SKIPPED: /dev/shm cannot be used here\n");                          \
		skip();                                                                            \
	}

static int try_open(uint32_t *version)
{
	struct telemetry_reader *reader = NULL;
	int error = telemetry_reader_open(getpid(), getuid(), &reader, version);

	assert_true((error == 0) == (reader != NULL));
	telemetry_reader_close(reader);
	return error;
}

static struct telemetry_reader *open_reader(void)
{
	struct telemetry_reader *reader = NULL;

	assert_int_equal(telemetry_reader_open(getpid(), getuid(), &reader, NULL), 0);
	return reader;
}

/* ---- What it returns ---- */

static void test_records(void **state)
{
	struct telemetry_cpu cpu[2];
	struct telemetry_thread thread[2];
	struct telemetry_progress progress[1];
	struct telemetry t;
	uint32_t search = 0, version = 0;
	FIXTURE(f);

	strcpy(f->t->command, "wave -n 5");
	telemetry_cpus(f->t)[1] = (struct telemetry_cpu){.os_cpu = 7, .domain = 1};
	telemetry_set32(&f->t->cpus, 2);
	telemetry_slot(f->t, -1, &search)->tid = 10;
	telemetry_slot(f->t, -1, &search)->tid = 11;
	telemetry_progress_slot(f->t)->pid = 12;
	assert_int_equal(try_open(&version), 0);
	assert_int_equal(version, TELEMETRY_VERSION);
	struct telemetry_reader *reader = open_reader();
	assert_int_equal(telemetry_reader_header(reader, &t), 0);
	assert_int_equal(t.pid, getpid());
	assert_string_equal(t.command, "wave -n 5");
	assert_true(t.start_ns == f->t->start_ns);
	assert_int_equal(t.cpus, 2);
	assert_int_equal(t.slots, 2);
	assert_int_equal(t.progress_slots, 1);
	assert_int_equal(telemetry_reader_cpus(reader, cpu, 2), 0);
	assert_int_equal(cpu[1].os_cpu, 7);
	assert_int_equal(cpu[1].domain, 1);
	assert_int_equal(telemetry_reader_threads(reader, thread, 2), 0);
	assert_int_equal(thread[0].tid, 10);
	assert_int_equal(thread[1].tid, 11);
	assert_int_equal(telemetry_reader_progress(reader, progress, 1), 0);
	assert_int_equal(progress[0].pid, 12);
	assert_false(telemetry_reader_closed(reader));
	telemetry_unlink(getpid());
	assert_true(telemetry_reader_closed(reader));
	telemetry_reader_close(reader);
	telemetry_reader_close(NULL);
}

/* The last records are as good as the first, and there are none after them. */
static void test_capacities(void **state)
{
	struct telemetry_cpu *cpu = calloc(TELEMETRY_CPUS, sizeof *cpu);
	struct telemetry_thread *thread = calloc(TELEMETRY_THREADS, sizeof *thread);
	struct telemetry_progress *progress = calloc(TELEMETRY_PROGRESS, sizeof *progress);
	FIXTURE(f);

	telemetry_cpus(f->t)[TELEMETRY_CPUS - 1].os_cpu = 3;
	telemetry_threads(f->t)[TELEMETRY_THREADS - 1].tid = 4;
	telemetry_progress(f->t)[TELEMETRY_PROGRESS - 1].pid = 5;
	struct telemetry_reader *reader = open_reader();
	assert_int_equal(telemetry_reader_cpus(reader, cpu, TELEMETRY_CPUS), 0);
	assert_int_equal(telemetry_reader_threads(reader, thread, TELEMETRY_THREADS), 0);
	assert_int_equal(telemetry_reader_progress(reader, progress, TELEMETRY_PROGRESS), 0);
	assert_int_equal(cpu[TELEMETRY_CPUS - 1].os_cpu, 3);
	assert_int_equal(thread[TELEMETRY_THREADS - 1].tid, 4);
	assert_int_equal(progress[TELEMETRY_PROGRESS - 1].pid, 5);
	assert_int_equal(telemetry_reader_cpus(reader, cpu, TELEMETRY_CPUS + 1), -EINVAL);
	assert_int_equal(telemetry_reader_threads(reader, thread, UINT32_MAX), -EINVAL);
	assert_int_equal(
		telemetry_reader_progress(reader, progress, TELEMETRY_PROGRESS + 1), -EINVAL);
	assert_int_equal(telemetry_reader_cpus(reader, cpu, 0), 0);
	telemetry_reader_close(reader);
	free(cpu);
	free(thread);
	free(progress);
}

static void test_counts_and_strings(void **state)
{
	struct telemetry_thread thread;
	struct telemetry t;
	FIXTURE(f);

	memset(f->t->command, 'c',
		offsetof(struct telemetry, job_pid) - offsetof(struct telemetry, command));
	memset(telemetry_threads(f->t)[0].comm, 't', sizeof thread.comm);
	telemetry_set32(&f->t->cpus, TELEMETRY_CPUS + 1);
	telemetry_set32(&f->t->slots, UINT32_MAX);
	telemetry_set32(&f->t->progress_slots, TELEMETRY_PROGRESS + 1);
	telemetry_set32(&f->t->state, TELEMETRY_LOST + 1);
	struct telemetry_reader *reader = open_reader();
	assert_int_equal(telemetry_reader_header(reader, &t), 0);
	assert_int_equal(strlen(t.command), sizeof t.command - 1);
	assert_int_equal(strlen(t.policy), sizeof t.policy - 1);
	assert_int_equal(strlen(t.sampler), sizeof t.sampler - 1);
	assert_int_equal(strlen(t.balancers), sizeof t.balancers - 1);
	assert_int_equal(strlen(t.domains), sizeof t.domains - 1);
	assert_int_equal(t.cpus, TELEMETRY_CPUS);
	assert_int_equal(t.slots, TELEMETRY_THREADS);
	assert_int_equal(t.progress_slots, TELEMETRY_PROGRESS);
	assert_int_equal(t.state, TELEMETRY_LOST);
	assert_int_equal(telemetry_reader_threads(reader, &thread, 1), 0);
	assert_int_equal(strlen(thread.comm), sizeof thread.comm - 1);
	telemetry_reader_close(reader);
}

/* ---- What it refuses ---- */

static void test_none(void **state)
{
	struct telemetry_reader *reader = NULL;
	FIXTURE(f);

	(void)f;
	assert_int_equal(telemetry_reader_open(getppid(), getuid(), &reader, NULL), -ENOENT);
	assert_int_equal(telemetry_reader_open(getpid(), getuid() + 1, &reader, NULL), -ENOENT);
	assert_int_equal(telemetry_reader_open(-1, getuid(), &reader, NULL), -ENOENT);
	assert_null(reader);
}

static void test_magic_and_version(void **state)
{
	uint32_t version = 0;
	FIXTURE(f);

	f->t->version = TELEMETRY_VERSION + 1;
	f->t->header_bytes = 8192; /* which only that version could explain */
	assert_int_equal(try_open(&version), -EPROTO);
	assert_int_equal(version, TELEMETRY_VERSION + 1);
	assert_int_equal(try_open(NULL), -EPROTO);
	f->t->version = 0;
	assert_int_equal(try_open(&version), -EPROTO);
	assert_int_equal(version, 0);
	f->t->magic = 0;
	assert_int_equal(try_open(NULL), -EAGAIN);
	f->t->magic = TELEMETRY_MAGIC + 1;
	assert_int_equal(try_open(NULL), -EBADMSG);
}

/* A segment of another version may be shorter than this header. */
static void test_short_of_another_version(void **state)
{
	uint32_t version = 0;
	FIXTURE(f);

	f->t->version = 1;
	assert_int_equal(truncate(f->path, 100), 0);
	assert_int_equal(try_open(&version), -EPROTO);
	assert_int_equal(version, 1);
}

#define ASSERT_BAD(field, value)                                                                   \
	do {                                                                                       \
		__typeof__(f->t->field) was_ = f->t->field;                                        \
		f->t->field = (value);                                                             \
		if (try_open(NULL) != -EBADMSG)                                                    \
			fail_msg("accepted: " #field " = " #value);                                \
		f->t->field = was_;                                                                \
		assert_int_equal(try_open(NULL), 0);                                               \
	} while (0)

static void test_hostile_numbers(void **state)
{
	FIXTURE(f);

	ASSERT_BAD(header_bytes, 0);
	ASSERT_BAD(header_bytes, UINT32_MAX);
	ASSERT_BAD(total_bytes, TOTAL_BYTES + 1);
	ASSERT_BAD(total_bytes, UINT64_MAX);
	ASSERT_BAD(cpu_bytes, 0);
	ASSERT_BAD(cpu_bytes, 8);
	ASSERT_BAD(thread_bytes, 0);
	ASSERT_BAD(thread_bytes, 128);
	ASSERT_BAD(progress_bytes, 0);
	ASSERT_BAD(cpu_capacity, 0);
	ASSERT_BAD(cpu_capacity, TELEMETRY_CPUS + 1);
	ASSERT_BAD(thread_capacity, UINT32_MAX);
	ASSERT_BAD(progress_capacity, TELEMETRY_PROGRESS - 1);
}

static void test_cut_before(void **state)
{
	/* The longest first: what is cut off stays zero. */
	static const off_t lengths[] = {TOTAL_BYTES - 1, PROGRESS_OFFSET, THREADS_OFFSET,
		sizeof(struct telemetry), sizeof(struct telemetry) - 1, 400, 63, 12, 11, 8, 7, 1};
	char *all = malloc(TOTAL_BYTES);
	FIXTURE(f);

	assert_non_null(all);
	memcpy(all, f->t, TOTAL_BYTES);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		assert_int_equal(truncate(f->path, lengths[i]), 0);
		int error = try_open(NULL);
		/* Cut within magic or version the error is another, but it is never accepted. */
		if (lengths[i] >= 12)
			assert_int_equal(error, -EBADMSG);
		else
			assert_true(error == -EBADMSG || error == -EPROTO);
	}
	assert_int_equal(truncate(f->path, 0), 0);
	assert_int_equal(try_open(NULL), -EAGAIN);
	assert_int_equal(truncate(f->path, TOTAL_BYTES), 0);
	assert_int_equal(try_open(NULL), -EAGAIN);
	/* A longer file does no harm. */
	memcpy(f->t, all, TOTAL_BYTES);
	assert_int_equal(truncate(f->path, TOTAL_BYTES + 1), 0);
	assert_int_equal(try_open(NULL), 0);
	free(all);
}

static void test_cut_while_open(void **state)
{
	struct telemetry_cpu cpu[2];
	struct telemetry_thread thread[2];
	struct telemetry_progress progress[TELEMETRY_PROGRESS];
	struct telemetry t;
	FIXTURE(f);
	struct telemetry_reader *reader = open_reader();

	assert_int_equal(truncate(f->path, TOTAL_BYTES - 1), 0);
	assert_int_equal(telemetry_reader_progress(reader, progress, TELEMETRY_PROGRESS), -EBADMSG);
	assert_int_equal(telemetry_reader_progress(reader, progress, TELEMETRY_PROGRESS - 1), 0);
	assert_int_equal(truncate(f->path, THREADS_OFFSET + 1), 0);
	assert_int_equal(telemetry_reader_threads(reader, thread, 2), -EBADMSG);
	assert_int_equal(telemetry_reader_cpus(reader, cpu, 2), 0);
	assert_int_equal(truncate(f->path, CPUS_OFFSET + 1), 0);
	assert_int_equal(telemetry_reader_cpus(reader, cpu, 2), -EBADMSG);
	assert_int_equal(telemetry_reader_header(reader, &t), 0);
	assert_int_equal(truncate(f->path, 300), 0);
	assert_int_equal(telemetry_reader_header(reader, &t), -EBADMSG);
	assert_int_equal(truncate(f->path, 0), 0);
	assert_int_equal(telemetry_reader_header(reader, &t), -EBADMSG);
	telemetry_reader_close(reader);
}

static void test_other_files(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	FIXTURE(f);

	assert_int_equal(rename(f->path, f->aside), 0);
	assert_int_equal(try_open(NULL), -ENOENT);
	assert_int_equal(symlink(f->aside, f->path), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkdir(f->path, 0700), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	assert_int_equal(rmdir(f->path), 0);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	strcpy(address.sun_path, f->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	close(fd);
}

static void test_others_files(void **state)
{
	struct telemetry_reader *reader = NULL;
	FIXTURE(f);

	f->t->pid = getppid();
	assert_int_equal(try_open(NULL), -EPERM);
	f->t->pid = getpid();
	for (mode_t bit = 01; bit <= 040; bit <<= 1) {
		assert_int_equal(chmod(f->path, 0600 | bit), 0);
		assert_int_equal(try_open(NULL), -EPERM);
	}
	assert_int_equal(chmod(f->path, 0600), 0);
	assert_int_equal(try_open(NULL), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(f->path, 65534, 65534), 0);
	assert_int_equal(try_open(NULL), -ENOENT);
	/* The user in the name matters, too. */
	assert_int_equal(telemetry_reader_open(getpid(), 65534, &reader, NULL), -ENOENT);
}

/* Something that can't be removed has the name. */
static void test_unnamed(void **state)
{
	struct telemetry *t = NULL;
	int fd;
	FIXTURE(f);

	telemetry_unlink(getpid());
	assert_int_equal(mkdir(f->path, 0700), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	assert_int_equal(telemetry_create(&t, &fd), 0);
	assert_int_equal(telemetry_publish(fd, getpid()), 0);
	struct telemetry_reader *reader = open_reader();
	assert_false(telemetry_reader_closed(reader));
	close(fd);
	assert_false(telemetry_reader_closed(reader)); /* a balancer lives */
	telemetry_unmap(t);
	assert_true(telemetry_reader_closed(reader));
	telemetry_reader_close(reader);
}

/* Another process with that pid created a new one: the reader continues with the one it has opened,
 * and says so. */
static void test_replaced(void **state)
{
	struct telemetry t;
	FIXTURE(f);
	struct telemetry_reader *reader = open_reader();

	strcpy(f->t->command, "old");
	assert_int_equal(rename(f->path, f->aside), 0);
	assert_int_equal(unlink(f->aside), 0);
	int fd = open(f->path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_true(telemetry_reader_closed(reader));
	assert_int_equal(telemetry_reader_header(reader, &t), 0);
	assert_string_equal(t.command, "old");
	assert_int_equal(try_open(NULL), -EAGAIN);
	telemetry_reader_close(reader);
}

/* A descriptor of another kind of file is refused, and closed. */
static void test_descriptors(void **state)
{
	struct telemetry_reader *reader = NULL;
	int pipes[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(
		telemetry_reader_open_fd(pipes[0], getpid(), getuid(), &reader, NULL), -EPERM);
	assert_int_equal(fcntl(pipes[0], F_GETFD), -1);
	close(pipes[1]);
	int fd = memfd_create("segment", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(telemetry_reader_open_fd(fd, getpid(), getuid(), &reader, NULL), -EAGAIN);
	assert_null(reader);
}

/* Whatever the bytes are, what it returns keeps within its bounds. */
static void test_noise(void **state)
{
	uint64_t seed = 1;
	struct telemetry before, t;
	FIXTURE(f);

	memcpy(&before, f->t, sizeof before);
	for (int round = 0; round < 300; round++) {
		struct telemetry_reader *reader = open_reader();
		char *bytes = (char *)f->t;
		for (size_t i = 64; i < sizeof *f->t; i++)
			bytes[i] = (char)random_word(&seed);
		assert_int_equal(telemetry_reader_header(reader, &t), 0);
		assert_true(t.cpus <= TELEMETRY_CPUS && t.slots <= TELEMETRY_THREADS);
		assert_true(t.progress_slots <= TELEMETRY_PROGRESS && t.state <= TELEMETRY_LOST);
		assert_non_null(memchr(t.command, '\0', sizeof t.command));
		telemetry_reader_close(reader);
		memcpy(f->t, &before, sizeof before);
		bytes[random_int(&seed, 0, 63)] = (char)random_word(&seed);
		try_open(NULL);
		memcpy(f->t, &before, sizeof before);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_records),
		TEST(test_capacities),
		TEST(test_counts_and_strings),
		TEST(test_none),
		TEST(test_magic_and_version),
		TEST(test_short_of_another_version),
		TEST(test_hostile_numbers),
		TEST(test_cut_before),
		TEST(test_cut_while_open),
		TEST(test_other_files),
		TEST(test_others_files),
		TEST(test_unnamed),
		TEST(test_replaced),
		TEST(test_descriptors),
		TEST(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
