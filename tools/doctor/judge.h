/* SPDX-License-Identifier: MIT */
/* All rules applied to the facts. */
#ifndef DOCTOR_JUDGE_H
#define DOCTOR_JUDGE_H

#include "tools/doctor/rule.h"

/* Apply all rules. Findings come group by group; at most `max` are stored, with control characters
 * replaced. Pure. Returns how many are stored. */
size_t doctor_judge(const struct doctor_system *system, struct doctor_finding *out, size_t max);

#endif
