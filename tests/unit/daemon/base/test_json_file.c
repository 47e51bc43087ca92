/* SPDX-License-Identifier: MIT */
/* Results that reach the disk, and results that do not. */
#undef NDEBUG
#include "daemon/base/json_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void written(void **state)
{
	char path[] = "/tmp/test_json_file.XXXXXX";
	char text[64] = "";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(json_file_write(path, json_pack("{s:i}", "a", 1)), 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "{\"a\": 1}\n");
	close(fd);
	unlink(path);
	assert_int_equal(json_file_write(path, NULL), -ENOMEM);
	assert_int_equal(json_file_write("/nonexistent/x", json_object()), -ENOENT);
	assert_int_equal(json_file_write("/dev/full", json_object()), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
