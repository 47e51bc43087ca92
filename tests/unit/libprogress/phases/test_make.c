// SPDX-License-Identifier: MIT
/*
 * A table is what its header says, keeps its size, and nothing else is taken for one.
 */
#undef NDEBUG
#include "libprogress/phases/make.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprogress/phases/phases.h"

static void test_made_and_mapped(void **state)
{
	struct phases_table *made, *read, *written;
	int fd;

	(void)state;
	assert_int_equal(phases_make(&fd, &made), 0);
	assert_int_not_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	assert_int_equal(phases_map(fd, false, &read), 0);
	assert_int_equal(phases_map(fd, true, &written), 0);
	assert_int_equal(read->header.magic, PHASES_MAGIC);
	assert_int_equal(read->header.rows_used, 0);

	atomic_store(&made->row[PHASES_ROWS - 1].tid, 5);
	atomic_store(&written->site[PHASES_SITES - 1].waits, 7);
	assert_int_equal(atomic_load(&read->row[PHASES_ROWS - 1].tid), 5);
	assert_int_equal(atomic_load(&read->site[PHASES_SITES - 1].waits), 7);
	phases_unmap(made);
	phases_unmap(read);
	phases_unmap(written);
	phases_unmap(NULL);
	close(fd);
}

static void test_keeps_its_size(void **state)
{
	struct phases_table *table;
	int fd;

	(void)state;
	assert_int_equal(phases_make(&fd, &table), 0);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(ftruncate(fd, sizeof *table + 4096), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	phases_unmap(table);
	close(fd);
}

/* A header that differs in a byte is another format's. */
static void test_headers_of_others(void **state)
{
	struct phases_table *table, *mapped;
	int fd;

	(void)state;
	assert_int_equal(phases_make(&fd, &table), 0);
	for (size_t i = 0; i < offsetof(struct phases_header, site_bytes) + sizeof(uint32_t); i++) {
		((unsigned char *)table)[i] ^= 0x10;
		assert_int_equal(phases_map(fd, true, &mapped), -EINVAL);
		((unsigned char *)table)[i] ^= 0x10;
	}
	assert_int_equal(phases_map(fd, false, &mapped), 0);
	phases_unmap(mapped);
	phases_unmap(table);
	close(fd);
}

/* The same content, but in a file that could shrink, or has another size. */
static void test_files_of_others(void **state)
{
	struct phases_table *table, *mapped;
	int fd, pipes[2];

	(void)state;
	assert_int_equal(phases_make(&fd, &table), 0);
	for (int seals = 0; seals <= F_SEAL_SHRINK; seals += F_SEAL_SHRINK) {
		for (long more = -4096; more <= 4096; more += 4096) {
			int other = memfd_create("other", MFD_ALLOW_SEALING);
			assert_int_equal(write(other, table, sizeof *table), sizeof *table);
			assert_int_equal(ftruncate(other, (off_t)sizeof *table + more), 0);
			assert_int_equal(fcntl(other, F_ADD_SEALS, seals), 0);
			int expected = seals && more == 0 ? 0 : -EINVAL;
			assert_int_equal(phases_map(other, true, &mapped), expected);
			if (expected == 0)
				phases_unmap(mapped);
			close(other);
		}
	}
	assert_int_equal(phases_map(-1, true, &mapped), -EBADF);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(phases_map(pipes[0], true, &mapped), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	phases_unmap(table);
	close(fd);
}

static void test_limit_of_files(void **state)
{
	struct rlimit limit, low;
	struct phases_table *table;
	int fd;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = limit;
	low.rlim_cur = sizeof *table - 1;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	int error = phases_make(&fd, &table);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(error, -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_and_mapped),
		cmocka_unit_test(test_keeps_its_size),
		cmocka_unit_test(test_headers_of_others),
		cmocka_unit_test(test_files_of_others),
		cmocka_unit_test(test_limit_of_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
