/* SPDX-License-Identifier: MIT */
/*
 * Whole screens from made-up samples: as in fixtures/top, and of any size and contents, with
 * nothing written outside. A screen that differs is printed.
 */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/top/screen.h"

enum {
	THREADS_MAX = 1000,
	CPUS_MAX = 300,
	PROCESSES_MAX = 3,
	PLACES_MAX = 10000,
	WORKERS_MAX = 64
};
enum { TEXT_BYTES = 400 * 110 * 4 };

/* A sample with room for its arrays. */
struct made {
	struct live_sample sample;
	struct live_cpu cpu[CPUS_MAX];
	struct live_thread thread[THREADS_MAX];
	struct live_process process[PROCESSES_MAX];
	struct progress_subdomain_view subdomain[PROCESSES_MAX][PLACES_MAX];
	struct history history;
};

static struct made *make(size_t cpus, size_t threads, size_t processes)
{
	struct made *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	assert_true(cpus <= CPUS_MAX && threads <= THREADS_MAX && processes <= PROCESSES_MAX);
	made->sample = (struct live_sample){.cpu = made->cpu,
		.cpus = cpus,
		.thread = made->thread,
		.threads = threads,
		.process = made->process,
		.processes = processes};
	for (size_t p = 0; p < processes; p++)
		made->process[p].subdomain = made->subdomain[p];
	return made;
}

/* ---- As recorded ---- */

static void wrap(struct live_sample *s, pid_t pid, const char *command, const char *reason)
{
	snprintf(s->command, sizeof(s->command), "%s", command);
	s->wrapped = true;
	s->juggle_pid = pid;
	s->job_pid = pid + 2;
	s->reason = reason;
	snprintf(s->policy, sizeof(s->policy), "juggle");
	snprintf(s->sampler, sizeof(s->sampler), "schedstat");
	snprintf(s->domains, sizeof(s->domains), "split");
}

static struct made *three_threads(void)
{
	struct made *made = make(2, 4, 0);
	struct live_sample *s = &made->sample;

	s->now_ns = 12300000000;
	wrap(s, 4000, "./heat --grid 300x300", "threads that do not sleep");
	s->balancing = true;
	s->period_ns = 4000000;
	s->idle_threads = 1;
	s->migrations = 1234;
	s->cycle_median_ns = 8100;
	s->compute_threads = 3;
	s->balancer_share = 0.0042;
	s->migrations_per_s = 98.7;
	s->thread_spread_s = 0.0061;
	made->cpu[0] = (struct live_cpu){.os_cpu = 0, .threads = 2};
	made->cpu[1] = (struct live_cpu){.os_cpu = 1, .threads = 1};
	for (int i = 0; i < 4; i++)
		made->thread[i] = (struct live_thread){.tid = 4002 + i,
			.pid = 4002,
			.comm = "heat",
			.rank = -1,
			.os_cpu = i == 2,
			.placed = i < 3,
			.compute = i < 3,
			.migrations = i < 3 ? 411 + (uint64_t)i : 0,
			.process = -1,
			.worker = -1,
			.share = i < 3 ? 0.66 : 0,
			.wait_share = i < 3 ? 0.33 : 0,
			.lead_s = i < 3 ? -0.0032 + 0.0031 * i : NAN,
			.updates_per_s = NAN};
	snprintf(made->thread[1].comm, LIVE_COMM_BYTES, "熱方程式の計算");
	for (int i = 0; i < 20; i++) {
		struct live_sample past = *s;
		past.migrations_per_s = 90 + i % 7 * 5;
		past.thread_spread_s = 0.001 * (i % 9);
		history_add(&made->history, &past);
	}
	history_add(&made->history, s);
	return made;
}

static struct made *three_ranks(void)
{
	struct made *made = make(16, 48, 3);
	struct live_sample *s = &made->sample;

	s->now_ns = 4000000000000;
	wrap(s, 5000, "mpirun -n 3 jacobi -t 16 --subdomains 64", "one thread a CPU");
	s->period_ns = 10000000;
	s->compute_threads = 48;
	s->workers = 48;
	s->subdomains = 3 * 1024 - 128;
	s->spread = 4321;
	s->thread_spread_s = 1.25;
	s->iteration_rate = 81234.5;
	s->moves_per_s = 7.25;
	for (int i = 0; i < 16; i++)
		made->cpu[i] = (struct live_cpu){.os_cpu = i, .domain = i / 8, .threads = 3};
	for (int i = 0; i < 48; i++)
		made->thread[i] = (struct live_thread){.tid = 5100 + i,
			.pid = 5100 + i / 16 * 16,
			.comm = "jacobi",
			.rank = i / 16,
			.os_cpu = i % 16,
			.compute = true,
			.process = i / 16,
			.worker = i % 16,
			.share = 0.3,
			.wait_share = 0.6,
			.lead_s = 0.01 * (i * 7 % 48 - 24),
			.updates_per_s = 5000 + i};
	for (int p = 0; p < 3; p++) {
		struct live_process *process = &made->process[p];
		process->pid = 5100 + 16 * p;
		process->rank = p;
		process->workers = 16;
		process->subdomains = 1024;
		for (uint32_t i = 0; i < 1024; i++)
			process->subdomain[i] = (struct progress_subdomain_view){
				.updates = 100000 - (uint64_t)p * 1000 - i % 64 * 10,
				.holder = p == 2 && i >= 896 ? UINT32_MAX : i / 64};
	}
	history_add(&made->history, s);
	return made;
}

static void draw(struct canvas *canvas, const struct made *made, struct view *view)
{
	struct arrange order = {0};

	assert_int_equal(arrange(&order, &made->sample, view), 0);
	const struct frame frame = {.sample = &made->sample,
		.arrange = &order,
		.history = &made->history,
		.view = view};
	screen_draw(canvas, &frame);
	arrange_deinit(&order);
}

/* Copy the rows without trailing blanks. */
static void to_text(const struct canvas *canvas, char *out)
{
	for (int row = 0; row < canvas->rows; row++) {
		char *end = out;
		for (int col = 0; col < canvas->cols; col++) {
			wchar_t ch = canvas->cell[row * canvas->cols + col].ch;
			int bytes = ch == 0 ? 0 : wctomb(out, ch);
			assert_true(bytes >= 0);
			out += bytes;
			if (ch != L' ')
				end = out;
		}
		*end = '\n';
		out = end + 1;
	}
	*out = '\0';
}

static void expect_screen(
	const struct made *made, struct view *view, int rows, int cols, bool utf8, const char *name)
{
	struct canvas canvas = {.utf8 = utf8};
	char *text = calloc(1, TEXT_BYTES), *expected = calloc(1, TEXT_BYTES), path[4096];
	const char *folder = getenv("JUGGLE_FIXTURES");

	if (folder == NULL)
		fail_msg("JUGGLE_FIXTURES is not set");
	assert_non_null(text);
	assert_non_null(expected);
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	assert_int_equal(canvas_resize(&canvas, rows, cols), 0);
	draw(&canvas, made, view);
	to_text(&canvas, text);
	snprintf(path, sizeof(path), "%s/top/%s.txt", folder, name);
	FILE *file = fopen(path, "r");
	if (file != NULL) {
		expected[fread(expected, 1, TEXT_BYTES - 1, file)] = '\0';
		fclose(file);
	}
	if (strcmp(text, expected) != 0) {
		fprintf(stderr, "<<< %s\n%s>>>\n", name, text);
		fail_msg("not as in %s", path);
	}
	free(text);
	free(expected);
	canvas_deinit(&canvas);
}

static void test_threads(void **state)
{
	struct made *made = three_threads();
	struct view view = {.interval_ns = 1000000000};

	(void)state;
	expect_screen(made, &view, 24, 80, true, "threads-80x24");
	expect_screen(made, &view, 24, 80, false, "threads-80x24-ascii");
	expect_screen(made, &view, 60, 200, true, "threads-200x60");
	view.panel = VIEW_CPUS;
	view.paused = true;
	expect_screen(made, &view, 12, 60, true, "cpus-60x12");
	made->cpu[0].speed = 1;
	made->cpu[1].speed = 0.55;
	expect_screen(made, &view, 12, 60, true, "cpus-speeds-60x12");
	made->cpu[1].stolen = 0.125;
	made->sample.quota_cpus = 1.5;
	made->sample.throttled_ns = 3100000000;
	expect_screen(made, &view, 14, 80, true, "cpus-slow-80x14");
	free(made);
}

/* Where runtimes tell of phases. */
static void test_phases(void **state)
{
	struct made *made = three_threads();
	struct view view = {.interval_ns = 1000000000};

	(void)state;
	for (int i = 0; i < 3; i++) {
		made->thread[i].told = true;
		made->thread[i].waited_share = 0.02 * (i + 1);
	}
	made->thread[3].waited_share = NAN;
	made->sample.efficiency = (struct efficiency){.threads = 3,
		.phase_s = 0.0125,
		.parallel_efficiency = 0.62,
		.load_balance = 0.97,
		.communication_efficiency = 0.64,
		.useful_share = 0.93};
	expect_screen(made, &view, 24, 80, true, "phases-80x24");
	free(made);
}

static void test_ranks(void **state)
{
	struct made *made = three_ranks();
	struct view view = {.interval_ns = 500000000, .ended = true};

	(void)state;
	expect_screen(made, &view, 24, 80, true, "ranks-80x24");
	expect_screen(made, &view, 60, 200, true, "ranks-200x60");
	view.panel = VIEW_SUBDOMAINS;
	view.by_worker = true;
	expect_screen(made, &view, 24, 80, false, "workers-80x24-ascii");
	free(made);
}

/* ---- Anything ---- */

static uint64_t any(unsigned short random[3])
{
	return (uint64_t)nrand48(random) << 33 ^ (uint64_t)nrand48(random) << 2 ^
	       (uint64_t)(nrand48(random) & 3);
}

static int below(unsigned short random[3], int n)
{
	return (int)((uint32_t)nrand48(random) % (uint32_t)n);
}

static double any_number(unsigned short random[3])
{
	static const double odd[] = {
		0, -0.0, 1, -1, 1e-300, 1e300, -1e300, 4e-320, INFINITY, -INFINITY, NAN};

	if (below(random, 2) == 0)
		return odd[below(random, (int)(sizeof(odd) / sizeof(*odd)))];
	return (erand48(random) - 0.5) * pow(10, below(random, 20) - 10);
}

/* live returns only UTF-8, but here any bytes may come. */
static void any_text(unsigned short random[3], char *out, size_t bytes)
{
	static const char *const words[] = {
		"a", "日本", "\xff", "\xf0\x9f\x98\x80", "e\xcc\x81", " ", "\xe2", "\033[2J"};
	size_t length = 0;
	int n = below(random, 40);

	out[0] = '\0';
	for (int i = 0; i < n; i++) {
		const char *word = words[below(random, (int)(sizeof(words) / sizeof(*words)))];
		if (length + strlen(word) >= bytes)
			return;
		memcpy(out + length, word, strlen(word) + 1);
		length += strlen(word);
	}
}

static void any_thread(unsigned short random[3], struct live_thread *thread)
{
	thread->tid = (pid_t)any(random);
	thread->pid = (pid_t)any(random);
	any_text(random, thread->comm, sizeof(thread->comm));
	thread->rank = below(random, 3) == 0 ? (int32_t)any(random) : -1;
	thread->os_cpu = below(random, 4) == 0 ? (int32_t)any(random) : below(random, 300);
	thread->compute = below(random, 4) > 0;
	thread->domain = below(random, 3) - 1;
	thread->migrations = any(random);
	thread->worker = below(random, 3) - 1;
	thread->share = any_number(random);
	thread->wait_share = any_number(random);
	thread->lead_s = any_number(random);
	thread->told = below(random, 2) == 0;
	thread->waited_share = any_number(random);
	thread->updates_per_s = any_number(random);
}

static void any_process(unsigned short random[3], struct live_process *process)
{
	process->error = below(random, 5) == 0 ? -EPROTO : 0;
	process->pid = (pid_t)any(random);
	process->rank = below(random, 2) == 0 ? (int32_t)any(random) : -1;
	process->workers = (uint32_t)below(random, WORKERS_MAX);
	process->subdomains = (uint32_t)below(random, below(random, 20) == 0 ? PLACES_MAX : 100);
	process->asked = (uint32_t)any(random);
	process->balancer_pid = below(random, 2);
	process->moves = any(random);
	for (uint32_t i = 0; i < process->subdomains; i++)
		process->subdomain[i] = (struct progress_subdomain_view){
			.updates =
				below(random, 3) == 0 ? any(random) : (uint64_t)below(random, 100),
			.holder = (uint32_t)below(random, WORKERS_MAX)};
}

static void any_head(unsigned short random[3], struct live_sample *s)
{
	s->now_ns = any(random);
	s->start_ns = any(random);
	any_text(random, s->command, sizeof(s->command));
	s->wrapped = below(random, 3) > 0;
	s->lost = below(random, 4) == 0;
	s->balancing = below(random, 2) == 0;
	s->attached = below(random, 2) == 0;
	s->juggle_pid = (pid_t)any(random);
	s->job_pid = below(random, 2);
	s->reason = below(random, 2) == 0 ? NULL : "because";
	any_text(random, s->policy, sizeof(s->policy));
	any_text(random, s->sampler, sizeof(s->sampler));
	s->period_ns = any(random);
	s->quota_cpus = any_number(random);
	s->throttled_ns = any(random);
	s->idle_threads = (uint32_t)any(random);
	s->migrations = any(random);
	s->cycle_median_ns = any(random);
	s->unlisted = (uint64_t)below(random, 2);
	s->subdomains = (uint32_t)any(random);
	s->spread = any(random);
	s->migrations_per_s = any_number(random);
	s->balancer_share = any_number(random);
	s->thread_spread_s = any_number(random);
	s->iteration_rate = any_number(random);
	s->moves_per_s = any_number(random);
}

static struct made *anything(unsigned short random[3])
{
	bool many = below(random, 10) == 0;
	struct made *made = make((size_t)below(random, many ? CPUS_MAX : 20),
		(size_t)below(random, many ? THREADS_MAX : 20),
		(size_t)below(random, PROCESSES_MAX + 1));

	for (int i = below(random, 30); i >= 0; i--) {
		any_head(random, &made->sample);
		history_add(&made->history, &made->sample);
	}
	for (size_t i = 0; i < made->sample.cpus; i++)
		made->cpu[i] = (struct live_cpu){
			.os_cpu = below(random, 50) == 0 ? (int32_t)any(random) : (int32_t)i,
			.domain = below(random, 3) - 1,
			.threads = (uint32_t)(below(random, 9) == 0 ? any(random) : 2),
			.speed = any_number(random),
			.stolen = any_number(random)};
	for (size_t i = 0; i < made->sample.threads; i++)
		any_thread(random, &made->thread[i]);
	for (size_t i = 0; i < made->sample.processes; i++)
		any_process(random, &made->process[i]);
	return made;
}

/* Each right half has its left one, and there are no control characters. */
static void check(const struct canvas *canvas)
{
	for (int row = 0; row < canvas->rows; row++)
		for (int col = 0; col < canvas->cols; col++) {
			const struct canvas_cell *cell = &canvas->cell[row * canvas->cols + col];
			assert_true(cell->style < CANVAS_STYLES);
			bool half = col + 1 < canvas->cols && cell[1].ch == 0;
			if (cell->ch == 0)
				assert_true(col > 0);
			else
				assert_int_equal(wcwidth(cell->ch), half ? 2 : 1);
		}
}

static void any_view(unsigned short random[3], struct view *view)
{
	static const uint32_t keys[] = {'o', 't', 'c', 's', 'h', 'p', '<', '>', 'r', 'g', '+', '-',
		'/', 'j', VIEW_KEY_UP, VIEW_KEY_DOWN, VIEW_KEY_PAGE_UP, VIEW_KEY_PAGE_DOWN,
		VIEW_KEY_HOME, VIEW_KEY_END, VIEW_KEY_ENTER, VIEW_KEY_BACKSPACE, VIEW_KEY_ESCAPE,
		0x65e5, '\t'};

	for (int i = below(random, 6); i > 0; i--)
		view_key(view, keys[below(random, (int)(sizeof(keys) / sizeof(*keys)))]);
	if (below(random, 8) == 0)
		view->panel = VIEW_JOBS;
	view->ended = below(random, 2) == 0;
}

static void test_any_size_and_contents(void **state)
{
	unsigned short random[3] = {7, 8, 9};
	struct live_entry *entry = calloc(5, sizeof(*entry));
	struct view view = {.interval_ns = 1000000000, .entry = entry, .entries = 5};

	(void)state;
	assert_non_null(entry);
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (int i = 0; i < 5; i++)
		any_text(random, entry[i].command, sizeof(entry[i].command));
	for (int round = 0; round < 600; round++) {
		struct made *made = anything(random);
		struct canvas canvas = {.utf8 = below(random, 2) == 0};
		bool small = below(random, 2) == 0;
		/* A new canvas each time, so that a sanitizer sees writes beyond it. */
		assert_int_equal(canvas_resize(&canvas, 1 + below(random, small ? 30 : 100),
					 1 + below(random, small ? 90 : 300)),
			0);
		any_view(random, &view);
		draw(&canvas, made, &view);
		check(&canvas);
		canvas_deinit(&canvas);
		free(made);
	}
	view_deinit(&view);
}

static void test_each_small_size(void **state)
{
	struct made *made = three_ranks();

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (int panel = 0; panel < VIEW_PANELS; panel++)
		for (int rows = 1; rows <= 14; rows++)
			for (int cols = 1; cols <= 64; cols += cols < 50 ? 7 : 1) {
				struct canvas canvas = {.utf8 = true};
				struct view view = {.panel = (enum view_panel)panel};
				assert_int_equal(canvas_resize(&canvas, rows, cols), 0);
				draw(&canvas, made, &view);
				check(&canvas);
				canvas_deinit(&canvas);
			}
	free(made);
}

static void test_nothing_chosen_yet(void **state)
{
	struct view view = {.panel = VIEW_JOBS, .picking = true};
	const struct frame frame = {.view = &view};
	struct canvas canvas = {0};

	(void)state;
	for (int panel = 0; panel < VIEW_PANELS; panel++) {
		view.panel = (enum view_panel)panel;
		assert_int_equal(canvas_resize(&canvas, 24, 80), 0);
		screen_draw(&canvas, &frame);
		check(&canvas);
	}
	canvas_deinit(&canvas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_any_size_and_contents),
		cmocka_unit_test(test_each_small_size),
		cmocka_unit_test(test_nothing_chosen_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
