/* SPDX-License-Identifier: MIT */
/* Which job is meant: by a pid of it, a pid above it, its name, or because it is the only one. */
#include "live_internal.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What may be meant: a wrapped job, or one process of what is not wrapped. */
struct choice {
	const struct live_entry *entry;
	pid_t parent; /* of a rank; else 0 */
};

struct choices {
	struct live_entry *entry;
	size_t entries;
	struct choice *choice;
	size_t n;
};

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

static bool is_wrapped(const struct choices *all, const struct live_entry *progress)
{
	for (size_t i = 0; i < all->entries; i++) {
		const struct live_entry *job = &all->entry[i];
		pid_t top = job->attached ? job->job_pid : job->pid;
		if (job->kind == LIVE_JOB && job->state == LIVE_RUNS && job->uid == progress->uid &&
			top > 0 && live_is_below(progress->pid, top))
			return true;
	}
	return false;
}

/* All ranks below one mpirun are one choice. */
static bool is_new_rank(const struct choices *all, const struct live_entry *entry, pid_t parent)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->choice[i].parent == parent && all->choice[i].entry->uid == entry->uid)
			return false;
	return true;
}

static int list_choices(struct choices *all)
{
	int error = live_list(&all->entry, &all->entries);

	if (error != 0)
		return error;
	all->choice = calloc(all->entries + 1, sizeof *all->choice);
	if (all->choice == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < all->entries; i++) {
		const struct live_entry *entry = &all->entry[i];
		pid_t parent = 0;
		if (entry->state != LIVE_RUNS)
			continue;
		if (entry->kind == LIVE_PROGRESS) {
			if (is_wrapped(all, entry))
				continue;
			if (live_rank(entry->pid) >= 0)
				parent = live_parent(entry->pid);
			if (parent != 0 && !is_new_rank(all, entry, parent))
				continue;
		}
		all->choice[all->n++] = (struct choice){.entry = entry, .parent = parent};
	}
	return 0;
}

/* Is one of the words of a command, without its folder, this name? */
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

/* How well a choice fits: 3 it is the very process, 2 the pid is within the job, 1 the pid stands
 * above it, or it has the name; 0 not at all. */
static int fits(const struct choice *choice, const char *name, pid_t pid)
{
	const struct live_entry *entry = choice->entry;
	bool job = entry->kind == LIVE_JOB;
	pid_t top = job && entry->attached ? entry->job_pid : entry->pid;

	if (pid == 0)
		return has_word(entry->command, name);
	if (entry->pid == pid || (job && entry->job_pid == pid))
		return 3;
	if (choice->parent != 0 && live_parent(pid) == choice->parent && live_rank(pid) >= 0)
		return 2;
	if (top > 0 && live_is_below(pid, top))
		return 2;
	return live_is_below(entry->pid, pid) || (job && live_is_below(entry->job_pid, pid));
}

/* "123 (ubench), 456 (mpirun)", as far as it fits. */
static void name_choices(const struct choice *const *choice, size_t n, char *out, size_t bytes)
{
	size_t filled = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		char one[64];
		const char *command = choice[i]->entry->command;
		int word = (int)strcspn(command, " ");
		const char *slash = memrchr(command, '/', (size_t)word);
		int skip = slash == NULL ? 0 : (int)(slash + 1 - command);
		int length = snprintf(one, sizeof one, "%s%d (%.*s)", i > 0 ? ", " : "",
			(int)choice[i]->entry->pid, word - skip < 20 ? word - skip : 20,
			command + skip);
		if (filled + (size_t)length + sizeof " ..." > bytes) {
			snprintf(out + filled, bytes - filled, " ...");
			return;
		}
		memcpy(out + filled, one, (size_t)length + 1);
		filled += (size_t)length;
	}
}

/* Why nothing fits: of a pid whose segment can't be used, why it can't. */
static int explain(const struct choices *all, const char *name, pid_t pid, struct live_error *error)
{
	bool foreign = false;

	for (size_t i = 0; i < all->entries; i++) {
		const struct live_entry *entry = &all->entry[i];
		foreign = foreign || entry->state == LIVE_FOREIGN;
		if (pid == 0 || (entry->pid != pid && entry->job_pid != pid))
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
	if (name != NULL)
		return fail(
			error, -ENOENT, "no job %.60s: jugglectl list shows what there is", name);
	return fail(error, -ENOENT, "nothing runs under juggle or publishes its progress%s",
		foreign ? ", but for other users" : "");
}

static int choose(const struct choices *all, const char *name, const struct choice **out,
	struct live_error *error)
{
	const struct choice **found = calloc(all->n + 1, sizeof(struct choice *));
	pid_t pid = name != NULL && name[0] != '\0' && name[strspn(name, "0123456789")] == '\0'
			    ? (pid_t)strtol(name, NULL, 10)
			    : 0;
	int best = 1;
	size_t n = 0;

	if (found == NULL)
		return fail(error, -ENOMEM, "not enough memory");
	for (size_t i = 0; i < all->n; i++) {
		int fit = name == NULL ? 1 : fits(&all->choice[i], name, pid);
		if (fit > best)
			n = 0;
		if (fit >= best) {
			best = fit;
			found[n++] = &all->choice[i];
		}
	}
	int code = 0;
	if (n == 0) {
		code = explain(all, name, pid, error);
	} else if (n > 1) {
		char list[120];
		name_choices(found, n, list, sizeof list);
		code = fail(error, -ENOTUNIQ, "several jobs, name one: %s", list);
	} else {
		*out = found[0];
	}
	free(found);
	return code;
}

static int open_choice(const struct choice *choice, struct live_job **out, struct live_error *error)
{
	const struct live_entry *entry = choice->entry;
	struct live_job *job = calloc(1, sizeof *job);
	int code;

	if (job == NULL)
		return fail(error, -ENOMEM, "not enough memory");
	job->uid = entry->uid;
	memcpy(job->command, entry->command, sizeof job->command);
	if (entry->kind == LIVE_JOB) {
		job->pid = entry->pid;
		code = telemetry_reader_open(entry->pid, entry->uid, &job->reader, NULL);
	} else {
		job->parent = choice->parent;
		code = live_job_watch(job, entry->pid);
	}
	if (code != 0) {
		live_close(job);
		return fail(error, code, "%d: %s", (int)entry->pid,
			code == -ENOENT ? "it has just ended" : strerror(-code));
	}
	*out = job;
	return 0;
}

int live_open(const char *name, struct live_job **out, struct live_error *error)
{
	struct choices all = {0};
	const struct choice *choice = NULL;
	int code = list_choices(&all);

	if (code != 0)
		fail(error, code, "cannot look into /dev/shm: %s", strerror(-code));
	else
		code = choose(&all, name, &choice, error);
	if (code == 0)
		code = open_choice(choice, out, error);
	free(all.choice);
	free(all.entry);
	return code;
}
