/* SPDX-License-Identifier: MIT */
/* A table of metrics, and a function for each that prints its values; see metrics.h. All values of a
 * metric have to be next to each other, so that jobs come below metrics. */
#include "tools/stat/metrics.h"

#include <math.h>
#include <string.h>

#include "tools/command/user.h"

#define DIGITS 15 /* whole numbers stay exact up to 1e15 */
#define LABELS_BYTES 64

struct metric;

/* Where a value goes. */
struct place {
	FILE *to;
	const struct metric *metric;
	const struct live_sample *sample;
};

struct metric {
	const char *name, *unit, *help; /* unit "": none, else the end of the name */
	bool counter; /* never falls; otherwise a gauge */
	void (*print)(const struct place *place); /* the values of one job */
};

static const char *total(const struct metric *metric)
{
	return metric->counter ? "_total" : "";
}

static void print_escaped(FILE *to, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', to);
		if (*text == '\n')
			fputs("\\n", to);
		else
			fputc(*text, to);
	}
}

/* `labels`: more of them, each after a comma. NAN and infinity are left out. */
static void put(const struct place *place, const char *labels, double value)
{
	const struct live_sample *sample = place->sample;
	char user[USER_BYTES];

	if (!isfinite(value))
		return;
	fprintf(place->to, "%s%s{pid=\"%d\",user=\"", place->metric->name, total(place->metric),
		(int)metrics_pid(sample));
	print_escaped(place->to, user_name(sample->uid, user));
	fputs("\",command=\"", place->to);
	print_escaped(place->to, sample->command);
	fprintf(place->to, "\"%s} %.*g\n", labels, DIGITS, value);
}

/* A value of juggle's, which programs without it lack. */
static void put_wrapped(const struct place *place, const char *labels, double value)
{
	if (place->sample->wrapped)
		put(place, labels, value);
}

/* ---- The job as a whole ---- */

static void print_up(const struct place *place)
{
	put_wrapped(place, "", !place->sample->lost);
}

static void print_cpus(const struct place *place)
{
	put_wrapped(place, "", (double)place->sample->cpus);
}

static void print_threads(const struct place *place)
{
	put(place, ",state=\"compute\"", (double)place->sample->compute_threads);
	put_wrapped(place, ",state=\"idle\"", place->sample->idle_threads);
}

static void print_thread_spread(const struct place *place)
{
	put(place, "", place->sample->lost ? NAN : place->sample->thread_spread_s);
}

static void print_regimes(const struct place *place)
{
	const struct live_sample *sample = place->sample;
	double ns[2] = {0};

	for (size_t k = 0; k < sample->ways; k++)
		ns[sample->way[k].balance] += (double)sample->way[k].time_ns;
	for (int balance = 0; balance < 2; balance++) {
		char label[LABELS_BYTES];
		snprintf(label, sizeof label, ",regime=\"%s\"", live_regime_name(balance));
		put_wrapped(place, label, ns[balance] * 1e-9);
	}
}

static void print_points(const struct place *place)
{
	put_wrapped(place, "", (double)place->sample->cycles);
}

static void print_moves(const struct place *place)
{
	put_wrapped(place, "", (double)place->sample->migrations);
}

static void print_cost(const struct place *place)
{
	put_wrapped(place, "", (double)place->sample->balancer_cpu_ns * 1e-9);
}

/* ---- What runtimes tell of phases ---- */

static void put_told(const struct place *place, double value)
{
	put(place, "", place->sample->efficiency.threads > 0 && !place->sample->lost ? value : NAN);
}

static void print_phase(const struct place *place)
{
	put_told(place, place->sample->efficiency.phase_s);
}

static void print_efficiency(const struct place *place)
{
	put_told(place, place->sample->efficiency.parallel_efficiency);
}

static void print_load_balance(const struct place *place)
{
	put_told(place, place->sample->efficiency.load_balance);
}

static void print_lost(const struct place *place)
{
	put_told(place, place->sample->efficiency.lost_share);
}

/* ---- Processes that publish ---- */

/* `value` gets a process that can be read. */
static void put_processes(
	const struct place *place, double (*value)(const struct live_process *process))
{
	for (size_t i = 0; i < place->sample->processes; i++) {
		const struct live_process *process = &place->sample->process[i];
		char labels[LABELS_BYTES], rank[32] = "";
		if (process->error != 0)
			continue;
		if (process->rank >= 0)
			snprintf(rank, sizeof rank, ",rank=\"%d\"", (int)process->rank);
		snprintf(labels, sizeof labels, "%s,process=\"%d\"", rank, (int)process->pid);
		put(place, labels, value(process));
	}
}

static double updates(const struct live_process *process)
{
	return (double)process->updates;
}

static double spread(const struct live_process *process)
{
	return process->held > 0 ? (double)process->spread : NAN;
}

static double points(const struct live_process *process)
{
	return (double)process->points;
}

static double moves(const struct live_process *process)
{
	return (double)process->moves;
}

static void print_updates(const struct place *place)
{
	put_processes(place, updates);
}

static void print_spread(const struct place *place)
{
	put_processes(place, spread);
}

static void print_subdomain_points(const struct place *place)
{
	put_processes(place, points);
}

static void print_subdomain_moves(const struct place *place)
{
	put_processes(place, moves);
}

/* ---- All of them ---- */

static const struct metric metrics[] = {
	{"juggle_up", "", "1 while the balancer works, 0 after it died.", false, print_up},
	{"juggle_cpus", "", "CPUs that juggle uses.", false, print_cpus},
	{"juggle_threads", "", "Threads that compute, and idle ones.", false, print_threads},
	{"juggle_thread_spread_seconds", "seconds",
		"CPU time between the thread furthest ahead and the one furthest behind.", false,
		print_thread_spread},
	{"juggle_regime_seconds", "seconds", "Time spent balancing, and standing aside.", true,
		print_regimes},
	{"juggle_points", "", "Balancing points.", true, print_points},
	{"juggle_moves", "", "Moves of threads.", true, print_moves},
	{"juggle_balancer_cpu_seconds", "seconds", "CPU time that juggle used itself.", true,
		print_cost},
	{"juggle_phase_seconds", "seconds", "Mean length of a phase.", false, print_phase},
	{"juggle_parallel_efficiency_ratio", "ratio",
		"Load balance times communication efficiency.", false, print_efficiency},
	{"juggle_load_balance_ratio", "ratio", "Mean useful time of the threads over the largest.",
		false, print_load_balance},
	{"juggle_lost_ratio", "ratio", "Share of the CPUs' time lost in waits of threads.", false,
		print_lost},
	{"juggle_subdomain_updates", "", "Updates of subdomains by all workers of a process.", true,
		print_updates},
	{"juggle_subdomain_spread", "",
		"Updates between the most and the least updated subdomain of a process.", false,
		print_spread},
	{"juggle_subdomain_points", "", "Balancing points of a process's subdomains.", true,
		print_subdomain_points},
	{"juggle_subdomain_moves", "", "Moves of a process's subdomains.", true,
		print_subdomain_moves},
};

static void describe(FILE *to, enum metrics_format format, const struct metric *metric)
{
	const char *end = format == METRICS_PROMETHEUS ? total(metric) : "";

	fprintf(to, "# TYPE %s%s %s\n", metric->name, end, metric->counter ? "counter" : "gauge");
	if (format == METRICS_OPENMETRICS && metric->unit[0] != '\0')
		fprintf(to, "# UNIT %s %s\n", metric->name, metric->unit);
	fprintf(to, "# HELP %s%s %s\n", metric->name, end, metric->help);
}

pid_t metrics_pid(const struct live_sample *sample)
{
	if (sample->wrapped)
		return sample->juggle_pid;
	return sample->processes > 0 ? sample->process[0].pid : 0;
}

void metrics_print(FILE *to, enum metrics_format format, const struct live_sample *sample, size_t n)
{
	for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
		describe(to, format, &metrics[m]);
		for (size_t i = 0; i < n; i++)
			metrics[m].print(&(struct place){to, &metrics[m], &sample[i]});
	}
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", to);
}
