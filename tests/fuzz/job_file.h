/* SPDX-License-Identifier: MIT */
/* A live job for fuzzers: telemetry of a juggle and a segment of libprogress, both damaged by the
 * input, behind headers that can be opened. The readers have fuzzers of their own. */
#ifndef FUZZ_JOB_FILE_H
#define FUZZ_JOB_FILE_H

#include "daemon/telemetry/reader_fd.h"
#include "libprogress/reader/reader_fd.h"
#include "tests/fuzz/telemetry_file.h"
#include "tools/live/internal.h"

#define JOB_WORKERS 3
#define JOB_SUBDOMAINS 20

struct job_files {
	int job_fd, progress_fd;
	struct telemetry_file job;
	struct segment progress;
};

/* Files with names: those without belong to jobs that have ended. */
static char job_path[] = "/tmp/fuzz-job.XXXXXX", progress_path[] = "/tmp/fuzz-job.XXXXXX";

static inline void job_files_remove(void)
{
	unlink(job_path);
	unlink(progress_path);
}

static inline void job_files_init(struct job_files *files, uint8_t age_ns)
{
	static int job_fd = -1, progress_fd = -1;

	if (job_fd < 0) {
		job_fd = memory_file_init(mkstemp(job_path));
		progress_fd = memory_file_init(mkstemp(progress_path));
		atexit(job_files_remove);
	}
	*files = (struct job_files){.job_fd = job_fd,
		.progress_fd = progress_fd,
		.progress = segment_new(getpid(), JOB_WORKERS, JOB_SUBDOMAINS)};
	telemetry_file_init(&files->job, getpid());
	files->job.t.start_ns = clock_monotonic_ns() - age_ns;
}

static inline void job_files_deinit(struct job_files *files)
{
	free(files->progress.content);
}

/* Some writes of the input, to either file. */
static inline void job_files_damage(struct job_files *files, struct input *input, size_t writes)
{
	for (size_t i = 0; i < writes && input->left > 0; i++)
		if (input_byte(input) % 2 == 0)
			telemetry_file_damage(&files->job, input);
		else
			segment_damage(&files->progress, input);
	telemetry_make_acceptable(&files->job.t, getpid());
	segment_make_acceptable((struct segment_header *)files->progress.content, getpid(),
		JOB_WORKERS, JOB_SUBDOMAINS);
	/* Fewer than there may be, to save time. */
	files->job.t.slots %= TELEMETRY_FILE_THREADS + 1;
	files->job.t.progress_slots %= TELEMETRY_FILE_SEGMENTS + 1;
	telemetry_file_write(files->job_fd, &files->job);
	segment_file_write(files->progress_fd, files->progress.content, files->progress.bytes, 0);
}

/* As live_open(), but with these files. */
static inline struct live_job *job_files_open(const struct job_files *files, bool wrapped)
{
	struct live_job *live = calloc(1, sizeof *live);

	if (live == NULL || (live->member = calloc(1, sizeof *live->member)) == NULL)
		abort();
	live->uid = geteuid();
	live->members = 1;
	live->member[0].pid = getpid();
	live->member[0].rank = -1;
	int error = progress_reader_open_fd(memory_file_dup(files->progress_fd), getpid(),
		geteuid(), false, &live->member[0].reader, NULL);
	if (error == 0 && wrapped) {
		live->pid = getpid();
		error = telemetry_reader_open_fd(
			memory_file_dup(files->job_fd), getpid(), geteuid(), &live->reader, NULL);
	}
	if (error != 0)
		abort();
	return live;
}

/* Take a sample and, after further damage, another, and compare them. Returns 0; then deinit both. */
static inline int job_files_samples(
	struct input *input, struct live_sample *before, struct live_sample *after)
{
	struct job_files files;
	uint8_t how = input_byte(input);

	job_files_init(&files, how);
	job_files_damage(&files, input, input_byte(input));
	struct live_job *live = job_files_open(&files, how % 8 != 7);
	int error = live_take(live, before);
	if (error == 0) {
		live_compare(NULL, before);
		job_files_damage(&files, input, SIZE_MAX);
		error = live_take(live, after);
		if (error == 0)
			live_compare(before, after);
		else
			live_sample_deinit(before);
	}
	live_close(live);
	job_files_deinit(&files);
	return error;
}

#endif
