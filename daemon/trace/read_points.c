/* SPDX-License-Identifier: MIT */
/* Reading the points of a trace, each with its lines; see parser.h. */
#include "daemon/trace/parser.h"

#include <errno.h>
#include <string.h>

#define LATE_NS 100000000 /* the kernel may count CPU time late: some ticks under load */

static int read_newcomer(struct trace_parser *p, struct trace_point *point)
{
	int32_t tid;
	uint64_t assigned;

	if (!trace_take_tid(p, &tid) || !trace_take_number(p, '\n', 1, &assigned))
		return trace_refuse(p, "a damaged new record");
	struct trace_newcomer *out = trace_append(&p->memory->newcomer, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = (struct trace_newcomer){.tid = tid, .assigned = assigned};
	point->newcomers++;
	return 0;
}

/* One letter, up to a blank or the end of the line. */
static bool take_letter(struct trace_parser *p, const char *letters, char *out)
{
	if (p->field >= p->stop || strchr(letters, *p->field) == NULL ||
		(p->field + 1 < p->stop && p->field[1] != ' '))
		return false;
	*out = *p->field;
	p->field += p->field + 1 < p->stop ? 2 : 1;
	return true;
}

/* Optional fields at the end of a line, in this order. */
static bool take_more(struct trace_parser *p, struct trace_thread *thread)
{
	uint64_t rule = 0, role = 0;

	if (trace_take_flag(p, "unseen"))
		thread->news &= (uint8_t)~POLICY_TIMES;
	if (trace_take_flag(p, "asleep"))
		thread->news |= POLICY_STATE;
	thread->ready = trace_take_flag(p, "ready");
	if (thread->ready)
		thread->news |= POLICY_STATE;
	thread->work = thread->run_ns;
	(void)trace_take_named(p, "work", TRACE_NUMBER_MAX, &thread->work);
	(void)trace_take_named(p, "left", TRACE_NUMBER_MAX, &thread->left_ns);
	if (trace_take_named(p, "sleeps", TRACE_NUMBER_MAX, &thread->sleeps))
		thread->news |= POLICY_SLEEPS;
	if (trace_take_named(p, "updates", TRACE_NUMBER_MAX, &thread->updates))
		thread->news |= POLICY_UPDATES;
	if (trace_take_named(p, "arrivals", TRACE_NUMBER_MAX, &thread->arrivals))
		thread->news |= POLICY_PHASES;
	(void)trace_take_named(p, "useful", TRACE_NUMBER_MAX, &thread->useful_ns);
	(void)trace_take_named(p, "done", TRACE_NUMBER_MAX, &thread->done_ns);
	thread->waits = trace_take_flag(p, "waits");
	thread->yields = trace_take_flag(p, "yields");
	thread->dynamic = trace_take_flag(p, "dynamic");
	(void)trace_take_named(p, "rule", POLICY_RULE_COMPUTE, &rule);
	(void)trace_take_named(p, "role", POLICY_ROLE_BALANCED, &role);
	thread->rule = (uint8_t)rule;
	thread->role = (uint8_t)role;
	return p->field == p->stop && p->stop[-1] != ' ';
}

static int add_thread(struct trace_parser *p, const struct trace_point *point,
	struct trace_array *array, const struct trace_thread *thread)
{
	if (thread->run_ns > point->now_ns - p->begin_ns + LATE_NS)
		return trace_refuse(p, "damaged: more CPU time than has passed");
	p->run_ns += (double)thread->run_ns;
	struct trace_thread *out = trace_append(array, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = *thread;
	return 0;
}

static int read_thread(struct trace_parser *p, struct trace_point *point)
{
	struct trace_thread thread = {.news = POLICY_TIMES};
	char state;

	if (!trace_take_tid(p, &thread.tid) || !trace_take_cpu_or_none(p, ' ', &thread.os_cpu) ||
		!trace_take_signed(p, ' ', TRACE_NUMBER_MAX, &thread.progress_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &thread.run_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &thread.wait_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &thread.slices) ||
		!take_letter(p, "ab", &state) || !take_more(p, &thread))
		return trace_refuse(p, "a damaged thread record");
	thread.behind = state == 'b';
	point->threads++;
	return add_thread(p, point, &p->memory->thread, &thread);
}

static int read_other(struct trace_parser *p, struct trace_point *point)
{
	struct trace_thread thread = {.news = POLICY_TIMES};
	char state;

	if (!trace_take_tid(p, &thread.tid) || !trace_take_cpu_or_none(p, ' ', &thread.os_cpu) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &thread.run_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &thread.wait_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &thread.slices) ||
		!take_letter(p, "ie", &state) || !take_more(p, &thread))
		return trace_refuse(p, "a damaged other record");
	if (state == 'e')
		thread.news = POLICY_END;
	point->others++;
	return add_thread(p, point, &p->memory->other, &thread);
}

static int read_move(struct trace_parser *p, struct trace_point *point)
{
	struct trace_move move;

	if (!trace_take_tid(p, &move.tid) || !trace_take_cpu_or_none(p, ' ', &move.from) ||
		!trace_take_cpu_or_none(p, '\n', &move.to))
		return trace_refuse(p, "a damaged move record");
	bool between = move.from >= 0 && move.to >= 0;
	struct trace_move *out =
		trace_append(between ? &p->memory->move : &p->memory->change, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = move;
	point->moves += between;
	point->changes += !between;
	return 0;
}

static int read_handover(struct trace_parser *p, struct trace_point *point)
{
	struct trace_handover handover;

	if (!trace_take_tid(p, &handover.tid) || !trace_take_domain(p, '\n', &handover.domain))
		return trace_refuse(p, "a damaged handover record");
	struct trace_handover *out = trace_append(&p->memory->handover, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = handover;
	point->handovers++;
	return 0;
}

static int read_slices(struct trace_parser *p, struct trace_point *point)
{
	point->slices_changed = true;
	point->short_slices = trace_take_flag(p, "short");
	if ((!point->short_slices && !trace_take_flag(p, "default")) || p->field != p->stop ||
		p->stop[-1] == ' ')
		return trace_refuse(p, "a damaged slice record");
	return 0;
}

static int read_beside(struct trace_parser *p, struct trace_point *point)
{
	uint64_t threads;

	if (!trace_take_number(p, '\n', UINT32_MAX, &threads))
		return trace_refuse(p, "a damaged count of threads");
	point->beside_changed = true;
	point->beside = (uint32_t)threads;
	return 0;
}

/* Numbers of threads. */
static int read_counts(struct trace_parser *p, struct trace_array *array, size_t most, size_t *n)
{
	int64_t threads;

	do {
		if (!trace_take_item(p, UINT32_MAX, &threads) || threads < 0 || *n == most)
			return trace_refuse(p, "a damaged list of counts");
		uint32_t *out = trace_append(array, sizeof(*out));
		if (out == NULL)
			return -ENOMEM;
		*out = (uint32_t)threads;
		++*n;
	} while (p->field < p->stop);
	return 0;
}

/* A reason is stored once for as long as it does not change. */
static int take_reason(struct trace_parser *p, struct trace_point *point)
{
	struct trace_last *last = &p->last[point->domain];
	size_t bytes = (size_t)(p->stop - p->field);
	bool same = last->reason != NULL && strlen(last->reason) == bytes &&
		    memcmp(last->reason, p->field, bytes) == 0;

	if (!same) {
		int r = trace_take_rest(p, &point->reason);
		if (r < 0)
			return r;
	} else {
		point->reason = last->reason;
	}
	if (same && last->balance == point->balance)
		return 0;
	last->balance = point->balance;
	last->reason = point->reason;
	struct trace_regime *out = trace_append(&p->memory->regime, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = (struct trace_regime){.now_ns = point->now_ns,
		.domain = point->domain,
		.balance = point->balance,
		.reason = point->reason};
	return 0;
}

static int read_decision(struct trace_parser *p, struct trace_point *point)
{
	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &point->period_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &point->wait_ns) ||
		!trace_take_number(p, ' ', TRACE_OS_CPU_MAX, &point->ticks))
		return trace_refuse(p, "a damaged decide record");
	point->balance = trace_take_word(p, "balance");
	if (!point->balance && !trace_take_word(p, "aside"))
		return trace_refuse(p, "a damaged decide record");
	return take_reason(p, point);
}

static int read_line(struct trace_parser *p, struct trace_point *point)
{
	if (trace_take_word(p, "thread"))
		return read_thread(p, point);
	if (trace_take_word(p, "other"))
		return read_other(p, point);
	if (trace_take_word(p, "new"))
		return read_newcomer(p, point);
	if (trace_take_word(p, "move"))
		return read_move(p, point);
	if (trace_take_word(p, "handover"))
		return read_handover(p, point);
	if (trace_take_word(p, "slice"))
		return read_slices(p, point);
	if (trace_take_word(p, "domains"))
		return read_counts(p, &p->memory->load, TRACE_DOMAINS_MAX, &point->loads);
	if (trace_take_word(p, "neighbours"))
		return read_counts(
			p, &p->memory->neighbours, TRACE_OS_CPU_MAX + 1, &point->neighbour_cpus);
	if (trace_take_word(p, "beside"))
		return read_beside(p, point);
	if (trace_take_word(p, "stolen"))
		return read_counts(
			p, &p->memory->stolen, TRACE_OS_CPU_MAX + 1, &point->stolen_cpus);
	if (trace_take_word(p, "ticked"))
		return read_counts(
			p, &p->memory->ticked, TRACE_OS_CPU_MAX + 1, &point->ticked_cpus);
	return trace_refuse(p, "a point with fewer lines than it announces");
}

static bool take_flags(struct trace_parser *p, struct trace_point *point)
{
	point->may_hand_over = trace_take_flag(p, "all,open");
	point->members = point->may_hand_over || trace_take_flag(p, "all");
	if (!point->members && !trace_take_flag(p, "some"))
		return false;
	point->rung = trace_take_flag(p, "rung");
	(void)trace_take_named(p, "cost", TRACE_NUMBER_MAX, &point->cost_ns);
	return p->field == p->stop && p->stop[-1] != ' ';
}

int trace_read_point(struct trace_parser *p)
{
	struct trace_point point = {0};
	uint64_t lines;

	if (!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &point.now_ns) ||
		!trace_take_domain(p, ' ', &point.domain) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &point.elapsed_ns) ||
		!trace_take_number(p, ' ', TRACE_NUMBER_MAX, &lines) || lines == 0 ||
		!take_flags(p, &point))
		return trace_refuse(p, "a damaged point record");
	if (point.now_ns < p->last[point.domain].now_ns)
		return trace_refuse(p, "a point that is earlier than the one before");
	p->last[point.domain].now_ns = point.now_ns;
	p->begin_ns = point.now_ns < p->begin_ns ? point.now_ns : p->begin_ns;
	p->end_ns = point.now_ns > p->end_ns ? point.now_ns : p->end_ns;
	for (; lines > 1; lines--) {
		if (!trace_next_line(p))
			return 1; /* the items that were read belong to no point */
		int r = read_line(p, &point);
		if (r < 0)
			return r;
	}
	if (!trace_next_line(p))
		return 1;
	if (!trace_take_word(p, "decide"))
		return trace_refuse(p, "a point without its decision");
	int r = read_decision(p, &point);
	if (r < 0)
		return r;
	struct trace_point *out = trace_append(&p->memory->point, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	*out = point;
	return 0;
}
