/* SPDX-License-Identifier: MIT */
/* Takes a sample of a job with damaged segments, and another after further damage, and compares the
 * two. */
#undef NDEBUG
#include "tests/fuzz/job_file.h"

#include <assert.h>
#include <errno.h>
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

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
	assert(sample->threads <= (sample->wrapped ? TELEMETRY_FILE_THREADS : JOB_WORKERS));
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	struct live_sample before, after;
	int error = job_files_samples(&input, &before, &after);

	assert(error == 0 || error == -ESRCH);
	if (error == 0) {
		check(&before);
		check(&after);
		live_sample_deinit(&before);
		live_sample_deinit(&after);
	}
	return 0;
}
