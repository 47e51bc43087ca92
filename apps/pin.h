/* SPDX-License-Identifier: MIT */
/*
 * Pinning for the workloads. A static baseline is only as good as its pinning, so they all share
 * this code. It is not the daemon's, which the workloads are there to test.
 */
#ifndef APPS_PIN_H
#define APPS_PIN_H

/* Pin the calling thread to one CPU. Returns 0, -EINVAL when the CPU isn't there or not
 * allowed, or another negative errno. */
int pin_caller(int os_cpu);

#endif
