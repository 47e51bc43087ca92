/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/base/file.h"
#include "daemon/base/text.h"
#include "daemon/proc/proc.h"

/* What the kernel leaves of a mask: it takes out CPUs that are offline or not in the cpuset.
 * Empty when nothing is left. The caller's own mask may be smaller than the cpuset, so only
 * setting a mask shows that; `own` is set again afterwards. */
static struct cpuset usable_part(const struct cpuset *mask, const struct cpuset *own)
{
	struct cpuset part = {{0}};

	if (act_set_mask(0, mask) == 0)
		(void)cpuset_of_thread(0, &part);
	(void)act_set_mask(0, own);
	return part;
}

/* -c with a CPU that cannot be used is an error, so that nobody measures less than was asked
 * for. */
static int check_cpus(struct options *options)
{
	struct cpuset own, all;
	char list[256];
	int r = cpuset_of_thread(0, &own);

	if (r < 0) {
		fprintf(stderr, "juggle: cannot determine which CPUs to use: %s\n", strerror(-r));
		return r;
	}
	if (!options->cpus_given) {
		options->cpus = own;
		return 0;
	}
	r = act_may_set_mask(0);
	if (r < 0) {
		fprintf(stderr, "juggle: cannot set affinity masks here: %s\n", strerror(-r));
		return r;
	}
	struct cpuset usable = usable_part(&options->cpus, &own);
	if (memcmp(&usable, &options->cpus, sizeof usable) == 0)
		return 0;
	memset(&all, 0xff, sizeof all);
	all = usable_part(&all, &own);
	cpuset_format(&all, list, sizeof list);
	fprintf(stderr, "juggle: -c names CPUs that cannot be used here; choose from %s\n", list);
	return -EINVAL;
}

static int check_speeds(const struct options *options)
{
	int cpus = cpuset_count(&options->cpus);

	if (options->speed == NULL || options->speeds == (size_t)cpus)
		return 0;
	fprintf(stderr, "juggle: --speeds: %zu speed%s for %d CPU%s\n", options->speeds,
		options->speeds == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s");
	return -EINVAL;
}

static int check_sampler(const struct options *options, enum sampler_kind *kind)
{
	struct sampler *sampler = NULL;
	int r = sampler_new(&sampler, options->sampler);

	if (r < 0) {
		const char *advice = sampler_advice(options->sampler, r);
		fprintf(stderr, "juggle: sampler %s does not work here (%s)%s%s\n",
			sampler_kind_name(options->sampler), strerror(-r), advice ? ": " : "",
			advice ? advice : "");
		return r;
	}
	*kind = sampler_kind(sampler);
	sampler_free(sampler);
	return 0;
}

/* May we move a thread? Setting its mask to what it is changes nothing. */
static int check_thread(pid_t tid)
{
	struct cpuset mask;
	int r = cpuset_of_thread(tid, &mask);

	return r == 0 ? act_set_mask(tid, &mask) : r;
}

/* May we move anything below another user's process? Returns 0; -EPERM when not; or another
 * negative errno. */
static int check_below(pid_t pid)
{
	struct proc_scan_options what = {.root = pid, .except = getpid()};
	const struct proc_thread *thread;
	struct proc_scan *scan;
	size_t n = 0;
	int r = proc_scan_new(&scan, &what);

	if (r < 0)
		return r;
	r = proc_scan_run(scan, &thread, &n);
	if (r == 0)
		r = -EPERM;
	for (size_t i = 0; r == -EPERM && i < n; i++)
		if (act_may_set_mask(thread[i].tid) == 0 && check_thread(thread[i].tid) == 0)
			r = 0;
	proc_scan_free(scan);
	return r;
}

static void explain_pid(pid_t pid, int error)
{
	if (error == -ESRCH)
		fprintf(stderr, "juggle: there is no process %d\n", (int)pid);
	else if (error == -EPERM)
		fprintf(stderr,
			"juggle: process %d is another user's, and no process below it is yours; "
			"only that user or root can balance it\n",
			(int)pid);
	else if (error == -EINVAL || error == -ENOENT) /* ENOENT since Linux 6.16 */
		fprintf(stderr, "juggle: %d is a thread, not a process\n", (int)pid);
	else
		fprintf(stderr, "juggle: cannot attach to process %d: %s\n", (int)pid,
			strerror(-error));
}

static bool is_kernel_thread(pid_t pid)
{
	struct proc_thread thread;

	return proc_read_thread(pid, pid, &thread) == 0 && thread.kernel;
}

/* Is the first process of this PID namespace above us? Not when we came from outside it, as with
 * `docker exec`: there it may be the program. */
static bool is_below_first(void)
{
	struct proc_thread process = {.ppid = getppid()};

	while (process.ppid > 1)
		if (proc_read_thread(process.ppid, process.ppid, &process) < 0)
			return false;
	return process.ppid == 1;
}

static int check_pid(pid_t pid, int *process_fd)
{
	if (pid == getpid()) { /* sh -c 'exec juggle -p $$' */
		fprintf(stderr, "juggle: process %d is this juggle itself\n", (int)pid);
		return -EINVAL;
	}
	if (pid == 1 && is_below_first()) {
		fprintf(stderr,
			"juggle: all programs here are below process 1, and so is this juggle; "
			"give -p the process of your program\n");
		return -EINVAL;
	}
	if (is_kernel_thread(pid)) {
		fprintf(stderr, "juggle: process %d is a thread of the kernel\n", (int)pid);
		return -EINVAL;
	}
	int r = check_thread(pid);
	if (r == -EPERM)
		r = check_below(pid);
	if (r == 0) {
		*process_fd = (int)syscall(SYS_pidfd_open, pid, 0u);
		r = *process_fd < 0 ? -errno : 0;
	}
	if (r < 0)
		explain_pid(pid, r);
	return r;
}

/* Can the file be written? It is made now, and filled later. */
static int check_output(const char *path, const char *option, int *fifo_fd)
{
	struct stat status;

	if (path == NULL)
		return 0;
	int fd = file_open_output(path, false);
	if (fd < 0) {
		text_line(stderr, "juggle: %s %s: %s", option, path,
			fd == -ENXIO ? "nobody reads from it" : strerror(-fd));
		return fd;
	}
	if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode))
		*fifo_fd = fd;
	else
		close(fd);
	return 0;
}

static int check_report(const char *path, int *fifo_fd)
{
	bool is_file = path != NULL && strcmp(path, "-") != 0;

	return is_file ? check_output(path, "--report", fifo_fd) : 0;
}

int checks_run(struct options *options, struct check_results *out)
{
	*out = (struct check_results){
		.sampler = options->sampler, .process_fd = -1, .fifo_fd = {-1, -1}};
	int r = check_cpus(options);
	if (r == 0)
		r = check_speeds(options);
	if (r == 0)
		r = check_sampler(options, &out->sampler);
	if (r == 0 && options->pid != 0)
		r = check_pid(options->pid, &out->process_fd);
	if (r == 0)
		r = check_report(options->report, &out->fifo_fd[0]);
	if (r == 0)
		r = check_output(options->trace, "--trace", &out->fifo_fd[1]);
	return r;
}
