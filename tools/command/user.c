/* SPDX-License-Identifier: MIT */
#include "tools/command/user.h"

#include "daemon/base/command_line.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

const char *user_name(uid_t uid, char name[USER_BYTES])
{
	const struct passwd *user = getpwuid(uid);

	if (user != NULL)
		snprintf(name, USER_BYTES, "%s", user->pw_name);
	else
		snprintf(name, USER_BYTES, "%u", (unsigned)uid);
	return name;
}

error_t user_parse(struct argp_state *state, const char *arg, struct user_choice *out)
{
	const struct passwd *user = getpwnam(arg);
	char *end;

	out->given = true;
	if (user != NULL) {
		out->uid = user->pw_uid;
		return 0;
	}
	errno = 0;
	unsigned long uid = strtoul(arg, &end, 10);
	if (arg[0] < '0' || arg[0] > '9' || *end != '\0' || errno != 0 || uid >= UINT32_MAX)
		return command_line_refuse(state, "--user", arg, "the name or number of a user");
	out->uid = (uid_t)uid;
	return 0;
}
