# SPDX-License-Identifier: MIT
"""Every process and thread below the command is found, however it was started."""
import os
import shutil
import signal
import subprocess
import threading

import pytest

import helpers
import mpi

SHORT = ["-q", "-e", "5ms", "--rate", "100000", "-b", "yield"]

MPI_ENVIRONMENT = mpi.environment("openmpi")


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


@pytest.fixture
def held(juggle, background, tmp_path):
    """held(COMMAND..., options=[...]): a juggle with a command that ends with its standard
    input."""
    def start(*command, options=()):
        report = tmp_path / "report.json"
        process = background([juggle, "--always", "-i", "5ms", "--report", report, *options, "--",
                              *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.report_path = report
        return process
    return start


def end(process, status=0):
    """Ends a held job: the report."""
    process.communicate(timeout=helpers.TIMEOUT_S)
    assert process.returncode == status
    return helpers.read_report(process.report_path)


def pids(report, comm):
    return {thread["pid"] for thread in report["thread"] if thread["comm"] == comm}


def assert_processes(report, comm, count):
    """That many processes of that name."""
    assert len(pids(report, comm)) == count


def assert_threads(report, count):
    """That many compute threads. A shell counts for a moment where its start takes long."""
    assert count <= report["threads"] <= count + len(pids(report, "sh"))


def computed(report, comm):
    """Threads of that name which have used CPU time since juggle found them."""
    return [thread for thread in report["thread"]
            if thread["comm"] == comm and thread["progress_s"] > 0]


@pytest.fixture(scope="module")
def missing(background_of_module, juggle):
    """A juggle that waits for threads which do not come, beside other tests, at the lowest priority."""
    process = background_of_module(["nice", "-n", "19", juggle, "-n", "9", *helpers.ONLY_UBENCH, "--",
                                    *helpers.held_job(3)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    helpers.wait_for_stat(process, lambda found: found["threads"] == 3, "its threads are found")
    return process


@pytest.mark.usefixtures("missing")
@pytest.mark.parametrize("options, said", [
    (["-n", 9], "juggle: -n 9: there were never more than 3 compute threads at the same time, "
                "so nothing was balanced\n"),
    (["-n", 3], ""), (["-n", 9, "-q"], ""), (["-n", 9, "-P", "observe"], ""),
])
def test_threads_that_never_come_are_missed(run_juggle, app, options, said):
    done = run_juggle(*options, "--", app("ubench"), *SHORT, "-t", "3", "-p", "100", "--json", "/dev/null")
    assert (done.returncode, done.stderr) == (0, said)


def test_pthreads(balanced, app):
    report = balanced(app("ubench"), *SHORT, "-t", "5", "-p", "100")
    assert_threads(report, 5)
    assert len(computed(report, "ubench")) >= 5
    assert_processes(report, "ubench", 1)


def test_openmp_built_with_gcc(balanced, app):
    report = balanced(app("ubench-omp"), *SHORT[:-2], "-b", "omp", "-t", "3", "-p", "100",
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
		struct timespec used;
		do
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
		while (used.tv_sec + used.tv_nsec * 1e-9 < 0.3);
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
    one = " ".join([app("ubench"), *SHORT, "-t", "1", "-p", "100", ">/dev/null"])
    report = balanced("sh", "-c", "%s & %s & wait" % (one, one))
    assert_processes(report, "ubench", 2)
    assert len(computed(report, "ubench")) >= 2
    assert_threads(report, 2)


def test_double_forked_children(balanced, app, tmp_path):
    """Their parent has ended: juggle finds them, since it is the subreaper."""
    done = tmp_path / "done"
    os.mkfifo(done)
    script = ("( ( %s -t 2 -p 100 --json %s/a; echo > %s ) & ) ; read line < %s"
              % (" ".join([app("ubench"), *SHORT]), tmp_path, done, done))
    report = balanced("sh", "-c", script)
    assert len(computed(report, "ubench")) >= 2
    assert_threads(report, 2)


# Works in one thread, and at a line of input starts two more that work, too.
LATE = r"""
import hashlib, sys, threading
data = bytes(1 << 20)
def work():
    while True:
        hashlib.sha256(data).digest()  # without the interpreter's lock
for threads in (1, 2):
    for _ in range(threads):
        threading.Thread(target=work, daemon=True).start()
    sys.stdin.readline()
"""


def test_late_threads(held):
    job = held("/usr/bin/python3", "-c", LATE)
    helpers.wait_for_stat(job, lambda found: found["threads"] == 1, "the first is found")
    job.stdin.write("\n")
    job.stdin.flush()
    helpers.wait_for_stat(job, lambda found: found["threads"] == 3, "the others are found")
    end(job)


HUNDREDS = r"""
import sys, threading
end = threading.Event()
sys.stdin.readline()
for _ in range(300):
    threading.Thread(target=end.wait).start()
sys.stdin.readline()
end.set()
"""


@pytest.mark.parametrize("after_s", [0, 1.1])
def test_hundreds_of_idle_threads(held, after_s):
    """Even after the first second, when juggle looks for new threads less often."""
    job = held("/usr/bin/python3", "-c", HUNDREDS)
    helpers.wait_for_stat(job, lambda found: found["age_s"] > after_s, "it has run so long")
    job.stdin.write("\n")
    job.stdin.flush()
    found = helpers.wait_for_stat(job, lambda found: len(found["thread"]) == 301, "all are found")
    assert not found["threads_unlisted"]
    helpers.wait_for_stat(job, lambda found: (found["threads"], found["idle_threads"]) == (0, 301),
                          "all are seen to be idle")
    assert len(end(job)["thread"]) == 301


@pytest.mark.skipif(bool(helpers.SANITIZER), reason="a sanitizer needs too much memory for each thread")
def test_more_threads_than_are_listed(juggle, background):
    """Telemetry has room for 16384. The others are known and balanced all the same."""
    threads = 16500
    command = [helpers.built("tests/bench/scale_cost"), threads, "1000"]
    alone = background(command)
    try:
        helpers.wait_for(lambda: len(helpers.threads(alone.pid)) == threads + 3, "all are there", alone)
    except AssertionError as error:
        pytest.skip("so many threads cannot be started here: %s" % error)
    process = background([juggle, "--always", "-p", alone.pid])
    found = helpers.wait_for_stat(
        process, lambda found: (found["threads"], found["idle_threads"]) == (3, threads), "all are found")
    assert found["threads_unlisted"] == threads + 3 - 16384
    process.send_signal(signal.SIGINT)
    assert process.wait(helpers.TIMEOUT_S) == 0
    left = helpers.threads(alone.pid)
    assert len(left) == threads + 3
    assert all(os.sched_getaffinity(tid) == set(helpers.cpus()) for tid in left)


def test_hundreds_of_busy_threads(held):
    job = held(*helpers.held_job(200, barrier="block"), options=["--idle", "comm=sh"])
    threads = 200 + helpers.ADDED_THREADS
    found = helpers.wait_for_stat(job, lambda found: found["threads"] == threads, "all are found")
    assert len([thread for thread in found["thread"] if thread["pid"] != job.pid]) >= threads
    report = end(job, 7)
    assert_threads(report, threads)


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
    ubench = helpers.wait_for_below(job, "ubench")
    process = background([juggle, "--always", "--report", report, "-p", job.pid])
    helpers.wait_for(lambda: helpers.is_pinned(ubench) or len(helpers.cpus()) < 2
                     or len(helpers.cpus()) > 3, "all threads are pinned", process)
    job.stdin.close()
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    found = helpers.read_report(report)
    assert len(computed(found, "ubench")) >= 3
    assert pids(found, "sh") == {job.pid}
    assert found["command"] == "-p %d" % job.pid


def test_juggle_runs_mpirun(balanced, app, mpirun):
    report = balanced(*mpirun, "-n", "3", app("ubench-mpi"), *SHORT[:-2], "-b", "mpi", "-p", "100",
                      env=MPI_ENVIRONMENT)
    assert_processes(report, "ubench-mpi", 3)
    working = sorted(report["thread"], key=lambda thread: -thread["progress_s"])[:3]
    assert {thread["comm"] for thread in working} == {"ubench-mpi"}
    assert report["threads"] >= 3


def test_mpirun_runs_juggle(app, mpirun, juggle, tmp_path):
    done = helpers.run(
        [*mpirun, "-n", "2", juggle, "--always", "--report", tmp_path / "r", "--", "sh", "-c",
         'exec "$0" "$@" --json %s/out.$$' % tmp_path, app("ubench"), *SHORT, "-t", "2", "-p",
         "100"], env=MPI_ENVIRONMENT, timeout_s=3 * helpers.TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("out.*"))) == 2
    assert helpers.read_report(tmp_path / "r")["threads"] in (2, 3)  # mpirun may count while it starts


def test_mpirun_passes_the_status_on(balanced, mpirun):
    balanced(*mpirun, "-n", "2", "sh", "-c", "exit 3", env=MPI_ENVIRONMENT, status=3)


# --- idle threads

MIXED = r"""
import ctypes, hashlib, sys, threading
data = bytes(1 << 20)
def name(text):
    ctypes.CDLL(None).prctl(15, text.encode(), 0, 0, 0)
def work(text):
    name(text)
    while True:
        hashlib.sha256(data).digest()  # without the interpreter's lock
def rest(text):
    name(text)
    threading.Event().wait()
for function, text in [(work, "worker0"), (work, "worker1"), (rest, "rester0"), (rest, "rester1"),
                       (rest, "rester2")]:
    threading.Thread(target=function, args=(text,), daemon=True).start()
sys.stdin.readline()
"""


# Of main (which rests), worker0, worker1, rester0, rester1, rester2. juggle looks at a name again
# after a while, and notices in time that a thread rests.
@pytest.mark.parametrize("idle, threads", [
    ("auto", 2), ("main", 5), ("none", 6), ("comm=rester*", 3), ("comm=rester*,main", 2),
    ("comm=*", 0)])
def test_idle_threads_are_not_counted(held, idle, threads):
    job = held("/usr/bin/python3", "-c", MIXED, options=["--idle", idle])
    same = 0

    def settled(found):
        nonlocal same
        same = same + 1 if (found["threads"], found["idle_threads"]) == (threads, 6 - threads) else 0
        return same >= 5
    helpers.wait_for_stat(job, settled, "%d compute threads, several looks long" % threads)
    report = end(job)
    assert len(report["thread"]) == 6
    assert report["threads"] >= threads and (idle != "none" or report["idle_threads"] == 0)


def test_threads_are_missed_while_the_job_runs(missing):
    """After some seconds, so this is one of the last tests here."""
    assert missing.stderr.readline() == (
        "juggle: -n 9: until now there were not more than 3 compute threads at the same time, "
        "so nothing is balanced yet\n")
    assert missing.communicate("", timeout=helpers.TIMEOUT_S)[1] == ""  # not again
    assert missing.returncode == 7


def test_the_tests_themselves_have_one_thread():
    assert threading.active_count() == 1, os.getpid()
