/* SPDX-License-Identifier: MIT */
/* Recorded machines of tests/fixtures, unpacked into a temporary folder. Each of their lines is
 * PATH:LINE. */
#ifndef TESTS_RECORDED_H
#define TESTS_RECORDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RECORDED_ROOT "/tmp/test-recorded.XXXXXX" /* what `root` is before */

/* Append text to a file below root. */
static inline void recorded_append(const char *root, const char *name, const char *text)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	FILE *file = fopen(path, "a");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Unpack a fixture, such as "doctor/hybrid". */
static inline void recorded_unpack(const char *fixture, char *root)
{
	const char *folder = getenv("JUGGLE_FIXTURES");
	char path[4096], line[1024];

	if (folder == NULL)
		fail_msg("JUGGLE_FIXTURES is not set");
	snprintf(path, sizeof(path), "%s/%s", folder, fixture);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(mkdtemp(root));
	while (fgets(line, sizeof(line), file) != NULL) {
		char *colon = strchr(line, ':');
		assert_non_null(colon);
		*colon = '\0';
		recorded_append(root, line, colon + 1);
	}
	fclose(file);
}

static inline int recorded_remove_one(
	const char *path, const struct stat *file, int type, struct FTW *where)
{
	(void)file;
	(void)type;
	(void)where;
	return remove(path);
}

static inline void recorded_remove(const char *root)
{
	nftw(root, recorded_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
