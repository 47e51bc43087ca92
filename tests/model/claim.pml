/* SPDX-License-Identifier: MIT */
/*
 * Who balances: the word `claim` of a segment, and its beat. The program's threads, which take
 * turns and so are one here, claim it with compare-and-swap for each balancing point
 * (libprogress/balance.c). A juggle claims it by writing it and reading it back, and keeps it
 * (libprogress/reader/reader.c).
 *
 * The claim is no lock: whoever stands still after its last look acts on a claim that somebody else
 * has taken over. What two balancers then do to the subdomains is the subject of handover.pml.
 * Trouble comes first: balancers are killed in the middle of whatever, while one is left; a juggle
 * ends, and another begins; anyone stands still for so long that its claim looks old. Checked is what
 * follows: somebody balances again and again (goes_on), and two at once only so often as the trouble
 * has left claims in doubt, not for ever (the assertion).
 *
 * Each statement is one step, and memory is sequentially consistent. The count of changes in the
 * upper half of the word is left out: the model holds without.
 *
 * Compiled with one of these the model is wrong, and spin has to say so:
 *   BEAT_LATE    a new claim is written before its beat
 *   NO_LOOK      a balancer does not look whether it still has the claim
 *   NO_SWAP      the program writes its claim without compare-and-swap
 *   CLEAR_CLAIM  the program gives back whatever claim it finds
 *   NO_TAKE_OVER nobody takes over an old claim
 *   BEAT_ALWAYS  a juggle beats whether it has the claim or not
 */
#ifndef JUGGLES
#define JUGGLES 1
#endif
#define BALANCERS (JUGGLES + 1) /* the program is number 0 */
#define NOBODY BALANCERS
/* With COUNT, the assertion is checked. No trouble with two juggles is followed by more than these
 * meetings; a mistake makes them endless. */
#ifndef MEETINGS_MAX
#define MEETINGS_MAX 15
#endif

byte claim = NOBODY;
bool fresh; /* the beat is younger than half a second */
bool calm; /* the trouble is over */
bool killed[BALANCERS + 1]; /* with one for NOBODY */
byte alive = BALANCERS;
#define RESTS 0
#define CLAIMS 1 /* has taken the time for the beat, and not claimed yet */
#define ACTS 2 /* is moving subdomains */
#define MEETS 3 /* and another has begun to */
byte state[BALANCERS] = RESTS;
byte meetings; /* times that one began to act while another did, after the trouble */

#ifdef NO_TAKE_OVER
#define IS_FREE(found) (found == NOBODY)
#else
#define IS_FREE(found) (found == NOBODY || !fresh)
#endif
#ifdef NO_LOOK
#define HAS_CLAIM(me) true
#else
#define HAS_CLAIM(me) (claim == me)
#endif

#if JUGGLES == 1
#define ANY(what) (what(0) || what(1))
#else
#define ANY(what) (what(0) || what(1) || what(2))
#endif
#define CLAIMING(i) (state[i] == CLAIMS)
#define ACTING(i) (state[i] >= ACTS)

inline act(me)
{
	d_step {
		i = 0;
		do
		:: i < BALANCERS && calm && state[i] == ACTS ->
			state[i] = MEETS;
#ifdef COUNT
			meetings++;
			assert(meetings <= MEETINGS_MAX);
#endif
			i++
		:: i < BALANCERS && !(calm && state[i] == ACTS) -> i++
		:: i == BALANCERS -> break
		od;
		i = 0;
		state[me] = ACTS
	}
	state[me] = RESTS
}

active proctype program()
{
	byte found, i;

	{
		do
		:: found = claim;
		   if
		   :: IS_FREE(found)
		   :: else -> goto next
		   fi;
#ifndef BEAT_LATE
		   d_step { fresh = true; state[0] = CLAIMS }
#endif
#ifdef NO_SWAP
		   d_step { claim = 0; state[0] = RESTS }
#else
		   if
		   :: d_step { claim == found -> claim = 0; state[0] = RESTS }
		   :: d_step { claim != found -> state[0] = RESTS } goto next
		   fi;
#endif
#ifdef BEAT_LATE
		   fresh = true;
#endif
		   if
		   :: HAS_CLAIM(0) -> act(0)
		   :: else
		   fi;
#ifdef CLEAR_CLAIM
		   claim = NOBODY;
#else
		   if
		   :: d_step { claim == 0 -> claim = NOBODY }
		   :: else
		   fi;
#endif
next:		   found = 0
		od
	} unless { killed[0] }
}

active [JUGGLES] proctype juggle()
{
	byte me = _pid; /* the program is the first process */
	byte found, i;
	bool mine; /* as far as it knows */

	{
		do
		:: if
		   :: mine
		   /* Claim it; or once more, because the next point is far. */
		   :: found = claim;
		      if
		      :: atomic { IS_FREE(found) || (mine && found == me) -> found = 0 }
#ifdef BEAT_LATE
			claim = me;
			fresh = true;
#else
			d_step { fresh = true; state[me] = CLAIMS }
			d_step { claim = me; state[me] = RESTS }
#endif
			if
			:: d_step { claim == me -> mine = true }
			:: else
			fi
		      :: atomic { else -> found = 0 }
		      fi
		   fi;
#ifdef BEAT_ALWAYS
		   fresh = true;
#endif
		   if
		   :: mine && HAS_CLAIM(me) ->
			act(me);
			fresh = true
		   :: d_step { mine && !HAS_CLAIM(me) -> mine = false }
		   :: !mine
		   fi
		/* Give it back, and end; or be the next juggle. */
		:: mine && !calm ->
		   if
		   :: claim == me -> d_step { claim = NOBODY; mine = false }
		   :: d_step { claim != me -> mine = false }
		   fi
		od
	} unless { killed[me] }
}

active proctype trouble()
{
	byte who;

	do
	:: fresh = false
	:: atomic {
		alive > 1 ->
		select(who : 0 .. BALANCERS - 1);
		if
		:: !killed[who] -> killed[who] = true; alive--; state[who] = RESTS
		:: else
		fi;
		who = 0
	   }
	:: break
	od;
	calm = true;
	/* From now on nobody stands still: a claim grows old only when its balancer is killed. */
	do
	:: d_step { fresh && !ANY(CLAIMING) && (claim == NOBODY || killed[claim]) -> fresh = false }
	od
}

ltl goes_on { [] (calm -> [] <> ANY(ACTING)) }
