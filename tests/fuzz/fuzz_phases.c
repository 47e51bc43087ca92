/* SPDX-License-Identifier: MIT */
/*
 * Reads damaged tables of phases: what is made of a row or site has to be within bounds, and what is
 * no table is not mapped. The input is a list of writes to a table that several threads have filled.
 * Threads that juggle knows are among its first rows.
 */
#undef NDEBUG
#include "daemon/progress/told.h"

#include "libprogress/phases/make.h"

#include <assert.h>
#include <unistd.h>

#include "tests/fuzz/input.h"

#define PID 4711
#define ROWS 16
#define SITES 8
#define RUN_NS UINT64_C(5000000000)
#define NOW_NS UINT64_C(9000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void fill(struct phases_table *table)
{
	memset(table->row, 0, ROWS * sizeof *table->row);
	memset(table->site, 0, SITES * sizeof *table->site);
	table->header.rows_used = ROWS;
	table->header.changes = ROWS;
	table->header.sites_used = SITES;
	table->header.sources = PHASES_GOMP;
	for (uint32_t i = 0; i < ROWS; i++) {
		struct phases_row *row = &table->row[i];
		row->tid = PID + i;
		row->pid = PID;
		row->arrivals = 10;
		row->turns = 40 + i % 4;
		row->since_ns = NOW_NS - 1000 * i;
		row->waited_ns = 1000000 * i;
		row->turn_cpu_ns = RUN_NS - 1000;
		row->useful_ns = RUN_NS / 2;
	}
	for (uint32_t i = 0; i < SITES; i++) {
		struct phases_site *site = &table->site[i];
		site->address = 1;
		site->named = 1;
		site->waits = i;
		site->waited_ns = 1000 * i;
		site->name[0] = (char)('a' + i / 2);
	}
}

static void damage(struct phases_table *table, struct input *input)
{
	static const struct field header[] = {FIELD(phases_header, rows_used),
		FIELD(phases_header, changes), FIELD(phases_header, sources),
		FIELD(phases_header, sites_used), FIELD(phases_header, magic),
		FIELD(phases_header, version), FIELD(phases_header, header_bytes),
		FIELD(phases_header, size_bytes), FIELD(phases_header, rows),
		FIELD(phases_header, sites), FIELD(phases_header, row_bytes),
		FIELD(phases_header, site_bytes)};
	static const struct field row[] = {FIELD(phases_row, tid), FIELD(phases_row, pid),
		FIELD(phases_row, arrivals), FIELD(phases_row, turns), FIELD(phases_row, since_ns),
		FIELD(phases_row, waited_ns), FIELD(phases_row, turn_cpu_ns),
		FIELD(phases_row, useful_ns), FIELD(phases_row, before_ns), FIELD(phases_row, site),
		FIELD(phases_row, flags)};
	static const struct field site[] = {FIELD(phases_site, address), FIELD(phases_site, pid),
		FIELD(phases_site, named), FIELD(phases_site, waits), FIELD(phases_site, waited_ns),
		FIELD(phases_site, name)};
	uint32_t record = input_byte(input) % (1 + ROWS + SITES);

	if (record == 0)
		input_write(input, &table->header, header, sizeof header / sizeof *header);
	else if (record <= ROWS)
		input_write(input, &table->row[record - 1], row, sizeof row / sizeof *row);
	else
		input_write(
			input, &table->site[record - 1 - ROWS], site, sizeof site / sizeof *site);
}

/* Threads of the same numbers, and some that have no rows. */
static void look(const struct told *told)
{
	struct told_thread thread[ROWS + 4];
	struct told_sight sight;
	int32_t row[ROWS + 4];

	(void)told_changes(told);
	for (int i = 0; i < ROWS + 4; i++)
		thread[i] = (struct told_thread){
			.pid = PID, .tid = PID + i * 7 % (ROWS + 4), .row = &row[i]};
	told_find(told, thread, ROWS + 4);
	for (int i = 0; i < ROWS + 4; i++) {
		assert(*thread[i].row >= TOLD_NO_ROW && *thread[i].row < PHASES_ROWS);
		if (!told_look(told, *thread[i].row, thread[i].pid, thread[i].tid, RUN_NS, NOW_NS,
			    &sight))
			continue;
		assert(sight.done_ns <= sight.useful_ns && sight.useful_ns < RUN_NS + RUN_NS / 10);
		assert(sight.waited_ns <= NOW_NS && sight.arrivals < UINT64_C(1) << 62);
		told_free_row(told, *thread[i].row, thread[i].pid, thread[i].tid);
		assert(!told_look(told, *thread[i].row, thread[i].pid, thread[i].tid, RUN_NS,
			NOW_NS, &sight));
	}
}

static void list(const struct told *told)
{
	struct told_site *site;
	char text[128];
	size_t n = told_sites(told, &site);

	assert(n <= PHASES_SITES);
	for (size_t i = 0; i < n; i++) {
		assert(memchr(site[i].name, '\0', sizeof site[i].name) != NULL);
		for (const char *c = site[i].name; *c != '\0'; c++)
			assert(*c >= ' ' && *c <= '~');
		assert(i == 0 || site[i].waited_ns <= site[i - 1].waited_ns);
	}
	free(site);
	assert(strlen(told_sources_text(told_sources(told), text, sizeof text)) < sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct phases_table *table, *mapped;
	static struct phases_header fixed;
	static int fd;
	struct input input = {data, bytes};
	struct told told;

	if (table == NULL) {
		assert(phases_make(&fd, &table) == 0);
		memcpy(&fixed, &table->header, sizeof fixed);
	}
	fill(table);
	while (input.left > 1)
		damage(table, &input);
	bool same = memcmp(&table->header, &fixed, offsetof(struct phases_header, rows_used)) == 0;
	assert((phases_map(fd, false, &mapped) == 0) == same);
	if (same)
		phases_unmap(mapped);
	told_init(&told, table);
	list(&told);
	look(&told);
	told_deinit(&told);
	memcpy(&table->header, &fixed, sizeof fixed);
	return 0;
}
