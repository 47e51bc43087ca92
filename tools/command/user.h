/* SPDX-License-Identifier: MIT */
/* Names of users, for list and clean. Not thread-safe, as the C library's lookups are not. */
#ifndef COMMAND_USER_H
#define COMMAND_USER_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define USER_BYTES 33

/* Whose segments are wanted. */
struct user_choice {
	bool given; /* false: everybody's */
	uid_t uid;
};

/* Write the name of a user, or else the number, to `name`, and return `name`. */
const char *user_name(uid_t uid, char name[USER_BYTES]);

/* Parse the argument of --user, a name or a number. Returns 0 or, after a message, EINVAL. */
error_t user_parse(struct argp_state *state, const char *arg, struct user_choice *out);

static inline bool user_is_wanted(const struct user_choice *choice, uid_t uid)
{
	return !choice->given || choice->uid == uid;
}

#endif
