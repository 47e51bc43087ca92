/* SPDX-License-Identifier: MIT */
/* Tables of made-up rows: what is left out, what is cut, and what each form contains. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/table/table.h"

enum { NAME, AGE, COUNT, WORDS, COLUMNS };

static const struct column column[COLUMNS] = {
	[NAME] = {"name", "NAME", SHOW_PLAIN, 0, 0},
	[AGE] = {"age_s", "AGE", SHOW_AGE, 0, 1},
	[COUNT] = {"count", NULL, SHOW_COUNT, 0, 0},
	[WORDS] = {NULL, "WORDS", SHOW_PLAIN, 0, 0},
};

struct made {
	const char *name, *words;
	double age_s;
	uint64_t count;
};

static struct value get(const void *of, size_t which)
{
	const struct made *made = of;

	switch (which) {
	case NAME:
		return value_text(made->name);
	case AGE:
		return value_rate(made->age_s);
	case COUNT:
		return value_count(made->count);
	default:
		return value_text(made->words);
	}
}

static const struct table table = {.column = column, .columns = COLUMNS, .get = get};

static void check(const struct made *made, size_t n, int columns, bool titles, const char *expected)
{
	const struct table_rows rows = {.row = made, .n = n, .bytes = sizeof(*made)};
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	assert_non_null(to);
	table_print(to, &table, &rows, columns, titles);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void lines(void **state)
{
	const struct made made[] = {
		{"a", "one two three four", 75, 1}, {"\xc3\xa4\xc3\xb6\xc3\xbc", NULL, NAN, 2}};

	(void)state;
	check(made, 2, INT_MAX, true,
		"NAME   AGE WORDS\n"
		"a    1m15s one two three four\n"
		"\xc3\xa4\xc3\xb6\xc3\xbc      - -\n");
	check(made, 2, INT_MAX, false,
		"a   1m15s one two three four\n"
		"\xc3\xa4\xc3\xb6\xc3\xbc     - -\n");
	/* An unknown column is left out with its title; without any rows everything is. */
	check(&made[1], 1, INT_MAX, true, "NAME\n\xc3\xa4\xc3\xb6\xc3\xbc\n");
	check(made, 0, INT_MAX, true, "");
}

/* First words at the ends are shortened, then columns are left out, then the words are shortened
 * further. */
static void narrow(void **state)
{
	const struct made made = {"name", "one two three four", 75, 1};

	(void)state;
	check(&made, 1, 21, false, "name 1m15s one two th\n");
	check(&made, 1, 19, false, "name 1m15s one two \n");
	check(&made, 1, 18, false, "name one two three\n");
	check(&made, 1, 2, false, "name one two \n");
}

static void json(void **state)
{
	const struct made made = {"not UTF-8: \xff", "words", NAN, 12345678};
	json_t *object = json_object();

	(void)state;
	assert_int_equal(table_add_cells(object, &table, &made), 0);
	char *text = json_dumps(object, JSON_COMPACT);
	assert_string_equal(text, "{\"name\":\"not UTF-8: ?\",\"age_s\":null,\"count\":12345678}");
	free(text);
	json_decref(object);
	assert_int_equal(table_add_cells(NULL, &table, &made), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(narrow),
		cmocka_unit_test(json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
