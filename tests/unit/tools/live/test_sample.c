// SPDX-License-Identifier: MIT
/*
 * A sample of segments that no juggle and no program would write: all its counts are bounded, and
 * so is its size.
 */
#undef NDEBUG
#include "daemon/telemetry/reader_fd.h"
#include "libprogress/reader/reader_fd.h"
#include "tools/live/internal.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fuzz/telemetry_file.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define MEMBERS 5

/* ---- Named files, since only those of ended jobs have no name ---- */

struct file {
	char path[32];
	int fd;
};

static struct file file_of(const void *data, size_t bytes, uint64_t total)
{
	struct file file = {.path = "/tmp/live-sample.XXXXXX"};

	file.fd = mkstemp(file.path);
	assert_true(file.fd >= 0);
	assert_int_equal(pwrite(file.fd, data, bytes, 0), bytes);
	assert_int_equal(ftruncate(file.fd, (off_t)total), 0);
	return file;
}

static void remove_file(const struct file *file)
{
	close(file->fd);
	unlink(file->path);
}

/* A job under juggle, whose pid is this process's. */
static struct live_job *wrapped_job(const struct file *file)
{
	struct live_job *job = calloc(1, sizeof *job);

	assert_non_null(job);
	job->uid = geteuid();
	job->pid = getpid();
	assert_int_equal(
		telemetry_reader_open_fd(dup(file->fd), getpid(), geteuid(), &job->reader, NULL),
		0);
	return job;
}

struct content {
	struct telemetry t;
	struct telemetry_cpu cpu[TELEMETRY_CPUS];
	struct telemetry_thread thread[3];
};

static struct content *new_content(void)
{
	struct content *c = aligned_alloc(64, (sizeof *c + 63) / 64 * 64);

	assert_non_null(c);
	memset(c, 0, sizeof *c);
	telemetry_make_acceptable(&c->t, getpid());
	c->t.start_ns = clock_monotonic_ns();
	c->t.state = TELEMETRY_RUNNING;
	return c;
}

/* ---- Tests ---- */

static void test_cpus(void **state)
{
	static const struct telemetry_cpu cpu[] = {{.os_cpu = 7, .domain = 3},
		{.os_cpu = -1, .domain = 0}, {.os_cpu = 1, .domain = INT32_MAX},
		{.os_cpu = 2, .domain = -5}, {.os_cpu = 7, .domain = 3},
		{.os_cpu = 0, .domain = 1023}, {.os_cpu = 4, .domain = 1024},
		{.os_cpu = 7, .domain = 3}};
	struct content *c = new_content();
	struct live_sample sample;

	(void)state;
	memcpy(c->cpu, cpu, sizeof cpu);
	c->t.cpus = COUNT(cpu);
	/* Threads on a CPU of the list, on one that was left out, and left to the kernel. */
	for (int i = 0; i < 3; i++) {
		c->thread[i].pid = c->thread[i].tid = getpid();
		c->thread[i].flags = TELEMETRY_THREAD_USED | TELEMETRY_THREAD_COMPUTE;
	}
	c->thread[0].os_cpu = 7;
	c->thread[1].os_cpu = 1;
	c->thread[2].os_cpu = INT32_MIN;
	c->t.slots = 3;
	struct file file = file_of(c, sizeof *c, c->t.total_bytes);
	struct live_job *job = wrapped_job(&file);
	assert_int_equal(live_take(job, &sample), 0);
	assert_int_equal(sample.cpus, 2);
	assert_int_equal(sample.cpu[0].os_cpu, 0);
	assert_int_equal(sample.cpu[0].domain, 1023);
	assert_int_equal(sample.cpu[1].os_cpu, 7);
	assert_int_equal(sample.cpu[1].domain, 3);
	assert_int_equal(sample.threads, 3);
	uint32_t placed = 0;
	for (size_t i = 0; i < sample.threads; i++) {
		placed += sample.thread[i].os_cpu == 7 && sample.thread[i].domain == 3;
		assert_true(sample.thread[i].os_cpu != 1 || sample.thread[i].domain == -1);
	}
	assert_true(placed >= 1 && sample.cpu[1].threads == placed);
	live_sample_deinit(&sample);
	live_close(job);
	remove_file(&file);
	free(c);
}

static void test_slow_cpus(void **state)
{
	static const struct telemetry_cpu cpu[] = {{.os_cpu = 0, .speed = 1000, .stolen = 50},
		{.os_cpu = 1, .speed = 550, .stolen = 1000},
		{.os_cpu = 2, .speed = 0, .stolen = 1001},
		{.os_cpu = 3, .speed = 1001, .stolen = UINT32_MAX},
		{.os_cpu = 4, .speed = UINT32_MAX}};
	struct content *c = new_content();
	struct live_sample sample;

	(void)state;
	memcpy(c->cpu, cpu, sizeof cpu);
	c->t.cpus = COUNT(cpu);
	memset(c->t.speeds, 'x', sizeof c->t.speeds); /* without an end */
	c->t.speeds[1] = '\033';
	c->t.quota = 1500;
	c->t.throttled_ns = UINT64_MAX;
	struct file file = file_of(c, sizeof *c, c->t.total_bytes);
	struct live_job *job = wrapped_job(&file);
	assert_int_equal(live_take(job, &sample), 0);
	assert_int_equal(sample.cpus, COUNT(cpu));
	assert_true(sample.cpu[0].speed == 1 && sample.cpu[1].speed == 0.55);
	for (int i = 2; i < 5; i++)
		assert_true(isnan(sample.cpu[i].speed));
	assert_true(sample.cpu[0].stolen == 0.05 && sample.cpu[1].stolen == 1);
	assert_true(sample.cpu[2].stolen == 1 && sample.cpu[3].stolen == 1);
	assert_true(live_speeds_differ(&sample));
	assert_float_equal(live_stolen(&sample), 3.05 / 5, 1e-12);
	assert_string_equal(sample.speeds_from, "x?xxxxxxxxxxxxx");
	assert_true(sample.quota_cpus == 1.5 && sample.throttled_ns == UINT64_MAX);
	live_sample_deinit(&sample);
	assert_false(live_speeds_differ(&sample));
	assert_true(live_stolen(&sample) == 0);
	live_close(job);
	remove_file(&file);
	free(c);
}

static struct live_job *unwrapped_job(const struct file *file, size_t members)
{
	struct live_job *job = calloc(1, sizeof *job);

	assert_non_null(job);
	job->uid = geteuid();
	job->member = calloc(members, sizeof *job->member);
	assert_non_null(job->member);
	job->members = members;
	for (size_t i = 0; i < members; i++) {
		job->member[i].pid = getpid();
		job->member[i].rank = (int32_t)i;
		assert_int_equal(progress_reader_open_fd(dup(file->fd), getpid(), geteuid(), false,
					 &job->member[i].reader, NULL),
			0);
	}
	return job;
}

/* A sample of five processes with that many each, of which one is too many. */
static void assert_last_is_left_out(uint32_t workers, uint32_t subdomains)
{
	struct segment_header header = {.rank = 0};
	struct live_sample sample;
	size_t bytes = segment_make_acceptable(&header, getpid(), workers, subdomains);
	struct file file = file_of(&header, sizeof header, bytes);
	struct live_job *job = unwrapped_job(&file, MEMBERS);

	for (int again = 0; again < 2; again++) {
		assert_int_equal(live_take(job, &sample), 0);
		live_compare(NULL, &sample);
		assert_int_equal(sample.processes, MEMBERS);
		for (size_t i = 0; i < MEMBERS; i++) {
			const struct live_process *process = &sample.process[i];
			bool fits = i < MEMBERS - 1;
			assert_int_equal(process->error, fits ? 0 : -E2BIG);
			assert_int_equal(process->subdomains, fits ? subdomains : 0);
			assert_int_equal(process->worker != NULL, fits);
		}
		assert_int_equal(sample.workers, (MEMBERS - 1) * workers);
		assert_int_equal(sample.subdomains, (MEMBERS - 1) * subdomains);
		live_sample_deinit(&sample);
	}
	live_close(job);
	remove_file(&file);
}

static void test_too_many_subdomains(void **state)
{
	(void)state;
	assert_last_is_left_out(1, LIVE_SUBDOMAINS_MAX / (MEMBERS - 1));
}

static void test_too_many_workers(void **state)
{
	(void)state;
	assert_last_is_left_out(LIVE_WORKERS_MAX / (MEMBERS - 1), 1);
}

/* Nothing is kept of ended processes, since another may get the number. */
static void test_ranks_are_forgotten(void **state)
{
	struct live_job *job = calloc(1, sizeof *job);

	(void)state;
	assert_non_null(job);
	for (pid_t pid = 1; pid <= 100; pid++)
		live_job_rank(job, INT32_MAX - pid);
	assert_int_equal(job->ranks, 100);
	live_job_forget_ranks(job);
	assert_int_equal(job->ranks, 100);
	job->rank[99].rank = 5; /* as if read */
	assert_int_equal(live_job_rank(job, INT32_MAX - 1), 5);
	live_job_forget_ranks(job);
	assert_int_equal(job->ranks, 1);
	assert_int_equal(live_job_rank(job, INT32_MAX - 1), 5);
	live_job_forget_ranks(job);
	live_job_forget_ranks(job);
	assert_int_equal(job->ranks, 0);
	assert_int_equal(live_job_rank(job, INT32_MAX - 1), -1);
	live_close(job);
}

static void test_ranks_of_ended_threads(void **state)
{
	struct content *c = new_content();
	struct live_sample sample;

	(void)state;
	for (int i = 0; i < 3; i++) {
		c->thread[i].pid = c->thread[i].tid = INT32_MAX - i;
		c->thread[i].flags = TELEMETRY_THREAD_USED;
	}
	c->t.slots = 3;
	struct file file = file_of(c, sizeof *c, c->t.total_bytes);
	struct live_job *job = wrapped_job(&file);
	assert_int_equal(live_take(job, &sample), 0);
	assert_int_equal(job->ranks, 3);
	live_sample_deinit(&sample);
	c->t.slots = 1;
	assert_int_equal(pwrite(file.fd, c, sizeof *c, 0), sizeof *c);
	assert_int_equal(live_take(job, &sample), 0);
	assert_int_equal(job->ranks, 1);
	live_sample_deinit(&sample);
	live_close(job);
	remove_file(&file);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_slow_cpus),
		cmocka_unit_test(test_too_many_subdomains),
		cmocka_unit_test(test_too_many_workers),
		cmocka_unit_test(test_ranks_are_forgotten),
		cmocka_unit_test(test_ranks_of_ended_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
