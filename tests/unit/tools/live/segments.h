// SPDX-License-Identifier: MIT
/*
 * For tests of live: a child with segments, which lives or dies. Include after cmocka.h.
 */
#ifndef LIVE_SEGMENTS_H
#define LIVE_SEGMENTS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/telemetry/writer.h"
#include "tests/unit/libprogress/segment_of.h"
#include "tools/live/internal.h"

/* A child with the segments of a juggle and of a program. */
struct fixture {
	pid_t pid;
	bool ended;
	char job[PATH_BYTES], progress[PATH_BYTES];
};

static inline void make_segments(void)
{
	struct telemetry *t;
	uint32_t search = 0;
	int fd;

	if (telemetry_create(&t, &fd) != 0 || fd < 0 || telemetry_publish(fd, getpid()) != 0)
		_exit(1);
	strcpy(t->command, "wave\033 -n 5");
	strcpy(t->policy, "juggle");
	strcpy(t->sampler, "schedstat");
	t->job_pid = getpid();
	telemetry_set32(&t->threads, 6);
	telemetry_set32(&t->idle_threads, 1);
	telemetry_set32(&t->cpus, 2);
	telemetry_cpus(t)[1].os_cpu = 1;
	struct telemetry_thread *thread = telemetry_slot(t, -1, &search);
	thread->tid = thread->pid = getpid();
	thread->met_ns = t->start_ns;
	telemetry_set32(&thread->flags, TELEMETRY_THREAD_USED | TELEMETRY_THREAD_COMPUTE);
	struct telemetry_progress *slot = telemetry_progress_slot(t);
	slot->pid = getpid();
	telemetry_set32(&slot->flags, TELEMETRY_PROGRESS_USED);
	telemetry_set32(&t->state, TELEMETRY_RUNNING);
	struct progress_options options = {
		.workers = 2, .subdomains = 8, .rank = 3, .balancing = PROGRESS_BALANCE_JOINT};
	struct progress *p = NULL;
	if (progress_create(&options, &p) != 0)
		_exit(1);
}

/* A child that has run `prepare` when this returns, and waits to be killed. */
static inline pid_t start(void (*prepare)(void))
{
	char ready = 0;
	int pipes[2];
	pid_t parent = getpid();

	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		if (prepare != NULL)
			prepare();
		if (write(pipes[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &ready, 1), 1);
	close(pipes[0]);
	return pid;
}

static inline void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	*state = f;
	assert_non_null(f);
	if (!shm_works())
		return 0;
	f->pid = start(make_segments);
	segment_path(f->progress, f->pid);
	snprintf(f->job, sizeof f->job, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)f->pid);
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->pid > 0) {
		if (!f->ended)
			end(f->pid);
		unlink(f->job);
		unlink(f->progress);
	}
	free(f);
	return 0;
}

static inline void end_child(struct fixture *f)
{
	end(f->pid);
	f->ended = true;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#define FIXTURE(f)                                                                                 \
	struct fixture *f = *state;                                                                \
	if (f->pid == 0) {                                                                         \
		print_message("SKIPPED: /dev/shm cannot be used here\n");                          \
		skip();                                                                            \
	}

static inline bool find(const char *path, struct live_entry *out)
{
	struct live_entry *entry;
	bool found = false;
	size_t n;

	assert_int_equal(live_list(&entry, &n), 0);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(entry[i].path, path) != 0)
			continue;
		assert_false(found); /* once */
		found = true;
		*out = entry[i];
	}
	free(entry);
	return found;
}

static inline struct live_entry get(const char *path)
{
	struct live_entry entry;

	assert_true(find(path, &entry));
	return entry;
}

#define ASSERT_STATE(path, expected) assert_int_equal(get(path).state, expected)

/* Replace a file by one of this user that nobody has open. */
static inline void put(const char *path, const void *data, size_t bytes)
{
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

static inline char *map(const char *path, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*bytes = (size_t)st.st_size;
	char *start = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(start != MAP_FAILED);
	close(fd);
	return start;
}

static inline void assert_removed(const char *path)
{
	struct live_entry entry = get(path);

	assert_int_equal(entry.state, LIVE_STALE);
	assert_int_equal(live_remove(&entry), 0);
	assert_false(find(path, &entry));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(live_remove(&entry), -ENOENT);
}

#endif
