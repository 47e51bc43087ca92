// SPDX-License-Identifier: MIT
/*
 * The keeper's state machine: every event in every relevant state, as tables; and random histories,
 * with invariants checked after each step.
 */
#undef NDEBUG
#include "daemon/keeper/state.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MS_NS UINT64_C(1000000)
#define START_MS 5000 /* any time */

enum { KEEPER = 100, BALANCER = 101, COMMAND = 102, OTHER = 7, ORPHAN = 300 };

/* ---- Events ---- */

/* The status that waitpid() returns for a child. */
static int exited(int code)
{
	return code << 8;
}

static int killed(int number)
{
	return number;
}

static int stopped(int number)
{
	return number << 8 | 0x7f;
}

enum { CONTINUED = 0xffff, CORE_DUMPED = 0x80 };

static struct keeper_event child(pid_t pid, int wait_status)
{
	return (struct keeper_event){
		.kind = KEEPER_EVENT_CHILD, .pid = pid, .wait_status = wait_status};
}

static struct keeper_event sent(int number, int code, pid_t sender)
{
	return (struct keeper_event){
		.kind = KEEPER_EVENT_SIGNAL, .signal = number, .code = code, .pid = sender};
}

static struct keeper_event no_job(void)
{
	return (struct keeper_event){.kind = KEEPER_EVENT_NO_JOB};
}

static struct keeper_event passing(void)
{
	return (struct keeper_event){.kind = KEEPER_EVENT_TIME};
}

static struct keeper_event passing_with(enum keeper_load load)
{
	return (struct keeper_event){.kind = KEEPER_EVENT_TIME, .load = load};
}

static struct keeper_state starting(void)
{
	return (struct keeper_state){.keeper = KEEPER,
		.command = COMMAND,
		.phase = KEEPER_STARTING,
		.deadline_ns = (START_MS + KEEPER_SOON_MS) * MS_NS,
		.start_ns = START_MS * MS_NS};
}

static struct keeper_state wrapping(void)
{
	return (struct keeper_state){.keeper = KEEPER,
		.balancer = BALANCER,
		.command = COMMAND,
		.phase = KEEPER_WATCHING};
}

static struct keeper_state attaching(void)
{
	return (struct keeper_state){
		.keeper = KEEPER, .balancer = BALANCER, .attached = true, .phase = KEEPER_WATCHING};
}

/* ---- Actions ---- */

static const struct keeper_actions nothing,
	reap = {.reap = true}, stop = {.stop = true}, pass_on = {.pass_on = SIGUSR1},
	begin = {.start_balancer = true}, finish = {.close_control = true},
	kill_it = {.kill_balancer = true}, restore = {.restore = true},
	restore_after_kill = {.restore = true, .balancer_signal = SIGKILL};

static bool same(const struct keeper_actions *a, const struct keeper_actions *b)
{
	return a->reap == b->reap && a->pass_on == b->pass_on && a->stop == b->stop &&
	       a->start_balancer == b->start_balancer && a->close_control == b->close_control &&
	       a->kill_balancer == b->kill_balancer && a->restore == b->restore &&
	       a->balancer_signal == b->balancer_signal;
}

/* ---- Histories of a wrapped command and of an attached process ---- */

struct moment {
	int ms; /* since the start */
	struct keeper_event event;
	struct keeper_actions expected;
	enum keeper_phase phase; /* afterwards */
};

static void play(const char *name, struct keeper_state state, const struct moment *moment,
	size_t count, int exit_status)
{
	for (size_t i = 0; i < count; i++) {
		struct keeper_event event = moment[i].event;
		event.now_ns = (uint64_t)(START_MS + moment[i].ms) * MS_NS;
		struct keeper_actions actions = keeper_state_step(&state, &event);
		if (!same(&actions, &moment[i].expected))
			fail_msg("%s: other actions at event %zu", name, i);
		if (state.phase != moment[i].phase)
			fail_msg("%s: phase %d after event %zu", name, (int)state.phase, i);
	}
	assert_int_equal(keeper_state_exit_status(&state), exit_status);
}

#define PLAY(name, state, exit_status, ...)                                                        \
	do {                                                                                       \
		const struct moment moments[] = {__VA_ARGS__};                                     \
		play(name, state, moments, COUNT(moments), exit_status);                           \
	} while (0)

enum {
	SOON = KEEPER_SOON_MS,
	LATEST = KEEPER_LATEST_MS,
	LOOK = KEEPER_LOOK_MS,
	FINISH = KEEPER_FINISH_MS,
	KILL = KEEPER_KILL_MS
};

static void test_command_begins(void **unused)
{
	(void)unused;
	PLAY("it ends soon", starting(), 7, {SOON - 1, passing(), nothing, KEEPER_STARTING},
		{SOON - 1, child(COMMAND, exited(7)), finish, KEEPER_OVER});
	PLAY("it does not", starting(), 0,
		{SOON - 1, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + LOOK - 1, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + LOOK, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 2 * LOOK - 1, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 2 * LOOK, passing_with(KEEPER_MORE), begin, KEEPER_WATCHING},
		{SOON + 9 * LOOK, passing_with(KEEPER_MORE), nothing, KEEPER_WATCHING});
	PLAY("the load is unknown", starting(), 0, {SOON, passing(), begin, KEEPER_WATCHING});
	PLAY("CPUs are idle", starting(), 0,
		{SOON, passing_with(KEEPER_FEWER), nothing, KEEPER_STARTING},
		{SOON + LOOK, passing_with(KEEPER_FEWER), nothing, KEEPER_STARTING},
		{SOON + 3 * LOOK, passing_with(KEEPER_FEWER), nothing, KEEPER_STARTING},
		{SOON + 6 * LOOK, passing_with(KEEPER_FEWER), nothing, KEEPER_STARTING},
		{SOON + KEEPER_LOOKS_MS, passing_with(KEEPER_FEWER), begin, KEEPER_WATCHING});
	PLAY("CPUs are idle for moments", starting(), 0,
		{SOON, passing_with(KEEPER_FEWER), nothing, KEEPER_STARTING},
		{SOON + LOOK, passing_with(KEEPER_FEWER), nothing, KEEPER_STARTING},
		{SOON + KEEPER_LOOKS_MS - 1, passing_with(KEEPER_EVEN), nothing, KEEPER_STARTING},
		{SOON + KEEPER_LOOKS_MS + LOOK, passing_with(KEEPER_FEWER), nothing,
			KEEPER_STARTING},
		{SOON + KEEPER_LOOKS_MS + 2 * LOOK, passing_with(KEEPER_EVEN), nothing,
			KEEPER_STARTING},
		{SOON + KEEPER_LOOKS_MS + 4 * LOOK - 1, passing_with(KEEPER_FEWER), nothing,
			KEEPER_STARTING},
		{SOON + KEEPER_LOOKS_MS + 4 * LOOK, passing_with(KEEPER_FEWER), nothing,
			KEEPER_STARTING},
		{LATEST - 1, passing_with(KEEPER_EVEN), nothing, KEEPER_STARTING},
		{LATEST + LOOK, passing_with(KEEPER_EVEN), begin, KEEPER_WATCHING});
	PLAY("some of more threads wait for moments", starting(), 0,
		{SOON, passing_with(KEEPER_EVEN), nothing, KEEPER_STARTING},
		{SOON + LOOK, passing_with(KEEPER_EVEN), nothing, KEEPER_STARTING},
		{SOON + 3 * LOOK - 1, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 3 * LOOK, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 4 * LOOK, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 5 * LOOK, passing_with(KEEPER_EVEN), nothing, KEEPER_STARTING},
		{SOON + 6 * LOOK, passing_with(KEEPER_MORE), begin, KEEPER_WATCHING});
	PLAY("more threads come now and then", starting(), 0,
		{SOON, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + LOOK, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + KEEPER_LOOKS_MS + 1, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 2 * KEEPER_LOOKS_MS, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 3 * KEEPER_LOOKS_MS, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 3 * KEEPER_LOOKS_MS + LOOK, passing_with(KEEPER_MORE), nothing,
			KEEPER_STARTING},
		{SOON + 3 * KEEPER_LOOKS_MS + 2 * LOOK, passing_with(KEEPER_MORE), begin,
			KEEPER_WATCHING});
	PLAY("no balancer can start", starting(), 7,
		{SOON, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + LOOK, passing_with(KEEPER_MORE), nothing, KEEPER_STARTING},
		{SOON + 2 * LOOK, passing_with(KEEPER_MORE), begin, KEEPER_WATCHING},
		{SOON + FINISH, passing(), nothing, KEEPER_WATCHING},
		{SOON + FINISH, child(COMMAND, exited(7)), finish, KEEPER_OVER});
	PLAY("signals come", starting(), 128 + SIGUSR1,
		{0, sent(SIGUSR1, SI_USER, OTHER), pass_on, KEEPER_STARTING},
		{1, child(COMMAND, stopped(SIGTSTP)), stop, KEEPER_STARTING},
		{2, sent(SIGCHLD, SI_USER, OTHER), reap, KEEPER_STARTING},
		{3, child(COMMAND, killed(SIGUSR1)), finish, KEEPER_OVER});
}

/* Returns the pause that follows a look, in ms; 0 once the balancer begins. */
static int pause_after(struct keeper_state *state, enum keeper_load load)
{
	struct keeper_event event = passing_with(load);

	event.now_ns = state->deadline_ns;
	return keeper_state_step(state, &event).start_balancer
		       ? 0
		       : keeper_state_wait_ms(state, event.now_ns);
}

/* A machine that runs as many threads as it has CPUs is looked at more and more rarely. */
static void test_even(void **unused)
{
	const int first[] = {5, 10, 20, 40, 80, 35 /* it is young no more */, 160};
	struct keeper_state state = starting();
	int pause, looks = COUNT(first) + 1;
	(void)unused;

	for (size_t i = 0; i < COUNT(first); i++)
		assert_int_equal(pause_after(&state, KEEPER_EVEN), first[i]);
	for (; (pause = pause_after(&state, KEEPER_EVEN)) > 0; looks++)
		assert_true(pause <= 160);
	assert_int_equal(looks, 31);
	assert_int_equal(state.deadline_ns, (START_MS + LATEST) * MS_NS);
}

static void test_pauses(void **unused)
{
	struct keeper_state state = starting();
	(void)unused;

	assert_int_equal(pause_after(&state, KEEPER_EVEN), 5);
	assert_int_equal(pause_after(&state, KEEPER_EVEN), 10);
	assert_int_equal(pause_after(&state, KEEPER_FEWER), 5);
	assert_int_equal(pause_after(&state, KEEPER_EVEN), 20);
	assert_int_equal(pause_after(&state, KEEPER_MORE), 5);
	assert_int_equal(pause_after(&state, KEEPER_EVEN), 5);
	state.deadline_ns = (START_MS + KEEPER_SPEEDS_MS - 1) * MS_NS;
	pause_after(&state, KEEPER_EVEN);
	assert_int_equal(state.deadline_ns, (START_MS + KEEPER_SPEEDS_MS) * MS_NS);
}

/* Of a machine with two CPUs. */
static struct keeper_sight sight_of(int running, struct told_outline told)
{
	return (struct keeper_sight){
		.running = running, .online = 2, .usable = 2, .at_a_time = 2, .told = told};
}

static struct keeper_sight young_sight_of(int running, struct told_outline told)
{
	struct keeper_sight sight = sight_of(running, told);

	sight.young = true;
	return sight;
}

static void test_load(void **unused)
{
	const struct told_outline none = {0}, dynamic = {.threads = 3, .dynamic = true},
				  even = {.threads = 4, .sleep = true, .alike = true},
				  odd = {.threads = 3, .sleep = true, .alike = true},
				  yield = {.threads = 4, .yield = true, .alike = true},
				  spin = {.threads = 4, .alike = true},
				  differ = {.threads = 4, .sleep = true};
	const struct {
		int running, online, usable;
		struct told_outline told;
		enum keeper_load expected;
	} cases[] = {
		{1, 2, 2, none, KEEPER_FEWER},
		{2, 2, 2, none, KEEPER_EVEN},
		{3, 2, 2, none, KEEPER_MORE},
		{0, 1, 1, none, KEEPER_EVEN},
		{2, 1, 1, none, KEEPER_EVEN},
		{64, 64, 64, none, KEEPER_EVEN},
		{2, 64, 2, none, KEEPER_UNKNOWN},
		{64, 64, 2, none, KEEPER_UNKNOWN},
		{-1, 2, 2, none, KEEPER_UNKNOWN},
		{-1, -1, -1, none, KEEPER_UNKNOWN},
		{2, -1, 2, none, KEEPER_UNKNOWN},
		{3, 2, 2, dynamic, KEEPER_EVEN},
		{4, 2, 2, dynamic, KEEPER_MORE},
		{1, 2, 2, dynamic, KEEPER_FEWER},
		{-1, 2, 2, dynamic, KEEPER_UNKNOWN},
		{3, 2, 2, even, KEEPER_EVEN},
		{4, 2, 2, even, KEEPER_EVEN},
		{5, 2, 2, even, KEEPER_MORE},
		{4, 3, 3, even, KEEPER_MORE},
		{3, 2, 2, odd, KEEPER_MORE},
		{4, 2, 2, yield, KEEPER_EVEN},
		{3, 2, 2, yield, KEEPER_MORE},
		{5, 2, 2, yield, KEEPER_MORE},
		{4, 2, 2, spin, KEEPER_MORE},
		{4, 2, 2, differ, KEEPER_MORE},
	};
	(void)unused;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct keeper_sight sight = sight_of(cases[i].running, cases[i].told);
		sight.online = cases[i].online;
		sight.usable = sight.at_a_time = cases[i].usable;
		assert_int_equal(keeper_load_of(&sight), cases[i].expected);
	}
}

/* What makes the balancer begin whatever the load. */
static void test_load_matters_not(void **unused)
{
	const struct told_outline none = {0};
	struct keeper_sight wanted = sight_of(2, none), differ = wanted, publishes = wanted,
			    quota = wanted, one_cpu = wanted;
	(void)unused;

	wanted.wanted = differ.speeds_differ = publishes.publishes = true;
	quota.at_a_time = 1;
	one_cpu.usable = one_cpu.at_a_time = 1;
	assert_int_equal(keeper_load_of(&wanted), KEEPER_UNKNOWN);
	assert_int_equal(keeper_load_of(&differ), KEEPER_UNKNOWN);
	assert_int_equal(keeper_load_of(&publishes), KEEPER_UNKNOWN);
	assert_int_equal(keeper_load_of(&quota), KEEPER_UNKNOWN);
	assert_int_equal(keeper_load_of(&one_cpu), KEEPER_EVEN);
	one_cpu.publishes = true;
	assert_int_equal(keeper_load_of(&one_cpu), KEEPER_UNKNOWN);
}

static void test_rest(void **unused)
{
	const struct told_outline none = {0}, dynamic = {.threads = 3, .dynamic = true};
	struct keeper_sight even = sight_of(2, none), more = sight_of(3, dynamic), few = even;
	(void)unused;

	few.usable = few.at_a_time = 1;
	assert_true(keeper_lets_rest(&even));
	assert_false(keeper_lets_rest(&more));
	assert_false(keeper_lets_rest(&few));
}

/* Where little is told yet, a multiple of the CPUs is hoped to need no turns. */
static void test_load_of_young(void **unused)
{
	const struct told_outline nothing_tells = {0}, none = {.early = true},
				  some = {.threads = 3, .early = true},
				  all = {.threads = 4, .early = true},
				  spin = {.threads = 4, .alike = true};
	const struct {
		int running;
		struct told_outline told;
		enum keeper_load expected;
	} cases[] = {
		{4, nothing_tells, KEEPER_MORE},
		{4, none, KEEPER_EVEN},
		{3, none, KEEPER_MORE},
		{1, none, KEEPER_FEWER},
		{-1, none, KEEPER_UNKNOWN},
		{4, some, KEEPER_MORE},
		{3, some, KEEPER_MORE},
		{4, all, KEEPER_EVEN},
		{3, all, KEEPER_MORE},
		{4, spin, KEEPER_MORE},
	};
	(void)unused;

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct keeper_sight sight = young_sight_of(cases[i].running, cases[i].told);
		assert_int_equal(keeper_load_of(&sight), cases[i].expected);
	}
	const struct keeper_sight old = sight_of(4, none);
	assert_int_equal(keeper_load_of(&old), KEEPER_MORE);
}

static void test_command_ends(void **unused)
{
	(void)unused;
	PLAY("it exits", wrapping(), 7, {0, child(COMMAND, exited(7)), finish, KEEPER_FINISHING},
		{9, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
	PLAY("it exits with 0", wrapping(), 0,
		{0, child(COMMAND, exited(0)), finish, KEEPER_FINISHING},
		{9, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
	PLAY("it is killed", wrapping(), 128 + SIGTERM,
		{0, child(COMMAND, killed(SIGTERM)), finish, KEEPER_FINISHING},
		{9, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
	PLAY("it dumps core", wrapping(), 128 + SIGSEGV,
		{0, child(COMMAND, killed(SIGSEGV | CORE_DUMPED)), finish, KEEPER_FINISHING},
		{9, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
	PLAY("its exit status looks like that of a signal", wrapping(), 128 + SIGTERM,
		{0, child(COMMAND, exited(128 + SIGTERM)), finish, KEEPER_FINISHING});

	struct keeper_state none = wrapping(), neither = starting();
	none.command = neither.command = 0;
	PLAY("it could not start", none, 0, {0, no_job(), finish, KEEPER_FINISHING},
		{9, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
	PLAY("it could not start, before the balancer", neither, 0,
		{0, no_job(), finish, KEEPER_OVER});
}

static void test_command_stops(void **unused)
{
	(void)unused;
	PLAY("and goes on", wrapping(), 3,
		{0, child(COMMAND, stopped(SIGTSTP)), stop, KEEPER_WATCHING},
		{1, child(COMMAND, CONTINUED), nothing, KEEPER_WATCHING},
		{2, child(COMMAND, stopped(SIGTTIN)), stop, KEEPER_WATCHING},
		{3, child(COMMAND, stopped(SIGTTOU)), stop, KEEPER_WATCHING},
		{4, child(COMMAND, exited(3)), finish, KEEPER_FINISHING});
	PLAY("alone", wrapping(), 128 + SIGKILL,
		{0, child(COMMAND, stopped(SIGSTOP)), nothing, KEEPER_WATCHING},
		{1, child(COMMAND, CONTINUED), nothing, KEEPER_WATCHING},
		{2, child(COMMAND, stopped(SIGSTOP)), nothing, KEEPER_WATCHING},
		{3, child(COMMAND, killed(SIGKILL)), finish, KEEPER_FINISHING});
}

static void test_balancer_ends_early(void **unused)
{
	(void)unused;
	PLAY("in good order", wrapping(), 5,
		{0, child(BALANCER, exited(0)), nothing, KEEPER_WATCHING},
		{1, passing(), nothing, KEEPER_WATCHING},
		{9, child(COMMAND, exited(5)), finish, KEEPER_OVER});
	PLAY("it fails", wrapping(), 5, {0, child(BALANCER, exited(125)), restore, KEEPER_WATCHING},
		{9, child(COMMAND, exited(5)), finish, KEEPER_OVER});
	PLAY("it is killed", wrapping(), 5,
		{0, child(BALANCER, killed(SIGKILL)), restore_after_kill, KEEPER_WATCHING},
		{1, child(BALANCER, killed(SIGKILL)), nothing, KEEPER_WATCHING},
		{9, child(COMMAND, exited(5)), finish, KEEPER_OVER},
		{10, passing(), nothing, KEEPER_OVER});
	PLAY("it crashes", wrapping(), 5,
		{0, child(BALANCER, killed(SIGSEGV | CORE_DUMPED)),
			{.restore = true, .balancer_signal = SIGSEGV}, KEEPER_WATCHING},
		{9, child(COMMAND, exited(5)), finish, KEEPER_OVER});
	PLAY("it is stopped and goes on", wrapping(), 5,
		{0, child(BALANCER, stopped(SIGSTOP)), nothing, KEEPER_WATCHING},
		{1, child(BALANCER, stopped(SIGTSTP)), nothing, KEEPER_WATCHING},
		{2, child(BALANCER, CONTINUED), nothing, KEEPER_WATCHING},
		{3, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{4, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
}

static void test_balancer_at_the_end(void **unused)
{
	(void)unused;
	PLAY("it fails", wrapping(), 5, {0, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{9, child(BALANCER, exited(1)), restore, KEEPER_OVER});
	PLAY("somebody kills it", wrapping(), 5,
		{0, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{9, child(BALANCER, killed(SIGKILL)), restore_after_kill, KEEPER_OVER});
	PLAY("it takes all the time that it has", wrapping(), 5,
		{20, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{20 + FINISH - 1, passing(), nothing, KEEPER_FINISHING},
		{20 + FINISH - 1, child(BALANCER, exited(0)), nothing, KEEPER_OVER},
		{20 + FINISH, passing(), nothing, KEEPER_OVER});
	PLAY("it hangs", wrapping(), 5, {20, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{20 + FINISH, passing(), kill_it, KEEPER_KILLING},
		{21 + FINISH, passing(), nothing, KEEPER_KILLING},
		{22 + FINISH, child(BALANCER, killed(SIGKILL)), restore_after_kill, KEEPER_OVER});
	PLAY("it finishes just before it is killed", wrapping(), 5,
		{20, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{20 + FINISH, passing(), kill_it, KEEPER_KILLING},
		{21 + FINISH, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
	PLAY("it cannot even be killed", wrapping(), 5,
		{0, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{FINISH, passing(), kill_it, KEEPER_KILLING},
		{FINISH + KILL - 1, passing(), nothing, KEEPER_KILLING},
		{FINISH + KILL, passing(), restore_after_kill, KEEPER_OVER},
		{FINISH + KILL, passing(), nothing, KEEPER_OVER},
		{FINISH + KILL, child(BALANCER, killed(SIGKILL)), nothing, KEEPER_OVER});
	PLAY("juggle itself was stopped for long", wrapping(), 5,
		{0, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{100 * FINISH, passing(), kill_it, KEEPER_KILLING},
		{100 * FINISH + KILL - 1, passing(), nothing, KEEPER_KILLING},
		{100 * FINISH + KILL, passing(), restore_after_kill, KEEPER_OVER});
}

/* The keeper is a subreaper: it reaps orphans of the job. */
static void test_orphans(void **unused)
{
	(void)unused;
	PLAY("beside the command", wrapping(), 5,
		{0, child(ORPHAN, exited(1)), nothing, KEEPER_WATCHING},
		{1, child(ORPHAN, killed(SIGKILL)), nothing, KEEPER_WATCHING},
		{2, child(ORPHAN, stopped(SIGTSTP)), nothing, KEEPER_WATCHING},
		{3, child(COMMAND, exited(5)), finish, KEEPER_FINISHING},
		{4, child(ORPHAN, exited(6)), nothing, KEEPER_FINISHING},
		{5, child(COMMAND, exited(6)), nothing, KEEPER_FINISHING}, /* its pid, reused */
		{6, child(BALANCER, exited(0)), nothing, KEEPER_OVER},
		{7, child(BALANCER, exited(1)), nothing, KEEPER_OVER});
}

static void test_attached(void **unused)
{
	const struct keeper_event interrupt = sent(SIGINT, SI_KERNEL, 0);
	(void)unused;

	PLAY("the process ends", attaching(), 0, {0, no_job(), finish, KEEPER_FINISHING},
		{9, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
	PLAY("juggle detaches", attaching(), 0, {0, interrupt, finish, KEEPER_FINISHING},
		{1, interrupt, nothing, KEEPER_FINISHING}, {2, no_job(), nothing, KEEPER_FINISHING},
		{9, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
	PLAY("nothing is left to balance", attaching(), 0,
		{0, child(BALANCER, exited(0)), finish, KEEPER_OVER},
		{1, no_job(), nothing, KEEPER_OVER});
	PLAY("the balancer is killed", attaching(), 0,
		{0, child(BALANCER, killed(SIGKILL)), restore_after_kill, KEEPER_WATCHING},
		{1, sent(SIGUSR1, SI_USER, OTHER), nothing, KEEPER_WATCHING},
		{9, interrupt, finish, KEEPER_OVER});
	PLAY("the balancer fails", attaching(), 0,
		{0, child(BALANCER, exited(125)), restore, KEEPER_WATCHING},
		{9, no_job(), finish, KEEPER_OVER});
	PLAY("the balancer hangs", attaching(), 0, {0, no_job(), finish, KEEPER_FINISHING},
		{FINISH, passing(), kill_it, KEEPER_KILLING},
		{FINISH + 1, interrupt, nothing, KEEPER_KILLING},
		{FINISH + KILL, passing(), restore_after_kill, KEEPER_OVER});
	PLAY("Ctrl-Z at the end", attaching(), 0, {0, interrupt, finish, KEEPER_FINISHING},
		{1, sent(SIGTSTP, SI_KERNEL, 0), stop, KEEPER_FINISHING},
		{9, child(BALANCER, exited(0)), nothing, KEEPER_OVER});
}

/* ---- Signals ---- */

static void test_signals_of_a_command(void **unused)
{
	static const struct {
		const char *name;
		int number, code;
		pid_t sender;
		int passed_on, passed_on_by_leader;
	} cases[] = {
		{"kill", SIGTERM, SI_USER, OTHER, SIGTERM, SIGTERM},
		{"of another pid namespace", SIGTERM, SI_USER, 0, SIGTERM, SIGTERM},
		{"sigqueue", SIGUSR1, SI_QUEUE, OTHER, SIGUSR1, SIGUSR1},
		{"tgkill", SIGUSR2, SI_TKILL, OTHER, SIGUSR2, SIGUSR2},
		{"a timer's", SIGALRM, SI_TIMER, 0, SIGALRM, SIGALRM},
		{"real-time", 40, SI_QUEUE, OTHER, 40, 40},
		{"to stop", SIGTSTP, SI_USER, OTHER, SIGTSTP, SIGTSTP},
		{"to continue", SIGCONT, SI_USER, OTHER, SIGCONT, SIGCONT},
		{"of the balancer", SIGUSR1, SI_USER, BALANCER, SIGUSR1, SIGUSR1},
		{"Ctrl-C", SIGINT, SI_KERNEL, 0, 0, 0},
		{"Ctrl-Z", SIGTSTP, SI_KERNEL, 0, 0, 0},
		{"window size", SIGWINCH, SI_KERNEL, 0, 0, 0},
		{"hang-up", SIGHUP, SI_KERNEL, 0, 0, SIGHUP},
		{"continue after it", SIGCONT, SI_KERNEL, 0, 0, SIGCONT},
		{"of the command to its group", SIGTERM, SI_USER, COMMAND, 0, 0},
		{"our own", SIGPIPE, SI_USER, KEEPER, 0, 0},
	};
	(void)unused;

	for (size_t i = 0; i < COUNT(cases); i++) {
		for (unsigned variant = 0; variant < 4; variant++) {
			struct keeper_state state = wrapping();
			struct keeper_event event =
				sent(cases[i].number, cases[i].code, cases[i].sender);
			event.ignored = variant & 1; /* the command must handle it */
			state.leads_session = variant & 2;
			const struct keeper_actions expected = {
				.pass_on = state.leads_session ? cases[i].passed_on_by_leader
							       : cases[i].passed_on};
			PLAY(cases[i].name, state, 0, {0, event, expected, KEEPER_WATCHING},
				{1, child(COMMAND, exited(0)), finish, KEEPER_FINISHING},
				{2, event, nothing, KEEPER_FINISHING},
				{FINISH + 1, passing(), kill_it, KEEPER_KILLING},
				{FINISH + 2, event, nothing, KEEPER_KILLING},
				{FINISH + 3, child(BALANCER, exited(0)), nothing, KEEPER_OVER},
				{FINISH + 4, event, nothing, KEEPER_OVER});
		}
	}
}

static void test_signals_of_an_attached_juggle(void **unused)
{
	static const struct {
		int number;
		bool detaches, stops;
	} cases[] = {
		{SIGINT, true, false},
		{SIGTERM, true, false},
		{SIGHUP, true, false},
		{SIGQUIT, true, false},
		{SIGTSTP, false, true},
		{SIGTTIN, false, true},
		{SIGTTOU, false, true},
		{SIGUSR1, false, false},
		{SIGUSR2, false, false},
		{SIGPIPE, false, false},
		{SIGALRM, false, false},
		{SIGCONT, false, false},
		{SIGWINCH, false, false},
		{40, false, false},
	};
	static const struct {
		int code;
		pid_t sender;
	} sources[] = {{SI_KERNEL, 0}, {SI_USER, OTHER}, {SI_USER, KEEPER}, {SI_QUEUE, 0}};
	(void)unused;

	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t k = 0; k < COUNT(sources); k++) {
			struct keeper_event event =
				sent(cases[i].number, sources[k].code, sources[k].sender);
			const struct keeper_actions expected = {
				.close_control = cases[i].detaches, .stop = cases[i].stops};
			PLAY(strsignal(cases[i].number), attaching(), 0,
				{0, event, expected,
					cases[i].detaches ? KEEPER_FINISHING : KEEPER_WATCHING});
			event.ignored = true;
			PLAY(strsignal(cases[i].number), attaching(), 0,
				{0, event, nothing, KEEPER_WATCHING});
		}
	}
}

/* SIGCHLD belongs to the keeper, whoever sends it, in every phase. */
static void test_sigchld(void **unused)
{
	static const int codes[] = {CLD_EXITED, CLD_KILLED, CLD_STOPPED, CLD_CONTINUED, SI_USER};
	(void)unused;

	for (size_t i = 0; i < COUNT(codes); i++) {
		for (int attached = 0; attached < 2; attached++) {
			struct keeper_event event = sent(SIGCHLD, codes[i], OTHER);
			event.ignored = i % 2 == 0;
			PLAY("SIGCHLD", attached ? attaching() : wrapping(), 0,
				{0, event, reap, KEEPER_WATCHING},
				{1, no_job(), finish, KEEPER_FINISHING},
				{2, event, reap, KEEPER_FINISHING},
				{FINISH + 1, passing(), kill_it, KEEPER_KILLING},
				{FINISH + 2, event, reap, KEEPER_KILLING});
		}
	}
}

/* ---- Time ---- */

static void test_wait(void **unused)
{
	static const struct {
		enum keeper_phase phase;
		int64_t left_ns;
		int expected_ms;
	} cases[] = {
		{KEEPER_STARTING, 9000001, 10},
		{KEEPER_STARTING, 0, 0},
		{KEEPER_WATCHING, 0, -1},
		{KEEPER_WATCHING, 1000000, -1},
		{KEEPER_FINISHING, 3000000000, 3000},
		{KEEPER_FINISHING, 2999999999, 3000},
		{KEEPER_FINISHING, 1000001, 2},
		{KEEPER_FINISHING, 1000000, 1},
		{KEEPER_KILLING, 1, 1}, /* 0 would poll in a busy loop */
		{KEEPER_KILLING, 0, 0},
		{KEEPER_KILLING, -1, 0},
		{KEEPER_FINISHING, -3000000000, 0},
		{KEEPER_OVER, 5000000, 0},
	};
	(void)unused;

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t now_ns = START_MS * MS_NS;
		struct keeper_state state = wrapping();
		state.phase = cases[i].phase;
		state.deadline_ns = now_ns + (uint64_t)cases[i].left_ns;
		assert_int_equal(keeper_state_wait_ms(&state, now_ns), cases[i].expected_ms);
	}
}

static void test_wait_for_the_limits(void **unused)
{
	struct keeper_state state = wrapping();
	struct keeper_event event = child(COMMAND, exited(0));
	(void)unused;

	event.now_ns = START_MS * MS_NS;
	assert_int_equal(keeper_state_wait_ms(&state, event.now_ns), -1);
	keeper_state_step(&state, &event);
	assert_int_equal(keeper_state_wait_ms(&state, event.now_ns), KEEPER_FINISH_MS);
	event = passing();
	event.now_ns = (START_MS + KEEPER_FINISH_MS) * MS_NS;
	keeper_state_step(&state, &event);
	assert_int_equal(keeper_state_wait_ms(&state, event.now_ns), KEEPER_KILL_MS);
	event.now_ns += KEEPER_KILL_MS * MS_NS;
	keeper_state_step(&state, &event);
	assert_int_equal(keeper_state_wait_ms(&state, event.now_ns), 0);
}

/* ---- Random histories ---- */

/* The true state, beside what the keeper knows. */
struct world {
	struct keeper_state keeper;
	uint64_t random, now_ns;
	uint64_t job_end_ns; /* 0: it is running */
	bool command_lives, balancer_lives, process_lives;
	bool balancer_lost; /* it died abnormally, or was given up */
	int begun, closed, kills, restores;
	int command_status;
};

static uint64_t draw(struct world *w, uint64_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random % below;
}

static bool is_stop(int number)
{
	return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* Check the actions that an event may cause. `before` is the keeper's state before it. */
static void check_actions(const struct world *w, const struct keeper_state *before,
	const struct keeper_event *event, const struct keeper_actions *actions)
{
	bool is_signal = event->kind == KEEPER_EVENT_SIGNAL;
	bool is_child = event->kind == KEEPER_EVENT_CHILD;

	assert_int_equal(actions->reap, is_signal && event->signal == SIGCHLD);
	if (actions->pass_on != 0) {
		assert_true(is_signal && actions->pass_on == event->signal);
		assert_true(w->command_lives && !before->attached);
		assert_true(event->signal != SIGCHLD && event->pid != KEEPER);
		/* keeper.c sends it to this pid: 0 would mean the whole process group. */
		assert_int_equal(w->keeper.command, COMMAND);
	}
	if (actions->stop && is_child)
		assert_true(event->pid == COMMAND && WIFSTOPPED(event->wait_status));
	else if (actions->stop)
		assert_true(before->attached && is_signal && is_stop(event->signal));
	if (actions->start_balancer) {
		assert_true(event->kind == KEEPER_EVENT_TIME && w->closed == 0);
		assert_true(before->phase == KEEPER_STARTING && w->now_ns >= before->deadline_ns);
	}
	if (actions->kill_balancer) {
		assert_true(w->balancer_lives && event->kind == KEEPER_EVENT_TIME);
		assert_int_equal(w->keeper.balancer, BALANCER);
	}
	assert_true(actions->balancer_signal == 0 || actions->restore);
	assert_true(w->keeper.phase >= before->phase);
}

static void happen(struct world *w, struct keeper_event event)
{
	struct keeper_state before = w->keeper;
	event.now_ns = w->now_ns;
	struct keeper_actions actions = keeper_state_step(&w->keeper, &event);

	check_actions(w, &before, &event, &actions);
	w->begun += actions.start_balancer;
	w->closed += actions.close_control;
	w->kills += actions.kill_balancer;
	w->restores += actions.restore;
	if (actions.start_balancer && draw(w, 4) > 0) { /* else it can't start */
		w->keeper.balancer = BALANCER;
		w->balancer_lives = true;
	}
	if (actions.restore && w->balancer_lives) { /* given up */
		assert_int_equal(w->kills, 1);
		w->balancer_lives = false;
		w->balancer_lost = true;
	}
	if (w->closed > 0 && w->job_end_ns == 0)
		w->job_end_ns = w->now_ns;
	assert_true(w->begun <= 1 && w->closed <= 1 && w->kills <= 1);
	assert_int_equal(w->restores, w->balancer_lost);
	assert_int_equal(w->keeper.phase <= KEEPER_WATCHING, w->closed == 0);
	assert_int_equal(w->keeper.phase == KEEPER_OVER, w->closed == 1 && !w->balancer_lives);
	int wait_ms = keeper_state_wait_ms(&w->keeper, w->now_ns);
	assert_int_equal(wait_ms < 0, w->keeper.phase == KEEPER_WATCHING);
	assert_true(wait_ms <= KEEPER_FINISH_MS);
}

static struct keeper_event some_signal(struct world *w)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU,
		SIGCHLD, SIGUSR1, SIGPIPE, SIGWINCH, SIGCONT, 40};
	static const int codes[] = {SI_USER, SI_KERNEL, SI_QUEUE, SI_TKILL, CLD_EXITED};
	static const pid_t senders[] = {KEEPER, BALANCER, COMMAND, OTHER, ORPHAN, 0};
	struct keeper_event event = sent(numbers[draw(w, COUNT(numbers))],
		codes[draw(w, COUNT(codes))], senders[draw(w, COUNT(senders))]);

	event.ignored = draw(w, 4) == 0;
	return event;
}

/* A random end of a child. If the balancer's is not 0, it is lost. */
static int some_end(struct world *w)
{
	switch (draw(w, 3)) {
	case 0:
		return exited((int)draw(w, 256));
	case 1:
		return exited(0);
	default:
		return killed(1 + (int)draw(w, 31));
	}
}

static void end_command(struct world *w)
{
	w->command_status = some_end(w);
	w->command_lives = false;
	happen(w, child(COMMAND, w->command_status));
}

static void end_balancer(struct world *w)
{
	int status = some_end(w);

	w->balancer_lives = false;
	w->balancer_lost = status != exited(0);
	happen(w, child(BALANCER, status));
}

static void stop_some_child(struct world *w)
{
	static const int numbers[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
	static const pid_t pids[] = {BALANCER, COMMAND, ORPHAN};
	pid_t pid = pids[draw(w, COUNT(pids))];

	if ((pid == BALANCER && !w->balancer_lives) || (pid == COMMAND && !w->command_lives))
		return;
	happen(w, child(pid, draw(w, 3) == 0 ? CONTINUED : stopped(numbers[draw(w, 4)])));
}

/* Advance the time, at most to when keeper.c would wake up. */
static void let_time_pass(struct world *w)
{
	int wait_ms = keeper_state_wait_ms(&w->keeper, w->now_ns);
	uint64_t most_ns = wait_ms < 0 ? 10000 * MS_NS : (uint64_t)wait_ms * MS_NS;

	w->now_ns += draw(w, 2) == 0 ? most_ns : draw(w, most_ns + 1);
	happen(w, passing_with((enum keeper_load)draw(w, 4)));
}

static void let_something_happen(struct world *w)
{
	switch (draw(w, 16)) {
	case 0:
		if (w->command_lives)
			end_command(w);
		break;
	case 1:
		if (w->balancer_lives)
			end_balancer(w);
		break;
	case 2:
		if (w->process_lives) {
			w->process_lives = false;
			happen(w, no_job());
		}
		break;
	case 3:
	case 4:
		stop_some_child(w);
		break;
	case 5:
		happen(w, child(ORPHAN, some_end(w)));
		break;
	case 6:
	case 7:
		let_time_pass(w);
		break;
	default:
		happen(w, some_signal(w));
		break;
	}
}

/* End the job, if it has not ended; then the keeper waits as long as it wants to. */
static void end(struct world *w)
{
	if (w->command_lives)
		end_command(w);
	if (w->process_lives)
		happen(w, no_job());
	for (int i = 0; w->keeper.phase != KEEPER_OVER; i++) {
		assert_true(i < 10);
		w->now_ns += (uint64_t)keeper_state_wait_ms(&w->keeper, w->now_ns) * MS_NS;
		happen(w, passing());
	}
	assert_int_equal(w->closed, 1);
	assert_true(w->now_ns - w->job_end_ns <= (KEEPER_FINISH_MS + KEEPER_KILL_MS + 2) * MS_NS);
}

static void assert_exit_status(const struct world *w)
{
	int expected = 0;

	if (!w->keeper.attached)
		expected = WIFSIGNALED(w->command_status) ? 128 + WTERMSIG(w->command_status)
							  : WEXITSTATUS(w->command_status);
	assert_int_equal(keeper_state_exit_status(&w->keeper), expected);
}

static void test_random_histories(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		bool attached = seed % 3 == 0, begins = seed % 3 == 1;
		struct world w = {
			.keeper = attached ? attaching()
				  : begins ? starting()
					   : wrapping(),
			.random = seed * UINT64_C(0x9e3779b97f4a7c15),
			.command_lives = !attached,
			.balancer_lives = !begins,
			.process_lives = attached,
		};
		w.now_ns = draw(&w, 1000000000000);
		w.keeper.deadline_ns = begins ? w.now_ns + SOON * MS_NS : 0;
		w.keeper.start_ns = w.now_ns;
		for (uint64_t left = draw(&w, 60); left > 0; left--)
			let_something_happen(&w);
		end(&w);
		assert_exit_status(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_begins),
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_load_of_young),
		cmocka_unit_test(test_load_matters_not),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_command_ends),
		cmocka_unit_test(test_command_stops),
		cmocka_unit_test(test_balancer_ends_early),
		cmocka_unit_test(test_balancer_at_the_end),
		cmocka_unit_test(test_orphans),
		cmocka_unit_test(test_attached),
		cmocka_unit_test(test_signals_of_a_command),
		cmocka_unit_test(test_signals_of_an_attached_juggle),
		cmocka_unit_test(test_sigchld),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_wait_for_the_limits),
		cmocka_unit_test(test_random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
