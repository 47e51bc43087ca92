/* SPDX-License-Identifier: MIT */
/*
 * A balancing point where phases are told (told.h; beyond the paper). The paper compares what threads
 * have done. Where their needs are known, it counts what remains to them until the barrier: the phase
 * ends when the last CPU has run dry of that.
 *
 * A CPU runs dry after what remains to its threads, divided by its speed, and by the share that others
 * leave: other jobs' work, and our own threads that spin at the barrier already. So threads with greater
 * needs get more, as do those that were held up; and CPUs may differ by more than one thread, where one
 * has the threads that need much. Equal threads on equal CPUs are left to the paper's turns: programs in
 * which threads wait within phases, too, do better by these.
 */
#ifndef JUGGLE_POLICY_ENDS_H
#define JUGGLE_POLICY_ENDS_H

#include "daemon/policy/policy.h"

/* Move threads from the CPU that runs dry last to others, or swap them with theirs, as long as both then run
 * dry earlier, by more than moves cost. Needs policy_measure_cpus() for this interval. No thread moves
 * twice, and no CPU loses its last thread. Returns how many threads move; POLICY_UNTOLD where too little
 * is known, or to be gained: needs that vary, or are equal on equal CPUs, or very many threads on a CPU.
 * O(CPUs * threads of two CPUs) for each transfer, of which there are at most as many as CPUs. */
#define POLICY_UNTOLD SIZE_MAX
size_t policy_end_together(struct policy *policy);

#endif
