# SPDX-License-Identifier: MIT
"""CPUs that go offline and come back while a job runs: hot-plug, and cpusets that change."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

import helpers
import traces

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_cpus(2)]


@pytest.fixture
def two():
    """Two CPUs; the second is the one that goes offline."""
    return [helpers.cpus()[0], helpers.cpus()[-1]]


@pytest.fixture
def hotplug(two):
    """hotplug(False) takes the second CPU offline; it is back after the test."""
    file = pathlib.Path("/sys/devices/system/cpu/cpu%d/online" % two[1])
    if not os.access(file, os.W_OK):
        pytest.skip("%s cannot be written" % file)
    own = os.sched_getaffinity(0)

    def set_online(online):
        try:
            file.write_text("1" if online else "0")
        except OSError as error:
            pytest.skip("%s: %s" % (file, error))
        helpers.wait_for(lambda: file.read_text() == ("1\n" if online else "0\n"),
                         "the CPU is %s" % ("online" if online else "offline"))
    try:
        yield set_online
    finally:
        if file.read_text() != "1\n":
            file.write_text("1")
        os.sched_setaffinity(0, own)  # in case the kernel has rewritten it


@pytest.fixture
def held(juggle, app, background, two, tmp_path):
    """held(PREFIX...) starts a job of three threads under juggle, on the two CPUs.

    `inside` comes between juggle and the job, `on` are the CPUs that juggle balances on at first.
    """
    class Held:
        def __init__(self, *prefix, inside=(), on=two):
            app("ubench")
            self.report = tmp_path / "report.json"
            self.trace = tmp_path / "trace"
            self.juggle = background(
                [*prefix, "taskset", "-c", "%d,%d" % tuple(two), juggle, "--always", "-i", "5ms",
                 *helpers.ONLY_UBENCH, "--report", self.report, "--trace", self.trace, "--",
                 *inside, *helpers.held_job()], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            self.ubench = helpers.wait_for_below(self.juggle, "ubench")
            self.balancer = helpers.wait_for_balancer(self.juggle)
            self.balanced_on(on)

        def balanced_on(self, cpus):
            def balanced():
                masks = helpers.masks(self.ubench)
                return (helpers.is_pinned(self.ubench)
                        and set().union(*masks.values()) == set(cpus))
            helpers.wait_for(balanced, "the threads are pinned to CPUs %s" % cpus, self.juggle)

        def shows_speeds(self, speeds):
            """Telemetry follows the moves."""
            helpers.wait_for(lambda: helpers.speeds(self.juggle.pid) == (speeds, "option"),
                             "the speeds of CPUs are %s" % speeds, self.juggle)

        def runs(self):
            helpers.wait_for_progress(self.ubench)

        def end(self):
            self.juggle.stdin.close()
            assert self.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
            assert self.juggle.stderr.read() == ""
            return helpers.read_report(self.report)
    return Held


def test_cpu_goes_offline_and_comes_back(held, hotplug, two):
    job = held("env", "JUGGLE_OPTIONS=--speeds 0.5,1")
    job.shows_speeds({two[0]: 500, two[1]: 1000})
    hotplug(False)
    job.balanced_on(two[:1])
    job.shows_speeds({two[0]: 1000})
    job.runs()
    hotplug(True)
    job.balanced_on(two)
    job.shows_speeds({two[0]: 500, two[1]: 1000})
    job.runs()
    report = job.end()
    assert report["balancer"] == "ended"
    assert report["cpus"] == two
    assert report["threads"] == 3
    _, *teams = re.split(r"^team ", job.trace.read_text(), flags=re.MULTILINE)
    assert len(teams) == 3, "the team starts anew at each change"
    for team in teams[1:]:
        assert len(re.findall(r"^new \d+ 1$", team, re.MULTILINE)) == 3, "who computed still does"


def test_end_while_a_cpu_is_offline(held, hotplug, two):
    job = held()
    hotplug(False)
    job.balanced_on(two[:1])
    assert job.end()["cpus"] == two[:1]


def test_masks_after_a_cpu_has_come_back(juggle, background, hotplug, two):
    """A thread's original mask includes the CPU that was offline when juggle released it."""
    job = background(["taskset", "-c", "%d,%d" % tuple(two), *helpers.held_job()],
                     stdin=subprocess.PIPE)
    ubench = helpers.wait_for_below(job, "ubench")
    helpers.wait_for(lambda: helpers.has_masks(ubench, two), "its threads, too", job)
    process = background([juggle, "--always", "-c", "%d,%d" % tuple(two), "-p", ubench])
    helpers.wait_for(lambda: helpers.is_pinned(ubench), "all threads are pinned", process)
    hotplug(False)
    helpers.wait_for(
        lambda: all(mask == {two[0]} for mask in helpers.masks(ubench).values()),
        "all threads are on the CPU that is left", process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    hotplug(True)
    helpers.wait_for(lambda: helpers.has_masks(ubench, two), "the masks are back", job)


@contextlib.contextmanager
def cpuset(cpus):
    """A cpuset (control groups, version 1) with these CPUs."""
    with helpers.cgroup("cpuset") as folder:
        (folder / "cpuset.mems").write_text((folder.parent / "cpuset.mems").read_text())
        (folder / "cpuset.cpus").write_text(",".join(map(str, cpus)))
        yield folder


def test_cpuset_shrinks_and_grows(held, two):
    with cpuset(two) as folder:
        job = held("sh", "-c", 'echo $$ > %s/cgroup.procs && exec "$0" "$@"' % folder)
        (folder / "cpuset.cpus").write_text(str(two[0]))
        job.balanced_on(two[:1])
        job.runs()
        (folder / "cpuset.cpus").write_text(",".join(map(str, two)))
        if tuple(map(int, re.findall("[0-9]+", os.uname().release)[:2])) >= (6, 2):
            job.balanced_on(two)  # older kernels forget the mask that a thread had set
        job.runs()
        report = job.end()
    assert report["balancer"] == "ended"
    assert report["threads"] == 3


def team_starts(job):
    """The CPUs of each start of the teams, without their speeds."""
    starts = {}
    for cpu in traces.growing(job.trace, "cpus"):
        starts.setdefault(cpu["now_ns"], []).append("%d:%d" % (cpu["os_cpu"], cpu["domain"]))
    return list(starts.values())


@pytest.mark.parametrize("policy", ["juggle", "static"])
def test_cpuset_of_the_job_alone_shrinks_and_grows(held, two, policy):
    def counts():
        """Of CPUs; a cpuset that changes while juggle looks at it is looked at again."""
        found = [len(cpus) for cpus in team_starts(job)]
        return [count for before, count in zip([0, *found], found) if count != before]

    job = held("env", "JUGGLE_OPTIONS=-P " + policy)
    with cpuset(two) as folder:
        (folder / "cgroup.procs").write_text(str(job.ubench))
        for expected in [[2, 1], [2, 1, 2], [2, 1, 2, 1], [2, 1, 2, 1, 2]]:
            cpus = two[:expected[-1]]
            (folder / "cpuset.cpus").write_text(",".join(map(str, cpus)))
            helpers.wait_for(lambda e=expected: counts() == e, "juggle notices", job.juggle)
            job.balanced_on(cpus)
            job.runs()
        report = job.end()
    assert report["balancer"] == "ended"
    assert report["threads"] == 3


def test_masks_that_others_change(held, two):
    job = held("env", "JUGGLE_OPTIONS=-P static")
    masks = helpers.masks(job.ubench)
    for tid in masks:
        os.sched_setaffinity(tid, two)
    helpers.wait_for(lambda: helpers.masks(job.ubench) == masks, "all are as they were")
    job.end()
    assert job.trace.read_text().count("\ncpus ") == 1


def test_processes_in_different_cpusets(juggle, background, app, two, tmp_path):
    """One that cannot use all CPUs is left alone, and the other one still balanced."""
    report = tmp_path / "report.json"
    process = background(
        ["taskset", "-c", "%d,%d" % tuple(two), juggle, "--always", "-i", "5ms", "--report", report,
         "sh", "-c", '"$@" & "$@"; wait; true', "sh", app("ubench"), "-t", "2", "-e", "5ms", "-p",
         "1000000000", "-b", "yield", "-q"])
    jobs = helpers.wait_for(
        lambda: (lambda found: found if len(found) == 2 else None)(
            [pid for pid in helpers.descendants(process.pid) if helpers.comm(pid) == "ubench"]),
        "both processes")
    helpers.wait_for(lambda: all(helpers.is_pinned(pid, 2) for pid in jobs), "threads are pinned")
    with cpuset(two[:1]) as first:
        (first / "cgroup.procs").write_text(str(jobs[0]))
        helpers.wait_for(lambda: helpers.mask(jobs[0]) == set(two[:1])
                         and set().union(*helpers.masks(jobs[1]).values()) == set(two)
                         and helpers.is_pinned(jobs[1], 2), "the second has both CPUs", process)
        for pid in jobs:
            os.kill(pid, signal.SIGTERM)
        assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert helpers.read_report(report)["balancer"] == "ended"


def test_cpus_outside_of_the_cpuset(juggle, two):
    with cpuset(two[:1]) as folder:
        done = helpers.run(["sh", "-c", 'echo $$ > %s/cgroup.procs && exec "$0" "$@"' % folder,
                            juggle, "-c", "%d,%d" % tuple(two), "true"])
    assert done.returncode == 125
    assert done.stderr == ("juggle: -c names CPUs that cannot be used here; choose from %d\n"
                           % two[0])


def test_job_that_starts_in_a_smaller_cpuset(held, two):
    """Threads that are met in it never had the other CPU in their masks."""
    with cpuset(two[:1]) as folder:
        job = held("env", "JUGGLE_OPTIONS=-P static", on=two[:1],
                   inside=["sh", "-c", 'echo $$ > %s/cgroup.procs && exec "$@"' % folder, "sh"])
        helpers.wait_for(lambda: len(team_starts(job)) == 2, "juggle notices", job.juggle)
        looks = helpers.looks(job.balancer, 20)
        helpers.wait_for(looks, "it has looked again")
        assert team_starts(job)[1:] == [["%d:0" % two[0]]]
        (folder / "cpuset.cpus").write_text(",".join(map(str, two)))
        helpers.wait_for(lambda: len(team_starts(job)[-1]) == 2, "juggle notices", job.juggle)
        job.balanced_on(two)
        job.end()


def test_job_in_a_cpuset_apart(held, two):
    """None of juggle's CPUs is left to it: balancing waits until that changes."""
    with cpuset(two) as folder:
        job = held("env", "JUGGLE_OPTIONS=-P static -c %d" % two[0], on=two[:1])
        (folder / "cgroup.procs").write_text(str(job.ubench))
        (folder / "cpuset.cpus").write_text(str(two[1]))
        helpers.wait_for(lambda: all(mask == {two[1]} for mask in helpers.masks(job.ubench).values()),
                         "the kernel moves all threads", job.juggle)
        helpers.wait_for(lambda: len(team_starts(job)) >= 2, "juggle notices", job.juggle)
        job.runs()
        (folder / "cpuset.cpus").write_text(str(two[0]))
        job.balanced_on(two[:1])
        assert job.end()["balancer"] == "ended"
