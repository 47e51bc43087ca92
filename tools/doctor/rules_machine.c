/* SPDX-License-Identifier: MIT */
/* Rules about CPUs, the kernel, and the reading of progress. */
#include "daemon/base/quota.h"
#include "tools/doctor/rule.h"
#include "tools/doctor/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { LIST_BYTES = 80 };
#define NS_PER_MS 1e6
#define LONG_TICK_NS 5000000 /* CONFIG_HZ 250 is usual */
#define FEW_FILES 256
#define LOAD_MOST 2 /* of each CPU; tests and builds alone may come near */

/* ---- CPUs ---- */

static enum doctor_level judge_affinity(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->affinity_error == 0)
		return DOCTOR_NONE;
	doctor_say(out, "The affinity mask can't be read (%s): juggle can't place threads.",
		strerror(-s->affinity_error));
	doctor_advise(out, "Let the sandbox or container allow sched_getaffinity and "
			   "sched_setaffinity.");
	return DOCTOR_PROBLEM;
}

static enum doctor_level judge_count(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES];
	int count = cpuset_count(&s->cpus);

	cpuset_format(&s->cpus, list, sizeof(list));
	if (doctor_refuses(s))
		return DOCTOR_NONE; /* another rule says so */
	if (count >= 2) {
		doctor_say(out, "juggle would use %d CPUs: %s.", count, list);
		return DOCTOR_GOOD;
	}
	if (count == 0)
		return DOCTOR_NONE; /* the mask could not be read */
	doctor_say(out, "There is only one CPU to use, %s: nothing can be balanced.", list);
	doctor_advise(out, "%s",
		s->cpus_given ? "Name more CPUs by -c."
			      : "`taskset`, a binding by MPI or OpenMP, the batch system or the "
				"container may have left only one; juggle -c can use others.");
	return DOCTOR_PROBLEM;
}

static enum doctor_level judge_given(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES];
	struct cpuset missing = doctor_without(&s->cpus, &s->online);
	const char *why = "offline, or missing";

	if (!doctor_refuses(s))
		return DOCTOR_NONE;
	if (cpuset_count(&missing) == 0) {
		missing = doctor_without(&s->cpus, &s->cpuset);
		why = "outside the cpuset";
	}
	cpuset_format(&missing, list, sizeof(list));
	doctor_say(out, "Of the CPUs given by -c, %s %s %s: juggle refuses them.", list,
		cpuset_count(&missing) == 1 ? "is" : "are", why);
	doctor_advise(out, "Leave them out, or ask for a larger allocation.");
	return DOCTOR_PROBLEM;
}

/* The load average has all that ran or waited, on any CPU. */
static enum doctor_level judge_load(const struct doctor_system *s, struct doctor_finding *out)
{
	int cpus = cpuset_count(&s->online);

	if (cpus == 0 || s->load <= LOAD_MOST * cpus)
		return DOCTOR_NONE;
	doctor_say(out,
		"The load average is %.1f on %d CPU%s: so many tasks ran here in the last minute, "
		"or "
		"waited for a CPU or a disk.",
		s->load, cpus, cpus == 1 ? "" : "s");
	doctor_advise(out,
		"A program gets only a share of the CPUs beside them, and times say little; `top` "
		"shows whose they are.");
	return DOCTOR_WARNING;
}

/* CPUs that may be used, but aren't. */
static enum doctor_level judge_mask(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES];
	const struct cpuset *may = cpuset_count(&s->cpuset) > 0 ? &s->cpuset : &s->online;
	struct cpuset unused = doctor_without(may, &s->mask);
	int n = cpuset_count(&unused);

	if (s->cpus_given || s->affinity_error != 0 || n == 0)
		return DOCTOR_NONE;
	cpuset_format(may, list, sizeof(list));
	doctor_say(out, "The affinity mask leaves out %d of the %d CPUs that could be used (%s).",
		n, cpuset_count(may), list);
	doctor_advise(out,
		"If this is not intended (`taskset`, or binding by MPI, OpenMP, the batch system), "
		"`juggle -c LIST` can use others. Don't use those of other jobs.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_cpuset(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES];

	if (cpuset_count(&s->cpuset) == 0)
		return DOCTOR_NONE;
	struct cpuset others = doctor_without(&s->online, &s->cpuset);
	if (cpuset_count(&others) == 0)
		return DOCTOR_NONE;
	cpuset_format(&s->cpuset, list, sizeof(list));
	doctor_say(out, "A cpuset limits this session to CPUs %s, %d of %d.", list,
		cpuset_count(&s->cpuset), cpuset_count(&s->online));
	doctor_advise(out,
		"juggle stays within it. Only the batch system or the container can give more "
		"(`docker --cpuset-cpus`).");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_quota(const struct doctor_system *s, struct doctor_finding *out)
{
	int count = cpuset_count(&s->cpus);

	if (!isfinite(s->quota_cpus))
		return DOCTOR_NONE;
	if (s->quota_cpus >= count) {
		doctor_say(out, "CPU time is limited to that of %.3g CPUs, which is enough for %d.",
			s->quota_cpus, count);
		return DOCTOR_GOOD;
	}
	doctor_say(out,
		"CPU time is limited to that of %.3g CPUs, and there are %d: the kernel stops all "
		"threads from time to time. juggle uses %d of them.",
		s->quota_cpus, count, quota_cpus_of(s->quota_cpus, count));
	doctor_advise(out, "Start no more threads than that (`juggle --fit`), or ask for CPUs of "
			   "your own instead of a limit (`docker --cpuset-cpus`).");
	return DOCTOR_WARNING;
}

static enum doctor_level judge_isolated(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES];
	struct cpuset mask = doctor_both(&s->cpus, &s->isolated);

	if (cpuset_count(&mask) == 0)
		return DOCTOR_NONE;
	cpuset_format(&mask, list, sizeof(list));
	doctor_say(out,
		"Isolated CPUs (isolcpus): %s. Linux does not spread threads over such CPUs, so "
		"they crowd on one whenever juggle stands aside.",
		list);
	doctor_advise(out, "Use --always, or other CPUs (-c).");
	return DOCTOR_WARNING;
}

static enum doctor_level judge_nohz_full(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES];
	struct cpuset mask = doctor_both(&s->cpus, &s->nohz_full);

	if (cpuset_count(&mask) == 0)
		return DOCTOR_NONE;
	cpuset_format(&mask, list, sizeof(list));
	doctor_say(out,
		"CPUs %s have no ticks while a single thread runs there (nohz_full). The CPU time "
		"of that thread may be out of date when juggle reads it.",
		list);
	doctor_advise(out, "Use --sampler perf, whose task clock is exact, or other CPUs (-c).");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_offline(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES];

	if (cpuset_count(&s->offline) == 0)
		return DOCTOR_NONE;
	cpuset_format(&s->offline, list, sizeof(list));
	doctor_say(out, "Offline: CPUs %s.", list);
	doctor_advise(out,
		"If a CPU goes offline during a run and comes back, juggle uses it again. It does "
		"not use CPUs that were offline at its start.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_smt(const struct doctor_system *s, struct doctor_finding *out)
{
	char list[LIST_BYTES];
	int cpus = cpuset_count(&s->cpus), cores = cpuset_count(&s->first);

	if (cores == 0 || cores == cpus)
		return DOCTOR_NONE;
	cpuset_format(&s->first, list, sizeof(list));
	doctor_say(out,
		"%d CPUs are hardware threads of %d cores: CPUs that share a core slow each other "
		"down, and CPU time does not show that.",
		cpus, cores);
	if (cores > 1)
		doctor_advise(out,
			"If the program is limited by computing, try one CPU a core: `juggle -c "
			"%s`%s.",
			list, strstr(list, "...") != NULL ? " (`lscpu -e` lists them)" : "");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_governor(const struct doctor_system *s, struct doctor_finding *out)
{
	/* With these drivers, "powersave" follows the load; with others, it means the lowest
	 * speed. */
	bool by_load = strcmp(s->driver, "intel_pstate") == 0 ||
		       strcmp(s->driver, "amd-pstate-epp") == 0 ||
		       strcmp(s->driver, "amd_pstate_epp") == 0; /* before Linux 6.6 */

	if (strcmp(s->governor, "powersave") == 0 && !by_load) {
		doctor_say(out, "The frequency governor powersave keeps the CPUs at their lowest "
				"frequency.");
		doctor_advise(out, "Use another: `cpupower frequency-set -g performance`.");
		return DOCTOR_WARNING;
	}
	if (strcmp(s->governor, "several") != 0)
		return DOCTOR_NONE;
	doctor_say(out, "The CPUs have different frequency governors, and so may differ in speed.");
	doctor_advise(out, "Use the same on all: `cpupower frequency-set -g performance`.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_domains(const struct doctor_system *s, struct doctor_finding *out)
{
	/* CPUs that are not there have no domain. */
	if (s->domains == 0 || doctor_refuses(s))
		return DOCTOR_NONE;
	if (s->domains == 1) {
		doctor_say(out, "The CPUs are in one NUMA domain.");
		return DOCTOR_GOOD;
	}
	doctor_say(out,
		"The CPUs are in %zu NUMA domains: each is balanced on its own, and threads stay "
		"near their memory.",
		s->domains);
	doctor_advise(out, "If threads do not divide evenly among the domains, try "
			   "--domains joint, which makes all CPUs one pool.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_threads(const struct doctor_system *s, struct doctor_finding *out)
{
	return doctor_judge_fit(s, s->threads, "threads", out);
}

/* ---- Kernel ---- */

static enum doctor_level judge_version(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->kernel.major == 0)
		return DOCTOR_NONE;
	if (doctor_version_from(&s->kernel, 6, 6, 0)) {
		doctor_say(out, "Linux %s schedules by EEVDF.", s->release);
		return DOCTOR_GOOD;
	}
	doctor_say(out, "Linux %s has the scheduler from before 6.6 (CFS), or a vendor's own.",
		s->release);
	doctor_advise(out, "juggle works, but its numbers were measured with 6.18. Measure here "
			   "(jugglectl compare).");
	return DOCTOR_NOTE;
}

/* "sched/fair: Forfeit vruntime on yield" fixed what EEVDF had broken. */
static enum doctor_level judge_yield(const struct doctor_system *s, struct doctor_finding *out)
{
	const struct doctor_version *v = &s->kernel;
	bool is_612 = v->major == 6 && v->minor == 12, is_617 = v->major == 6 && v->minor == 17;

	if (v->major == 0 || !doctor_version_from(v, 6, 6, 0) || doctor_version_from(v, 6, 18, 2) ||
		(is_612 && v->patch >= 63) || (is_617 && v->patch >= 13))
		return DOCTOR_NONE;
	doctor_say(out,
		"In Linux %d.%d.%d, threads that yield at barriers (sched_yield) may be "
		"kept from running for too long.",
		v->major, v->minor, v->patch);
	doctor_advise(out,
		"Let waiting threads sleep (OMP_WAIT_POLICY=passive), or use 6.12.63, 6.18.2 or "
		"later. A distribution may have fixed it in its own kernel.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_slices(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->kernel.major == 0 || doctor_version_from(&s->kernel, 6, 12, 0))
		return DOCTOR_NONE;
	doctor_say(out,
		"This kernel gives no short time slices on request (6.12 and later do): the "
		"balancer may wait some milliseconds for a CPU.");
	doctor_advise(out, "Use longer periods if balancing seems late (-i 20ms).");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_sched_ext(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->sched_ext[0] == '\0')
		return DOCTOR_NONE;
	doctor_say(out, "sched_ext has loaded another scheduler: %s.", s->sched_ext);
	doctor_advise(out, "juggle was not measured with it: compare with and without juggle "
			   "(jugglectl compare).");
	return DOCTOR_WARNING;
}

static enum doctor_level judge_autogroup(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->autogroup != 1)
		return DOCTOR_NONE;
	doctor_say(out, "Autogroups are on: where cgroups don't divide CPU time, sessions share it "
			"first, and nice values count only within a session.");
	doctor_advise(out, "A busy program in another terminal may take half of a CPU, however "
			   "nice it is. `sysctl kernel.sched_autogroup_enabled=0` turns it off.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_tick(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->tick_ns == 0)
		return DOCTOR_NONE;
	double ms = (double)s->tick_ns / NS_PER_MS;
	if (s->tick_ns < LONG_TICK_NS) {
		doctor_say(out, "The timer ticks every %.3g ms.", ms);
		return DOCTOR_GOOD;
	}
	doctor_say(out,
		"The timer ticks only every %.3g ms: the CPU time of a running thread may be "
		"that old, and time slices end late.",
		ms);
	doctor_advise(out,
		"Use periods of two ticks or more (-i %.0fms), or --sampler perf, whose "
		"task clock is exact.",
		2 * ms);
	return DOCTOR_NOTE;
}

static enum doctor_level judge_seccomp(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->seccomp < 1)
		return DOCTOR_NONE;
	doctor_say(out, "System calls are filtered here (seccomp). doctor can't tell whether "
			"sched_setaffinity passes, because it never calls it.");
	doctor_advise(out,
		"Common profiles let it pass. `taskset -c %d true` fails if it is forbidden; then "
		"ask for it to be allowed.",
		cpuset_nth(&s->cpus, 0) < 0 ? 0 : cpuset_nth(&s->cpus, 0));
	return DOCTOR_NOTE;
}

/* ---- Progress ---- */

static bool works(const struct doctor_system *s, enum sampler_kind kind)
{
	return s->sampler_error[kind] == 0;
}

static enum doctor_level judge_proc(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->proc_error == 0)
		return DOCTOR_NONE;
	if (s->proc_error == -EXDEV)
		doctor_say(out, "/proc is that of another process namespace: juggle can't find the "
				"threads of a program in it.");
	else
		doctor_say(out,
			"/proc can't be used (%s): juggle can't find the threads of a program.",
			strerror(-s->proc_error));
	doctor_advise(out, "Mount the namespace's own /proc: `mount -t proc proc /proc`, or "
			   "`unshare --mount-proc`.");
	return DOCTOR_PROBLEM;
}

static enum doctor_level judge_samplers(const struct doctor_system *s, struct doctor_finding *out)
{
	for (enum sampler_kind kind = SAMPLER_SCHEDSTAT; kind < DOCTOR_SAMPLERS; kind++)
		if (works(s, kind)) {
			doctor_say(out, "Progress can be read: --sampler auto uses %s.",
				sampler_kind_name(kind));
			return kind == SAMPLER_SCHEDSTAT ? DOCTOR_GOOD : DOCTOR_NOTE;
		}
	doctor_say(out, "No sampler works: juggle can't see the threads' progress.");
	doctor_advise(out, "For schedstat: %s.",
		sampler_advice(SAMPLER_SCHEDSTAT, s->sampler_error[SAMPLER_SCHEDSTAT]));
	return DOCTOR_PROBLEM;
}

static enum doctor_level judge_sampler(const struct doctor_system *s, enum sampler_kind kind,
	const char *what, struct doctor_finding *out)
{
	if (works(s, kind)) {
		doctor_say(out, "--sampler %s works, %s.", sampler_kind_name(kind), what);
		return DOCTOR_GOOD;
	}
	doctor_say(out, "--sampler %s does not work here (%s).", sampler_kind_name(kind),
		strerror(-s->sampler_error[kind]));
	doctor_advise(out, "With that option juggle says: %s.",
		sampler_advice(kind, s->sampler_error[kind]));
	return DOCTOR_NOTE;
}

static enum doctor_level judge_taskstats(const struct doctor_system *s, struct doctor_finding *out)
{
	return judge_sampler(s, SAMPLER_TASKSTATS, "but schedstat costs less", out);
}

static enum doctor_level judge_perf(const struct doctor_system *s, struct doctor_finding *out)
{
	if (!works(s, SAMPLER_PERF) && s->sampler_error[SAMPLER_PERF] == -EPERM &&
		s->perf_paranoid > 2) {
		doctor_say(out, "--sampler perf is forbidden: kernel.perf_event_paranoid is %d.",
			s->perf_paranoid);
		doctor_advise(out, "To allow it: `sysctl kernel.perf_event_paranoid=2`.");
		return DOCTOR_NOTE;
	}
	return judge_sampler(s, SAMPLER_PERF,
		s->instructions ? "and counts instructions" : "and counts time, not instructions",
		out);
}

static enum doctor_level judge_files(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->open_files == 0 || s->open_files >= FEW_FILES)
		return DOCTOR_NONE;
	doctor_say(out,
		"A process may have no more than %llu files open (hard limit): threads beyond that "
		"are read at several times the cost.",
		(unsigned long long)s->open_files);
	doctor_advise(out, "`ulimit -Hn` shows the limit. Only the administrator, the batch "
			   "system or the container can raise it, for example to 1024.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_hidepid(const struct doctor_system *s, struct doctor_finding *out)
{
	if (!s->hidepid)
		return DOCTOR_NONE;
	doctor_say(out, "/proc hides the processes of other users (hidepid).");
	doctor_advise(out,
		"juggle can balance your own programs, but not set-uid programs, and not "
		"other users' processes (-p).");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_births(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->births_seen || s->proc_error != 0)
		return DOCTOR_NONE;
	doctor_say(out, "/proc/loadavg is not the kernel's own (lxcfs?): it does not show when "
			"threads start, and finding them costs more.");
	doctor_advise(out, "Use longer periods if the balancer uses much CPU time (-i 20ms).");
	return DOCTOR_NOTE;
}

const struct doctor_rule doctor_rules_machine[] = {
	{"affinity_mask", DOCTOR_CPUS, judge_affinity},
	{"cpu_count", DOCTOR_CPUS, judge_count},
	{"cpus_given", DOCTOR_CPUS, judge_given},
	{"cpu_load", DOCTOR_CPUS, judge_load},
	{"cpu_mask", DOCTOR_CPUS, judge_mask},
	{"cpuset", DOCTOR_CPUS, judge_cpuset},
	{"cpu_quota", DOCTOR_CPUS, judge_quota},
	{"threads", DOCTOR_CPUS, judge_threads},
	{"isolated_cpus", DOCTOR_CPUS, judge_isolated},
	{"nohz_full", DOCTOR_CPUS, judge_nohz_full},
	{"offline_cpus", DOCTOR_CPUS, judge_offline},
	{"smt", DOCTOR_CPUS, judge_smt},
	{"governor", DOCTOR_CPUS, judge_governor},
	{"numa_domains", DOCTOR_CPUS, judge_domains},
	{"kernel_version", DOCTOR_KERNEL, judge_version},
	{"sched_yield", DOCTOR_KERNEL, judge_yield},
	{"time_slices", DOCTOR_KERNEL, judge_slices},
	{"sched_ext", DOCTOR_KERNEL, judge_sched_ext},
	{"autogroup", DOCTOR_KERNEL, judge_autogroup},
	{"tick", DOCTOR_KERNEL, judge_tick},
	{"seccomp", DOCTOR_KERNEL, judge_seccomp},
	{"proc", DOCTOR_PROGRESS, judge_proc},
	{"samplers", DOCTOR_PROGRESS, judge_samplers},
	{"sampler_taskstats", DOCTOR_PROGRESS, judge_taskstats},
	{"sampler_perf", DOCTOR_PROGRESS, judge_perf},
	{"open_files", DOCTOR_PROGRESS, judge_files},
	{"hidepid", DOCTOR_PROGRESS, judge_hidepid},
	{"loadavg", DOCTOR_PROGRESS, judge_births},
	{0},
};
