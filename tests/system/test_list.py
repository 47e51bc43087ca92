# SPDX-License-Identifier: MIT
"""jugglectl list and clean: running, leftover and hostile segments, in a /dev/shm of their own."""

import json
import os
import random
import stat
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest

import helpers
import mpi
from helpers import refused
from test_manuals import keys_of_page

ROOT = os.geteuid() == 0
NO_SUCH_PID = 2 ** 22 + 1  # pids are smaller


@pytest.fixture
def sleeper(background):
    """sleeper() is the pid of a process that lives until the end."""
    return lambda: background(["sleep", "600"]).pid


@pytest.fixture
def jacobi(shm, background, app):
    """jacobi("-t", "2", wrap=[...]) starts one that does not end, and returns when `count` new
    segments exist. The pid of the Popen is its own or, with wrap, that of the command before it."""
    def start(*options, wrap=(), count=1, env=None):
        before = len(shm.list())
        process = background(
            shm.command([*wrap, app("jacobi"), "--grid", "40x40", "-n", "1000000000000", *options]),
            stdout=subprocess.DEVNULL, env=env)
        wanted = before + count
        helpers.wait_for(lambda: sum(e["state"] == "runs" for e in shm.list()) >= wanted,
                         "it publishes", process)
        return process
    return start


def one(entries, kind):
    found = [entry for entry in entries if entry["kind"] == kind]
    assert len(found) == 1, entries
    return found[0]


def progress_header(pid, version=2, workers=1, subdomains=2, **changes):
    """What libprogress writes, with room for the records behind it."""
    fields = {"magic": 0x53534552474F5250, "version": version, "header_bytes": 256,
              "size_bytes": 256 + 128 * workers + 64 * subdomains, "workers": workers,
              "subdomains": subdomains, "worker_bytes": 128, "subdomain_bytes": 64, "pid": pid,
              "rank": 0, "created_ns": time.monotonic_ns(), "balancing": 2, "pairs": 1, "low": 1,
              "high": 2, "hybrid_every": 1, "dead_band": 0, "period_ns": 1000000, "state": 1}
    assert set(changes) <= set(fields)
    content = struct.pack("=QIIQIIIIIiQIIIIIIQI", *dict(fields, **changes).values())
    return content.ljust(256 + 128 * workers + 64 * subdomains, b"\0")


# --- nothing, and wrong command lines ------------------------------------------------

def test_nothing(shm):
    (shm.path / "somebody.else.1").write_bytes(b"x")
    (shm.path / "progress.x.1").write_bytes(b"x")
    for extra in [], ["--json"]:
        refused(shm.run("list", *extra), 0, "no job of juggle")
        quiet = shm.run("list", "-q", *extra)
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    done = shm.run("clean")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Nothing to remove.\n", "")
    assert shm.clean() == {}
    assert len(shm.names()) == 2


@pytest.mark.parametrize("command", ["list", "clean"])
def test_wrong_command_lines(run_jugglectl, command):
    refused(run_jugglectl(command, "-u", "no such user"), 2, "--user")
    refused(run_jugglectl(command, "-u", "-1"), 2)
    refused(run_jugglectl(command, "-u", "4294967295"), 2)
    refused(run_jugglectl(command, "-u", ""), 2)
    assert run_jugglectl(command, "something").returncode == 2
    assert run_jugglectl(command, "--bogus").returncode == 2


@pytest.mark.needs_root
@pytest.mark.parametrize("command", ["list", "clean"])
def test_no_dev_shm(jugglectl, command):
    done = helpers.run([*helpers.own_mounts("mount -t tmpfs none /dev"), jugglectl, command])
    refused(done, 1, "/dev/shm", "No such file")


@pytest.mark.parametrize("command", ["list", "clean"])
def test_full_disk(shm, sleeper, command):
    shm.segment(sleeper())
    for extra in [], ["--json"]:
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = shm.run(command, *extra, stdout=full)
        assert done.returncode == 1 and "cannot write" in done.stderr


# --- what runs -----------------------------------------------------------------------

def test_wrapped(shm, jacobi, juggle):
    process = jacobi("-t", "2", wrap=[juggle, "--"], count=2)
    helpers.wait_for(lambda: one(shm.list(), "job")["threads"] >= 2, "its threads are found", process)
    job, progress = shm.list()
    assert keys_of_page("jugglectl-list.1", "RESULT FORMAT") == (set(job), {})
    assert list(job) == list(progress)
    assert (job["kind"], job["state"], job["pid"]) == ("job", "runs", process.pid)
    assert job["job_pid"] == progress["pid"] == helpers.job(process.pid)
    assert (job["policy"], job["attached"], job["lost"]) == ("juggle", False, False)
    assert job["cpus"] == len(helpers.cpus())
    assert job["uid"] == shm.uid and job["juggle_pid"] == job["pid"] and "jacobi" in job["command"] and job["age_s"] < 60
    assert job["workers"] is job["rank"] is None
    assert (progress["kind"], progress["state"]) == ("progress", "runs")
    assert progress["juggle_pid"] == process.pid
    assert progress["workers"] == 2 and progress["subdomains"] >= 2
    assert progress["balancing"] == "hybrid" and progress["threads"] is None
    assert progress["path"] == "/dev/shm/progress.%d.%d" % (shm.uid, progress["pid"])
    # As text: one line each, one below the other, in 80 columns.
    head, first, second = shm.run("list").stdout.splitlines()
    assert head.startswith("PID/JOB ") and max(map(len, (head, first, second))) <= 79
    assert first.startswith("%d/%d " % (process.pid, progress["pid"])) and " jacobi --grid" in first
    assert second.startswith(" \\_ %d " % progress["pid"])
    assert shm.run("list", "--no-headings").stdout.count("\n") == 2
    assert "-n 1000000000000" in shm.run("list", "-w").stdout
    # A running job is left alone, whatever the options.
    assert {action["action"] for action in shm.clean().values()} == {"left"}


def test_unwrapped_beside_a_job(shm, jacobi, background, juggle):
    held = background(shm.command([juggle, "-P", "observe", "--", *helpers.held_job()]),
                      stdin=subprocess.PIPE)
    helpers.wait_for(lambda: [e for e in shm.list() if e["threads"] == 3], "its threads are found", held)
    process = jacobi("-t", "1", "--balance", "none")
    job, progress = shm.list()
    assert (job["pid"], job["policy"], job["regime"]) == (held.pid, "observe", "aside")
    assert progress["pid"] == process.pid and progress["juggle_pid"] is None
    assert progress["balancing"] == "none"
    lines = shm.run("list").stdout.splitlines()
    assert " observe " in lines[1] and lines[2].startswith("%d " % process.pid)
    held.stdin.close()
    held.wait(timeout=helpers.TIMEOUT_S)
    assert [entry["pid"] for entry in shm.list()] == [process.pid]


def test_ranks(shm, jacobi, juggle):
    mpi.program("openmpi", "apps", "jacobi")
    jacobi("-t", "1", wrap=[juggle, "--", mpi.launcher("openmpi"), "-n", "2"], count=3,
           env=mpi.environment("openmpi"))
    job, *ranks = shm.list()
    assert "mpirun" in job["command"]
    assert sorted(rank["rank"] for rank in ranks) == [0, 1]
    assert {rank["juggle_pid"] for rank in ranks} == {job["pid"]}
    assert " RANK " in shm.run("list").stdout


# --- leftovers -----------------------------------------------------------------------

def test_killed(shm, jacobi, juggle):
    (shm.path / "somebody.else.1").write_bytes(b"x")
    alive = jacobi("-t", "1")
    process = jacobi("-t", "1", wrap=[juggle, "--"], count=2)
    balancer = helpers.wait_for_balancer(process)
    pids = [process.pid, balancer, helpers.job(process.pid), *helpers.children(balancer)]
    helpers.kill_at_once(lambda: pids)
    stale = {entry["pid"]: entry for entry in shm.list() if entry["state"] == "stale"}
    assert set(stale) == {pids[0], pids[2]}
    done = shm.run("list", "--all")
    assert done.returncode == 0 and done.stdout.count(" stale ") == 2
    assert done.stderr == "jugglectl list: 2 left by dead processes: remove them with jugglectl clean\n"
    done = shm.run("list")
    assert done.returncode == 0 and " stale " not in done.stdout and " runs " in done.stdout
    assert done.stderr == ("jugglectl list: 2 left by dead processes (--all lists them): "
                           "remove them with jugglectl clean\n")
    assert [entry["pid"] for entry in shm.list("-r")] == [alive.pid]

    before = shm.names()
    dry = shm.clean("-n")
    assert keys_of_page("jugglectl-clean.1", "RESULT FORMAT") == (
        set(next(iter(dry.values()))), {})
    gone = {"juggle.%d.%d" % (shm.uid, pids[0]), "progress.%d.%d" % (shm.uid, pids[2])}
    assert {name for name, o in dry.items() if o["action"] == "would_remove"} == gone
    assert shm.names() == before
    done = shm.run("clean")
    assert (done.returncode, done.stderr) == (0, "")
    for name in gone:
        assert "removed /dev/shm/%s\n" % name in done.stdout
    assert "left /dev/shm/progress.%d.%d: its process runs\n" % (shm.uid, alive.pid) in done.stdout
    assert done.stdout.splitlines()[-1].startswith("2 removed, ")
    assert shm.names() == before - gone
    assert shm.run("clean", "-q").stdout == "Nothing to remove.\n"
    assert shm.state(alive.pid) == "runs"


def test_pid_of_another_process_now(shm, sleeper):
    """It began a moment after the segment was made, so it is not the one that was killed."""
    before = time.monotonic_ns() - 20_000_000
    pid = sleeper()
    path = shm.segment(pid, progress_header(pid, created_ns=before))
    assert shm.state(pid) == "stale"
    assert shm.run("list").stdout == ""
    assert shm.clean()[path.name]["action"] == "removed"
    shm.segment(pid, progress_header(pid))
    assert shm.state(pid) == "runs"


def test_used_by_somebody(shm):
    """As a process in another PID namespace: nobody has the pid, but somebody has the file."""
    path = shm.segment(NO_SUCH_PID, progress_header(NO_SUCH_PID))
    with path.open("r+b"):
        assert shm.state(NO_SUCH_PID) == "unseen"
        assert shm.clean()[path.name]["action"] == "left"
        assert "another process uses it" in shm.run("clean").stdout
    assert shm.state(NO_SUCH_PID) == "stale"
    assert shm.clean()[path.name]["action"] == "removed"


@pytest.mark.needs_root
def test_another_pid_namespace(shm, background, jacobi, juggle):
    """Its juggle is number 1 there, and here that number is an ancestor of all processes."""
    unshare = shm.command(["unshare", "-p", "-f", "--mount-proc"])
    if helpers.run([*unshare, "true"]).returncode != 0:
        pytest.skip("no PID namespace")
    process = background([*unshare, juggle, "-P", "observe", "cat"], stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    helpers.wait_for(lambda: [e for e in shm.list() if e["job_pid"]], "it runs", process)
    alone = jacobi("-t", "1", count=0)
    progress = helpers.wait_for(lambda: [e for e in shm.list() if e["workers"]], "it publishes", alone)[0]
    assert progress["pid"] == alone.pid and progress["juggle_pid"] is None
    assert shm.state(1) == "unseen"
    assert shm.clean()["juggle.0.1"]["action"] == "left"
    helpers.kill_at_once(lambda: helpers.descendants(process.pid))
    assert shm.clean()["juggle.0.1"]["action"] == "removed"


@pytest.mark.needs_root
def test_cannot_be_removed(shm):
    path = shm.segment(NO_SUCH_PID)
    assert helpers.run(shm.command(["mount", "-o", "remount,ro", "/dev/shm"])).returncode == 0
    done = shm.run("clean", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["action"] == "failed"
    assert done.stderr.startswith("jugglectl clean: cannot remove /dev/shm/%s: Read-only" % path.name)
    assert done.stderr.count("\n") == 1
    assert shm.run("clean", "-n").returncode == 0


# --- other users ---------------------------------------------------------------------

@pytest.mark.needs_root
def test_other_users(shm, background, unprivileged, jugglectl, sleeper):
    if unprivileged.run([jugglectl, "--version"]).returncode != 0:
        pytest.skip("another user cannot run what was built here")
    held = background(shm.command(unprivileged.command([unprivileged.juggle, "-P", "observe", "cat"])),
                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    mine = shm.segment(NO_SUCH_PID)
    used = shm.segment(sleeper(), progress_header(1))
    helpers.wait_for(lambda: [e for e in shm.list() if e["job_pid"]], "it runs", held)
    # Root sees all; it may ask for one user's.
    job, = shm.list("-u", str(unprivileged.uid))
    assert (job["pid"], job["uid"], job["policy"]) == (held.pid, unprivileged.uid, "observe")
    assert [e["uid"] for e in shm.list("-u", "root")] == [0, 0]
    # They see their own, and that there are others.
    found = {e["path"]: e for e in shm.list(wrap=unprivileged.command)}
    assert found["/dev/shm/" + used.name]["state"] == "foreign"
    assert found["/dev/shm/" + used.name]["workers"] is None
    assert found[job["path"]]["policy"] == "observe"
    assert shm.run("list", wrap=unprivileged.command).stderr == "", "theirs is nothing to clean away"
    done = shm.clean(wrap=unprivileged.command)
    assert done[mine.name]["action"] == "left" and done[mine.name]["reason"] == "another user's"
    helpers.kill_at_once(lambda: helpers.session_members(held.pid))
    assert shm.state(held.pid) == "stale"
    assert shm.clean("-u", "root")[mine.name]["action"] == "removed"
    assert shm.names() == {used.name, Path(job["path"]).name}
    assert shm.clean()[Path(job["path"]).name]["action"] == "removed"


@pytest.mark.needs_root
def test_without_leases(shm, unprivileged):
    """Root of a container may lack CAP_LEASE, and cannot know who uses other users' leftovers."""
    wrap = lambda command: ["setpriv", "--bounding-set", "-lease", "--", *command]
    path = shm.path / ("progress.%d.%d" % (unprivileged.uid, NO_SUCH_PID))
    path.write_bytes(progress_header(NO_SUCH_PID))
    path.chmod(0o600)
    os.chown(path, unprivileged.uid, unprivileged.uid)
    mine = shm.segment(NO_SUCH_PID + 1)
    with path.open("r+b"):
        assert shm.clean(wrap=wrap)[path.name]["action"] == "left"
        assert not mine.exists(), "its owner can tell"
    assert shm.clean(wrap=wrap)[path.name]["state"] == "unseen"
    assert "may use it" in shm.run("clean", wrap=wrap).stdout
    assert shm.clean()[path.name]["action"] == "removed"


# --- hostile files -------------------------------------------------------------------

HOSTILE = {
    "empty": (b"", "starting"),
    "noise": (random.Random(1).randbytes(5000), "damaged"),
    "magic alone": (struct.pack("=Q", 0x53534552474F5250), "damaged"),
    "version": (lambda pid: progress_header(pid, version=3), "version"),
    "short": (lambda pid: progress_header(pid)[:-1], "damaged"),
    "too many": (lambda pid: progress_header(pid)[:24] + b"\xff" * 8 + progress_header(pid)[32:], "damaged"),
    "another's": (lambda pid: progress_header(pid + 1), "damaged"),
    "whole": (progress_header, "runs"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(shm, sleeper, name):
    content, state = HOSTILE[name]
    pid = sleeper()
    path = shm.segment(pid, content(pid) if callable(content) else content)
    assert shm.state(pid) == state
    done = shm.run("list")
    assert (done.returncode, done.stderr) == (0, "") and " %s " % state in done.stdout
    assert shm.clean()[path.name]["action"] == "left"
    if "JOB" in shm.run("stat", "--help").stdout and state not in ("runs", "starting"):
        refused(shm.run("stat", pid), 1, path.name)


@pytest.mark.needs_root
def test_names_that_others_took(shm, sleeper):
    for pid in (sleeper(), NO_SUCH_PID):
        os.chown(shm.segment(pid), helpers.NOBODY, -1)
    assert shm.list() == []


@pytest.mark.needs_root
def test_names_that_others_took_in_advance(shm, background, unprivileged):
    """Juggle and the program publish without a name, and are found all the same."""
    solver = [unprivileged.app("jacobi"), "-t", "2", "--grid", "40x40", "-n", "1000000000000"]
    command = unprivileged.command([unprivileged.juggle, "-q", "--always", *solver])
    process = background(shm.command(helpers.planted(command, unprivileged.uid, unprivileged.uid - 1, 500)),
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    find = lambda: [e for e in shm.list(wrap=unprivileged.command) if e["balancer_pid"]]
    progress, = helpers.wait_for(find, "juggle balances the program", process)
    job = one(shm.list(), "job")
    assert progress["juggle_pid"] == job["pid"] == process.pid
    assert (job["job_pid"], job["uid"], job["state"]) == (progress["pid"], unprivileged.uid, "runs")
    for entry in (job, progress):
        assert entry["path"].startswith("/proc/%d/fd/" % entry["pid"])
    assert shm.clean()[Path(job["path"]).name]["action"] == "left"
    done = shm.run("stat", progress["pid"], "--json", wrap=unprivileged.command)
    assert json.loads(done.stdout)["juggle_pid"] == job["pid"]
    helpers.kill_at_once(lambda: helpers.session_members(process.pid))
    assert shm.list() == []
    assert process.stderr.read() == ""


def test_other_kinds_of_files(shm, sleeper):
    pid = sleeper()
    path = shm.segment(pid)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert shm.state(pid) == "damaged"
    path.unlink()
    path.mkdir()
    assert shm.state(pid) == "damaged"
    path.rmdir()
    path.symlink_to("/etc/passwd")
    assert shm.state(pid) == "damaged"
    path.unlink()
    shm.segment(pid, progress_header(pid)).chmod(0o666)
    assert shm.state(pid) == "damaged"
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    # A symbolic link is removed itself, not its target.
    other = shm.path / "other"
    other.write_bytes(b"x")
    link = shm.segment(NO_SUCH_PID)
    link.unlink()
    link.symlink_to("other")
    assert shm.clean()[link.name]["action"] == "removed"
    assert other.exists() and not link.is_symlink()


def test_escape_sequences(shm, background, tmp_path):
    """A command may have any name; none of it reaches the terminal."""
    evil = tmp_path / "\033]0;evil\a\n\xff"
    evil.symlink_to("/bin/sleep")
    pid = background([evil, "600"]).pid
    helpers.wait_for(lambda: b"evil" in Path("/proc/%d/cmdline" % pid).read_bytes(), "it runs", pid)
    shm.segment(pid, progress_header(pid))
    done = shm.run("list", "-w")
    assert "]0;evil?" in done.stdout
    assert done.stdout.count("\n") == 2 and "\033" not in done.stdout and "\a" not in done.stdout


def test_many_random(shm):
    dice = random.Random(2)
    for i in range(200):
        pid = NO_SUCH_PID + i
        content = bytearray(progress_header(pid) if i % 2 else dice.randbytes(dice.randrange(9000)))
        for _ in range(dice.randrange(8) if content else 0):
            content[dice.randrange(len(content))] = dice.randrange(256)
        shm.segment(pid, bytes(content), kind=dice.choice(["progress", "juggle"]))
    assert [entry["state"] for entry in shm.list()] == ["stale"] * 200
    assert shm.run("list", "--all").stdout.count("\n") == 201
    done = shm.run("list")
    assert done.stdout == "" and done.stderr.count("\n") == 2
    assert "no job of juggle" in done.stderr and "200 left by dead processes (--all" in done.stderr
    assert {o["action"] for o in shm.clean().values()} == {"removed"}
    assert shm.names() == set()


def test_cut_while_read(shm, sleeper):
    pid = sleeper()
    content = progress_header(pid, workers=4, subdomains=1000)
    path = shm.segment(pid, content)
    stop = threading.Event()

    def cut():
        dice = random.Random(3)
        while not stop.is_set():
            with path.open("r+b") as file:
                file.truncate(dice.randrange(len(content)))
                file.seek(0)
                file.write(content)
    thread = threading.Thread(target=cut)
    thread.start()
    try:
        found = {shm.state(pid) for _ in range(20)}
    finally:
        stop.set()
        thread.join()
    assert found <= {"runs", "damaged", "starting"}
    assert shm.state(pid) == "runs"


def test_owner_dies_while_read(shm, background, app):
    """At any moment from its start on, a line may be missing, or in another state, but nothing
    fails."""
    for delay_s in (0, 0.005, 0.02, 0.05):
        process = background(
            shm.command([app("jacobi"), "-t", "1", "--grid", "8x8", "-n", "1000000000000"]),
            stdout=subprocess.DEVNULL)
        timer = threading.Timer(delay_s, process.kill)
        timer.start()
        while process.poll() is None:
            for entry in shm.list():
                assert entry["state"] in ("runs", "starting", "stale", "unseen")
        timer.join()
    assert {o["action"] for o in shm.clean().values()} <= {"removed"}
    assert shm.list() == []
