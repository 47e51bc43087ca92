/* SPDX-License-Identifier: MIT */
/* What is made of tables of phases: right ones, and such as nobody should have written. */
#undef NDEBUG
#include "daemon/progress/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprogress/phases/make.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define NOW (1000 * SECOND)

struct job {
	struct phases_table *table;
	int fd;
	struct told told;
};

static int begin(void **state)
{
	struct job *job = calloc(1, sizeof *job);

	assert_non_null(job);
	assert_int_equal(phases_make(&job->fd, &job->table), 0);
	told_init(&job->told, job->table);
	*state = job;
	return 0;
}

static int end(void **state)
{
	struct job *job = *state;

	told_deinit(&job->told);
	phases_unmap(job->table);
	close(job->fd);
	free(job);
	return 0;
}

/* A thread has taken a row. */
static struct phases_row *take(struct phases_table *table, uint32_t i, pid_t pid, pid_t tid)
{
	struct phases_row *row = &table->row[i];

	memset(row, 0, sizeof *row);
	row->pid = (uint32_t)pid;
	row->tid = (uint32_t)tid;
	row->since_ns = NOW;
	if (table->header.rows_used <= i)
		table->header.rows_used = i + 1;
	table->header.changes++;
	return row;
}

static int32_t find(const struct job *job, pid_t pid, pid_t tid)
{
	int32_t row = 77;
	struct told_thread thread = {.pid = pid, .tid = tid, .row = &row};

	told_find(&job->told, &thread, 1);
	return row;
}

static struct told_sight look(const struct job *job, int32_t row, uint64_t run_ns, uint64_t now_ns)
{
	struct told_sight sight;

	assert_true(told_look(&job->told, row, 10, 11, run_ns, now_ns, &sight));
	return sight;
}

/* ---- Finding ---- */

static void test_find(void **state)
{
	struct job *job = *state;
	int32_t row[5];
	struct told_thread thread[5] = {{10, 12, &row[0], 0}, {10, 10, &row[1], 0},
		{20, 21, &row[2], 0}, {10, 13, &row[3], 0}, {30, 11, &row[4], 0}};

	take(job->table, 0, 10, 10);
	take(job->table, 1, 10, 11); /* nobody's */
	take(job->table, 2, 20, 21);
	take(job->table, 3, 99, 12); /* of another process */
	take(job->table, 4, 10, 12);
	take(job->table, 5, 10, 13)->tid = 0; /* not yet, or no longer */
	told_find(&job->told, thread, 5);
	assert_int_equal(row[0], 4);
	assert_int_equal(row[1], 0);
	assert_int_equal(row[2], 2);
	assert_int_equal(row[3], TOLD_NO_ROW);
	assert_int_equal(row[4], TOLD_NO_ROW);
}

/* The numbers of threads that execute another program stay, their rows don't. */
static void test_newest_row(void **state)
{
	struct job *job = *state;

	take(job->table, 3, 10, 11)->since_ns = NOW + 5;
	take(job->table, 4, 10, 11)->since_ns = NOW + 7;
	take(job->table, 5, 10, 11)->since_ns = NOW + 6;
	assert_int_equal(find(job, 10, 11), 4);
	take(job->table, 2, 10, 11)->since_ns = 0; /* not measured anything yet */
	assert_int_equal(find(job, 10, 11), 2);
}

static void test_changes(void **state)
{
	struct job *job = *state;
	struct told none = {0};
	uint32_t before = told_changes(&job->told);

	assert_true(told_changes(&job->told) == before);
	take(job->table, 0, 10, 11);
	assert_true(told_changes(&job->told) != before);
	assert_int_equal(told_changes(&none), 0);
}

/* ---- Looking ---- */

static void test_works(void **state)
{
	struct job *job = *state;
	struct phases_row *row = take(job->table, 0, 10, 11);

	row->arrivals = 3;
	row->turns = 4 * 5;
	row->since_ns = NOW - 5 * MS;
	row->waited_ns = 30 * MS;
	row->turn_cpu_ns = 120 * MS;
	row->useful_ns = 100 * MS;
	row->before_ns = 98 * MS; /* it has waited since without ending a phase */
	struct told_sight sight = look(job, 0, 124 * MS, NOW);
	assert_true(sight.arrivals == 3 && !sight.waits && sight.trusted);
	assert_true(sight.done_ns == 6 * MS && sight.useful_ns == 104 * MS);
	assert_true(sight.waited_ns == 30 * MS);
	/* The kernel has not counted as far as the thread itself. */
	sight = look(job, 0, 119 * MS, NOW);
	assert_true(sight.done_ns == 2 * MS && sight.useful_ns == 100 * MS);
}

static void test_waits(void **state)
{
	struct job *job = *state;
	struct phases_row *row = take(job->table, 0, 10, 11);

	row->arrivals = 3;
	row->turns = 4 * 5 + 2;
	row->since_ns = NOW - 5 * MS;
	row->waited_ns = 30 * MS;
	row->turn_cpu_ns = 120 * MS;
	row->useful_ns = row->before_ns = 100 * MS;
	row->flags = PHASES_TASKS;
	struct told_sight sight = look(job, 0, 124 * MS, NOW); /* it spins */
	assert_true(sight.arrivals == 3 && sight.waits && !sight.trusted);
	assert_true(sight.done_ns == 0 && sight.useful_ns == 100 * MS);
	assert_true(sight.waited_ns == 35 * MS);
	sight = look(job, 0, 124 * MS, NOW - 6 * MS); /* it has arrived only after that */
	assert_true(sight.waited_ns == 30 * MS);
}

/* Its thread has lost its CPU while it wrote: the times are those of before. */
static void test_between(void **state)
{
	struct job *job = *state;
	struct phases_row *row = take(job->table, 0, 10, 11);

	row->arrivals = 4;
	row->turn_cpu_ns = 120 * MS;
	row->useful_ns = row->before_ns = 100 * MS;
	row->turns = 4 * 5 + 1; /* it arrives, after 4 ms of work */
	struct told_sight sight = look(job, 0, 124 * MS, NOW);
	assert_true(sight.waits && sight.done_ns == 4 * MS && sight.useful_ns == 104 * MS);
	row->turns = 4 * 5 + 3; /* it departs, after 4 ms of spinning */
	sight = look(job, 0, 124 * MS, NOW);
	assert_true(!sight.waits && sight.done_ns == 0 && sight.useful_ns == 100 * MS);
}

static void test_nothing_told(void **state)
{
	struct job *job = *state;
	struct told none = {0};
	struct told_sight sight = {.arrivals = 9};
	struct phases_row *row = take(job->table, 0, 10, 11);

	/* Nothing was measured yet. */
	row->since_ns = 0;
	assert_false(told_look(&job->told, 0, 10, 11, 0, NOW, &sight));
	assert_true(sight.arrivals == 0);
	/* The first phase is under way. */
	row->since_ns = NOW - 100 * MS;
	row->turn_cpu_ns = row->useful_ns = row->before_ns = 20 * MS;
	assert_true(told_look(&job->told, 0, 10, 11, 90 * MS, NOW, &sight));
	assert_true(sight.arrivals == 0 && sight.done_ns == 70 * MS && !sight.waits);
	/* The row is another thread's. */
	assert_false(told_look(&job->told, 0, 10, 12, 0, NOW, &sight));
	assert_false(told_look(&job->told, 0, 12, 11, 0, NOW, &sight));
	/* There is no such row, and no such table. */
	assert_false(told_look(&job->told, TOLD_NO_ROW, 10, 11, 0, NOW, &sight));
	assert_false(told_look(&job->told, INT32_MIN, 10, 11, 0, NOW, &sight));
	assert_false(told_look(&job->told, PHASES_ROWS, 10, 11, 0, NOW, &sight));
	assert_false(told_look(&job->told, INT32_MAX, 10, 11, 0, NOW, &sight));
	assert_false(told_look(&none, 0, 10, 11, 0, NOW, &sight));
}

static void test_hostile_row(void **state)
{
	struct job *job = *state;
	struct phases_row *row = take(job->table, 0, 10, 11);

	memset(row, 0xff, sizeof *row);
	row->pid = 10;
	row->tid = 11;
	for (int i = 0; i < 8; i++) {
		row->turns = i & 1 ? UINT32_MAX - 1 : 0;
		row->turn_cpu_ns = i & 2 ? UINT64_MAX : 0;
		row->since_ns = i & 4 ? UINT64_MAX : 1;
		struct told_sight sight = look(job, 0, 124 * MS, NOW);
		assert_true(sight.useful_ns <= 134 * MS && sight.done_ns <= sight.useful_ns);
		assert_true(sight.waited_ns <= NOW && sight.arrivals < UINT64_C(1) << 62);
		sight = look(job, 0, UINT64_MAX, UINT64_MAX);
		assert_true(sight.done_ns <= sight.useful_ns);
	}
}

/* ---- Threads that have ended ---- */

static void test_free_row(void **state)
{
	struct job *job = *state;
	struct phases_row *row = take(job->table, 0, 10, 11);

	told_free_row(&job->told, 0, 10, 12);
	told_free_row(&job->told, 0, 12, 11);
	told_free_row(&job->told, TOLD_NO_ROW, 10, 11);
	told_free_row(&job->told, INT32_MAX, 10, 11);
	assert_int_equal(row->tid, 11);
	told_free_row(&job->told, 0, 10, 11);
	assert_int_equal(row->tid, 0);
}

static void test_sweep(void **state)
{
	struct job *job = *state;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	take(job->table, 0, getpid(), getpid());
	take(job->table, 1, child, child);
	take(job->table, 2, getpid(), getpid())->pid = 0; /* about to be taken */
	take(job->table, 3, INT32_MIN, INT32_MIN);
	told_sweep(&job->told, NOW);
	assert_int_equal(job->table->row[1].tid, child); /* there is room */
	job->table->header.rows_used = UINT32_MAX;
	told_sweep(&job->told, NOW);
	assert_int_equal(job->table->row[0].tid, getpid());
	assert_int_equal(job->table->row[1].tid, 0);
	assert_int_equal(job->table->row[2].tid, getpid());
	take(job->table, 1, child, child);
	told_sweep(&job->told, NOW + SECOND); /* too soon */
	assert_int_equal(job->table->row[1].tid, child);
}

/* ---- Tables of processes ---- */

static void test_add_process(void **state)
{
	struct job *job = *state;
	struct told told = {0};
	struct told_sight sight;
	int32_t row[2];
	struct told_thread thread[] = {{getpid(), getpid(), &row[0], 0}, {10, 11, &row[1], 0}};

	take(job->table, 7, getpid(), getpid())->arrivals = 1;
	take(job->table, 8, 10, 11); /* no process tells of another's threads */
	job->table->header.pid = (uint32_t)getppid(); /* as between fork and exec */
	assert_false(told_add_process(&told, getpid()));
	assert_int_equal(told.parts, 0);
	job->table->header.pid = (uint32_t)getpid();
	assert_true(told_add_process(&told, getpid()));
	assert_true(told_add_process(&told, getpid()));
	assert_int_equal(told.parts, 1);
	told_find(&told, thread, 2);
	assert_int_equal(row[0], 7);
	assert_int_equal(row[1], TOLD_NO_ROW);
	assert_true(told_look(&told, 7, getpid(), getpid(), 0, NOW, &sight));
	/* It was mapped only to be read. */
	told_free_row(&told, 7, getpid(), getpid());
	job->table->header.rows_used = PHASES_ROWS;
	told_sweep(&told, NOW);
	assert_int_equal(job->table->row[7].tid, getpid());
	told_deinit(&told);
	assert_false(told_add_process(&told, INT32_MAX));
}

/* What only has the name is not mapped, or readers would be killed when it shrinks. */
static void test_unsealed(void **state)
{
	struct job *job = *state;
	struct told told = {0};
	pid_t child = fork();

	if (child == 0) {
		close(job->fd);
		job->table->header.pid = (uint32_t)getpid();
		int fd = memfd_create(PHASES_MEMFD, 0);
		if (fd < 0 || write(fd, job->table, sizeof *job->table) < 0)
			_exit(9);
		_exit(told_add_process(&told, getpid()));
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- Sites and sources ---- */

static void add_site(
	struct phases_table *table, uint32_t i, const char *name, uint64_t waits, uint64_t ms)
{
	struct phases_site *site = &table->site[i];

	memcpy(site->name, name, strlen(name));
	site->address = 1;
	site->named = 1;
	site->waits = waits;
	site->waited_ns = ms * MS;
	if (table->header.sites_used <= i)
		table->header.sites_used = i + 1;
}

static void test_sites(void **state)
{
	struct job *job = *state;
	struct told_site *site;

	add_site(job->table, 0, "", 1, 2);
	add_site(job->table, 1, "MPI_Barrier in a", 2, 3);
	add_site(job->table, 2, "MPI_Allreduce in a", 1, 8);
	add_site(job->table, 3, "MPI_Barrier in a", 5, 6);
	add_site(job->table, 4, "never", 0, 0);
	add_site(job->table, 5, "unfinished", 1, 1);
	job->table->site[5].named = 0;
	size_t n = told_sites(&job->told, &site);
	assert_int_equal(n, 3);
	assert_string_equal(site[0].name, "MPI_Barrier in a");
	assert_true(site[0].waits == 7 && site[0].waited_ns == 9 * MS);
	assert_string_equal(site[1].name, "MPI_Allreduce in a");
	assert_string_equal(site[2].name, "elsewhere");
	free(site);
}

static void test_hostile_sites(void **state)
{
	struct job *job = *state;
	struct told none = {0};
	struct told_site *site;

	memset(job->table->site, 0xff, sizeof job->table->site);
	for (uint32_t i = 1; i < PHASES_SITES; i++)
		job->table->site[i].named = 1;
	job->table->site[1].name[3] = '\0';
	memcpy(job->table->site[2].name, "a\n\033b", 5);
	job->table->header.sites_used = UINT32_MAX;
	assert_int_equal(told_sites(&job->told, &site), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_true(strlen(site[i].name) < sizeof site[i].name);
		assert_true(site[i].waited_ns == UINT64_MAX);
		for (const char *c = site[i].name; *c != '\0'; c++)
			assert_true(*c >= ' ' && *c <= '~');
	}
	assert_string_equal(site[2].name, "a??b");
	free(site);
	assert_int_equal(told_sites(&none, &site), 0);
	assert_null(site);
}

static void expect_ringers(const struct job *job, uint32_t bell, const uint32_t *ringer, uint32_t n)
{
	assert_int_equal(job->table->bell[bell].ringers, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(job->table->bell[bell].ringer[i], ringer[i]);
		assert_int_equal(job->table->bell_of[ringer[i] & PHASES_RINGER_ROW], bell + 1);
	}
}

static void test_bell(void **state)
{
	static const struct told_ringer ringer[] = {{.row = 7, .first = true}, {.row = 2},
		{.row = TOLD_NO_ROW, .first = true}, {.row = 5, .crowded = true}};
	struct job *job = *state;

	told_hang_bell(&job->told, 3, ringer, 4);
	expect_ringers(job, 3,
		(uint32_t[]){7 | PHASES_RINGER_FIRST, 2,
			5 | PHASES_RINGER_FIRST | PHASES_RINGER_CROWDED},
		3);
	told_hang_bell(&job->told, 3, ringer, 1);
	expect_ringers(job, 3, (uint32_t[]){7 | PHASES_RINGER_FIRST}, 1);
	told_hang_bell(&job->told, 3, NULL, 0);
	assert_int_equal(job->table->bell[3].ringers, 0);
	assert_ptr_equal(told_bell(&job->told, 3), &job->table->bell[3].rings);
}

/* More threads than a bell has room for, more domains than there are bells, no table. */
static void test_no_bell(void **state)
{
	struct told_ringer ringer[PHASES_RINGERS + 1] = {{.first = true}};
	struct told none;
	struct job *job = *state;

	told_hang_bell(&job->told, 0, ringer, PHASES_RINGERS);
	assert_int_equal(job->table->bell[0].ringers, PHASES_RINGERS);
	told_hang_bell(&job->told, 0, ringer, PHASES_RINGERS + 1);
	assert_int_equal(job->table->bell[0].ringers, 0);
	assert_null(told_bell(&job->told, PHASES_BELLS));
	told_hang_bell(&job->told, PHASES_BELLS, ringer, 1);
	told_init(&none, NULL);
	assert_null(told_bell(&none, 0));
	told_hang_bell(&none, 0, ringer, 1);
}

/* Threads of the job's table rest, those of others' don't. */
static void test_let_rest(void **state)
{
	struct job *job = *state;
	struct told none;

	told_let_rest(&job->told, 5, PHASES_RESTS);
	told_let_rest(&job->told, PHASES_ROWS - 1, PHASES_RESTS_MORE);
	assert_int_equal(job->table->resting[5], PHASES_RESTS);
	assert_int_equal(job->table->resting[PHASES_ROWS - 1], PHASES_RESTS_MORE);
	told_let_rest(&job->told, 5, 0);
	assert_int_equal(job->table->resting[5], 0);
	told_let_rest(&job->told, TOLD_NO_ROW, PHASES_RESTS);
	told_let_rest(&job->told, PHASES_ROWS, PHASES_RESTS);
	told_init(&none, NULL);
	told_let_rest(&none, 0, PHASES_RESTS);
	assert_int_equal(job->table->resting[0], 0);
}

static struct phases_row *take_phased(
	struct phases_table *table, uint32_t i, uint64_t need_ns, uint64_t waits_cpu_ns)
{
	struct phases_row *row = take(table, i, 10, (pid_t)(11 + i));

	row->arrivals = 10;
	row->useful_ns = row->before_ns = 10 * need_ns;
	row->turn_cpu_ns = row->useful_ns + waits_cpu_ns;
	row->waited_ns = 30 * MS;
	return row;
}

static void test_outline_of_none(void **state)
{
	struct job *job = *state;
	struct told_outline all = told_outline(NULL, 0);

	assert_true(all.threads == 0 && !all.early && !all.dynamic && !all.sleep && !all.alike);
	all = told_outline(job->table, 0);
	assert_true(all.threads == 0 && all.early && !all.dynamic && !all.sleep && !all.alike);
	take(job->table, 0, 10, 11)->pid = 0; /* it is taken just now */
	assert_int_equal(told_outline(job->table, 0).threads, 0);
	take(job->table, 0, 10, 11); /* it has not waited yet */
	all = told_outline(job->table, 0);
	assert_true(all.threads == 1 && all.early && !all.dynamic && !all.sleep && !all.alike);
}

static void test_outline_of_alike(void **state)
{
	struct job *job = *state;
	struct phases_row *one = take_phased(job->table, 0, 10 * MS, MS);
	struct phases_row *two = take_phased(job->table, 2, 8 * MS, 3 * MS);
	struct told_outline all = told_outline(job->table, 0);

	assert_true(all.threads == 2 && !all.early && !all.dynamic);
	assert_true(all.sleep && !all.yield && all.alike);
	/* They have used 18 ms per phase for 10 phases, and 4 ms in waits. */
	assert_false(told_outline(job->table, 4 * 184 * MS).early);
	all = told_outline(job->table, 4 * 185 * MS);
	assert_true(all.early && all.sleep && all.alike);
	two->turn_cpu_ns += 3 * MS; /* 7 of 60 ms */
	all = told_outline(job->table, 0);
	assert_true(!all.sleep && all.alike);
	two->before_ns -= MS;
	assert_false(told_outline(job->table, 0).alike);
	two->before_ns += MS;
	/* One waits where the others do, and has no work. */
	struct phases_row *three = take(job->table, 3, 10, 13);
	all = told_outline(job->table, 0);
	assert_true(all.threads == 3 && all.early && !all.sleep && !all.alike);
	/* One is another process, or what it has left behind. */
	three = take_phased(job->table, 3, 10 * MS, 0);
	assert_true(told_outline(job->table, 0).alike);
	three->pid = 20;
	all = told_outline(job->table, 0);
	assert_true(all.threads == 3 && !all.early && !all.sleep && !all.alike);
	one->turn_cpu_ns = one->waited_ns = one->before_ns = UINT64_MAX;
	three->pid = 10;
	all = told_outline(job->table, 0);
	assert_true(!all.sleep && !all.alike);
	job->table->header.rows_used = UINT32_MAX;
	assert_int_equal(told_outline(job->table, 0).threads, 3);
}

/* The last at a barrier does not wait, and so does not yield. */
static void test_outline_of_yielding(void **state)
{
	struct job *job = *state;
	struct phases_row *row[3];

	for (uint32_t i = 0; i < 3; i++)
		row[i] = take_phased(job->table, i, 10 * MS, MS);
	row[0]->flags = PHASES_YIELDS;
	assert_true(!told_outline(job->table, 0).yield && !told_outline(job->table, 0).sleep);
	row[2]->flags = PHASES_YIELDS;
	assert_true(told_outline(job->table, 0).yield && !told_outline(job->table, 0).sleep);
	row[1]->pid = 20;
	assert_false(told_outline(job->table, 0).yield);
}

static void test_outline_of_dynamic(void **state)
{
	struct job *job = *state;
	struct phases_row *row[3];

	for (uint32_t i = 0; i < 3; i++)
		row[i] = take_phased(job->table, i, 10 * MS, 0);
	row[0]->flags = PHASES_DYNAMIC;
	assert_false(told_outline(job->table, 0).dynamic);
	row[2]->flags = PHASES_DYNAMIC;
	assert_true(told_outline(job->table, 0).dynamic);
	row[1]->flags = PHASES_DYNAMIC | PHASES_YIELDS;
	assert_true(told_outline(job->table, 0).dynamic);
	row[1]->pid = 20;
	assert_false(told_outline(job->table, 0).dynamic);
}

static void test_let_all_rest(void **state)
{
	struct job *job = *state;

	take(job->table, 1, 10, 11);
	told_let_all_rest(job->table, PHASES_RESTS);
	assert_true(
		job->table->resting[0] == PHASES_RESTS && job->table->resting[1] == PHASES_RESTS);
	assert_int_equal(job->table->resting[2], 0); /* nobody has it yet */
	told_let_all_rest(job->table, 0);
	assert_int_equal(job->table->resting[1], 0);
	told_let_all_rest(NULL, PHASES_RESTS);
}

static void test_sources(void **state)
{
	struct job *job = *state;
	char text[128], small[8];

	assert_int_equal(told_sources(&job->told), 0);
	job->table->header.sources = UINT32_MAX;
	assert_int_equal(told_sources(&job->told), 31);
	assert_string_equal(told_sources_text(31, text, sizeof text),
		"OpenMP (OMPT), OpenMP (libgomp), MPI, pthread_barrier_wait, its own barriers");
	assert_string_equal(told_sources_text(PHASES_MPI, text, sizeof text), "MPI");
	assert_string_equal(told_sources_text(0, text, sizeof text), "");
	assert_string_equal(told_sources_text(15, small, sizeof small), "OpenMP ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_find, begin, end),
		cmocka_unit_test_setup_teardown(test_newest_row, begin, end),
		cmocka_unit_test_setup_teardown(test_changes, begin, end),
		cmocka_unit_test_setup_teardown(test_works, begin, end),
		cmocka_unit_test_setup_teardown(test_waits, begin, end),
		cmocka_unit_test_setup_teardown(test_between, begin, end),
		cmocka_unit_test_setup_teardown(test_nothing_told, begin, end),
		cmocka_unit_test_setup_teardown(test_hostile_row, begin, end),
		cmocka_unit_test_setup_teardown(test_free_row, begin, end),
		cmocka_unit_test_setup_teardown(test_sweep, begin, end),
		cmocka_unit_test_setup_teardown(test_add_process, begin, end),
		cmocka_unit_test_setup_teardown(test_unsealed, begin, end),
		cmocka_unit_test_setup_teardown(test_sites, begin, end),
		cmocka_unit_test_setup_teardown(test_hostile_sites, begin, end),
		cmocka_unit_test_setup_teardown(test_bell, begin, end),
		cmocka_unit_test_setup_teardown(test_no_bell, begin, end),
		cmocka_unit_test_setup_teardown(test_let_rest, begin, end),
		cmocka_unit_test_setup_teardown(test_outline_of_none, begin, end),
		cmocka_unit_test_setup_teardown(test_outline_of_alike, begin, end),
		cmocka_unit_test_setup_teardown(test_outline_of_yielding, begin, end),
		cmocka_unit_test_setup_teardown(test_outline_of_dynamic, begin, end),
		cmocka_unit_test_setup_teardown(test_let_all_rest, begin, end),
		cmocka_unit_test_setup_teardown(test_sources, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
