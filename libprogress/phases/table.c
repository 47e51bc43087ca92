/* SPDX-License-Identifier: MIT */
/*
 * The table of this process; see table.h.
 *
 * Nothing here waits, prints or fails: what can't be done is left, and the program runs on unseen.
 */
#include "libprogress/phases/table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libprogress/phases/make.h"
#include "libprogress/phases/phases.h"
#include "libprogress/phases/site.h"
#include "libprogress/phases/wait.h"

/* Above what programs, select(2) included, usually have. */
#define DESCRIPTOR_MIN 200

enum { NOT_YET, BEGUN, MADE, OFF };

static struct {
	_Atomic int state;
	struct phases_table *table;
	int fd; /* of a table of its own, or -1 */
	dev_t device; /* its file, as the program may have closed the descriptor and opened another */
	ino_t inode;
	pid_t pid;
	bool prepared;
	pthread_key_t key; /* gives rows back */
	_Atomic uint32_t given_back; /* a row that is probably free, + 1 */
	_Atomic bool tasks;
} guest = {.fd = -1};

/* At the end of a thread. */
static void give_row_back(void *memory)
{
	struct phases_row *row = memory;
	uint32_t tid = wait_forget_row();

	if (tid && atomic_load_explicit(&row->tid, memory_order_relaxed) == tid) {
		atomic_store_explicit(&row->pid, 0, memory_order_relaxed);
		atomic_store_explicit(&row->tid, 0, memory_order_release);
		atomic_store_explicit(&guest.given_back, (uint32_t)(row - guest.table->row) + 1,
			memory_order_relaxed);
	}
}

static bool is_our_file(int fd)
{
	struct stat file;
	return fstat(fd, &file) == 0 && file.st_dev == guest.device && file.st_ino == guest.inode;
}

/* In the child of a fork: it has the thread that forked, which has no row yet. A table of the
 * parent's own is left to the parent. */
static void after_fork(void)
{
	int saved = errno;

	wait_forget_all();
	atomic_store(&guest.given_back, 0);
	guest.pid = getpid();
	if (atomic_load(&guest.state) == BEGUN)
		atomic_store(&guest.state, NOT_YET);
	if (guest.fd >= 0) {
		if (is_our_file(guest.fd))
			close(guest.fd);
		guest.fd = -1;
		phases_unmap(guest.table);
		guest.table = NULL;
		sites_forget();
		atomic_store(&guest.state, NOT_YET);
	}
	errno = saved;
}

/* A table of its own, for whoever attaches to this process: its descriptor stays open, out of the
 * program's way. */
static int make_own(void)
{
	struct rlimit limit;
	struct stat file;
	int low;

	int error = phases_make(&low, &guest.table);
	if (error < 0)
		return error;
	guest.fd = fcntl(low, F_DUPFD_CLOEXEC, DESCRIPTOR_MIN);
	if (guest.fd < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		guest.fd = fcntl(low, F_DUPFD_CLOEXEC, (int)(limit.rlim_cur / 4 * 3));
	close(low);
	if (guest.fd < 0 || fstat(guest.fd, &file) < 0) {
		phases_unmap(guest.table);
		return -1;
	}
	guest.device = file.st_dev;
	guest.inode = file.st_ino;
	guest.table->header.pid = (uint32_t)guest.pid;
	return 0;
}

/* The process may have executed this program after another one, which could not give its rows back. */
static void give_back_rows_of_before(void)
{
	uint32_t used = atomic_load(&guest.table->header.rows_used);

	for (uint32_t i = 0; i < used && i < PHASES_ROWS; i++) {
		struct phases_row *row = &guest.table->row[i];
		if (atomic_load_explicit(&row->pid, memory_order_acquire) == (uint32_t)guest.pid) {
			atomic_store(&row->pid, 0);
			atomic_store(&row->tid, 0);
		}
	}
}

/* Juggle's table. Anything but a plain file is not even opened, as that could have effects. */
static int map_juggles(const char *path)
{
	struct stat file;

	if (stat(path, &file) < 0 || !S_ISREG(file.st_mode))
		return -1;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	int error = phases_map(fd, true, &guest.table);
	close(fd);
	if (error == 0)
		give_back_rows_of_before();
	return error;
}

static int prepare(void)
{
	if (!guest.prepared && (pthread_key_create(&guest.key, give_row_back) != 0 ||
				       pthread_atfork(NULL, NULL, after_fork) != 0))
		return -1;
	guest.prepared = true;
	guest.pid = getpid();
	const char *path = secure_getenv(PHASES_ENVIRONMENT);
	return path && path[0] ? map_juggles(path) : make_own();
}

struct phases_table *table_get(void)
{
	int state = atomic_load_explicit(&guest.state, memory_order_acquire);
	if (state == NOT_YET && atomic_compare_exchange_strong(&guest.state, &state, BEGUN)) {
		state = prepare() == 0 ? MADE : OFF;
		atomic_store_explicit(&guest.state, state, memory_order_release);
	}
	return state == MADE ? guest.table : NULL;
}

static bool take(struct phases_row *row, uint32_t tid)
{
	uint32_t none = 0;
	return atomic_load_explicit(&row->tid, memory_order_relaxed) == 0 &&
	       atomic_compare_exchange_strong(&row->tid, &none, tid);
}

/* Rows that were never used come before those that were given back by others, which have to be
 * looked for. */
static struct phases_row *find_row(struct phases_table *table, uint32_t tid)
{
	uint32_t given_back = atomic_exchange(&guest.given_back, 0);
	if (given_back && take(&table->row[given_back - 1], tid))
		return &table->row[given_back - 1];

	uint32_t used = atomic_load(&table->header.rows_used);
	while (used < PHASES_ROWS) {
		if (!atomic_compare_exchange_weak(&table->header.rows_used, &used, used + 1))
			continue;
		if (take(&table->row[used], tid))
			return &table->row[used];
		used++;
	}
	for (uint32_t i = 0; i < PHASES_ROWS; i++) {
		if (take(&table->row[i], tid))
			return &table->row[i];
	}
	return NULL;
}

struct phases_row *table_take_row(uint32_t tid)
{
	struct phases_table *table = table_get();
	if (!table)
		return NULL;
	struct phases_row *row = find_row(table, tid);
	if (!row)
		return NULL;
	if (pthread_setspecific(guest.key, row) != 0) {
		atomic_store(&row->tid, 0);
		return NULL;
	}
	atomic_store_explicit(&row->arrivals, 0, memory_order_relaxed);
	atomic_store_explicit(&row->turns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->since_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->waited_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->turn_cpu_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->useful_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->before_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&row->site, 0, memory_order_relaxed);
	atomic_store_explicit(
		&row->flags, atomic_load(&guest.tasks) ? PHASES_TASKS : 0, memory_order_relaxed);
	atomic_store_explicit(&table->resting[row - table->row], 0, memory_order_relaxed);
	atomic_store_explicit(&row->pid, (uint32_t)guest.pid, memory_order_release);
	atomic_fetch_add(&table->header.changes, 1);
	return row;
}

void table_mark_tasks(void)
{
	if (atomic_load_explicit(&guest.tasks, memory_order_relaxed) ||
		atomic_exchange(&guest.tasks, true))
		return;
	if (atomic_load_explicit(&guest.state, memory_order_acquire) != MADE)
		return;
	struct phases_table *table = guest.table;
	uint32_t used = atomic_load(&table->header.rows_used);
	for (uint32_t i = 0; i < used && i < PHASES_ROWS; i++) {
		struct phases_row *row = &table->row[i];
		if (atomic_load(&row->tid) != 0 && atomic_load(&row->pid) == (uint32_t)guest.pid)
			atomic_fetch_or(&row->flags, PHASES_TASKS);
	}
}
