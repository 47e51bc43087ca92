/* SPDX-License-Identifier: MIT */
/*
 * Takes a sample of a job with arbitrary bytes in its segments, another after some of them have
 * changed, and compares the two. The headers are made acceptable, since the readers have fuzzers of
 * their own; the first byte determines how.
 */
#undef NDEBUG
#include "daemon/telemetry/reader_fd.h"
#include "libprogress/reader/reader_fd.h"
#include "tools/live/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/segment_file.h"

#define THREADS 12
#define SEGMENTS 3
#define WORKERS 3
#define SUBDOMAINS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* All bytes other than zero in the two files of a job. */
struct content {
	struct telemetry t;
	struct telemetry_cpu cpu[4];
	struct telemetry_thread thread[THREADS];
	struct telemetry_progress segment[SEGMENTS];
	alignas(SEGMENT_LINE) struct segment_header header;
	struct segment_worker worker[WORKERS];
	struct segment_subdomain subdomain[SUBDOMAINS];
};

static void write_at(int fd, const void *data, size_t bytes, size_t offset)
{
	if (pwrite(fd, data, bytes, (off_t)offset) != (ssize_t)bytes)
		abort();
}

/* The counts are smaller than they may be, to save time. */
static void write_job(int job, int progress, struct content *c, uint8_t how)
{
	size_t cpus = sizeof c->t, threads = cpus + TELEMETRY_CPUS * sizeof c->cpu[0];

	telemetry_make_acceptable(&c->t, getpid());
	c->t.start_ns = clock_monotonic_ns() - how;
	c->t.slots %= THREADS + 1;
	c->t.progress_slots %= SEGMENTS + 1;
	c->t.state %= how % 2 == 0 ? 5 : 2;
	if (how % 4 != 0)
		c->segment[0] = (struct telemetry_progress){
			.flags = TELEMETRY_PROGRESS_USED, .pid = getpid()};
	write_at(job, &c->t, sizeof c->t, 0);
	write_at(job, c->cpu, sizeof c->cpu, cpus);
	write_at(job, c->thread, sizeof c->thread, threads);
	write_at(job, c->segment, sizeof c->segment,
		threads + TELEMETRY_THREADS * sizeof c->thread[0]);
	if (ftruncate(job, (off_t)(sizeof c->t + TELEMETRY_ARRAYS_BYTES)) < 0)
		abort();
	segment_make_acceptable(&c->header, getpid(), WORKERS, SUBDOMAINS);
	write_at(progress, &c->header, segment_size(WORKERS, SUBDOMAINS), 0);
}

/* A file with a name: a file without one belongs to a job that has ended. */
static int named_file(char *path)
{
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	return fd;
}

static struct live_job *open_job(int job, int progress, bool wrapped)
{
	struct live_job *live = calloc(1, sizeof *live);

	assert(live != NULL);
	live->uid = geteuid();
	live->member = calloc(1, sizeof *live->member);
	assert(live->member != NULL);
	live->members = 1;
	live->member[0].pid = getpid();
	live->member[0].rank = -1;
	int error = progress_reader_open_fd(
		dup(progress), getpid(), geteuid(), false, &live->member[0].reader, NULL);
	assert(error == 0);
	if (wrapped) {
		live->pid = getpid();
		error = telemetry_reader_open_fd(
			dup(job), getpid(), geteuid(), &live->reader, NULL);
		assert(error == 0);
	}
	return live;
}

static void check_text(const char *text, size_t bytes)
{
	assert(memchr(text, '\0', bytes) != NULL);
	for (; *text != '\0'; text++)
		assert((unsigned char)*text >= ' ' && *text != '\177');
}

static void check(const struct live_sample *sample)
{
	check_text(sample->command, sizeof sample->command);
	check_text(sample->policy, sizeof sample->policy);
	assert(sample->reason != NULL);
	assert(sample->threads <= (sample->wrapped ? THREADS : WORKERS));
	for (size_t i = 0; i < sample->cpus; i++) {
		assert(sample->cpu[i].os_cpu > (i == 0 ? -1 : sample->cpu[i - 1].os_cpu));
		assert(sample->cpu[i].domain >= 0 && sample->cpu[i].domain < TELEMETRY_CPUS);
	}
	for (size_t i = 0; i < sample->threads; i++) {
		const struct live_thread *thread = &sample->thread[i];
		check_text(thread->comm, sizeof thread->comm);
		assert(thread->process < (int32_t)sample->processes);
		assert(isnan(thread->share) || thread->share >= 0);
	}
	for (size_t p = 0; p < sample->processes; p++) {
		const struct live_process *process = &sample->process[p];
		assert(process->error <= 0 && process->held <= process->subdomains);
		assert(process->spread == process->most - process->least);
		for (uint32_t s = 0; s < process->subdomains; s++)
			assert(isnan(process->updates_per_s[s]) || process->updates_per_s[s] >= 0);
	}
}

static void use(int job, int progress, struct content *c, const uint8_t *data, size_t bytes)
{
	struct live_sample before = {0}, after = {0};

	memcpy(c, data + 1, bytes - 1 < sizeof *c ? bytes - 1 : sizeof *c);
	write_job(job, progress, c, data[0]);
	struct live_job *live = open_job(job, progress, data[0] % 8 != 7);
	int error = live_take(live, &before);
	assert(error == 0 || error == -ESRCH);
	if (error == 0) {
		live_compare(NULL, &before);
		check(&before);
		/* Write some of it again, elsewhere. */
		size_t half = bytes / 2;
		memcpy((char *)c + half, data, half < sizeof *c - half ? half : sizeof *c - half);
		write_job(job, progress, c, data[0]);
		if (live_take(live, &after) == 0) {
			live_compare(&before, &after);
			check(&after);
		}
	}
	live_sample_deinit(&before);
	live_sample_deinit(&after);
	live_close(live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char job_path[] = "/tmp/fuzz-live.XXXXXX", progress_path[] = "/tmp/fuzz-live.XXXXXX";
	struct content *c;

	if (bytes < 1 || bytes > sizeof *c)
		return 0;
	c = aligned_alloc(SEGMENT_LINE, sizeof *c);
	assert(c != NULL);
	memset(c, 0, sizeof *c);
	int job = named_file(job_path), progress = named_file(progress_path);
	use(job, progress, c, data, bytes);
	unlink(job_path);
	unlink(progress_path);
	close(job);
	close(progress);
	free(c);
	return 0;
}
