# SPDX-License-Identifier: MIT
"""jugglectl stat of jobs under juggle, of programs that publish progress alone, and of their
ends."""

import contextlib
import csv
import io
import json
import os
import re
import resource
import signal

import pytest

import helpers
from helpers import refused
from test_manuals import keys_of_page

pytestmark = pytest.mark.beside

TABLES = ("thread", "progress", "subdomain", "cpu")
LISTS = ("regimes", "periods", "sites")  # JSON only, and only of jobs with juggle


@pytest.fixture
def wrapped(juggle, background):
    """The Popen of a juggle that has found its job's three threads."""
    process = background([juggle, "-q", "-i", "10ms", "--", *helpers.held_job()], stdin=helpers.subprocess.PIPE)
    helpers.wait_for_telemetry(process)
    helpers.wait_for_below(process, "ubench")
    return process


@pytest.fixture
def stat(run_jugglectl):
    """stat(JOB, OPTION...): the output lines of a stat that has to succeed without messages."""
    def run(job, *options):
        done = run_jugglectl("stat", job, *options)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout.splitlines()
    return run


@pytest.fixture
def record(stat):
    """The JSON object of a stat."""
    return lambda job, *options: json.loads(stat(job, "--json", *options)[0])


@pytest.fixture
def solver(app, background):
    """The Popen of a solver without juggle, which balances itself; its workers are there."""
    process = background([app("jacobi"), "-q", "-t", "2", "-n", "1000000000", "--grid", "64x64"])
    helpers.wait_for_stat(process, lambda found: len(found["thread"]) == 2, "workers")
    return process


def found(record, job, threads):
    """The record of a job, once juggle has found its threads."""
    def look():
        result = record(job)
        return result if result["threads"] >= threads and result["cycles"] else None
    return helpers.wait_for(look, "compute threads")


# --- contents ------------------------------------------------------------------------

def test_keys(record, solver):
    outer, inner = keys_of_page("jugglectl-stat.1", "RESULT FORMAT")
    result = record(solver.pid)
    assert outer - set(LISTS) == set(result)
    assert set(inner) == {*TABLES, *LISTS}
    for name in TABLES[:3]:
        assert inner[name] == set(result[name][0]), name


def test_wrapped(record, stat, wrapped):
    result = found(record, wrapped.pid, 3)
    _, inner = keys_of_page("jugglectl-stat.1", "RESULT FORMAT")
    for name in ("cpu", *LISTS[:2]):  # --phases off, so that there are no sites
        assert inner[name] == set(result[name][0]), name
    assert result["wrapped"] and result["juggle_pid"] == wrapped.pid
    assert (result["policy"], result["period_s"]) == ("juggle", pytest.approx(0.01))
    assert {cpu["os_cpu"] for cpu in result["cpu"]} == set(helpers.cpus())
    ubench = helpers.find(wrapped.pid, "ubench")
    compute = [thread for thread in result["thread"] if thread["state"] != "idle"]
    assert len(compute) == result["threads"]
    assert set(helpers.threads(ubench)) <= {thread["tid"] for thread in result["thread"]}
    assert all(0 <= thread["share"] <= 1.2 for thread in compute)
    assert result["threads_ahead"] + result["threads_behind"] <= result["threads"]  # 0 is neither
    assert (result["progress"], result["subdomain"], result["spread"]) == ([], [], None)
    lines = stat(wrapped.pid)
    assert all(len(line) <= 80 for line in lines)
    assert any("juggle %d around" % wrapped.pid in line for line in lines)
    assert [line for line in lines if line.endswith(" ubench")]


@pytest.mark.alone
def test_progress_is_cpu_time(record, wrapped):
    """It advances by no less than the kernel's figure between two records, and by no more than
    around them."""
    found(record, wrapped.pid, 3)
    ubench = helpers.find(wrapped.pid, "ubench")

    def of_kernel():
        times = {}
        for tid in helpers.threads(ubench):
            with open("/proc/%d/task/%d/schedstat" % (ubench, tid), encoding="ascii") as file:
                times[tid] = int(file.read().split()[0]) * 1e-9
        return times

    def bracketed():
        seen = record(wrapped.pid)["cycles"]
        before = of_kernel()  # and a point that begins after this: the first one may have begun
        result = helpers.wait_for_stat(wrapped, lambda found: found["cycles"] >= seen + 2, "two points")
        return before, {thread["tid"]: thread["progress_s"] for thread in result["thread"]}, of_kernel()
    first = bracketed()
    helpers.wait_for(lambda: min(now - first[2][tid] for tid, now in of_kernel().items()) > 0.1, "CPU time", ubench)
    second = bracketed()
    tick = 0.02  # the kernel's figure for a running thread is as old as its last tick
    for tid in first[0]:
        advanced = second[1][tid] - first[1][tid]
        assert second[0][tid] - first[2][tid] - tick <= advanced <= second[2][tid] - first[0][tid] + tick


def test_unwrapped(record, stat, solver):
    result = helpers.wait_for(
        lambda: (lambda r: r if r["iterations_per_s"] and r["progress"][0]["points"] else None)(record(solver.pid)),
        "updates", solver)
    assert (result["wrapped"], result["regime"], result["juggle_pid"]) == (False, None, None)
    process = result["progress"][0]
    assert (process["pid"], process["workers"], process["held"]) == (solver.pid, 2, 8)
    assert (process["balancer"], process["trouble"]) == ("itself", None)
    updates = [subdomain["updates"] for subdomain in result["subdomain"]]
    assert len(updates) == 8
    assert process["updates_most"] - process["updates_least"] == process["spread"] == result["spread"]
    assert (min(updates), max(updates)) == (process["updates_least"], process["updates_most"])
    workers = sorted(t["worker"] for t in result["thread"] if t["worker"] is not None)
    assert workers == [0, 1]
    assert all(len(line) <= 80 for line in stat(solver.pid))


def test_damaged_segment(juggle, app, background, record, stat):
    """The rest is still reported. The program itself no longer reads that part."""
    process = background([juggle, "-q", "-i", "10ms", app("jacobi"), "-q", "-t", "2", "-n", "1000000000",
                          "--grid", "64x64"])
    helpers.wait_for_telemetry(process)
    result = helpers.wait_for(lambda: (lambda r: r if r["wrapped"] and r["held"] else None)(record(process.pid)),
                              "the balancer has found the subdomains", process)
    pid = result["progress"][0]["pid"]
    segment = "/dev/shm/progress.%d.%d" % (os.geteuid(), pid)
    with open(segment, "r+b") as file:
        file.seek(8)  # its version
        file.write(b"\x63")
    result = found(record, process.pid, 2)
    assert (result["unreadable_processes"], result["subdomain"], result["moves"]) == (1, [], None)
    assert "another version" in result["progress"][0]["trouble"] and result["progress"][0]["spread"] is None
    assert stat(process.pid)[-1] == "process %d: its segment is of another version of libprogress" % pid


def test_page_explains_all_columns(stat, solver):
    page = (helpers.REPO / "man" / "jugglectl-stat.1").read_text("utf-8")
    listed = " , ".join(re.findall(r"^\.It Sy (.*)$", page, re.MULTILINE)).replace('"', "").split(" , ")
    lines = stat(solver.pid, "-i", "10ms", "-c", "1")[1:2] + [
        line for line in stat(solver.pid, "--all") if "PID" in line or "holder" in line]
    assert len(lines) == 4
    for line in lines:
        for title in sorted(listed, key=len, reverse=True):
            line = re.sub(r"(?<!\S)%s(?!\S)" % re.escape(title), "", line)
        assert line.split() == [], "not in the page"


# --- choices -------------------------------------------------------------------------

def test_tables(record, stat, solver):
    assert not set(TABLES) & set(record(solver.pid, "--summary"))
    only = record(solver.pid, "--subdomains", "--threads")
    assert {"subdomain", "thread"} == set(TABLES) & set(only)
    text = "\n".join(stat(solver.pid, "--processes"))
    assert "iter./s" in text and "holder" not in text
    text = "\n".join(stat(solver.pid, "--summary"))
    assert "without juggle" in text and "TID" not in text


def test_sort(record, solver):
    lags = [s["lag"] for s in record(solver.pid, "--subdomains", "--sort", "lead")["subdomain"]]
    assert lags == sorted(lags, reverse=True)
    shares = [t["share"] for t in record(solver.pid, "--threads", "--sort", "rate")["thread"]]
    known = [share for share in shares if share is not None]
    assert known == sorted(known) and shares[:len(known)] == known


def test_csv(stat, solver):
    rows = list(csv.DictReader(io.StringIO("\n".join(stat(solver.pid, "--csv", "-i", "0.02", "-c", "3")))))
    outer, inner = keys_of_page("jugglectl-stat.1", "RESULT FORMAT")
    assert len(rows) == 3
    assert set(rows[0]) == outer - {"program", "version", *TABLES, *LISTS}
    assert rows[0]["juggle_pid"] == "" and "jacobi" in rows[0]["command"]
    rows = list(csv.DictReader(io.StringIO("\n".join(stat(solver.pid, "--csv", "--subdomains", "-i", "20ms", "-c", "2")))))
    assert len(rows) == 16
    assert set(rows[0]) == inner["subdomain"] | {"unix_time_ms"}


# --- intervals -----------------------------------------------------------------------

def test_intervals(stat, wrapped, record):
    found(record, wrapped.pid, 3)
    lines = stat(wrapped.pid, "-i", "20ms", "-c", "25")
    assert len(lines) == 27, "titles once: this is no terminal"
    assert len(set(map(len, lines[1:]))) == 1 and len(lines[1]) <= 80
    times = [float(line.split()[0]) for line in lines[2:]]
    assert times == sorted(times)


def test_titles_again_on_a_terminal(jugglectl, solver):
    reader, terminal = os.openpty()
    command = [jugglectl, "stat", solver.pid, "-i", "10ms", "-c", "41"]
    done = helpers.run(command, stdout=terminal)
    os.close(terminal)
    text = b""
    with contextlib.suppress(OSError):  # EIO: nobody has the other end open any more
        while part := os.read(reader, 65536):
            text += part
    os.close(reader)
    assert done.returncode == 0
    titles = [i for i, line in enumerate(text.decode().splitlines()) if "count" in line]
    assert titles == [1, 23, 45]


def test_intervals_do_not_drift(stat, solver):
    lines = [json.loads(line) for line in stat(solver.pid, "--json", "--summary", "-i", "20ms", "-c", "40")]
    spans = [line["interval_s"] for line in lines]
    assert len(spans) == 40
    total = lines[-1]["age_s"] - lines[0]["age_s"]
    assert total > 38 * 0.02, "39 intervals, and those that a busy machine missed"
    assert sum(spans[1:]) == pytest.approx(total, rel=0.01)
    assert all(line["iterations_per_s"] is None or line["iterations_per_s"] >= 0 for line in lines)


def test_listing_each_interval(stat, solver):
    lines = stat(solver.pid, "-i", "20ms", "-c", "2", "--threads")
    assert sum("TID" in line for line in lines) == 2
    assert sum("of the last" in line for line in lines) == 2


def watching(jugglectl, background, *arguments):
    """A stat with an interval that has printed its first line, and the name of its output."""
    process = background([jugglectl, "stat", *map(str, arguments), "--json", "--summary"],
                         stdout=helpers.subprocess.PIPE, stderr=helpers.subprocess.PIPE)
    assert process.stdout.readline().startswith("{")
    return process


def test_end_of_job(jugglectl, background, solver):
    watch = watching(jugglectl, background, solver.pid, "-i", "10ms")
    solver.send_signal(signal.SIGTERM)
    out, err = watch.communicate(timeout=helpers.TIMEOUT_S)
    assert watch.returncode == 0
    assert re.fullmatch("jugglectl stat: .*ended\n", err)
    for line in out.splitlines()[1:]:  # the first may have been read in part
        assert (json.loads(line)["iterations_per_s"] or 0) >= 0


def test_as_many_files_as_may_be(jugglectl, background, solver):
    """One for each process that publishes; more than the default limit of descriptors."""
    watch = background(["prlimit", "--nofile=64:512", "--", jugglectl, "stat", solver.pid, "-i", "10ms", "--json"],
                       stdout=helpers.subprocess.PIPE)
    assert watch.stdout.readline().startswith("{")
    assert resource.prlimit(watch.pid, resource.RLIMIT_NOFILE) == (512, 512)


def test_end_of_job_in_a_long_interval(jugglectl, background, solver):
    """It notices, although the next sample is far off."""
    watch = background([jugglectl, "stat", str(solver.pid), "-i", "1000"],
                       stdout=helpers.subprocess.PIPE, stderr=helpers.subprocess.PIPE)
    helpers.wait_for(lambda: helpers.comm(watch.pid) == "jugglectl" and
                     helpers.status(watch.pid)["State"][0] == "S", "sleep", watch)
    solver.kill()
    solver.wait()
    _, err = watch.communicate(timeout=helpers.TIMEOUT_S)
    assert watch.returncode == 0 and "ended" in err


def test_killed_juggle(jugglectl, background, record, wrapped):
    found(record, wrapped.pid, 3)
    watch = watching(jugglectl, background, wrapped.pid, "-i", "10ms", "-q")
    os.kill(wrapped.pid, signal.SIGKILL)
    _, err = watch.communicate(timeout=helpers.TIMEOUT_S)
    assert (watch.returncode, err) == (0, "")


def test_interrupt(jugglectl, background, solver):
    watch = watching(jugglectl, background, solver.pid, "-i", "10ms")
    watch.send_signal(signal.SIGINT)
    _, err = watch.communicate(timeout=helpers.TIMEOUT_S)
    assert (watch.returncode, err) == (-signal.SIGINT, "")


def test_closed_pipe(jugglectl, solver):
    done = helpers.run(["bash", "-c", '"$0" stat "$1" -i 10ms | head -n 3; echo ${PIPESTATUS[0]}',
                        jugglectl, solver.pid])
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == str(128 + signal.SIGPIPE)


# --- errors --------------------------------------------------------------------------

@pytest.mark.parametrize("interval", ["0", "1ms", "-1", "x", "", "1h", "1e3", "99999999999999999999", "9ms", "nan"])
def test_bad_interval(run_jugglectl, interval):
    refused(run_jugglectl("stat", "--interval=" + interval), 2, "--interval", "500ms")


@pytest.mark.parametrize("words", [["-c", "3"], ["-i", "1", "-c", "0"], ["--csv", "--json"], ["--csv", "--all"],
                                   ["--csv", "--threads", "--cpus"], ["--summary", "--threads"],
                                   ["--sort", "name"], ["1", "2"]])
def test_bad_command_line(run_jugglectl, words):
    refused(run_jugglectl("stat", *words), 2)


def test_no_such_job(run_jugglectl):
    refused(run_jugglectl("stat", "no-such-program-is-there"), 1)


@pytest.mark.needs_root
def test_other_users_job(jugglectl, solver, unprivileged):
    if unprivileged.run(["test", "-x", jugglectl]).returncode != 0:
        pytest.skip("the other user cannot enter the build folder")
    done = unprivileged.run([jugglectl, "stat", solver.pid])
    refused(done, 1)


def test_full_disk(run_jugglectl, solver):
    for option in ("--json", "--csv", "--summary"):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = run_jugglectl("stat", solver.pid, option, "-i", "10ms", stdout=full)
        assert done.returncode == 1 and "cannot write" in done.stderr
