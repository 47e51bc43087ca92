/* SPDX-License-Identifier: MIT */
/*
 * Command lines of launchers; see launcher.h.
 *
 * To find where the program begins among the arguments, we must know the options that take values.
 * An option that is not in the table counts as one without a value, and leaves a remark. Words are
 * compared without the one or two dashes before them, since launchers accept either.
 */
#include "tools/doctor/launcher.h"

#include "daemon/base/parse.h"

#include <stdio.h>
#include <string.h>

enum meaning { IGNORED, RANKS, BIND, MAP, OVERSUBSCRIBE, HARDWARE_THREADS, HOSTS, MCA };

struct option {
	const char *name;
	int values;
	enum meaning meaning;
};

static const struct option open_mpi[] = {
	{"n", 1, RANKS},
	{"np", 1, RANKS},
	{"c", 1, RANKS},
	{"bind-to", 1, BIND},
	{"map-by", 1, MAP},
	{"oversubscribe", 0, OVERSUBSCRIBE},
	{"host", 1, HOSTS},
	{"H", 1, HOSTS},
	{"hostfile", 1, HOSTS},
	{"machinefile", 1, HOSTS},
	{"mca", 2, MCA},
	{"gmca", 2, MCA},
	{"prtemca", 2, MCA},
	{"pmixmca", 2, IGNORED},
	{"rank-by", 1, IGNORED},
	{"x", 1, IGNORED},
	{"N", 1, IGNORED},
	{"npernode", 1, IGNORED},
	{"npersocket", 1, IGNORED},
	{"cpu-set", 1, IGNORED},
	{"cpu-list", 1, IGNORED},
	{"wdir", 1, IGNORED},
	{"wd", 1, IGNORED},
	{"path", 1, IGNORED},
	{"prefix", 1, IGNORED},
	{"output-filename", 1, IGNORED},
	{"output", 1, IGNORED},
	{"rankfile", 1, IGNORED},
	{"rf", 1, IGNORED},
	{"timeout", 1, IGNORED},
	{"stdin", 1, IGNORED},
	{"app", 1, IGNORED},
	{"tune", 1, IGNORED},
	{"am", 1, IGNORED},
	{"display-map", 0, IGNORED},
	{"display-allocation", 0, IGNORED},
	{"display", 1, IGNORED},
	{"nooversubscribe", 0, IGNORED},
	{"use-hwthread-cpus", 0, HARDWARE_THREADS},
	{"report-bindings", 0, IGNORED},
	{"tag-output", 0, IGNORED},
	{"timestamp-output", 0, IGNORED},
	{"allow-run-as-root", 0, IGNORED},
	{"quiet", 0, IGNORED},
	{"q", 0, IGNORED},
	{"v", 0, IGNORED},
	{"verbose", 0, IGNORED},
	{"enable-recovery", 0, IGNORED},
	{NULL, 0, IGNORED},
};

static const struct option hydra[] = {
	{"n", 1, RANKS},
	{"np", 1, RANKS},
	{"bind-to", 1, BIND},
	{"binding", 1, BIND},
	{"map-by", 1, IGNORED},
	{"membind", 1, IGNORED},
	{"hosts", 1, HOSTS},
	{"host", 1, HOSTS},
	{"f", 1, HOSTS},
	{"hostfile", 1, HOSTS},
	{"machinefile", 1, HOSTS},
	{"ppn", 1, IGNORED},
	{"perhost", 1, IGNORED},
	{"env", 2, IGNORED},
	{"genv", 2, IGNORED},
	{"envlist", 1, IGNORED},
	{"genvlist", 1, IGNORED},
	{"wdir", 1, IGNORED},
	{"launcher", 1, IGNORED},
	{"iface", 1, IGNORED},
	{"rmk", 1, IGNORED},
	{"outfile-pattern", 1, IGNORED},
	{"errfile-pattern", 1, IGNORED},
	{"prepend-pattern", 1, IGNORED},
	{"envall", 0, IGNORED},
	{"genvall", 0, IGNORED},
	{"envnone", 0, IGNORED},
	{"genvnone", 0, IGNORED},
	{"l", 0, IGNORED},
	{"prepend-rank", 0, IGNORED},
	{"verbose", 0, IGNORED},
	{"v", 0, IGNORED},
	{NULL, 0, IGNORED},
};

static const struct option slurm[] = {
	{"n", 1, RANKS},
	{"ntasks", 1, RANKS},
	{"cpu-bind", 1, BIND},
	{"cpu_bind", 1, BIND},
	{"w", 1, HOSTS},
	{"nodelist", 1, HOSTS},
	{"N", 1, IGNORED},
	{"nodes", 1, IGNORED},
	{"c", 1, IGNORED},
	{"cpus-per-task", 1, IGNORED},
	{"p", 1, IGNORED},
	{"partition", 1, IGNORED},
	{"A", 1, IGNORED},
	{"account", 1, IGNORED},
	{"t", 1, IGNORED},
	{"time", 1, IGNORED},
	{"J", 1, IGNORED},
	{"job-name", 1, IGNORED},
	{"o", 1, IGNORED},
	{"output", 1, IGNORED},
	{"e", 1, IGNORED},
	{"error", 1, IGNORED},
	{"i", 1, IGNORED},
	{"input", 1, IGNORED},
	{"D", 1, IGNORED},
	{"chdir", 1, IGNORED},
	{"m", 1, IGNORED},
	{"distribution", 1, IGNORED},
	{"q", 1, IGNORED},
	{"qos", 1, IGNORED},
	{"C", 1, IGNORED},
	{"constraint", 1, IGNORED},
	{"mpi", 1, IGNORED},
	{"mem", 1, IGNORED},
	{"mem-per-cpu", 1, IGNORED},
	{"ntasks-per-node", 1, IGNORED},
	{"hint", 1, IGNORED},
	{"export", 1, IGNORED},
	{"gres", 1, IGNORED},
	{"exclusive", 0, IGNORED},
	{"overlap", 0, IGNORED},
	{"l", 0, IGNORED},
	{"label", 0, IGNORED},
	{"u", 0, IGNORED},
	{"unbuffered", 0, IGNORED},
	{"v", 0, IGNORED},
	{"verbose", 0, IGNORED},
	{"s", 0, IGNORED},
	{"oversubscribe", 0, IGNORED},
	{NULL, 0, IGNORED},
};

static const struct option *table_of(enum doctor_launcher_kind kind)
{
	switch (kind) {
	case DOCTOR_HYDRA:
		return hydra;
	case DOCTOR_SRUN:
		return slurm;
	default: /* most use the names of Open MPI */
		return open_mpi;
	}
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

enum doctor_launcher_kind doctor_launcher_kind(const struct doctor_program *program)
{
	static const struct {
		const char *name;
		enum doctor_launcher_kind kind;
	} known[] = {{"orterun", DOCTOR_OPEN_MPI}, {"prterun", DOCTOR_OPEN_MPI},
		{"mpirun.openmpi", DOCTOR_OPEN_MPI}, {"mpiexec.openmpi", DOCTOR_OPEN_MPI},
		{"mpiexec.hydra", DOCTOR_HYDRA}, {"mpirun.mpich", DOCTOR_HYDRA},
		{"mpiexec.mpich", DOCTOR_HYDRA}, {"srun", DOCTOR_SRUN},
		{"mpirun", DOCTOR_UNKNOWN_MPI}, {"mpiexec", DOCTOR_UNKNOWN_MPI}};
	const char *names[] = {file_name(program->path), file_name(program->name)};

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
			if (strcmp(names[i], known[k].name) != 0)
				continue;
			if (known[k].kind != DOCTOR_UNKNOWN_MPI)
				return known[k].kind;
			if (doctor_library(program, "libopen-rte.so") != NULL ||
				doctor_library(program, "libprrte.so") != NULL)
				return DOCTOR_OPEN_MPI;
			return DOCTOR_UNKNOWN_MPI;
		}
	return DOCTOR_NO_LAUNCHER;
}

/* "localhost", "localhost:4,localhost". */
static bool is_local(const char *hosts)
{
	static const char name[] = "localhost";

	for (;; hosts++) {
		if (strcspn(hosts, ":,") != strlen(name) || strncmp(hosts, name, strlen(name)) != 0)
			return false;
		hosts += strcspn(hosts, ",");
		if (*hosts == '\0')
			return true;
	}
}

/* value2: the second value, or "" for options that take one. */
static void apply(
	struct doctor_launcher *out, enum meaning meaning, const char *value, const char *value2)
{
	int64_t ranks;

	switch (meaning) {
	case RANKS:
		/* Numbers of ranks of several programs, separated by colons, add up. */
		if (parse_integer(value, 0, 10000000, &ranks) == 0 && out->ranks <= 10000000)
			out->ranks += (uint32_t)ranks;
		break;
	case BIND:
		snprintf(out->bind, sizeof(out->bind), "%s", value);
		break;
	case MAP:
		if (strcasestr(value, "oversubscribe") != NULL &&
			strcasestr(value, "nooversubscribe") == NULL)
			out->oversubscribe = true;
		break;
	case OVERSUBSCRIBE:
		out->oversubscribe = true;
		break;
	case HARDWARE_THREADS:
		out->hardware_threads = true;
		break;
	case HOSTS:
		out->hosts = true;
		out->elsewhere |= !is_local(value);
		break;
	case MCA:
		if (strcmp(value, "mpi_yield_when_idle") == 0)
			out->yield = strcmp(value2, "0") != 0;
		else if (strcmp(value, "hwloc_base_binding_policy") == 0 ||
			 strcmp(value, "hwloc_default_binding_policy") == 0)
			snprintf(out->bind, sizeof(out->bind), "%s", value2);
		else if (strcmp(value, "rmaps_base_oversubscribe") == 0)
			out->oversubscribe = strcmp(value2, "0") != 0;
		break;
	case IGNORED:
		break;
	}
}

static const struct option *find(const struct option *option, const char *name, size_t length)
{
	for (; option->name != NULL; option++)
		if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
			return option;
	return NULL;
}

/* Read one option and its values. Returns how many words they take. */
static int read_option(
	struct doctor_launcher *out, const struct option *table, const char *const *word)
{
	bool two_dashes = word[0][1] == '-';
	const char *name = word[0] + 1 + two_dashes;
	const char *equals = strchr(name, '=');
	const struct option *option =
		find(table, name, equals != NULL ? (size_t)(equals - name) : strlen(name));
	int words = 1;

	if (option == NULL && !two_dashes && table == slurm && name[0] != '\0') {
		/* Short options may have their value attached: -n4. */
		option = find(table, name, 1);
		equals = name; /* the end of the option's name */
	}
	if (option == NULL) {
		out->unsure = true;
		return 1;
	}
	if (equals != NULL && option->values > 0) {
		apply(out, option->meaning, equals + 1, "");
		return 1;
	}
	for (int i = 0; i < option->values && word[words] != NULL; i++)
		words++;
	if (words < 1 + option->values)
		out->unsure = true; /* an option whose value is missing */
	else
		apply(out, option->meaning, option->values > 0 ? word[1] : "",
			option->values > 1 ? word[2] : "");
	return words;
}

void doctor_launcher_parse(
	struct doctor_launcher *out, enum doctor_launcher_kind kind, const char *const *command)
{
	const struct option *table = table_of(kind);
	int i = 1;

	*out = (struct doctor_launcher){.kind = kind, .program = -1};
	while (command[i] != NULL && command[i][0] == '-' && command[i][1] != '\0') {
		if (strcmp(command[i], "--") == 0) {
			i++;
			break;
		}
		i += read_option(out, table, command + i);
	}
	if (command[i] == NULL)
		return;
	out->program = i;
	/* Further programs: mpirun -n 1 a : -n 2 b. */
	for (; command[i] != NULL && kind != DOCTOR_SRUN; i++) {
		if (strcmp(command[i], ":") != 0)
			continue;
		while (command[i + 1] != NULL && command[i + 1][0] == '-')
			i += read_option(out, table, command + i + 1);
	}
}
