/* SPDX-License-Identifier: MIT */
#include "daemon/base/environment.h"

#include <stddef.h>
#include <string.h>

const char *environment_value(const char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment != NULL; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}
