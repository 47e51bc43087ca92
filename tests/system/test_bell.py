# SPDX-License-Identifier: MIT
"""CPUs that run dry: threads call the balancer, which moves one of those that share a CPU."""

import platform

import pytest

import helpers

pytestmark = [pytest.mark.told,
              pytest.mark.skipif(tuple(map(int, platform.release().split("-")[0].split(".")[:2])) < (5, 16),
                                 reason="futex_waitv(2) needs Linux 5.16"),
              pytest.mark.skipif(len(helpers.cpus()) < 2, reason="needs two CPUs")]


@pytest.fixture
def traced(tmp_path):
    """traced(THREADS, BARRIER, OPTION...): the points of a run of 75 phases on two CPUs, each its first line and
    its moves."""
    def run(threads, barrier, *options):
        trace = tmp_path / "trace"
        cpus = ",".join(map(str, helpers.cpus()[:2]))
        helpers.run([helpers.juggle_path(), "-q", "--cpus", cpus, "--trace", trace, *options, helpers.app("ubench"), "-q",
                     "-t", threads, "-e", "10ms", "-p", 75, "-b", barrier, "--rate", 100000])
        points = []
        for line in trace.read_text().splitlines():
            if line.startswith("point "):
                points.append([line.split(), []])
            elif line.startswith("move ") and points:
                points[-1][1].append(line.split())
        return trace, points
    return run


@pytest.mark.parametrize("threads, barrier", [(3, "block"), (5, "block"), (3, "yield")])
def test_rung(traced, threads, barrier, jugglectl_json):
    """Points come early, move threads, and replay as they were. What else the machine does may make a run of half a
    second look irregular, or CPUs unequal, and then no bell is hung. So there may be up to four."""
    for _ in range(4):
        trace, points = traced(threads, barrier, "--always")
        rung = any(moves for point, moves in points if "rung" in point)
        if rung:
            break
    assert rung or barrier == "yield"  # as others' work on the CPUs may keep these from being known to yield
    result = jugglectl_json("replay", trace)
    assert result["decisions"]["same"] == result["decisions"]["points"]


@pytest.mark.parametrize("options", [["--always", "--phases", "off"], ["--always", "-i", "10ms"], ["-P", "static"],
                                     ["-P", "observe"]])
def test_not_rung(traced, options):
    _, points = traced(3, "block", *options)
    assert points and not any("rung" in point for point, _ in points)


def test_not_for_spinning(traced):
    """Their CPU never runs dry. Until that is known, a few may call."""
    _, points = traced(3, "spin", "--always")
    assert sum("rung" in point for point, _ in points) < 37
