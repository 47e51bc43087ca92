/* SPDX-License-Identifier: MIT */
/* The table of policies: the first is the default. */
#include "daemon/policy/kind.h"

#include <string.h>

static const struct policy_kind *const kinds[] = {
	&policy_kind_juggle,
	&policy_kind_juggle2012,
	&policy_kind_static,
	&policy_kind_observe,
};

const struct policy_kind *policy_kind_at(size_t nth)
{
	return nth < sizeof kinds / sizeof kinds[0] ? kinds[nth] : NULL;
}

const struct policy_kind *policy_kind_find(const char *name)
{
	const struct policy_kind *kind;

	for (size_t i = 0; (kind = policy_kind_at(i)) != NULL; i++)
		if (strcmp(kind->name, name) == 0)
			return kind;
	return NULL;
}
