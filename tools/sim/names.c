/* SPDX-License-Identifier: MIT */
/* Names of balancers and barriers; see names.h. */
#include "tools/sim/names.h"

const char *const names_barrier[NAMES_BARRIERS] = {
	[THREADS_BLOCK] = "block",
	[THREADS_YIELD] = "yield",
	[THREADS_SPIN] = "spin",
};

/* The nth policy of juggle, from 0, without static and observe, which have the names of the theory
 * here: pinned and reactive. NULL beyond the last. */
static const struct policy_kind *other_kind(size_t nth)
{
	const struct policy_kind *kind;

	for (size_t i = 0; (kind = policy_kind_at(i)) != NULL; i++)
		if (kind != &policy_kind_static && kind != &policy_kind_observe && nth-- == 0)
			return kind;
	return NULL;
}

const char *names_balancer(size_t which)
{
	switch (which) {
	case NAMES_PINNED:
		return "pinned";
	case NAMES_REACTIVE:
		return "reactive";
	case NAMES_IDEAL:
		return "ideal";
	default:
		return other_kind(which - NAMES_POLICIES)->name;
	}
}

size_t names_balancers(const char *out[NAMES_BALANCERS_MAX])
{
	size_t count = 0;

	while (count < NAMES_POLICIES ||
		(count < NAMES_BALANCERS_MAX && other_kind(count - NAMES_POLICIES) != NULL)) {
		out[count] = names_balancer(count);
		count++;
	}
	return count;
}

const struct policy_kind *names_kind(size_t which)
{
	if (which == NAMES_PINNED)
		return &policy_kind_static;
	return which < NAMES_POLICIES ? NULL : other_kind(which - NAMES_POLICIES);
}

void names_set_balancer(struct threads_params *params, size_t which)
{
	params->kind = names_kind(which);
	params->balancer = which == NAMES_REACTIVE ? THREADS_REACTIVE
			   : which == NAMES_IDEAL  ? THREADS_IDEAL
						   : THREADS_POLICY;
}

size_t names_of_kind(const struct policy_kind *kind)
{
	if (kind == &policy_kind_static)
		return NAMES_PINNED;
	for (size_t i = 0; other_kind(i) != NULL; i++)
		if (other_kind(i) == kind)
			return NAMES_POLICIES + i;
	return NAMES_REACTIVE; /* it leaves threads to the kernel */
}
