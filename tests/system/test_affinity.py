# SPDX-License-Identifier: MIT
"""Where juggle puts threads, which ones it leaves alone, and that they get their masks back."""
import collections
import os
import signal
import subprocess

import pytest

import attributes
import helpers
import traces

pytestmark = pytest.mark.needs_cpus(2)
BUSY = ["-q", "-e", "5ms", "-p", "1000000000", "-b", "yield", "--rate", "100000"]


@pytest.fixture
def two():
    """The two CPUs that these tests use."""
    return helpers.cpus()[:2]


@pytest.fixture
def wrapped(juggle, app, background, two):
    """wrapped(THREADS, OPTION...) is (juggle, ubench): a job under juggle on two CPUs."""
    def start(threads, *options):
        process = background(
            ["taskset", "-c", "%d,%d" % tuple(two), juggle, *options, "--", app("ubench"),
             *BUSY, "-t", str(threads)], stdout=subprocess.DEVNULL)
        ubench = helpers.wait_for_job(process)
        helpers.wait_for(lambda: len(helpers.threads(ubench)) >= threads, "its threads, too", process)
        return process, ubench
    return start


@pytest.fixture
def alone(app, background, two):
    """alone(THREADS) is a job on two CPUs, without juggle."""
    def start(threads):
        process = background(
            ["taskset", "-c", "%d,%d" % tuple(two), app("ubench"), *BUSY, "-t", str(threads)],
            stdout=subprocess.DEVNULL)
        helpers.wait_for(lambda: len(helpers.threads(process.pid)) >= threads, "its threads", process)
        return process
    return start


def look(process, ubench, threads):
    """Masks of all threads, seen while the balancer looks at them many times."""
    looks = helpers.looks(helpers.wait_for_balancer(process), 50)
    found = []

    def once():
        masks = helpers.masks(ubench)
        if len(masks) == threads:
            found.append(masks)
        return looks() and len(found) >= 20
    helpers.wait_for(once, "the balancer has looked, and so have we", process)
    return found


def apart(masks):
    """The difference between the most and the fewest threads of the CPUs in use."""
    counts = collections.Counter(cpu for mask in masks.values() for cpu in mask)
    return max(counts.values()) - min(counts.values())


@pytest.mark.parametrize("threads", [3, 5])
def test_never_more_than_one_apart(wrapped, two, tmp_path, threads):
    process, ubench = wrapped(threads, "--always", "-i", "5ms", "--trace", tmp_path / "trace")
    helpers.wait_for(lambda: helpers.is_pinned(ubench, threads), "all threads are pinned", process)
    seen = set()

    def looked():
        """Masks are read one after the other, and threads may swap in between: one look proves
        nothing. On equal CPUs, turns alone are three placements of three threads, and ten of five."""
        masks = helpers.masks(ubench)
        assert set().union(*masks.values()) <= set(two)
        if len(masks) == threads and all(len(mask) == 1 for mask in masks.values()) and apart(masks) == 1:
            seen.add(placement({tid: cpu for tid, (cpu,) in masks.items()}))
        return len(seen) >= threads
    helpers.wait_for(looked, "threads have changed places", process)
    process.terminate()
    process.wait(timeout=helpers.TIMEOUT_S)
    trace = traces.Trace(tmp_path / "trace")
    placements = trace.placements(threads)
    for where in placements:
        counts = collections.Counter(where.values())
        if trace.ticks and (len(counts) == 1 or max(counts.values()) - min(counts.values()) > 1):
            continue  # threads leave a CPU that others have taken, and come back, one by one
        assert set(counts) == set(two) and max(counts.values()) - min(counts.values()) == 1, where
    assert len(seen & set(map(placement, placements))) > 1, "moves of the trace were not carried out"


def placement(where):
    """{tid: CPU} as a member of a set."""
    return tuple(sorted(where.items()))


def test_fewer_threads_than_cpus_are_left_alone(wrapped, two):
    process, ubench = wrapped(1, "--always", "-i", "5ms")
    for masks in look(process, ubench, 1):
        assert all(mask == set(two) for mask in masks.values())


def test_observe_changes_nothing(wrapped, two):
    process, ubench = wrapped(3, "-P", "observe", "-i", "5ms")
    for masks in look(process, ubench, 3):
        assert all(mask == set(two) for mask in masks.values())


def test_static_stays(wrapped, two):
    process, ubench = wrapped(3, "-P", "static", "-i", "5ms")
    helpers.wait_for(lambda: helpers.is_pinned(ubench), "all threads are pinned", process)
    seen = look(process, ubench, 3)
    assert all(masks == seen[0] for masks in seen)
    assert apart(seen[0]) == 1
    assert set().union(*seen[0].values()) == set(two)


def test_cpus_confine_the_job(juggle, app, background, two):
    """With -c all threads stay within it, including those that are not balanced."""
    process = background(
        [juggle, "-c", str(two[1]), "-P", "observe", "--", app("ubench"), *BUSY, "-t", "2"],
        stdout=subprocess.DEVNULL)
    ubench = helpers.wait_for_job(process)
    for masks in look(process, ubench, 2):
        assert all(mask == {two[1]} for mask in masks.values())


def give_masks(ubench, two):
    """Gives each thread of a process a mask of its own; returns them."""
    choices = [set(two), {two[0]}, {two[1]}]
    expected = {tid: choices[i % 3] for i, tid in enumerate(helpers.threads(ubench))}
    for tid, mask in expected.items():
        os.sched_setaffinity(tid, mask)
    assert helpers.masks(ubench) == expected
    return expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_detaching_restores_each_mask(juggle, alone, background, two, number):
    job = alone(4)
    expected = give_masks(job.pid, two)
    process = background([juggle, "-c", "%d,%d" % tuple(two), "--always", "-i", "5ms", "-p", job.pid])
    helpers.wait_for(lambda: helpers.is_pinned(job.pid, 4), "all threads are pinned", process)
    helpers.wait_for_looks(helpers.balancer(process.pid))
    process.send_signal(number)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert helpers.masks(job.pid) == expected
    assert job.poll() is None


def test_detaching_restores_masks_outside_of_c(juggle, alone, background, two):
    """Threads that are confined to -c meanwhile get back the CPUs beyond it."""
    job = alone(2)
    expected = {tid: set(two) for tid in helpers.threads(job.pid)}
    process = background([juggle, "-c", str(two[0]), "--always", "-p", job.pid])
    helpers.wait_for(lambda: helpers.is_pinned(job.pid, 2), "all threads are pinned", process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert helpers.masks(job.pid) == expected


@pytest.mark.parametrize("end", ["detach", "kill"])
@pytest.mark.parametrize("threads, options", [(3, ["-P", "observe"]), (1, ["--always"])], ids=["observe", "aside"])
def test_masks_that_threads_set_by_themselves_stay(juggle, alone, background, two, threads, options, end):
    """juggle has not changed them, so it does not restore those that it found, either."""
    job = alone(threads)
    process = background([juggle, "-q", *options, "-c", "%d,%d" % tuple(two), "-p", job.pid])
    helpers.wait_for_stat(process, lambda found: len(found["thread"]) == threads, "all are met")
    own = {tid: {two[i % 2]} for i, tid in enumerate(helpers.threads(job.pid))}
    for tid, mask in own.items():
        os.sched_setaffinity(tid, mask)
    if end == "kill":
        os.kill(helpers.balancer(process.pid), signal.SIGKILL)
        helpers.wait_for(lambda: helpers.balancer(process.pid) is None, "it is dead")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert helpers.masks(job.pid) == own


# --- time slices

def test_time_slices_are_what_they_were(juggle, alone, background, two):
    job = alone(3)
    tids = helpers.threads(job.pid)
    attributes.default_slice()
    attributes.set_slice(tids[0], 500000)
    attributes.set_slice(tids[1], 20000000)
    before = {tid: attributes.of(tid) for tid in tids}
    process = background([juggle, "-c", "%d,%d" % tuple(two), "--always", "-p", job.pid])
    helpers.wait_for(lambda: helpers.is_pinned(job.pid), "all threads are pinned", process)
    helpers.wait_for_looks(helpers.balancer(process.pid))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert {tid: attributes.of(tid) for tid in tids} == before


# --- threads that are born of pinned ones

# Keeps three threads busy, and at each line of input starts one more that sleeps; prints
# its tid.
LATE = r"""
import hashlib, sys, threading, time
data = bytes(1 << 20)
def busy():
    while True:
        hashlib.sha256(data).digest()  # without the interpreter's lock
def idle():
    print(threading.get_native_id(), flush=True)
    time.sleep(1000)
for _ in range(3):
    threading.Thread(target=busy, daemon=True).start()
for line in sys.stdin:
    threading.Thread(target=idle, daemon=True).start()
"""


def test_threads_born_of_pinned_ones_are_not(juggle, background, two):
    process = background(
        ["taskset", "-c", "%d,%d" % tuple(two), juggle, "--always", "/usr/bin/python3", "-c",
         LATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    job = helpers.wait_for_job(process)
    helpers.wait_for(lambda: sum(len(mask) == 1 for mask in helpers.masks(job).values()) >= 3,
                     "the busy threads are pinned", process)
    for _ in range(5):
        process.stdin.write("\n")
        process.stdin.flush()
        tid = int(process.stdout.readline())
        helpers.wait_for(lambda: helpers.mask(tid, job) == set(two), "the new thread is free",
                         process)


# Computes in three threads, and at each line of input forks a child that forks one that
# sleeps, and ends; prints the sleeper's pid.
FORKS = r"""
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *busy(void *unused)
{
	for (volatile int i = 0;; i++)
		;
	return unused;
}
int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, busy, NULL);
	struct pollfd input = {.fd = 0, .events = POLLIN};
	while (poll(&input, 1, 0) == 0)
		for (volatile long i = 0; i < 1000000; i++)
			;
	while (getchar() != EOF) {
		pid_t child = fork();
		if (child == 0) {
			pid_t sleeper = fork();
			if (sleeper == 0) {
				pause();
				_exit(0);
			}
			printf("%d\n", (int)sleeper);
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		for (volatile long i = 0; i < 30000000; i++)
			; /* the main thread computes as well, and so is pinned */
	}
}
"""


def test_orphans_of_pinned_processes_are_not(juggle, background, two, tmp_path):
    """juggle has not met their parents, whose masks they would inherit, or has forgotten them."""
    program = helpers.compile_c(tmp_path, FORKS, "-pthread")
    process = background(["taskset", "-c", "%d,%d" % tuple(two), juggle, "--always", "--idle",
                          "none", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    job = helpers.wait_for_job(process)
    helpers.wait_for(lambda: helpers.is_pinned(job, 4), "all four threads are pinned", process)
    process.stdin.write("x" * 10)
    process.stdin.flush()
    sleepers = [int(process.stdout.readline()) for _ in range(10)]
    process.stdin.close()
    process.wait(timeout=helpers.TIMEOUT_S)
    left = {pid: helpers.mask(pid) for pid in sleepers if helpers.mask(pid) != set(two)}
    assert not left


# Ever new threads, born of busy ones, which live for a moment.
CHURN = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *brief(void *unused) { (void)unused; usleep(400000); return NULL; }
static void *busy(void *unused)
{
	for (;;) {
		pthread_t thread;
		for (volatile int i = 0; i < 2000000; i++)
			;
		if (pthread_create(&thread, NULL, brief, NULL) == 0)
			pthread_detach(thread);
	}
	return unused;
}
int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, busy, NULL);
	pause();
}
"""


@pytest.fixture(scope="module")
def churn(tmp_path_factory):
    return helpers.compile_c(tmp_path_factory.mktemp("churn"), CHURN, "-pthread")


@pytest.mark.parametrize("end", ["detach", "kill"])
def test_threads_born_at_the_end_are_not_left_pinned(juggle, background, two, churn, end):
    """Not even those that juggle has not met when it releases the job."""
    job = background(["taskset", "-c", "%d,%d" % tuple(two), churn])
    for _ in range(3):
        process = background([juggle, "-q", "-c", "%d,%d" % tuple(two), "--always", "-i",
                              "5ms", "-p", job.pid])
        helpers.wait_for(
            lambda: sum(len(mask) == 1 for mask in helpers.masks(job.pid).values()) >= 3,
            "the busy threads are pinned", process)
        if end == "kill":
            os.kill(helpers.balancer(process.pid), signal.SIGKILL)
            helpers.wait_for(lambda: helpers.balancer(process.pid) is None, "it is dead")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=helpers.TIMEOUT_S) == 0
        left = {tid: mask for tid, mask in helpers.masks(job.pid).items() if mask != set(two)}
        assert not left


# One of three busy threads executes a program once it is pinned and the first thread, which waits, is not.
EXECUTES = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
static int cpus_of(pid_t tid)
{
	cpu_set_t mask;
	return sched_getaffinity(tid, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 0;
}
static void *busy(void *executes)
{
	for (;;) {
		for (volatile int i = 0; i < 100000; i++)
			;
		if (executes && cpus_of(0) == 1 && cpus_of(getpid()) == 2)
			execlp("sleep", "sleep", "1000", (char *)NULL);
	}
}
int main(int argc, char **argv)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, busy, i == 0 ? argv[argc - 1] : NULL);
	pthread_join(thread, NULL);
}
"""


def test_a_program_that_a_pinned_thread_executes_has_all_cpus(juggle, background, two, tmp_path):
    command = helpers.compile_c(tmp_path, EXECUTES, "-pthread")
    process = background(["taskset", "-c", "%d,%d" % tuple(two), juggle, "-q", command])
    job = helpers.wait_for_job(process)
    helpers.wait_for(lambda: helpers.comm(job) == "sleep", "it executes", process)
    helpers.wait_for(lambda: helpers.mask(job) == set(two), "its CPUs are back", process)
