/* SPDX-License-Identifier: MIT */
#include "tools/plot/comparison.h"

#include "tools/command/print.h"
#include "tools/plot/page.h"
#include "tools/plot/quote.h"

#include <errno.h>
#include <string.h>

/* Scripts of the page look into a report; here it only has to be one. */
static bool is_report(const json_t *root, double *elapsed_s)
{
	*elapsed_s = json_number_value(json_object_get(root, "elapsed_s"));
	return *elapsed_s > 0 && json_is_string(json_object_get(root, "command")) &&
	       json_is_string(json_object_get(root, "policy")) &&
	       json_is_array(json_object_get(root, "thread"));
}

int comparison_init(struct comparison *comparison, const char *program,
	const char *const name[COMPARISON_REPORTS])
{
	*comparison = (struct comparison){0};
	for (int i = 0; i < COMPARISON_REPORTS; i++) {
		json_error_t error;
		FILE *file = fopen(name[i], "re");
		if (file == NULL)
			return command_fail(program, "%s: %s", name[i], strerror(errno));
		comparison->name[i] = name[i];
		comparison->report[i] = json_loadf(file, 0, &error);
		fclose(file);
		if (comparison->report[i] == NULL)
			return command_fail(
				program, "%s: line %d: %s", name[i], error.line, error.text);
		if (!is_report(comparison->report[i], &comparison->elapsed_s[i]))
			return command_fail(
				program, "%s: not what juggle --report writes", name[i]);
	}
	return 0;
}

void comparison_deinit(struct comparison *comparison)
{
	for (int i = 0; i < COMPARISON_REPORTS; i++) {
		json_decref(comparison->report[i]);
		comparison->report[i] = NULL;
	}
}

void comparison_write(const struct comparison *comparison, FILE *to)
{
	page_begin(to);
	fputs("{\"kind\":\"comparison\",\"version\":\"" JUGGLE_VERSION "\",\"runs\":[", to);
	for (int i = 0; i < COMPARISON_REPORTS; i++) {
		fprintf(to, "%s\n{\"name\":", i > 0 ? "," : "");
		quote_in_page(to, comparison->name[i]);
		fputs(",\"report\":", to);
		quote_value_in_page(to, comparison->report[i]);
		fputs("}", to);
	}
	fputs("]}\n", to);
	page_end(to);
}
