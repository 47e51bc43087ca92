/* SPDX-License-Identifier: MIT */
#include "daemon/base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/clock.h"

/* Headers may be older than the kernel: futex_waitv(2) came with Linux 5.16. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef FUTEX_32
#define FUTEX_32 2
struct futex_waitv {
	uint64_t val, uaddr;
	uint32_t flags, __reserved;
};
#endif

void futex_wait_until(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
	struct timespec until = clock_timespec(until_ns);

	/* FUTEX_WAIT_BITSET, unlike FUTEX_WAIT, takes an absolute time. */
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen,
		until_ns == FUTEX_FOREVER ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void futex_wait_either(
	_Atomic uint32_t *word, uint32_t seen, const struct futex_shared *shared, uint64_t until_ns)
{
	struct futex_waitv both[] = {
		{.val = seen, .uaddr = (uintptr_t)word, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG},
		{.val = shared->seen, .uaddr = (uintptr_t)shared->word, .flags = FUTEX_32}};
	struct timespec until = clock_timespec(until_ns);

	/* A filter of system calls may refuse it by any error: to return at once then would spin. */
	if (syscall(SYS_futex_waitv, both, 2, 0, until_ns == FUTEX_FOREVER ? NULL : &until,
		    CLOCK_MONOTONIC) < 0 &&
		errno != EAGAIN && errno != EINTR && errno != ETIMEDOUT)
		futex_wait_until(word, seen, until_ns);
}

bool futex_has_either(void)
{
	_Atomic uint32_t word = 1;
	struct futex_waitv differs = {
		.val = 0, .uaddr = (uintptr_t)&word, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG};

	return syscall(SYS_futex_waitv, &differs, 1, 0, NULL, CLOCK_MONOTONIC) < 0 &&
	       errno == EAGAIN;
}

void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}
