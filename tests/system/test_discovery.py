# SPDX-License-Identifier: MIT
"""Every process and thread below the command is found, however it came to be there."""
import collections
import os
import shutil
import subprocess
import threading

import pytest

import helpers

SHORT = ["-q", "-e", "5ms", "--rate", "100000", "-b", "yield"]

MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Containers forbid what it uses by default.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


@pytest.fixture
def balanced(run_juggle, tmp_path):
    """balanced(COMMAND..., options=[...]) runs it under juggle and returns the report."""
    def run(*command, options=(), env=None, status=0):
        report = tmp_path / "report.json"
        done = run_juggle("--always", "-i", "5ms", "--report", report, *options, "--", *command,
                          env=env)
        assert done.returncode == status, done.stderr
        return helpers.read_report(report)
    return run


@pytest.fixture
def mpirun():
    path = shutil.which("mpirun")
    if not path:
        pytest.skip("no mpirun")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False,
                             timeout=helpers.TIMEOUT_S)
    return [path] + (["--oversubscribe"] if "Open MPI" in version.stdout else [])


def pids(report, comm):
    return {thread["pid"] for thread in report["thread"] if thread["comm"] == comm}


def assert_processes(report, comm, count):
    """So many processes of that name; LeakSanitizer forks another at their end."""
    found = len(pids(report, comm))
    assert found >= count if helpers.SANITIZER else found == count


def assert_threads(report, count):
    """So many compute threads; LeakSanitizer adds its own when the program ends."""
    most = count + 1 if helpers.SANITIZER == "address" else count
    assert count <= report["threads"] <= most


def computed(report, comm):
    """Threads of that name which have used CPU time since juggle met them."""
    return [thread for thread in report["thread"]
            if thread["comm"] == comm and thread["progress_s"] > 0]


def test_pthreads(balanced, app):
    report = balanced(app("ubench"), *SHORT, "-t", "5", "-p", "200")
    assert_threads(report, 5)
    assert len(computed(report, "ubench")) >= 5
    assert_processes(report, "ubench", 1)


def test_openmp_built_with_gcc(balanced, app):
    report = balanced(app("ubench-omp"), *SHORT[:-2], "-b", "omp", "-t", "3", "-p", "200",
                      env={"GOMP_SPINCOUNT": "0"}, options=["--idle", "none"])
    assert len(computed(report, "ubench-omp")) >= 3
    assert_threads(report, 3 + helpers.ADDED_THREADS)


OPENMP = r"""
#include <omp.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
	int threads = 0;
	#pragma omp parallel num_threads(3)
	{
		struct timespec begin, now;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		do
			clock_gettime(CLOCK_MONOTONIC, &now);
		while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) * 1e-9 < 0.3);
		#pragma omp barrier
		#pragma omp atomic
		threads++;
	}
	return threads == 3 ? 0 : 1;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_openmp_program(balanced, tmp_path, compiler):
    if not shutil.which(compiler):
        pytest.skip("no " + compiler)
    try:
        program = helpers.compile_c(tmp_path, OPENMP, "-fopenmp", compiler=compiler)
    except subprocess.CalledProcessError:
        pytest.skip(compiler + " has no OpenMP here")
    report = balanced(program)
    assert_threads(report, 3)
    assert len(computed(report, "program")) >= 3


def test_forked_children(balanced, app):
    one = " ".join([app("ubench"), *SHORT, "-t", "1", "-p", "200", ">/dev/null"])
    report = balanced("sh", "-c", "%s & %s & wait" % (one, one))
    assert_processes(report, "ubench", 2)
    assert len(computed(report, "ubench")) >= 2
    assert_threads(report, 2)  # the shell that waits is not counted


def test_double_forked_children(balanced, app, tmp_path):
    """Their parent has ended: found, since juggle is the subreaper."""
    done = tmp_path / "done"
    script = ("( ( %s -t 2 -p 200 --json %s/a; : > %s ) & ) ; "
              "until [ -e %s ]; do sleep 0.02; done"
              % (" ".join([app("ubench"), *SHORT]), tmp_path, done, done))
    report = balanced("sh", "-c", script)
    assert len(computed(report, "ubench")) >= 2
    assert_threads(report, 2)


# Works in one thread, then starts two more that work as well.
LATE = r"""
import hashlib, threading, time
data = bytes(1 << 20)
def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        hashlib.sha256(data).digest()  # without the interpreter's lock
work(0.2)
others = [threading.Thread(target=work, args=(0.4,)) for _ in range(2)]
for each in others:
    each.start()
work(0.4)
for each in others:
    each.join()
"""


def test_late_threads(balanced):
    report = balanced("/usr/bin/python3", "-c", LATE)
    assert_threads(report, 3)


HUNDREDS = r"""
import sys, threading, time
end = threading.Event()
time.sleep(float(sys.argv[1]))
for _ in range(300):
    threading.Thread(target=end.wait).start()
time.sleep(0.4)
end.set()
"""


@pytest.mark.timing
@pytest.mark.parametrize("after_s", [0, 1.1])
def test_hundreds_of_idle_threads(balanced, after_s):
    """Also after the first second, when the looks for new threads are rarer."""
    report = balanced("/usr/bin/python3", "-c", HUNDREDS, after_s)
    assert len(report["thread"]) == 301
    assert report["threads"] <= 1


@pytest.mark.timing
def test_hundreds_of_busy_threads(balanced, app):
    report = balanced(app("ubench"), "-q", "-t", "200", "-e", "5ms", "-p", "20", "-b", "block",
                      "--rate", "100000", options=["--idle", "none"])
    assert_threads(report, 200 + helpers.ADDED_THREADS)
    assert len(report["thread"]) == 200 + helpers.ADDED_THREADS


def test_threads_that_die_young(balanced):
    report = balanced("/usr/bin/python3", "-c",
                      "import threading\n"
                      "for _ in range(1000):\n"
                      "    t = threading.Thread(target=lambda: None)\n"
                      "    t.start()\n"
                      "    t.join()\n")
    assert report["balancer"] == "ended"


def test_processes_that_die_young(balanced):
    report = balanced("sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done")
    assert report["balancer"] == "ended"


def test_attached_process_and_what_is_below(juggle, app, background, tmp_path):
    report = tmp_path / "report.json"
    job = background(helpers.held_job(), stdin=subprocess.PIPE)
    ubench = helpers.wait_for(lambda: helpers.find(job.pid, "ubench"), "the job has started")
    process = background([juggle, "--always", "--report", report, "-p", job.pid])
    helpers.wait_for(lambda: helpers.is_pinned(ubench) or len(helpers.cpus()) < 2
                     or len(helpers.cpus()) > 3, "all threads are pinned")
    job.stdin.close()
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    found = helpers.read_report(report)
    assert len(computed(found, "ubench")) >= 3
    assert pids(found, "sh") == {job.pid}
    assert found["command"] == "-p %d" % job.pid


def test_juggle_runs_mpirun(balanced, app, mpirun):
    report = balanced(*mpirun, "-n", "3", app("ubench-mpi"), *SHORT[:-2], "-b", "mpi", "-p", "200",
                      env=MPI_ENVIRONMENT)
    assert_processes(report, "ubench-mpi", 3)
    working = sorted(report["thread"], key=lambda thread: -thread["progress_s"])[:3]
    assert {thread["comm"] for thread in working} == {"ubench-mpi"}
    assert report["threads"] >= 3


def test_mpirun_runs_juggle(app, mpirun, juggle, tmp_path):
    done = helpers.run(
        [*mpirun, "-n", "2", juggle, "--always", "--report", tmp_path / "r", "--", "sh", "-c",
         'exec "$0" "$@" --json %s/out.$$' % tmp_path, app("ubench"), *SHORT, "-t", "2", "-p",
         "200"], env=MPI_ENVIRONMENT, timeout_s=3 * helpers.TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("out.*"))) == 2
    assert helpers.read_report(tmp_path / "r")["threads"] == 2


def test_mpirun_passes_the_status_on(balanced, mpirun):
    balanced(*mpirun, "-n", "2", "sh", "-c", "exit 3", env=MPI_ENVIRONMENT, status=3)


# --- idle threads

MIXED = r"""
import ctypes, hashlib, os, threading, time
data = bytes(1 << 20)
def name(text):
    ctypes.CDLL(None).prctl(15, text.encode(), 0, 0, 0)
def work(text):
    name(text)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        hashlib.sha256(data).digest()  # without the interpreter's lock
def rest(text):
    name(text)
    time.sleep(0.5)
threads = [threading.Thread(target=work, args=("worker%d" % i,)) for i in range(2)]
threads += [threading.Thread(target=rest, args=("rester%d" % i,)) for i in range(3)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


# Of main (which rests), worker0, worker1, rester0, rester1, rester2. A name is looked at
# again after a while, and whether a thread rests shows in time: what counts is how many
# compute threads there were most of the time.
@pytest.mark.parametrize("idle, threads", [
    ("auto", 2), ("main", 5), ("none", 6), ("comm=rester*", 3), ("comm=rester*,main", 2),
    ("comm=*", 0)])
def test_idle_threads_are_not_counted(balanced, tmp_path, idle, threads):
    trace = tmp_path / "trace"
    report = balanced("/usr/bin/python3", "-c", MIXED,
                      options=["--idle", idle, "--trace", trace])
    assert len(report["thread"]) == 6
    counts = collections.Counter(
        int(line.split()[4]) for line in trace.read_text().splitlines()
        if line.startswith("point "))
    assert counts.most_common(1)[0][0] == threads
    assert_threads(report, max(counts))
    if idle == "none":
        assert report["idle_threads"] == 0
    elif idle == "auto":
        assert report["idle_threads"] >= 3


def test_the_tests_themselves_have_one_thread():
    assert threading.active_count() == 1, os.getpid()
