// SPDX-License-Identifier: MIT
/* The PMUs of kinds of cores on recorded machines, and sums of what they counted. */
#undef NDEBUG
#include "daemon/sample/pmus.h"

#include "tests/unit/recorded.h"

#define DEVICES "sys/bus/event_source/devices"

static int find(const char *root, uint32_t type[PMUS_MAX])
{
	char path[200];

	snprintf(path, sizeof path, "%s/" DEVICES, root);
	memset(type, 0xa5, PMUS_MAX * sizeof *type);
	return pmus_find(path, type);
}

static void assert_recorded(const char *fixture, int count, const uint32_t *expected)
{
	char root[] = RECORDED_ROOT;
	uint32_t type[PMUS_MAX];

	recorded_unpack(fixture, root);
	assert_int_equal(find(root, type), count);
	for (int i = 0; i < count; i++)
		assert_int_equal(type[i], expected[i]);
	recorded_remove(root);
}

static void test_recorded(void **state)
{
	(void)state;
	assert_recorded("topology/intel-hybrid", 2, (uint32_t[]){4, 10});
	assert_recorded("topology/arm-big-little", 2, (uint32_t[]){7, 8});
	assert_recorded("topology/gb10", 2, (uint32_t[]){8, 9});
	assert_recorded("topology/epyc", 0, NULL);
}

static void test_made_up(void **state)
{
	char root[] = RECORDED_ROOT;
	uint32_t type[PMUS_MAX];
	(void)state;

	assert_int_equal(find("/nonexistent", type), 0);
	assert_non_null(mkdtemp(root));
	/* By its name alone, and in the order of the types. */
	recorded_append(root, DEVICES "/cpu_core/type", "12\n");
	recorded_append(root, DEVICES "/armv8_pmuv3/type", "11");
	recorded_append(root, DEVICES "/cpux/type", "3\n");
	recorded_append(root, DEVICES "/x/cpus", "0\n");
	recorded_append(root, DEVICES "/x/type", "4294967295\n");
	assert_int_equal(find(root, type), 3);
	assert_int_equal(type[0], 11);
	assert_int_equal(type[1], 12);
	assert_int_equal(type[2], UINT32_MAX);
	recorded_append(root, DEVICES "/cpu_atom/type", "1\n");
	assert_int_equal(find(root, type), 4);
	assert_int_equal(type[0], 1);
	assert_int_equal(type[3], UINT32_MAX);
	/* One too many. */
	recorded_append(root, DEVICES "/y/cpus", "");
	recorded_append(root, DEVICES "/y/type", "7\n");
	assert_int_equal(find(root, type), -EBADMSG);
	recorded_remove(root);
}

static void test_damaged(void **state)
{
	static const char *const bad[] = {NULL, "", "\n", "x\n", "-1\n", "4 5\n", "4\n\n",
		"4294967296\n", "11111111111111111111\n"};
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char root[] = RECORDED_ROOT;
		uint32_t type[PMUS_MAX];
		assert_non_null(mkdtemp(root));
		recorded_append(root, DEVICES "/small/cpus", "0-19\n");
		recorded_append(root, DEVICES "/small/type", "7\n");
		recorded_append(root, DEVICES "/big/cpus", "20-23\n");
		if (bad[i] != NULL)
			recorded_append(root, DEVICES "/big/type", bad[i]);
		assert_int_equal(find(root, type), -EBADMSG);
		recorded_remove(root);
	}
}

static void assert_sum(
	const struct pmus_value *value, size_t count, uint64_t expected, uint64_t enabled_ns)
{
	struct pmus_value sum = pmus_sum(value, count);

	assert_int_equal(sum.count, expected);
	assert_int_equal(sum.enabled_ns, enabled_ns);
}

static void test_sum(void **state)
{
	(void)state;
	assert_sum((struct pmus_value[]){{0, 0, 0}}, 1, 0, 0);
	assert_sum((struct pmus_value[]){{500, 100, 100}}, 1, 500, 100);
	/* A counter was free half of the time. */
	assert_sum((struct pmus_value[]){{500, 100, 50}}, 1, 1000, 100);
	/* A thread that was on large cores for 30 ns, and on small ones for 70. */
	assert_sum((struct pmus_value[]){{300, 100, 30}, {140, 100, 70}}, 2, 440, 100);
	assert_sum((struct pmus_value[]){{300, 30, 30}, {140, 70, 70}}, 2, 440, 70);
	/* The same, and only half of it was counted. */
	assert_sum((struct pmus_value[]){{150, 100, 15}, {70, 100, 35}}, 2, 440, 100);
	/* On large ones alone. */
	assert_sum((struct pmus_value[]){{1000, 100, 100}, {0, 100, 0}}, 2, 1000, 100);
	assert_sum((struct pmus_value[]){{0, 100, 0}, {0, 100, 0}}, 2, 0, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_made_up),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
