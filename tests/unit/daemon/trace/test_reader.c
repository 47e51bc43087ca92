/* SPDX-License-Identifier: MIT */
/* Reading traces back: recorded and damaged ones. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/trace/reader.h"
#include "tests/unit/daemon/trace/text.h"
#include "tests/unit/sanitized.h"

#define HEADER TRACE_HEADER("5")
#define CPUS "cpus 5 0:0 3:1\n"

#define OBSERVED_POINTS 115 /* in that fixture */

static int parse(struct trace_file *trace, struct trace_error *error, const char *text)
{
	return trace_parse(trace, text, strlen(text), error);
}

/* The text behind the header is refused, with that line and that message. */
static void assert_refused(const char *records, size_t line, const char *why)
{
	struct trace_file trace;
	struct trace_error error;
	char *text = NULL;

	assert_true(asprintf(&text, "%s%s", HEADER, records) > 0);
	assert_int_equal(parse(&trace, &error, text), -EBADMSG);
	assert_null(trace.memory);
	assert_string_equal(error.text, why);
	assert_int_equal(error.line, line);
	free(text);
}

static void test_header(void **state)
{
	struct trace_file trace;
	struct trace_error error;

	(void)state;
	assert_int_equal(parse(&trace, &error, HEADER CPUS), 0);
	assert_string_equal(trace.version, "0.1.0");
	assert_string_equal(trace.command, "true");
	assert_string_equal(trace.policy, "juggle");
	assert_string_equal(trace.sampler, "schedstat");
	assert_string_equal(trace.balancers, "domain");
	assert_string_equal(trace.domains, "split");
	assert_true(trace.period_s == 0.004);
	assert_true(trace.jitter == 0.1);
	assert_int_equal(trace.margin_ns, 500000);
	assert_true(trace.always && !trace.period_auto);
	assert_int_equal(trace.expected, 0);
	assert_int_equal(trace.start_ns, 5);
	assert_int_equal(trace.cpus, 2);
	assert_int_equal(trace.cpu[1].os_cpu, 3);
	assert_int_equal(trace.cpu[1].domain, 1);
	assert_int_equal(trace.points, 0);
	assert_false(trace.cut_short);
	trace_file_deinit(&trace);
	trace_file_deinit(&trace);
}

static void test_records(void **state)
{
	struct trace_file trace;
	struct trace_error error;

	(void)state;
	assert_int_equal(
		parse(&trace, &error,
			HEADER CPUS "team 6 1 2 77 work\n"
				    "birth 10 42 41 a name  \n"
				    "point 20 1 15 10 all,open\n"
				    "domains 3 0 4294967295\n"
				    "new 45 1\n"
				    "thread 42 3 -7 8 9 2 b work=5 left=4 sleeps=3 updates=2 "
				    "arrivals=9 useful=7 done=1 waits yields dynamic rule=2 role=3\n"
				    "thread 43 -1 1 0 4611686018427387903 0 a unseen\n"
				    "other 44 0 6 7 1 e\n"
				    "move 42 3 0\n"
				    "move 43 -1 3\n"
				    "handover 45 0\n"
				    "slice short\n"
				    "decide 2 3 1 balance why, in words\n"
				    "cpus 22 0:0\n"
				    "team 22 0 1 78 ns tickers shortens\n"
				    "plb 23 41 6\n"
				    "point 25 0 5 2 some\n"
				    "other 46 -1 0 0 0 i unseen sleeps=1 rule=1\n"
				    "decide 4 4 0 aside why, in words\n"
				    "point 30 0 5 2 all\n"
				    "slice default\n"
				    "decide 4 4 0 aside why, in words\n"
				    "later 1 2 3\n"
				    "bare\n"
				    "birth 26 44 41 \n"
				    "dropped 9\n"),
		0);
	assert_int_equal(trace.points, 3);
	const struct trace_point *point = trace.point;
	assert_int_equal(point->now_ns, 20);
	assert_int_equal(point->domain, 1);
	assert_int_equal(point->elapsed_ns, 15);
	assert_true(point->members && point->may_hand_over);
	assert_int_equal(point->loads, 3);
	assert_int_equal(point->load[2], UINT32_MAX);
	assert_int_equal(point->newcomers, 1);
	assert_true(point->newcomer[0].tid == 45 && point->newcomer[0].assigned);
	assert_int_equal(point->threads, 2);
	const struct trace_thread *thread = point->thread;
	assert_int_equal(thread->tid, 42);
	assert_int_equal(thread->os_cpu, 3);
	assert_int_equal(thread->progress_ns, -7);
	assert_int_equal(thread->run_ns, 8);
	assert_int_equal(thread->wait_ns, 9);
	assert_int_equal(thread->slices, 2);
	assert_true(thread->work == 5 && thread->left_ns == 4);
	assert_true(thread->sleeps == 3 && thread->updates == 2);
	assert_true(thread->arrivals == 9 && thread->useful_ns == 7 && thread->done_ns == 1);
	assert_true(thread->waits && thread->yields && thread->dynamic);
	assert_int_equal(
		thread->news, POLICY_TIMES | POLICY_SLEEPS | POLICY_UPDATES | POLICY_PHASES);
	assert_int_equal(thread->rule, POLICY_RULE_COMPUTE);
	assert_int_equal(thread->role, POLICY_ROLE_BALANCED);
	assert_true(thread->behind);
	assert_int_equal(thread[1].os_cpu, -1);
	assert_int_equal(thread[1].news, 0);
	assert_false(thread[1].behind);
	assert_int_equal(point->others, 1);
	assert_int_equal(point->other[0].tid, 44);
	assert_int_equal(point->other[0].news, POLICY_END);
	assert_int_equal(point->other[0].work, 6); /* as run_ns, where the trace has nothing else */
	assert_int_equal(point->moves, 1);
	assert_int_equal(point->move[0].tid, 42);
	assert_int_equal(point->move[0].from, 3);
	assert_int_equal(point->move[0].to, 0);
	assert_int_equal(point->changes, 1);
	assert_true(point->change[0].tid == 43 && point->change[0].from == -1);
	assert_int_equal(point->handovers, 1);
	assert_true(point->handover[0].tid == 45 && point->handover[0].domain == 0);
	assert_true(point->period_ns == 2 && point->wait_ns == 3 && point->ticks == 1);
	assert_true(point->balance);
	assert_true(point->slices_changed && point->short_slices);
	assert_false(point[1].slices_changed);
	assert_true(point[2].slices_changed && !point[2].short_slices);
	assert_false(trace.team[0].slices);
	assert_true(trace.team[1].slices && trace.team[1].tickers && !trace.team[1].bells);
	assert_int_equal(point[1].threads, 0);
	assert_null(point[1].thread);
	assert_false(point[1].members || point[1].balance);
	assert_int_equal(point[1].other[0].news, POLICY_SLEEPS);
	assert_int_equal(point[1].other[0].rule, POLICY_RULE_IDLE);
	assert_true(point[2].members && !point[2].may_hand_over);
	assert_int_equal(trace.births, 2);
	assert_string_equal(trace.birth[0].comm, "a name  ");
	assert_int_equal(trace.birth[0].pid, 41);
	assert_string_equal(trace.birth[1].comm, "");
	/* The regime of each domain, recorded only when it changes. */
	assert_int_equal(trace.regimes, 2);
	assert_int_equal(trace.regime[0].domain, 1);
	assert_true(trace.regime[0].balance);
	assert_int_equal(trace.regime[1].now_ns, 25);
	assert_int_equal(trace.regime[1].domain, 0);
	assert_false(trace.regime[1].balance);
	assert_string_equal(trace.regime[1].reason, "why, in words");
	assert_int_equal(trace.teams, 2);
	assert_true(trace.team[0].domain == 1 && trace.team[0].domains == 2);
	assert_true(trace.team[0].seed == 77 && trace.team[0].by_work);
	assert_true(trace.team[0].first_cpu == 0 && trace.team[0].cpus == 2);
	assert_int_equal(trace.team[0].first_point, 0);
	assert_true(trace.team[1].first_cpu == 2 && trace.team[1].cpus == 1);
	assert_int_equal(trace.team[1].first_point, 1);
	assert_int_equal(trace.cpus, 2);
	assert_int_equal(trace.cpu_changes, 1);
	assert_int_equal(trace.unknown, 2);
	assert_int_equal(trace.dropped, 9);
	assert_false(trace.cut_short);
	trace_file_deinit(&trace);
}

static void test_subdomains(void **state)
{
	struct trace_file trace;
	struct trace_error error;

	(void)state;
	assert_int_equal(parse(&trace, &error,
				 HEADER "subdomains 10 41 -1 2 0 1 -1\n"
					"updates 11 41 7 4611686018427387903 -1\n"
					"give 12 41 1048575 65535 0\n"
					"holders 12 41 -1 65535 0\n"
					"holders 13 42 1\n"
					"subdomains 13 42 3 1 0\n"
					"updates 14 42 0\n"),
		0);
	assert_int_equal(trace.publisheds, 2);
	const struct trace_subdomains *published = trace.published;
	assert_int_equal(published->now_ns, 10);
	assert_int_equal(published->pid, 41);
	assert_int_equal(published->rank, -1);
	assert_int_equal(published->workers, 2);
	assert_int_equal(published->subdomains, 3);
	assert_int_equal(published->owner[1], 1);
	assert_int_equal(published->owner[2], -1);
	assert_int_equal(published[1].subdomains, 1);
	assert_int_equal(published[1].owner[0], 0);
	assert_int_equal(trace.samples, 2);
	assert_int_equal(trace.sample[0].subdomains, 3);
	assert_int_equal(trace.sample[0].updates[0], 7);
	assert_true(trace.sample[0].updates[1] == INT64_C(4611686018427387903));
	assert_int_equal(trace.sample[0].updates[2], -1);
	assert_int_equal(trace.sample[1].pid, 42);
	assert_int_equal(trace.sample[1].updates[0], 0);
	assert_int_equal(trace.gives, 1);
	assert_int_equal(trace.give[0].now_ns, 12);
	assert_int_equal(trace.give[0].subdomain, 1048575);
	assert_int_equal(trace.give[0].from, 65535);
	assert_int_equal(trace.give[0].to, 0);
	assert_int_equal(trace.helds, 2);
	assert_int_equal(trace.held[0].pid, 41);
	assert_int_equal(trace.held[0].subdomains, 3);
	assert_int_equal(trace.held[0].holder[0], -1);
	assert_int_equal(trace.held[0].holder[1], 65535);
	assert_int_equal(trace.held[1].now_ns, 13);
	assert_int_equal(trace.held[1].holder[0], 1);
	assert_int_equal(trace.unknown, 0);
	trace_file_deinit(&trace);
}

/* A program with one worker has empty places, too, and may give itself any rank. */
static void test_extreme_subdomains(void **state)
{
	struct trace_file trace;
	struct trace_error error;

	(void)state;
	assert_int_equal(parse(&trace, &error,
				 HEADER "subdomains 10 41 -2147483648 1 0 -1\n"
					"subdomains 11 42 2147483647 1 -1\n"),
		0);
	assert_int_equal(trace.publisheds, 2);
	assert_int_equal(trace.published[0].rank, INT32_MIN);
	assert_int_equal(trace.published[0].owner[1], -1);
	assert_int_equal(trace.published[1].rank, INT32_MAX);
	trace_file_deinit(&trace);
}

static void test_damaged_subdomains(void **state)
{
	(void)state;
	assert_refused("subdomains 1 2 0 1\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 0 1 \n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 0 0 0\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 0 65537 0\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 0 2 0 2\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 0 2 0 -2\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 0 1 1\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 2147483648 1 0\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 -2147483649 1 0\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 0 0 2 0\n", 2, "a damaged subdomains record");
	assert_refused("subdomains 1 2 0 2 0  1\n", 2, "a damaged subdomains record");
	assert_refused("give 1 2 0 0\n", 2, "a damaged give record");
	assert_refused("give 1 2 0 0 1 1\n", 2, "a damaged give record");
	assert_refused("give 1 2 1048576 0 1\n", 2, "a damaged give record");
	assert_refused("give 1 2 0 0 65536\n", 2, "a damaged give record");
	assert_refused("give 1 2 -1 0 1\n", 2, "a damaged give record");
	assert_refused("name 1 0 x\n", 2, "a damaged name record");
	assert_refused("name x 7 x\n", 2, "a damaged name record");
	assert_refused("holders 1 2\n", 2, "a damaged holders record");
	assert_refused("holders 1 0 1\n", 2, "a damaged holders record");
	assert_refused("holders 1 2 -2\n", 2, "a damaged holders record");
	assert_refused("holders 1 2 65536\n", 2, "a damaged holders record");
	assert_refused("updates 1 2\n", 2, "a damaged updates record");
	assert_refused("updates 1 2 \n", 2, "a damaged updates record");
	assert_refused("updates 1 2 5 -2\n", 2, "a damaged updates record");
	assert_refused("updates 1 2 5 x\n", 2, "a damaged updates record");
	assert_refused("updates 1 2 4611686018427387904\n", 2, "a damaged updates record");
}

/* One more than allowed. */
static void test_too_many_subdomains(void **state)
{
	const size_t head = strlen(HEADER "updates 1 2"), n = TRACE_SUBDOMAINS_MAX;
	char *text = malloc(head + 2 * n + 4);
	struct trace_file trace;
	struct trace_error error;

	(void)state;
	assert_non_null(text);
	memcpy(text, HEADER "updates 1 2", head);
	for (size_t i = 0; i <= n; i++)
		memcpy(text + head + 2 * i, " 0", 2);
	text[head + 2 * n] = '\n';
	assert_int_equal(trace_parse(&trace, text, head + 2 * n + 1, &error), 0);
	assert_int_equal(trace.sample[0].subdomains, n);
	trace_file_deinit(&trace);
	memcpy(text + head + 2 * n, " 0\n", 3);
	assert_int_equal(trace_parse(&trace, text, head + 2 * n + 3, &error), -EBADMSG);
	free(text);
}

static void test_no_trace(void **state)
{
	static const struct {
		const char *text;
		int r;
		const char *why;
	} tests[] = {
		{"", -EBADMSG, "nothing in it"},
		{"\n", -EBADMSG, "no trace of juggle --trace"},
		{"{}", -EBADMSG, "no trace of juggle --trace"},
		{"# juggle tra", -EBADMSG, "the file ends within the header"},
		{"# juggle trace 2 {\"version\":", -EBADMSG, "the file ends within the header"},
		{"# juggle trace one {}\n", -EBADMSG, "no trace of juggle --trace"},
		{"# juggle trace 2\n", -EBADMSG, "no trace of juggle --trace"},
		{"# juggle trace 1 {}\n", -EPROTO, "version 1 of the format, only 2 is known"},
		{"# juggle trace 99999999999999999999 {}\n", -EBADMSG,
			"no trace of juggle --trace"},
		{"# juggle trace 2 {\"a\":\n", -EBADMSG, "the header is damaged: no JSON object"},
		{"# juggle trace 2 []\n", -EBADMSG, "the header is damaged: no JSON object"},
		{"# juggle trace 2 {}\n", -EBADMSG,
			"the header is damaged: Object item not found: version"},
	};
	struct trace_file trace;
	struct trace_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		assert_int_equal(parse(&trace, &error, tests[i].text), tests[i].r);
		assert_string_equal(error.text, tests[i].why);
		assert_int_equal(error.line, 1);
	}
}

/* Other values in the header. */
static void test_header_values(void **state)
{
	static const char *const tests[][2] = {
		{"\"start_ns\":5", "\"start_ns\":-5"},
		{"\"start_ns\":5", "\"start_ns\":9223372036854775807"},
		{"\"start_ns\":5", "\"start_ns\":\"5\""},
		{"\"period_s\":0.004", "\"period_s\":-0.004"},
		{"\"period_s\":0.004", "\"period_s\":1e300"},
		{"\"period_s\":0.004", "\"period_s\":1e999"},
		{"\"jitter\":0.1", "\"jitter\":-0.1"},
		{"\"jitter\":0.1", "\"jitter\":1.1"},
		{"\"margin_ns\":500000", "\"margin_ns\":-1"},
		{"\"margin_ns\":500000", "\"margin_ns\":9223372036854775807"},
		{"\"threads\":0", "\"threads\":-1"},
		{"\"always\":true", "\"always\":1"},
		{"\"period_auto\":false,", ""},
		{"\"true\"", "\"tr\\u0000ue\""},
		{"\"true\"", "\"\xff\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		struct trace_file trace;
		struct trace_error error;
		char *at = strstr(HEADER, tests[i][0]), *text = NULL;

		assert_non_null(at);
		assert_true(asprintf(&text, "%.*s%s%s", (int)(at - HEADER), HEADER, tests[i][1],
				    at + strlen(tests[i][0])) > 0);
		assert_int_equal(parse(&trace, &error, text), -EBADMSG);
		assert_non_null(strstr(error.text, "the header is damaged"));
		free(text);
	}
}

#define POINT(lines) "point 1 0 1 " #lines " some\n"

static void test_damage(void **state)
{
	(void)state;
	assert_refused("\n", 2, "not a record");
	assert_refused("plb 1 2 3\nPlb 1 2 3\n", 3, "not a record");
	assert_refused("point1 2 3\n", 2, "not a record");
	assert_refused(HEADER, 2, "not a record");
	assert_refused("thread 1 0 0 0 0 0 a\n", 2, "a record that belongs to no point");
	assert_refused("move 1 0 1\n", 2, "a record that belongs to no point");
	assert_refused(DECIDE, 2, "a record that belongs to no point");
	assert_refused("point 1 0 1 1\n", 2, "a damaged point record");
	assert_refused("point 1 0 1 0 some\n", 2, "a damaged point record");
	assert_refused("point 1 0 1 1 more\n", 2, "a damaged point record");
	assert_refused("point 1 0 1 1 some,open\n", 2, "a damaged point record");
	assert_refused("point 1 0 1 1 all \n", 2, "a damaged point record");
	assert_refused("point 1  0 1 1 all\n", 2, "a damaged point record");
	assert_refused("point -1 0 1 1 all\n", 2, "a damaged point record");
	assert_refused("point +1 0 1 1 all\n", 2, "a damaged point record");
	assert_refused("point 1 1024 1 1 all\n", 2, "a damaged point record");
	assert_refused("point 4611686018427387904 0 1 1 all\n", 2, "a damaged point record");
	assert_refused("point 99999999999999999999 0 1 1 all\n", 2, "a damaged point record");
	assert_refused(POINT(3) "thread 1 0 0 0 0 0 a\nplb 1 1 1\n", 4,
		"a point with fewer lines than it announces");
	assert_refused("point 1 0 1 4611686018427387903 some\nplb 1 1 1\n", 3,
		"a point with fewer lines than it announces");
	assert_refused(
		POINT(2) "thread 1 0 0 0 0 0 a\nplb 1 1 1\n", 4, "a point without its decision");
	assert_refused(POINT(2) DECIDE, 3, "a point with fewer lines than it announces");
	static const char *const threads[] = {"0 0 0 0 0 0 a", "1 -2 0 0 0 0 a",
		"1 65536 0 0 0 0 a", "1 0 0 -1 0 0 a", "1 0 0 0 0 a", "1 0 0 0 0 0 c",
		"1 0 0 0 0 0 ab", "1 0 0 0 0 0 a ", "1 0 0 0 0 0 a later=1", "1 0 0 0 0 0 a seen",
		"1 0 0 0 0 0 a work=", "1 0 0 0 0 0 a work=-1", "1 0 0 0 0 0 a work=1 ",
		"1 0 0 0 0 0 a rule=3", "1 0 0 0 0 0 a role=4", "1 0 0 0 0 0 a role=1 rule=1",
		"1 0 0 0 0 0 a sleeps=4611686018427387904"};
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		char text[200];
		snprintf(text, sizeof(text), POINT(2) "thread %s\n" DECIDE, threads[i]);
		assert_refused(text, 3, "a damaged thread record");
	}
	assert_refused(POINT(2) "other 1 0 0 0 0 a\n", 3, "a damaged other record");
	assert_refused(POINT(2) "other 1 0 0 0 i\n", 3, "a damaged other record");
	assert_refused(POINT(2) "new 1\n", 3, "a damaged new record");
	assert_refused(POINT(2) "new 1 2\n", 3, "a damaged new record");
	assert_refused(POINT(2) "handover 1 1024\n", 3, "a damaged handover record");
	assert_refused(POINT(2) "domains 1 -1\n", 3, "a damaged list of counts");
	assert_refused(POINT(2) "domains 4294967296\n", 3, "a damaged list of counts");
	assert_refused(POINT(2) "neighbours 1 x\n", 3, "a damaged list of counts");
	assert_refused(POINT(2) "beside 1 2\n", 3, "a damaged count of threads");
	assert_refused(POINT(2) "slice long\n", 3, "a damaged slice record");
	assert_refused(POINT(2) "slice short \n", 3, "a damaged slice record");
	assert_refused(POINT(2) "ticked 1 x\n", 3, "a damaged list of counts");
	assert_refused(POINT(2) "thread 1 0 0 200000000 0 0 a\n", 3,
		"damaged: more CPU time than has passed");
	assert_refused(POINT(2) "move 1 -2 0\n", 3, "a damaged move record");
	assert_refused(POINT(2) "move 1 0 0 0\n", 3, "a damaged move record");
	assert_refused(POINT(1) "decide 1 1 0 sideways why\n", 3, "a damaged decide record");
	assert_refused(POINT(1) "decide 1 1 0 aside\n", 3, "a damaged decide record");
	assert_refused(POINT(1) "decide 1 1 65536 aside why\n", 3, "a damaged decide record");
	assert_refused(POINT(1) "decide -1 1 0 aside why\n", 3, "a damaged decide record");
	assert_refused("point 5 0 1 1 some\n" DECIDE "point 4 1 1 1 some\n" DECIDE
		       "point 4 0 1 1 some\n" DECIDE,
		6, "a point that is earlier than the one before");
	assert_refused("birth 1 2 x name\n", 2, "a damaged birth record");
	assert_refused("birth 1 2 3\n", 2, "a damaged birth record");
	assert_refused("cpus 1\n", 2, "a damaged cpus record");
	assert_refused("cpus 1 2\n", 2, "a damaged cpus record");
	assert_refused("cpus 1 2:3:4\n", 2, "a damaged cpus record");
	assert_refused("cpus 1 2:3:4:5:\n", 2, "a damaged cpus record");
	assert_refused("cpus 1 2:3:4:5:65536\n", 2, "a damaged cpus record");
	assert_refused("cpus 1 2:3:4:5:6:7\n", 2, "a damaged cpus record");
	assert_refused("cpus 1 65536:0\n", 2, "a damaged cpus record");
	assert_refused("cpus 1 0:1024\n", 2, "a damaged cpus record");
	assert_refused("team 1 0 1 2\n", 2, "a damaged team record");
	assert_refused("team 1 0 1 2 us\n", 2, "a damaged team record");
	assert_refused("team 1 0 1 2 ns \n", 2, "a damaged team record");
	assert_refused("team 1 0 1 2 ns ticker\n", 2, "a damaged team record");
	assert_refused("team 1 1 1 2 ns\n", 2, "a damaged team record");
	assert_refused("team 1 0 1025 2 ns\n", 2, "a damaged team record");
	assert_refused("plb 1 2\n", 2, "a damaged plb record");
	assert_refused("dropped many\n", 2, "a damaged dropped record");
	assert_refused("dropped 1\nplb 1 2 3\n", 3, "a record after the last one");
}

static void test_nul_characters(void **state)
{
	static const char text[] = HEADER "birth 1 2 3 a\0b\n";
	struct trace_file trace;
	struct trace_error error;

	(void)state;
	assert_int_equal(trace_parse(&trace, text, sizeof(text) - 1, &error), -EBADMSG);
	assert_string_equal(error.text, "a NUL character");
}

static void test_a_line_of_megabytes(void **state)
{
	size_t head = strlen(HEADER), bytes = (size_t)4 << 20;
	char *text = malloc(head + bytes);
	struct trace_file trace;
	struct trace_error error;

	(void)state;
	assert_non_null(text);
	memcpy(text, HEADER, head);
	memset(text + head, '1', bytes);
	assert_int_equal(trace_parse(&trace, text, head + bytes, &error), 0);
	assert_true(trace.cut_short);
	trace_file_deinit(&trace);
	text[head + bytes - 1] = '\n';
	assert_int_equal(trace_parse(&trace, text, head + bytes, &error), -EBADMSG);
	memcpy(text + head, "cpus ", 5);
	assert_int_equal(trace_parse(&trace, text, head + bytes, &error), -EBADMSG);
	free(text);
}

/* ---- Recorded ones ---- */

/* Returns the size. The caller frees the text. */
static size_t fixture(const char *name, char **text)
{
	const char *folder = getenv("JUGGLE_FIXTURES");
	char path[4096];

	if (folder == NULL)
		fail_msg("JUGGLE_FIXTURES is not set");
	snprintf(path, sizeof(path), "%s/trace/%s", folder, name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	*text = malloc(1 << 20);
	assert_non_null(*text);
	size_t bytes = fread(*text, 1, 1 << 20, file);
	assert_true(bytes > 0 && bytes < 1 << 20);
	fclose(file);
	return bytes;
}

static void test_recorded(void **state)
{
	static const struct {
		const char *name, *policy;
		size_t points;
	} tests[] = {{"block", "juggle", 221}, {"yield", "juggle", 122}, {"static", "static", 124},
		{"observe", "observe", OBSERVED_POINTS}};

	(void)state;
	for (size_t k = 0; k < sizeof(tests) / sizeof(*tests); k++) {
		struct trace_file trace;
		struct trace_error error;
		char *text;
		size_t bytes = fixture(tests[k].name, &text), moves = 0;

		assert_int_equal(trace_parse(&trace, text, bytes, &error), 0);
		free(text); /* nothing points to it */
		assert_false(trace.cut_short);
		assert_string_equal(trace.policy, tests[k].policy);
		assert_int_equal(trace.points, tests[k].points);
		assert_true(trace.births >= 3);
		assert_int_equal(trace.unknown, 0);
		for (size_t i = 0; i < trace.births; i++)
			assert_string_equal(trace.birth[i].comm, "ubench");
		for (size_t i = 0; i < trace.points; i++)
			moves += trace.point[i].moves;
		assert_true(strcmp(tests[k].policy, "juggle") == 0 ? moves > 0 : moves == 0);
		assert_int_equal(trace.point[trace.points - 1].threads, 3);
		trace_file_deinit(&trace);
	}
}

/* Wherever a trace ends, what came before is read. */
static void test_cut_anywhere(void **state)
{
	struct trace_file trace;
	struct trace_error error;
	char *text;
	size_t bytes = fixture("observe", &text), points = 0;
	size_t header = (size_t)((char *)memchr(text, '\n', bytes) - text) + 1;

	(void)state;
	/* With a sanitizer this takes long: in the middle, where one record is like another, every seventh. */
	for (size_t cut = 0; cut <= bytes;
		cut += SANITIZED && cut > 4000 && cut + 500 < bytes ? 7 : 1) {
		/* A copy that ends there, so that a sanitizer sees reads beyond it. */
		char *part = malloc(cut > 0 ? cut : 1);
		assert_non_null(part);
		memcpy(part, text, cut);
		int r = trace_parse(&trace, part, cut, &error);
		free(part);
		assert_int_equal(r, cut < header ? -EBADMSG : 0);
		if (r < 0)
			continue;
		assert_true(trace.points >= points);
		assert_true(cut == 0 || text[cut - 1] == '\n' || trace.cut_short);
		points = trace.points;
		trace_file_deinit(&trace);
	}
	assert_int_equal(points, OBSERVED_POINTS);
	free(text);
}

/* Whatever one byte is changed to, there is an answer. */
static void test_any_byte_damaged(void **state)
{
	struct trace_file trace;
	struct trace_error error;
	char *text;
	size_t bytes = fixture("observe", &text);
	unsigned short random[3] = {1, 2, 3};

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t at = (size_t)nrand48(random) % bytes;
		char before = text[at];

		text[at] = (char)nrand48(random);
		int r = trace_parse(&trace, text, bytes, &error);
		assert_true(r == 0 || ((r == -EBADMSG || r == -EPROTO) && error.text[0] != '\0'));
		trace_file_deinit(&trace);
		text[at] = before;
	}
	free(text);
}

/* The owners match the moves, whose number the plb records have, too. */
static void test_recorded_braid(void **state)
{
	struct trace_file trace;
	struct trace_error error;
	char *text;
	size_t bytes = fixture("braid", &text);

	(void)state;
	assert_int_equal(trace_parse(&trace, text, bytes, &error), 0);
	free(text);
	assert_int_equal(trace.unknown, 0);
	assert_int_equal(trace.publisheds, 1);
	assert_int_equal(trace.published->workers, 2);
	assert_int_equal(trace.published->subdomains, 8);
	assert_true(trace.gives > 10 && trace.samples >= 3);
	int32_t owner[8];
	memcpy(owner, trace.published->owner, sizeof(owner));
	for (size_t i = 0; i < trace.gives; i++) {
		const struct trace_give *give = &trace.give[i];
		assert_int_equal(owner[give->subdomain], give->from);
		owner[give->subdomain] = (int32_t)give->to;
	}
	for (size_t i = 0; i < trace.samples; i++)
		assert_int_equal(trace.sample[i].subdomains, 8);
	trace_file_deinit(&trace);
}

static void test_files(void **state)
{
	char path[] = "/tmp/test-trace-XXXXXX";
	struct trace_file trace;
	struct trace_error error;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, HEADER CPUS "plb 1 2 3\n", strlen(HEADER CPUS) + 10),
		strlen(HEADER CPUS) + 10);
	close(fd);
	assert_int_equal(trace_read(&trace, path, &error), 0);
	assert_int_equal(trace.cpus, 2);
	trace_file_deinit(&trace);
	unlink(path);
	assert_int_equal(trace_read(&trace, path, &error), -ENOENT);
	assert_int_equal(trace_read(&trace, "/tmp", &error), -EISDIR);
	assert_int_equal(trace_read(&trace, "/dev/null", &error), -EBADMSG);
	assert_string_equal(error.text, "nothing in it");
	/* This file has no end. */
	assert_int_equal(trace_read(&trace, "/dev/zero", &error), -EBADMSG);
	assert_string_equal(error.text, "no trace of juggle --trace");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_subdomains),
		cmocka_unit_test(test_extreme_subdomains),
		cmocka_unit_test(test_damaged_subdomains),
		cmocka_unit_test(test_too_many_subdomains),
		cmocka_unit_test(test_no_trace),
		cmocka_unit_test(test_header_values),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_nul_characters),
		cmocka_unit_test(test_a_line_of_megabytes),
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_any_byte_damaged),
		cmocka_unit_test(test_recorded_braid),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
