/* SPDX-License-Identifier: MIT */
/* Finds the job that the user means: by a pid in it or above it, by its name, or because it is the
 * only one. */
#include "tools/live/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* What the user asked for. */
struct wanted {
	const char *name; /* NULL: the only one */
	bool is_pid;
	pid_t above[LIVE_DEPTH]; /* that pid and its ancestors; none: there is no such process */
	size_t depth;
};

/* How well an entry fits. The best is its own pid, then that of its command, then a pid within it,
 * nearer ones first. Its name and a pid above it come last. */
enum { FITS_NOT, FITS_LOOSELY, FITS_WITHIN, FITS_COMMAND = FITS_WITHIN + LIVE_DEPTH, FITS_EXACTLY };

static int fail(struct live_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int fail(struct live_error *error, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof error->text, format, args);
	va_end(args);
	return code;
}

static struct wanted want(const char *name)
{
	struct wanted wanted = {.name = name};

	if (name == NULL || name[0] == '\0' || name[strspn(name, "0123456789")] != '\0')
		return wanted;
	wanted.is_pid = true;
	errno = 0;
	long pid = strtol(name, NULL, 10);
	if (errno == 0 && pid > 0 && pid <= INT_MAX)
		wanted.depth = live_ancestors((pid_t)pid, wanted.above);
	return wanted;
}

/* Is the name one of the words of a command, without its folder? */
static bool has_word(const char *command, const char *name)
{
	size_t length = strlen(name);

	while (*command != '\0') {
		size_t word = strcspn(command, " ");
		const char *slash = memrchr(command, '/', word);
		const char *begin = slash == NULL ? command : slash + 1;
		if ((size_t)(command + word - begin) == length && memcmp(begin, name, length) == 0)
			return true;
		command += word;
		command += strspn(command, " ");
	}
	return false;
}

/* Is the name that of its command, or of what started its ranks? */
static bool has_name(const struct live_entry *entry, const char *name)
{
	char launcher[LIVE_COMMAND_BYTES] = "";

	if (entry->launcher_pid != 0)
		live_command(entry->launcher_pid, launcher, sizeof launcher);
	return has_word(entry->command, name) || has_word(launcher, name);
}

/* Does the i-th ancestor of a pid belong to it? */
static bool is_part(const struct live_entry *entry, const struct wanted *wanted, size_t i)
{
	pid_t pid = wanted->above[i];

	if (pid == (entry->kind == LIVE_JOB ? live_job_top(entry) : entry->pid))
		return true;
	return entry->launcher_pid != 0 && i + 1 < wanted->depth &&
	       wanted->above[i + 1] == entry->launcher_pid && live_rank(pid) >= 0;
}

static int fits(const struct live_entry *entry, const struct wanted *wanted)
{
	bool job = entry->kind == LIVE_JOB;
	pid_t pid = wanted->above[0];

	if (wanted->name == NULL)
		return FITS_LOOSELY;
	if (!wanted->is_pid)
		return has_name(entry, wanted->name) ? FITS_LOOSELY : FITS_NOT;
	if (wanted->depth == 0)
		return FITS_NOT;
	if (entry->pid == pid)
		return FITS_EXACTLY;
	if (job && entry->job_pid == pid)
		return FITS_COMMAND;
	for (size_t i = 0; i < wanted->depth; i++)
		if (is_part(entry, wanted, i))
			return FITS_COMMAND - 1 - (int)i;
	return live_is_below(entry->pid, pid) || (job && live_is_below(entry->job_pid, pid))
		       ? FITS_LOOSELY
		       : FITS_NOT;
}

/* "123 (ubench), 456 (mpirun)", as many as fit. */
static void name_choices(const struct live_entry *const *choice, size_t n, char *out, size_t bytes)
{
	size_t filled = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		char one[64];
		const char *command = choice[i]->command;
		int word = (int)strcspn(command, " ");
		const char *slash = memrchr(command, '/', (size_t)word);
		int skip = slash == NULL ? 0 : (int)(slash + 1 - command);
		int length = snprintf(one, sizeof one, "%s%d (%.*s)", i > 0 ? ", " : "",
			(int)choice[i]->pid, word - skip < 20 ? word - skip : 20, command + skip);
		if (filled + (size_t)length + sizeof " ..." > bytes) {
			snprintf(out + filled, bytes - filled, " ...");
			return;
		}
		memcpy(out + filled, one, (size_t)length + 1);
		filled += (size_t)length;
	}
}

/* Explain why nothing fits. For a pid whose segment can't be used, explain that. */
static int explain(const struct live_entry *all, size_t n, const struct wanted *wanted,
	struct live_error *error)
{
	pid_t pid = wanted->above[0];
	bool foreign = false;

	for (size_t i = 0; i < n; i++) {
		const struct live_entry *entry = &all[i];
		foreign = foreign || entry->state == LIVE_FOREIGN;
		if (wanted->depth == 0 || (entry->pid != pid && entry->job_pid != pid))
			continue;
		switch (entry->state) {
		case LIVE_FOREIGN:
			return fail(error, -EACCES,
				"%d is a job of user %u, who alone can look at it", (int)pid,
				(unsigned)entry->uid);
		case LIVE_OTHER_VERSION:
			return fail(error, -EPROTO,
				"%s is written by another version (%u): use the jugglectl that "
				"came with it",
				entry->path, (unsigned)entry->version);
		case LIVE_STALE:
		case LIVE_UNSEEN:
			return fail(error, -ESRCH,
				"%d has ended without cleaning up: see jugglectl clean", (int)pid);
		case LIVE_STARTING:
			return fail(error, -EAGAIN, "%d is about to start: try again", (int)pid);
		default:
			return fail(error, -EBADMSG, "%s is damaged, or not what its name says",
				entry->path);
		}
	}
	if (wanted->name != NULL)
		return fail(error, -ENOENT, "no job %.60s: jugglectl list shows what there is",
			wanted->name);
	return fail(error, -ENOENT, "nothing runs under juggle or publishes its progress%s",
		foreign ? ", but for other users" : "");
}

int live_choose(const struct live_entry *all, size_t n, const char *name,
	const struct live_entry **out, struct live_error *error)
{
	const struct live_entry **found = calloc(n + 1, sizeof(struct live_entry *));
	const struct wanted wanted = want(name);
	int best = FITS_LOOSELY;
	size_t choices = 0;

	if (found == NULL)
		return fail(error, -ENOMEM, "not enough memory");
	for (size_t i = 0; i < n; i++) {
		int fit = live_is_choice(all, i) ? fits(&all[i], &wanted) : FITS_NOT;
		if (fit > best)
			choices = 0;
		if (fit >= best) {
			best = fit;
			found[choices++] = &all[i];
		}
	}
	int code = 0;
	if (choices == 0) {
		code = explain(all, n, &wanted, error);
	} else if (choices > 1) {
		char list[120];
		name_choices(found, choices, list, sizeof list);
		code = fail(error, -ENOTUNIQ, "several jobs, name one: %s", list);
	} else {
		*out = found[0];
	}
	free(found);
	return code;
}

int live_open_choice(
	const struct live_entry *choice, struct live_job **out, struct live_error *error)
{
	struct live_job *job = calloc(1, sizeof *job);
	int code;

	if (job == NULL)
		return fail(error, -ENOMEM, "not enough memory");
	job->uid = choice->uid;
	memcpy(job->command, choice->command, sizeof job->command);
	if (choice->kind == LIVE_JOB) {
		job->pid = choice->pid;
		code = telemetry_reader_open(choice->pid, choice->uid, &job->reader, NULL);
	} else {
		job->parent = choice->launcher_pid;
		code = live_job_watch(job, choice->pid);
	}
	if (code != 0) {
		live_close(job);
		return fail(error, code, "%d: %s", (int)choice->pid,
			code == -ENOENT ? "it has just ended" : strerror(-code));
	}
	*out = job;
	return 0;
}

void live_open_many(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int live_open(const char *name, struct live_job **out, struct live_error *error)
{
	struct live_entry *all = NULL;
	const struct live_entry *entry = NULL;
	size_t n = 0;
	int code = live_list(&all, &n);

	if (code != 0)
		fail(error, code, "cannot look into /dev/shm: %s", strerror(-code));
	else
		code = live_choose(all, n, name, &entry, error);
	if (code == 0)
		code = live_open_choice(entry, out, error);
	free(all);
	return code;
}

int live_choices(struct live_entry **out, size_t *n)
{
	struct live_entry *all = NULL, *chosen;
	size_t entries = 0;
	int error = live_list(&all, &entries);

	*out = NULL;
	*n = 0;
	if (error != 0)
		return error;
	chosen = calloc(entries + 1, sizeof *chosen);
	for (size_t i = 0; i < entries && chosen != NULL; i++)
		if (live_is_choice(all, i))
			chosen[(*n)++] = all[i];
	free(all);
	*out = chosen;
	return chosen == NULL ? -ENOMEM : 0;
}
