/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/fit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/environment.h"
#include "daemon/base/file.h"
#include "daemon/base/parse.h"
#include "daemon/base/program.h"
#include "daemon/base/quota.h"
#include "daemon/proc/proc.h"

#define RANKS_MOST 1000000
#define THREADS_MOST 1000000
#define ANCESTORS_MOST 16
#define ENVIRON_BYTES ((size_t)1 << 17)

extern char **environ;

/* ---- What launchers say ---- */

/* The launcher nearest to the process comes first: srun may have started mpirun. */
static const char *const rank_names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
	"MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE"};

/* The first of them that is set; NULL: none. */
static const char *rank_name(const char *const *environment)
{
	for (size_t i = 0; i < sizeof rank_names / sizeof *rank_names; i++)
		if (environment_value(environment, rank_names[i]) != NULL)
			return rank_names[i];
	return NULL;
}

/* Slurm's "4(x2),3": tasks on each node, by its number. 0 when it can't be read. */
static long tasks_on(const char *list, long node)
{
	char *end;

	for (;;) {
		long tasks = strtol(list, &end, 10), nodes = 1;
		if (end == list)
			return 0;
		if (strncmp(end, "(x", 2) == 0) {
			nodes = strtol(end + 2, &end, 10);
			end += *end == ')';
		}
		if (nodes < 1)
			return 0;
		if (node < nodes)
			return tasks;
		node -= nodes;
		if (*end != ',')
			return 0;
		list = end + 1;
	}
}

uint32_t fit_local_ranks(const char *const *environment)
{
	const char *name = rank_name(environment);
	const char *node = environment_value(environment, "SLURM_NODEID");
	int64_t number = 0, ranks = 0;

	if (name == NULL)
		return 1;
	if (node != NULL)
		(void)parse_integer(node, 0, INT32_MAX, &number);
	if (strncmp(name, "SLURM_", 6) == 0)
		ranks = tasks_on(environment_value(environment, name), (long)number);
	else
		(void)parse_integer(environment_value(environment, name), 1, RANKS_MOST, &ranks);
	return ranks >= 1 && ranks <= RANKS_MOST ? (uint32_t)ranks : 1;
}

/* ---- Deciding ---- */

/* Variables for a number of threads. Where `other` is set, the user has chosen already, or has set a
 * limit that another number might exceed. */
static const struct {
	const char *name, *other;
} thread_names[] = {{"OMP_NUM_THREADS", NULL}, {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS"},
	{"MKL_NUM_THREADS", NULL}, {"BLIS_NUM_THREADS", NULL},
	{"NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS"}};

/* "2,3" are 2 threads, each of which starts 3. */
static double threads_of(const char *list)
{
	double threads = 1;

	for (char *end; threads < THREADS_MOST; list = end + 1) {
		long n = strtol(list, &end, 10);
		threads *= n > 0 ? (double)n : 1;
		if (*end != ',')
			break;
	}
	return threads;
}

static void add(struct fit_setting *setting, size_t *count, const char *name, const char *value)
{
	setting[*count].name = name;
	snprintf(setting[(*count)++].value, sizeof setting->value, "%s", value);
}

/* Threads that wait should sleep where others need their CPU. */
static void add_waiting(const struct fit_facts *facts, struct fit_setting *out, size_t *count)
{
	static const char *const names[] = {
		"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (environment_value(facts->environment, names[i]) != NULL)
			return;
	add(out, count, "OMP_WAIT_POLICY", "passive");
}

/* Ranks that wait should yield. Open MPI does that by itself when a launcher tells it that there are
 * more ranks than CPUs; MPICH has no such setting for all its devices. */
static void add_yielding(const struct fit_facts *facts, struct fit_setting *out, size_t *count)
{
	static const char name[] = "OMPI_MCA_mpi_yield_when_idle";

	if (environment_value(facts->environment, name) == NULL &&
		environment_value(facts->environment, "MPI_LOCALNRANKS") == NULL)
		add(out, count, name, "1");
}

size_t fit_decide(const struct fit_facts *facts, struct fit_setting out[FIT_SETTINGS])
{
	int capacity = quota_cpus_of(facts->quota_cpus, facts->shared_cpus);
	int share = capacity / (int)facts->ranks, threads = share < 1 ? 1 : share;
	const char *chosen = environment_value(facts->environment, "OMP_NUM_THREADS");
	char value[16];
	size_t count = 0;

	if (threads > facts->cpus)
		threads = facts->cpus;
	snprintf(value, sizeof value, "%d", threads);
	/* The other libraries follow OMP_NUM_THREADS where it is set. */
	for (size_t i = 0; i < sizeof thread_names / sizeof *thread_names; i++)
		if (!facts->launcher && chosen == NULL &&
			environment_value(facts->environment, thread_names[i].name) == NULL &&
			(thread_names[i].other == NULL || environment_value(facts->environment,
								  thread_names[i].other) == NULL))
			add(out, &count, thread_names[i].name, value);
	/* By default, a launcher starts a rank for each CPU, whatever the quota. */
	bool crowded =
		facts->launcher
			? capacity < facts->shared_cpus
			: facts->ranks * (chosen != NULL ? threads_of(chosen) : threads) > capacity;
	if (crowded)
		add_waiting(facts, out, &count);
	if (crowded && (facts->launcher || facts->ranks > 1))
		add_yielding(facts, out, &count);
	return count;
}

/* ---- Finding out, and setting ---- */

static bool has_variable(pid_t pid, const char *name)
{
	char path[64], *text = calloc(1, ENVIRON_BYTES);
	bool found = false;

	if (text == NULL)
		return false;
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	if (file_read_text("", path, text, ENVIRON_BYTES) == 0)
		for (const char *at = text; at < text + ENVIRON_BYTES && !found;
			at += strlen(at) + 1)
			found = strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '=';
	free(text);
	return found;
}

/* The CPUs that the ranks have together: those of the process that started them, the first above
 * that is no rank itself. A launcher may have bound this rank to a part of them. */
static int count_shared(const struct options *options)
{
	const char *name = rank_name((const char *const *)environ);
	int own = cpuset_count(&options->cpus);
	struct proc_thread process = {.ppid = getppid()};
	struct cpuset cpus;

	if (name == NULL || options->cpus_given)
		return own;
	for (int i = 0; i < ANCESTORS_MOST && process.ppid > 0; i++) {
		pid_t pid = process.ppid;
		if (!has_variable(pid, name))
			return cpuset_of_thread(pid, &cpus) == 0 &&
					       cpuset_contains(&cpus, &options->cpus)
				       ? cpuset_count(&cpus)
				       : own;
		if (proc_read_thread(pid, pid, &process) < 0)
			break;
	}
	return own;
}

int fit_environment(const struct options *options)
{
	struct fit_facts facts = {.cpus = cpuset_count(&options->cpus),
		.shared_cpus = count_shared(options),
		.ranks = fit_local_ranks((const char *const *)environ),
		.launcher = program_is_launcher(options->command[0]),
		.environment = (const char *const *)environ};
	struct fit_setting setting[FIT_SETTINGS];
	char line[512] = "";
	struct quota quota;

	quota_init(&quota, "");
	(void)quota_look(&quota, 0);
	facts.quota_cpus = quota.cpus;
	size_t count = fit_decide(&facts, setting), used = 0;
	for (size_t i = 0; i < count; i++) {
		if (setenv(setting[i].name, setting[i].value, 0) < 0)
			return -errno;
		used += (size_t)snprintf(line + used, sizeof line - used, " %s=%s", setting[i].name,
			setting[i].value);
	}
	if (!options->quiet)
		fprintf(stderr, "juggle: --fit:%s\n", count > 0 ? line : " nothing to set");
	return 0;
}
