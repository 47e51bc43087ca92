/* SPDX-License-Identifier: MIT */
/*
 * The hand-over of subdomains: progress_begin(), progress_update() and any balancer.
 *
 * Checked: who updates a subdomain is its holder, and nobody else updates it meanwhile (safety);
 * and once the balancer has stopped, whenever and in the middle of whatever, each subdomain
 * is updated again and again, by its owner if the balancer had manners (liveness). With REMOVALS,
 * workers also empty places that they hold, so often, and an inserter fills them, of whatever it
 * likes for whom it likes, while the balancer does not look whether they are empty.
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
 *   TRUST_OWNER  an owner out of range is not ignored
 * and with REMOVALS:
 *   NO_VOID      emptying a place does not invalidate its holder's list
 *   NO_WORD      filling a place does not flag the worker
 *   OWNER_LATE   filling a place writes its owner after its holder
 *   NO_REMINDER  the balancer does not look again whether hand-overs are still to be done
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
#define NOBODY WORKERS /* out of range; the holder of an empty place */
#define SET(w, s) held[(w) * SUBDOMAINS + (s)]

byte holder[SUBDOMAINS], owner[SUBDOMAINS];
bool dirty[WORKERS + 1]; /* with one for NOBODY, whom only TRUST_OWNER meets */
bool held[(WORKERS + 1) * SUBDOMAINS]; /* the workers' lists */
bool updating[SUBDOMAINS];
byte last[SUBDOMAINS] = NOBODY; /* who has updated it last */
bool stopped;
byte moves = MOVES; /* of the balancer, which ends the state space */
byte removals = REMOVALS; /* likewise */

#ifdef TRUST_OWNER
#define IS_KEPT(s, me) (owner[s] == me)
#else
#define IS_KEPT(s, me) (owner[s] == me || owner[s] == NOBODY)
#endif

/* Steps that only the worker itself can tell apart are one: nobody else changes a `holder` that is
 * `me`, nor a worker's list. */
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
	:: s == SUBDOMAINS -> s = 0; break
	od
}

inline update(me)
{
	do
	:: d_step { s < SUBDOMAINS && !SET(me, s) -> s++ }
	:: d_step {
		s < SUBDOMAINS && SET(me, s) ->
		assert(holder[s] == me && !updating[s]);
		updating[s] = true;
		last[s] = me
	   }
	   d_step { assert(holder[s] == me); updating[s] = false }
	   if
	   :: d_step { s++ }
#if REMOVALS > 0
	   :: atomic { removals > 0 -> removals-- }
	      holder[s] = NOBODY;
	      d_step {
#ifndef NO_VOID
		dirty[me] = true;
#endif
		s++
	      }
#endif
	   fi
	:: s == SUBDOMAINS -> s = 0; break
	od
}

proctype worker(byte me)
{
	byte s, to;

	do
	:: dirty[me] ->
#ifdef CLEAR_LATE
		look(me);
		dirty[me] = false;
#else
		dirty[me] = false;
		look(me);
#endif
		update(me)
	:: !dirty[me] ->
		update(me)
	od
}

/* Writes any owner for any subdomain and stops at any moment. With MANNERS it stops only after it
 * has flagged the previous owner, and leaves no owner out of range, as progress_balance() does. */
proctype balancer()
{
	byte s, to, from;

	do
	:: atomic {
		moves > 0 ->
		moves--;
		select(s : 0 .. SUBDOMAINS - 1);
#ifdef MANNERS
		select(to : 0 .. WORKERS - 1);
#else
		select(to : 0 .. WORKERS);
#endif
		from = owner[s]
	   }
#ifdef EARLY_FLAG
	   dirty[from] = true;
	   d_step { owner[s] = to; s = 0; to = 0; from = 0 }
#else
#ifdef WRITE_HOLDER
	   holder[s] = to;
#endif
	   owner[s] = to;
#ifndef MANNERS
	   if
	   :: break /* killed between the two */
	   :: atomic { select(from : 0 .. WORKERS - 1) } /* flags anyone */
	   fi;
#endif
	   d_step { dirty[from] = true; s = 0; to = 0; from = 0 }
#endif
	:: break
	od;
#if REMOVALS > 0 && defined(MANNERS) && !defined(NO_REMINDER)
	/* The next balancing point. */
	for (s : 0 .. SUBDOMAINS - 1) {
		to = owner[s];
		from = holder[s];
		if
		:: from != NOBODY && from != to -> dirty[from] = true
		:: else
		fi
	}
#endif
	stopped = true
}

#if REMOVALS > 0
proctype inserter()
{
	byte s, to;

	do
	:: atomic {
		s < SUBDOMAINS && holder[s] == NOBODY ->
		assert(!updating[s]);
		select(to : 0 .. WORKERS - 1)
	   }
#ifdef OWNER_LATE
	   holder[s] = to;
	   owner[s] = to;
#else
	   owner[s] = to;
	   assert(holder[s] == NOBODY);
	   holder[s] = to;
#endif
	   d_step {
#ifndef NO_WORD
		dirty[to] = true;
#endif
		to = 0;
		s = 0
	   }
	:: d_step { s < SUBDOMAINS - 1 && holder[s] != NOBODY -> s++ }
	:: d_step { s == SUBDOMAINS - 1 && holder[s] != NOBODY -> s = 0 }
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
		run balancer()
	}
}

ltl none_lost { [] (stopped -> ([] <> updating[0] && [] <> updating[SUBDOMAINS - 1])) }
/* To be checked with MANNERS. */
ltl arrives { [] (stopped -> <> [] (holder[0] == owner[0] && last[0] == owner[0] &&
	holder[SUBDOMAINS - 1] == owner[SUBDOMAINS - 1] &&
	last[SUBDOMAINS - 1] == owner[SUBDOMAINS - 1])) }
