/* SPDX-License-Identifier: MIT */
#include "daemon/job/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "daemon/act/act.h"
#include "daemon/base/clock.h"
#include "daemon/sample/parse.h"

/* Twice the default pid_max. Pages that are never written to cost no memory. */
#define ENTRIES 65536

/* A thread shows in /proc some time after it has inherited its mask, and that may be after the
 * inheritance was corrected. So its parents are watched until nothing was to be corrected for so long,
 * by scans with so long a pause, and those that were ready to run have run for so long: they may wait
 * for a CPU in the middle of a birth. But no longer than that in all. */
#define BORN_QUIET_NS 10000000
#define BORN_PAUSE_NS 5000000
#define BORN_RUN_NS 1000000
#define BORN_MOST_NS 1000000000
#define PARENTS_MOST 64

struct entry {
	_Atomic int32_t tid; /* 0: free; stored last, with release */
	int32_t pid;
	uint64_t start_ticks;
	_Atomic bool confined; /* now, or at some time before */
	_Atomic bool changed; /* now: its mask is one that juggle has set */
};

struct header {
	alignas(uint64_t) _Atomic uint32_t used; /* entries ever used */
	_Atomic bool closed;
	/* Some thread was given a short slice: those that have it, have it by that. */
	_Atomic bool shortens;
};

struct ledger {
	struct header *header; /* shared */
	struct entry *entry; /* shared */
	uint64_t *mask; /* shared: words per entry */
	size_t words;
	size_t bytes;
	uint32_t *spare; /* entries that were forgotten, for the next threads */
	size_t spares;
};

int ledger_new(struct ledger **out)
{
	struct ledger *ledger = calloc(1, sizeof *ledger);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (ledger == NULL)
		return -ENOMEM;
	ledger->spare = malloc(ENTRIES * sizeof *ledger->spare);
	/* The numbers of CPUs can have gaps: leave room for them. */
	ledger->words = cpus > 0 && cpus <= 512 ? 16 : CPUSET_WORDS;
	size_t masks = ENTRIES * ledger->words * sizeof(uint64_t);
	ledger->bytes = sizeof(struct header) + ENTRIES * sizeof(struct entry) + masks;
	char *memory = mmap(NULL, ledger->bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED || ledger->spare == NULL) {
		if (memory != MAP_FAILED)
			munmap(memory, ledger->bytes);
		free(ledger->spare);
		free(ledger);
		return -ENOMEM;
	}
	ledger->header = (struct header *)memory;
	ledger->entry = (struct entry *)(ledger->header + 1);
	ledger->mask = (uint64_t *)(ledger->entry + ENTRIES);
	*out = ledger;
	return 0;
}

void ledger_free(struct ledger *ledger)
{
	if (ledger == NULL)
		return;
	munmap(ledger->header, ledger->bytes);
	free(ledger->spare);
	free(ledger);
}

static int record(struct ledger *ledger, pid_t pid, pid_t tid, uint64_t start_ticks,
	const struct cpuset *mask, bool confined)
{
	uint32_t i = atomic_load_explicit(&ledger->header->used, memory_order_relaxed);

	if (ledger->spares > 0)
		i = ledger->spare[--ledger->spares];
	else if (i < ENTRIES)
		atomic_store_explicit(&ledger->header->used, i + 1, memory_order_relaxed);
	else
		return -ENOSPC;
	struct entry *entry = &ledger->entry[i];
	entry->pid = pid;
	entry->start_ticks = start_ticks;
	atomic_store_explicit(&entry->confined, confined, memory_order_relaxed);
	atomic_store_explicit(&entry->changed, confined, memory_order_relaxed);
	memcpy(ledger->mask + i * ledger->words, mask->word, ledger->words * sizeof(uint64_t));
	atomic_store_explicit(&entry->tid, tid, memory_order_release);
	return (int)i;
}

int ledger_record(struct ledger *ledger, pid_t pid, pid_t tid, uint64_t start_ticks,
	const struct cpuset *mask)
{
	return record(ledger, pid, tid, start_ticks, mask, false);
}

int ledger_record_confined(struct ledger *ledger, pid_t pid, pid_t tid, uint64_t start_ticks,
	const struct cpuset *mask)
{
	return record(ledger, pid, tid, start_ticks, mask, true);
}

void ledger_confined(struct ledger *ledger, int entry)
{
	atomic_store_explicit(&ledger->entry[entry].confined, true, memory_order_release);
	ledger_set_changed(ledger, entry, true);
}

void ledger_set_changed(struct ledger *ledger, int entry, bool changed)
{
	atomic_store_explicit(&ledger->entry[entry].changed, changed, memory_order_release);
}

bool ledger_is_changed(const struct ledger *ledger, int entry)
{
	return atomic_load_explicit(&ledger->entry[entry].changed, memory_order_acquire);
}

void ledger_mask(const struct ledger *ledger, int entry, struct cpuset *out)
{
	memset(out, 0, sizeof *out);
	memcpy(out->word, ledger->mask + (size_t)entry * ledger->words,
		ledger->words * sizeof(uint64_t));
}

/* Returns whether there was something to cut off. */
static bool cut_down(struct cpuset *mask, const struct cpuset *within)
{
	const struct cpuset before = *mask;
	uint64_t left = 0;

	for (size_t i = 0; i < CPUSET_WORDS; i++)
		left |= mask->word[i] & within->word[i];
	for (size_t i = 0; i < CPUSET_WORDS; i++)
		mask->word[i] = left != 0 ? mask->word[i] & within->word[i] : within->word[i];
	return memcmp(mask, &before, sizeof before) != 0;
}

/* Returns 0 while the thread that was recorded is there, or a negative errno. */
static int find_alive(const struct entry *entry, pid_t *tid)
{
	struct proc_thread now;

	*tid = atomic_load_explicit(&entry->tid, memory_order_acquire);
	if (*tid == 0)
		return -ESRCH;
	int r = proc_read_thread(entry->pid, *tid, &now);
	return r == 0 && now.start_ticks != entry->start_ticks ? -ESRCH : r;
}

int ledger_shorten(struct ledger *ledger, int i, uint64_t default_ns)
{
	pid_t tid;
	int r = find_alive(&ledger->entry[i], &tid);

	if (r < 0)
		return r;
	/* First, so that whoever gives things back misses none. */
	atomic_store_explicit(&ledger->header->shortens, true, memory_order_release);
	return act_shorten_slice(tid, default_ns);
}

static bool shortens(const struct ledger *ledger)
{
	return atomic_load_explicit(&ledger->header->shortens, memory_order_acquire);
}

bool ledger_inherits_short(const struct ledger *ledger, int i)
{
	return shortens(ledger) && act_has_short_slice(ledger->entry[i].tid);
}

void ledger_lengthen(const struct ledger *ledger, int i)
{
	pid_t tid;

	if (shortens(ledger) && find_alive(&ledger->entry[i], &tid) == 0)
		(void)act_restore_slice(tid);
}

int ledger_restore(struct ledger *ledger, int i, const struct cpuset *within)
{
	struct cpuset mask;
	pid_t tid;
	int r = find_alive(&ledger->entry[i], &tid);

	if (r < 0)
		return r;
	ledger_mask(ledger, i, &mask);
	bool cut = within != NULL && cut_down(&mask, within);
	if (cut)
		ledger_set_changed(ledger, i, true);
	r = act_set_mask(tid, &mask);
	if (r == 0 && !cut)
		ledger_set_changed(ledger, i, false);
	return r;
}

/* May a thread that executed a program have taken this leader's number, and brought its own mask along? Then that is one
 * of ours. */
static bool is_suspect(const struct ledger *ledger, int leader)
{
	struct cpuset mask;
	pid_t tid;

	return !ledger_is_changed(ledger, leader) &&
	       find_alive(&ledger->entry[leader], &tid) == 0 && cpuset_of_thread(tid, &mask) == 0 &&
	       cpuset_count(&mask) == 1;
}

void ledger_suspect(struct ledger *ledger, int leader, const struct cpuset *within)
{
	struct cpuset mask;

	if (!is_suspect(ledger, leader))
		return;
	/* It stays so, as its team may confine it at this moment. */
	ledger_confined(ledger, leader);
	ledger_mask(ledger, leader, &mask);
	if (within != NULL)
		(void)cut_down(&mask, within);
	(void)act_set_mask(ledger->entry[leader].tid, &mask);
}

void ledger_forget(struct ledger *ledger, int entry)
{
	atomic_store_explicit(&ledger->entry[entry].tid, 0, memory_order_release);
	ledger->spare[ledger->spares++] = (uint32_t)entry;
}

void ledger_close(struct ledger *ledger)
{
	atomic_store(&ledger->header->closed, true);
}

bool ledger_is_closed(const struct ledger *ledger)
{
	return atomic_load(&ledger->header->closed);
}

/* A thread has ended with a mask of ours. Its process may go on, as the program that it executed. */
static void restore_leader(struct ledger *ledger, pid_t pid)
{
	uint32_t used = atomic_load_explicit(&ledger->header->used, memory_order_relaxed);

	if (kill(pid, 0) < 0)
		return;
	for (uint32_t i = 0; i < used; i++)
		if (atomic_load_explicit(&ledger->entry[i].tid, memory_order_acquire) == pid)
			ledger_suspect(ledger, (int)i, NULL);
}

size_t ledger_restore_all(struct ledger *ledger)
{
	uint32_t used = atomic_load_explicit(&ledger->header->used, memory_order_relaxed);
	size_t count = 0;
	pid_t last = 0; /* a process whose leader was looked at */

	for (uint32_t i = 0; i < used; i++) {
		pid_t pid = ledger->entry[i].pid;
		if (atomic_load_explicit(&ledger->entry[i].tid, memory_order_acquire) == 0)
			continue;
		if (ledger_is_changed(ledger, (int)i) &&
			ledger_restore(ledger, (int)i, NULL) == -ESRCH && pid != last) {
			last = pid;
			restore_leader(ledger, pid);
		}
		ledger_lengthen(ledger, (int)i);
		count++;
	}
	return count;
}

/* Which entry's mask does the thread inherit? -1: none. */
static int inherited_entry(const struct ledger *ledger, const struct proc_thread *thread)
{
	uint32_t used = atomic_load_explicit(&ledger->header->used, memory_order_relaxed);
	bool process_recorded = false, parent_recorded = false;
	int process = -1, parent = -1, any = -1; /* the last confined thread of each */

	for (uint32_t i = 0; i < used; i++) {
		const struct entry *entry = &ledger->entry[i];
		pid_t tid = atomic_load_explicit(&entry->tid, memory_order_acquire);
		if (tid == 0)
			continue;
		if (tid == thread->tid && entry->start_ticks == thread->start_ticks)
			return -1;
		bool confined = atomic_load_explicit(&entry->confined, memory_order_acquire);
		if (entry->pid == thread->pid) {
			process_recorded = true;
			process = confined ? (int)i : process;
		} else if (entry->pid == thread->ppid) {
			parent_recorded = true;
			parent = confined ? (int)i : parent;
		}
		any = confined ? (int)i : any;
	}
	if (process_recorded)
		return process;
	return parent_recorded ? parent : any;
}

int ledger_inherited(
	const struct ledger *ledger, const struct proc_thread *thread, struct cpuset *out)
{
	int entry = inherited_entry(ledger, thread);

	if (entry < 0)
		return -ENOENT;
	ledger_mask(ledger, entry, out);
	return 0;
}

static int add_roots(const struct ledger *ledger, struct proc_scan *scan)
{
	uint32_t used = atomic_load_explicit(&ledger->header->used, memory_order_relaxed);
	pid_t last = 0, tid;
	int r = 0;

	for (uint32_t i = 0; i < used && r == 0; i++) {
		if (ledger->entry[i].pid == last || find_alive(&ledger->entry[i], &tid) < 0)
			continue;
		last = ledger->entry[i].pid;
		r = proc_scan_add_root(scan, last);
	}
	return r;
}

/* Returns how many threads got a mask or a slice back. */
static size_t restore_inherited(
	const struct ledger *ledger, const struct proc_thread *thread, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		struct cpuset mask;
		if (shortens(ledger))
			count += act_restore_slice(thread[i].tid) == 0;
		if (cpuset_of_thread(thread[i].tid, &mask) < 0 || cpuset_count(&mask) > 1)
			continue;
		if (ledger_inherited(ledger, &thread[i], &mask) < 0)
			continue;
		/* Its cpuset may leave it no more than it has. */
		count += act_set_mask(thread[i].tid, &mask) == 0 &&
			 cpuset_of_thread(thread[i].tid, &mask) == 0 && cpuset_count(&mask) > 1;
	}
	return count;
}

/* A thread that is ready to run, whose children may inherit something, and how long it had run when that was
 * given back. */
struct parent {
	pid_t pid, tid;
	uint64_t run_ns;
};

/* Returns the CPU time of a thread that is ready to run; 0 for others. */
static uint64_t runnable_for_ns(pid_t pid, pid_t tid)
{
	char path[64], text[128];
	struct proc_thread thread;
	struct sample_counts counts;

	if (proc_read_thread(pid, tid, &thread) < 0 || thread.state != 'R')
		return 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
	if (fd >= 0)
		close(fd);
	return n > 0 && sample_parse_schedstat(text, (size_t)n, &counts) == 0 ? counts.run_ns : 0;
}

static size_t find_parents(const struct ledger *ledger, struct parent *parent)
{
	uint32_t used = atomic_load_explicit(&ledger->header->used, memory_order_relaxed);
	size_t count = 0;

	for (uint32_t i = 0; i < used && count < PARENTS_MOST; i++) {
		const struct entry *entry = &ledger->entry[i];
		pid_t tid = atomic_load_explicit(&entry->tid, memory_order_acquire);
		bool confined = atomic_load_explicit(&entry->confined, memory_order_acquire);
		if (tid == 0 || !(confined || shortens(ledger)))
			continue;
		parent[count] = (struct parent){entry->pid, tid, runnable_for_ns(entry->pid, tid)};
		count += parent[count].run_ns > 0;
	}
	return count;
}

static size_t forget_those_that_ran(struct parent *parent, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t run_ns = runnable_for_ns(parent[i].pid, parent[i].tid);
		if (run_ns > 0 && run_ns < parent[i].run_ns + BORN_RUN_NS)
			parent[left++] = parent[i];
	}
	return left;
}

void ledger_restore_born(const struct ledger *ledger, struct proc_scan *scan)
{
	struct parent parent[PARENTS_MOST];
	size_t parents = find_parents(ledger, parent);
	const struct timespec pause = {.tv_nsec = BORN_PAUSE_NS};
	uint64_t start_ns = clock_monotonic_ns(), quiet_ns = start_ns;
	const struct proc_thread *thread;
	size_t n;

	if (add_roots(ledger, scan) < 0)
		return;
	for (;;) {
		uint64_t scan_ns = clock_monotonic_ns();
		parents = forget_those_that_ran(parent, parents);
		if (parents > 0)
			quiet_ns = scan_ns;
		if (proc_scan_run(scan, &thread, &n) < 0 || n == 0)
			return;
		if (restore_inherited(ledger, thread, n) > 0)
			quiet_ns = clock_monotonic_ns();
		else if (scan_ns - quiet_ns >= BORN_QUIET_NS)
			return;
		if (clock_monotonic_ns() - start_ns >= BORN_MOST_NS)
			return;
		nanosleep(&pause, NULL);
	}
}

size_t ledger_give_back(struct ledger *ledger, struct proc_scan *scan)
{
	size_t count = ledger_restore_all(ledger);

	if (scan != NULL)
		ledger_restore_born(ledger, scan);
	ledger_close(ledger);
	return count;
}
