/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/state.h"

#include <signal.h>
#include <sys/wait.h>

#define MS_NS UINT64_C(1000000)

/* ---- The end ---- */

/* The job is over, or juggle detaches from it. */
static void finish(struct keeper_state *state, uint64_t now_ns, struct keeper_actions *actions)
{
	if (state->phase > KEEPER_WATCHING)
		return;
	actions->close_control = true;
	state->phase = state->balancer != 0 ? KEEPER_FINISHING : KEEPER_OVER;
	state->deadline_ns = now_ns + KEEPER_FINISH_MS * MS_NS;
}

static void lose_balancer(struct keeper_state *state, int signal, struct keeper_actions *actions)
{
	state->balancer = 0;
	actions->restore = true;
	actions->balancer_signal = signal;
	if (state->phase != KEEPER_WATCHING)
		state->phase = KEEPER_OVER;
}

/* As many of the job's threads can have each CPU, and they leave it where they wait. Those that yield run all the same:
 * if one of them does not, it has no part in what the others do. */
static bool share_evenly(uint32_t running, uint32_t online, struct told_outline told)
{
	return told.threads % online == 0 && told.alike &&
	       (told.sleep || (told.yield && running == told.threads));
}

static bool needs_no_turns(const struct keeper_sight *sight)
{
	uint32_t running = (uint32_t)sight->running, online = (uint32_t)sight->online;

	if (sight->told.threads > 0 && running > sight->told.threads)
		return false; /* others run, too */
	return sight->told.dynamic || share_evenly(running, online, sight->told) ||
	       (sight->young && sight->told.early && running % online == 0);
}

enum keeper_load keeper_load_of(const struct keeper_sight *sight)
{
	if (sight->wanted || sight->speeds_differ || sight->publishes ||
		sight->at_a_time < sight->usable)
		return KEEPER_UNKNOWN;
	if (sight->usable == 1)
		return KEEPER_EVEN;
	if (sight->running < 0 || sight->online <= 0 || sight->usable != sight->online)
		return KEEPER_UNKNOWN;
	if (sight->running < sight->online)
		return KEEPER_FEWER;
	return sight->running == sight->online || needs_no_turns(sight) ? KEEPER_EVEN : KEEPER_MORE;
}

bool keeper_lets_rest(const struct keeper_sight *sight)
{
	return keeper_load_of(sight) == KEEPER_EVEN && sight->running == sight->online &&
	       sight->usable == sight->online;
}

/* Counts the look. Returns the time until the next one, in multiples of KEEPER_LOOK_MS. */
static uint32_t count_look(struct keeper_state *state, enum keeper_load load, uint64_t now_ns)
{
	uint32_t pauses;

	if (load != KEEPER_FEWER)
		state->fewer = 0;
	switch (load) {
	case KEEPER_MORE:
		if (state->more == 0 || now_ns - state->more_since_ns > KEEPER_LOOKS_MS * MS_NS) {
			state->more = 0;
			state->more_since_ns = now_ns;
		}
		state->more++;
		state->even = 0;
		return 1;
	case KEEPER_FEWER:
		if (state->fewer == 0)
			state->fewer_since_ns = now_ns;
		state->fewer++;
		return state->fewer < KEEPER_FEWER_PAUSES ? state->fewer : KEEPER_FEWER_PAUSES;
	default:
		pauses = UINT32_C(1) << state->even;
		state->even += state->even < KEEPER_DOUBLINGS;
		return pauses;
	}
}

/* The times at which more is known, or decided, are not missed. */
static uint64_t next_look(const struct keeper_state *state, uint64_t now_ns, uint32_t pauses)
{
	static const uint64_t times_ms[] = {KEEPER_YOUNG_MS, KEEPER_SPEEDS_MS, KEEPER_LATEST_MS};
	uint64_t next_ns = now_ns + pauses * KEEPER_LOOK_MS * MS_NS;

	for (size_t i = 0; i < sizeof times_ms / sizeof *times_ms; i++) {
		uint64_t time_ns = state->start_ns + times_ms[i] * MS_NS;
		if (now_ns < time_ns && time_ns < next_ns)
			next_ns = time_ns;
	}
	return next_ns;
}

/* Is it time for the balancer? */
static void look(struct keeper_state *state, const struct keeper_event *event,
	struct keeper_actions *actions)
{
	uint32_t pauses = count_look(state, event->load, event->now_ns);
	bool idle = state->fewer > 0 &&
		    event->now_ns - state->fewer_since_ns >= KEEPER_LOOKS_MS * MS_NS;

	if (event->load == KEEPER_UNKNOWN || state->more == KEEPER_LOOKS || idle ||
		event->now_ns >= state->start_ns + KEEPER_LATEST_MS * MS_NS) {
		actions->start_balancer = true;
		state->phase = KEEPER_WATCHING;
		return;
	}
	state->deadline_ns = next_look(state, event->now_ns, pauses);
}

/* A balancer that was killed may be frozen, or wait for a device. Then it is given up, since it can
 * do nothing more, either. */
static void pass_time(struct keeper_state *state, const struct keeper_event *event,
	struct keeper_actions *actions)
{
	if (event->now_ns < state->deadline_ns)
		return;
	if (state->phase == KEEPER_STARTING) {
		look(state, event, actions);
	} else if (state->phase == KEEPER_FINISHING) {
		actions->kill_balancer = true;
		state->phase = KEEPER_KILLING;
		state->deadline_ns = event->now_ns + KEEPER_KILL_MS * MS_NS;
	} else if (state->phase == KEEPER_KILLING) {
		lose_balancer(state, SIGKILL, actions);
	}
}

/* ---- Children ---- */

/* With -p, a balancer that ends in good order has found nothing of ours left to balance. A
 * command runs on without one. */
static void balancer_changed(struct keeper_state *state, const struct keeper_event *event,
	struct keeper_actions *actions)
{
	int status = event->wait_status;

	if (WIFSIGNALED(status)) {
		lose_balancer(state, WTERMSIG(status), actions);
	} else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
		lose_balancer(state, 0, actions);
	} else if (WIFEXITED(status)) {
		state->balancer = 0;
		if (state->phase != KEEPER_WATCHING)
			state->phase = KEEPER_OVER;
		else if (state->attached)
			finish(state, event->now_ns, actions);
	}
}

/* When the command stops, juggle stops, too, so that the shell sees it. SIGSTOP is different:
 * somebody stops the command alone, and will continue it alone. */
static void command_changed(struct keeper_state *state, const struct keeper_event *event,
	struct keeper_actions *actions)
{
	int status = event->wait_status;

	if (WIFSTOPPED(status)) {
		actions->stop = WSTOPSIG(status) != SIGSTOP;
	} else if (WIFEXITED(status) || WIFSIGNALED(status)) {
		state->command = 0;
		state->command_status = status;
		finish(state, event->now_ns, actions);
	}
}

/* Other children are orphans of the job, which come to the keeper as their subreaper. */
static void child_changed(struct keeper_state *state, const struct keeper_event *event,
	struct keeper_actions *actions)
{
	if (event->pid <= 0)
		return;
	if (event->pid == state->command)
		command_changed(state, event, actions);
	else if (event->pid == state->balancer)
		balancer_changed(state, event, actions);
}

/* ---- Signals ---- */

/* With -p, signals are for juggle itself. All of them are blocked and read, so those that the
 * caller (nohup, a shell's &) has made juggle ignore arrive, too. */
static void take_signal(struct keeper_state *state, const struct keeper_event *event,
	struct keeper_actions *actions)
{
	if (event->ignored)
		return;
	switch (event->signal) {
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
		finish(state, event->now_ns, actions);
		break;
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		actions->stop = true;
		break;
	default:
		break;
	}
}

/* A hang-up goes to the leader of the session, and SIGCONT with it, so that a stopped one dies. */
static bool is_for_leader(int signal)
{
	return signal == SIGHUP || signal == SIGCONT;
}

/* Has the command got the signal already, or is it not meant for it? The terminal sends all
 * others to the whole foreground group, and the command may send one to its group: both reach
 * the command without us. A signal that we cause ourselves is ours: SIGPIPE, when nobody reads
 * our messages. */
static bool is_for_command(const struct keeper_state *state, const struct keeper_event *event)
{
	if (event->code == SI_KERNEL)
		return state->leads_session && is_for_leader(event->signal);
	return event->pid != state->command && event->pid != state->keeper;
}

static void signal_arrived(struct keeper_state *state, const struct keeper_event *event,
	struct keeper_actions *actions)
{
	if (event->signal == SIGCHLD)
		actions->reap = true;
	else if (state->attached)
		take_signal(state, event, actions);
	else if (state->command != 0 && is_for_command(state, event))
		actions->pass_on = event->signal;
}

/* ---- All of it ---- */

struct keeper_actions keeper_state_step(
	struct keeper_state *state, const struct keeper_event *event)
{
	struct keeper_actions actions = {0};

	switch (event->kind) {
	case KEEPER_EVENT_CHILD:
		child_changed(state, event, &actions);
		break;
	case KEEPER_EVENT_SIGNAL:
		signal_arrived(state, event, &actions);
		break;
	case KEEPER_EVENT_NO_JOB:
		finish(state, event->now_ns, &actions);
		break;
	case KEEPER_EVENT_TIME:
		pass_time(state, event, &actions);
		break;
	}
	return actions;
}

int keeper_state_wait_ms(const struct keeper_state *state, uint64_t now_ns)
{
	if (state->phase == KEEPER_WATCHING)
		return -1;
	if (state->phase == KEEPER_OVER || now_ns >= state->deadline_ns)
		return 0;
	return (int)((state->deadline_ns - now_ns + MS_NS - 1) / MS_NS);
}

int keeper_state_exit_status(const struct keeper_state *state)
{
	int status = state->command_status;

	if (state->attached)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
