/* SPDX-License-Identifier: MIT */
/* The parsers of daemon/proc on recorded text, with cases that machines rarely show. */
#undef NDEBUG
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/proc/proc.h"

enum { TEXT_BYTES = 4096 };

/* Meson sets JUGGLE_FIXTURES; without it the program runs at the top of the tree. */
static size_t load(const char *name, char text[static TEXT_BYTES])
{
	const char *folder = getenv("JUGGLE_FIXTURES");
	char path[4096];
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/%s", folder ? folder : "tests/fixtures", name);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("no fixture %s (set JUGGLE_FIXTURES): %s", path, strerror(errno));
	n = fread(text, 1, TEXT_BYTES, file);
	assert_int_equal(ferror(file), 0);
	fclose(file);
	return n;
}

/* Parse a block of exactly that size, so that a sanitizer sees each byte read beyond it. */
static int parse_stat_exactly(const char *text, size_t bytes, struct proc_thread *out)
{
	char *exact = malloc(bytes ? bytes : 1);
	int r;

	assert_non_null(exact);
	memcpy(exact, text, bytes);
	r = proc_parse_stat(exact, bytes, out);
	free(exact);
	return r;
}

static void test_parse_stat(void **unused)
{
	static const struct {
		const char *name;
		const char *comm;
		char state;
	} cases[] = {
		{"stat-plain", "jacobi", 'S'},
		{"stat-spaces", "Web Content 1", 'S'},
		{"stat-parentheses", "a) (b) ((c", 'S'},
		{"stat-newlines", "two\nlines\n", 'S'},
		{"stat-imitation", "x) Z 1 1 1 1 -1", 'S'},
		{"stat-empty-comm", "", 'R'},
		{"stat-long-comm",
			"kworker/u257:3+events_unbound-a-name-that-is-longer-than-any-th", 'I'},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proc_thread thread = {.pid = 77};
		char text[TEXT_BYTES];
		size_t bytes = load(cases[i].name, text);

		assert_int_equal(parse_stat_exactly(text, bytes, &thread), 0);
		assert_int_equal(thread.pid, 77);
		assert_int_equal(thread.tid, 4243);
		assert_int_equal(thread.ppid, 812);
		assert_true(thread.start_ticks == 208836);
		assert_int_equal(thread.state, cases[i].state);
		assert_string_equal(thread.comm, cases[i].comm);
		assert_int_equal(thread.kernel, cases[i].state == 'I');
	}
}

static void test_parse_stat_largest(void **unused)
{
	struct proc_thread thread = {0};
	char text[TEXT_BYTES];
	size_t bytes = load("stat-largest", text);

	(void)unused;
	assert_int_equal(parse_stat_exactly(text, bytes, &thread), 0);
	assert_int_equal(thread.tid, 2147483647);
	assert_true(thread.start_ticks == UINT64_MAX);
}

static void test_parse_stat_bad(void **unused)
{
	static const char *const names[] = {"bad-stat-cut-in-comm", "bad-stat-cut-in-fields",
		"bad-stat-cut-in-start", "bad-stat-letters", "bad-stat-negative-start",
		"bad-stat-nul", "bad-stat-overflow-pid", "bad-stat-overflow-start",
		"bad-stat-parentheses-after", "bad-stat-state", "bad-stat-zero"};

	(void)unused;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct proc_thread thread = {.tid = 5, .start_ticks = 6};
		char text[TEXT_BYTES];
		size_t bytes = load(names[i], text);

		if (parse_stat_exactly(text, bytes, &thread) != -EBADMSG)
			fail_msg("%s was taken for good", names[i]);
		assert_int_equal(thread.tid, 5);
		assert_true(thread.start_ticks == 6);
	}
}

/* Wherever a line is cut, it is either refused or gives the right answer. */
static void test_parse_stat_cut(void **unused)
{
	char text[TEXT_BYTES];
	size_t bytes = load("stat-imitation", text);
	size_t good = 0;

	(void)unused;
	for (size_t cut = 0; cut <= bytes; cut++) {
		struct proc_thread thread = {0};
		int r = parse_stat_exactly(text, cut, &thread);

		if (r == 0) {
			good++;
			assert_true(thread.start_ticks == 208836);
			assert_string_equal(thread.comm, "x) Z 1 1 1 1 -1");
		} else {
			assert_int_equal(r, -EBADMSG);
			assert_int_equal(good, 0);
		}
	}
	assert_true(good > 0);
}

static void test_parse_load(void **unused)
{
	static const char *const bad[] = {"bad-loadavg-sandbox", "bad-loadavg-cut",
		"bad-loadavg-short", "bad-loadavg-longer", "bad-loadavg-overflow",
		"bad-loadavg-empty", "bad-loadavg-running"};
	char text[TEXT_BYTES];
	struct proc_load found;

	(void)unused;
	assert_int_equal(proc_parse_load(text, load("loadavg", text), &found), 0);
	assert_int_equal(found.running, 7);
	assert_int_equal(found.last_pid, 13421);
	assert_int_equal(proc_parse_load(text, load("loadavg-long", text), &found), 0);
	assert_int_equal(found.running, 2048);
	assert_int_equal(found.last_pid, 4194303);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t bytes = load(bad[i], text);

		if (proc_parse_load(text, bytes, &found) != -EBADMSG)
			fail_msg("%s was taken for good", bad[i]);
		assert_int_equal(found.last_pid, 4194303);
	}
}

static void test_parse_pids(void **unused)
{
	static const char *const bad[] = {"bad-children-letters", "bad-children-negative",
		"bad-children-zero", "bad-children-overflow", "bad-children-nul"};
	char text[TEXT_BYTES];
	pid_t pids[3] = {0};
	size_t bytes = load("children", text);

	(void)unused;
	assert_int_equal(proc_parse_pids(text, bytes, pids, 3), 3);
	assert_int_equal(pids[0], 4243);
	assert_int_equal(pids[1], 4250);
	assert_int_equal(pids[2], 4194303);

	/* Too small a buffer is reported, not overrun. */
	pids[1] = -1;
	assert_int_equal(proc_parse_pids(text, bytes, pids, 1), 3);
	assert_int_equal(pids[1], -1);
	assert_int_equal(proc_parse_pids(text, bytes, NULL, 0), 3);

	assert_int_equal(proc_parse_pids("\n 7\t8\n", 6, pids, 3), 2);
	assert_int_equal(pids[1], 8);
	assert_int_equal(proc_parse_pids(text, load("children-none", text), pids, 3), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bytes = load(bad[i], text);
		if (proc_parse_pids(text, bytes, pids, 3) != -EBADMSG)
			fail_msg("%s was taken for good", bad[i]);
	}
}

static int parse_blocks(const char *text, uint64_t *out)
{
	return proc_parse_blocks(text, strlen(text), out);
}

static int parse_cpu(const char *text, int32_t *out)
{
	return proc_parse_cpu(text, strlen(text), out);
}

static void test_parse_cpu(void **unused)
{
#define FIELDS_4_TO_38 "S 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 17 "
	static const char *const bad[] = {"", "1", "1 (a)", "1 (a) S", "1 (a) " FIELDS_4_TO_38,
		"1 (a) " FIELDS_4_TO_38 "x 0", "1 (a) " FIELDS_4_TO_38 "12",
		"1 (a) " FIELDS_4_TO_38 "9999999999 0", "1 (a) " FIELDS_4_TO_38 "-1 0"};
	int32_t cpu = -1;
	(void)unused;

	assert_int_equal(parse_cpu("1 (a) " FIELDS_4_TO_38 "12 0 0", &cpu), 0);
	assert_int_equal(cpu, 12);
	/* A name can look like the fields after it. */
	assert_int_equal(parse_cpu("1 (a) S 2 (b c)) " FIELDS_4_TO_38 "7 0", &cpu), 0);
	assert_int_equal(cpu, 7);
	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
		assert_int_equal(parse_cpu(bad[k], &cpu), -EBADMSG);
	assert_int_equal(cpu, 7);
}

static int parse_mask(const char *text, struct cpuset *out)
{
	return proc_parse_mask(text, strlen(text), out);
}

static void test_parse_mask(void **unused)
{
	struct cpuset mask = {0};
	(void)unused;

	assert_int_equal(
		parse_mask("Name:\tx\nCpus_allowed:\tf0\nCpus_allowed_list:\t4-6,8\n", &mask), 0);
	assert_int_equal(cpuset_count(&mask), 4);
	assert_true(cpuset_has(&mask, 4) && cpuset_has(&mask, 8));
	assert_int_equal(parse_mask("\nCpus_allowed_list:\t4-6,8", &mask), -EBADMSG);
	assert_int_equal(parse_mask("\nCpus_allowed_list:\t\n", &mask), -EBADMSG);
	assert_int_equal(parse_mask("\nCpus_allowed_list:\t4-x\n", &mask), -EBADMSG);
	assert_int_equal(parse_mask("", &mask), -EBADMSG);
	assert_int_equal(cpuset_count(&mask), 4);
	assert_int_equal(proc_read_mask(getpid(), getpid(), &mask), 0);
	assert_true(cpuset_count(&mask) > 0);
	assert_int_equal(proc_read_mask(1, INT_MAX, &mask), -ESRCH);
}

static void test_parse_blocks(void **unused)
{
	uint64_t blocks = 77;

	(void)unused;
	assert_int_equal(parse_blocks("Name:\tx\nvoluntary_ctxt_switches:\t150\n"
				      "nonvoluntary_ctxt_switches:\t545\n",
				 &blocks),
		0);
	assert_int_equal(blocks, 150);
	/* Cut short, without digits, too large, and the other field alone. */
	assert_int_equal(parse_blocks("Name:\tx\nvoluntary_ctxt_switches:\t15", &blocks), -EBADMSG);
	assert_int_equal(parse_blocks("Name:\tx\nvoluntary_ctxt_switches:\t\n", &blocks), -EBADMSG);
	assert_int_equal(
		parse_blocks("\nvoluntary_ctxt_switches:\t99999999999999999999\n", &blocks),
		-EBADMSG);
	assert_int_equal(parse_blocks("\nnonvoluntary_ctxt_switches:\t5\n", &blocks), -EBADMSG);
	assert_int_equal(parse_blocks("", &blocks), -EBADMSG);
	assert_int_equal(blocks, 150);
}

/* An open file tells of its thread as long as that lives. */
static void test_read_blocks(void **unused)
{
	uint64_t before = 0, after = 0;
	pid_t child = fork();

	(void)unused;
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	int own = proc_open_status(getpid(), getpid()), its = proc_open_status(child, child);
	assert_true(own >= 0 && its >= 0);
	assert_int_equal(proc_read_blocks(own, &before), 0);
	usleep(1000);
	assert_int_equal(proc_read_blocks(own, &after), 0);
	assert_true(after > before);
	assert_int_equal(proc_read_blocks(its, &after), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(proc_read_blocks(its, &after), -ESRCH);
	assert_int_equal(proc_open_status(child, child), -ESRCH);
	close(own);
	close(its);
}

static void test_cpu_times(void **unused)
{
	static const char text[] = "cpu  9 9 9 9 9 9 9 9 0 0\n"
				   "cpu0 80701 99108 15906 31976 243 0 273 187 5 6\n"
				   "cpu3 1 2 3 4 5 6 7 8\n"
				   "cpu2 1 2 3 4 5 6 7\n" /* older than any kernel that we know */
				   "cpu9 1 1 1 1 1 1 1 1 0 0\n"
				   "intr 5 0\ncpu1 1 1 1 1 1 1 1 1\n";
	static const char *const wrong[] = {"", "cpu", "cpu\n", "cpu1", "cpu1 1 1 1 1 1 1 1 1",
		"cpu1 x 1 1 1 1 1 1 1\n", "cpu1 1 1 1 -1 1 1 1 1\n", "cpu-1 1 1 1 1 1 1 1 1\n",
		"cpux 1 1 1 1 1 1 1 1\n", "cpu99999999999999999999 1 1 1 1 1 1 1 1\n"};
	struct proc_cpu_times times[4];

	(void)unused;
	memset(times, 0xff, sizeof(times));
	proc_parse_cpu_times(text, sizeof(text) - 1, times, 4);
	assert_int_equal(times[0].total_ticks, 80701 + 99108 + 15906 + 31976 + 243 + 273 + 187);
	assert_int_equal(times[0].stolen_ticks, 187);
	assert_int_equal(times[1].total_ticks, 0);
	assert_int_equal(times[2].total_ticks, 0);
	assert_int_equal(times[3].total_ticks, 36);
	assert_int_equal(times[3].stolen_ticks, 8);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		proc_parse_cpu_times(wrong[i], strlen(wrong[i]), times, 4);
		for (size_t k = 0; k < 4; k++)
			assert_int_equal(times[k].total_ticks, 0);
	}
	assert_int_equal(proc_read_cpu_times(times, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_cpu),
		cmocka_unit_test(test_parse_blocks),
		cmocka_unit_test(test_read_blocks),
		cmocka_unit_test(test_parse_mask),
		cmocka_unit_test(test_parse_stat),
		cmocka_unit_test(test_parse_stat_largest),
		cmocka_unit_test(test_parse_stat_bad),
		cmocka_unit_test(test_parse_stat_cut),
		cmocka_unit_test(test_parse_load),
		cmocka_unit_test(test_parse_pids),
		cmocka_unit_test(test_cpu_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
