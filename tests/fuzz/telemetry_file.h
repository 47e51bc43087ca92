/* SPDX-License-Identifier: MIT */
/* Telemetry for fuzzers: that of a juggle in the midst of its work, then damaged by the input. */
#ifndef FUZZ_TELEMETRY_FILE_H
#define FUZZ_TELEMETRY_FILE_H

#include "daemon/telemetry/telemetry.h"
#include "tests/fuzz/segment_file.h"

#define TELEMETRY_FILE_CPUS 4
#define TELEMETRY_FILE_THREADS 12
#define TELEMETRY_FILE_SEGMENTS 3
#define TELEMETRY_FILE_BYTES                                                                       \
	(sizeof(struct telemetry) + TELEMETRY_CPUS * sizeof(struct telemetry_cpu) +                \
		TELEMETRY_THREADS * sizeof(struct telemetry_thread) +                              \
		TELEMETRY_PROGRESS * sizeof(struct telemetry_progress))

/* What is not zero in the file. */
struct telemetry_file {
	struct telemetry t;
	struct telemetry_cpu cpu[TELEMETRY_FILE_CPUS];
	struct telemetry_thread thread[TELEMETRY_FILE_THREADS];
	struct telemetry_progress segment[TELEMETRY_FILE_SEGMENTS];
};

/* Set what opening checks; leave the rest as it is. */
static inline void telemetry_make_acceptable(struct telemetry *t, pid_t pid)
{
	t->magic = TELEMETRY_MAGIC;
	t->version = TELEMETRY_VERSION;
	t->header_bytes = sizeof *t;
	t->total_bytes = TELEMETRY_FILE_BYTES;
	t->cpu_bytes = sizeof(struct telemetry_cpu);
	t->thread_bytes = sizeof(struct telemetry_thread);
	t->progress_bytes = sizeof(struct telemetry_progress);
	t->cpu_capacity = TELEMETRY_CPUS;
	t->thread_capacity = TELEMETRY_THREADS;
	t->progress_capacity = TELEMETRY_PROGRESS;
	t->pid = pid;
}

static inline void telemetry_file_init(struct telemetry_file *file, pid_t pid)
{
	memset(file, 0, sizeof *file);
	telemetry_make_acceptable(&file->t, pid);
	strcpy(file->t.command, "./app");
	file->t.state = TELEMETRY_RUNNING;
	file->t.cpus = TELEMETRY_FILE_CPUS;
	file->t.slots = TELEMETRY_FILE_THREADS;
	file->t.progress_slots = TELEMETRY_FILE_SEGMENTS;
	for (int i = 0; i < TELEMETRY_FILE_CPUS; i++)
		file->cpu[i] = (struct telemetry_cpu){.os_cpu = i, .domain = i / 2};
	for (int i = 0; i < TELEMETRY_FILE_THREADS; i++)
		file->thread[i] = (struct telemetry_thread){
			.flags = TELEMETRY_THREAD_USED | TELEMETRY_THREAD_COMPUTE,
			.os_cpu = i % TELEMETRY_FILE_CPUS,
			.tid = pid + i,
			.pid = pid,
			.comm = "app"};
	file->segment[0] = (struct telemetry_progress){
		.flags = TELEMETRY_PROGRESS_USED, .pid = pid, .workers = 2, .subdomains = 4};
}

/* One write of the input, to any record. */
static inline void telemetry_file_damage(struct telemetry_file *file, struct input *input)
{
	static const struct field header[] = {FIELD(telemetry, magic), FIELD(telemetry, version),
		FIELD(telemetry, header_bytes), FIELD(telemetry, total_bytes),
		FIELD(telemetry, cpu_bytes), FIELD(telemetry, thread_bytes),
		FIELD(telemetry, cpu_capacity), FIELD(telemetry, thread_capacity),
		FIELD(telemetry, pid), FIELD(telemetry, attached),
		FIELD(telemetry, start_realtime_ns), FIELD(telemetry, start_ns),
		FIELD(telemetry, command), FIELD(telemetry, policy), FIELD(telemetry, sampler),
		FIELD(telemetry, balancers), FIELD(telemetry, domains), FIELD(telemetry, job_pid),
		FIELD(telemetry, state), FIELD(telemetry, regime), FIELD(telemetry, reason),
		FIELD(telemetry, period_ns), FIELD(telemetry, heartbeat_ns), FIELD(telemetry, cpus),
		FIELD(telemetry, threads), FIELD(telemetry, idle_threads),
		FIELD(telemetry, threads_most), FIELD(telemetry, idle_then),
		FIELD(telemetry, slots), FIELD(telemetry, unlisted), FIELD(telemetry, cycles),
		FIELD(telemetry, migrations), FIELD(telemetry, regime_changes),
		FIELD(telemetry, balanced_ns), FIELD(telemetry, balancer_cpu_ns),
		FIELD(telemetry, cycle_max_ns), FIELD(telemetry, cycle_bucket),
		FIELD(telemetry, progress_bytes), FIELD(telemetry, progress_capacity),
		FIELD(telemetry, progress_slots), FIELD(telemetry, aside_ns),
		FIELD(telemetry, balance_ns), FIELD(telemetry, pace), FIELD(telemetry, phase_ns),
		FIELD(telemetry, point_ns), FIELD(telemetry, speeds), FIELD(telemetry, quota),
		FIELD(telemetry, throttled_ns), FIELD(telemetry, untold), FIELD(telemetry, told),
		FIELD(telemetry, sites), FIELD(telemetry, site)};
	static const struct field cpu[] = {FIELD(telemetry_cpu, os_cpu),
		FIELD(telemetry_cpu, domain), FIELD(telemetry_cpu, speed),
		FIELD(telemetry_cpu, stolen)};
	static const struct field thread[] = {FIELD(telemetry_thread, flags),
		FIELD(telemetry_thread, os_cpu), FIELD(telemetry_thread, tid),
		FIELD(telemetry_thread, pid), FIELD(telemetry_thread, start_ticks),
		FIELD(telemetry_thread, comm), FIELD(telemetry_thread, progress_ns),
		FIELD(telemetry_thread, wait_ns), FIELD(telemetry_thread, migrations),
		FIELD(telemetry_thread, balance_ns), FIELD(telemetry_thread, met_ns),
		FIELD(telemetry_thread, told_ns), FIELD(telemetry_thread, arrivals),
		FIELD(telemetry_thread, waited_ns), FIELD(telemetry_thread, useful_ns),
		FIELD(telemetry_thread, told_until_ns)};
	static const struct field segment[] = {FIELD(telemetry_progress, flags),
		FIELD(telemetry_progress, pid), FIELD(telemetry_progress, rank),
		FIELD(telemetry_progress, workers), FIELD(telemetry_progress, subdomains),
		FIELD(telemetry_progress, balancing), FIELD(telemetry_progress, points),
		FIELD(telemetry_progress, moves), FIELD(telemetry_progress, updates_most),
		FIELD(telemetry_progress, held), FIELD(telemetry_progress, updates_least)};
	uint8_t record = input_byte(input) % 32;

	if (record < TELEMETRY_FILE_CPUS)
		input_write(input, &file->cpu[record], cpu, sizeof cpu / sizeof *cpu);
	else if ((record -= TELEMETRY_FILE_CPUS) < TELEMETRY_FILE_THREADS)
		input_write(input, &file->thread[record], thread, sizeof thread / sizeof *thread);
	else if ((record -= TELEMETRY_FILE_THREADS) < TELEMETRY_FILE_SEGMENTS)
		input_write(
			input, &file->segment[record], segment, sizeof segment / sizeof *segment);
	else
		input_write(input, &file->t, header, sizeof header / sizeof *header);
}

static inline void telemetry_file_write(int fd, const struct telemetry_file *file)
{
	size_t threads = sizeof file->t + TELEMETRY_CPUS * sizeof file->cpu[0];
	size_t segments = threads + TELEMETRY_THREADS * sizeof file->thread[0];

	segment_file_write(fd, &file->t, sizeof file->t, 0);
	segment_file_write(fd, file->cpu, sizeof file->cpu, sizeof file->t);
	segment_file_write(fd, file->thread, sizeof file->thread, threads);
	segment_file_write(fd, file->segment, sizeof file->segment, segments);
	memory_file_resize(fd, TELEMETRY_FILE_BYTES);
}

#endif
