/* SPDX-License-Identifier: MIT */
/*
 * Affinity masks, without anything that sets one: jugglectl is linked to this file of the folder alone.
 *
 * The raw system call is used because glibc's cpu_set_t macros need a heap allocation for
 * large machines.
 */
#include "daemon/act/mask.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int act_mask_count(const struct act_mask *mask)
{
	int count = 0;

	for (size_t i = 0; i < ACT_MASK_WORDS; i++)
		count += __builtin_popcountll(mask->word[i]);
	return count;
}

int act_mask_first(const struct act_mask *mask)
{
	for (int i = 0; i < ACT_MASK_WORDS; i++)
		if (mask->word[i] != 0)
			return i * 64 + __builtin_ctzll(mask->word[i]);
	return -1;
}

int act_get_mask(pid_t tid, struct act_mask *out)
{
	memset(out, 0, sizeof *out);
	if (syscall(SYS_sched_getaffinity, tid, sizeof *out, out) < 0)
		return -errno;
	return 0;
}
