/* SPDX-License-Identifier: MIT */
/* The words of --balance and --dplb, and the names of their values. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "apps/jacobi/method.h"

static void words_of_balance(void **state)
{
	static const char *const words[] = {
		"none", "joint", "split", "hybrid:1", "hybrid:4294967295"};
	static const char *const refused[] = {
		"", "default", "hybrid", "hybrid:0", "hybrid:4294967296", "splits", "split:2"};
	struct method_balance balance;

	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		assert_true(method_read_balance(words[i], &balance));
		assert_string_equal(method_balance_name(&balance).text, words[i]);
		assert_true(balance.hybrid_every > 0);
	}
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (method_read_balance(refused[i], &balance))
			fail_msg("\"%s\" is taken", refused[i]);
}

static void words_of_dplb(void **state)
{
	static const char *const words[] = {"none", "global", "random", "neighbours:2"};
	static const char *const refused[] = {
		"", "neighbours:1", "neighbours:65537", "global:2", "any"};
	struct method_dplb dplb;

	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		assert_true(method_read_dplb(words[i], &dplb));
		assert_string_equal(method_dplb_name(&dplb).text, words[i]);
	}
	assert_true(method_read_dplb("neighbours", &dplb));
	assert_string_equal(method_dplb_name(&dplb).text, "neighbours:4");
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (method_read_dplb(refused[i], &dplb))
			fail_msg("\"%s\" is taken", refused[i]);
}

static void modes(void **state)
{
	(void)state;
	assert_string_equal(method_mode_name(MODE_SYNC, UINT64_MAX).text, "sync");
	assert_string_equal(method_mode_name(MODE_SSYNC, 30).text, "ssync:30");
	assert_string_equal(method_mode_name(MODE_ASYNC, UINT64_MAX).text, "async");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_balance),
		cmocka_unit_test(words_of_dplb),
		cmocka_unit_test(modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
