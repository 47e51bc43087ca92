# SPDX-License-Identifier: MIT
"""Quotas on CPU time: juggle uses no more CPUs than they allow, and follows their changes."""

import contextlib
import os
import re
import subprocess
from pathlib import Path

import pytest

import helpers

pytestmark = [pytest.mark.needs_cpus(2)]

GROUPS = Path("/sys/fs/cgroup")


class Group:
    """A control group with a quota, of version 1 or 2."""

    def __init__(self, folder):
        self.folder = folder

    def set_quota(self, cpus):
        """None: no quota."""
        if (self.folder / "cpu.max").exists():
            (self.folder / "cpu.max").write_text(
                "max 100000" if cpus is None else "%d 100000" % (cpus * 100000))
        else:
            (self.folder / "cpu.cfs_quota_us").write_text(
                "-1" if cpus is None else "%d" % (cpus * 100000))

    def inside(self, command):
        """The command line that runs a command in the group."""
        return ["sh", "-c", 'echo $$ > %s/cgroup.procs && exec "$@"' % self.folder, "sh",
                *map(str, command)]

    def enter(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))


@contextlib.contextmanager
def group_v2():
    folder = GROUPS / ("juggle-test-%d" % os.getpid())
    try:
        if "cpu" not in (GROUPS / "cgroup.subtree_control").read_text().split():
            pytest.skip("no control groups, version 2, with the controller of CPU time")
        folder.mkdir()
    except OSError as error:
        pytest.skip("no control groups, version 2: %s" % error)
    try:
        yield folder
    finally:
        helpers.wait_for(lambda: not (folder / "cgroup.procs").read_text(), "the group is empty")
        folder.rmdir()


@pytest.fixture
def group():
    """An empty group; skips the test where none can be made."""
    made = helpers.cgroup("cpu") if (GROUPS / "cpu" / "tasks").exists() else group_v2()
    with made as folder:
        yield Group(folder)


@pytest.fixture
def two():
    return helpers.cpus()[:2]


@pytest.fixture
def held(juggle, app, background, two, tmp_path):
    """held(N, OPTION..., wrap=...) starts a job of N threads under juggle, on two CPUs."""
    class Held:
        def __init__(self, count, *options, wrap=list):
            app("ubench")
            self.count = count
            self.report = tmp_path / "report.json"
            self.juggle = background(
                wrap(["taskset", "-c", "%d,%d" % tuple(two), juggle, *helpers.ONLY_UBENCH,
                      "--report", self.report, *options, "--", *helpers.held_job(count)]),
                stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            self.ubench = helpers.wait_for_below(self.juggle, "ubench")

        def is_on(self, count):
            """Until all threads are pinned to so many CPUs. A single reading may be of the middle of a swap."""
            readings = []

            def pinned():
                found = helpers.masks(self.ubench)
                readings.append(helpers.is_pinned(self.ubench, self.count)
                                and len(set().union(*found.values())) == count)
                return len(readings) >= 10 and all(readings[-10:])
            helpers.wait_for(pinned, "its threads are on %d CPUs" % count, self.juggle)

        def shows(self, condition, what):
            return helpers.wait_for_stat(self.juggle, condition, what)

        def end(self):
            self.juggle.stdin.close()
            assert self.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
            self.said = self.juggle.stderr.read()
            return helpers.read_report(self.report)
    return Held


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("options", [["--always"], ["-P", "static"]])
def test_one_cpu_by_quota(held, group, count, options):
    group.set_quota(1)
    job = held(count, *options, wrap=group.inside)
    job.is_on(1)
    report = job.end()
    assert report["quota_cpus"] == 1
    assert len(report["cpus"]) == 1
    assert len(report["thread"]) >= count  # of those that still run, the report may see the last
    assert job.said == ""


def test_changes_in_mid_run(held, group, two):
    """Also of a part of a CPU; the masks at the end are those of the start."""
    group.set_quota(1)
    job = held(4, "--always", wrap=group.inside)
    job.is_on(1)
    for quota, cpus in ((1.5, 2), (0.5, 1), (None, 2), (1, 1), (7, 2)):
        group.set_quota(quota)
        job.is_on(cpus)
        helpers.wait_for_progress(job.ubench)
    os.kill(helpers.balancer(job.juggle.pid), 9)
    helpers.wait_for(lambda: helpers.has_masks(job.ubench, two, 4), "masks are given back",
                     job.juggle)
    job.end()


def test_job_moves_to_a_group(held, group, two):
    """Only the job is in the group, and not from the start."""
    group.set_quota(1)
    job = held(3, "--always")
    job.is_on(2)
    main = helpers.job(job.juggle.pid)
    for pid in [main, *helpers.descendants(main)]:
        group.enter(pid)
    job.is_on(1)
    group.set_quota(None)
    job.is_on(2)
    assert job.end()["quota_cpus"] is None


def test_throttled_time(held, group, run_jugglectl):
    """Of two threads that are not moved, and compute all the time."""
    group.set_quota(0.3)
    job = held(2, "-P", "observe", "-v", wrap=group.inside)

    def throttled():
        """What stat shows for a time above 0."""
        return re.search(r"CPUs; throttled for [\d.]*[1-9]", run_jugglectl("stat", job.juggle.pid).stdout)
    helpers.wait_for(throttled, "juggle sees that the group is throttled", job.juggle, interval_s=0.1)
    report = job.end()
    assert report["quota_cpus"] == pytest.approx(0.3)
    assert report["throttled_s"] > 0
    assert "  throttled    for " in job.said
    assert " by a quota of 0.3 CPUs\n" in job.said


def test_threads_that_are_aside_keep_their_masks(held, group, two):
    group.set_quota(1)
    job = held(2, "-P", "observe", wrap=group.inside)
    helpers.wait_for_looks(helpers.wait_for_balancer(job.juggle), 50)
    assert helpers.has_masks(job.ubench, two, 2)
    assert job.end()["quota_cpus"] == 1


def test_no_quota(run_juggle, tmp_path):
    path = tmp_path / "report.json"
    done = run_juggle("-v", "--report", path, "true")
    assert done.returncode == 0
    report = helpers.read_report(path)
    if report["quota_cpus"] is not None:
        pytest.skip("these tests run with a quota of %g CPUs" % report["quota_cpus"])
    assert report["throttled_s"] == 0
    assert "throttled" not in done.stderr
