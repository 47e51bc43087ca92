/* SPDX-License-Identifier: MIT */
/*
 * sched_setaffinity(2) and sched_setattr(2). Only this file calls them, so that one place shows
 * what juggle can do to a thread.
 *
 * It makes raw system calls: glibc has no wrapper for sched_setattr, and the one of
 * sched_setaffinity takes a cpu_set_t, which ends at 1,024 CPUs.
 */
#include "daemon/act/act.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel ignores words beyond its own number of CPUs. */
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
	/* An empty mask is never valid, but the kernel checks our permission first. Setting the
	 * mask that the thread has would not do: since Linux 6.2 that counts as a user's request,
	 * and the mask would no longer grow with the cpuset. */
	int r = set_words(tid, 1, &nothing);

	if (r == -EACCES) /* from a security module */
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

int act_pin_own(pthread_t thread, int os_cpu)
{
	struct cpuset mask = {0};

	cpuset_add(&mask, os_cpu);
	return -pthread_setaffinity_np(thread, sizeof mask.word, (const cpu_set_t *)mask.word);
}

/* The first version of struct sched_attr, which every kernel that has the call accepts. */
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

/* A flag, Linux 5.3 and later: the scheduling class stays as it is, even if it has just changed. */
#define KEEP_POLICY 8u

/* Read all, to keep the nice value and the flags. */
static int read_attr(pid_t tid, struct attr *attr)
{
	if (syscall(SYS_sched_getattr, tid, attr, (unsigned)sizeof *attr, 0u) < 0)
		return -errno;
	if (attr->policy != SCHED_OTHER && attr->policy != SCHED_BATCH)
		return -ENOTSUP;
	return 0;
}

static int set_slice(pid_t tid, struct attr *attr, uint64_t slice_ns)
{
	attr->size = sizeof *attr;
	attr->runtime_ns = slice_ns;
	return syscall(SYS_sched_setattr, tid, attr, 0u) < 0 ? -errno : 0;
}

int act_set_own_slice(uint64_t slice_ns)
{
	struct attr attr = {0};
	int r = read_attr(0, &attr);

	return r < 0 ? r : set_slice(0, &attr, slice_ns);
}

uint64_t act_default_slice(void)
{
	struct attr before = {0}, attr = {0};

	if (read_attr(0, &before) < 0 || act_set_own_slice(0) < 0)
		return 0;
	int r = read_attr(0, &attr);
	if (r < 0 || attr.runtime_ns != before.runtime_ns)
		(void)act_set_own_slice(before.runtime_ns);
	return r < 0 ? 0 : attr.runtime_ns;
}

/* A thread that has one slice gets another one. */
static int exchange_slice(pid_t tid, uint64_t from_ns, uint64_t to_ns)
{
	struct attr attr = {0};
	int r = read_attr(tid, &attr);

	if (r == 0 && attr.runtime_ns != from_ns)
		r = -ENOTSUP;
	attr.flags |= KEEP_POLICY;
	return r < 0 ? r : set_slice(tid, &attr, to_ns);
}

int act_shorten_slice(pid_t tid, uint64_t default_ns)
{
	return exchange_slice(tid, default_ns, ACT_SLICE_SHORT_NS);
}

int act_restore_slice(pid_t tid)
{
	return exchange_slice(tid, ACT_SLICE_SHORT_NS, 0);
}

bool act_has_short_slice(pid_t tid)
{
	struct attr attr = {0};

	return read_attr(tid, &attr) == 0 && attr.runtime_ns == ACT_SLICE_SHORT_NS;
}
