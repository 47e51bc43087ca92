/* SPDX-License-Identifier: MIT */
/*
 * Feeds arbitrary bytes to the parsers of /proc text. Programs of a job choose the names of their
 * threads, so strangers control a part of this text. The first byte chooses the parser.
 */
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "daemon/proc/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void fuzz_stat(const char *text, size_t bytes)
{
	struct proc_thread thread = {.pid = 7};

	if (proc_parse_stat(text, bytes, &thread) < 0)
		return;
	assert(thread.pid == 7);
	assert(thread.tid > 0 && thread.ppid >= 0);
	assert(memchr(thread.comm, '\0', sizeof(thread.comm)));
}

static void fuzz_load(const char *text, size_t bytes)
{
	struct proc_load load;

	if (proc_parse_load(text, bytes, &load) == 0)
		assert(load.last_pid > 0);
}

static void fuzz_pids(const char *text, size_t bytes)
{
	pid_t pids[4];
	ssize_t n = proc_parse_pids(text, bytes, pids, 4);

	for (ssize_t i = 0; i < n && i < 4; i++)
		assert(pids[i] > 0);
	assert(proc_parse_pids(text, bytes, NULL, 0) == n);
}

static void fuzz_cpu(const char *text, size_t bytes)
{
	int32_t os_cpu;

	if (proc_parse_cpu(text, bytes, &os_cpu) == 0)
		assert(os_cpu >= 0);
}

static void fuzz_cpu_times(const char *text, size_t bytes)
{
	struct proc_cpu_times times[4];

	proc_parse_cpu_times(text, bytes, times, 4);
	for (int i = 0; i < 4; i++)
		assert(times[i].stolen_ticks <= times[i].total_ticks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *text;
	uint64_t blocks;
	struct cpuset mask;

	if (bytes == 0)
		return 0;
	text = (const char *)data + 1;
	switch (data[0] % 6) {
	case 0:
		fuzz_stat(text, bytes - 1);
		break;
	case 1:
		fuzz_load(text, bytes - 1);
		break;
	case 2:
		fuzz_pids(text, bytes - 1);
		break;
	case 3:
		fuzz_cpu(text, bytes - 1);
		break;
	case 4:
		fuzz_cpu_times(text, bytes - 1);
		break;
	default:
		(void)proc_parse_blocks(text, bytes - 1, &blocks);
		(void)proc_parse_mask(text, bytes - 1, &mask);
		break;
	}
	return 0;
}
