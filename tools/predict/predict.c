/* SPDX-License-Identifier: MIT */
/* jugglectl predict: whether juggle helps n threads on m CPUs, in theory, compared with the time of
 * a real run. */
#include "daemon/base/command_line.h"
#include "daemon/base/cpuset.h"
#include "daemon/base/json_text.h"
#include "daemon/base/parse.h"
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/subcommands.h"

#include "daemon/policy/period.h"
#include "tools/predict/advice.h"
#include "tools/predict/measurement.h"
#include "tools/theory/theory.h"
#include "tools/theory/uneven.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADVICE_BYTES 500
#define BALANCED_MOSTLY 0.5 /* below this share of a run it counts as Linux's */
#define BALANCED_WHOLLY 0.9
#define UNEVEN_LITTLE 1.02 /* a speedup that is less than the differences between runs */
#define OTHERS_MUCH 0.05 /* of the CPUs */

enum { KEY_SPEEDS = 0x100, KEY_WORK, KEY_MIGRATION_COST };

static const struct argp_option table[] = {
	{"threads", 'n', "N", 0,
		"Number of compute threads, 1 to 1000000 (default: with --from those of the run)",
		0},
	{"cpus", 'm', "M", 0,
		"Number of CPUs, 1 to 1000000 (default: as many as --speeds has, with --from those "
		"of the run, or those of the affinity mask)",
		0},
	{"speeds", KEY_SPEEDS, "LIST", 0,
		"Speeds of all CPUs, 0.01 to 100, as 8x1,16x0.55 (default: 1 each, or with --from "
		"those of the "
		"run)",
		0},
	{"period", 'i', "TIME", 0,
		"Time between balancing points (default: what juggle would choose, or with --from "
		"that of the run)",
		0},
	{"phase", 'e', "TIME", 0,
		"How long a phase takes a thread on a CPU of its own, of speed 1 (default: with "
		"--from that of the run)",
		0},
	{"work", KEY_WORK, "LIST", 0,
		"Works of all threads in a phase, 0.01 to 100 times --phase, as 3,7x1 (default: 1 "
		"each)",
		0},
	{"migration-cost", KEY_MIGRATION_COST, "TIME", 0,
		"CPU time that a thread loses by a move (default: 0)", 0},
	{"phases", 'l', "L", 0,
		"Number of phases, 1 to 1000000000 (default: 1, or with --from those of the run)",
		0},
	{"from", 'f', "FILE", 0,
		"Compare with a real run: a report or trace of juggle, or a result of ubench "
		"(default: none)",
		0},
	{0},
};

static const char doc[] =
	"Predict how long threads take pinned, with the Linux balancer and with juggle.\v"
	"The model: threads compute for a phase and then wait at a barrier, again and again; they "
	"are equal unless --work says otherwise, CPUs are equally fast unless --speeds does, and "
	"balancing costs nothing but --migration-cost. Times "
	"have a unit: ns, us, ms, s or "
	"min.\n\n"
	"Exit status: 0, 1 when something is not possible, 2 when the command line is wrong.";

/* 0 for options that were not given. */
struct predict_options {
	uint32_t threads, cpus, phases;
	uint64_t period_ns, phase_ns, migration_ns;
	struct command_speeds speeds;
	uint32_t works; /* as many as threads, or 0 */
	double work[COMMAND_SPEEDS_MAX];
	const char *from;
};

static int largest_first(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one < *other) - (*one > *other);
}

/* Speeds, or works; returns them. */
static const double *sort(double *value, uint32_t n)
{
	qsort(value, n, sizeof *value, largest_first);
	return value;
}

static error_t read_works(struct argp_state *state, const char *arg, struct predict_options *out)
{
	size_t threads;

	if (parse_speeds(arg, COMMAND_SPEEDS_MAX, out->work, &threads) < 0)
		return command_line_refuse(state, "--work", arg,
			"a work for each thread from 0.01 to 100, as 3,7x1, for at "
			"most " COMMAND_LINE_TEXT(COMMAND_SPEEDS_MAX) " threads");
	out->works = (uint32_t)threads;
	return 0;
}

/* When all options are read: works say how many threads there are. */
static error_t check_works(struct argp_state *state, struct predict_options *out)
{
	if (out->works == 0)
		return 0;
	if (out->from != NULL || out->migration_ns > 0) {
		argp_failure(
			state, 0, 0, "--work goes neither with --from nor with --migration-cost");
		return EINVAL;
	}
	if (out->threads > 0 && out->threads != out->works) {
		argp_failure(state, 0, 0, "--threads %u: --work has %u threads", out->threads,
			out->works);
		return EINVAL;
	}
	out->threads = out->works;
	return 0;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct predict_options *out = state->input;

	switch (key) {
	case 'n':
		return command_line_count(
			state, "--threads", arg, 1, MEASUREMENT_COUNT_MAX, &out->threads);
	case 'm':
		return command_line_count(
			state, "--cpus", arg, 1, MEASUREMENT_COUNT_MAX, &out->cpus);
	case 'l':
		return command_line_count(
			state, "--phases", arg, 1, MEASUREMENT_PHASES_MAX, &out->phases);
	case 'i':
		return command_line_time(state, "--period", arg, 1, &out->period_ns);
	case 'e':
		return command_line_time(state, "--phase", arg, 1, &out->phase_ns);
	case KEY_SPEEDS:
		return command_speeds(state, arg, &out->speeds);
	case KEY_WORK:
		return read_works(state, arg, out);
	case KEY_MIGRATION_COST:
		return command_line_time(state, "--migration-cost", arg, 0, &out->migration_ns);
	case 'f':
		out->from = arg;
		return 0;
	case ARGP_KEY_END:
		if (check_works(state, out) != 0)
			return EINVAL;
		return command_speeds_count(state, &out->speeds, &out->cpus);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- The case ---- */

static int default_cpus(const char *program, uint32_t *cpus)
{
	struct cpuset mask;
	int r = cpuset_of_thread(0, &mask);

	if (r < 0)
		return command_fail(program,
			"can't read the affinity mask (%s): give -m, the number of CPUs",
			strerror(-r));
	*cpus = (uint32_t)cpuset_count(&mask);
	return 0;
}

/* How much work CPU time is, where threads take turns on all CPUs. */
static double mean_speed(const struct theory_case *c)
{
	uint32_t used = c->threads < c->cpus ? c->threads : c->cpus;
	double sum = 0;

	for (uint32_t j = 0; j < used; j++)
		sum += c->speed != NULL ? c->speed[j] : 1;
	return sum / used;
}

/* Without told phases, a report or a trace has only the CPU time of a thread. --phases says how many phases that is,
 * --phase how long each is; without both it is one phase. */
static void phases_of_run(const struct measurement *run, struct theory_case *c)
{
	bool phase_given = c->phase > 0, phases_given = c->phases > 0;
	double speed = run->kind == MEASUREMENT_UBENCH ? 1 : mean_speed(c);
	double work_s = run->work_s * speed;

	if (!phases_given && run->phases > 0)
		c->phases = run->phases;
	else if (!phases_given)
		c->phases = phase_given ? fmax(1, round(work_s / c->phase)) : 1;
	if (!phase_given)
		c->phase = run->phase_s > 0 && !phases_given ? run->phase_s * speed
							     : work_s / c->phases;
}

/* Options take precedence, then the run (NULL: none), then defaults. Returns an exit status. */
static int build_case(const char *program, struct predict_options *options, struct measurement *run,
	struct theory_case *c)
{
	*c = (struct theory_case){.threads = options->threads,
		.cpus = options->cpus,
		.phase = (double)options->phase_ns * 1e-9,
		.period = (double)options->period_ns * 1e-9,
		.phases = options->phases};
	if (options->speeds.cpus > 0)
		c->speed = sort(options->speeds.speed, options->speeds.cpus);
	if (run != NULL) {
		if (c->cpus == 0 && run->speeds > 0)
			c->speed = sort(run->speed, run->speeds);
		c->threads = c->threads > 0 ? c->threads : run->threads;
		c->cpus = c->cpus > 0 ? c->cpus : run->cpus;
		/* Without balancing, the period of a run is that of looks. */
		if (!(c->period > 0) && (!run->told || run->way == MEASUREMENT_JUGGLE))
			c->period = run->period_s;
		if (run->kind == MEASUREMENT_REPORT && !run->told && !(c->phase > 0) &&
			!(c->phases > 0))
			return command_fail(program,
				"%s: it has no phases, as no runtime told them (juggle --phases): "
				"give --phase or --phases",
				options->from);
		phases_of_run(run, c);
	}
	if (c->threads == 0)
		return command_wrong(program, "how many threads? Give -n, or --from");
	if (c->speed != NULL && c->threads > THEORY_UNEQUAL_MAX)
		return command_wrong(program,
			"on CPUs of unequal speed there are at most %d threads",
			THEORY_UNEQUAL_MAX);
	if (!(c->phase > 0))
		return command_wrong(program,
			"how long is a phase on a CPU of its own? Give --phase, or --from");
	if (!(c->phases > 0))
		c->phases = 1;
	int status = c->cpus > 0 ? 0 : default_cpus(program, &c->cpus);
	double point_ns = run != NULL && run->point_s > 0 ? run->point_s * 1e9 : POLICY_POINT_NS;
	if (status == 0 && !(c->period > 0)) /* as juggle does with --period auto */
		c->period = policy_best_period_ns(
				    c->phase / mean_speed(c) * 1e9, point_ns, c->threads, c->cpus) *
			    1e-9;
	return status;
}

/* ---- Output ---- */

struct prediction {
	struct theory_case c;
	const double *work; /* NULL: equal threads */
	double moves_cost; /* how many times as long phases take by it */
	double pinned, best_pinned, reactive, juggle, by_rest, bound, perfect; /* NAN: not known */
	enum advice_verdict verdict;
	char advice[ADVICE_BYTES];
	const char *from; /* NULL: no run */
	struct measurement run;
	enum measurement_way way; /* how the run's threads were placed */
};

/* Threads of unequal work; the limit of short periods. */
static void predict_uneven(struct prediction *p)
{
	const struct uneven_case c = {
		.threads = p->c.threads, .cpus = p->c.cpus, .work = p->work, .speed = p->c.speed};
	double all = p->c.phase * p->c.phases;

	p->pinned = all * uneven_static(&c);
	p->best_pinned = p->reactive = NAN;
	p->juggle = all * uneven_by_progress(&c);
	p->by_rest = all * uneven_by_rest(&c);
	p->perfect = p->bound = all * uneven_bound(&c);
	double gain = p->pinned / p->juggle;
	p->verdict = gain < UNEVEN_LITTLE ? ADVICE_LITTLE : ADVICE_JUGGLE;
	snprintf(p->advice, sizeof p->advice,
		"%s: with periods that are short against a phase, juggle is %.2f times as fast as "
		"pinned. A balancer that knew how much work is left would reach %.2f.",
		gain < 1 / UNEVEN_LITTLE ? "juggle would lose"
		: gain < UNEVEN_LITTLE   ? "Little to gain"
					 : "juggle helps",
		gain, p->pinned / p->by_rest);
}

/* Returns an exit status. */
static int set_moves_cost(
	const char *program, const struct predict_options *options, struct prediction *p)
{
	const struct theory_case *c = &p->c;

	p->moves_cost = 1;
	if (options->migration_ns == 0)
		return 0;
	if (theory_unequal(c) || theory_long_period(c) || !uneven_moves_known(c->threads, c->cpus))
		return command_wrong(program,
			"--migration-cost is known for CPUs of one speed, periods shorter than a "
			"phase, and one thread more than CPUs or up to a third more");
	p->moves_cost = uneven_moves_cost(
		c->threads, c->cpus, c->period, (double)options->migration_ns * 1e-9);
	return isinf(p->moves_cost)
		       ? command_wrong(program, "--migration-cost: moves would take all time")
		       : 0;
}

static void predict(struct prediction *p)
{
	p->way = p->run.way;
	if (p->way == MEASUREMENT_JUGGLE && p->run.balanced < BALANCED_MOSTLY)
		p->way = MEASUREMENT_LINUX;
	if (p->work != NULL) {
		predict_uneven(p);
		return;
	}
	p->by_rest = NAN;
	p->perfect = theory_perfect(&p->c);
	p->pinned = theory_static(&p->c);
	p->best_pinned = theory_best_static(&p->c);
	p->reactive = theory_reactive(&p->c);
	p->juggle = theory_juggle(&p->c) * p->moves_cost;
	p->bound = theory_juggle_bound(&p->c);
	p->verdict = advice_give(&p->c, p->advice, sizeof p->advice);
}

/* The deviation of the measured time from a predicted one, in percent. */
static double deviation_pct(const struct prediction *p, double predicted)
{
	return 100 * (p->run.elapsed_s / predicted - 1);
}

static int print_json(const char *program, const struct prediction *p)
{
	const struct theory_case *c = &p->c;
	json_t *measured = NULL, *speeds = c->speed != NULL ? json_array() : NULL;
	json_t *work = p->work != NULL ? json_array() : NULL;

	if (p->from != NULL)
		measured = json_pack("{s:o, s:s, s:s, s:f, s:f, s:f, s:f, s:s, s:f, s:f, s:f}",
			"file", json_text(p->from), "kind", measurement_kind_name(p->run.kind),
			"way", measurement_way_name(p->way), "elapsed_s", p->run.elapsed_s,
			"work_s", p->run.work_s, "balanced", p->run.balanced, "others",
			p->run.others, "reason", p->run.reason, "pinned_deviation_pct",
			deviation_pct(p, p->pinned), "reactive_deviation_pct",
			deviation_pct(p, p->reactive), "juggle_deviation_pct",
			deviation_pct(p, p->juggle));
	for (uint32_t j = 0; c->speed != NULL && j < c->cpus; j++)
		json_array_append_new(speeds, json_real(c->speed[j]));
	for (uint32_t i = 0; p->work != NULL && i < c->threads; i++)
		json_array_append_new(work, json_real(p->work[i]));
	/* json_real() returns NULL for numbers that are not finite, and "o?" makes that null. */
	return command_print_json(program,
		json_pack("{s:I, s:I, s:o?, s:o?, s:f, s:f, s:I, s:f, s:o?, s:o?, s:f, s:o?, s:f, "
			  "s:f, "
			  "s:f, s:o?, s:f, s:f, s:s, s:s, s:o?}",
			"threads", (json_int_t)c->threads, "cpus", (json_int_t)c->cpus, "speeds",
			speeds, "work", work, "period_s", c->period, "phase_s", c->phase, "phases",
			(json_int_t)c->phases, "pinned_s", p->pinned, "best_pinned_s",
			json_real(p->best_pinned), "reactive_s", json_real(p->reactive), "juggle_s",
			p->juggle, "by_rest_s", json_real(p->by_rest), "juggle_bound_s", p->bound,
			"perfect_s", p->perfect, "moves_cost", p->moves_cost, "reactive_speedup",
			json_real(p->pinned / p->reactive), "juggle_speedup", p->pinned / p->juggle,
			"juggle_speedup_bound", p->pinned / p->bound, "verdict",
			advice_name(p->verdict), "advice", p->advice, "measured", measured));
}

/* A time as a person would write it: "2 ms". */
static const char *time_text(double s, char text[32])
{
	static const struct {
		double s;
		const char *name;
	} units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
	size_t i = 0;

	while (i < 3 && s < 0.9999999 * units[i].s)
		i++;
	snprintf(text, 32, "%.6g %s", s / units[i].s, units[i].name);
	return text;
}

static void print_row(const struct prediction *p, const char *name, double predicted, bool measured)
{
	printf("%-18s %12.5g s %9.3f", name, predicted, p->pinned / predicted);
	if (measured)
		printf(" %12.5g s %+10.1f %%", p->run.elapsed_s, deviation_pct(p, predicted));
	putchar('\n');
}

static void print_table(const struct prediction *p)
{
	bool any = p->from != NULL && p->way == MEASUREMENT_UNKNOWN;

	printf("%-18s %14s %9s", "", "predicted", "speedup");
	printf(p->from != NULL ? " %14s %12s\n" : "\n", "measured", "deviation");
	print_row(p, "pinned", p->pinned, any || p->way == MEASUREMENT_PINNED);
	if (p->work == NULL && theory_unequal(&p->c))
		print_row(p, "pinned, at best", p->best_pinned, false);
	if (p->work == NULL)
		print_row(p, "Linux, at best", p->reactive, any || p->way == MEASUREMENT_LINUX);
	print_row(p, "juggle", p->juggle, any || p->way == MEASUREMENT_JUGGLE);
	if (p->work != NULL)
		print_row(p, "by work left", p->by_rest, false);
	print_row(p, p->work != NULL ? "at best" : "juggle, at best", p->bound, false);
}

/* What to know about a run before comparing it with the theory. */
static void print_remarks(const struct prediction *p)
{
	const struct measurement *run = &p->run;
	char text[200];

	if (run->way == MEASUREMENT_JUGGLE && run->balanced < BALANCED_WHOLLY) {
		snprintf(text, sizeof text, "juggle balanced for %.0f %% of that run%s%s%s%s.",
			100 * run->balanced,
			run->reason[0] != '\0' ? ", and otherwise stood aside (mainly: " : "",
			run->reason, run->reason[0] != '\0' ? ")" : "",
			p->way == MEASUREMENT_LINUX ? ": it is compared with Linux" : "");
		command_sentences("%s", text);
	}
	if (run->others >= OTHERS_MUCH)
		command_sentences("Other work had at least %.0f %% of the CPUs in that run: "
				  "predictions assume CPUs that serve nobody else.",
			100 * run->others);
	if (run->kind == MEASUREMENT_UBENCH && run->way == MEASUREMENT_UNKNOWN)
		command_sentences("The result does not say who placed the threads, so the run is "
				  "compared with all rows.");
	if (run->told)
		command_sentences(
			"The measured time is that for which runtimes told of phases, and "
			"the work is the threads' CPU time without waits.");
	else if (run->kind != MEASUREMENT_UBENCH)
		command_sentences(
			"The measured time is that of the whole program, from start to end.");
	if (run->unequal && run->told)
		command_sentences(
			"In that run the threads did not do the same work (load balance %.2f): the "
			"theory does not apply.",
			run->load_balance);
	else if (run->unequal)
		command_sentences(
			"In that run the threads were not equal (--imbalance): the theory does "
			"not apply.");
	if (run->spins)
		command_sentences(
			"In that run threads spun at the barrier, which takes CPU time from the "
			"others. The theory assumes threads that sleep.");
}

static int print_text(const char *program, const struct prediction *p)
{
	const struct theory_case *c = &p->c;
	char text[200], speeds[64] = "", phase[32], period[32];

	if (c->speed != NULL && c->speed[0] == c->speed[c->cpus - 1])
		snprintf(speeds, sizeof speeds, " of speed %.3g", c->speed[0]);
	else if (c->speed != NULL)
		snprintf(speeds, sizeof speeds, " of speed %.3g to %.3g", c->speed[c->cpus - 1],
			c->speed[0]);
	snprintf(text, sizeof text,
		"%u thread%s%s on %u CPU%s%s, %.0f phase%s of %s, a balancing point every %s.",
		c->threads, c->threads == 1 ? "" : "s", p->work != NULL ? " of unequal work" : "",
		c->cpus, c->cpus == 1 ? "" : "s", speeds, c->phases, c->phases == 1 ? "" : "s",
		time_text(c->phase, phase), time_text(c->period, period));
	command_sentences("%s", text);
	putchar('\n');
	print_table(p);
	putchar('\n');
	command_sentences("%s", p->advice);
	if (p->moves_cost > 1)
		command_sentences(
			"By the cost of moves, phases take %.3f times as long with juggle: its row "
			"has that, these sentences have not.",
			p->moves_cost);
	if (p->from != NULL)
		print_remarks(p);
	return command_flush(program);
}

static int read_run(const char *program, struct prediction *p)
{
	char error[200];
	FILE *file = fopen(p->from, "re");

	if (file == NULL)
		return command_fail(program, "%s: %s", p->from, strerror(errno));
	int r = measurement_read(&p->run, file, error, sizeof error);
	fclose(file);
	if (r == -EBADMSG)
		return command_fail(program, "%s: %s", p->from, error);
	return r < 0 ? command_fail(program, "%s: %s", p->from, strerror(-r)) : 0;
}

int predict_main(int argc, char **argv)
{
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};
	const char *program = argv[0];
	struct predict_options options = {0};
	struct command_options common;
	struct prediction p = {0};

	int r = command_parse(&argp, argc, argv, &options, &common);
	if (r != 0)
		return r < 0 ? COMMAND_WRONG : 0;
	p.from = options.from;
	if (p.from != NULL && (r = read_run(program, &p)) != 0)
		return r;
	r = build_case(program, &options, p.from != NULL ? &p.run : NULL, &p.c);
	if (r != 0)
		return r;
	if (options.works > 0)
		p.work = sort(options.work, options.works);
	r = set_moves_cost(program, &options, &p);
	if (r != 0)
		return r;
	predict(&p);
	return common.json ? print_json(program, &p) : print_text(program, &p);
}
