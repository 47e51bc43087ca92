/* SPDX-License-Identifier: MIT */
/*
 * The work that a phase consists of; see work.h. In a file of its own so that the
 * calibration and all three programs run the very same machine code.
 */
#include "apps/ubench/work.h"

#include "daemon/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 256
#define SAMPLE_NS UINT64_C(500000) /* shorter than a time slice: most are undisturbed */
#define WORDS_PER_LINE (WORK_LINE_BYTES / sizeof(uint64_t))

int work_init(struct work *work, int index, uint64_t memory_bytes)
{
	/* Seeds that differ in many bits between neighbours, and are never 0, which xorshift would
	 * never leave. */
	uint64_t seed = ((uint64_t)index + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	uint64_t line_count = memory_bytes / WORK_LINE_BYTES;
	uint64_t *lines = NULL;

	if (memory_bytes % WORK_LINE_BYTES)
		line_count++;
	if (line_count > SIZE_MAX / WORK_LINE_BYTES)
		return -ENOMEM;
	if (line_count) {
		lines = aligned_alloc(WORK_LINE_BYTES, line_count * WORK_LINE_BYTES);
		if (!lines)
			return -ENOMEM;
		memset(lines, 0, line_count * WORK_LINE_BYTES);
	}
	*work = (struct work){.state = seed, .lines = lines, .line_count = line_count};
	return 0;
}

void work_deinit(struct work *work)
{
	free(work->lines);
	*work = (struct work){0};
}

__attribute__((noinline)) void work_run(struct work *work, uint64_t steps)
{
	uint64_t blocks = steps / WORK_STEPS_PER_LINE + (steps % WORK_STEPS_PER_LINE != 0);
	uint64_t state = work->state;
	uint64_t next = work->line_next;

	for (uint64_t block = 0; block < blocks; block++) {
		for (int i = 0; i < WORK_STEPS_PER_LINE; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			/* The compiler must assume that the value changes here, so it can't compute
			 * ahead, merge or drop anything. */
			__asm__ volatile("" : "+r"(state));
		}
		if (work->line_count) {
			uint64_t *word = &work->lines[next * WORDS_PER_LINE];

			/* The chain waits for the load, so cold caches cost time. */
			state += *word;
			*word = state;
			if (++next == work->line_count)
				next = 0;
		}
	}
	work->state = state;
	work->line_next = next;
}

uint64_t work_steps(uint64_t rate_steps_per_ms, uint64_t phase_ns)
{
	double steps = (double)rate_steps_per_ms * (double)phase_ns / 1e6;

	return steps < 1 ? 1 : (uint64_t)(steps + 0.5);
}

static uint64_t sample_ns(struct work *work, uint64_t steps)
{
	uint64_t before = clock_thread_ns();

	work_run(work, steps);

	uint64_t used = clock_thread_ns() - before;
	return used ? used : 1;
}

int work_calibrate(uint64_t memory_bytes, uint64_t *rate_steps_per_ms)
{
	struct work work;
	uint64_t steps = 1024;
	double best = 0;
	int rc = work_init(&work, 0, memory_bytes);

	if (rc < 0)
		return rc;
	while (sample_ns(&work, steps) < SAMPLE_NS)
		steps *= 2;
	for (int i = 0; i < SAMPLES; i++) {
		double rate = (double)steps * 1e6 / (double)sample_ns(&work, steps);
		if (rate > best)
			best = rate;
	}
	work_deinit(&work);
	*rate_steps_per_ms = best < 1 ? 1 : (uint64_t)best;
	return 0;
}
