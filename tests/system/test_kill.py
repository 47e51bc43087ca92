# SPDX-License-Identifier: MIT
"""Whatever happens to juggle, the job runs on, ends with its own status, and gets its affinity
masks back."""
import functools
import os
import signal
import subprocess

import pytest

import helpers

pytestmark = pytest.mark.needs_cpus(2)


class Held:
    """A juggle with a job that it balances, in `folder`; attributes as below."""

    def __init__(self, start, folder, *options, **popen):
        two = "%d,%d" % tuple(helpers.cpus()[:2])
        self.report = folder / "report.json"
        self.cpus = helpers.cpus()[:2]
        popen.setdefault("stderr", subprocess.PIPE)
        self.juggle = start(
            ["taskset", "-c", two, helpers.juggle_path(), "--always", *helpers.ONLY_UBENCH,
             "--report", self.report, *options, "--", *helpers.held_job()],
            stdin=subprocess.PIPE, **popen)
        self.ubench = helpers.wait_for_below(self.juggle, "ubench")
        self.balancer = helpers.wait_for_balancer(self.juggle)
        self.shell = helpers.job(self.juggle.pid)
        helpers.wait_for(lambda: helpers.is_pinned(self.ubench), "all threads are pinned",
                         self.juggle)

    def restored(self):
        helpers.wait_for(lambda: helpers.has_masks(self.ubench, self.cpus),
                         "the masks are back", self.ubench)

    def runs(self):
        helpers.wait_for_progress(self.ubench)

    def end(self):
        self.juggle.stdin.close()


@pytest.fixture
def held(background, tmp_path):
    """held(OPTION...) starts one."""
    return functools.partial(Held, background, tmp_path)


@pytest.fixture(scope="module")
def stopped(background_of_module, tmp_path_factory):
    """A job that is at its end, under a juggle whose balancer is stopped. It waits for that for seconds, in
    which the other tests run."""
    job = Held(background_of_module, tmp_path_factory.mktemp("stopped"))
    os.kill(job.balancer, signal.SIGSTOP)
    job.runs()
    job.end()
    return job


@pytest.fixture(scope="module")
def frozen(background_of_module, tmp_path_factory):
    """The same with a balancer that not even SIGKILL ends, as when it waits for a device, or for a busy CPU."""
    job = Held(background_of_module, tmp_path_factory.mktemp("frozen"))
    with helpers.cgroup("freezer") as folder:
        (folder / "cgroup.procs").write_text(str(job.balancer))
        try:
            (folder / "freezer.state").write_text("FROZEN")
            helpers.wait_for(lambda: (folder / "freezer.state").read_text() == "FROZEN\n",
                             "it is frozen")
            job.end()
            yield job
        finally:
            (folder / "freezer.state").write_text("THAWED")
        helpers.wait_for(lambda: not helpers.alive(job.balancer), "it dies in the end")


@pytest.mark.needs_root
@pytest.mark.usefixtures("stopped", "frozen")
def test_frozen_guard_does_not_hold_up_the_end(held):
    job = held()
    guard, = helpers.children(job.balancer)
    with helpers.cgroup("freezer") as folder:
        (folder / "cgroup.procs").write_text(str(guard))
        try:
            (folder / "freezer.state").write_text("FROZEN")
            job.end()
            assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
        finally:
            (folder / "freezer.state").write_text("THAWED")
        helpers.wait_for(lambda: not helpers.alive(guard), "it dies in the end")
    assert helpers.read_report(job.report)["balancer"] == "ended"


def test_killed_balancer(held):
    job = held()
    # They are pinned a moment before that is told.
    helpers.wait_for_stat(job.juggle, lambda found: found["threads"] == 3, "it is told")
    os.kill(job.balancer, signal.SIGKILL)
    job.restored()
    job.runs()
    assert job.juggle.poll() is None
    job.end()
    assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
    assert "the balancer was killed (Killed)" in job.juggle.stderr.read()
    report = helpers.read_report(job.report)
    assert report["balancer"] == "lost"
    assert report["exit_status"] == 7
    assert report["threads"] == 3
    assert len(report["thread"]) >= 3


def test_killed_balancer_is_quiet_when_asked(held):
    job = held("-q")
    os.kill(job.balancer, signal.SIGKILL)
    job.restored()
    job.end()
    assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
    assert job.juggle.stderr.read() == ""


def test_killed_balancer_and_nobody_to_hear_of_it(held):
    """The message that the balancer was killed goes to a pipe that nobody reads."""
    reader, writer = os.pipe()
    job = held(stderr=writer)
    os.close(writer)
    os.close(reader)
    os.kill(job.balancer, signal.SIGKILL)
    job.restored()
    job.runs()
    job.end()
    assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == 7


def test_killed_juggle(held):
    job = held()
    segment = helpers.segment(job.juggle.pid)
    assert segment.exists()
    job.juggle.kill()
    assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == -signal.SIGKILL
    job.restored()
    helpers.wait_for(lambda: not helpers.alive(job.balancer), "the balancer ends")
    assert not segment.exists()
    job.runs()
    assert helpers.alive(job.shell)
    job.end()
    helpers.wait_for(lambda: not helpers.alive(job.shell), "the job ends")


def test_killed_juggle_that_was_attached(juggle, background):
    two = helpers.cpus()[:2]
    alone = background(["taskset", "-c", "%d,%d" % tuple(two), *helpers.held_job()],
                       stdin=subprocess.PIPE)
    ubench = helpers.wait_for_below(alone, "ubench")
    helpers.wait_for(lambda: helpers.has_masks(ubench, two), "all threads have started", alone)
    attached = background(
        [juggle, "-c", "%d,%d" % tuple(two), "--always", "-p", str(ubench)])
    helpers.wait_for(lambda: helpers.is_pinned(ubench), "all threads are pinned", attached)
    attached.kill()
    attached.wait(timeout=helpers.TIMEOUT_S)
    helpers.wait_for(lambda: helpers.has_masks(ubench, two), "the masks are back", alone)
    assert alone.poll() is None
    alone.stdin.close()
    assert alone.wait(timeout=helpers.TIMEOUT_S) == 7


def test_killed_both(held):
    """A third process gives the masks back."""
    job = held()
    guard = helpers.children(job.balancer)
    os.kill(job.juggle.pid, signal.SIGSTOP)
    os.kill(job.balancer, signal.SIGKILL)
    job.juggle.kill()
    job.juggle.wait(timeout=helpers.TIMEOUT_S)
    job.restored()
    job.runs()
    job.end()
    helpers.wait_for(lambda: not helpers.alive(job.shell), "the job ends")
    helpers.wait_for(lambda: not helpers.segment(job.juggle.pid).exists(), "no segment is left")
    helpers.wait_for(lambda: not any(map(helpers.alive, guard)), "no process is left")


def test_the_guard_has_another_name(held):
    job = held()
    guard, = helpers.children(job.balancer)
    assert helpers.comm(guard) == "mask-guard"
    with open("/proc/%d/cmdline" % guard, encoding="utf-8") as file:
        assert file.read().rstrip("\0") == "mask-guard"
    job.end()
    assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
    assert not helpers.alive(guard)


def test_the_guard_holds_nothing(held):
    """No pipe that others wait for the end of; and who kills juggle's process group does not reach
    it."""
    job = held()
    guard, = helpers.children(job.balancer)
    folder = "/proc/%d/fd/" % guard
    open_files = {name: os.readlink(folder + name) for name in os.listdir(folder)}
    assert open_files.pop("0").startswith("pipe:")
    assert open_files == {"1": "/dev/null", "2": "/dev/null"}
    assert os.getpgid(guard) == guard
    job.end()


def test_killed_guard(held):
    job = held()
    os.kill(helpers.children(job.balancer)[0], signal.SIGKILL)
    job.runs()
    job.end()
    assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
    assert helpers.read_report(job.report)["balancer"] == "ended"


@pytest.mark.needs_root
def test_frozen_balancer_does_not_hold_up_the_end(frozen):
    assert frozen.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
    assert helpers.read_report(frozen.report)["balancer"] == "lost"


def test_stopped_balancer_does_not_hold_up_the_end(stopped):
    assert stopped.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
    assert not helpers.alive(stopped.balancer)
    assert helpers.read_report(stopped.report)["balancer"] == "lost"


def test_stopped_balancer_catches_up(held):
    job = held()
    os.kill(job.balancer, signal.SIGSTOP)
    job.runs()
    os.kill(job.balancer, signal.SIGCONT)
    job.runs()
    job.end()
    assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == 7
    assert helpers.read_report(job.report)["balancer"] == "ended"


def test_stopped_juggle_and_killed_balancer(held):
    """The keeper restores the masks as soon as it can run again."""
    job = held()
    os.kill(job.juggle.pid, signal.SIGSTOP)
    os.kill(job.balancer, signal.SIGKILL)
    job.runs()
    os.kill(job.juggle.pid, signal.SIGCONT)
    job.restored()
    job.end()
    assert job.juggle.wait(timeout=helpers.TIMEOUT_S) == 7


def test_orphans_of_the_job_keep_no_pinned_mask(juggle, app, background, tmp_path):
    """The command ends before processes that it left behind, which nobody balances any more."""
    two = helpers.cpus()[:2]
    pid_file = tmp_path / "pid"
    script = ('"$@" >/dev/null 2>&1 & echo $! > %s; read line' % pid_file)
    process = background(
        ["taskset", "-c", "%d,%d" % tuple(two), juggle, "--always", "--", "sh", "-c", script,
         "sh", app("ubench"), "-q", "-t", "3", "-e", "5ms", "-p", "1000000000", "-b", "yield",
         "--rate", "100000"], stdin=subprocess.PIPE)
    ubench = helpers.wait_for_below(process, "ubench")
    helpers.wait_for(lambda: helpers.is_pinned(ubench), "all threads are pinned")
    process.stdin.close()
    process.wait(timeout=helpers.TIMEOUT_S)
    assert int(pid_file.read_text()) == ubench
    assert helpers.alive(ubench)
    assert helpers.has_masks(ubench, two)
