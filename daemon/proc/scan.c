/* SPDX-License-Identifier: MIT */
/*
 * Walking the tree of the job's processes while it changes.
 *
 * /proc shows no two processes at the same instant. Births during a scan do no harm:
 * proc_watch reports them, and the next scan finds them. Ends do harm: the children of a
 * task that ended move to another parent. That parent may have been read already, and no
 * birth would start another scan. So a scan collects signs that a task ended meanwhile, and
 * starts over when there are any:
 *  - a task that was listed is gone when it is read, or is a zombie. (The kernel's lists of
 *    threads and children skip an entry only when an earlier one has ended, and the scan
 *    notices that one when its turn comes.)
 *  - a parent has a new child at the end of the walk. It came from a process that ended
 *    before the scan listed it.
 *  - with by_ppid: the parent of a process is not there.
 * Some signs stay, such as a zombie that its parent never waits for. So a walk with the same
 * signs as the one before it is good enough.
 *
 * With hidepid (see proc(5)), a root of another user is hidden, and its lists of children with
 * it. by_ppid still finds the children of our own user: each of them names its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/proc/map.h"
#include "daemon/proc/proc.h"
#include "daemon/proc/read.h"

enum {
	WALKS_MAX = 4,
	DENTS_BYTES = 32768,
	NONE = -1,
};

struct pid_list {
	pid_t *pids;
	size_t n;
	size_t max;
};

/* A process of the job. */
struct member {
	pid_t pid;
	pid_t reaper; /* its first living thread, which inherits the others' children */
	bool has_children;
};

/* A process of the machine, for by_ppid. */
struct relation {
	pid_t pid;
	pid_t ppid;
	ssize_t first_child; /* index, or NONE */
	ssize_t next_sibling;
};

/* What getdents64 writes; see getdents(2). */
struct dent {
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

struct proc_scan {
	struct proc_scan_options options;
	bool by_ppid; /* in this walk */
	int proc_fd;
	bool settled;
	uint64_t signs; /* the sum of the hashes of this walk's signs */
	uint64_t signs_before;

	struct member *members;
	size_t n_members;
	size_t max_members;
	struct proc_map seen; /* the members' pids, and `except` */

	struct proc_thread *threads;
	size_t n_threads;
	size_t max_threads;
	size_t n_known; /* threads that were left out as the caller knows them */
	struct proc_map seen_tids;

	struct relation *relations;
	size_t n_relations;
	size_t max_relations;
	struct proc_map relation_of;

	struct pid_list more_roots;
	struct pid_list listed; /* of the folder that is being read */
	struct pid_list children; /* of the thread that is being read */
	char *text;
	size_t max_text;
	alignas(uint64_t) char dents[DENTS_BYTES];
};

/* Returns array, moved if needed to have room for at least `need` elements; or NULL, with array
 * still valid. */
static void *grown(void *array, size_t *max, size_t need, size_t element_bytes)
{
	size_t larger = *max ? *max : 64;

	if (need <= *max)
		return array;
	while (larger < need)
		larger *= 2;
	array = reallocarray(array, larger, element_bytes);
	if (array)
		*max = larger;
	return array;
}

static int pid_list_reserve(struct pid_list *list, size_t need)
{
	pid_t *pids = grown(list->pids, &list->max, need, sizeof(*pids));

	if (!pids)
		return -ENOMEM;
	list->pids = pids;
	return 0;
}

/* Note a sign that this task ended, or moved, during the walk. */
static void note_sign(struct proc_scan *scan, pid_t pid)
{
	uint64_t hash = (uint64_t)pid * UINT64_C(0x9e3779b97f4a7c15);

	scan->signs += hash ^ hash >> 29;
}

/* Returns 0 when the scan goes on although a task could not be read, else the error. */
static int tolerate(struct proc_scan *scan, pid_t pid, int error)
{
	if (error == -ESRCH) {
		note_sign(scan, pid);
		return 0;
	}
	/* A process of another user, hidden by hidepid: juggle could not balance it anyway. */
	if (error == -EACCES || error == -EPERM)
		return 0;
	return error;
}

/* Put those names in folder fd that are numbers into scan->listed. */
static int list_folder(struct proc_scan *scan, int fd)
{
	struct pid_list *list = &scan->listed;

	list->n = 0;
	for (;;) {
		/* Not readdir(), because opendir() allocates. */
		long got = syscall(SYS_getdents64, fd, scan->dents, sizeof(scan->dents));

		if (got < 0)
			return errno == ENOENT ? -ESRCH : -errno;
		if (got == 0)
			return 0;
		for (long at = 0; at < got;) {
			const struct dent *dent = (const struct dent *)(scan->dents + at);
			int r = pid_list_reserve(list, list->n + 1);

			if (r < 0)
				return r;
			if (proc_parse_pids(
				    dent->name, strlen(dent->name), &list->pids[list->n], 1) == 1)
				list->n++;
			at += dent->bytes;
		}
	}
}

/* Put the children of thread tid into scan->children. */
static int list_children(struct proc_scan *scan, int task_fd, pid_t tid)
{
	__attribute__((cleanup(proc_close_fd))) int fd = -1;
	char path[PROC_PATH_BYTES];
	size_t filled = 0;

	scan->children.n = 0;
	snprintf(path, sizeof(path), "%d/children", (int)tid);
	fd = proc_open_at(task_fd, path, 0);
	if (fd < 0)
		return fd;
	for (;;) {
		char *text = grown(scan->text, &scan->max_text, filled + 1, 1);
		ssize_t n;

		if (!text)
			return -ENOMEM;
		scan->text = text;
		n = proc_read_fd(fd, text + filled, scan->max_text - filled);
		if (n < 0)
			return (int)n;
		filled += (size_t)n;
		if (filled < scan->max_text)
			break;
	}
	for (;;) {
		ssize_t n = proc_parse_pids(
			scan->text, filled, scan->children.pids, scan->children.max);
		int r;

		if (n < 0)
			return (int)n;
		scan->children.n = (size_t)n;
		if (scan->children.n <= scan->children.max)
			return 0;
		r = pid_list_reserve(&scan->children, scan->children.n);
		if (r < 0)
			return r;
	}
}

static int add_member(struct proc_scan *scan, pid_t pid)
{
	struct member *members =
		grown(scan->members, &scan->max_members, scan->n_members + 1, sizeof(*members));
	int r;

	if (!members)
		return -ENOMEM;
	scan->members = members;
	r = proc_map_add(&scan->seen, pid, scan->n_members);
	if (r > 0)
		members[scan->n_members++] = (struct member){.pid = pid};
	return r < 0 ? r : 0;
}

static int add_thread(struct proc_scan *scan, const struct proc_thread *thread)
{
	struct proc_thread *threads =
		grown(scan->threads, &scan->max_threads, scan->n_threads + 1, sizeof(*threads));
	int r;

	if (!threads)
		return -ENOMEM;
	scan->threads = threads;
	r = proc_map_add(&scan->seen_tids, thread->tid, scan->n_threads);
	if (r > 0)
		threads[scan->n_threads++] = *thread;
	return r < 0 ? r : 0;
}

static int visit_children(struct proc_scan *scan, size_t member, int task_fd, pid_t tid)
{
	int r = list_children(scan, task_fd, tid);

	for (size_t i = 0; r == 0 && i < scan->children.n; i++) {
		r = add_member(scan, scan->children.pids[i]);
		scan->members[member].has_children = true;
	}
	return r;
}

static int visit_relations(struct proc_scan *scan, pid_t pid)
{
	const size_t *at = proc_map_get(&scan->relation_of, pid);
	ssize_t child = at ? scan->relations[*at].first_child : NONE;
	int r = 0;

	for (; r == 0 && child != NONE; child = scan->relations[child].next_sibling)
		r = add_member(scan, scan->relations[child].pid);
	return r;
}

static int visit_thread(struct proc_scan *scan, size_t member, int task_fd, pid_t tid)
{
	struct proc_thread thread = {.pid = scan->members[member].pid};
	char path[PROC_PATH_BYTES];
	int r;

	/* Read the state last: a thread that is alive then still had its children when they were
	 * read. */
	if (!scan->by_ppid) {
		r = visit_children(scan, member, task_fd, tid);
		if (r < 0)
			return r;
	}
	snprintf(path, sizeof(path), "%d/stat", (int)tid);
	r = proc_read_stat_at(task_fd, path, &thread);
	if (r < 0)
		return r;
	if (thread.state == 'Z' || thread.state == 'X' || thread.state == 'x') {
		note_sign(scan, tid);
		return 0;
	}
	if (!scan->members[member].reaper)
		scan->members[member].reaper = tid;
	if (thread.pid == scan->options.root && !scan->options.include_root)
		return 0;
	return add_thread(scan, &thread);
}

static int open_task(const struct proc_scan *scan, pid_t pid)
{
	char path[PROC_PATH_BYTES];

	snprintf(path, sizeof(path), "%d/task", (int)pid);
	return proc_open_at(scan->proc_fd, path, O_DIRECTORY);
}

static int visit_threads(struct proc_scan *scan, size_t member)
{
	const struct proc_scan_options *options = &scan->options;
	pid_t pid = scan->members[member].pid;
	__attribute__((cleanup(proc_close_fd))) int task_fd = open_task(scan, pid);
	int r;

	if (task_fd < 0)
		return tolerate(scan, pid, task_fd);
	/* List all threads before reading the first. When one ends meanwhile, its children move to
	 * a thread that is listed, and is read after that. */
	r = list_folder(scan, task_fd);
	if (r < 0)
		return tolerate(scan, pid, r);
	for (size_t i = 0; i < scan->listed.n; i++) {
		pid_t tid = scan->listed.pids[i];

		if (scan->by_ppid && options->is_known &&
			options->is_known(options->context, pid, tid)) {
			scan->n_known++;
			continue;
		}
		r = tolerate(scan, tid, visit_thread(scan, member, task_fd, tid));
		if (r < 0)
			return r;
	}
	return 0;
}

static int visit_member(struct proc_scan *scan, size_t member)
{
	int r = visit_threads(scan, member);

	/* A process that can't be read (any more) may still have children. */
	return r == 0 && scan->by_ppid ? visit_relations(scan, scan->members[member].pid) : r;
}

/* Does a process have a child that it did not have when it was read? */
static int revisit_member(struct proc_scan *scan, size_t member)
{
	pid_t pid = scan->members[member].pid;
	__attribute__((cleanup(proc_close_fd))) int task_fd = -1;
	int r;

	if (!scan->members[member].has_children || !scan->members[member].reaper)
		return 0;
	task_fd = open_task(scan, pid);
	r = task_fd < 0 ? task_fd : list_children(scan, task_fd, scan->members[member].reaper);
	if (r < 0)
		return tolerate(scan, pid, r);
	for (size_t i = 0; i < scan->children.n; i++)
		if (!proc_map_get(&scan->seen, scan->children.pids[i]))
			note_sign(scan, scan->children.pids[i]);
	return 0;
}

static int relate_to(struct proc_scan *scan, pid_t pid, pid_t ppid)
{
	struct relation *relations = grown(
		scan->relations, &scan->max_relations, scan->n_relations + 1, sizeof(*relations));
	int r;

	if (!relations)
		return -ENOMEM;
	scan->relations = relations;
	r = proc_map_add(&scan->relation_of, pid, scan->n_relations);
	if (r > 0)
		relations[scan->n_relations++] = (struct relation){
			.pid = pid,
			.ppid = ppid,
			.first_child = NONE,
			.next_sibling = NONE,
		};
	return r < 0 ? r : 0;
}

static int add_relation(struct proc_scan *scan, pid_t pid)
{
	struct proc_thread leader;
	char path[PROC_PATH_BYTES];
	int r;

	snprintf(path, sizeof(path), "%d/task/%d/stat", (int)pid, (int)pid);
	r = proc_read_stat_at(scan->proc_fd, path, &leader);
	return r < 0 ? tolerate(scan, pid, r) : relate_to(scan, pid, leader.ppid);
}

static int add_hidden_root(struct proc_scan *scan)
{
	return proc_map_get(&scan->relation_of, scan->options.root)
		       ? 0
		       : relate_to(scan, scan->options.root, 0);
}

/* One pass over all processes of the machine. */
static int relate(struct proc_scan *scan)
{
	int r;

	proc_map_clear(&scan->relation_of);
	scan->n_relations = 0;
	if (lseek(scan->proc_fd, 0, SEEK_SET) < 0)
		return -errno;
	r = list_folder(scan, scan->proc_fd);
	for (size_t i = 0; r == 0 && i < scan->listed.n; i++)
		r = add_relation(scan, scan->listed.pids[i]);
	if (r == 0)
		r = add_hidden_root(scan);
	if (r < 0)
		return r;
	/* From the last to the first, so that children end up in the order of their pids. */
	for (size_t i = scan->n_relations; i-- > 0;) {
		struct relation *relation = &scan->relations[i];
		const size_t *parent = proc_map_get(&scan->relation_of, relation->ppid);

		if (parent) {
			relation->next_sibling = scan->relations[*parent].first_child;
			scan->relations[*parent].first_child = (ssize_t)i;
		} else if (relation->ppid != 0) {
			note_sign(scan, relation->pid);
		}
	}
	return 0;
}

/* Has the job more threads, each with its list of children, than the machine has processes? Their
 * number is that of the links to /proc, but for a few. */
static bool has_many_threads(const struct proc_scan *scan)
{
	struct stat st;

	return fstat(scan->proc_fd, &st) == 0 && scan->n_threads + scan->n_known > st.st_nlink;
}

static int walk(struct proc_scan *scan)
{
	int r = 0;

	scan->by_ppid = scan->options.by_ppid || has_many_threads(scan);
	proc_map_clear(&scan->seen);
	proc_map_clear(&scan->seen_tids);
	scan->n_members = 0;
	scan->n_threads = 0;
	scan->n_known = 0;
	scan->signs = 0;
	if (scan->by_ppid)
		r = relate(scan);
	if (r == 0 && scan->options.except)
		r = proc_map_add(&scan->seen, scan->options.except, 0);
	if (r < 0)
		return r;
	r = add_member(scan, scan->options.root);
	for (size_t i = 0; r == 0 && i < scan->more_roots.n; i++)
		r = add_member(scan, scan->more_roots.pids[i]);
	for (size_t i = 0; r == 0 && i < scan->n_members; i++)
		r = visit_member(scan, i);
	/* From the leaves up, as orphans move up. */
	for (size_t i = scan->n_members; r == 0 && i-- > 0;)
		r = revisit_member(scan, i);
	return r;
}

static bool is_hidden(const struct proc_scan *scan, pid_t pid)
{
	__attribute__((cleanup(proc_close_fd))) int task_fd = open_task(scan, pid);

	return task_fd < 0;
}

int proc_scan_new(struct proc_scan **out, const struct proc_scan_options *options)
{
	struct proc_scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return -ENOMEM;
	scan->options = *options;
	scan->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (scan->proc_fd < 0) {
		int error = -errno;

		proc_scan_free(scan);
		return error;
	}
	/* Kernels built without CONFIG_PROC_CHILDREN. */
	if (faccessat(scan->proc_fd, "thread-self/children", F_OK, 0) < 0)
		scan->options.by_ppid = true;
	if (is_hidden(scan, options->root))
		scan->options.by_ppid = true;
	*out = scan;
	return 0;
}

void proc_scan_free(struct proc_scan *scan)
{
	if (!scan)
		return;
	proc_close_fd(&scan->proc_fd);
	proc_map_deinit(&scan->seen);
	proc_map_deinit(&scan->seen_tids);
	proc_map_deinit(&scan->relation_of);
	free(scan->members);
	free(scan->threads);
	free(scan->relations);
	free(scan->more_roots.pids);
	free(scan->listed.pids);
	free(scan->children.pids);
	free(scan->text);
	free(scan);
}

int proc_scan_add_root(struct proc_scan *scan, pid_t pid)
{
	struct pid_list *roots = &scan->more_roots;
	int r = pid_list_reserve(roots, roots->n + 1);

	if (r == 0)
		roots->pids[roots->n++] = pid;
	return r;
}

int proc_scan_run(struct proc_scan *scan, const struct proc_thread **threads, size_t *n)
{
	scan->settled = false;
	for (int i = 0; i < WALKS_MAX && !scan->settled; i++) {
		int r = walk(scan);

		if (r < 0)
			return r;
		scan->settled = scan->signs == 0 || scan->signs == scan->signs_before;
		scan->signs_before = scan->signs;
	}
	*threads = scan->threads;
	*n = scan->n_threads;
	return 0;
}

size_t proc_scan_known(const struct proc_scan *scan)
{
	return scan->n_known;
}

bool proc_scan_settled(const struct proc_scan *scan)
{
	return scan->settled;
}
