/* SPDX-License-Identifier: MIT */
/*
 * CPUs that run dry (beyond the paper). All threads of such a CPU have arrived at a barrier, and wait for
 * others, which share a CPU. One of those comes, and nobody is idle until fewer threads work than there
 * are CPUs: that is as short as the phase can be, with fewer moves than turns in equal periods take. The
 * balancer is called at that moment (libphases rings a bell), so that this works in phases of a millisecond.
 *
 * The threads on the crowded CPU have to be equally far then. The kernel's slices are too long for that
 * in short phases; so the policy foretells when the next phase begins, and has these threads take turns
 * in equal parts of the time until another CPU runs dry.
 *
 * For threads that sleep or yield while they wait, in phases that are told and alike. CPUs of threads that spin
 * never run dry; and where some phases are much shorter than others, most moves come too late.
 */
#ifndef JUGGLE_POLICY_DRY_H
#define JUGGLE_POLICY_DRY_H

#include "daemon/policy/policy.h"

/* CPU time of a thread in a phase, from which on calls cost less than they win. Measured. */
#define POLICY_BELL_LEAST_NS 7e5
/* The most threads of a domain, for which there is room on a bell (PHASES_RINGERS). */
#define POLICY_BELL_THREADS 62

/* Would calls when CPUs run dry be better than turns in equal periods? */
bool policy_bell_would_do(const struct policy *policy);

/* The same, and they are wanted now. */
bool policy_wants_bell(const struct policy *policy);

/* Did such calls come in the last 0.1 s? They may come again, whatever holds them up. */
bool policy_bell_lately(const struct policy *policy);

/* Are such calls all that is needed? They came lately, and threads and CPUs are alike. */
bool policy_bell_suffices(const struct policy *policy);

/* Do others have part of the CPU's time? */
bool policy_is_shared(const struct policy *policy, size_t cpu);

/* Have threads go to CPUs that have run dry. A thread that waits there comes instead where CPUs would be
 * more than one thread apart. Sets threads[].cpu, cpu[].threads, and cpu[].turn_ns. Returns how many
 * threads move. O(threads + CPUs) for each CPU that is dry. */
size_t policy_fill_dry(struct policy *policy);

#endif
