/* SPDX-License-Identifier: MIT */
/* Users as list and clean name them. Not thread-safe: the C library's lookups are not. */
#ifndef COMMAND_USER_H
#define COMMAND_USER_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define USER_BYTES 33

/* Which user's segments are wanted. */
struct user_choice {
	bool given; /* else everybody's */
	uid_t uid;
};

/* Write the name of a user to `name`, else its number, and return `name`. */
const char *user_name(uid_t uid, char name[USER_BYTES]);

/* Parse the argument of --user, a name or a number. Returns 0 or, after a message, EINVAL. */
error_t user_parse(struct argp_state *state, const char *arg, struct user_choice *out);

static inline bool user_is_wanted(const struct user_choice *choice, uid_t uid)
{
	return !choice->given || choice->uid == uid;
}

#endif
