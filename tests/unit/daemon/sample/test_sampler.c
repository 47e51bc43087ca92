/* SPDX-License-Identifier: MIT */
/* Every sampler that works here, on threads whose CPU time is known from their own clock. */
#undef NDEBUG
#include "daemon/sample/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message("SKIPPED: " __VA_ARGS__);                                            \
		skip();                                                                            \
	} while (0)

static const enum sampler_kind kinds[] = {SAMPLER_SCHEDSTAT, SAMPLER_TASKSTATS, SAMPLER_PERF};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void test_names(void **state)
{
	enum sampler_kind kind;
	(void)state;

	for (int i = SAMPLER_AUTO; i <= SAMPLER_PERF; i++) {
		const char *name = sampler_kind_name((enum sampler_kind)i);
		assert_int_equal(sampler_kind_parse(name, &kind), 0);
		assert_int_equal(kind, i);
	}
	assert_int_equal(sampler_kind_parse("", &kind), -EINVAL);
	assert_int_equal(sampler_kind_parse("sched", &kind), -EINVAL);
	assert_int_equal(sampler_kind_parse("Perf", &kind), -EINVAL);
	static const int errors[] = {-EPERM, -ENOENT, -ENOSYS, -ENOMEM, -EMFILE, -EIO};
	for (int i = SAMPLER_AUTO; i <= SAMPLER_PERF; i++)
		for (size_t j = 0; j < sizeof(errors) / sizeof(errors[0]); j++)
			assert_true(strlen(sampler_advice((enum sampler_kind)i, errors[j])) > 0);
}

/* ---- threads ---- */

/* A thread that burns CPU time on request, and reports how much by its own clock. */
struct worker {
	pthread_t thread;
	pid_t tid;
	uint64_t burn_ns; /* 0: end */
	uint64_t used_ns;
	sem_t command, done;
};

static uint64_t own_cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0)
		assert_int_equal(errno, EINTR);
}

static void *worker_main(void *opaque)
{
	struct worker *worker = opaque;

	worker->tid = (pid_t)syscall(SYS_gettid);
	sem_post(&worker->done);
	for (;;) {
		while (sem_wait(&worker->command) != 0)
			;
		if (worker->burn_ns == 0)
			return NULL;
		uint64_t start = own_cpu_ns();
		while (own_cpu_ns() - start < worker->burn_ns)
			;
		worker->used_ns = own_cpu_ns();
		sem_post(&worker->done);
	}
}

static void worker_start(struct worker *worker)
{
	sem_init(&worker->command, 0, 0);
	sem_init(&worker->done, 0, 0);
	assert_int_equal(pthread_create(&worker->thread, NULL, worker_main, worker), 0);
	wait_for(&worker->done);
}

static void worker_burn(struct worker *worker, uint64_t ns)
{
	worker->burn_ns = ns;
	sem_post(&worker->command);
	wait_for(&worker->done);
}

static void worker_stop(struct worker *worker)
{
	worker->burn_ns = 0;
	sem_post(&worker->command);
	pthread_join(worker->thread, NULL);
	sem_destroy(&worker->command);
	sem_destroy(&worker->done);
}

/* A joined thread may take a moment to leave the process. */
static void wait_until_gone(pid_t tid)
{
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		sched_yield();
	assert_int_equal(errno, ESRCH);
}

/* Returns NULL, with a message, when the kind does not work here. */
static struct sampler *open_or_say(enum sampler_kind kind)
{
	struct sampler *sampler = NULL;
	int error = sampler_new(&sampler, kind);

	if (error != 0) {
		print_message("SKIPPED %s: %s (%s)\n", sampler_kind_name(kind), strerror(-error),
			sampler_advice(kind, error));
		/* only errors that the header allows */
		assert_true(error == -EPERM || error == -ENOENT || error == -ENOSYS);
		return NULL;
	}
	assert_int_equal(sampler_kind(sampler), kind);
	return sampler;
}

#define BURN_NS UINT64_C(30000000)

static void test_known_cpu_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct sampler *sampler = open_or_say(kinds[i]);
		struct worker worker;
		if (sampler == NULL)
			continue;
		worker_start(&worker);
		worker_burn(&worker, BURN_NS);

		struct sampler_slot slot = {.pid = getpid(), .tid = worker.tid};
		struct sampler_slot *slots = &slot;
		assert_int_equal(sampler_attach(sampler, &slot), 0);
		struct sampler_slot before = slot;
		uint64_t used_before = worker.used_ns;
		worker_burn(&worker, BURN_NS);
		uint64_t used = worker.used_ns - used_before;
		/* Its time is updated when it leaves the CPU, soon after it has posted: wait for
		 * that, and no longer. */
		do {
			sched_yield();
			sampler_read(sampler, &slots, 1);
			assert_int_equal(slot.error, 0);
		} while (slot.run_ns < worker.used_ns);

		print_message("%s: own clock %ju ns, run %ju, progress %ju %s, slices %ju\n",
			sampler_kind_name(kinds[i]), (uintmax_t)used,
			(uintmax_t)(slot.run_ns - before.run_ns),
			(uintmax_t)(slot.progress - before.progress),
			sampler_progress_unit(sampler), (uintmax_t)(slot.slices - before.slices));
		/* No more than it burnt, except for entering and leaving, which a busy machine may
		 * prolong: interrupts are charged to the thread. */
		assert_true(slot.run_ns - before.run_ns < used + used / 4);
		assert_true(slot.run_ns - before.run_ns > used - used / 4);
		assert_true(slot.slices > before.slices);
		assert_true(slot.wait_ns >= before.wait_ns);
		if (strcmp(sampler_progress_unit(sampler), "ns") == 0) {
			uint64_t progress = slot.progress - before.progress;
			assert_true(progress > used * 98 / 100 && progress < used + used / 4);
		} else {
			assert_true(slot.progress > before.progress);
		}
		sampler_detach(sampler, &slot);
		sampler_detach(sampler, &slot);
		assert_int_equal(slot.fd[0], -1);
		assert_int_equal(slot.fd[1], -1);
		worker_stop(&worker);
		sampler_free(sampler);
	}
	sampler_free(NULL);
}

static void test_ended_thread(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct sampler *sampler = open_or_say(kinds[i]);
		struct worker ended, alive;
		if (sampler == NULL)
			continue;
		worker_start(&ended);
		worker_start(&alive);
		struct sampler_slot slot[2] = {
			{.pid = getpid(), .tid = ended.tid}, {.pid = getpid(), .tid = alive.tid}};
		struct sampler_slot *slots[2] = {&slot[0], &slot[1]};
		assert_int_equal(sampler_attach(sampler, slots[0]), 0);
		assert_int_equal(sampler_attach(sampler, slots[1]), 0);
		uint64_t run_ns = slot[0].run_ns;

		worker_stop(&ended);
		wait_until_gone(slot[0].tid);
		sampler_read(sampler, slots, 2);
		assert_int_equal(slot[0].error, -ESRCH);
		assert_int_equal(slot[0].run_ns, run_ns);
		assert_int_equal(slot[1].error, 0);
		sampler_detach(sampler, slots[0]);

		/* and attaching to it */
		assert_int_equal(sampler_attach(sampler, slots[0]), -ESRCH);
		assert_int_equal(slot[0].error, -ESRCH);
		assert_int_equal(slot[0].fd[0], -1);
		sampler_detach(sampler, slots[0]);

		worker_stop(&alive);
		sampler_detach(sampler, slots[1]);
		sampler_free(sampler);
	}
}

/* Another source must agree with the tested one on a thread that has come to rest, or is about
 * to. */
static void assert_same_as_schedstat(struct sampler *sampler, struct sampler_slot *slot)
{
	struct sampler *reference;
	struct sampler_slot other = {.pid = slot->pid, .tid = slot->tid};
	struct sampler_slot *others = &other;

	if (sampler_new(&reference, SAMPLER_SCHEDSTAT) != 0)
		return;
	assert_int_equal(sampler_attach(reference, &other), 0);
	for (int i = 0; i < 1000 && slot->run_ns != other.run_ns; i++) {
		sched_yield();
		sampler_read(sampler, &slot, 1);
		sampler_read(reference, &others, 1);
	}
	assert_true(slot->run_ns == other.run_ns);
	sampler_detach(reference, &other);
	sampler_free(reference);
}

#define MANY 300

/* More than one batch of netlink requests, with some that fail in each. */
static void test_many_threads(void **state)
{
	(void)state;
	struct worker *workers = calloc(MANY, sizeof(*workers));
	struct sampler_slot *slot = calloc(MANY, sizeof(*slot));
	struct sampler_slot **slots = calloc(MANY, sizeof(struct sampler_slot *));
	assert_true(workers != NULL && slot != NULL && slots != NULL);

	for (size_t i = 0; i < KINDS; i++) {
		struct sampler *sampler = open_or_say(kinds[i]);
		if (sampler == NULL)
			continue;
		for (size_t j = 0; j < MANY; j++) {
			worker_start(&workers[j]);
			/* A different amount for each, so that a reply in the wrong slot shows. */
			worker_burn(&workers[j], (j * 37 % MANY + 1) * 10000);
			slot[j] = (struct sampler_slot){.pid = getpid(), .tid = workers[j].tid};
			slots[j] = &slot[j];
			assert_int_equal(sampler_attach(sampler, slots[j]), 0);
		}
		for (size_t j = 0; j < MANY; j += 50) {
			worker_stop(&workers[j]);
			wait_until_gone(slot[j].tid);
		}
		sampler_read(sampler, slots, MANY);
		for (size_t j = 0; j < MANY; j++) {
			if (j % 50 == 0) {
				assert_int_equal(slot[j].error, -ESRCH);
				continue;
			}
			assert_int_equal(slot[j].error, 0);
			assert_same_as_schedstat(sampler, slots[j]);
		}
		for (size_t j = 0; j < MANY; j++) {
			sampler_detach(sampler, slots[j]);
			if (j % 50 != 0)
				worker_stop(&workers[j]);
		}
		sampler_read(sampler, slots, 0);
		sampler_free(sampler);
	}
	free(slots);
	free(slot);
	free(workers);
}

static void test_auto(void **state)
{
	struct sampler *sampler;
	(void)state;

	assert_int_equal(sampler_new(&sampler, SAMPLER_AUTO), 0);
	assert_int_not_equal(sampler_kind(sampler), SAMPLER_AUTO);
	sampler_free(sampler);
}

/* Descriptors run out: schedstat keeps reading, and leaves some to the rest of the program. */
static void test_few_descriptors(void **state)
{
	enum { LIMIT = 40, SLOTS = 60 };
	struct sampler *sampler = open_or_say(SAMPLER_SCHEDSTAT);
	struct sampler_slot slot[SLOTS];
	struct sampler_slot *slots[SLOTS];
	struct rlimit limit, low;
	struct worker worker;
	size_t without = 0;
	(void)state;

	if (sampler == NULL)
		skip();
	worker_start(&worker);
	worker_burn(&worker, 1000000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = LIMIT;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (size_t i = 0; i < SLOTS; i++) {
		slot[i] = (struct sampler_slot){.pid = getpid(), .tid = worker.tid};
		slots[i] = &slot[i];
		assert_int_equal(sampler_attach(sampler, slots[i]), 0);
		without += slot[i].fd[0] < 0;
	}
	assert_true(without > 0);
	int spare = dup(STDERR_FILENO);
	assert_true(spare >= 0);

	worker_burn(&worker, 1000000);
	do
		sampler_read(sampler, slots, SLOTS);
	while (slot[SLOTS - 1].run_ns < worker.used_ns);
	for (size_t i = 0; i < SLOTS; i++)
		assert_int_equal(slot[i].error, 0);

	/* With none at all, slots with a descriptor are read, and the others report the error. */
	int taken[LIMIT], n = 0;
	while ((taken[n] = dup(STDERR_FILENO)) >= 0)
		n++;
	sampler_read(sampler, slots, SLOTS);
	assert_int_equal(slot[0].error, 0);
	assert_int_equal(slot[SLOTS - 1].error, -EMFILE);
	assert_true(slot[SLOTS - 1].run_ns >= worker.used_ns);
	while (n > 0)
		close(taken[--n]);
	close(spare);

	worker_stop(&worker);
	wait_until_gone(worker.tid);
	sampler_read(sampler, slots, SLOTS);
	for (size_t i = 0; i < SLOTS; i++) {
		assert_int_equal(slot[i].error, -ESRCH);
		sampler_detach(sampler, slots[i]);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	sampler_free(sampler);
}

/* ---- other environments, each in a process of its own ---- */

#define CHILD_SKIPPED 200

/* Run a function in a child, and return its result. It must not assert: cmocka is the parent's. */
static int in_child(int (*function)(void))
{
	int status;
	fflush(NULL);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(function());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A negative errno as an exit status. */
static int status_of_new(enum sampler_kind kind)
{
	struct sampler *sampler;
	int error = sampler_new(&sampler, kind);

	if (error == 0)
		sampler_free(sampler);
	return -error;
}

#define NOBODY 65534

static int taskstats_as_nobody(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
		return CHILD_SKIPPED;
	return status_of_new(SAMPLER_TASKSTATS);
}

static void test_taskstats_unprivileged(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP("not root, cannot become another user\n");
	int status = in_child(taskstats_as_nobody);
	if (status == CHILD_SKIPPED)
		SKIP("not allowed to become another user\n");
	/* or nobody has it */
	assert_true(status == EPERM || status == ENOENT);
}

static int schedstat_as_nobody(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
		return CHILD_SKIPPED;

	struct sampler *sampler;
	struct sampler_slot slot = {.pid = getppid(), .tid = getppid()};
	if (sampler_new(&sampler, SAMPLER_SCHEDSTAT) != 0)
		return CHILD_SKIPPED;
	int error = sampler_attach(sampler, &slot);
	sampler_free(sampler);
	return -error;
}

/* In any case, a live thread of another user has not ended. */
static void test_other_users_thread(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP("not root, cannot become another user\n");
	int status = in_child(schedstat_as_nobody);
	if (status == CHILD_SKIPPED)
		SKIP("not allowed to become another user\n");
	assert_true(status == 0 || status == EACCES || status == EPERM);
}

static int perf_of_root_as_nobody(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
		return CHILD_SKIPPED;

	struct sampler *sampler;
	struct sampler_slot slot = {.pid = getppid(), .tid = getppid()};
	if (sampler_new(&sampler, SAMPLER_PERF) != 0)
		return CHILD_SKIPPED;
	int error = sampler_attach(sampler, &slot);
	bool closed = true;
	for (size_t i = 0; i < SAMPLER_FDS; i++)
		closed = closed && slot.fd[i] == -1;
	sampler_free(sampler);
	return closed ? -error : EBADF;
}

static void test_perf_of_other_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP("not root, cannot become another user\n");
	int status = in_child(perf_of_root_as_nobody);
	if (status == CHILD_SKIPPED)
		SKIP("no perf for other users\n");
	assert_true(status == EPERM || status == EACCES);
}

static int taskstats_in_network_namespace(void)
{
	if (unshare(CLONE_NEWNET) != 0)
		return CHILD_SKIPPED;
	return status_of_new(SAMPLER_TASKSTATS);
}

static void test_taskstats_network_namespace(void **state)
{
	(void)state;
	int status = in_child(taskstats_in_network_namespace);
	if (status == CHILD_SKIPPED)
		SKIP("not allowed to make a network namespace\n");
	print_message("in a network namespace: %s\n", status == 0 ? "works" : strerror(status));
	assert_true(status == 0 || status == ENOENT || status == EPERM);
}

/* Without /proc schedstat fails, auto chooses another, and perf works on its own. */
static int without_proc(void)
{
	struct sampler *sampler;
	struct sampler_slot slot = {.pid = getpid(), .tid = getpid()};
	struct sampler_slot *slots = &slot;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", "/proc", "tmpfs", 0, NULL) != 0)
		return CHILD_SKIPPED;
	if (status_of_new(SAMPLER_SCHEDSTAT) != ENOSYS)
		return 1;
	if (sampler_new(&sampler, SAMPLER_PERF) != 0)
		return CHILD_SKIPPED;
	if (sampler_attach(sampler, &slot) != 0)
		return 2;
	uint64_t start = own_cpu_ns();
	while (own_cpu_ns() - start < 2000000)
		;
	sampler_read(sampler, &slots, 1);
	if (slot.error != 0 || slot.run_ns < 2000000 || slot.progress == 0)
		return 3;

	pid_t child = fork();
	if (child < 0)
		return CHILD_SKIPPED;
	if (child == 0) {
		pause();
		_exit(0);
	}
	struct sampler_slot other = {.pid = child, .tid = child};
	struct sampler_slot *others = &other;
	if (sampler_attach(sampler, &other) != 0)
		return 4;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	sampler_read(sampler, &others, 1);
	if (other.error != -ESRCH)
		return 5;
	sampler_detach(sampler, &other);
	sampler_detach(sampler, &slot);
	sampler_free(sampler);

	if (sampler_new(&sampler, SAMPLER_AUTO) != 0)
		return 6;
	bool right = sampler_kind(sampler) != SAMPLER_SCHEDSTAT;
	sampler_free(sampler);
	return right ? 0 : 7;
}

static void test_without_proc(void **state)
{
	(void)state;
	int status = in_child(without_proc);
	if (status == CHILD_SKIPPED)
		SKIP("not allowed to hide /proc, or no perf\n");
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_known_cpu_time),
		cmocka_unit_test(test_ended_thread),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_taskstats_unprivileged),
		cmocka_unit_test(test_other_users_thread),
		cmocka_unit_test(test_perf_of_other_user),
		cmocka_unit_test(test_taskstats_network_namespace),
		cmocka_unit_test(test_without_proc),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
