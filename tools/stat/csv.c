/* SPDX-License-Identifier: MIT */
/* Comma-separated values; see csv.h. */
#include "tools/stat/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 12
#define TIME_KEY "unix_time_ms"

static void print_quoted(FILE *to, const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL) {
		fputs(text, to);
		return;
	}
	fputc('"', to);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			fputc('"', to);
		fputc(*text, to);
	}
	fputc('"', to);
}

static void print_value(FILE *to, struct value value)
{
	switch (value.kind) {
	case VALUE_UNKNOWN:
		break;
	case VALUE_BOOL:
		fputs(value.yes ? "true" : "false", to);
		break;
	case VALUE_WHOLE:
		fprintf(to, "%lld", (long long)value.whole);
		break;
	case VALUE_REAL:
		fprintf(to, "%.*g", DIGITS, value.real);
		break;
	case VALUE_TEXT:
		print_quoted(to, value.text);
		break;
	}
}

void csv_keys(FILE *to, const struct sample_table *table)
{
	if (table != &sample_head)
		fputs(TIME_KEY ",", to);
	for (size_t i = 0; i < table->table.columns; i++)
		if (table->table.column[i].key != NULL)
			fprintf(to, "%s%s", i > 0 ? "," : "", table->table.column[i].key);
	fputc('\n', to);
}

int csv_rows(FILE *to, const struct sample_table *table, const struct live_sample *sample,
	int64_t unix_time_ms, enum sample_order order)
{
	struct sample_row *row;
	size_t n;

	if (sample_rows(table, sample, unix_time_ms, order, &row, &n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (table != &sample_head)
			fprintf(to, "%lld,", (long long)unix_time_ms);
		for (size_t k = 0; k < table->table.columns; k++) {
			if (table->table.column[k].key == NULL)
				continue;
			fputs(k > 0 ? "," : "", to);
			print_value(to, table->table.get(&row[i], k));
		}
		fputc('\n', to);
	}
	free(row);
	return 0;
}
