/* SPDX-License-Identifier: MIT */
/*
 * The hand-over of subdomains: progress_begin(), progress_update() and any balancers.
 *
 * Checked: who updates a subdomain is its holder, and nobody else updates it meanwhile (safety);
 * and once the balancers have stopped, whenever and in the middle of whatever, each subdomain is
 * updated again and again (none_lost), by its owner if the balancers had MANNERS and the last one
 * was not killed (arrives). With REMOVALS, workers also empty places that they hold, so often, and
 * an inserter fills them, of whatever it likes for whom it likes, while the balancers do not look
 * whether they are empty.
 *
 * Nothing keeps two balancers apart here, because nothing does when one stands still at the wrong
 * moment. claim.pml is about how they find out who balances.
 *
 * Each statement is one step, and memory is sequentially consistent: what the orders of the
 * C code achieve is tested by ThreadSanitizer and tests/unit/libprogress/test_stress.c.
 *
 * Compiled with one of these the model is wrong, and spin has to say so:
 *   CLEAR_LATE   the worker clears its flag after it has looked
 *   FLAG_FIRST   the holder sets the gainer's flag before it has passed the subdomain on
 *   EARLY_FLAG   the balancer sets the flag before it writes the owner
 *   NO_FLAG      the holder does not flag the gainer
 *   WRITE_HOLDER the balancer writes the holder itself
 *   CLEAR_FLAG   the balancer clears flags, which others may have set
 *   TRUST_OWNER  an owner out of range is not ignored
 * and with REMOVALS:
 *   NO_VOID      emptying a place does not invalidate its holder's list
 *   NO_WORD      filling a place does not flag the worker
 *   OWNER_LATE   filling a place writes its owner after its holder
 * and with REMOVALS or BALANCERS:
 *   NO_REMINDER  the balancer does not look again whether hand-overs are still to be done
 *   REMIND_OWNER when it does, it flags the owner, not the holder
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SUBDOMAINS
#define SUBDOMAINS 2
#endif
#ifndef MOVES
#define MOVES 2
#endif
#ifndef REMOVALS
#define REMOVALS 0
#endif
#ifndef BALANCERS
#define BALANCERS 1
#endif
#define NOBODY WORKERS /* out of range; the holder of an empty place */
#define SET(w, s) held[(w) * SUBDOMAINS + (s)]

byte holder[SUBDOMAINS], owner[SUBDOMAINS];
bool dirty[WORKERS + 1]; /* with one for NOBODY, whom only TRUST_OWNER meets */
bool held[(WORKERS + 1) * SUBDOMAINS]; /* the workers' lists */
bool updating[SUBDOMAINS];
byte last[SUBDOMAINS] = NOBODY; /* who has updated it last */
byte balancers = BALANCERS; /* that are at work */
bool stopped; /* all of them */
byte moves = MOVES; /* of all balancers together, which ends the state space */
byte removals = REMOVALS; /* likewise */

#ifdef TRUST_OWNER
#define IS_KEPT(s, me) (owner[s] == me)
#else
#define IS_KEPT(s, me) (owner[s] == me || owner[s] == NOBODY)
#endif

/* Steps that only the worker itself can tell apart are one: nobody else changes a `holder` that is
 * `me`, nor a worker's list, nor clears its flag. */
inline look(me)
{
	do
	:: d_step { s < SUBDOMAINS && holder[s] != me -> SET(me, s) = false; s++ }
	:: d_step { s < SUBDOMAINS && holder[s] == me && IS_KEPT(s, me) -> SET(me, s) = true; s++ }
	:: d_step {
		s < SUBDOMAINS && holder[s] == me && !IS_KEPT(s, me) ->
		SET(me, s) = false;
		to = owner[s]
	   }
#ifdef FLAG_FIRST
	   dirty[to] = true;
	   d_step { holder[s] = to; to = 0; s++ }
#else
	   holder[s] = to;
	   d_step {
#ifndef NO_FLAG
		dirty[to] = true;
#endif
		to = 0;
		s++
	   }
#endif
	:: atomic { s == SUBDOMAINS -> s = 0; break }
	od
}

inline update(me)
{
	do
	:: atomic {
		do
		:: s < SUBDOMAINS && !SET(me, s) -> s++
		:: else -> break
		od;
		if
		:: s < SUBDOMAINS ->
			assert(holder[s] == me && !updating[s]);
			updating[s] = true;
			last[s] = me
		:: else -> s = 0; break
		fi
	   }
	   if
	   :: d_step { assert(holder[s] == me); updating[s] = false; s++ }
#if REMOVALS > 0
	   :: d_step { removals > 0 -> removals--; assert(holder[s] == me); updating[s] = false }
	      holder[s] = NOBODY;
	      d_step {
#ifndef NO_VOID
		dirty[me] = true;
#endif
		s++
	      }
#endif
	   fi
	od
}

proctype worker(byte me)
{
	byte s, to;

	do
#ifdef CLEAR_LATE
	:: dirty[me] -> look(me); dirty[me] = false; update(me)
#else
	:: d_step { dirty[me] -> dirty[me] = false } look(me); update(me)
#endif
	:: !dirty[me] -> update(me)
	od
}

#ifndef MANNERS
/* Writes any owner for any subdomain, flags anyone, and stops at any moment. It remembers nothing
 * between its steps, so each may as well be another's: it stands for any number of balancers at
 * once, each of which is killed in the middle of whatever. */
proctype balancer()
{
	byte s, to;

	do
	:: atomic {
		moves > 0 ->
		moves--;
		select(s : 0 .. SUBDOMAINS - 1);
		select(to : 0 .. WORKERS);
#ifdef WRITE_HOLDER
		holder[s] = to;
#endif
		owner[s] = to;
		s = 0;
		to = 0
	   }
	:: atomic {
		select(to : 0 .. WORKERS - 1);
#ifdef CLEAR_FLAG
		dirty[to] = false;
#else
		dirty[to] = true;
#endif
		to = 0
	   }
	:: break
	od;
	stopped = true
}
#else
/* Moves subdomains as progress_balance() does: reads the owner, writes another one, in range, and
 * flags the worker that it has read. While there is another balancer, it may be killed between any
 * two steps. The last one has a balancing point after that, which looks whether hand-overs are
 * still to be done: another balancer may have written the owner in between, or have been killed
 * before it flagged the holder. */
proctype balancer()
{
	byte s, to, from;

	do
	:: atomic {
		moves > 0 ->
		moves--;
		select(s : 0 .. SUBDOMAINS - 1);
		from = owner[s]
	   }
#ifdef EARLY_FLAG
	   dirty[from] = true;
	   atomic { select(to : 0 .. WORKERS - 1); owner[s] = to; s = 0; to = 0; from = 0 }
#else
	   atomic { select(to : 0 .. WORKERS - 1); owner[s] = to; s = 0; to = 0 }
	   if
	   :: d_step { dirty[from] = true; from = 0 }
	   :: atomic { balancers > 1 -> balancers--; from = 0; goto killed }
	   fi
#endif
	:: atomic { balancers > 1 -> balancers--; goto killed }
	:: atomic { balancers == 1 -> balancers--; break }
	od;
#if (REMOVALS > 0 || BALANCERS > 1) && !defined(NO_REMINDER)
	for (s : 0 .. SUBDOMAINS - 1) {
		to = owner[s];
		from = holder[s];
		if
#ifdef REMIND_OWNER
		:: from != NOBODY && from != to -> dirty[to] = true
#else
		:: from != NOBODY && from != to -> dirty[from] = true
#endif
		:: else
		fi
	}
#endif
	atomic { stopped = true; s = 0; to = 0; from = 0 };
killed:	skip
}
#endif

#if REMOVALS > 0
proctype inserter()
{
	byte s, to;

	do
	:: if
	   :: holder[0] == NOBODY
	   :: holder[SUBDOMAINS - 1] == NOBODY -> s = SUBDOMAINS - 1
	   fi;
#ifdef OWNER_LATE
	   atomic { select(to : 0 .. WORKERS - 1); holder[s] = to }
	   owner[s] = to;
#else
	   atomic { select(to : 0 .. WORKERS - 1); owner[s] = to }
	   d_step { assert(holder[s] == NOBODY && !updating[s]); holder[s] = to }
#endif
	   d_step {
#ifndef NO_WORD
		dirty[to] = true;
#endif
		to = 0;
		s = 0
	   }
	od
}
#endif

init {
	byte i;

	atomic {
		for (i : 0 .. SUBDOMAINS - 1) {
			holder[i] = i % WORKERS;
			owner[i] = i % WORKERS
		}
		for (i : 0 .. WORKERS - 1) {
			dirty[i] = true;
			run worker(i)
		}
#if REMOVALS > 0
		run inserter();
#endif
		for (i : 1 .. BALANCERS) {
			run balancer()
		}
	}
}

ltl none_lost { [] (stopped -> ([] <> updating[0] && [] <> updating[SUBDOMAINS - 1])) }
/* To be checked with MANNERS. */
ltl arrives { [] (stopped -> <> [] (holder[0] == owner[0] && last[0] == owner[0] &&
	holder[SUBDOMAINS - 1] == owner[SUBDOMAINS - 1] &&
	last[SUBDOMAINS - 1] == owner[SUBDOMAINS - 1])) }
