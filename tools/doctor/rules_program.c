/* SPDX-License-Identifier: MIT */
/* Rules about the command, and about what it and the environment request from OpenMP and MPI. */
#include "tools/doctor/rule.h"

#include "daemon/base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LONG_SPIN 1000000 /* rounds; libgomp's own default is 300000 */

static const char *file_name(const struct doctor_program *program)
{
	const char *slash = strrchr(program->name, '/');

	return slash != NULL ? slash + 1 : program->name;
}

static bool is_juggle(const struct doctor_program *program)
{
	return strcmp(file_name(program), "juggle") == 0;
}

/* Programs that execute another. We would have to find it among their arguments. */
static bool is_wrapper(const struct doctor_program *program)
{
	static const char *const names[] = {"env", "nice", "ionice", "chrt", "time", "timeout",
		"taskset", "numactl", "stdbuf", "setpriv", "sh", "bash", "perf", "valgrind"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(file_name(program), names[i]) == 0)
			return true;
	return false;
}

static const char *openmp_of(const struct doctor_program *program)
{
	static const char *const begins[] = {"libgomp.so", "libomp.so", "libomp-", "libiomp5.so"};

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
		const char *found = doctor_library(program, begins[i]);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static const char *mpi_of(const struct doctor_program *program)
{
	return doctor_library(program, "libmpi");
}

/* libmpi.so.40 has been Open MPI's since its version 3; MPICH and its derivatives use 12. */
static bool is_open_mpi(const struct doctor_program *program)
{
	return doctor_library(program, "libmpi.so.40") != NULL;
}

/* ---- Command ---- */

static enum doctor_level judge_missing(
	const struct doctor_program *program, bool given, struct doctor_finding *out)
{
	if (program->error == -ENOENT) {
		doctor_say(out, "%s is not found%s.", program->name,
			strchr(program->name, '/') != NULL ? "" : " in PATH");
		doctor_advise(out, "%s",
			given ? "juggle would end with status 127. Give its path."
			      : "Give its path.");
	} else {
		doctor_say(out, "%s can't be executed (%s).", program->name,
			strerror(-program->error));
		doctor_advise(out, "%s%s", given ? "juggle would end with status 126. " : "",
			program->error == -EACCES ? "`chmod +x` may help." : "Give a program.");
	}
	return DOCTOR_PROBLEM;
}

static enum doctor_level judge_command(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->command == NULL)
		return DOCTOR_NONE;
	if (s->program.error != 0)
		return judge_missing(&s->program, true, out);
	doctor_say(out, "%s is %s.", s->program.name, s->program.path);
	return DOCTOR_GOOD;
}

static enum doctor_level judge_inner(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_launcher *launcher = &s->launcher;

	if (launcher->kind == DOCTOR_NO_LAUNCHER)
		return DOCTOR_NONE;
	if (launcher->program < 0) {
		doctor_say(out, "%s is given no program to start.", s->program.name);
		doctor_advise(out, "Put it after the launcher's options.");
		return DOCTOR_NOTE;
	}
	/* It may be there on other hosts; and a word behind an unknown option may be its value. */
	if (s->inner.error != 0)
		return launcher->unsure || launcher->hosts ? DOCTOR_NONE
							   : judge_missing(&s->inner, false, out);
	doctor_say(out, "It starts %s.", s->inner.path);
	return DOCTOR_GOOD;
}

static enum doctor_level judge_privileged(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_program *target = doctor_target(s);

	if (target == NULL || target->error != 0 || !target->privileged || s->may_move_others)
		return DOCTOR_NONE;
	doctor_say(out,
		"%s gets privileges when it is started (set-uid root, or capabilities): juggle "
		"may not move its threads.",
		target->name);
	doctor_advise(out, "Run juggle with CAP_SYS_NICE, or have this program start juggle.");
	return DOCTOR_PROBLEM;
}

static enum doctor_level judge_kind(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_program *target = doctor_target(s);

	if (target == NULL || target->error != 0 || is_juggle(target))
		return DOCTOR_NONE;
	if (target->script) {
		doctor_say(out,
			"%s is a script: juggle balances what it starts, but doctor can't see "
			"that.",
			target->name);
		doctor_advise(out, "Give doctor the program itself to learn more.");
		return DOCTOR_NOTE;
	}
	if (!target->elf)
		return DOCTOR_NONE;
	const char *openmp = openmp_of(target), *mpi = mpi_of(target);
	if (openmp == NULL && mpi == NULL)
		return DOCTOR_NONE;
	doctor_say(out, "%s uses %s%s%s.", target->name, openmp != NULL ? openmp : "",
		openmp != NULL && mpi != NULL ? " and " : "", mpi != NULL ? mpi : "");
	return DOCTOR_GOOD;
}

static enum doctor_level judge_progress(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_program *target = doctor_target(s);

	if (target == NULL || doctor_library(target, "libprogress.so") == NULL)
		return DOCTOR_NONE;
	doctor_say(out,
		"%s publishes its progress (libprogress): its subdomains can be balanced, too.",
		target->name);
	return DOCTOR_GOOD;
}

static enum doctor_level judge_phases(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct preload *phases = &s->phases;

	if (phases->why[0] == '\0' || s->program.error != 0 || is_juggle(&s->program) ||
		is_juggle(&s->inner))
		return DOCTOR_NONE;
	if (phases->wanted) {
		doctor_say(out,
			"libphases.so will tell juggle where threads wait for each other (%s).",
			phases->why);
		return DOCTOR_GOOD;
	}
	doctor_say(
		out, "Nobody will tell juggle where threads wait for each other: %s.", phases->why);
	if (!phases->impossible)
		doctor_advise(out, "If they do, `juggle --phases on` insists.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_wrapper(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_program *target = doctor_target(s);

	if (target == NULL || target->error != 0 || !is_wrapper(target))
		return DOCTOR_NONE;
	doctor_say(out, "%s starts another program, which doctor does not examine.", target->name);
	doctor_advise(out, "Give doctor that program, and set variables and CPUs before it: "
			   "`OMP_NUM_THREADS=7 jugglectl doctor -- ./app`.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_juggle(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->command == NULL || !is_juggle(&s->program))
		return DOCTOR_NONE;
	doctor_say(out, "The command is juggle itself; doctor does not examine what it runs.");
	doctor_advise(out, "Omit juggle and its options: `jugglectl doctor -- COMMAND`.");
	return DOCTOR_NOTE;
}

/* ---- OpenMP ---- */

/* Variables of OpenMP matter less when the program is known not to use it. */
static enum doctor_level if_openmp(const struct doctor_system *s, enum doctor_level level)
{
	const struct doctor_program *target = doctor_target(s);

	if (target != NULL && target->elf && openmp_of(target) == NULL && !is_wrapper(target) &&
		level > DOCTOR_NOTE)
		return DOCTOR_NOTE;
	return level;
}

static bool is_off(const char *value)
{
	return strcasecmp(value, "false") == 0 || strcasecmp(value, "none") == 0 ||
	       strcasecmp(value, "disabled") == 0 || strcasecmp(value, "disable") == 0 ||
	       strcasecmp(value, "off") == 0 || strcasecmp(value, "no") == 0 || value[0] == '\0';
}

static enum doctor_level judge_omp_binding(
	const struct doctor_system *s, struct doctor_finding *out)
{
	/* Places alone also bind. OMP_PROC_BIND=false prevents that in GCC's runtime, but not in
	 * LLVM's. Only LLVM's has KMP_AFFINITY. */
	static const struct {
		const char *name;
		bool heeds_false;
		bool gcc; /* GCC's runtime reads it */
		bool cpus; /* the value lists CPU numbers, so 0 does not mean off */
	} variables[] = {{"OMP_PROC_BIND", true, true, false},
		{"GOMP_CPU_AFFINITY", true, true, true}, {"OMP_PLACES", true, true, true},
		{"KMP_AFFINITY", false, false, false}};
	const struct doctor_program *target = doctor_target(s);
	const char *openmp = target != NULL ? openmp_of(target) : NULL;
	const char *bind = doctor_env(s, "OMP_PROC_BIND");
	bool gcc = openmp != NULL && strncmp(openmp, "libgomp", 7) == 0;
	bool llvm = openmp != NULL && !gcc;

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *name = variables[i].name, *value = doctor_env(s, name);
		if (value == NULL || is_off(value) || strstr(value, "none") != NULL ||
			(!variables[i].cpus && strcmp(value, "0") == 0) ||
			(gcc && !variables[i].gcc))
			continue;
		if (bind != NULL && is_off(bind) && variables[i].heeds_false && !llvm)
			continue;
		doctor_say(out,
			"%s=%.60s binds threads. juggle moves them nevertheless, but when it "
			"stands aside they get their binding back.",
			name, value);
		doctor_advise(out, "Turn it off: `unset OMP_PLACES GOMP_CPU_AFFINITY KMP_AFFINITY; "
				   "export OMP_PROC_BIND=false`.");
		return if_openmp(s, DOCTOR_WARNING);
	}
	return DOCTOR_NONE;
}

/* GOMP_SPINCOUNT, as libgomp reads it: "30M". */
static double spin_rounds(const char *text)
{
	static const char suffixes[] = "kmgt";
	char *end;
	double rounds = strtod(text, &end);

	for (const char *suffix = suffixes; *suffix != '\0' && *end != '\0'; suffix++) {
		rounds *= 1000;
		if (tolower((unsigned char)*end) == *suffix)
			return rounds;
	}
	return strtod(text, NULL);
}

static enum doctor_level judge_omp_wait(const struct doctor_system *s, struct doctor_finding *out)
{
	const char *policy = doctor_env(s, "OMP_WAIT_POLICY");
	const char *spin = doctor_env(s, "GOMP_SPINCOUNT");
	const char *block = doctor_env(s, "KMP_BLOCKTIME");
	const char *culprit = NULL, *value = "";

	if (spin != NULL && (strncasecmp(spin, "inf", 3) == 0 || spin_rounds(spin) >= LONG_SPIN)) {
		culprit = "GOMP_SPINCOUNT";
		value = spin;
	} else if (block != NULL && strncasecmp(block, "inf", 3) == 0) {
		culprit = "KMP_BLOCKTIME";
		value = block;
	} else if (policy != NULL && strcasecmp(policy, "active") == 0) {
		culprit = "OMP_WAIT_POLICY";
		value = policy;
	} else if (policy != NULL && strcasecmp(policy, "passive") == 0) {
		doctor_say(out,
			"OMP_WAIT_POLICY=passive: threads sleep at barriers and leave the CPU "
			"to those that compute.");
		return DOCTOR_GOOD;
	}
	if (culprit == NULL)
		return DOCTOR_NONE;
	doctor_say(out,
		"%s=%.60s makes threads spin at barriers: they take CPU time from those that "
		"still compute, and juggle can't try out whether balancing helps.",
		culprit, value);
	doctor_advise(
		out, "`export OMP_WAIT_POLICY=passive` is better with more threads than CPUs.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_omp_dynamic(
	const struct doctor_system *s, struct doctor_finding *out)
{
	const char *dynamic = doctor_env(s, "OMP_DYNAMIC");

	if (dynamic == NULL || strcasecmp(dynamic, "true") != 0)
		return DOCTOR_NONE;
	doctor_say(out,
		"OMP_DYNAMIC=true lets the runtime count the CPUs of its mask again, and it "
		"finds only one when juggle has placed the thread.");
	doctor_advise(out, "`unset OMP_DYNAMIC`, and set OMP_NUM_THREADS.");
	return if_openmp(s, DOCTOR_WARNING);
}

/* The first number of OMP_NUM_THREADS, which is a list for nested regions; 0: none. */
static uint32_t omp_threads(const struct doctor_system *s)
{
	const char *text = doctor_env(s, "OMP_NUM_THREADS");
	long number = text != NULL ? strtol(text, NULL, 10) : 0;

	return number > 0 && number <= 1000000 ? (uint32_t)number : 0;
}

static enum doctor_level judge_omp_threads(
	const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_program *target = doctor_target(s);
	uint32_t ranks = s->launcher.ranks > 0 ? s->launcher.ranks : 1;
	uint32_t threads = omp_threads(s);

	if (target == NULL || openmp_of(target) == NULL || s->threads > 0)
		return DOCTOR_NONE;
	/* Ranks of a program that can use threads usually have one each. */
	if (threads == 0 && s->launcher.kind != DOCTOR_NO_LAUNCHER)
		return DOCTOR_NONE;
	if (threads == 0) {
		doctor_say(out,
			"OMP_NUM_THREADS is not set: there will be a thread for each CPU, and "
			"little to balance.");
		doctor_advise(out,
			"If the program gains from more threads than CPUs, set it: `export "
			"OMP_NUM_THREADS=%d`.",
			2 * cpuset_count(&s->cpus) - 1);
		return DOCTOR_NOTE;
	}
	if ((uint64_t)threads * ranks > UINT32_MAX)
		return DOCTOR_NONE;
	return doctor_judge_fit(s, threads * ranks,
		ranks > 1 ? "threads (ranks times OMP_NUM_THREADS)" : "threads", out);
}

/* ---- MPI ---- */

static bool has_mpi(const struct doctor_system *s)
{
	const struct doctor_program *target = doctor_target(s);

	return target != NULL && (s->launcher.kind != DOCTOR_NO_LAUNCHER || mpi_of(target) != NULL);
}

/* How ranks are bound: by the launcher's options, or else by the environment. *from names the
 * source. */
static const char *binding(const struct doctor_system *s, const char **from)
{
	static const char *const variables[] = {"OMPI_MCA_hwloc_base_binding_policy",
		"PRTE_MCA_hwloc_default_binding_policy", "HYDRA_BINDING", "I_MPI_PIN",
		"MV2_ENABLE_AFFINITY"};

	*from = s->program.name;
	if (s->launcher.bind[0] != '\0')
		return s->launcher.bind;
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = doctor_env(s, variables[i]);
		bool of_open_mpi = i < 2;
		if (value == NULL || (s->launcher.kind == DOCTOR_OPEN_MPI && !of_open_mpi) ||
			(s->launcher.kind == DOCTOR_HYDRA && of_open_mpi))
			continue;
		*from = variables[i];
		return value;
	}
	return NULL;
}

/* "none", "none:overload-allowed", "verbose,none", "no", "0". */
static bool is_unbound(const char *value)
{
	return is_off(value) || strcmp(value, "0") == 0 || strstr(value, "none") != NULL;
}

static enum doctor_level say_unbound(struct doctor_finding *out, const char *why)
{
	doctor_say(out, "Ranks are not bound to CPUs (%s).", why);
	return DOCTOR_GOOD;
}

/* How many ranks Open MPI starts by default: it respects the cpuset, but not the affinity mask. */
static uint32_t slots(const struct doctor_system *s)
{
	return (uint32_t)cpuset_count(s->launcher.hardware_threads ? &s->online : &s->cores);
}

static enum doctor_level judge_open_mpi(const struct doctor_system *s, struct doctor_finding *out)
{
	uint32_t ranks = s->launcher.ranks;

	if (ranks == 0 && !s->launcher.hosts)
		ranks = slots(s); /* as many as possible */
	if (ranks > slots(s) && slots(s) > 0 && ranks > 2 && !s->launcher.hosts)
		return say_unbound(out, "Open MPI binds none when there are more ranks than cores");
	doctor_advise(out, "Use `%s --bind-to none`.", s->program.name);
	if (ranks <= 2) {
		doctor_say(out,
			"By default Open MPI binds %s to a core of its own. juggle gives the "
			"binding back whenever it stands aside.",
			ranks == 0   ? "one or two ranks each"
			: ranks == 1 ? "a single rank"
				     : "two ranks each");
		return DOCTOR_WARNING;
	}
	doctor_say(out, "By default Open MPI binds three or more ranks to packages or NUMA nodes. "
			"juggle gives the binding back whenever it stands aside.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_mpi_binding(
	const struct doctor_system *s, struct doctor_finding *out)
{
	const char *from, *value = binding(s, &from);

	/* With a juggle in each rank, the binding gives its CPUs: another rule has that. The same
	 * with srun. */
	if (is_juggle(&s->inner) || s->launcher.kind == DOCTOR_SRUN)
		return DOCTOR_NONE;
	if (value != NULL && is_unbound(value)) {
		return has_mpi(s) ? say_unbound(out, from) : DOCTOR_NONE;
	}
	if (value != NULL) {
		doctor_say(out,
			"%s binds ranks (%.60s). juggle moves them nevertheless, but when it "
			"stands aside they get their binding back.",
			from, value);
		doctor_advise(out, "Turn it off: `--bind-to none` (Open MPI, MPICH), I_MPI_PIN=off "
				   "(Intel), MV2_ENABLE_AFFINITY=0 (MVAPICH2).");
		return has_mpi(s) || s->command == NULL ? DOCTOR_WARNING : DOCTOR_NOTE;
	}
	switch (s->launcher.kind) {
	case DOCTOR_OPEN_MPI:
		return judge_open_mpi(s, out);
	case DOCTOR_HYDRA:
		if (doctor_env(s, "I_MPI_ROOT") == NULL)
			return say_unbound(out, "MPICH's default; MVAPICH2 binds");
		doctor_say(out, "By default Intel MPI binds ranks. juggle gives the binding back "
				"whenever it stands aside.");
		doctor_advise(out, "`export I_MPI_PIN=off`.");
		return DOCTOR_WARNING;
	case DOCTOR_UNKNOWN_MPI:
		doctor_say(
			out, "doctor does not know %s, which may bind the ranks.", s->program.name);
		doctor_advise(out, "Its manual says how to turn binding off.");
		return DOCTOR_NOTE;
	default:
		return DOCTOR_NONE;
	}
}

static enum doctor_level judge_srun(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->launcher.kind != DOCTOR_SRUN || is_juggle(&s->inner))
		return DOCTOR_NONE;
	doctor_say(out,
		"Ranks that srun starts are not its children: juggle around srun would find "
		"no threads.");
	doctor_advise(out, "Put juggle after it: `srun juggle ./app` with one rank on each node, "
			   "or with several the script per-node of juggle-batch(7), `srun "
			   "./per-node ./app`.");
	return DOCTOR_PROBLEM;
}

static enum doctor_level judge_inner_juggle(
	const struct doctor_system *s, struct doctor_finding *out)
{
	const char *from, *value = binding(s, &from);

	if (!is_juggle(&s->inner))
		return DOCTOR_NONE;
	bool to_core = value != NULL &&
		       (strstr(value, "core") != NULL || strstr(value, "hwthread") != NULL);
	if (to_core ||
		(value == NULL && s->launcher.kind == DOCTOR_OPEN_MPI && s->launcher.ranks <= 2)) {
		doctor_say(out,
			"Each rank has its own juggle, which is bound to one core and so has "
			"nothing to balance.");
		doctor_advise(out,
			"`mpirun --map-by numa --bind-to numa juggle ./app`, or on one node "
			"`juggle mpirun --bind-to none ./app`.");
		return DOCTOR_WARNING;
	}
	if (s->launcher.ranks != 1 && (value == NULL || is_unbound(value)) &&
		s->launcher.kind != DOCTOR_SRUN) {
		doctor_say(out, "Each rank has its own juggle. Those on one node get in each "
				"other's way unless they are bound to different CPUs.");
		doctor_advise(out, "On one node: `juggle mpirun ... ./app`. On several nodes: one "
				   "rank on each, or `--map-by numa --bind-to numa`.");
		return DOCTOR_WARNING;
	}
	doctor_say(out, "Each rank has its own juggle, which balances the threads of that rank.");
	return DOCTOR_GOOD;
}

static enum doctor_level judge_hosts(const struct doctor_system *s, struct doctor_finding *out)
{
	if (!s->launcher.elsewhere || is_juggle(&s->inner))
		return DOCTOR_NONE;
	doctor_say(out, "The options name hosts. Ranks on other nodes are not below this juggle, "
			"which does not balance them.");
	doctor_advise(out, "With several threads in each rank, put juggle after the launcher: "
			   "`mpirun --map-by numa --bind-to numa juggle ./app`.");
	return DOCTOR_WARNING;
}

static bool is_set(const struct doctor_system *s, const char *name)
{
	const char *value = doctor_env(s, name);

	return value != NULL && !is_off(value) && strcmp(value, "0") != 0;
}

static enum doctor_level judge_slots(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_launcher *launcher = &s->launcher;

	if (launcher->kind != DOCTOR_OPEN_MPI || launcher->ranks <= slots(s) || slots(s) == 0 ||
		launcher->oversubscribe || launcher->hosts ||
		is_set(s, "OMPI_MCA_rmaps_base_oversubscribe"))
		return DOCTOR_NONE;
	/* These set how many ranks there may be. */
	if (doctor_env(s, "SLURM_JOB_ID") != NULL || doctor_env(s, "PBS_JOBID") != NULL)
		return DOCTOR_NONE;
	doctor_say(out, "By default Open MPI refuses %u ranks on %u core%s.", launcher->ranks,
		slots(s), slots(s) == 1 ? "" : "s");
	doctor_advise(out, "Use `%s --oversubscribe`.", s->program.name);
	return DOCTOR_PROBLEM;
}

static enum doctor_level judge_ranks(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_program *target = doctor_target(s);

	if (s->launcher.ranks == 0 || s->threads > 0 || s->launcher.elsewhere ||
		is_juggle(&s->inner) || s->launcher.kind == DOCTOR_SRUN)
		return DOCTOR_NONE;
	if (openmp_of(target) != NULL && omp_threads(s) > 0)
		return DOCTOR_NONE; /* the rule on threads reports it */
	return doctor_judge_fit(s, s->launcher.ranks, "ranks", out);
}

static enum doctor_level judge_mpi_wait(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_launcher *launcher = &s->launcher;

	if (launcher->kind != DOCTOR_OPEN_MPI || launcher->ranks == 0)
		return DOCTOR_NONE;
	if (launcher->yield || is_set(s, "OMPI_MCA_mpi_yield_when_idle")) {
		doctor_say(out, "Ranks that wait for messages yield (mpi_yield_when_idle).");
		return DOCTOR_GOOD;
	}
	if (launcher->hosts || launcher->ranks > slots(s))
		return DOCTOR_NONE; /* Open MPI handles it */
	doctor_say(out, "With a core for each rank, Open MPI's ranks spin while they wait for "
			"messages, even if they must share CPUs.");
	doctor_advise(out, "If they share CPUs: `--mca mpi_yield_when_idle 1`.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_single_copy(
	const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_program *target = doctor_target(s);

	if (!s->container || target == NULL ||
		(s->launcher.kind != DOCTOR_OPEN_MPI && !is_open_mpi(target)) ||
		doctor_env(s, "OMPI_MCA_btl_vader_single_copy_mechanism") != NULL)
		return DOCTOR_NONE;
	doctor_say(out, "Containers without ptrace forbid the system call by which Open MPI 4 "
			"copies messages between processes.");
	doctor_advise(out, "If it complains about process_vm_readv or CMA: "
			   "`export OMPI_MCA_btl_vader_single_copy_mechanism=none`.");
	return DOCTOR_NOTE;
}

const struct doctor_rule doctor_rules_program[] = {
	{"command", DOCTOR_COMMAND, judge_command},
	{"launched_program", DOCTOR_COMMAND, judge_inner},
	{"command_privileges", DOCTOR_COMMAND, judge_privileged},
	{"command_kind", DOCTOR_COMMAND, judge_kind},
	{"command_progress", DOCTOR_COMMAND, judge_progress},
	{"command_phases", DOCTOR_COMMAND, judge_phases},
	{"command_wrapper", DOCTOR_COMMAND, judge_wrapper},
	{"command_juggle", DOCTOR_COMMAND, judge_juggle},
	{"omp_binding", DOCTOR_OPENMP, judge_omp_binding},
	{"omp_wait", DOCTOR_OPENMP, judge_omp_wait},
	{"omp_dynamic", DOCTOR_OPENMP, judge_omp_dynamic},
	{"omp_threads", DOCTOR_OPENMP, judge_omp_threads},
	{"mpi_srun", DOCTOR_MPI, judge_srun},
	{"mpi_binding", DOCTOR_MPI, judge_mpi_binding},
	{"mpi_slots", DOCTOR_MPI, judge_slots},
	{"mpi_ranks", DOCTOR_MPI, judge_ranks},
	{"mpi_wait", DOCTOR_MPI, judge_mpi_wait},
	{"mpi_hosts", DOCTOR_MPI, judge_hosts},
	{"mpi_inner_juggle", DOCTOR_MPI, judge_inner_juggle},
	{"mpi_single_copy", DOCTOR_MPI, judge_single_copy},
	{0},
};
