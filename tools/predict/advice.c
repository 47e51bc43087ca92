/* SPDX-License-Identifier: MIT */
/* Advice from a prediction; see advice.h. */
#include "tools/predict/advice.h"

#include <math.h>
#include <stdio.h>

/* Measured: in longer phases Linux spreads threads again soon enough, if they sleep at barriers. */
#define LINUX_PHASE_S 0.1
#define LITTLE 1.02 /* a speedup that is less than the differences between runs */
#define CLOSE 1.01
#define COSTLY_PHASE_S 0.02 /* measured: in shorter phases a good part of the gain is lost */
#define SHORTEST_PERIOD_S 0.0001 /* that juggle accepts */
#define LEAST_PERIOD_S 0.0005 /* to recommend: below it, points cost too much (Fig. 22) */

const char *advice_name(enum advice_verdict verdict)
{
	static const char *const names[] = {"nothing", "period", "little", "linux", "juggle"};

	return names[verdict];
}

static const char *plural(double number)
{
	return number == 1 ? "" : "s";
}

static void explain_nothing(const struct theory_case *c, char *text, uint32_t bytes)
{
	uint32_t each = c->threads / c->cpus;

	if (c->threads < c->cpus)
		snprintf(text, bytes,
			"Nothing to balance: %u thread%s on %u CPUs have one each; %u CPU%s idle.",
			c->threads, plural(c->threads), c->cpus, c->cpus - c->threads,
			c->cpus - c->threads == 1 ? " is" : "s are");
	else if (each == 1)
		snprintf(text, bytes, "Nothing to balance: %u thread%s fit%s %u CPU%s.", c->threads,
			plural(c->threads), c->threads == 1 ? "s" : "", c->cpus, plural(c->cpus));
	else
		snprintf(text, bytes,
			"Nothing to balance: %u threads are %u for each of %u CPU%s, all equally "
			"fast.",
			c->threads, each, c->cpus, plural(c->cpus));
}

static void explain_little(const struct theory_case *c, char *text, uint32_t bytes)
{
	char why[80];

	if (theory_unequal(c) && c->threads <= c->cpus)
		snprintf(why, sizeof why, "the CPUs are nearly equal");
	else
		snprintf(why, sizeof why, "with %.1f threads for each CPU",
			(double)c->threads / c->cpus);
	snprintf(text, bytes,
		"Little to gain: %s, perfect balance is %.3f times as fast as pinned.", why,
		theory_speedup(c, theory_perfect(c)));
}

/* What a shorter period would gain: one with ten points per phase, if juggle accepts it. */
static void explain_shorter(const struct theory_case *c, char *text, size_t bytes)
{
	struct theory_case shorter = *c;

	shorter.period = fmax(c->phase / 10, LEAST_PERIOD_S);
	if (shorter.period >= c->period || theory_long_period(&shorter))
		snprintf(text, bytes, " Phases this short can't be balanced.");
	else
		snprintf(text, bytes,
			" With one of %.3g %s juggle is %.2f times as fast as pinned%s",
			shorter.period >= 1 ? shorter.period : shorter.period * 1e3,
			shorter.period >= 1 ? "s" : "ms",
			theory_speedup(c, theory_juggle(&shorter)),
			c->phase < COSTLY_PHASE_S ? ", less the cost of moves, which is large for "
						    "phases this short."
						  : ".");
}

static void explain_period(const struct theory_case *c, char *text, uint32_t bytes)
{
	double points = theory_balanced_phases(c);
	char shorter[160];

	explain_shorter(c, shorter, sizeof shorter);
	if (points < 1)
		snprintf(text, bytes,
			"The period is too long: the threads are done before a balancing point "
			"could help.%s",
			shorter);
	else
		snprintf(text, bytes,
			"The period is longer than a phase: at most %.0f of %.0f phases %s a "
			"balancing point (%.2f times as fast as pinned).%s",
			points, c->phases, points == 1 ? "has" : "have",
			theory_speedup(c, theory_juggle(c)), shorter);
}

static void explain_linux(const struct theory_case *c, char *text, uint32_t bytes)
{
	snprintf(text, bytes,
		"Linux does as well by itself for phases this long, if %sthreads sleep at "
		"barriers: "
		"%.2f times as fast as pinned. If they spin or yield, or are bound to CPUs, use "
		"juggle, for %.2f.",
		theory_unequal(c) ? "it knows the speeds and " : "",
		theory_speedup(c, theory_reactive(c)), theory_speedup(c, theory_juggle(c)));
}

/* What Linux does by itself. */
static void explain_kernel(const struct theory_case *c, char *text, size_t bytes)
{
	double best = theory_speedup(c, theory_reactive(c));

	if (best < LITTLE)
		snprintf(text, bytes, "Spreading threads again when some wait gains nothing.");
	else if (theory_unequal(c))
		snprintf(text, bytes,
			"Linux by itself gains up to %.2f where it knows the speeds and threads "
			"sleep at barriers, and little elsewhere.",
			best);
	else if (c->phase < LINUX_PHASE_S)
		snprintf(text, bytes,
			"Linux by itself falls short of its %.2f for phases under 100 ms, and "
			"gains nothing if threads spin or yield.",
			best);
	else
		snprintf(text, bytes,
			"Linux by itself gains %.2f if threads sleep at barriers, and nothing if "
			"they spin or yield.",
			best);
}

static void explain_juggle(const struct theory_case *c, char *text, uint32_t bytes)
{
	double juggle = theory_speedup(c, theory_juggle(c));
	double perfect = theory_speedup(c, theory_perfect(c));
	double fixed = theory_speedup(c, theory_best_static(c));
	char more[80] = "", other[200], by_hand[80] = "";

	if (perfect > juggle * 1.005)
		snprintf(more, sizeof more, "; the shorter the period the better, up to %.2f",
			perfect);
	if (fixed >= LITTLE)
		snprintf(by_hand, sizeof by_hand, " Pinning more threads to fast CPUs gains %.2f.",
			fixed);
	explain_kernel(c, other, sizeof other);
	snprintf(text, bytes, "juggle helps: %.2f times as fast as pinned%s. %s%s%s%s", juggle,
		more,
		c->period < SHORTEST_PERIOD_S ? "Its shortest period is 100 us, though. " : "",
		c->phase < COSTLY_PHASE_S ? "In phases this short it loses part of that to moves. "
					  : "",
		other, by_hand);
}

enum advice_verdict advice_give(const struct theory_case *c, char *text, uint32_t text_bytes)
{
	double juggle = theory_juggle(c);

	if (!theory_unbalanced(c)) {
		explain_nothing(c, text, text_bytes);
		return ADVICE_NOTHING;
	}
	if (theory_speedup(c, theory_perfect(c)) < LITTLE) {
		explain_little(c, text, text_bytes);
		return ADVICE_LITTLE;
	}
	if (theory_long_period(c) || theory_speedup(c, juggle) < LITTLE) {
		explain_period(c, text, text_bytes);
		return ADVICE_PERIOD;
	}
	if (c->phase >= LINUX_PHASE_S && theory_reactive(c) <= theory_perfect(c) * CLOSE) {
		explain_linux(c, text, text_bytes);
		return ADVICE_LINUX;
	}
	explain_juggle(c, text, text_bytes);
	return ADVICE_JUGGLE;
}
