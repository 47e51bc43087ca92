/* SPDX-License-Identifier: MIT */
/* One JSON object per sample; see record.h. */
#include "tools/stat/record.h"

#include <stdlib.h>

#include "daemon/policy/policy.h"

static json_t *rows_json(const struct sample_table *table, const struct sample_row *row, size_t n)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < n && rows != NULL; i++) {
		json_t *object = json_object();
		int r = table_add_cells(object, &table->table, &row[i]);
		if (json_array_append_new(rows, object) == 0 && r == 0)
			continue;
		json_decref(rows);
		return NULL;
	}
	return rows;
}

static int add_table(json_t *object, const struct sample_table *table,
	const struct live_sample *sample, int64_t unix_time_ms, enum sample_order order)
{
	struct sample_row *row;
	size_t n;

	if (sample_rows(table, sample, unix_time_ms, order, &row, &n) < 0)
		return -1;
	int r = json_object_set_new_nocheck(object, table->name, rows_json(table, row, n));
	free(row);
	return r;
}

static json_t *ways_json(const struct live_sample *sample)
{
	json_t *list = json_array();

	for (size_t k = 0; k < sample->ways; k++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:f}", "regime",
				      sample->way[k].balance ? "balance" : "aside", "reason",
				      policy_reason_text((enum policy_reason)sample->way[k].reason),
				      "seconds", (double)sample->way[k].time_ns * 1e-9));
	return list;
}

static json_t *paces_json(const struct live_sample *sample)
{
	json_t *list = json_array();

	for (int k = 0; k < POLICY_PACES; k++)
		if (sample->pace[k].time_ns > 0)
			json_array_append_new(
				list, json_pack("{s:s, s:f, s:f, s:f}", "cause",
					      policy_pace_text((enum policy_pace)k), "seconds",
					      (double)sample->pace[k].time_ns * 1e-9, "least_s",
					      (double)sample->pace[k].least_ns * 1e-9, "most_s",
					      (double)sample->pace[k].most_ns * 1e-9));
	return list;
}

static json_t *sites_json(const struct live_sample *sample)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sample->sites; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:I, s:f}", "name", sample->site[i].name, "waits",
				      (json_int_t)sample->site[i].waits, "waited_s",
				      (double)sample->site[i].waited_ns * 1e-9));
	return list;
}

json_t *record_json(const struct sample_table *const *table, size_t n,
	const struct live_sample *sample, int64_t unix_time_ms, enum sample_order order)
{
	const struct sample_row head = {.sample = sample, .unix_time_ms = unix_time_ms};
	json_t *object =
		json_pack("{s:s, s:s}", "program", "jugglectl stat", "version", JUGGLE_VERSION);

	if (table_add_cells(object, &sample_head.table, &head) < 0)
		goto failed;
	if (sample->wrapped &&
		(json_object_set_new(object, "regimes", ways_json(sample)) < 0 ||
			json_object_set_new(object, "periods", paces_json(sample)) < 0 ||
			json_object_set_new(object, "sites", sites_json(sample)) < 0))
		goto failed;
	for (size_t i = 0; i < n; i++)
		if (add_table(object, table[i], sample, unix_time_ms, order) < 0)
			goto failed;
	return object;

failed:
	json_decref(object);
	return NULL;
}
