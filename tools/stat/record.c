/* SPDX-License-Identifier: MIT */
/* One JSON object of a moment; see record.h. */
#include "tools/stat/record.h"

#include <stdlib.h>

/* Never NULL but for want of memory: what is no text is null. */
static json_t *value_json(struct value value)
{
	json_t *json = NULL;

	switch (value.kind) {
	case VALUE_UNKNOWN:
		break;
	case VALUE_BOOL:
		return json_boolean(value.yes);
	case VALUE_WHOLE:
		return json_integer(value.whole);
	case VALUE_REAL:
		return json_real(value.real);
	case VALUE_TEXT:
		json = json_string(value.text); /* NULL for what is not UTF-8 */
		break;
	}
	return json != NULL ? json : json_null();
}

/* Adds the row's cells. Returns 0 or -1, as jansson does. */
static int add_cells(json_t *object, const struct table *table, const struct row *row)
{
	for (size_t i = 0; i < table->columns; i++) {
		json_t *value = value_json(table->get(row, i));
		if (json_object_set_new_nocheck(object, table->column[i].key, value) < 0)
			return -1;
	}
	return 0;
}

static json_t *rows_json(const struct table *table, const struct row *row, size_t n)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < n && rows != NULL; i++) {
		json_t *object = json_object();
		if (object != NULL && add_cells(object, table, &row[i]) == 0 &&
			json_array_append(rows, object) == 0) {
			json_decref(object);
			continue;
		}
		json_decref(object);
		json_decref(rows);
		return NULL;
	}
	return rows;
}

static int add_table(json_t *object, const struct table *table, const struct live_sample *sample,
	int64_t unix_time_ms, enum table_order order)
{
	struct row *row;
	size_t n;

	if (table_rows(table, sample, unix_time_ms, order, &row, &n) < 0)
		return -1;
	int r = json_object_set_new_nocheck(object, table->name, rows_json(table, row, n));
	free(row);
	return r;
}

json_t *record_json(const struct table *const *table, size_t n, const struct live_sample *sample,
	int64_t unix_time_ms, enum table_order order)
{
	const struct row head = {.sample = sample, .unix_time_ms = unix_time_ms};
	json_t *object =
		json_pack("{s:s, s:s}", "program", "jugglectl stat", "version", JUGGLE_VERSION);

	if (object == NULL || add_cells(object, &table_head, &head) < 0)
		goto failed;
	for (size_t i = 0; i < n; i++)
		if (add_table(object, table[i], sample, unix_time_ms, order) < 0)
			goto failed;
	return object;

failed:
	json_decref(object);
	return NULL;
}
