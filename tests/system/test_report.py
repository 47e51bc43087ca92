# SPDX-License-Identifier: MIT
"""The report at the end, and the trace of all balancing points."""
import collections
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import threading

import pytest

import helpers
import manuals
import traces
from juggle import read_trace

pytestmark = pytest.mark.beside

F_SETPIPE_SZ = 1031  # from Python 3.10 on also in fcntl: a small pipe is soon full
NUMBER = (int, float)
KEYS = {
    "version": str, "command": str, "exit_status": int, "elapsed_s": NUMBER, "policy": str,
    "sampler": str, "period_s": NUMBER, "balancers": str, "cpus": list, "domains": list,
    "threads": int, "idle_threads": int, "cycles": int, "migrations": int,
    "balancer_cpu_s": NUMBER, "cycle_us": dict, "thread": list,
}
THREAD_KEYS = {"tid": int, "pid": int, "comm": str, "progress_s": NUMBER, "migrations": int}


def ubench(app, *more):
    return [app("ubench"), "-q", "-t", "3", "-e", "5ms", "-p", "200", "-b", "yield", "--rate",
            "100000", *more]


def test_a_command_that_ends_at_once(run_juggle, tmp_path):
    """An account that is asked for is complete, in each of its forms."""
    path = tmp_path / "r.json"
    assert run_juggle("--report", path, "true").returncode == 0
    report = helpers.read_report(path)
    assert (report["cpus"], report["balancer"]) == (helpers.cpus(), "ended")
    done = run_juggle("-v", "true")
    assert done.returncode == 0
    assert "on %d CPU" % len(helpers.cpus()) in done.stderr
    assert run_juggle("--trace", path, "true").returncode == 0
    assert read_trace(path).teams != []


def test_only_the_command_counts(juggle, background, tmp_path):
    """As long as PATH is searched for it, its process is a copy of juggle."""
    slow = ":".join(["/"] * 60000)
    process = background([juggle, "--trace", tmp_path / "trace", "sh", "-c", "read line; exit 3"],
                         stdin=subprocess.PIPE, env={**os.environ, "PATH": slow + ":/usr/bin:/bin"})
    balancer = helpers.wait_for_balancer(process)
    copy, = helpers.wait_for(lambda: set(helpers.children(process.pid)) - {balancer}, "it is searched for", process,
                             interval_s=0.001)
    os.kill(copy, signal.SIGSTOP)
    caught = helpers.comm(copy) == "juggle"
    helpers.wait_for_looks(balancer, 20)
    os.kill(copy, signal.SIGCONT)
    helpers.wait_for(lambda: "\nbirth " in (tmp_path / "trace").read_text(errors="replace"), "a birth", process)
    process.stdin.close()
    assert process.wait(timeout=helpers.TIMEOUT_S) == 3
    assert [thread["comm"] for thread in read_trace(tmp_path / "trace").threads] == ["sh"]
    if not caught:
        pytest.skip("it was found before it could be stopped")


def test_all_keys(run_juggle, app, tmp_path):
    path = tmp_path / "r.json"
    done = run_juggle("--always", "-i", "5ms", "--report", path, "--", *ubench(app))
    assert done.returncode == 0
    assert done.stderr == ""
    report = helpers.read_report(path)
    for key, kind in KEYS.items():
        assert isinstance(report[key], kind) and not isinstance(report[key], bool), key
    assert set(report["cycle_us"]) >= {"median", "p99", "max"}
    costs = report["cycle_us"]
    assert 0 < costs["median"] <= costs["p99"] <= costs["max"]
    assert report["command"].startswith(app("ubench") + " -q -t 3")
    assert report["exit_status"] == 0
    assert report["policy"] == "juggle"
    assert report["sampler"] in ("schedstat", "taskstats", "perf")
    assert report["period_s"] == pytest.approx(0.005)
    assert report["balancers"] == "domain"
    assert report["cpus"] == helpers.cpus()
    assert sorted(cpu for domain in report["domains"] for cpu in domain) == helpers.cpus()
    assert report["threads"] == 3
    assert report["cycles"] > 0
    assert 0 < report["balancer_cpu_s"] < report["elapsed_s"] * len(helpers.cpus())
    assert report["balancer"] == "ended"
    assert len({thread["tid"] for thread in report["thread"]}) == len(report["thread"])
    for thread in report["thread"]:
        for key, kind in THREAD_KEYS.items():
            assert isinstance(thread[key], kind), key
        assert 0 <= thread["progress_s"] <= report["elapsed_s"]
    assert sum(t["migrations"] for t in report["thread"]) <= report["migrations"]


def test_replaces_an_older_report(run_juggle, tmp_path):
    path = tmp_path / "r.json"
    path.write_text("x" * 100000)
    assert run_juggle("--report", path, "sh", "-c", "exit 3").returncode == 3
    assert helpers.read_report(path)["exit_status"] == 3


def test_on_standard_error(run_juggle):
    done = run_juggle("--report", "-", "sh", "-c", "kill -TERM $$")
    assert json.loads(done.stderr)["exit_status"] == 128 + 15
    assert done.stdout == ""


def test_words_that_are_no_text(juggle, tmp_path):
    """Arguments and thread names may hold any bytes, but JSON may not."""
    path = tmp_path / "r.json"
    done = subprocess.run(
        [juggle, "--report", path, "--trace", tmp_path / "t", "--", "sh", "-c",
         "printf '\\377\\n\"' > /proc/self/comm; sleep 0.1; :", b"\xff\xfe"],
        timeout=helpers.TIMEOUT_S, check=False)
    assert done.returncode == 0
    helpers.read_report(path)


def test_long_command_line(run_juggle, tmp_path):
    path = tmp_path / "r.json"
    assert run_juggle("--report", path, "true", *["\u00e4" * 50] * 50).returncode == 0
    assert helpers.read_report(path)["command"].startswith("true \u00e4")


def test_written_below_the_callers_folder(run_juggle, tmp_path):
    done = run_juggle("--report", "r.json", "--trace", "t", "sh", "-c", "cd /; exit 3",
                      cwd=tmp_path)
    assert done.returncode == 3
    assert helpers.read_report(tmp_path / "r.json")["exit_status"] == 3
    assert (tmp_path / "t").exists()


def test_full_disk(run_juggle):
    done = run_juggle("--report", "/dev/full", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert "--report /dev/full: No space left on device" in done.stderr


def test_full_disk_under_the_trace(run_juggle, app, tmp_path):
    path = tmp_path / "r.json"
    done = run_juggle("--always", "--trace", "/dev/full", "--report", path, "--", *ubench(app))
    assert done.returncode == 0
    assert done.stderr.count("trace") == 1
    assert "No space left on device" in done.stderr
    report = helpers.read_report(path)
    assert report["balancer"] == "ended"
    assert report["threads"] == 3, "nothing was balanced"


@pytest.mark.parametrize("option", ["--report", "--trace"])
def test_fifo(run_juggle, app, tmp_path, background, option):
    """Its reader gets all of it, up to its end."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = background(["cat", fifo], stdout=subprocess.PIPE)
    text = []
    thread = threading.Thread(target=lambda: text.append(reader.stdout.read()))
    thread.start()
    helpers.wait_for(lambda: helpers.comm(reader.pid) == "cat"
                     and helpers.status(reader.pid)["State"][0] == "S", "cat waits", reader)
    done = run_juggle("--always", "-i", "5ms", option, fifo, "--", *ubench(app))
    assert (done.returncode, done.stderr) == (0, "")
    thread.join(helpers.TIMEOUT_S)
    if option == "--report":
        assert json.loads(text[0])["exit_status"] == 0
    else:
        assert text[0].count("\ndecide ") > 20 and text[0].endswith("\n")


def test_reader_of_the_trace_that_stops(run_juggle, app, tmp_path):
    """It holds up neither the job nor the balancer."""
    fifo, report = tmp_path / "fifo", tmp_path / "r.json"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, F_SETPIPE_SZ, 4096)
    try:
        done = run_juggle("--always", "-i", "2ms", "--trace", fifo, "--report", report, "--", *ubench(app))
    finally:
        os.close(reader)
    assert done.returncode == 0
    assert done.stderr == "juggle: the trace ends early: Connection timed out\n"
    assert helpers.read_report(report)["balancer"] == "ended"


def test_slow_reader_of_the_trace(juggle, tmp_path, background):
    """It may also come late. It loses the rest, but the balancer ends in time all the same."""
    fifo, report = tmp_path / "fifo", tmp_path / "r.json"
    os.mkfifo(fifo)
    slow = ("import fcntl, os, sys, time\nprint(flush=True)\nsys.stdin.readline()\ntime.sleep(0.1)\n"
            "fd = os.open(sys.argv[1], os.O_RDONLY)\nfcntl.fcntl(fd, %d, 4096)\nwhile os.read(fd, 64):\n"
            "    time.sleep(0.2)\n" % F_SETPIPE_SZ)
    reader = background(["python3", "-c", slow, fifo], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    reader.stdout.readline()
    process = background([juggle, "--always", "-i", "1ms", "--trace", fifo, "--report", report, "--",
                          *helpers.held_job(status=0)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    reader.stdin.close()
    helpers.wait_for_stat(process, lambda found: found["cycles"] > 300, "there is more than is read")
    process.stdin.close()
    assert process.wait(helpers.TIMEOUT_S) == 0
    assert process.stderr.read() == "juggle: the trace ends early: Connection timed out\n"
    assert helpers.read_report(report)["balancer"] == "ended"


def test_trace_to_standard_output(run_juggle, app):
    done = run_juggle("--always", "-i", "5ms", "--trace", "/dev/stdout", "--", *ubench(app))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\ndecide ") > 20


def test_summary(run_juggle, app):
    done = run_juggle("-v", "--always", "--", *ubench(app))
    assert done.returncode == 0
    assert re.search(r"threads +3 compute", done.stderr)
    assert len(done.stderr.splitlines()) < 24, "more than a screen"


def test_times_add_up(juggle, tmp_path):
    """From the first balancing point to the end, though that is long before the second one."""
    path = tmp_path / "r.json"
    done = helpers.run([juggle, "-P", "observe", "-c", helpers.cpus()[0], "-i", "10s", "--report", path, "--", "sleep", "1"])
    assert done.returncode == 0, done.stderr
    report = helpers.read_report(path)
    assert 0.3 * report["elapsed_s"] < sum(way["seconds"] for way in report["regimes"]) <= report["elapsed_s"]


@pytest.mark.alone
@pytest.mark.needs_cpus(2)
def test_example_tells_why(juggle, app, tmp_path):
    """The reason at the end is another than that of most of the run."""
    example, = (text for text in manuals.displays("juggle.1") if "json.load" in text)
    script = tmp_path / "app"
    script.write_text("#!/bin/sh\n" + shlex.join(map(str, ubench(app, "-p", "600"))) + " >out\nsleep 0.2\n")
    script.chmod(0o755)
    example = example.replace("juggle ", shlex.quote(str(juggle)) + " --always -c %d,%d " % tuple(helpers.cpus()[:2]), 1)
    done = helpers.run(["sh", "-c", example], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = helpers.read_report(tmp_path / "report.json")
    lines = done.stdout.splitlines()
    assert re.fullmatch(r" +[\d.]+ s balance: \S.*", lines[0])
    assert len(lines) == len(report["regimes"])
    assert report["reason"] == "fewer compute threads than CPUs"


def test_nothing_is_balanced_on_one_cpu(run_juggle, app):
    done = run_juggle("-v", "-c", helpers.cpus()[0], "--", *ubench(app))
    assert done.returncode == 0
    assert re.search(r" s, 0 % of it balanced;", done.stderr)
    assert re.search(r"threads +3 compute, \d+ idle, on 1 CPU\n", done.stderr)
    assert "one CPU, so there is nothing to balance" in done.stderr
    assert "juggle would" not in done.stderr


# --- the trace

@pytest.mark.alone
@pytest.mark.needs_cpus(2)
@pytest.mark.parametrize("threads", [3, 5])
def test_trace(juggle, app, tmp_path, threads):
    trace, report = tmp_path / "trace", tmp_path / "r.json"
    two = "%d,%d" % tuple(helpers.cpus()[:2])
    done = helpers.run(
        [juggle, "-c", two, "--always", "-i", "5ms", "--phases=off", "--trace", trace, "--report", report, "--",
         *ubench(app, "-t", str(threads))])
    assert done.returncode == 0
    found, points = read_trace(trace), traces.points(trace)
    assert found.header["policy"] == "juggle" and found.header["always"] and found.header["period_s"] == 0.005
    assert [(cpu["os_cpu"], cpu["domain"]) for cpu in found.cpus] == [(cpu, 0) for cpu in helpers.cpus()[:2]]
    team, = found.teams
    assert (team["domain"], team["domains"], team["unit"], team["tickers"]) == (0, 1, "ns", True)
    assert len({thread["tid"] for thread in found.threads}) >= threads
    assert any(point["regime"] == "balance" for point in found.points)
    assert all(0.9 <= point["wait_ns"] / point["period_ns"] <= 1.1 for point in found.points)
    assert found.unknown == 0

    # With a fixed period, there are ticks only where others may have taken a CPU.
    placed = [(point, there, moves) for (before, _, _), (point, there, moves) in zip(points, points[1:])
              if len(there) == threads and all(thread["os_cpu"] >= 0 for thread in there)
              and before["ticks"] == point["ticks"] == 0]
    assert len(placed) > 10
    assert any(moves for _, _, moves in placed)
    for point, there, moves in placed:
        where = {thread["tid"]: thread["os_cpu"] for thread in there}
        assert len(where) == threads
        assert set(where.values()) <= set(helpers.cpus()[:2])
        before = collections.Counter(where.values())
        assert max(before.values()) - min(before.values()) <= 1 and len(before) == 2
        for move in moves:
            assert where[move["tid"]] == move["from"] != move["to"]
            where[move["tid"]] = move["to"]
        after = collections.Counter(where.values())
        # It may make way for the juggle of another test, or for a hypervisor.
        makes_way = point["looked"].startswith("all") and sorted(after.values()) == sorted(before.values())
        assert after == before or makes_way, "not a swap"
        assert len({move["tid"] for move in moves}) == len(moves)
        behind = {thread["tid"] for thread in there if thread["state"] == "behind"}
        assert sum(move["tid"] in behind for move in moves) * 2 == len(moves)

    for (first, before, _), (second, after, _) in zip(points, points[1:]):
        assert first["now_ns"] < second["now_ns"]
        assert second["elapsed_ns"] <= second["now_ns"] - first["now_ns"] + 1
        earlier = {thread["tid"]: thread["progress_ns"] for thread in before}
        if not earlier or set(earlier) != {thread["tid"] for thread in after} or first["ticks"] or second["ticks"]:
            continue
        # Its run time is added, and then some of its lead or lag forgotten.
        ran = {thread["tid"]: earlier[thread["tid"]] + thread["run_ns"] for thread in after}
        mean = sum(ran.values()) / len(ran)
        for thread in after:
            least, most = sorted((mean, ran[thread["tid"]]))
            assert least - 10 <= thread["progress_ns"] <= most + 10
    assert len(found.moves) >= helpers.read_report(report)["migrations"] * 0.5


@pytest.mark.alone
def test_trace_of_static_has_no_moves(run_juggle, app, tmp_path):
    trace = tmp_path / "trace"
    assert run_juggle("-P", "static", "-i", "5ms", "--trace", trace, "--",
                      *ubench(app)).returncode == 0
    moves = read_trace(trace).moves
    assert len({move["tid"] for move in moves if move["from"] == -1}) >= 3, "all threads are placed"
    assert all(-1 in (move["from"], move["to"]) for move in moves), "none goes from CPU to CPU"


def test_trace_is_a_file_of_the_user(run_juggle, tmp_path):
    trace = tmp_path / "trace"
    assert run_juggle("--trace", trace, "true", umask=0o027).returncode == 0
    assert trace.stat().st_mode & 0o777 == 0o640
    assert trace.stat().st_uid == os.geteuid()
