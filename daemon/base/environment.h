/* SPDX-License-Identifier: MIT */
/* Looking into environments: lists of NAME=VALUE, ended by NULL. */
#ifndef BASE_ENVIRONMENT_H
#define BASE_ENVIRONMENT_H

/* The value of a variable; NULL when it isn't set. */
const char *environment_value(const char *const *environment, const char *name);

#endif
