/* SPDX-License-Identifier: MIT */
/* Applying the rules; see judge.h. */
#include "tools/doctor/judge.h"

#include "daemon/base/text.h"

static size_t apply(const struct doctor_system *system, const struct doctor_rule *rule,
	enum doctor_group group, struct doctor_finding *out, size_t max)
{
	size_t n = 0;

	for (; rule->id != NULL && n < max; rule++) {
		if (rule->group != group)
			continue;
		out[n] = (struct doctor_finding){.id = rule->id, .group = group};
		out[n].level = rule->judge(system, &out[n]);
		/* Text from files and variables also goes to terminals. */
		text_make_printable(out[n].text);
		text_make_printable(out[n].advice);
		n += out[n].level != DOCTOR_NONE;
	}
	return n;
}

size_t doctor_judge(const struct doctor_system *system, struct doctor_finding *out, size_t max)
{
	static const struct doctor_rule *const tables[] = {doctor_rules_machine, doctor_rules_speed,
		doctor_rules_surroundings, doctor_rules_program};
	size_t n = 0;

	for (enum doctor_group group = 0; group < DOCTOR_GROUPS; group++)
		for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
			n += apply(system, tables[i], group, out + n, max - n);
	return n;
}
