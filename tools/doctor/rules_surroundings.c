/* SPDX-License-Identifier: MIT */
/* Rules about who we are, containers, batch systems, and shared memory. */
#include "tools/doctor/rule.h"

#include <string.h>

static enum doctor_level judge_privileges(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->may_move_others)
		doctor_say(out, "juggle may balance programs of any user (CAP_SYS_NICE).");
	else
		doctor_say(out, "juggle needs no privileges for your own programs (uid %ld).",
			(long)s->uid);
	return DOCTOR_GOOD;
}

static enum doctor_level judge_shm(const struct doctor_system *s, struct doctor_finding *out)
{
	double mb = (double)s->segment_bytes * 1e-6;

	if (s->shm_error != 0) {
		doctor_say(out,
			"/dev/shm can't be used (%s): juggle balances threads, but "
			"jugglectl can't show it, and programs can't publish their progress.",
			strerror(-s->shm_error));
		doctor_advise(out, "Mount a tmpfs there that everyone may write to.");
		return DOCTOR_WARNING;
	}
	if (s->shm_free_bytes < s->segment_bytes) {
		doctor_say(out, "/dev/shm has %.1f MB left, and juggle wants %.1f MB.",
			(double)s->shm_free_bytes * 1e-6, mb);
		doctor_advise(out,
			"`jugglectl clean` removes what killed processes left. Containers "
			"get more by `docker --shm-size`.");
		return DOCTOR_WARNING;
	}
	if (!s->shm_tmpfs) {
		doctor_say(out,
			"/dev/shm is not a tmpfs: what is published there may be written to a "
			"disk.");
		doctor_advise(out, "Mount a tmpfs there.");
		return DOCTOR_WARNING;
	}
	doctor_say(out, "/dev/shm has room for what juggle publishes.");
	return DOCTOR_GOOD;
}

static enum doctor_level judge_stale(const struct doctor_system *s, struct doctor_finding *out)
{
	if (s->stale_segments == 0)
		return DOCTOR_NONE;
	if (s->stale_segments == 1)
		doctor_say(out, "A dead process left its segment in /dev/shm.");
	else
		doctor_say(out, "Dead processes left %zu segments in /dev/shm.", s->stale_segments);
	doctor_advise(out, "`jugglectl clean` removes %s.", s->stale_segments == 1 ? "it" : "them");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_container(const struct doctor_system *s, struct doctor_finding *out)
{
	if (!s->container)
		return DOCTOR_NONE;
	doctor_say(out, "This is a container (it has process numbers of its own).");
	doctor_advise(out, "juggle sees and balances what runs inside, so run it inside, too. It "
			   "sees other work on the same CPUs only by its effect.");
	return DOCTOR_NOTE;
}

static enum doctor_level judge_batch(const struct doctor_system *s, struct doctor_finding *out)
{
	static const struct {
		const char *variable, *name;
	} systems[] = {{"SLURM_JOB_ID", "Slurm"}, {"PBS_JOBID", "PBS"}, {"OAR_JOB_ID", "OAR"},
		{"LSB_JOBID", "LSF"}, {"JOB_ID", "Grid Engine"}, {"COBALT_JOBID", "Cobalt"}};

	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
		const char *job = doctor_env(s, systems[i].variable);
		if (job == NULL)
			continue;
		/* JOB_ID is a common name: other software may set it, too. */
		if (strcmp(systems[i].variable, "JOB_ID") == 0 && doctor_env(s, "SGE_ROOT") == NULL)
			continue;
		const char *bind = doctor_env(s, "SLURM_CPU_BIND");
		doctor_say(out, "This is job %.40s of %s, with %d CPUs here%s%.60s.", job,
			systems[i].name, cpuset_count(&s->mask),
			bind != NULL ? "; SLURM_CPU_BIND is " : "", bind != NULL ? bind : "");
		doctor_advise(out, "Put options into JUGGLE_OPTIONS in the job script. For several "
				   "nodes see juggle-batch(7).");
		return DOCTOR_NOTE;
	}
	return DOCTOR_NONE;
}

static enum doctor_level judge_options(const struct doctor_system *s, struct doctor_finding *out)
{
	const char *options = doctor_env(s, "JUGGLE_OPTIONS");

	if (options == NULL || options[0] == '\0')
		return DOCTOR_NONE;
	doctor_say(out, "JUGGLE_OPTIONS is set, and read before the command line: %.300s", options);
	doctor_advise(out, "doctor does not check its contents.");
	return DOCTOR_NOTE;
}

const struct doctor_rule doctor_rules_surroundings[] = {
	{"privileges", DOCTOR_SURROUNDINGS, judge_privileges},
	{"shared_memory", DOCTOR_SURROUNDINGS, judge_shm},
	{"stale_segments", DOCTOR_SURROUNDINGS, judge_stale},
	{"container", DOCTOR_SURROUNDINGS, judge_container},
	{"batch_system", DOCTOR_SURROUNDINGS, judge_batch},
	{"juggle_options", DOCTOR_SURROUNDINGS, judge_options},
	{0},
};
