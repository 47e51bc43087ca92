/* SPDX-License-Identifier: MIT */
/*
 * The ways to run a command that are compared: as Linux balances it, pinned, under juggle, under
 * juggle with other options, and other commands.
 *
 * "Pinned" is `juggle -P static`: threads are spread evenly once and then stay. jugglectl itself
 * moves no thread.
 */
#ifndef COMPARE_WAYS_H
#define COMPARE_WAYS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/compare/contrast.h"

enum way_kind { WAY_LINUX, WAY_PINNED, WAY_JUGGLE, WAY_WITH, WAY_AGAINST };
#define WAYS_SKIPPABLE (WAY_JUGGLE + 1) /* those before can be left out */
extern const char *const ways_words[WAYS_SKIPPABLE]; /* on the command line, by kind */

#define WAYS_ADDED_MAX 13
#define WAYS_MAX (WAYS_SKIPPABLE + WAYS_ADDED_MAX)

struct way {
	enum way_kind kind;
	char name[64]; /* for tables */
	char **command; /* ended by NULL */
	char *words; /* that the command may point into; NULL: none */
	double time_s[CONTRAST_PAIRS_MAX]; /* of its runs */
};

struct ways {
	size_t n;
	struct way way[WAYS_MAX];
	char juggle[PATH_MAX]; /* the program */
	char report[64]; /* where juggle writes its report */
	int report_fd; /* from which it is read */
};

struct ways_wanted {
	char *const *command; /* ended by NULL */
	const char *juggle; /* NULL: find it */
	bool skip[WAYS_SKIPPABLE];
	/* Options of juggle, separated by blanks, and other command lines, as the shell takes them. */
	const char *with[WAYS_ADDED_MAX], *against[WAYS_ADDED_MAX];
	size_t withs, againsts;
};

/* The command itself and the ways that are wanted, in the order of enum way_kind: at most WAYS_MAX.
 * Returns 0, or a negative errno; then *ways is empty. */
int ways_init(struct ways *ways, const struct ways_wanted *wanted);
void ways_deinit(struct ways *ways);

/* Is it a way of juggle that may move threads? */
static inline bool way_is_juggle(const struct way *way)
{
	return way->kind == WAY_JUGGLE || way->kind == WAY_WITH;
}

#endif
