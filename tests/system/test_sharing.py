# SPDX-License-Identifier: MIT
"""CPUs that others also use, and the purpose of balancing: speed."""
import json
import os
import statistics
import struct
import subprocess
import time

import pytest

import helpers
import traces

pytestmark = pytest.mark.needs_cpus(2)

RUNNING = 1  # enum telemetry_state
COMPUTES = 3  # TELEMETRY_THREAD_USED and TELEMETRY_THREAD_COMPUTE


@pytest.fixture
def two():
    return "%d,%d" % tuple(helpers.cpus()[:2])


@pytest.mark.parametrize("pattern", [
    ["--pattern", "hogs", "--scale", "0.01"],
    ["--pattern", "duty", "--period", "20ms", "--busy", "14ms"]], ids=["hogs", "duty"])
def test_as_many_threads_as_cpus_under_load(juggle, app, background, two, tmp_path, pattern):
    """The thread whose CPU is shared falls behind, and swaps places with the other."""
    background([app("noise"), *pattern, "--cpu", helpers.cpus()[0], "--with-parent"],
               stdout=subprocess.DEVNULL)
    report, trace = tmp_path / "r.json", tmp_path / "trace"
    process = background([juggle, "-c", two, "--always", "-i", "5ms", *helpers.ONLY_UBENCH, "--report", report,
                          "--trace", trace, "--", *helpers.held_job(2, phase="20ms")], stdin=subprocess.PIPE)
    helpers.wait_for(lambda: len(traces.growing(trace, "points")) >= 200, "200 points", process)
    process.stdin.close()
    assert process.wait(timeout=helpers.TIMEOUT_S) == 7
    assert helpers.read_report(report)["threads"] == 2
    # A swap: two moves of one point, there and back. Of 100 points 17 to 44 had one, and 1 to 6 where swaps were
    # left out of the policy, by other decisions.
    found = traces.points(trace)
    swaps = 0
    for _, _, moves in found:
        pairs = {(move["from"], move["to"]) for move in moves if -1 not in (move["from"], move["to"])}
        swaps += any((to, from_) in pairs for from_, to in pairs)
    assert swaps >= len(found) / 12


def assert_replays(trace):
    done = helpers.run([helpers.built("tools/jugglectl"), "replay", "--json", trace])
    decisions = json.loads(done.stdout)["decisions"]
    assert decisions["same"] == decisions["points"] > 0


def test_threads_do_not_starve(juggle, app, background, two, tmp_path):
    """A real-time thread takes a CPU for 300 ms of each 500. The kernel counts no wait until it
    ends, but juggle sees it, counts each period as a wait, and does without that CPU until its
    ticker runs again. The trace replays."""
    realtime = ["chrt", "-f", "1"]
    if helpers.run([*realtime, "true"]).returncode != 0:
        pytest.skip("no right to start a real-time thread")
    background([*realtime, app("noise"), "--pattern", "duty", "--period", "500ms", "--busy", "300ms",
                "--cpu", helpers.cpus()[0], "--with-parent"], stdout=subprocess.DEVNULL)
    trace = tmp_path / "trace"
    done = helpers.run([juggle, "-q", "-c", two, "--always", "-i", "10ms", "--trace", trace, "--",
                        app("ubench"), "-q", "-t", "2", "-e", "250ms", "-p", "4", "-b", "spin"])
    assert done.returncode == 0, done.stderr
    starved = moved = back = 0
    for point, threads, moves in traces.points(trace):
        starved += sum((thread["run_ns"], thread["wait_ns"]) == (0, point["elapsed_ns"]) for thread in threads)
        moved += sum(-1 not in (move["from"], move["to"]) for move in moves)
        back += 1 in point.get("ticked", [])
    assert starved >= 3 and moved >= 1 and back >= 1
    assert_replays(trace)


def test_two_jobs_at_once(juggle, app, background, two, tmp_path):
    jobs = [background([juggle, "-c", two, "--always", "-i", "5ms", "--report",
                        tmp_path / str(i), "--", app("ubench"), "-q", "-t", "3", "-e", "5ms", "-p",
                        "150", "-b", "yield", "--rate", "100000"], stdout=subprocess.DEVNULL)
            for i in range(2)]
    for i, job in enumerate(jobs):
        assert job.wait(timeout=helpers.TIMEOUT_S) == 0
        report = helpers.read_report(tmp_path / str(i))
        assert report["threads"] == 3
        assert report["balancer"] == "ended"


def placed(pid, two):
    """How many compute threads each of the two CPUs has; None as long as not all three are placed."""
    found = helpers.stat(pid)
    cpus = [thread["os_cpu"] for thread in found["thread"] if thread["state"] != "idle"] if found else []
    counts = tuple(cpus.count(int(cpu)) for cpu in two.split(","))
    return counts if sum(counts) == 3 else None


def plant(source):
    """Another segment, of process 1, with the header of a juggle's that seems alive for hours, counts out of range
    and threads on CPUs that don't exist."""
    data = bytearray(source.read_bytes())
    header_bytes, _, cpu_bytes, thread_bytes, cpus, threads = struct.unpack_from("=IQIIII", data, 12)
    for layout, offset, value in (("=i", 40, 1), ("=Q", 56, 1), ("=I", 388, RUNNING), ("=Q", 400, 10**15),
                                  ("=Q", 408, time.monotonic_ns()), ("=I", 436, 2**32 - 1)):
        struct.pack_into(layout, data, offset, value)  # pid, start, state, period, heartbeat, slots: see telemetry.h
    for thread in range(threads):
        struct.pack_into("=Ii", data, header_bytes + cpus * cpu_bytes + thread * thread_bytes, COMPUTES,
                         5000 + thread * 99999)
    planted = helpers.segment(1)
    planted.write_bytes(data)
    planted.chmod(0o600)
    return planted


def test_make_way(juggle, app, background, two, tmp_path):
    """The younger of two jobs moves its extra thread when the threads of the older one begin, whatever
    else lies in the folder. Its trace replays."""
    def start(name, command):
        return background([juggle, "-q", "-c", two, "--always", "--phases=off", "--trace", tmp_path / name, "--",
                           *command], stdin=subprocess.PIPE)

    def wait_for(processes, *expected):
        """A reading may be of the middle of a swap, or of a CPU that the other job had for long."""
        helpers.wait_for(lambda: [placed(process.pid, two) for process in processes] in expected,
                         "the extra threads are where they should be", processes[-1])

    def knows():
        """Which of the jobs have seen the other."""
        return [name for name in ("older", "younger") if "neighbours" in (tmp_path / name).read_text("utf-8")]
    older = start("older", ["sh", "-c", 'read go; exec "$@"', "sh", *helpers.held_job()])
    helpers.wait_for_job(older)
    younger = start("younger", helpers.held_job())
    wait_for([younger], [(2, 1)], [(1, 2)])
    planted = plant(helpers.segment(older.pid))
    try:
        older.stdin.write("\n")
        older.stdin.flush()
        helpers.wait_for(lambda: knows() == ["younger"], "the younger has seen the older", younger)
        wait_for([older, younger], [(2, 1), (1, 2)], [(1, 2), (2, 1)])
    finally:
        planted.unlink()
    for process in (older, younger):
        process.stdin.close()
        process.wait(helpers.TIMEOUT_S)
    assert knows() == ["younger"]
    assert_replays(tmp_path / "younger")


def test_filled_up(juggle, background, two, tmp_path):
    """Two jobs have as many threads together for each CPU: both leave theirs to the kernel, and try nothing. When one
    has ended, the other is balanced."""
    filled = ("aside", "other jobs make the threads of all CPUs even", 3)

    def start(name):
        return background([juggle, "-q", "-c", two, *helpers.ONLY_UBENCH, "--trace", tmp_path / name, "--",
                           *helpers.held_job(phase="20ms", barrier="block")], stdin=subprocess.PIPE)

    def decided(name):
        """What held lately: (regime, reason, threads of others)."""
        others, found = 0, []
        for point in traces.growing(tmp_path / name, "points"):
            others = point.get("beside", others)
            found.append((point["regime"], point["reason"], others))
        return set(found[-20:])
    older = start("older")
    helpers.wait_for_stat(older, lambda found: found["threads"] == 3, "the threads of the older compute")
    younger = start("younger")
    helpers.wait_for(lambda: decided("older") == decided("younger") == {filled}, "both stand aside", younger,
                     interval_s=0.05)
    younger.stdin.close()
    younger.wait(helpers.TIMEOUT_S)
    helpers.wait_for(lambda: ("balance", 0) in {(regime, others) for regime, _, others in decided("older")},
                     "the other is balanced", older, interval_s=0.05)
    older.stdin.close()
    older.wait(helpers.TIMEOUT_S)
    for name in ("older", "younger"):
        assert_replays(tmp_path / name)


@pytest.mark.parametrize("dies", ["juggle", "balancer", "all"])
def test_older_dies(juggle, app, background, two, tmp_path, dies):
    """The younger of two jobs makes way no more for a juggle that was killed, whether its segment is gone, tells of
    a lost balancer, or only ceases to change. It goes on."""
    def start(name):
        return background([juggle, "-q", "-c", two, "--always", "--trace", tmp_path / name, "--", *helpers.held_job()],
                          stdin=subprocess.PIPE)

    def neighbours():
        """As the younger has seen them last; None: never. And how often it has balanced since."""
        seen, balanced = None, 0
        for point in traces.growing(tmp_path / "younger", "points"):
            if "neighbours" in point:
                seen, balanced = point["neighbours"], 0
            balanced += point["regime"] == "balance"
        return seen, balanced

    def makes_way_for_nobody():
        seen, balanced = neighbours()
        return seen == [0, 0] and balanced >= 10
    older = start("older")
    balancer = helpers.wait_for_balancer(older)
    helpers.wait_for(lambda: placed(older.pid, two), "its threads have places", older)
    younger = start("younger")
    helpers.wait_for(lambda: sum(neighbours()[0] or []) == 3, "the younger has seen the threads of the older", younger,
                     interval_s=0.05)
    guard, = helpers.children(balancer)
    killed = {"juggle": [older.pid], "balancer": [balancer], "all": [older.pid, balancer, guard]}[dies]
    helpers.kill_at_once(lambda: killed, until_gone=False)
    try:
        helpers.wait_for(makes_way_for_nobody, "the younger makes way for nobody, and goes on", younger,
                         interval_s=0.05)
        assert dies == "juggle" or helpers.segment(older.pid).exists()
    finally:
        helpers.segment(older.pid).unlink(missing_ok=True)
    younger.stdin.close()
    assert younger.wait(helpers.TIMEOUT_S) == 7
    assert_replays(tmp_path / "younger")


def test_juggle_below_juggle(juggle, app, two, tmp_path):
    """Two balancers for the same threads: that is not useful, but it ends well."""
    done = helpers.run([juggle, "-c", two, "--always", "--", juggle, "--always", "--report",
                        tmp_path / "r", "--", app("ubench"), "-q", "-t", "3", "-e", "5ms", "-p",
                        "100", "-b", "yield", "--rate", "100000"])
    assert done.returncode == 0, done.stderr
    assert helpers.read_report(tmp_path / "r")["balancer"] == "ended"


def test_threads_progress_alike(juggle, app, two, tmp_path):
    """Three on two CPUs: pinned, one of them would get as much as the others together."""
    report = tmp_path / "r.json"
    done = helpers.run([juggle, "-c", two, "--always", "-i", "5ms", "--phases=off", "--report", report, "--",
                        app("ubench"), "-q", "-t", "3", "-e", "20ms", "-p", "100", "-b", "yield",
                        "--rate", "100000"])
    assert done.returncode == 0, done.stderr
    progress = [thread["progress_s"] for thread in helpers.read_report(report)["thread"]]
    assert len(progress) == 3 and max(progress) < 1.5 * min(progress), progress


def cpu_seconds(two):
    """(CPU time that passed, that was used, that our children used) on two CPUs until now."""
    with open("/proc/stat", encoding="ascii") as file:
        lines = [line.split() for line in file if line.split()[0] in ["cpu" + cpu for cpu in two.split(",")]]
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    fields = [sum(int(line[i]) for line in lines) * tick_s for i in range(1, 9)]
    own = os.times()
    # user, nice, system, idle, iowait, irq, softirq, steal
    return sum(fields), sum(fields) - fields[3] - fields[4], own.children_user + own.children_system


FASTER = 1.08


@pytest.mark.timing
def test_faster_than_a_static_distribution(juggle, app, two):
    """Three threads on two CPUs: at most 1.33 times as fast. If others also use the CPUs, they
    decide the result, and the test proves nothing either way."""
    rate = json.loads(helpers.run([app("ubench"), "--calibrate"]).stdout)["rate_steps_per_ms"]

    def elapsed_s(*options):
        done = helpers.run([juggle, "-c", two, *options, "--", app("ubench"), "-q", "-t", "3",
                            "-e", "20ms", "-p", "20", "-b", "yield", "--rate", str(int(rate))])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["elapsed_s"]
    before = cpu_seconds(two)
    ratios = []
    while len(ratios) < 3 and sum(ratio >= FASTER for ratio in ratios) < 2:  # else the median is known
        ratios.append(elapsed_s("-P", "static") / elapsed_s())
    passed_s, used_s, own_s = (b - a for a, b in zip(before, cpu_seconds(two)))
    if used_s - own_s > 0.05 * passed_s:
        pytest.skip("others used %.0f %% of these CPUs" % ((used_s - own_s) / passed_s * 100))
    assert statistics.median(ratios) >= FASTER, ratios
