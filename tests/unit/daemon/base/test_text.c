// SPDX-License-Identifier: MIT
/* Text from others is made fit to print, whatever its bytes. */
#undef NDEBUG
#include "daemon/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"

static void assert_text(const char *text, size_t bytes, size_t room, const char *expected)
{
	char *in = malloc(bytes + 1), *out = malloc(room);

	assert_true(in != NULL && out != NULL);
	memcpy(in, text, bytes);
	in = realloc(in, bytes > 0 ? bytes : 1); /* reads beyond it must show */
	assert_non_null(in);
	text_printable(out, room, in, bytes);
	assert_string_equal(out, expected);
	free(in);
	free(out);
}

#define ASSERT_TEXT(text, expected) assert_text(text, sizeof(text) - 1, 100, expected)

static void test_text(void **state)
{
	(void)state;
	ASSERT_TEXT("", "");
	ASSERT_TEXT("jacobi -n 5", "jacobi -n 5");
	ASSERT_TEXT("ends\0here", "ends");
	ASSERT_TEXT("Größe, 中, 🙂", "Größe, 中, 🙂");
	/* Characters that control a terminal. */
	ASSERT_TEXT("\033[2J\a\b\t\n\r\177", "?[2J??????");
	ASSERT_TEXT("\xc2\x9b"
		    "31m",
		"??31m");
	ASSERT_TEXT("\xe2\x80\xae"
		    "abc",
		"???abc"); /* right to left */
	ASSERT_TEXT("\xe2\x80\xa8", "???"); /* a line's end */
}

static void test_text_that_is_not_utf8(void **state)
{
	(void)state;
	ASSERT_TEXT("\xff\xfe", "??");
	ASSERT_TEXT("\x80", "?");
	ASSERT_TEXT("a\xc3", "a?"); /* cut */
	ASSERT_TEXT("\xe4\xb8", "??");
	ASSERT_TEXT("\xf0\x9f\x99", "???");
	ASSERT_TEXT("\xc3(", "?(");
	ASSERT_TEXT("\xc0\xaf", "??"); /* longer than necessary */
	ASSERT_TEXT("\xe0\x80\xaf", "???");
	ASSERT_TEXT("\xf0\x80\x80\xaf", "????");
	ASSERT_TEXT("\xed\xa0\x80", "???"); /* half of a surrogate pair of UTF-16 */
	ASSERT_TEXT("\xf4\x90\x80\x80", "????"); /* beyond the last code point */
	ASSERT_TEXT("\xf8\x88\x80\x80\x80", "?????");
}

/* Cut between characters, and always terminated. */
static void test_text_that_is_too_long(void **state)
{
	(void)state;
	assert_text("abcdef", 6, 4, "abc");
	assert_text("abc", 3, 4, "abc");
	assert_text("abc", 3, 1, "");
	assert_text("a\xc3\xb6", 3, 3, "a");
	assert_text("a\xc3\xb6", 3, 4, "a\xc3\xb6");
	assert_text("\xf0\x9f\x99\x82", 4, 4, "");
	assert_text("\xff\xff\xff", 3, 3, "??");
}

/* Whatever the bytes, the result is text, and cleaning it again changes nothing. */
static void test_text_of_noise(void **state)
{
	uint64_t seed = 1;
	char noise[40], out[30], again[30];

	(void)state;
	for (int round = 0; round < 5000; round++) {
		for (size_t i = 0; i < sizeof noise; i++)
			noise[i] = (char)random_word(&seed);
		text_printable(out, sizeof out, noise, sizeof noise);
		assert_non_null(memchr(out, '\0', sizeof out));
		for (const char *c = out; *c != '\0'; c++)
			assert_true((unsigned char)*c >= ' ' && *c != '\177');
		text_printable(again, sizeof again, out, sizeof out);
		assert_string_equal(again, out);
	}
}

static void test_in_place(void **state)
{
	char text[] = "\033[2Ja\xc3\xb6\xff\xc3";

	(void)state;
	text_make_printable(text);
	assert_string_equal(text, "?[2Ja\xc3\xb6??");
}

static void test_line(void **state)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(out);
	text_line(out, "juggle: %s: %d", "a\n\033[2J\xff", 5);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "juggle: a??[2J?: 5\n");
	free(text);
}

static void test_stream(void **state)
{
	char *text = NULL, line[1500], expected[sizeof line];
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	FILE *stream = text_stream(out);

	(void)state;
	assert_true(out != NULL && stream != NULL);
	memset(line, '\033', sizeof line);
	memset(expected, '?', sizeof expected);
	fprintf(stream, "a\033[2J\n\nb\xc3");
	fprintf(stream, "\xb6\n%.*s", (int)sizeof line, line);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(bytes, strlen("a?[2J\n\nb..\n") + sizeof expected);
	assert_memory_equal(text, "a?[2J\n\nb\xc3\xb6\n", bytes - sizeof expected);
	assert_memory_equal(text + bytes - sizeof expected, expected, sizeof expected);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_that_is_not_utf8),
		cmocka_unit_test(test_text_that_is_too_long),
		cmocka_unit_test(test_text_of_noise),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
