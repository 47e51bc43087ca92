/* SPDX-License-Identifier: MIT */
/*
 * The results of a run, as text and as JSON.
 */
#ifndef JACOBI_RESULT_H
#define JACOBI_RESULT_H

#include "apps/jacobi/solve.h"

/* For people, to standard output. Returns 0 or a negative errno. */
int result_print(const struct solve_task *task, const struct solve_outcome *outcome);

/* To options->json. Returns 0 or a negative errno. */
int result_write(const struct solve_task *task, const struct solve_outcome *outcome);

#endif
