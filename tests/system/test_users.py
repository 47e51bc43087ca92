# SPDX-License-Identifier: MIT
"""Ordinary users: everything works on their own processes, and clear messages say what does not."""
import os
import signal
import subprocess

import pytest

import helpers

STRANGER = 54321  # a user whom nobody knows
UBENCH = ["-q", "-t", "3", "-e", "5ms", "-p", "100", "-b", "yield", "--rate", "100000"]


def test_plain_run(unprivileged):
    user = unprivileged
    report, trace = user.dir / "plain.json", user.dir / "plain.trace"
    done = user.run([user.juggle, "--always", "--report", report, "--trace", trace, "--",
                     user.app("ubench"), *UBENCH])
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "auto falls back without a word"
    found = helpers.read_report(report)
    assert found["threads"] == 3
    assert found["balancer"] == "ended"
    assert found["sampler"] in ("schedstat", "perf")
    assert trace.stat().st_uid == user.uid


def test_taskstats_needs_a_privilege(unprivileged):
    user = unprivileged
    done = user.run([user.juggle, "--sampler", "taskstats", "--", "touch", user.dir / "ran"])
    assert done.returncode == 125
    assert "taskstats does not work here" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (user.dir / "ran").exists()


@pytest.mark.needs_cpus(2)
def test_own_process(unprivileged, background):
    user = unprivileged
    two = helpers.cpus()[:2]
    job = background(user.command(
        ["taskset", "-c", "%d,%d" % tuple(two), user.app("ubench"), *UBENCH[:-2], "-p",
         "1000000000"]), stdout=subprocess.DEVNULL, cwd=user.dir)
    helpers.wait_for(lambda: helpers.has_masks(job.pid, two), "the threads have started", job)
    process = background(user.command([user.juggle, "-c", "%d,%d" % tuple(two), "--always",
                                       "-p", job.pid]), cwd=user.dir)
    helpers.wait_for(lambda: helpers.is_pinned(job.pid), "all threads are pinned", process)
    assert helpers.segment(process.pid, user.uid).stat().st_uid == user.uid
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert helpers.has_masks(job.pid, two)
    assert not helpers.segment(process.pid, user.uid).exists()


@pytest.mark.needs_root
def test_another_users_process(unprivileged):
    """juggle itself, which is below that process here, is not balanced."""
    user = unprivileged
    script = '"$@"; echo $?'
    done = helpers.run(["sh", "-c", script, "sh", *user.command(
        ["sh", "-c", 'exec "$0" -p "$PPID"', user.juggle])], cwd=user.dir)
    assert done.stdout == "125\n"
    assert "another user's, and no process below it is yours" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def foreign(unprivileged, background):
    """A process of root's, such as slurmstepd, with threads that compute, of the user's and of
    root's: the pids of all three, by name."""
    user = unprivileged
    ubench = [*UBENCH[:-2], "-p", "1000000000", "--json", "/dev/null"]
    script = '"$0" "$@" & setpriv --reuid=%d --regid=%d --clear-groups -- "$0" "$@" & ' \
             'while :; do sleep 100; done' % (user.uid, user.uid)
    parent = background(["sh", "-c", script, user.app("ubench"), *ubench], cwd=user.dir)
    found = {}

    def started():
        for pid in helpers.children(parent.pid):
            if helpers.comm(pid) == "ubench" and len(helpers.threads(pid)) == 3:
                own = helpers.status(pid)["Uid"].split()[0] == str(user.uid)
                found["own" if own else "root's"] = pid
        return len(found) == 2
    helpers.wait_for(started, "the threads have started", parent)
    return {**found, "parent": parent.pid}


@pytest.mark.needs_root
@pytest.mark.needs_cpus(2)
def test_below_another_users_process(unprivileged, foreign, background):
    user = unprivileged
    before = {pid: helpers.masks(pid) for pid in foreign.values()}
    report = user.dir / "below.json"
    process = background(user.command([user.juggle, "--always", "--report", report, "-p",
                                       foreign["parent"]]), cwd=user.dir)
    helpers.wait_for(lambda: helpers.is_pinned(foreign["own"]), "all threads are pinned", process)
    for name in ("parent", "root's"):
        assert helpers.masks(foreign[name]) == before[foreign[name]]
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert {pid: helpers.masks(pid) for pid in foreign.values()} == before
    found = helpers.read_report(report)
    assert {thread["pid"] for thread in found["thread"]} == {foreign["own"]}
    assert found["balancer"] == "ended"


@pytest.mark.needs_root
@pytest.mark.needs_cpus(2)
@pytest.mark.parametrize("ends", ["parent", "own"])
def test_end_below_another_users_process(unprivileged, foreign, background, ends):
    user = unprivileged
    before = helpers.masks(foreign["own"])
    process = background(user.command([user.juggle, "--always", "-p", foreign["parent"]]),
                         cwd=user.dir)
    helpers.wait_for(lambda: helpers.is_pinned(foreign["own"]), "all threads are pinned", process)
    os.kill(foreign[ends], signal.SIGKILL)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert not helpers.segment(process.pid, user.uid).exists()
    if ends == "parent":
        assert helpers.masks(foreign["own"]) == before


@pytest.mark.needs_root
@pytest.mark.needs_cpus(2)
def test_hidden_process_of_another_user(unprivileged, foreign, background):
    """Some sites mount /proc so that users see only their own processes."""
    user = unprivileged
    hide = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"',
            "sh"]
    if helpers.run([*hide, "true"]).returncode != 0:
        pytest.skip("cannot mount /proc")
    process = background([*hide, *user.command([user.juggle, "--always", "-p",
                                                foreign["parent"]])], cwd=user.dir)
    helpers.wait_for(lambda: helpers.is_pinned(foreign["own"]), "all threads are pinned", process)
    os.kill(foreign["parent"], signal.SIGKILL)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert not helpers.is_pinned(foreign["own"])


@pytest.mark.needs_root
def test_root_balances_a_users_process(unprivileged, juggle, background):
    user = unprivileged
    job = background(user.command(["sleep", "100"]), cwd=user.dir)
    helpers.wait_for(lambda: helpers.comm(job.pid) == "sleep", "the job has started", job)
    process = background([juggle, "-p", job.pid])
    helpers.wait_for_balancer(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0


def test_few_descriptors(unprivileged):
    """More threads than descriptors: those that can be sampled are balanced, and all run."""
    user = unprivileged
    report = user.dir / "few.json"
    done = user.run(
        ["prlimit", "--nofile=24:24", user.juggle, "--always", "--report", report, "--",
         user.app("ubench"), "-q", "-t", "60", "-e", "5ms", "-p", "10", "-b", "block",
         "--rate", "100000"])
    assert done.returncode == 0, done.stderr
    assert helpers.read_report(report)["exit_status"] == 0


def test_few_processes(unprivileged):
    """When juggle cannot start the command, it fails with its own status."""
    user = unprivileged
    done = user.run(["prlimit", "--nproc=1:1", user.juggle, "true"])
    assert done.returncode in (0, 125)
    if done.returncode:
        assert "juggle: " in done.stderr


@pytest.mark.needs_root
@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_no_process_for_the_balancer(juggle, quiet):
    """The command runs all the same. The limit holds for all processes of a user, of which this one has no others."""
    if helpers.run(helpers.as_user([juggle, "-q", "true"], STRANGER)).returncode != 0:
        pytest.skip("another user cannot use this build")
    done = helpers.run(helpers.as_user(["prlimit", "--nproc=2:2", juggle, *quiet, "sleep", "0.5"], STRANGER))
    assert (done.returncode, done.stderr) == (0, "" if quiet else "juggle: cannot start the balancer: Resource "
                                              "temporarily unavailable; the command runs without it\n")
