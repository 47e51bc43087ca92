/* SPDX-License-Identifier: MIT */
#include "daemon/progress/told.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libprogress/phases/make.h"

#define ARRIVALS_MOST ((UINT64_C(1) << 62) - 1) /* that a trace can hold */
#define DESCRIPTORS_MOST 4096 /* of a process, that are looked at */
#define TRIES 64 /* to read a row between two turns of its thread: some microseconds */
#define SWEEP_NS UINT64_C(10000000000)
/* What the kernel has counted of a thread that runs is a tick old, at most. */
#define TICK_NS UINT64_C(10000000)

static uint32_t parts_of(const struct told *told)
{
	uint32_t parts = atomic_load_explicit(&told->parts, memory_order_acquire);

	return parts < TOLD_TABLES ? parts : TOLD_TABLES;
}

/* How many rows to look at. */
static uint32_t rows_of(const struct phases_table *table)
{
	uint32_t rows = atomic_load_explicit(&table->header.rows_used, memory_order_acquire);

	return rows < PHASES_ROWS ? rows : PHASES_ROWS;
}

static uint64_t get(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t total;

	return __builtin_add_overflow(a, b, &total) ? UINT64_MAX : total;
}

/* ---- Tables ---- */

static void add_table(struct told *told, struct phases_table *table, pid_t pid)
{
	uint32_t parts = parts_of(told);

	told->part[parts].table = table;
	told->part[parts].pid = pid;
	atomic_store_explicit(&told->parts, parts + 1, memory_order_release);
}

void told_init(struct told *told, struct phases_table *table)
{
	*told = (struct told){0};
	if (table != NULL)
		add_table(told, table, 0);
}

void told_deinit(struct told *told)
{
	for (uint32_t k = 0; k < parts_of(told); k++)
		if (told->part[k].pid != 0)
			phases_unmap(told->part[k].table);
	*told = (struct told){0};
}

/* Is that link in /proc/PID/fd to a table? Whether it is one indeed, its mapping shows. */
static bool is_table(int folder, const char *name)
{
	static const char expected[] = "/memfd:" PHASES_MEMFD;
	char target[sizeof expected];
	ssize_t n = readlinkat(folder, name, target, sizeof target);

	/* " (deleted)" follows. */
	return n == (ssize_t)sizeof target && memcmp(target, expected, sizeof expected - 1) == 0 &&
	       target[sizeof expected - 1] == ' ';
}

/* NULL: it is none, or another process's, as a child has it between fork and exec. */
static struct phases_table *map_from(int folder, const char *name, pid_t pid)
{
	struct phases_table *table = NULL;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return NULL;
	int r = phases_map(fd, false, &table);
	close(fd);
	if (r == 0 && table->header.pid != (uint32_t)pid) {
		phases_unmap(table);
		table = NULL;
	}
	return table;
}

static struct phases_table *find_table(pid_t pid)
{
	struct phases_table *table = NULL;
	struct dirent *entry;
	char path[32];
	int seen = 0;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	DIR *folder = opendir(path);
	if (folder == NULL)
		return NULL;
	while (table == NULL && seen++ < DESCRIPTORS_MOST && (entry = readdir(folder)) != NULL)
		if (is_table(dirfd(folder), entry->d_name))
			table = map_from(dirfd(folder), entry->d_name, pid);
	closedir(folder);
	return table;
}

bool told_add_process(struct told *told, pid_t pid)
{
	for (uint32_t k = 0; k < parts_of(told); k++)
		if (told->part[k].pid == pid)
			return true;
	if (parts_of(told) == TOLD_TABLES)
		return false;
	struct phases_table *table = find_table(pid);
	if (table != NULL)
		add_table(told, table, pid);
	return table != NULL;
}

/* Free a row that is this thread's. Somebody else may take it at once. */
static void free_row(struct phases_row *row, uint32_t pid, uint32_t tid)
{
	if (tid == 0 || pid == 0 || atomic_load(&row->tid) != tid ||
		!atomic_compare_exchange_strong(&row->pid, &pid, 0))
		return;
	atomic_compare_exchange_strong(&row->tid, &tid, 0);
}

/* The job's table, which may be written; NULL: there is none. */
static struct phases_table *own_table(const struct told *told)
{
	return parts_of(told) > 0 && told->part[0].pid == 0 ? told->part[0].table : NULL;
}

void told_free_row(const struct told *told, int32_t row, pid_t pid, pid_t tid)
{
	struct phases_table *table = own_table(told);

	if (table != NULL && row >= 0 && row < PHASES_ROWS)
		free_row(&table->row[row], (uint32_t)pid, (uint32_t)tid);
}

static bool is_gone(uint32_t pid, uint32_t tid)
{
	return pid <= INT32_MAX && tid <= INT32_MAX && pid > 0 && tid > 0 &&
	       syscall(SYS_tgkill, (pid_t)pid, (pid_t)tid, 0) < 0 && errno == ESRCH;
}

void told_sweep(struct told *told, uint64_t now_ns)
{
	struct phases_table *table = own_table(told);

	if (table == NULL || rows_of(table) < PHASES_ROWS || now_ns - told->swept_ns < SWEEP_NS)
		return;
	told->swept_ns = now_ns;
	for (uint32_t i = 0; i < PHASES_ROWS; i++) {
		uint32_t tid = atomic_load_explicit(&table->row[i].tid, memory_order_relaxed);
		uint32_t pid = atomic_load_explicit(&table->row[i].pid, memory_order_relaxed);
		if (is_gone(pid, tid))
			free_row(&table->row[i], pid, tid);
	}
}

/* ---- Threads ---- */

uint32_t told_changes(const struct told *told)
{
	uint32_t changes = 0;

	for (uint32_t k = 0; k < parts_of(told); k++)
		changes += 1 + atomic_load_explicit(
				       &told->part[k].table->header.changes, memory_order_acquire);
	return changes;
}

static int by_tid(const void *a, const void *b)
{
	const struct told_thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* A process that has executed another program leaves rows behind, of the same numbers as its new
 * ones: the newest counts. */
static void take_row(struct told_thread *thread, size_t n, const struct phases_row *row, pid_t pid,
	int32_t number)
{
	struct told_thread wanted = {
		.tid = (pid_t)atomic_load_explicit(&row->tid, memory_order_relaxed)};

	if (wanted.tid <= 0)
		return;
	struct told_thread *found = bsearch(&wanted, thread, n, sizeof *thread, by_tid);
	if (found == NULL || (pid != 0 && pid != found->pid) ||
		atomic_load_explicit(&row->pid, memory_order_acquire) != (uint32_t)found->pid)
		return;
	uint64_t since_ns = get(&row->since_ns);
	if (since_ns == 0) /* it has not measured yet */
		since_ns = UINT64_MAX;
	if (*found->row != TOLD_NO_ROW && since_ns < found->since_ns)
		return;
	*found->row = number;
	found->since_ns = since_ns;
}

void told_find(const struct told *told, struct told_thread *thread, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*thread[i].row = TOLD_NO_ROW;
	if (n == 0)
		return;
	qsort(thread, n, sizeof *thread, by_tid);
	for (uint32_t k = 0; k < parts_of(told); k++) {
		const struct phases_table *table = told->part[k].table;
		uint32_t rows = rows_of(table);
		for (uint32_t i = 0; i < rows; i++)
			take_row(thread, n, &table->row[i], told->part[k].pid,
				(int32_t)(k * PHASES_ROWS + i));
	}
}

/* What is in a row. */
struct content {
	uint64_t arrivals, since_ns, waited_ns, turn_cpu_ns, useful_ns, before_ns;
	uint32_t turns, flags;
};

/* Its thread may write meanwhile. One that never pauses for as long as this takes is at work in such
 * short phases that a mixture of two of them is as good; or it has lost its CPU in the midst. */
static struct content read_row(const struct phases_row *row)
{
	struct content c;

	for (int i = 0; i < TRIES; i++) {
		c.turns = atomic_load_explicit(&row->turns, memory_order_acquire);
		c.since_ns = atomic_load_explicit(&row->since_ns, memory_order_acquire);
		c.arrivals = get(&row->arrivals);
		c.waited_ns = get(&row->waited_ns);
		c.turn_cpu_ns = get(&row->turn_cpu_ns);
		c.useful_ns = get(&row->useful_ns);
		c.before_ns = get(&row->before_ns);
		c.flags = atomic_load_explicit(&row->flags, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (c.turns % 2 == 0 &&
			atomic_load_explicit(&row->turns, memory_order_relaxed) == c.turns)
			break;
	}
	return c;
}

static struct told_sight sight_of(const struct content *c, uint64_t run_ns, uint64_t now_ns)
{
	struct told_sight sight = {.arrivals = least(c->arrivals, ARRIVALS_MOST),
		.waits = c->turns % 4 == 1 || c->turns % 4 == 2, /* it arrives, or waits */
		.yields = (c->flags & PHASES_YIELDS) != 0,
		.dynamic = (c->flags & PHASES_DYNAMIC) != 0,
		.trusted = (c->flags & PHASES_TASKS) == 0};
	uint64_t waited_ns = c->waited_ns, useful_ns = c->useful_ns;

	/* Times are a little older than the last turn: by less than 1 ms, but by a whole rest if the thread rests. It may
	 * have lost its CPU while it arrives or departs: then they are still those of the work, or the wait, before. */
	if (sight.waits)
		waited_ns = sum(waited_ns, above(now_ns, c->since_ns));
	if (c->turns % 4 < 2)
		useful_ns = sum(useful_ns, above(run_ns, c->turn_cpu_ns));
	sight.useful_ns = least(useful_ns, sum(run_ns, TICK_NS));
	sight.done_ns = above(sight.useful_ns, c->before_ns);
	sight.waited_ns = least(waited_ns, now_ns);
	return sight;
}

bool told_look(const struct told *told, int32_t row, pid_t pid, pid_t tid, uint64_t run_ns,
	uint64_t now_ns, struct told_sight *out)
{
	*out = (struct told_sight){0};
	if (row < 0 || (uint32_t)row / PHASES_ROWS >= parts_of(told))
		return false;
	const struct phases_table *table = told->part[row / PHASES_ROWS].table;
	const struct phases_row *at = &table->row[row % PHASES_ROWS];
	struct content content = read_row(at);
	/* It may have become another thread's. */
	if (atomic_load_explicit(&at->tid, memory_order_relaxed) != (uint32_t)tid ||
		atomic_load_explicit(&at->pid, memory_order_relaxed) != (uint32_t)pid ||
		content.since_ns == 0) /* it has not measured yet */
		return false;
	*out = sight_of(&content, run_ns, now_ns);
	return true;
}

static void set_resting(struct phases_table *table, uint32_t row, uint8_t resting)
{
	if (atomic_load_explicit(&table->resting[row], memory_order_relaxed) != resting)
		atomic_store_explicit(&table->resting[row], resting, memory_order_relaxed);
}

void told_let_rest(const struct told *told, int32_t row, uint8_t resting)
{
	struct phases_table *table = own_table(told);

	if (table != NULL && row >= 0 && row < PHASES_ROWS)
		set_resting(table, (uint32_t)row, resting);
}

/* ---- Bells ---- */

static struct phases_bell *bell_of(const struct told *told, uint32_t bell)
{
	struct phases_table *table = own_table(told);

	return table != NULL && bell < PHASES_BELLS ? &table->bell[bell] : NULL;
}

_Atomic uint32_t *told_bell(const struct told *told, uint32_t bell)
{
	struct phases_bell *at = bell_of(told, bell);

	return at != NULL ? &at->rings : NULL;
}

static void set_ringer(struct phases_table *table, struct phases_bell *at, uint32_t i,
	uint32_t ringer, uint32_t bell)
{
	uint32_t before = atomic_load_explicit(&at->ringer[i], memory_order_relaxed);
	_Atomic uint8_t *number = &table->bell_of[ringer & PHASES_RINGER_ROW];

	if (before != ringer)
		atomic_store_explicit(&at->ringer[i], ringer, memory_order_relaxed);
	if (atomic_load_explicit(number, memory_order_relaxed) != bell + 1)
		atomic_store_explicit(number, (uint8_t)(bell + 1), memory_order_relaxed);
}

void told_hang_bell(
	const struct told *told, uint32_t bell, const struct told_ringer *ringer, size_t n)
{
	struct phases_table *table = own_table(told);
	struct phases_bell *at = bell_of(told, bell);
	uint32_t count = 0;
	bool first = false;

	if (at == NULL)
		return;
	for (size_t i = 0; i < n && n <= PHASES_RINGERS; i++) {
		first |= ringer[i].first;
		if (ringer[i].row < 0 || ringer[i].row >= PHASES_ROWS)
			continue;
		set_ringer(table, at, count++,
			(uint32_t)ringer[i].row | (first ? PHASES_RINGER_FIRST : 0) |
				(ringer[i].crowded ? PHASES_RINGER_CROWDED : 0),
			bell);
		first = false;
	}
	if (atomic_load_explicit(&at->ringers, memory_order_relaxed) != count)
		atomic_store_explicit(&at->ringers, count, memory_order_release);
}

/* ---- The job ---- */

/* Threads that sleep use at most this part of the time in which they wait: they look a while before they sleep, and
 * have to be woken. */
#define WAITS_SHARE 10
/* By at most this part of it do others need less in a phase than the one that needs most. */
#define ALIKE_SHARE 5
/* Less than this part of the time that the job may have had is little. Most programs begin with a short phase, in
 * which their threads start. */
#define EARLY_SHARE 4

struct outline_sums {
	uint32_t dynamic, yields, phased; /* threads */
	uint64_t cpu_ns, waited_ns, waits_cpu_ns, fewest_ns, most_ns;
};

static void add_row(struct outline_sums *sums, const struct phases_row *row)
{
	uint32_t flags = atomic_load_explicit(&row->flags, memory_order_relaxed);
	uint64_t arrivals = get(&row->arrivals);

	sums->dynamic += (flags & PHASES_DYNAMIC) != 0;
	sums->yields += (flags & PHASES_YIELDS) != 0;
	sums->cpu_ns = sum(sums->cpu_ns, get(&row->turn_cpu_ns));
	sums->waited_ns = sum(sums->waited_ns, get(&row->waited_ns));
	sums->waits_cpu_ns =
		sum(sums->waits_cpu_ns, above(get(&row->turn_cpu_ns), get(&row->useful_ns)));
	if (arrivals == 0)
		return;
	uint64_t need_ns = get(&row->before_ns) / arrivals;
	sums->phased++;
	sums->fewest_ns = least(sums->fewest_ns, need_ns);
	sums->most_ns = need_ns > sums->most_ns ? need_ns : sums->most_ns;
}

static bool nearly_all(uint32_t some, uint32_t threads)
{
	return some > 0 && some + 1 >= threads;
}

struct told_outline told_outline(const struct phases_table *table, uint64_t available_ns)
{
	struct told_outline all = {0};
	struct outline_sums sums = {.fewest_ns = UINT64_MAX};
	uint32_t rows = table != NULL ? rows_of(table) : 0, first = 0;
	bool several = false;

	for (uint32_t i = 0; i < rows; i++) {
		uint32_t pid = atomic_load_explicit(&table->row[i].pid, memory_order_acquire);
		if (pid == 0)
			continue;
		first = first == 0 ? pid : first;
		several |= pid != first;
		all.threads++;
		add_row(&sums, &table->row[i]);
	}
	if (several)
		return (struct told_outline){.threads = all.threads};
	bool phased = all.threads > 0 && sums.phased == all.threads;
	all.early = table != NULL && (!phased || sums.cpu_ns < available_ns / EARLY_SHARE);
	all.dynamic = nearly_all(sums.dynamic, all.threads);
	if (!phased)
		return all;
	all.sleep = sums.yields == 0 && sums.waits_cpu_ns < sums.waited_ns / WAITS_SHARE;
	all.yield = nearly_all(sums.yields, all.threads);
	all.alike = sums.most_ns - sums.fewest_ns <= sums.most_ns / ALIKE_SHARE;
	return all;
}

void told_let_all_rest(struct phases_table *table, uint8_t resting)
{
	uint32_t rows = table != NULL ? rows_of(table) : 0;

	for (uint32_t i = 0; i < rows; i++)
		set_resting(table, i, resting);
}

uint32_t told_sources(const struct told *told)
{
	uint32_t sources = 0;

	for (uint32_t k = 0; k < parts_of(told); k++)
		sources |= atomic_load_explicit(
			&told->part[k].table->header.sources, memory_order_relaxed);
	return sources & (PHASES_OMPT | PHASES_GOMP | PHASES_MPI | PHASES_PTHREAD | PHASES_OWN);
}

const char *told_sources_text(uint32_t sources, char *out, size_t bytes)
{
	static const struct {
		uint32_t source;
		const char *text;
	} all[] = {{PHASES_OMPT, "OpenMP (OMPT)"}, {PHASES_GOMP, "OpenMP (libgomp)"},
		{PHASES_MPI, "MPI"}, {PHASES_PTHREAD, "pthread_barrier_wait"},
		{PHASES_OWN, "its own barriers"}};
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof all / sizeof *all && used < bytes; i++)
		if (sources & all[i].source)
			used += (size_t)snprintf(out + used, bytes - used, "%s%s",
				used > 0 ? ", " : "", all[i].text);
	return out;
}

static void copy_name(char out[96], const struct phases_site *site)
{
	memcpy(out, site->name, 96);
	out[95] = '\0';
	for (char *c = out; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static size_t collect(const struct phases_table *table, struct told_site *out)
{
	uint32_t used = atomic_load_explicit(&table->header.sites_used, memory_order_relaxed);
	size_t n = 0;

	for (uint32_t i = 0; i < PHASES_SITES && (i == 0 || i < used); i++) {
		const struct phases_site *site = &table->site[i];
		uint64_t waits = get(&site->waits);
		if (waits == 0 ||
			(i > 0 && atomic_load_explicit(&site->named, memory_order_acquire) != 1))
			continue;
		out[n] = (struct told_site){.waits = waits, .waited_ns = get(&site->waited_ns)};
		if (i == 0)
			strcpy(out[n].name, "elsewhere");
		else
			copy_name(out[n].name, site);
		n++;
	}
	return n;
}

static int by_name(const void *a, const void *b)
{
	const struct told_site *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b)
{
	const struct told_site *x = a, *y = b;

	if (x->waited_ns != y->waited_ns)
		return x->waited_ns < y->waited_ns ? 1 : -1;
	return by_name(a, b);
}

/* Returns how many are left. */
static size_t merge(struct told_site *site, size_t n)
{
	size_t kept = 0;

	qsort(site, n, sizeof *site, by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || strcmp(site[kept - 1].name, site[i].name) != 0) {
			site[kept++] = site[i];
			continue;
		}
		site[kept - 1].waits = sum(site[kept - 1].waits, site[i].waits);
		site[kept - 1].waited_ns = sum(site[kept - 1].waited_ns, site[i].waited_ns);
	}
	return kept;
}

size_t told_sites(const struct told *told, struct told_site **out)
{
	uint32_t parts = parts_of(told);
	size_t n = 0;

	*out = parts > 0 ? calloc((size_t)parts * PHASES_SITES, sizeof **out) : NULL;
	if (*out == NULL)
		return 0;
	for (uint32_t k = 0; k < parts; k++)
		n += collect(told->part[k].table, *out + n);
	n = merge(*out, n);
	qsort(*out, n, sizeof **out, by_time);
	return n;
}
