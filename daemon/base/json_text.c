/* SPDX-License-Identifier: MIT */
/* Text from others in JSON; see json_text.h. */
#include "daemon/base/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/base/text.h"

json_t *json_text(const char *text)
{
	json_t *string = json_string(text);

	if (string != NULL)
		return string;
	char *printable = strdup(text);
	if (printable == NULL)
		return NULL;
	text_make_printable(printable);
	string = json_string(printable);
	free(printable);
	return string;
}
