// SPDX-License-Identifier: MIT
/*
 * Which process belongs to which job, and which job a name means, on trees of processes. Each
 * letter of a text is one process. Each is started by exec, since the environment gives its rank.
 */
#undef NDEBUG
#include "tools/live/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/telemetry/writer.h"
#include "tests/unit/libprogress/segment_of.h"

#define MOST 80 /* processes of a tree */

/* ---- The processes ---- */

static void wrap(void)
{
	struct telemetry *t;
	int fd;

	if (telemetry_create(&t, &fd) != 0 || fd < 0 || telemetry_publish(fd, getpid()) != 0)
		_exit(1);
	strcpy(t->policy, "juggle");
	telemetry_set32(&t->state, TELEMETRY_RUNNING);
}

static void publish(void)
{
	struct progress_options options = {.workers = 1, .subdomains = 2};
	struct progress *p = NULL;

	if (progress_create(&options, &p) != 0)
		_exit(1);
}

/* "j" is a juggle, "p" publishes, "-" does nothing; each is the parent of the next. A digit, or a
 * letter from K on for tens, stands for that many copies of the rest, beside each other. Returns
 * true in these. */
static bool act(const char *tree, int out)
{
	pid_t self = getpid();
	int children = tree[1] != '\0';

	if (tree[0] == 'j')
		wrap();
	else if (tree[0] == 'p')
		publish();
	else if (tree[0] >= '2' && tree[0] <= '9')
		children = tree[0] - '0';
	else if (tree[0] >= 'K' && tree[0] <= 'Z')
		children = (tree[0] - 'K' + 1) * 10;
	if (write(out, &self, sizeof self) != sizeof self)
		_exit(1);
	for (; children > 0; children--) {
		pid_t pid = fork();
		if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == self)
			return true;
		if (pid <= 0)
			_exit(1);
	}
	return false;
}

struct tree {
	pid_t pid[MOST]; /* those of one chain from its top on */
	size_t n;
};

/* Returns when all n are there. */
static struct tree grow(const char *letters, size_t n, bool ranks)
{
	static char rank[] = "OMPI_COMM_WORLD_RANK=0";
	char *environment[] = {ranks ? rank : NULL, NULL}, out[12];
	struct tree tree = {.n = n};
	int pipes[2];
	pid_t parent = getpid();

	assert_true(n <= MOST);
	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		snprintf(out, sizeof out, "%d", pipes[1]);
		execle("/proc/self/exe", "node", letters, out, (char *)NULL, environment);
		_exit(1);
	}
	close(pipes[1]);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(read(pipes[0], &tree.pid[i], sizeof(pid_t)), sizeof(pid_t));
	close(pipes[0]);
	assert_int_equal(tree.pid[0], pid);
	return tree;
}

static void job_path(char *path, pid_t pid)
{
	snprintf(path, PATH_BYTES, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)pid);
}

static void fell(struct tree *tree)
{
	char path[PATH_BYTES];

	kill(tree->pid[0], SIGKILL);
	waitpid(tree->pid[0], NULL, 0);
	for (size_t i = 0; i < tree->n; i++) {
		kill(tree->pid[i], SIGKILL);
		segment_path(path, tree->pid[i]);
		unlink(path);
		job_path(path, tree->pid[i]);
		unlink(path);
	}
}

/* ---- What live finds ---- */

static struct live_entry get(pid_t pid, enum live_kind kind)
{
	struct live_entry *entry, found = {0};
	size_t n;

	assert_int_equal(live_list(&entry, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (entry[i].pid == pid && entry[i].kind == kind)
			found = entry[i];
	free(entry);
	assert_int_equal(found.pid, pid);
	return found;
}

/* How many jobs of a tree can be chosen; and the first of them. */
static size_t choices(const struct tree *tree, struct live_entry *first)
{
	struct live_entry *entry;
	size_t n, found = 0;

	assert_int_equal(live_choices(&entry, &n), 0);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < tree->n; k++)
			if (entry[i].pid == tree->pid[k] && found++ == 0)
				*first = entry[i];
	free(entry);
	return found;
}

/* The juggle of the job that a name opens, or minus the number of its processes that publish. */
static pid_t opened(const char *name)
{
	struct live_job *job = NULL;
	struct live_sample sample;
	struct live_error error;

	if (live_open(name, &job, &error) != 0)
		fail_msg("%s: %s", name, error.text);
	assert_int_equal(live_take(job, &sample), 0);
	pid_t found = sample.wrapped ? sample.juggle_pid : -(pid_t)sample.processes;
	live_sample_deinit(&sample);
	live_close(job);
	return found;
}

static pid_t opened_by(pid_t pid)
{
	char name[20];

	snprintf(name, sizeof name, "%d", (int)pid);
	return opened(name);
}

/* ---- Tests ---- */

static void test_wrapped(void **state)
{
	struct live_entry entry;

	(void)state;
	NEED_SHM();
	struct tree tree = grow("-j-p-", 5, false);
	assert_int_equal(get(tree.pid[3], LIVE_PROGRESS).juggle_pid, tree.pid[1]);
	assert_int_equal(choices(&tree, &entry), 1);
	assert_int_equal(entry.kind, LIVE_JOB);
	for (size_t i = 0; i < tree.n; i++)
		assert_int_equal(opened_by(tree.pid[i]), tree.pid[1]);
	fell(&tree);
}

/* The nearest juggle has it. */
static void test_juggle_in_juggle(void **state)
{
	struct live_entry entry;

	(void)state;
	NEED_SHM();
	struct tree tree = grow("jj-p-", 5, true);
	entry = get(tree.pid[3], LIVE_PROGRESS);
	assert_int_equal(entry.juggle_pid, tree.pid[1]);
	assert_int_equal(entry.launcher_pid, 0);
	assert_int_equal(choices(&tree, &entry), 2);
	assert_int_equal(opened_by(tree.pid[0]), tree.pid[0]);
	for (size_t i = 1; i < tree.n; i++)
		assert_int_equal(opened_by(tree.pid[i]), tree.pid[1]);
	fell(&tree);
}

/* Anybody may create a file with the name of a juggle that is starting: that takes no processes
 * from others. */
static void test_name_of_a_juggle(void **state)
{
	char path[PATH_BYTES];
	struct live_entry entry;

	(void)state;
	NEED_SHM();
	struct tree tree = grow("-p", 2, false);
	job_path(path, tree.pid[0]);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(get(tree.pid[0], LIVE_JOB).state, LIVE_STARTING);
	assert_int_equal(get(tree.pid[1], LIVE_PROGRESS).juggle_pid, 0);
	assert_int_equal(choices(&tree, &entry), 1);
	assert_int_equal(opened_by(tree.pid[1]), -1);
	fell(&tree);
}

static void test_ranks(void **state)
{
	struct live_entry entry;

	(void)state;
	NEED_SHM();
	struct tree tree = grow("3p-", 7, true);
	assert_int_equal(choices(&tree, &entry), 1);
	assert_int_equal(entry.launcher_pid, tree.pid[0]);
	/* By any rank, or a process below one, or mpirun. */
	for (size_t i = 0; i < tree.n; i++)
		assert_int_equal(opened_by(tree.pid[i]), -3);
	fell(&tree);
	tree = grow("3p", 4, false);
	assert_int_equal(choices(&tree, &entry), 3);
	assert_int_equal(entry.launcher_pid, 0);
	for (size_t i = 1; i < tree.n; i++)
		assert_int_equal(opened_by(tree.pid[i]), -1);
	fell(&tree);
}

static double seconds(int (*list)(struct live_entry **, size_t *))
{
	double best_s = 1e9;

	for (int tries = 0; tries < 5; tries++) {
		struct live_entry *entry;
		size_t n;
		uint64_t begin_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
		assert_int_equal(list(&entry, &n), 0);
		double s = (double)(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) * 1e-9;
		free(entry);
		best_s = s < best_s ? s : best_s;
	}
	return best_s;
}

/* Choosing among many jobs takes one look at all of them, not another look for each. */
static void test_many(void **state)
{
	struct live_entry entry;

	(void)state;
	NEED_SHM();
	struct tree tree = grow("Pp", 61, false);
	assert_int_equal(choices(&tree, &entry), 60);
	assert_true(seconds(live_choices) < 6 * seconds(live_list));
	fell(&tree);
}

static void test_numbers_of_nobody(void **state)
{
	static const char *const far[] = {
		"4294967296", "18446744073709551616", "99999999999999999999999"};
	struct live_job *job = NULL;
	struct live_error error;
	char name[40];

	(void)state;
	NEED_SHM();
	struct tree tree = grow("p", 1, false);
	for (size_t i = 0; i < sizeof far / sizeof *far; i++)
		assert_int_equal(live_open(far[i], &job, &error), -ENOENT);
	/* The pid of a process plus 2^32, beyond the type of pids. */
	snprintf(name, sizeof name, "%lld", (1LL << 32) + tree.pid[0]);
	assert_int_equal(live_open(name, &job, &error), -ENOENT);
	assert_non_null(strstr(error.text, name));
	assert_int_equal(live_open("4294967297", &job, &error), -ENOENT); /* 1 is above all */
	assert_int_equal(live_open("0", &job, &error), -ENOENT);
	assert_int_equal(live_open("00", &job, &error), -ENOENT);
	assert_null(job);
	fell(&tree);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrapped),
		cmocka_unit_test(test_juggle_in_juggle),
		cmocka_unit_test(test_name_of_a_juggle),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_numbers_of_nobody),
	};

	if (argc == 3) {
		for (const char *tree = argv[1]; act(tree, atoi(argv[2]));)
			tree++;
		for (;;)
			pause();
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
