/* SPDX-License-Identifier: MIT */
/* jugglectl compare: what it reads from reports and from what commands print, and what it says. */
#undef NDEBUG
#include "tools/compare/outcome.h"
#include "tools/compare/output.h"
#include "tools/compare/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Sentences ---- */

static void test_sentences(void **state)
{
	static const struct {
		struct contrast contrast;
		const char *text;
	} rows[] = {
		{{1.25, 1.2, 1.3, 0.95, CONTRAST_FASTER},
			"ran 1.250 times as fast as Linux (1.200 to 1.300)"},
		{{0.9, 0.85, 0.95, 0.95, CONTRAST_SLOWER},
			"ran 0.900 times as fast as Linux (0.850 to 0.950)"},
		{{1.01, 0.95, 1.05, 0.95, CONTRAST_SAME},
			"showed no difference from Linux (0.950 to 1.050)"},
		{{1.25, 1.2, 1.3, 0.5, CONTRAST_UNKNOWN},
			"ran 1.250 times as fast as Linux, in too few runs to tell"},
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		verdict_say(&rows[i].contrast, "Linux", text, sizeof text);
		assert_string_equal(text, rows[i].text);
	}
}

static void assert_advice(const struct verdict_case *c, const char *words)
{
	char text[VERDICT_BYTES];

	verdict_advise(c, text);
	if (strstr(text, words) == NULL)
		fail_msg("'%s' has no '%s'", text, words);
}

/* From what matters most to what is left. */
static void test_advice(void **state)
{
	struct contrast gain = {1.01, 0.9, 1.1, 0.94, CONTRAST_UNKNOWN};
	struct outcome outcome = {.known = true,
		.balanced = 0.1,
		.aside = "phases too short",
		.verdict = "nothing",
		.advice = "Nothing to gain."};
	struct verdict_case c = {.gain = &gain,
		.run_s = 0.5,
		.repeats = 5,
		.stolen = 0.1,
		.outcome = &outcome,
		.hindrance = "Threads are bound."};

	(void)state;
	assert_advice(&c, "Too few repeats");
	gain.verdict = CONTRAST_SAME;
	assert_advice(&c, "Threads are bound.");
	c.hindrance = "";
	assert_advice(&c, "0.5 s: give the program more work");
	c.run_s = 2;
	assert_advice(&c, "The hypervisor took 10 %");
	c.stolen = 0;
	assert_advice(&c, "more --repeats than 5");
	gain.most = 0.95;
	gain.verdict = CONTRAST_SLOWER;
	assert_advice(&c, "juggle stood aside: phases too short.");
	outcome.aside[0] = '\0';
	assert_advice(&c, "Nothing to gain.");
	strcpy(outcome.verdict, "unknown");
	assert_advice(&c, "leave it to Linux");
	gain.verdict = CONTRAST_FASTER;
	assert_advice(&c, "So run it under juggle.");
	/* What hinders only a little, and what juggle did at last, is no advice against a gain. */
	c.hindrance = "Threads are bound.";
	strcpy(outcome.aside, "phases too short");
	assert_advice(&c, "So run it under juggle.");
	strcpy(outcome.verdict, "brought");
	assert_advice(&c, "Nothing to gain.");
}

/* ---- Reports ---- */

static void read_report(const char *text, struct outcome *out)
{
	outcome_read(text, strlen(text), out);
}

static void test_reports(void **state)
{
	static const char *const damaged[] = {"", "{", "[]", "3",
		"{\"regimes\": 3, \"phases\": []}",
		"{\"regimes\": [3], \"elapsed_s\": \"x\", \"phases\": {\"verdict\": 1}}"};
	struct outcome o;

	(void)state;
	read_report("{\"elapsed_s\": 4, \"balanced_s\": 1, \"regimes\": [{\"regime\": \"aside\", "
		    "\"reason\": \"a\\u001bb\"}, {\"regime\": \"balance\"}], \"phases\": "
		    "{\"verdict\": \"work\", \"advice\": \"The work.\"}}",
		&o);
	assert_true(o.known && o.balanced == 0.25);
	assert_string_equal(o.aside, "a?b");
	assert_string_equal(o.verdict, "work");
	assert_string_equal(o.advice, "The work.");
	read_report("{\"elapsed_s\": 1, \"balanced_s\": 2, \"regimes\": [{\"regime\": \"balance\", "
		    "\"reason\": \"trials\"}]}",
		&o);
	assert_true(o.known && o.balanced == 1 && o.aside[0] == '\0');
	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
		read_report(damaged[i], &o);
		assert_true(o.balanced == 0 && o.aside[0] == '\0' && o.verdict[0] == '\0');
	}
}

/* ---- Output ---- */

/* In pieces of any size. */
static double time_in(const char *text, size_t piece)
{
	struct output output = {.time_after = "took "};

	for (size_t at = 0, bytes = strlen(text); at < bytes; at += piece)
		output_take(&output, text + at, bytes - at < piece ? bytes - at : piece);
	output_end(&output);
	return output.time_s;
}

static void test_times(void **state)
{
	char *long_line = malloc(20001);

	(void)state;
	memset(long_line, 'x', 20000);
	strcpy(long_line + 20000 - 20, "\nit took 3 s\n");
	for (size_t piece = 1; piece < 40; piece++) {
		assert_true(time_in("a\nit took 1.5 s\nit took 2.5 s\nb\n", piece) == 2.5);
		assert_true(time_in("it took   0.25", piece) == 0.25);
		assert_true(time_in("it took ages\ntook -1\ntook nan\ntook inf\ntook", piece) == 0);
		assert_true(time_in(long_line, piece) == 3);
	}
	free(long_line);
}

static void test_tail(void **state)
{
	struct output output = {0};
	char piece[100];
	int n = 0;

	(void)state;
	for (; n < 1000; n++) {
		snprintf(piece, sizeof piece, "%05d", n);
		output_take(&output, piece, 5);
	}
	assert_int_equal(output.tail_bytes, sizeof output.tail);
	assert_memory_equal(output.tail + sizeof output.tail - 10, "0099800999", 10);
	char *much = calloc(1, 100000);
	much[99999] = 'z';
	output_take(&output, much, 100000);
	assert_int_equal(output.tail_bytes, sizeof output.tail);
	assert_int_equal(output.tail[sizeof output.tail - 1], 'z');
	free(much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
