/* SPDX-License-Identifier: MIT */
/* What libphases does to lists of libraries. Which commands get it, tests/system knows. */
#undef NDEBUG
#include "daemon/preload/preload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_joined(const char *was, bool first, const char *expected)
{
	char *joined = preload_join(was, "/a/libphases.so", first);

	if (expected == NULL)
		assert_null(joined);
	else
		assert_string_equal(joined, expected);
	free(joined);
}

static void test_join(void **state)
{
	(void)state;
	assert_joined(NULL, true, "/a/libphases.so");
	assert_joined("", false, "/a/libphases.so");
	assert_joined("x.so y.so", true, "/a/libphases.so:x.so y.so");
	assert_joined("x.so:", false, "x.so::/a/libphases.so");
	assert_joined("::", true, "/a/libphases.so:::");
	/* There already, wherever. */
	assert_joined("/a/libphases.so", true, NULL);
	assert_joined("x.so: /b/libphases.so.1:y.so", true, NULL);
	assert_joined("libphases.so ", false, NULL);
	/* Only names count. */
	assert_joined("/libphases.so/x.so", false, "/libphases.so/x.so:/a/libphases.so");
	assert_joined("xlibphases.so", false, "xlibphases.so:/a/libphases.so");
}

/* A name longer than what is compared. */
static void test_long_names(void **state)
{
	char was[5000];

	(void)state;
	memset(was, 'x', sizeof was);
	was[sizeof was - 1] = '\0';
	char *joined = preload_join(was, "p", true);
	assert_int_equal(strlen(joined), sizeof was + 1);
	free(joined);
}

static const char *decide(
	enum phases_choice choice, const char *const *command, const char *const *environment)
{
	static struct preload preload;

	preload_decide(&preload, choice, command, environment);
	assert_false(preload.wanted);
	return preload.why;
}

static void test_not_wanted(void **state)
{
	static const char *const none[] = {"", NULL}, *const odd[] = {"/no\n\033such", NULL};
	static const char *const empty[] = {NULL};
	static const char *const library[] = {"JUGGLE_LIBPHASES=/no\nwhere", NULL};
	static const char *const own[] = {"JUGGLE_LIBPHASES=/bin/sh", "PATH=", NULL};

	(void)state;
	assert_string_equal(decide(PHASES_OFF, none, empty), "off");
	assert_string_equal(decide(PHASES_ON, none, library), "libphases.so is not found");
	assert_string_equal(decide(PHASES_ON, none, own), "the command can't be executed");
	assert_string_equal(decide(PHASES_AUTO, odd, own), "the command can't be executed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
