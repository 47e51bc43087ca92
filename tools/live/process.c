/* SPDX-License-Identifier: MIT */
/* Whether a process still exists, and what its ancestors are. */
#include "tools/live/internal.h"

#include "daemon/proc/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Do other threads of a process still run after its main thread has ended? */
static bool has_threads(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	return stat(path, &st) == 0 && st.st_nlink > 3; /* two, and one more for each thread */
}

bool live_process_gone(pid_t pid, uint64_t created_ns)
{
	struct proc_thread leader;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	int error = proc_read_thread(pid, pid, &leader);
	if (error != 0) /* hidden, since it is another user's: it exists */
		return error == -ESRCH && kill(pid, 0) < 0 && errno == ESRCH;
	if ((leader.state == 'Z' || leader.state == 'X') && !has_threads(pid))
		return true;
	return created_ns != 0 && proc_birth_ns(leader.start_ticks) > created_ns;
}

/* Returns 1, 0, or -1 when its maps can't be read. */
static int maps(pid_t pid, uint64_t inode)
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return -1;
	while (!found && getline(&line, &room, file) > 0) {
		uint64_t mapped;
		found = sscanf(line, "%*s %*s %*s %*s %" SCNu64, &mapped) == 1 && mapped == inode;
	}
	free(line);
	/* Opening may be allowed when reading is not. */
	bool readable = ferror(file) == 0;
	fclose(file);
	return found ? 1 : readable ? 0 : -1;
}

bool live_is_juggle(pid_t pid, uint64_t inode)
{
	struct proc_thread leader;
	int answer = maps(pid, inode);

	if (answer >= 0)
		return answer == 1;
	return proc_read_thread(pid, pid, &leader) != 0 || strncmp(leader.comm, "juggle", 6) == 0;
}

/* Returns 0 when there is no parent, or it is unknown. */
static pid_t parent_of(pid_t pid)
{
	struct proc_thread leader;

	return proc_read_thread(pid, pid, &leader) == 0 ? leader.ppid : 0;
}

size_t live_ancestors(pid_t pid, pid_t above[LIVE_DEPTH])
{
	size_t n = 0;

	for (; pid > 0 && n < LIVE_DEPTH; pid = parent_of(pid))
		above[n++] = pid;
	return n;
}

bool live_is_below(pid_t pid, pid_t above)
{
	for (int depth = 0; pid > 0 && depth < LIVE_DEPTH; depth++) {
		if (pid == above)
			return true;
		pid = parent_of(pid);
	}
	return false;
}
