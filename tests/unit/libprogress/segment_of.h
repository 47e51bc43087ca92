/* SPDX-License-Identifier: MIT */
/* This process's libprogress segment as another process sees it, for tests that play the balancer.
 * Include after cmocka.h. */
#ifndef TESTS_PROGRESS_SEGMENT_H
#define TESTS_PROGRESS_SEGMENT_H

#include "libprogress/progress.h"
#include "libprogress/segment.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 64

struct view {
	struct segment_header *header;
	struct segment_worker *worker;
	struct segment_subdomain *subdomain;
};

static inline void segment_path(char *path, pid_t pid)
{
	snprintf(path, PATH_BYTES, "/dev/shm/progress.%u.%d", (unsigned)geteuid(), (int)pid);
}

static inline bool shm_works(void)
{
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0)
		return false;
	bool works = posix_fallocate(fd, 0, 1 << 20) == 0;
	close(fd);
	return works;
}

#define NEED_SHM()                                                                                 \
	do {                                                                                       \
		if (!shm_works()) {                                                                \
			print_message("SKIPPED: /dev/shm cannot be used here\n");                  \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

static inline struct progress *create_with(const struct progress_options *options)
{
	struct progress *p = NULL;

	assert_int_equal(progress_create(options, &p), 0);
	assert_non_null(p);
	return p;
}

static inline struct progress *create(uint32_t workers, uint32_t subdomains)
{
	return create_with(
		&(struct progress_options){.workers = workers, .subdomains = subdomains});
}

static inline struct view view_open(void)
{
	char path[PATH_BYTES];
	struct stat st;

	segment_path(path, getpid());
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	char *start = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(start != MAP_FAILED);
	close(fd);
	struct segment_header *header = (struct segment_header *)start;
	return (struct view){
		.header = header,
		.worker = (struct segment_worker *)(start + segment_worker_offset(0)),
		.subdomain = (struct segment_subdomain *)(start + segment_subdomain_offset(
									  header->workers, 0)),
	};
}

static inline void view_close(struct view *view)
{
	munmap(view->header, view->header->size_bytes);
}

/* progress_begin() of a worker finds these subdomains, a list that ends with -1. */
static inline void assert_begins(struct progress *p, uint32_t worker, ...)
{
	const uint32_t *mine = NULL;
	uint32_t n = progress_begin(p, worker, &mine), i = 0;
	va_list list;

	va_start(list, worker);
	for (int s; (s = va_arg(list, int)) >= 0; i++) {
		assert_true(i < n);
		assert_int_equal(mine[i], s);
	}
	va_end(list);
	assert_int_equal(i, n);
}

/* As the balancer does it: the owner first, then the flag of the holder. */
static inline void give(struct view *view, uint32_t subdomain, uint32_t from, uint32_t to)
{
	atomic_store_explicit(&view->subdomain[subdomain].owner, to, memory_order_relaxed);
	atomic_store_explicit(&view->worker[from].dirty, 1, memory_order_release);
}

#endif
