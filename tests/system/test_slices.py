# SPDX-License-Identifier: MIT
"""Short time slices for threads that yield in short phases beside a program that never sleeps, and the default ones
afterwards, whatever ends juggle."""
import json
import os
import signal
import subprocess

import pytest

import attributes
import helpers
import traces

pytestmark = [pytest.mark.needs_cpus(2), pytest.mark.told]

SHORT_NS = 100_001
OWN_NS = 100_000


@pytest.fixture
def default_ns():
    return attributes.default_slice()


@pytest.fixture
def two():
    return "%d,%d" % tuple(helpers.cpus()[:2])


@pytest.fixture
def hog(background, app):
    """hog() starts a program that never sleeps, on one of the two CPUs. Returns it."""
    def start():
        return background(["taskset", "-c", str(helpers.cpus()[0]), "sh", "-c", "while :; do :; done"])
    return start


# Two threads that yield, in phases of 0.1 ms.
def short_phases():
    return helpers.held_job(threads=2, phase="0.1ms", barrier="yield")


@pytest.fixture
def beside_hog(background, hog, two):
    """beside_hog(OPTION...) is (hog, juggle, pid of the program with the two threads)."""
    def start(*options, **popen):
        other = hog()
        juggle = background(["taskset", "-c", two, helpers.juggle_path(), *helpers.ONLY_UBENCH, *options, "--",
                             *short_phases()], stdin=subprocess.PIPE, **popen)
        return other, juggle, helpers.wait_for_below(juggle, "ubench")
    return start


def have(pid, slice_ns):
    return [attributes.slice_of(tid) for tid in helpers.threads(pid)] == 2 * [slice_ns]


def wait_for(pid, slice_ns, process=None):
    helpers.wait_for(lambda: have(pid, slice_ns), "slices of %d ns" % slice_ns, process)


def test_beside_a_hog(default_ns, beside_hog, tmp_path):
    """Nice values are kept. When the hog ends, threads have the default slice again; all that is told."""
    report, trace = tmp_path / "r.json", tmp_path / "trace"
    hog, juggle, ubench = beside_hog("-v", "--report", report, "--trace", trace, stderr=subprocess.PIPE)
    os.setpriority(os.PRIO_PROCESS, ubench, 1)
    wait_for(ubench, SHORT_NS, juggle)
    assert os.getpriority(os.PRIO_PROCESS, ubench) == 1
    hog.kill()
    wait_for(ubench, default_ns, juggle)
    juggle.stdin.close()
    assert juggle.wait(timeout=helpers.TIMEOUT_S) == 7
    assert "slices       short for" in juggle.stderr.read()
    assert helpers.read_report(report)["short_slices_s"] > 0
    changes = [point["slice"] for point, _, _ in traces.points(trace) if "slice" in point]
    assert changes[0] == "short" and changes[-1] == "default"
    done = helpers.run([helpers.built("tools/jugglectl"), "replay", "--json", trace])
    decisions = json.loads(done.stdout)["decisions"]
    assert decisions["same"] == decisions["points"] > 0


@pytest.mark.parametrize("phase, barrier", [("0.1ms", "block"), ("20ms", "yield")])
def test_not_where_they_gain_nothing(default_ns, background, hog, two, phase, barrier):
    hog()
    juggle = background(["taskset", "-c", two, helpers.juggle_path(), *helpers.ONLY_UBENCH, "--",
                         *helpers.held_job(threads=2, phase=phase, barrier=barrier)], stdin=subprocess.PIPE)
    ubench = helpers.wait_for_below(juggle, "ubench")
    helpers.wait_for(lambda: len(helpers.threads(ubench)) == 2, "both threads", juggle)
    helpers.wait_for_looks(helpers.wait_for_balancer(juggle))
    assert have(ubench, default_ns)


@pytest.mark.parametrize("killed", ["balancer", "juggle", "both"])
def test_killed(default_ns, beside_hog, killed):
    _, juggle, ubench = beside_hog("-q")
    wait_for(ubench, SHORT_NS, juggle)
    balancer = helpers.wait_for_balancer(juggle)
    for pid in {"balancer": [balancer], "juggle": [juggle.pid], "both": [balancer, juggle.pid]}[killed]:
        os.kill(pid, signal.SIGKILL)
    wait_for(ubench, default_ns)
    helpers.wait_for_progress(ubench)


def test_attached(default_ns, background, hog, two):
    """SIGTERM ends juggle alone."""
    hog()
    alone = background(["taskset", "-c", two, *short_phases()], stdin=subprocess.PIPE,
                       env={"LD_PRELOAD": helpers.built("libprogress/phases/libphases.so")})
    ubench = helpers.wait_for_below(alone, "ubench")
    juggle = background([helpers.juggle_path(), "-q", "-c", two, "-p", ubench])
    wait_for(ubench, SHORT_NS, juggle)
    juggle.terminate()
    assert juggle.wait(timeout=helpers.TIMEOUT_S) == 0
    assert have(ubench, default_ns)


def test_given_by_the_owner(default_ns, beside_hog):
    """One thread has a slice of its own from the start; the other gets one later. Both keep them."""
    _, juggle, ubench = beside_hog("-q")
    helpers.wait_for(lambda: len(helpers.threads(ubench)) == 2, "both threads", juggle)
    first, second = helpers.threads(ubench)
    attributes.set_slice(first, OWN_NS)
    helpers.wait_for(lambda: attributes.slice_of(second) == SHORT_NS, "a short slice", juggle)
    assert attributes.slice_of(first) == OWN_NS
    attributes.set_slice(second, OWN_NS)
    helpers.wait_for_looks(helpers.wait_for_balancer(juggle))
    juggle.kill()
    juggle.wait(timeout=helpers.TIMEOUT_S)
    helpers.wait_for_progress(ubench)
    assert have(ubench, OWN_NS)
