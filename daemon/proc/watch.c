/* SPDX-License-Identifier: MIT */
/*
 * /proc/loadavg: whether threads may have been born, at the cost of one read, and how many run.
 *
 * The last field of /proc/loadavg is the newest pid or tid in the reader's pid namespace (the
 * reader's, whatever namespace /proc was mounted for). Tasks of namespaces below it have a number
 * in it, too. So it shows every birth in the job, or in a container inside the job. Births
 * elsewhere in the namespace cost a needless scan.
 *
 * Every difference counts, so the wrap-around of pids is harmless: it hides births only if the
 * whole range of pids is used up between two calls and ends on the very same number. (A program
 * that picks its children's pids itself, with clone3's set_tid or ns_last_pid, can hide them:
 * checkpoint-restore tools do.)
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "daemon/proc/proc.h"
#include "daemon/proc/read.h"

/* The kernel gives out a pid some microseconds before its thread shows in /proc. The parent may be
 * preempted in between, for a slice of each thread that shares its CPU, and a scan would come too
 * early. So the answer is yes again at the next call, and at the last of these calls. */
enum { CALLS_TO_SETTLE = 8 };

void proc_watch_init(struct proc_watch *watch)
{
	struct statfs fs;
	int fd = proc_open_at(AT_FDCWD, "/proc/loadavg", 0);

	*watch = (struct proc_watch){.trusted = fd >= 0, .fd = fd};
	/* lxcfs mounts a file of its own there, with another namespace's numbers. */
	if (fd < 0 || fstatfs(fd, &fs) < 0 || (unsigned long)fs.f_type != PROC_SUPER_MAGIC)
		proc_watch_deinit(watch);
}

void proc_watch_deinit(struct proc_watch *watch)
{
	if (watch->trusted)
		close(watch->fd);
	*watch = (struct proc_watch){.fd = -1};
}

static bool read_load(const struct proc_watch *watch, struct proc_load *out)
{
	char text[128];
	ssize_t n;

	do
		n = pread(watch->fd, text, sizeof(text), 0);
	while (n < 0 && errno == EINTR);
	return n >= 0 && proc_parse_load(text, (size_t)n, out) == 0;
}

bool proc_watch_changed(struct proc_watch *watch)
{
	struct proc_load load;

	if (!watch->trusted)
		return true;
	if (!read_load(watch, &load)) {
		proc_watch_deinit(watch);
		return true;
	}
	if (load.last_pid != watch->last_pid) {
		watch->last_pid = load.last_pid;
		watch->settling = CALLS_TO_SETTLE;
		return true;
	}
	if (watch->settling == 0)
		return false;
	watch->settling--;
	return watch->settling == CALLS_TO_SETTLE - 1 || watch->settling == 0;
}

int proc_running(void)
{
	struct proc_watch watch;
	struct proc_load load;

	proc_watch_init(&watch);
	int running = read_load(&watch, &load) ? load.running - 1 : -1;
	proc_watch_deinit(&watch);
	return running;
}
