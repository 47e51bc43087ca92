/* SPDX-License-Identifier: MIT */
/* Rules about CPUs that are slower than others, by themselves or because their time is stolen. */
#include "tools/doctor/rule.h"

#include "tools/doctor/speeds.h"

#define LITTLE 0.02 /* a share of the CPUs that turns can cost as well */
#define STOLEN_NOTED 0.005
#define STOLEN_EVEN 0.02 /* differences below it are no reason to move */

enum { LIST_BYTES = 80 };

/* Kinds of cores of whose speed nothing is known. */
static enum doctor_level judge_kinds(const struct doctor_system *s, struct doctor_finding *out)
{
	char fast[LIST_BYTES], small[LIST_BYTES];
	struct cpuset a = doctor_both(&s->cpus, &s->kind[0]),
		      b = doctor_both(&s->cpus, &s->kind[1]);

	if (cpuset_count(&a) == 0 || cpuset_count(&b) == 0)
		return DOCTOR_NONE;
	cpuset_format(&a, fast, sizeof(fast));
	cpuset_format(&b, small, sizeof(small));
	doctor_say(out,
		"There are two kinds of cores, fast ones (%s) and small ones (%s), but how much "
		"they differ in speed can't be found out beforehand.",
		fast, small);
	doctor_advise(out, "If you know it, tell juggle (--speeds).");
	return DOCTOR_WARNING;
}

static enum doctor_level judge_speeds(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES] = "";
	struct cpuset slow;

	if (!doctor_speeds_differ(s))
		return judge_kinds(s, out);
	bool fits = doctor_speeds_list(s, list, sizeof(list));
	doctor_say(out, "The CPUs differ in speed, by %s: %s%s.", s->speeds_from, list,
		fits ? "" : "...");
	double share = doctor_speeds_slow(s, &slow), gain = 1;
	uint32_t m = (uint32_t)cpuset_count(&s->cpus), n = s->threads > 0 ? s->threads : m;
	if (share > 0 && share < LITTLE) {
		cpuset_format(&slow, list, sizeof(list));
		doctor_advise(out,
			"CPUs %s have %.1f %% of the speed of all: turns on them cost as much as "
			"they give. Leave them out (-c).",
			list, 100 * share);
		return DOCTOR_WARNING;
	}
	gain = doctor_speeds_gain(s, n);
	if (gain < DOCTOR_GAIN) {
		doctor_advise(out,
			"With %u threads that hardly matters, since juggle uses the fastest CPUs.",
			n);
		return DOCTOR_NOTE;
	}
	doctor_advise(out,
		"Use all of them: juggle lets threads take turns, which makes %u threads up to "
		"%.2f times as fast as pinned.",
		n, gain);
	return DOCTOR_NOTE;
}

/* A thread on a CPU that is robbed is late at the barrier, and turns even that out. */
static enum doctor_level judge_stolen(const struct doctor_system *s, struct doctor_finding *out)
{
	double least = 1, most = 0, sum = 0;
	int worst = 0;

	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++) {
		double share = s->stolen[cpu];
		if (!cpuset_has(&s->cpus, cpu))
			continue;
		sum += share;
		least = share < least ? share : least;
		worst = share > most ? cpu : worst;
		most = share > most ? share : most;
	}
	if (most < STOLEN_NOTED)
		return DOCTOR_NONE;
	doctor_say(out,
		"A hypervisor took %.1f %% of the CPUs' time since boot, most of CPU %d: %.1f %%.",
		100 * sum / cpuset_count(&s->cpus), worst, 100 * most);
	doctor_advise(out, "%s",
		most - least < STOLEN_EVEN
			? "It takes about as much of each CPU: no placement can win that back."
			: "juggle counts it as slowness, and lets threads take turns on such CPUs. "
			  "Better are CPUs that the machine has for itself.");
	return DOCTOR_NOTE;
}

const struct doctor_rule doctor_rules_speed[] = {
	{"cpu_speeds", DOCTOR_CPUS, judge_speeds},
	{"cpu_stolen", DOCTOR_CPUS, judge_stolen},
	{0},
};
