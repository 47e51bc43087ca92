// SPDX-License-Identifier: MIT
/*
 * The telemetry segment: its layout, which other programs read; its name, which must not stay
 * behind; and the histogram of the costs of balancing points.
 */
#undef NDEBUG
#include "daemon/telemetry/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message("SKIPPED: " __VA_ARGS__);                                            \
		skip();                                                                            \
	} while (0)

#define AT(field, offset) assert_int_equal(offsetof(struct telemetry, field), offset)
#define THREAD_AT(field, offset) assert_int_equal(offsetof(struct telemetry_thread, field), offset)

#define PROGRESS_AT(field, offset)                                                                 \
	assert_int_equal(offsetof(struct telemetry_progress, field), offset)

/* As numbers, since readers of that version rely on them. Change them only with the version. */
static void test_layout(void **state)
{
	(void)state;
	assert_int_equal(TELEMETRY_VERSION, 8);
	assert_true(TELEMETRY_MAGIC == UINT64_C(0x656c6767756a0a01));
	AT(magic, 0);
	AT(version, 8);
	AT(header_bytes, 12);
	AT(total_bytes, 16);
	AT(cpu_bytes, 24);
	AT(thread_bytes, 28);
	AT(cpu_capacity, 32);
	AT(thread_capacity, 36);
	AT(pid, 40);
	AT(attached, 44);
	AT(start_realtime_ns, 48);
	AT(start_ns, 56);
	AT(command, 64);
	AT(policy, 320);
	AT(sampler, 336);
	AT(balancers, 352);
	AT(domains, 368);
	AT(job_pid, 384);
	AT(state, 388);
	AT(regime, 392);
	AT(reason, 396);
	AT(period_ns, 400);
	AT(heartbeat_ns, 408);
	AT(cpus, 416);
	AT(threads, 420);
	AT(idle_threads, 424);
	AT(threads_most, 428);
	AT(idle_then, 432);
	AT(slots, 436);
	AT(unlisted, 440);
	AT(cycles, 448);
	AT(migrations, 456);
	AT(regime_changes, 464);
	AT(balanced_ns, 472);
	AT(balancer_cpu_ns, 480);
	AT(cycle_max_ns, 488);
	AT(cycle_bucket, 496);
	AT(progress_bytes, 3568);
	AT(progress_capacity, 3572);
	AT(progress_slots, 3576);
	AT(aside_ns, 3584);
	AT(balance_ns, 3776);
	AT(pace, 3968);
	AT(phase_ns, 4256);
	AT(point_ns, 4264);
	AT(speeds, 4272);
	AT(quota, 4288);
	AT(throttled_ns, 4296);
	AT(untold, 4304);
	AT(told, 4420);
	AT(sites, 4424);
	AT(site, 4432);
	assert_int_equal(sizeof(struct telemetry), 8016);
	assert_int_equal(offsetof(struct telemetry_site, waits), 96);
	assert_int_equal(offsetof(struct telemetry_site, waited_ns), 104);
	assert_int_equal(sizeof(struct telemetry_site), 112);
	assert_int_equal(offsetof(struct telemetry_cpu, os_cpu), 0);
	assert_int_equal(offsetof(struct telemetry_cpu, domain), 4);
	assert_int_equal(offsetof(struct telemetry_cpu, speed), 8);
	assert_int_equal(offsetof(struct telemetry_cpu, stolen), 12);
	assert_int_equal(sizeof(struct telemetry_cpu), 16);
	THREAD_AT(flags, 0);
	THREAD_AT(os_cpu, 4);
	THREAD_AT(tid, 8);
	THREAD_AT(pid, 12);
	THREAD_AT(start_ticks, 16);
	THREAD_AT(comm, 24);
	THREAD_AT(progress_ns, 40);
	THREAD_AT(wait_ns, 48);
	THREAD_AT(migrations, 56);
	THREAD_AT(balance_ns, 64);
	THREAD_AT(met_ns, 72);
	THREAD_AT(told_ns, 80);
	THREAD_AT(arrivals, 88);
	THREAD_AT(waited_ns, 96);
	THREAD_AT(useful_ns, 104);
	THREAD_AT(told_until_ns, 112);
	assert_int_equal(sizeof(struct telemetry_thread), 120);
	PROGRESS_AT(flags, 0);
	PROGRESS_AT(pid, 4);
	PROGRESS_AT(rank, 8);
	PROGRESS_AT(workers, 12);
	PROGRESS_AT(subdomains, 16);
	PROGRESS_AT(balancing, 20);
	PROGRESS_AT(points, 24);
	PROGRESS_AT(moves, 32);
	PROGRESS_AT(held, 40);
	PROGRESS_AT(updates_least, 48);
	PROGRESS_AT(updates_most, 56);
	assert_int_equal(sizeof(struct telemetry_progress), 64);
}

/* Values that readers compare with. */
static void test_values(void **state)
{
	(void)state;
	assert_int_equal(TELEMETRY_STARTING, 0);
	assert_int_equal(TELEMETRY_RUNNING, 1);
	assert_int_equal(TELEMETRY_ENDED, 2);
	assert_int_equal(TELEMETRY_LOST, 3);
	assert_int_equal(TELEMETRY_THREAD_USED, 1);
	assert_int_equal(TELEMETRY_THREAD_COMPUTE, 2);
	assert_int_equal(TELEMETRY_THREAD_ENDED, 8);
	assert_int_equal(TELEMETRY_PROGRESS_USED, 1);
	assert_int_equal(TELEMETRY_PROGRESS_ENDED, 2);
}

static void test_buckets(void **state)
{
	(void)state;
	for (uint64_t ns = 0; ns < 16; ns++) {
		assert_int_equal(telemetry_bucket(ns), ns);
		assert_int_equal(telemetry_bucket_ns((uint32_t)ns), ns);
	}
	for (uint32_t b = 0; b < TELEMETRY_BUCKETS; b++)
		assert_int_equal(telemetry_bucket(telemetry_bucket_ns(b)), b);
	uint32_t before = 0;
	for (uint64_t ns = 0; ns < UINT64_C(1) << 27; ns += 1 + ns / 1000) {
		uint32_t bucket = telemetry_bucket(ns);
		uint64_t middle = telemetry_bucket_ns(bucket);
		assert_true(bucket == before || bucket == before + 1);
		before = bucket;
		uint64_t off = middle > ns ? middle - ns : ns - middle;
		assert_true(16 * off <= ns);
	}
	assert_int_equal(before, TELEMETRY_BUCKETS - 1);
	/* Larger values count as the largest. */
	for (int power = 27; power < 64; power++)
		assert_int_equal(telemetry_bucket(UINT64_C(1) << power), TELEMETRY_BUCKETS - 1);
	assert_int_equal(telemetry_bucket(UINT64_MAX), TELEMETRY_BUCKETS - 1);
}

static struct telemetry *create(void)
{
	struct telemetry *t = NULL;
	int fd = 0;

	assert_int_equal(telemetry_create(&t, &fd), 0);
	assert_non_null(t);
	int r = fd < 0 ? fd : telemetry_publish(fd, getpid());
	if (r < 0)
		print_message("no name: %s\n", strerror(-r));
	if (fd >= 0)
		close(fd);
	return t;
}

static void finish(struct telemetry *t)
{
	telemetry_unlink(getpid());
	telemetry_unmap(t);
}

static void count(struct telemetry *t, uint64_t ns, uint64_t times)
{
	telemetry_add(&t->cycle_bucket[telemetry_bucket(ns)], times);
}

static void assert_quantile(const struct telemetry *t, double share, uint64_t ns)
{
	assert_int_equal(telemetry_bucket(telemetry_quantile_ns(t, share)), telemetry_bucket(ns));
}

static void test_quantiles(void **state)
{
	struct telemetry *t = create();
	(void)state;

	assert_int_equal(telemetry_quantile_ns(t, 0.5), 0);
	assert_int_equal(telemetry_quantile_ns(t, 1), 0);
	count(t, 5000, 1);
	assert_quantile(t, 0.01, 5000);
	assert_quantile(t, 0.5, 5000);
	assert_quantile(t, 1, 5000);
	count(t, 10, 97);
	count(t, 1000000, 2);
	assert_quantile(t, 0.5, 10);
	assert_quantile(t, 0.97, 10);
	assert_quantile(t, 0.975, 5000);
	assert_quantile(t, 0.99, 1000000);
	assert_quantile(t, 1, 1000000);
	finish(t);
}

/* The name of this process's segment, for the functions of stdio and stat. */
static const char *path(void)
{
	static char text[64];

	snprintf(text, sizeof text, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)getpid());
	return text;
}

static bool shm_works(void)
{
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0)
		return false;
	bool works = posix_fallocate(fd, 0, 4 << 20) == 0;
	close(fd);
	return works;
}

static uint64_t bytes_of_file(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void assert_zero(const void *begin, const void *end)
{
	for (const char *byte = begin; byte < (const char *)end; byte++)
		assert_int_equal(*byte, 0);
}

static void test_create(void **state)
{
	struct stat st;
	(void)state;

	struct telemetry *t = create();
	/* Check this first, since looking at a page allocates it. */
	if (shm_works()) {
		assert_int_equal(lstat(path(), &st), 0);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_int_equal(st.st_uid, geteuid());
		assert_int_equal(st.st_size, t->total_bytes);
	}
	assert_true(t->magic == TELEMETRY_MAGIC);
	assert_int_equal(t->version, TELEMETRY_VERSION);
	assert_int_equal(t->header_bytes, sizeof *t);
	assert_int_equal(t->cpu_bytes, 16);
	assert_int_equal(t->thread_bytes, 120);
	assert_int_equal(t->total_bytes, t->header_bytes + t->cpu_capacity * t->cpu_bytes +
						 t->thread_capacity * t->thread_bytes +
						 t->progress_capacity * t->progress_bytes);
	assert_int_equal(t->pid, getpid());
	assert_true(t->start_ns > 0 && t->start_realtime_ns > 0);
	assert_int_equal(t->progress_bytes, 64);
	assert_zero(&t->job_pid, &t->progress_bytes);
	assert_zero((const char *)&t->progress_slots, (const char *)t + t->total_bytes);
	/* The arrays lie behind the header, within the segment. */
	assert_ptr_equal(telemetry_cpus(t), (char *)t + t->header_bytes);
	assert_ptr_equal(telemetry_threads(t) + t->thread_capacity, telemetry_progress(t));
	assert_ptr_equal(telemetry_progress(t) + t->progress_capacity, (char *)t + t->total_bytes);

	telemetry_unlink(getpid());
	assert_int_equal(lstat(path(), &st), -1);
	assert_int_equal(errno, ENOENT);
	telemetry_set(&t->cycles, 7); /* the mapping stays */
	assert_int_equal(telemetry_get(&t->cycles), 7);
	telemetry_unlink(getpid()); /* harmless */
	telemetry_unmap(t);
}

/* Nobody could remove the name if this process were killed before it has children. */
static void test_has_no_name_at_first(void **state)
{
	struct telemetry *t = NULL;
	int fd = -1;
	(void)state;

	if (!shm_works())
		SKIP("/dev/shm cannot be used here\n");
	assert_int_equal(telemetry_create(&t, &fd), 0);
	assert_int_equal(access(path(), F_OK), -1);
	assert_int_equal(telemetry_publish(fd, getpid()), 0);
	assert_int_equal(access(path(), F_OK), 0);
	close(fd);
	finish(t);
}

/* A leftover with our pid is replaced, whatever its content. */
static void test_leftover(void **state)
{
	struct stat st;
	(void)state;

	if (!shm_works())
		SKIP("/dev/shm cannot be used here\n");
	int fd = open(path(), O_RDWR | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "rubbish", 7), 7);
	struct telemetry *t = create();
	assert_int_equal(lstat(path(), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, t->total_bytes);
	assert_true(t->magic == TELEMETRY_MAGIC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 7);
	close(fd);
	finish(t);
}

static void test_shared_with_children(void **state)
{
	int status;
	(void)state;

	struct telemetry *t = create();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		telemetry_add(&t->cycles, 41);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	telemetry_add(&t->cycles, 1);
	assert_int_equal(telemetry_get(&t->cycles), 42);
	finish(t);
}

/* Runs check() in a child process with a resource limit. */
static void in_child(int resource, rlim_t limit, int errno_expected)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit small = {limit, limit};
		struct telemetry *t = NULL;
		int fd = 0;
		if (setrlimit(resource, &small) < 0)
			_exit(2);
		if (telemetry_create(&t, &fd) != 0)
			_exit(3);
		if (fd != -errno_expected)
			_exit(4);
		if (access(path(), F_OK) == 0)
			_exit(5);
		/* All of it is writable, and unlink does no harm. */
		memset(telemetry_threads(t), 1,
			TELEMETRY_THREADS * sizeof(struct telemetry_thread) +
				TELEMETRY_PROGRESS * sizeof(struct telemetry_progress));
		telemetry_unlink(getpid());
		_exit(t->magic == TELEMETRY_MAGIC && t->pid == getpid() ? 0 : 6);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("status %#x", (unsigned)status);
}

static void test_without_a_name(void **state)
{
	(void)state;
	if (!shm_works())
		SKIP("/dev/shm cannot be used here\n");
	in_child(RLIMIT_NOFILE, 0, EMFILE);
	in_child(RLIMIT_FSIZE, 4096, EFBIG); /* and no SIGXFSZ */
}

static void test_slots(void **state)
{
	struct telemetry *t = create();
	struct telemetry_thread *threads = telemetry_threads(t);
	uint32_t search = 0;
	(void)state;

	for (uint32_t i = 0; i < TELEMETRY_THREADS; i++) {
		struct telemetry_thread *slot = telemetry_slot(t, -1, &search);
		assert_ptr_equal(slot, &threads[i]);
		assert_int_equal(telemetry_get32(&t->slots), i + 1);
		telemetry_set32(&slot->flags, TELEMETRY_THREAD_USED);
	}
	assert_null(telemetry_slot(t, -1, &search));
	assert_int_equal(telemetry_get32(&t->slots), TELEMETRY_THREADS);

	/* Slots of ended threads are reused, each once. */
	static const uint32_t ended[] = {5000, 3, 16383, 0};
	for (size_t i = 0; i < 4; i++)
		telemetry_set32(
			&threads[ended[i]].flags, TELEMETRY_THREAD_USED | TELEMETRY_THREAD_ENDED);
	for (size_t i = 0; i < 4; i++) {
		struct telemetry_thread *slot = telemetry_slot(t, -1, &search);
		assert_non_null(slot);
		assert_true(telemetry_get32(&slot->flags) & TELEMETRY_THREAD_ENDED);
		telemetry_set32(&slot->flags, TELEMETRY_THREAD_USED);
	}
	assert_null(telemetry_slot(t, -1, &search));

	/* Where the search begins does not matter, not even at the end. */
	telemetry_set32(&threads[77].flags, TELEMETRY_THREAD_ENDED);
	search = UINT32_MAX - 5;
	assert_ptr_equal(telemetry_slot(t, -1, &search), &threads[77]);
	finish(t);
}

/* No write meets a page without memory, which would be a SIGBUS once /dev/shm is full. But threads get theirs
 * when they come. */
static void test_memory_is_reserved(void **state)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct telemetry *t = NULL;
	uint32_t search = 0;
	int fd = -1;
	(void)state;

	if (!shm_works())
		SKIP("/dev/shm cannot be used here\n");
	assert_int_equal(telemetry_create(&t, &fd), 0);
	uint64_t first = bytes_of_file(fd),
		 rest = TELEMETRY_THREADS * sizeof(struct telemetry_thread);
	assert_in_range(first, t->total_bytes - rest, t->total_bytes - rest / 2);
	memset(telemetry_cpus(t), 0, TELEMETRY_CPUS * sizeof(struct telemetry_cpu));
	memset(telemetry_progress(t), 0, TELEMETRY_PROGRESS * sizeof(struct telemetry_progress));
	assert_int_equal(bytes_of_file(fd), first);
	for (uint32_t i = 1; i <= TELEMETRY_THREADS; i++) {
		struct telemetry_thread *slot = telemetry_slot(t, fd, &search);
		uint64_t now = bytes_of_file(fd);
		assert_in_range(now + 2 * page, first + i * sizeof *slot, UINT64_MAX);
		memset(slot, 1, sizeof *slot);
		assert_int_equal(bytes_of_file(fd), now);
	}
	telemetry_unmap(t);
	close(fd);
}

/* Then threads share the slots that there are. */
static void test_no_memory_for_slots(void **state)
{
	struct telemetry *t = NULL;
	uint32_t search = 0, slots = 0;
	int fd = -1;
	(void)state;

	if (!shm_works())
		SKIP("/dev/shm cannot be used here\n");
	assert_int_equal(telemetry_create(&t, &fd), 0);
	int read_only = open("/dev/null", O_RDONLY); /* no memory can be reserved in that */
	assert_null(telemetry_slot(t, read_only, &search));
	assert_int_equal(telemetry_get32(&t->slots), 0);
	for (struct telemetry_thread *slot = telemetry_slot(t, fd, &search); slot != NULL;
		slot = telemetry_slot(t, read_only, &search)) {
		telemetry_set32(&slot->flags, TELEMETRY_THREAD_USED);
		slots++;
	}
	assert_in_range(slots, 1, TELEMETRY_THREADS - 1);
	assert_int_equal(telemetry_get32(&t->slots), slots);
	telemetry_set32(&telemetry_threads(t)[slots - 1].flags, TELEMETRY_THREAD_ENDED);
	assert_ptr_equal(telemetry_slot(t, read_only, &search), &telemetry_threads(t)[slots - 1]);
	/* Others can write to the file. */
	telemetry_set32(&t->slots, UINT32_MAX);
	for (uint32_t i = 0; i < TELEMETRY_THREADS; i++)
		telemetry_set32(&telemetry_threads(t)[i].flags, TELEMETRY_THREAD_USED);
	assert_null(telemetry_slot(t, fd, &search));
	close(read_only);
	telemetry_unmap(t);
	close(fd);
}

/* Segments of libprogress are listed as long as there is room; none is listed twice. */
static void test_progress_slots(void **state)
{
	struct telemetry *t = create();
	(void)state;

	for (uint32_t i = 0; i < TELEMETRY_PROGRESS; i++)
		assert_ptr_equal(telemetry_progress_slot(t), telemetry_progress(t) + i);
	for (int again = 0; again < 2; again++)
		assert_null(telemetry_progress_slot(t));
	assert_int_equal(telemetry_get32(&t->progress_slots), TELEMETRY_PROGRESS);
	finish(t);
}

/* The first sites stay, whatever comes later, and their totals grow. */
static void test_sites(void **state)
{
	struct telemetry *t = create();
	char name[200];
	(void)state;

	for (uint64_t i = 0; i < 2 * TELEMETRY_SITES; i++) {
		snprintf(name, sizeof name, "barrier in a+%d", (int)i);
		telemetry_show_site(t, name, i, 10 * i);
	}
	assert_int_equal(telemetry_get32(&t->sites), TELEMETRY_SITES);
	telemetry_show_site(t, "barrier in a+3", 33, 44);
	telemetry_show_site(t, "barrier in a+33", 1, 1);
	assert_int_equal(telemetry_get32(&t->sites), TELEMETRY_SITES);
	for (uint64_t i = 0; i < TELEMETRY_SITES; i++) {
		snprintf(name, sizeof name, "barrier in a+%d", (int)i);
		assert_string_equal(t->site[i].name, name);
		assert_true(telemetry_get(&t->site[i].waits) == (i == 3 ? 33 : i));
		assert_true(telemetry_get(&t->site[i].waited_ns) == (i == 3 ? 44 : 10 * i));
	}
	finish(t);

	t = create(); /* a long name is cut off, and the same site still */
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	telemetry_show_site(t, name, 1, 1);
	telemetry_show_site(t, name, 2, 2);
	assert_int_equal(telemetry_get32(&t->sites), 1);
	assert_int_equal(strlen(t->site[0].name), sizeof t->site[0].name - 1);
	finish(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_sites),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_has_no_name_at_first),
		cmocka_unit_test(test_leftover),
		cmocka_unit_test(test_shared_with_children),
		cmocka_unit_test(test_without_a_name),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_memory_is_reserved),
		cmocka_unit_test(test_no_memory_for_slots),
		cmocka_unit_test(test_progress_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
