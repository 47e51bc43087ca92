/* SPDX-License-Identifier: MIT */
/*
 * A run whose threads share one process: the common part of the pthreads and OpenMP programs.
 */
#ifndef UBENCH_BENCH_H
#define UBENCH_BENCH_H

#include "apps/ubench/options.h"

/* Run a program: read its options, calibrate, run, report. cpus: how many CPUs its threads may use,
 * for ideal_s; 0: those of the affinity mask. wait: the runtime's own barrier; NULL: it has none.
 * Returns the exit status. */
int bench_main(const struct model *model, int argc, char **argv, int cpus, void (*wait)(void *));

#endif
