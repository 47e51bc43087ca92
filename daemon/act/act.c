/* SPDX-License-Identifier: MIT */
/*
 * sched_setaffinity(2) and sched_setattr(2), called here and nowhere else, so that what
 * juggle can do to a thread is seen in one place.
 *
 * The raw system calls are used because glibc has no wrapper for sched_setattr, and for the
 * reason that mask.c gives.
 */
#include "daemon/act/act.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel ignores what lies beyond its own number of CPUs. */
static int set_words(pid_t tid, size_t words, const uint64_t *word)
{
	return syscall(SYS_sched_setaffinity, tid, words * sizeof *word, word) < 0 ? -errno : 0;
}

int act_set_mask(pid_t tid, const struct cpuset *mask)
{
	return set_words(tid, CPUSET_WORDS, mask->word);
}

int act_may_set_mask(pid_t tid)
{
	const uint64_t nothing = 0;
	/* No thread can be given no CPU at all; whether we may ask is looked at before. Setting
	 * the mask that it has would not do: since Linux 6.2 it would count as asked for, and
	 * no longer grow with the cpuset. */
	int r = set_words(tid, 1, &nothing);

	if (r == -EACCES) /* of a security module */
		return -EPERM;
	return r == -EPERM || r == -ESRCH ? r : 0;
}

int act_pin(pid_t tid, int os_cpu)
{
	struct cpuset mask;

	if (os_cpu < 0 || os_cpu >= CPUSET_CPUS_MAX)
		return -EINVAL;
	size_t words = (size_t)os_cpu / 64 + 1;
	memset(mask.word, 0, words * sizeof *mask.word);
	cpuset_add(&mask, os_cpu);
	return set_words(tid, words, mask.word);
}

/* struct sched_attr in its first version, which every kernel with the call takes. */
struct attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns; /* of SCHED_OTHER threads: the slice, since Linux 6.12 */
	uint64_t deadline_ns;
	uint64_t period_ns;
};
_Static_assert(sizeof(struct attr) == 48, "the kernel calls this SCHED_ATTR_SIZE_VER0");

int act_set_own_slice(uint64_t slice_ns)
{
	struct attr attr = {0};

	/* Read first, to keep nice value and flags as they are. */
	if (syscall(SYS_sched_getattr, 0, &attr, (unsigned)sizeof attr, 0u) < 0)
		return -errno;
	if (attr.policy != SCHED_OTHER && attr.policy != SCHED_BATCH)
		return -ENOTSUP;
	attr.size = sizeof attr;
	attr.runtime_ns = slice_ns;
	return syscall(SYS_sched_setattr, 0, &attr, 0u) < 0 ? -errno : 0;
}
