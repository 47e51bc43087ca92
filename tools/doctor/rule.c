/* SPDX-License-Identifier: MIT */
/* What rules and findings have in common; see rule.h. */
#include "tools/doctor/rule.h"

#include "tools/doctor/speeds.h"

#include <stdarg.h>
#include <stdio.h>

void doctor_say(struct doctor_finding *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(out->text, sizeof(out->text), format, args);
	va_end(args);
}

void doctor_advise(struct doctor_finding *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(out->advice, sizeof(out->advice), format, args);
	va_end(args);
}

static void advise_predict(
	const struct doctor_system *system, uint32_t n, struct doctor_finding *out)
{
	char list[80];

	if (doctor_speeds_list(system, list, sizeof(list)))
		doctor_advise(out,
			"`jugglectl predict -n %u --speeds %s --phase TIME` says what to expect.",
			n, list);
}

enum doctor_level doctor_judge_fit(const struct doctor_system *system, uint32_t n, const char *what,
	struct doctor_finding *out)
{
	uint32_t m = (uint32_t)cpuset_count(&system->cpus);

	if (n == 0 || m <= 1 || doctor_refuses(system))
		return DOCTOR_NONE; /* other rules say that one CPU is too few, and what is refused */
	double gain = doctor_speeds_gain(system, n);
	if (gain >= DOCTOR_GAIN) {
		doctor_say(out,
			"%u %s on %u CPUs of unequal speed: taking turns on the fastest, up to "
			"%.2f times as fast as pinned.",
			n, what, m, gain);
		advise_predict(system, n, out);
		return DOCTOR_GOOD;
	}
	if (n < m) {
		doctor_say(out, "%u %s on %u CPUs leave CPUs free: there is nothing to balance.", n,
			what, m);
		doctor_advise(out,
			"Give the program fewer CPUs (-c) or more %s; juggle stands aside.", what);
		return DOCTOR_WARNING;
	}
	if (n % m == 0) {
		doctor_say(out,
			"%u %s on %u CPUs are %u for each: even already, if nothing else runs and "
			"all CPUs are equally fast.",
			n, what, m, n / m);
		doctor_advise(out, "juggle helps only against other work on the CPUs.");
		return DOCTOR_NOTE;
	}
	uint32_t most = (n + m - 1) / m;
	doctor_say(out, "%u %s on %u CPUs: balanced up to %.2f times as fast as pinned.", n, what,
		m, (double)most * m / n);
	doctor_advise(
		out, "`jugglectl predict -n %u -m %u --phase TIME` says what to expect.", n, m);
	return DOCTOR_GOOD;
}

struct cpuset doctor_both(const struct cpuset *a, const struct cpuset *b)
{
	struct cpuset result;

	for (size_t i = 0; i < CPUSET_WORDS; i++)
		result.word[i] = a->word[i] & b->word[i];
	return result;
}

struct cpuset doctor_without(const struct cpuset *a, const struct cpuset *b)
{
	struct cpuset result;

	for (size_t i = 0; i < CPUSET_WORDS; i++)
		result.word[i] = a->word[i] & ~b->word[i];
	return result;
}

bool doctor_refuses(const struct doctor_system *system)
{
	struct cpuset offline = doctor_without(&system->cpus, &system->online);
	struct cpuset outside = doctor_without(&system->cpus, &system->cpuset);

	if (!system->cpus_given || cpuset_count(&system->online) == 0)
		return false;
	return cpuset_count(&offline) > 0 ||
	       (cpuset_count(&system->cpuset) > 0 && cpuset_count(&outside) > 0);
}

enum doctor_level doctor_worst(const struct doctor_finding *finding, size_t n)
{
	enum doctor_level worst = DOCTOR_NONE;

	for (size_t i = 0; i < n; i++)
		if (finding[i].level > worst)
			worst = finding[i].level;
	return worst;
}

const char *doctor_level_name(enum doctor_level level)
{
	static const char *const names[] = {"none", "good", "note", "warning", "problem"};

	return names[level];
}

const char *doctor_group_name(enum doctor_group group)
{
	static const char *const names[] = {
		"cpus", "kernel", "progress", "surroundings", "command", "openmp", "mpi"};

	return names[group];
}
