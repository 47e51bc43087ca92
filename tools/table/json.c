/* SPDX-License-Identifier: MIT */
/* Tables as JSON; see json.h. */
#include "tools/table/json.h"

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

int table_add_cells(json_t *object, const struct table *table, const void *row)
{
	for (size_t i = 0; i < table->columns; i++) {
		if (table->column[i].key == NULL)
			continue;
		json_t *value = value_json(table->get(row, i));
		if (json_object_set_new_nocheck(object, table->column[i].key, value) < 0)
			return -1;
	}
	return 0;
}
