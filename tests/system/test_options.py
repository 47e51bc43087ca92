# SPDX-License-Identifier: MIT
"""Options of juggle have their effect, and don't only show in the report."""
import os
import statistics
import subprocess

import pytest

import helpers
import traces
from juggle import read_trace

pytestmark = pytest.mark.needs_cpus(2)


@pytest.fixture
def two():
    return helpers.cpus()[:2]


@pytest.fixture
def held(juggle, background, two, tmp_path):
    """held(OPTION...) is (juggle, ubench): a job of three threads on two CPUs, with a trace."""
    def start(*options):
        process = background(
            [juggle, "-c", "%d,%d" % tuple(two), "--always", *helpers.ONLY_UBENCH,
             "--trace", tmp_path / "trace", *options, "--", *helpers.held_job()], stdin=subprocess.PIPE)
        return process, helpers.wait_for_below(process, "ubench")
    return start


@pytest.fixture
def traced(held, tmp_path):
    """traced(OPTION...) is the trace of a job, from when its threads were placed to 50 points later."""
    def run(*options):
        process, ubench = held(*options)
        helpers.wait_for(lambda: helpers.is_pinned(ubench), "all threads are pinned", process)
        before = helpers.stat(process.pid)["cycles"]
        helpers.wait_for_stat(process, lambda found: found["cycles"] >= before + 50, "50 points")
        process.stdin.close()
        assert process.wait(timeout=helpers.TIMEOUT_S) == 7
        return traces.Trace(tmp_path / "trace")
    return run


def intervals_ms(trace):
    """Times between balancing points of all three threads, as they are at the start."""
    points = sorted(when for when, leads in trace.points.items() if len(leads) == 3)
    return [(b - a) / 1000 for a, b in zip(points, points[1:])]


@pytest.mark.parametrize("period_ms", [10, 20])
def test_period(traced, period_ms):
    """A point may be late, and the next one then comes sooner after it; none is ever early."""
    found = intervals_ms(traced("-i", "%dms" % period_ms, "--jitter", "0"))
    assert statistics.mean(found) > 0.95 * period_ms, found


def test_jitter(traced):
    """Intervals differ, here by up to half of the period; their mean is the same, but for a standard error of 0.4 ms."""
    found = intervals_ms(traced("-i", "10ms", "--jitter", "50"))
    assert statistics.mean(found) > 8, found
    assert statistics.quantiles(found)[2] - statistics.quantiles(found)[0] > 2, found


@pytest.mark.parametrize("options, jitter", [
    ("", 0.1), ("-P juggle2012", 0), ("-P juggle2012 --jitter 10", 0.1), ("--jitter 20 -P juggle2012", 0.2)])
def test_paper_has_no_jitter(run_juggle, tmp_path, options, jitter):
    done = run_juggle(*options.split(), "--trace", tmp_path / "trace", "true")
    assert (done.returncode, done.stderr) == (0, "")
    assert read_trace(tmp_path / "trace").header["jitter"] == jitter


def test_margin(traced):
    """No thread is ever that far ahead. Where phases are told, what remains to threads counts instead."""
    moved = traced("-i", "5ms", "--margin", "3600s", "--phases", "off")
    assert len(moved.placements(3)) == 1 or moved.ticks
    assert len(traced("-i", "5ms", "--margin", "0ns", "--phases", "off").placements(3)) > 10


def test_expected_threads(held, two):
    """No thread is placed before there are that many."""
    process, ubench = held("-i", "5ms", "-n", "4")
    helpers.wait_for_stat(process, lambda found: found["threads"] == 3, "its threads are found")
    helpers.wait_for_looks(helpers.wait_for_balancer(process))
    assert helpers.has_masks(ubench, two)
    process, ubench = held("-i", "5ms", "-n", "3")
    helpers.wait_for(lambda: helpers.is_pinned(ubench), "all threads are pinned", process)


@pytest.mark.parametrize("sampler, sources", [
    ("schedstat", {"/schedstat"}), ("taskstats", {"socket:"}),
    ("perf", {"/schedstat", "anon_inode:[perf_event]"})])  # perf can't report how long a thread waits
def test_sampler(run_juggle, held, sampler, sources):
    """It reads the threads' progress from the chosen source, and from nowhere else."""
    done = run_juggle("--sampler", sampler, "true")
    if "does not work here" in done.stderr:
        pytest.skip(done.stderr.strip())
    process, ubench = held("-i", "5ms", "--sampler", sampler)
    helpers.wait_for(lambda: helpers.is_pinned(ubench), "all threads are pinned", process)
    folder = "/proc/%d/fd" % helpers.balancer(process.pid)
    opened = helpers.wait_for(lambda: [os.readlink("%s/%s" % (folder, fd)) for fd in os.listdir(folder)],
                              "all of its descriptors stay for a moment", process)
    assert {source for source in ("/schedstat", "socket:", "anon_inode:[perf_event]")
            if any(source in target for target in opened)} == sources


@pytest.mark.parametrize("line, expected", [([], 0), (["-c", "second"], 1)])
def test_environment_and_command_line(run_juggle, two, tmp_path, line, expected):
    """The last one on the command line counts."""
    report = tmp_path / "report.json"
    done = run_juggle(*[word.replace("second", str(two[1])) for word in line], "grep",
                      "Cpus_allowed_list", "/proc/self/status",
                      env={"JUGGLE_OPTIONS": "  -c %d   --report %s --" % (two[0], report)})
    assert (done.returncode, done.stderr) == (0, "")
    assert helpers.read_report(report)["exit_status"] == 0
    assert helpers.parse_cpu_list(done.stdout.split()[1]) == {two[expected]}
