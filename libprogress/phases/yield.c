/* SPDX-License-Identifier: MIT */
/* Threads that yield in waits look from outside like those that spin, where nobody else wants their CPU. */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libprogress/phases/export.h"
#include "libprogress/phases/wait.h"

EXPORT int sched_yield(void)
{
	wait_yield();
	return (int)syscall(SYS_sched_yield);
}
