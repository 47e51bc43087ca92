// SPDX-License-Identifier: MIT
/*
 * The segment of libprogress: the layout that other programs read, what creating and registering
 * refuse, and what a process leaves behind.
 */
#undef NDEBUG
#include "libprogress/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/libprogress/segment_of.h"

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message("SKIPPED: " __VA_ARGS__);                                            \
		skip();                                                                            \
	} while (0)

#define AT(field, offset) assert_int_equal(offsetof(struct segment_header, field), offset)
#define WORKER_AT(field, offset) assert_int_equal(offsetof(struct segment_worker, field), offset)
#define SUBDOMAIN_AT(field, offset)                                                                \
	assert_int_equal(offsetof(struct segment_subdomain, field), offset)

/* As numbers, since readers rely on them. Change them only with the version, and update the remarks
 * on the previous one, which still has this layout. */
static void test_layout(void **state)
{
	(void)state;
	assert_int_equal(SEGMENT_VERSION, 2);
	assert_int_equal(SEGMENT_VERSION_MIN, 1);
	assert_memory_equal(&(uint64_t){SEGMENT_MAGIC}, "PROGRESS", 8);
	AT(magic, 0);
	AT(version, 8);
	AT(header_bytes, 12);
	AT(size_bytes, 16);
	AT(workers, 24);
	AT(subdomains, 28);
	AT(worker_bytes, 32);
	AT(subdomain_bytes, 36);
	AT(pid, 40);
	AT(rank, 44);
	AT(created_ns, 48);
	AT(balancing, 56);
	AT(pairs, 60);
	AT(low, 64);
	AT(high, 68);
	AT(hybrid_every, 72);
	AT(period_ns, 80);
	AT(state, 88);
	AT(claim, 128);
	AT(beat_ns, 136);
	AT(points, 144);
	AT(moves, 152);
	AT(due_ns, 192);
	assert_int_equal(sizeof(struct segment_header), 256);
	WORKER_AT(dirty, 0);
	WORKER_AT(tid, 64);
	WORKER_AT(node, 68);
	WORKER_AT(iterations, 72);
	WORKER_AT(updates, 80);
	WORKER_AT(handed, 88);
	assert_int_equal(sizeof(struct segment_worker), 128);
	SUBDOMAIN_AT(sequence, 0);
	SUBDOMAIN_AT(holder, 4);
	SUBDOMAIN_AT(updates, 8);
	SUBDOMAIN_AT(iteration, 16);
	SUBDOMAIN_AT(residual, 24);
	SUBDOMAIN_AT(owner, 32);
	assert_int_equal(sizeof(struct segment_subdomain), 64);
	assert_int_equal(segment_size(3, 5), 256 + 3 * 128 + 5 * 64);
	assert_int_equal(SEGMENT_NEW, 0);
	assert_int_equal(SEGMENT_OPEN, 1);
	assert_int_equal(SEGMENT_CLOSED, 2);
}

static void test_create(void **state)
{
	char path[PATH_BYTES];
	struct stat st;
	(void)state;

	NEED_SHM();
	segment_path(path, getpid());
	struct progress *p = create(3, 7);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, segment_size(3, 7));
	assert_true(st.st_blocks * 512 >= st.st_size); /* no SIGBUS later */

	struct view v = view_open();
	assert_memory_equal(v.header, "PROGRESS", 8);
	assert_int_equal(v.header->version, 2);
	assert_int_equal(v.header->header_bytes, 256);
	assert_int_equal(v.header->size_bytes, st.st_size);
	assert_int_equal(v.header->worker_bytes, 128);
	assert_int_equal(v.header->subdomain_bytes, 64);
	assert_int_equal(v.header->workers, 3);
	assert_int_equal(v.header->subdomains, 7);
	assert_int_equal(v.header->pid, getpid());
	assert_int_equal(v.header->rank, 0);
	assert_true(v.header->created_ns > 0);
	assert_int_equal(v.header->balancing, PROGRESS_BALANCE_HYBRID);
	assert_int_equal(v.header->pairs, 6);
	assert_int_equal(v.header->low, 2);
	assert_int_equal(v.header->high, 6);
	assert_int_equal(v.header->hybrid_every, 500);
	assert_int_equal(v.header->period_ns, 1000000);
	assert_int_equal(v.header->state, SEGMENT_OPEN);
	assert_int_equal(v.header->claim, 0);
	static const uint32_t blocks[] = {0, 0, 0, 1, 1, 2, 2};
	for (uint32_t s = 0; s < 7; s++) {
		double residual;
		assert_int_equal(v.subdomain[s].owner, blocks[s]);
		assert_int_equal(v.subdomain[s].holder, blocks[s]);
		assert_int_equal(progress_holder(p, s), blocks[s]);
		memcpy(&residual, &v.subdomain[s].residual, sizeof residual);
		assert_true(isnan(residual));
	}
	progress_close(p);
	assert_int_equal(v.header->state, SEGMENT_CLOSED);
	view_close(&v);
	assert_int_equal(lstat(path, &st), -1);
	assert_int_equal(errno, ENOENT);
	progress_close(NULL);
}

static void test_options_reach_the_segment(void **state)
{
	static const uint32_t owner[] = {1, 0, 1, 1};
	(void)state;

	NEED_SHM();
	struct progress *p = create_with(&(struct progress_options){.workers = 2,
		.subdomains = 4,
		.owner = owner,
		.balancing = PROGRESS_BALANCE_HYBRID,
		.pairs = 1,
		.low = 3,
		.high = 4,
		.hybrid_every = 5,
		.period_ns = 100000,
		.rank = -6});
	struct view v = view_open();
	assert_int_equal(v.header->balancing, PROGRESS_BALANCE_HYBRID);
	assert_int_equal(v.header->pairs, 1);
	assert_int_equal(v.header->low, 3);
	assert_int_equal(v.header->high, 4);
	assert_int_equal(v.header->hybrid_every, 5);
	assert_int_equal(v.header->period_ns, 100000);
	assert_int_equal(v.header->rank, -6);
	for (uint32_t s = 0; s < 4; s++)
		assert_int_equal(progress_holder(p, s), owner[s]);
	view_close(&v);
	progress_close(p);
}

/* Places may be empty at first, even all of them. */
static void test_empty_places(void **state)
{
	static const uint32_t some[] = {1, PROGRESS_NOBODY, 0}, none[] = {UINT32_MAX, UINT32_MAX};
	const uint32_t *mine;
	(void)state;

	NEED_SHM();
	struct progress *p = create_with(
		&(struct progress_options){.workers = 2, .subdomains = 3, .owner = some});
	struct view v = view_open();
	assert_int_equal(v.subdomain[1].holder, UINT32_MAX);
	assert_int_equal(progress_holder(p, 0), 1);
	assert_int_equal(progress_holder(p, 1), PROGRESS_NOBODY);
	assert_int_equal(progress_holder(p, 2), 0);
	view_close(&v);
	progress_close(p);
	p = create_with(&(struct progress_options){.workers = 1, .subdomains = 2, .owner = none});
	assert_int_equal(progress_begin(p, 0, &mine), 0);
	assert_int_equal(progress_spread(p), 0);
	progress_close(p);
}

/* And not at every call, with a time that wraps around. */
static void test_endless_period(void **state)
{
	static const uint32_t owner[8] = {0};
	const uint32_t *held;
	(void)state;

	NEED_SHM();
	struct progress *p = create_with(&(struct progress_options){
		.workers = 2, .subdomains = 8, .owner = owner, .period_ns = UINT64_MAX});
	assert_int_equal(progress_register(p, 0), 0);
	struct view v = view_open();
	assert_true(v.header->due_ns > v.header->created_ns);
	assert_int_equal(progress_begin(p, 0, &held), 8);
	assert_int_equal(progress_balance(p, 0), 0);
	assert_int_equal(v.header->points, 0);
	view_close(&v);
	progress_close(p);
}

static void assert_refused(struct progress_options options)
{
	struct progress *p = NULL;

	assert_int_equal(progress_create(&options, &p), -EINVAL);
	assert_null(p);
}

static void test_create_refuses(void **state)
{
	static const uint32_t owner[] = {0, 2};
	(void)state;

	assert_refused((struct progress_options){.workers = 0, .subdomains = 1});
	assert_refused((struct progress_options){.workers = 1, .subdomains = 0});
	assert_refused(
		(struct progress_options){.workers = PROGRESS_WORKERS_MAX + 1, .subdomains = 1});
	assert_refused(
		(struct progress_options){.workers = 1, .subdomains = PROGRESS_SUBDOMAINS_MAX + 1});
	assert_refused((struct progress_options){.workers = 2, .subdomains = 2, .owner = owner});
	assert_refused((struct progress_options){
		.workers = 1, .subdomains = 1, .balancing = PROGRESS_BALANCE_HYBRID + 1});
	assert_refused((struct progress_options){
		.workers = 1, .subdomains = 1, .pairs = PROGRESS_PAIRS_MAX + 1});
	assert_refused(
		(struct progress_options){.workers = 1, .subdomains = 1, .period_ns = 99999});
	assert_refused(
		(struct progress_options){.workers = 1, .subdomains = 1, .reserved = {[4] = 1}});
}

static void test_one_per_process(void **state)
{
	struct progress_options options = {.workers = 1, .subdomains = 1};
	struct progress *second = NULL;
	(void)state;

	NEED_SHM();
	struct progress *p = create(2, 2);
	assert_int_equal(progress_create(&options, &second), -EEXIST);
	struct view v = view_open(); /* the first is unharmed */
	assert_int_equal(v.header->workers, 2);
	assert_int_equal(v.header->state, SEGMENT_OPEN);
	view_close(&v);
	progress_close(p);
	progress_close(create(1, 1));
}

/* Leftovers with our pid are replaced, whatever their content; other files are not, and the segment has
 * no name then. */
static void test_leftover(void **state)
{
	struct progress_options options = {.workers = 1, .subdomains = 1};
	struct progress *p = NULL;
	char path[PATH_BYTES], target[] = "/tmp/test_progress.XXXXXX";
	struct stat st;
	(void)state;

	NEED_SHM();
	segment_path(path, getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "rubbish", 7), 7);
	p = create(1, 1);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 7);
	close(fd);
	progress_close(p);

	fd = mkstemp(target);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(progress_create(&options, &p), 0);
	assert_int_equal(progress_published(p), 0);
	progress_close(p);
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_size, 0);
	unlink(path);
	unlink(target);

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(progress_create(&options, &p), 0);
	assert_int_equal(progress_published(p), 0);
	progress_close(p);
	assert_int_equal(lstat(path, &st), 0);
	unlink(path);
}

/* Runs check() in a child process, which gets its own segment. */
static void in_child(int (*check)(void *context), void *context)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check(context));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no mount namespace without privilege\n");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("status %#x", (unsigned)status);
}

/* Returns the exit status: 0 when nothing was published for this reason, and all the rest works. */
static int hides(int error)
{
	struct progress_options options = {.workers = 64, .subdomains = 4096};
	struct progress *p = NULL;
	char path[PATH_BYTES];

	segment_path(path, getpid());
	if (progress_create(&options, &p) != 0 || progress_published(p) != error)
		return 3;
	if (access(path, F_OK) == 0)
		return 4;
	progress_update(p, 0, 0, 5, 0);
	if (progress_iteration(p, 0) != 5)
		return 5;
	progress_close(p);
	return 0;
}

static int with_small_files(void *context)
{
	(void)context;
	if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}) != 0)
		return 2;
	return hides(-EFBIG);
}

static int with_full_shm(void *context)
{
	(void)context;
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=128k") != 0)
		return 77;
	int status = hides(-ENOSPC);
	if (status != 0)
		return status;
	/* A small one fits, and all of it can be used. */
	struct progress_options options = {.workers = 1, .subdomains = 1000};
	struct progress *p;
	if (progress_create(&options, &p) != 0 || progress_published(p) != 0)
		return 6;
	for (uint32_t s = 0; s < 1000; s++)
		progress_update(p, 0, s, 1, 0);
	progress_close(p);
	return 0;
}

static void test_small_files(void **state)
{
	(void)state;
	NEED_SHM();
	in_child(with_small_files, NULL); /* and no SIGXFSZ */
}

static void test_full_shm(void **state)
{
	(void)state;
	NEED_SHM();
	in_child(with_full_shm, NULL);
}

static int child_of_a_program(void *context)
{
	struct progress *parents = context, *own = NULL;
	struct progress_options options = {.workers = 1, .subdomains = 1};
	char path[PATH_BYTES];

	if (progress_create(&options, &own) != 0)
		return 2;
	progress_close(parents);
	segment_path(path, getpid());
	if (access(path, F_OK) != 0)
		return 3;
	progress_update(own, 0, 0, 5, 0);
	progress_close(own);
	return access(path, F_OK) != 0 ? 0 : 4;
}

/* Another process of this user has the name, and has locked the file. */
static void test_taken_name(void **state)
{
	struct progress_options options = {.workers = 1, .subdomains = 1};
	struct progress *p = NULL, *second = NULL;
	char path[PATH_BYTES];
	(void)state;

	NEED_SHM();
	segment_path(path, getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(progress_create(&options, &p), 0);
	assert_int_equal(progress_published(p), -EEXIST);
	assert_int_equal(progress_create(&options, &second), -EEXIST);
	progress_close(p);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	assert_int_equal(progress_create(&options, &p), 0);
	assert_int_equal(progress_published(p), 0);
	progress_close(p);
}

static void test_forked_child(void **state)
{
	struct progress_options options = {.workers = 1, .subdomains = 1};
	struct progress *second = NULL;
	(void)state;

	NEED_SHM();
	struct progress *p = create(2, 2);
	in_child(child_of_a_program, p);
	struct view v = view_open();
	assert_int_equal(v.header->state, SEGMENT_OPEN);
	view_close(&v);
	assert_int_equal(progress_create(&options, &second), -EEXIST);
	progress_close(p);
}

struct other_thread {
	struct progress *p;
	uint32_t worker;
	int result;
};

static void *register_elsewhere(void *opaque)
{
	struct other_thread *other = opaque;

	other->result = progress_register(other->p, other->worker);
	return NULL;
}

static int register_in_another_thread(struct progress *p, uint32_t worker)
{
	struct other_thread other = {.p = p, .worker = worker};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, register_elsewhere, &other), 0);
	pthread_join(thread, NULL);
	return other.result;
}

static void test_register(void **state)
{
	unsigned node = 0;
	(void)state;

	NEED_SHM();
	struct progress *p = create(2, 2);
	struct view v = view_open();
	assert_int_equal(progress_register(p, 2), -EINVAL);
	assert_int_equal(progress_register(p, UINT32_MAX), -EINVAL);
	assert_int_equal(v.worker[1].tid, 0);
	assert_int_equal(progress_register(p, 1), 0);
	assert_int_equal(progress_register(p, 1), 0);
	assert_int_equal(v.worker[1].tid, syscall(SYS_gettid));
	assert_int_equal(getcpu(NULL, &node), 0);
	assert_int_equal(register_in_another_thread(p, 1), -EBUSY);
	assert_int_equal(register_in_another_thread(p, 0), 0);
	progress_leave(p, 1);
	assert_int_equal(v.worker[1].tid, 0);
	assert_int_equal(register_in_another_thread(p, 1), 0);
	progress_leave(p, 7); /* harmless */
	view_close(&v);
	progress_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_options_reach_the_segment),
		cmocka_unit_test(test_empty_places),
		cmocka_unit_test(test_endless_period),
		cmocka_unit_test(test_create_refuses),
		cmocka_unit_test(test_one_per_process),
		cmocka_unit_test(test_leftover),
		cmocka_unit_test(test_small_files),
		cmocka_unit_test(test_full_shm),
		cmocka_unit_test(test_taken_name),
		cmocka_unit_test(test_forked_child),
		cmocka_unit_test(test_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
