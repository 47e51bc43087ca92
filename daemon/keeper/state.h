/* SPDX-License-Identifier: MIT */
/*
 * What the keeper does about its children and signals: a state machine.
 *
 * An event goes in, the actions come out. It makes no system call, reads no clock and allocates
 * nothing, so that any history can be tested. keeper.c feeds it and carries the actions out.
 */
#ifndef JUGGLE_KEEPER_STATE_H
#define JUGGLE_KEEPER_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/progress/told.h"

/* A command that ends so soon is not balanced: to begin costs more than it could gain. */
#define KEEPER_SOON_MS 10
/* While the machine runs just as many threads as it has CPUs, there is most often a thread on each: to begin would take
 * time from them, and there is nothing to gain. So it is with more threads of which libphases tells that turns gain
 * nothing. The first look that finds it so is followed by another one after 5 ms, the next one after 10, then 20, and
 * so on, until the time is over. Other numbers may be there for a moment only. So it takes several looks within 100 ms
 * that find more threads, or nothing but fewer for as long: most often the job reads its input then, and CPUs are
 * idle. */
#define KEEPER_LOOK_MS 5
#define KEEPER_LOOKS 3 /* that find more */
#define KEEPER_LOOKS_MS 100
#define KEEPER_FEWER_PAUSES 3 /* at most, between looks that find fewer */
#define KEEPER_DOUBLINGS 5 /* of the pause, at most, after looks that find it even */
/* Until then, threads of which little is told are taken to need no turns if they are a multiple of the CPUs. */
#define KEEPER_YOUNG_MS 200
#define KEEPER_LATEST_MS 4000 /* the balancer begins whatever the load */
#define KEEPER_SPEEDS_MS 1000 /* when it begins if speeds of CPUs differ, or for a quota */
#define KEEPER_FINISH_MS 3000 /* for the balancer to finish, when it is asked to */
#define KEEPER_KILL_MS 1000 /* for it to end, when it was killed */

enum keeper_phase {
	KEEPER_STARTING, /* the command runs, and there is no balancer yet */
	KEEPER_WATCHING, /* the job runs */
	KEEPER_FINISHING, /* the job is over, or juggle detaches: the balancer is to finish */
	KEEPER_KILLING, /* the balancer did not finish in time, and was killed */
	KEEPER_OVER, /* there is nothing left to wait for */
};

/* What one look finds, of what decides whether balancing may begin later. */
struct keeper_sight {
	bool wanted; /* by the options, whatever the load */
	bool speeds_differ; /* of the CPUs: a thread on each may gain by turns, too */
	bool publishes; /* the command has a segment of libprogress, and the balancer moves its subdomains */
	bool young; /* the command is younger than KEEPER_YOUNG_MS */
	int running; /* threads of the machine; negative: that is not known */
	int online; /* its CPUs */
	int usable; /* those of them that the job may use; how many threads run on only some is not known */
	int at_a_time; /* as many of these as its quota is enough for; less: threads stand still at times */
	struct told_outline told; /* of the job */
};

/* The number of threads that the machine runs, compared with that of its CPUs. */
enum keeper_load {
	KEEPER_UNKNOWN, /* or it does not matter: the balancer is to begin */
	KEEPER_EVEN, /* as many, or such as the kernel balances well, or may, as far as is told */
	KEEPER_FEWER,
	KEEPER_MORE,
};

struct keeper_state {
	/* Set by the caller at the start. */
	pid_t keeper; /* this process */
	pid_t balancer; /* 0: there is none yet, it has ended, or was given up */
	pid_t command; /* 0: it has ended, or there is none */
	bool attached; /* -p */
	bool leads_session; /* the kernel tells this process alone that the terminal has hung up */
	enum keeper_phase phase; /* one of the first two */
	uint64_t deadline_ns; /* of phases with a limit; in the first, of the next look */
	uint64_t start_ns; /* of the command */
	/* Zero at the start. */
	uint32_t more; /* looks that found more, since: */
	uint64_t more_since_ns;
	uint32_t fewer; /* looks in a row that found fewer, since: */
	uint64_t fewer_since_ns;
	uint32_t even; /* looks that found it even since there were more, as far as pauses grow */
	int command_status; /* as waitpid() has it; valid when the command has ended */
};

enum keeper_event_kind {
	KEEPER_EVENT_CHILD, /* waitpid() has returned a child: pid, wait_status */
	KEEPER_EVENT_SIGNAL, /* juggle has got a signal: signal, code, pid, ignored */
	KEEPER_EVENT_NO_JOB, /* the process of -p has ended, or the command could not start */
	KEEPER_EVENT_TIME, /* time has passed */
};

struct keeper_event {
	enum keeper_event_kind kind;
	uint64_t now_ns; /* CLOCK_MONOTONIC, in all events */
	pid_t pid; /* the child; the sender of the signal */
	int wait_status;
	int signal;
	int code; /* si_code */
	bool ignored; /* the caller has made juggle ignore that signal */
	enum keeper_load load; /* in KEEPER_STARTING, when the deadline has passed */
};

struct keeper_actions {
	bool reap; /* call waitpid() until no child has news: each is an event */
	int pass_on; /* send this signal to the command; 0: none */
	bool stop; /* stop this process, until somebody continues it */
	bool start_balancer;
	bool close_control; /* make the balancer finish */
	bool kill_balancer;
	bool restore; /* the balancer is lost: give the threads their masks back */
	int balancer_signal; /* with restore: the signal that killed it; 0: it has failed */
};

/* Compares the numbers of a look, and considers what else it found. */
enum keeper_load keeper_load_of(const struct keeper_sight *sight);

/* May the job's threads tell less, as the balancer lets them where each has a CPU? */
bool keeper_lets_rest(const struct keeper_sight *sight);

/* Take an event. Returns what to do at once, before the next event. */
struct keeper_actions keeper_state_step(
	struct keeper_state *state, const struct keeper_event *event);

/* How long to wait for the next event, in ms as poll(2) has it: -1 without limit, 0 in
 * KEEPER_OVER. Afterwards KEEPER_EVENT_TIME is due. */
int keeper_state_wait_ms(const struct keeper_state *state, uint64_t now_ns);

/* The exit status of juggle, once the job is over: the command's own, 128+N when signal N
 * killed it, 0 with -p. */
int keeper_state_exit_status(const struct keeper_state *state);

#endif
