/* SPDX-License-Identifier: MIT */
/* Values of options: which are accepted, which are refused, and with which message. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/base/command_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A parser that keeps its messages. */
struct parser {
	struct argp_state state;
	char *text;
	size_t bytes;
};

static struct argp_state *begin(struct parser *parser)
{
	*parser = (struct parser){0};
	parser->state.name = (char *)"program";
	parser->state.err_stream = open_memstream(&parser->text, &parser->bytes);
	assert_non_null(parser->state.err_stream);
	return &parser->state;
}

static void end(struct parser *parser, const char *expected)
{
	assert_int_equal(fclose(parser->state.err_stream), 0);
	assert_string_equal(parser->text, expected);
	free(parser->text);
}

static void times_in_a_range(void **unused)
{
	struct parser parser;
	struct argp_state *state = begin(&parser);
	uint64_t ns = 77;

	(void)unused;
	assert_int_equal(command_line_time_within(state, "--t", "20ms", 1000, 1000000000, &ns), 0);
	assert_int_equal(ns, 20000000);
	assert_int_equal(command_line_time_within(state, "--t", "1us", 1000, 1000, &ns), 0);
	assert_int_equal(ns, 1000);
	end(&parser, "");
	state = begin(&parser);
	assert_int_equal(
		command_line_time_within(state, "--t", "999ns", 1000, 1000000000, &ns), EINVAL);
	assert_int_equal(command_line_time(state, "--t", "0", 1, &ns), EINVAL);
	assert_int_equal(command_line_time(state, "--t", "5", 0, &ns), EINVAL);
	assert_int_equal(command_line_time(state, "--t", "10ms", 1500000000, &ns), EINVAL);
	assert_int_equal(ns, 1000);
	end(&parser, "program: --t 999ns: expected a time with its unit from 1us to 1s, as 20ms\n"
		     "program: --t 0: expected a time above 0 with its unit, as 20ms\n"
		     "program: --t 5: expected a time with its unit, as 20ms\n"
		     "program: --t 10ms: expected a time with its unit from 1500ms, as 20ms\n");
}

static void choices(void **unused)
{
	static const char *const names[] = {"one", "two", "three"};
	struct parser parser;
	struct argp_state *state = begin(&parser);
	size_t which = 77;

	(void)unused;
	assert_int_equal(command_line_choice(state, "--c", "three", names, 3, &which), 0);
	assert_int_equal(which, 2);
	assert_int_equal(command_line_choice(state, "--c", "tw", names, 3, &which), EINVAL);
	assert_int_equal(which, 2);
	end(&parser, "program: --c tw: expected one, two or three\n");
}

static bool take_digit(void *out, const char *word)
{
	if (strlen(word) != 1)
		return false;
	*(int *)out = *(int *)out * 10 + (*word - '0');
	return true;
}

static void lists(void **unused)
{
	struct parser parser;
	struct argp_state *state = begin(&parser);
	int digits = 0;

	(void)unused;
	assert_int_equal(
		command_line_list(state, "--l", "1,2,,3", "digits", take_digit, &digits), 0);
	assert_int_equal(digits, 123);
	assert_int_equal(
		command_line_list(state, "--l", "4,55,6", "digits", take_digit, &digits), EINVAL);
	assert_int_equal(digits, 1234);
	assert_int_equal(
		command_line_list(state, "--l", ",", "digits", take_digit, &digits), EINVAL);
	end(&parser, "program: --l 4,55,6: expected digits\nprogram: --l ,: expected digits\n");
}

static void numbers(void **unused)
{
	struct parser parser;
	struct argp_state *state = begin(&parser);
	uint32_t count = 77;
	uint64_t seed = 77;
	double share = 77;

	(void)unused;
	assert_int_equal(command_line_count(state, "--n", "3", 1, 4, &count), 0);
	assert_int_equal(command_line_count(state, "--n", "5", 1, 4, &count), EINVAL);
	assert_int_equal(count, 3);
	assert_int_equal(command_line_seed(state, "--s", "4611686018427387904", &seed), 0);
	assert_int_equal(command_line_seed(state, "--s", "-1", &seed), EINVAL);
	assert_true(seed == UINT64_C(1) << 62);
	assert_int_equal(command_line_percent(state, "--p", "50", 90, &share), 0);
	assert_int_equal(command_line_percent(state, "--p", "90.5", 90, &share), EINVAL);
	assert_true(share == 0.5);
	end(&parser, "program: --n 5: expected a whole number from 1 to 4\n"
		     "program: --s -1: expected a whole number from 0\n"
		     "program: --p 90.5: expected a percentage from 0 to 90\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_in_a_range),
		cmocka_unit_test(choices),
		cmocka_unit_test(lists),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
