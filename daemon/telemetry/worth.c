/* SPDX-License-Identifier: MIT */
/* What balancing is worth; see worth.h. */
#include "daemon/telemetry/worth.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define PHASES_LEAST 10 /* to judge by */
#define COVERED_LEAST 0.75
#define GAIN_LEAST 1.03 /* less than that is lost among the differences between runs */
#define BALANCED_LEAST 0.5 /* of the time: then what was measured is juggle's */
#define DECLINED_LEAST 0.25 /* of the time: then juggle has found out that turns bring nothing */
#define OTHERS_LEAST 0.03 /* of the CPUs */
#define THROTTLED_LEAST 0.02 /* of the time */
#define PHASE_LEAST_S 1e-3 /* shorter ones have no time for turns */

const char *worth_name(enum worth_verdict verdict)
{
	static const char *const names[] = {
		"unknown", "nothing", "brought", "juggle", "threads", "noise", "work", "waits"};

	return names[verdict];
}

/* What the verdict follows from. Times are shares of the time that was measured. */
struct sums {
	const struct worth_case *c;
	const struct efficiency *e;
	double limit; /* CPUs that the job may use */
	double cpus; /* that its threads can use at a time */
	double others; /* of these, what others had at least */
	/* The time with the work spread evenly over these CPUs; and as far as threads allow that, beside
	 * this other work. */
	double even, best;
	double pinned; /* at least, with threads that stay where they are */
	bool balanced, declined;
};

static struct sums sum_up(const struct worth_case *c)
{
	const struct efficiency *e = c->efficiency;
	double limit = c->quota > 0 && c->quota < c->cpus ? c->quota : c->cpus;
	double cpus = fmin(e->threads, limit), most = e->communication_efficiency;
	double others = e->others >= OTHERS_LEAST * cpus ? fmin(e->others, cpus) : 0;
	/* It can't have had more than what was left. */
	double left = fmax(cpus - others, e->useful);

	return (struct sums){.c = c,
		.e = e,
		.limit = limit,
		.cpus = cpus,
		.others = others,
		.even = e->useful / cpus,
		.best = left > 0 ? fmax(e->useful / left, most) : 0,
		.pinned = fmax(e->stacked, most),
		.balanced = c->balanced >= BALANCED_LEAST,
		.declined = c->balanced < BALANCED_LEAST && c->declined >= DECLINED_LEAST};
}

/* How many times as fast the job would be. */
static double gain(double time)
{
	return time > 0 && time < 1 ? 1 / time : 1;
}

static double percent(double share)
{
	return 100 * share;
}

static const char *plural(double cpus)
{
	return cpus == 1 ? "" : "s";
}

static enum worth_verdict say(enum worth_verdict verdict, char *text, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static enum worth_verdict say(enum worth_verdict verdict, char *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, WORTH_BYTES, format, args);
	va_end(args);
	return verdict;
}

static enum worth_verdict say_noise(const struct sums *s, char *text)
{
	return say(WORTH_NOISE, text,
		"Other work had at least %.2g of the %.2g CPU%s: without it the job would be up to "
		"%.2f times as fast.",
		s->others, s->cpus, plural(s->cpus),
		gain(fmax(s->even, s->e->communication_efficiency)));
}

/* One thread has so much that the others wait for it, wherever they are. */
static enum worth_verdict say_work(const struct sums *s, char *text)
{
	const struct efficiency *e = s->e;

	if (s->c->slowest < 1 && e->threads <= s->limit && !s->balanced)
		return say(WORTH_JUGGLE, text,
			"All wait for the thread that takes longest. Where that is because of its "
			"CPU, "
			"which have speeds from %.2g to 1, juggle helps: threads take turns.",
			s->c->slowest);
	return say(WORTH_WORK, text,
		"The work itself is imbalanced: one thread has %.2f times the mean, and the others "
		"wait "
		"for it, wherever they are. Evenly divided, it would take %.2f of the time.",
		1 / e->load_balance, s->even / e->communication_efficiency);
}

/* Over these CPUs, and beside this other work, it could hardly be faster. */
static enum worth_verdict judge_best(const struct sums *s, char *text)
{
	const struct efficiency *e = s->e;

	if (s->balanced && s->pinned >= GAIN_LEAST)
		return say(WORTH_BROUGHT, text,
			"juggle has brought what there was: had threads stayed on their CPUs, it "
			"would "
			"have taken at least %.2f times as long.",
			s->pinned);
	if (e->communication_efficiency >= GAIN_LEAST * s->even && e->useful_share * GAIN_LEAST < 1)
		return say_work(s, text);
	if (s->others > 0)
		return say_noise(s, text);
	return say(WORTH_NOTHING, text, "Nothing to gain: %.0f %% of the CPUs' time was useful%s.",
		percent(e->useful_share),
		e->threads < s->limit ? ", though there were fewer threads than CPUs" : "");
}

/* juggle did not balance, and could. */
static enum worth_verdict say_juggle(const struct sums *s, char *text)
{
	unsigned cpus = (unsigned)fmax(1, ceil(s->limit));
	char more[120] = "";

	if (s->others > 0)
		snprintf(more, sizeof more,
			" Other work had at least %.2g of the %.2g CPU%s: without it, up to %.2f "
			"times.",
			s->others, s->cpus, plural(s->cpus),
			gain(fmax(s->even, s->e->communication_efficiency)));
	else if (s->e->threads % cpus != 0)
		snprintf(more, sizeof more, " A multiple of %u threads (--fit) needs no turns.",
			cpus);
	return say(WORTH_JUGGLE, text,
		"juggle would bring up to %.2f times the speed: %.0f %% of the CPUs' time was "
		"lost in waits.%s",
		gain(s->best), percent(s->e->lost_share), more);
}

/* It could be faster. */
static enum worth_verdict judge_loss(const struct sums *s, char *text)
{
	const struct efficiency *e = s->e;
	bool crowded = e->threads > s->limit;
	bool time_for_turns = e->phase_s >= PHASE_LEAST_S;

	if (crowded && s->c->cpus == 1 && s->others == 0)
		return say(WORTH_THREADS, text,
			"One CPU, so there is nothing to balance: %.0f %% of its time was lost in "
			"waits. A single thread (--fit) has none.",
			percent(e->lost_share));
	if (!s->balanced && !s->declined && s->c->cpus > 1 &&
		(((crowded || s->others > 0) && time_for_turns) || s->c->slowest < 1))
		return say_juggle(s, text);
	if (s->others > 0)
		return say_noise(s, text);
	if (crowded)
		return say(WORTH_THREADS, text,
			"%s%.0f %% of the CPUs' time was lost in waits, in phases of %.3g ms%s: as "
			"many "
			"threads as CPUs (--fit) need no turns.",
			s->balanced ? "Balanced, still " : "", percent(e->lost_share),
			e->phase_s * 1e3,
			!time_for_turns ? ", too short for turns"
			: s->declined   ? ", in which juggle gains nothing"
					: "");
	return say(WORTH_WAITS, text,
		"Each thread had a CPU, and waited for %.0f %% of its time: the work differs from "
		"phase "
		"to phase (of %.3g ms), or the waits themselves take long. Other places for "
		"threads "
		"bring nothing.",
		percent(e->waiting), e->phase_s * 1e3);
}

double worth_brought(const struct worth_case *c)
{
	const struct efficiency *e = c->efficiency;

	if (e->threads == 0 || e->phases < PHASES_LEAST || c->covered < COVERED_LEAST)
		return 0;
	struct sums s = sum_up(c);
	return s.balanced && s.pinned >= GAIN_LEAST ? s.pinned : 0;
}

enum worth_verdict worth_judge(const struct worth_case *c, char text[WORTH_BYTES])
{
	const struct efficiency *e = c->efficiency;

	if (e->threads == 0)
		return say(WORTH_UNKNOWN, text, "No runtime has told where threads wait.");
	if (e->phases < PHASES_LEAST)
		return say(WORTH_UNKNOWN, text, "Too few phases to judge by: %llu.",
			(unsigned long long)e->phases);
	if (c->covered < COVERED_LEAST)
		return say(WORTH_UNKNOWN, text,
			"Threads that tell where they wait used only %.0f %% of the job's CPU "
			"time: too "
			"little to judge by.",
			percent(c->covered));
	struct sums s = sum_up(c);
	if (c->throttled >= THROTTLED_LEAST && e->threads > ceil(s.limit))
		return say(WORTH_THREADS, text,
			"A quota of %.3g CPU%s stopped the job for %.0f %% of its time: run as "
			"many "
			"threads as fit it (--fit).",
			c->quota, plural(c->quota), percent(c->throttled));
	if (e->useful_share * GAIN_LEAST >= 1 || gain(s.best) < GAIN_LEAST)
		return judge_best(&s, text);
	return judge_loss(&s, text);
}
