# SPDX-License-Identifier: MIT
"""The shared-memory segment: it exists while juggle runs, for its user alone, and is gone
afterwards."""
import os
import struct
import subprocess

import pytest

import helpers

# struct telemetry, from its beginning up to and including job_pid and state
HEAD = struct.Struct("=QIIQIIIIiiQQ256s16s16s16s16siI")
PROGRESS_AT = 3568  # of progress_bytes


@pytest.fixture
def running(juggle, background):
    """A juggle whose command ends with its standard input."""
    process = background([juggle, "-P", "observe", "cat"], stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL)
    helpers.wait_for_job(process)
    helpers.wait_for_telemetry(process)
    return process


def left_over():
    """Segments whose juggle is gone; others on this machine may be running."""
    return {name for name in os.listdir("/dev/shm")
            if name.startswith("juggle.") and not helpers.alive(int(name.rpartition(".")[2]))}


def test_name_mode_and_end(running):
    path = helpers.segment(running.pid)
    status = path.stat()
    assert status.st_mode & 0o7777 == 0o600
    assert status.st_uid == os.geteuid()
    running.stdin.close()
    assert running.wait(timeout=helpers.TIMEOUT_S) == 0
    assert not path.exists()


def test_contents(running):
    path = helpers.segment(running.pid)
    helpers.wait_for(lambda: HEAD.unpack(path.read_bytes()[:HEAD.size])[-1] == 1,
                     "the state is: running", running)
    data = path.read_bytes()
    (magic, version, header_bytes, total_bytes, cpu_bytes, thread_bytes, cpus, threads, pid,
     attached, realtime_ns, start_ns, command, policy, sampler, balancers, domains, job_pid,
     state) = HEAD.unpack(data[:HEAD.size])
    assert magic == 0x656C6767756A0A01
    assert version == 8
    progress_bytes, progress = struct.unpack_from("=II", data, PROGRESS_AT)
    assert total_bytes == len(data) == (
        header_bytes + cpus * cpu_bytes + threads * thread_bytes + progress * progress_bytes)
    assert pid == running.pid
    assert job_pid == helpers.job(running.pid)
    assert attached == 0
    assert command.rstrip(b"\0") == b"cat"
    assert policy.rstrip(b"\0") == b"observe"
    assert sampler.rstrip(b"\0") in (b"schedstat", b"taskstats", b"perf")
    assert balancers.rstrip(b"\0") == b"domain"
    assert domains.rstrip(b"\0") == b"split"
    assert state == 1
    assert realtime_ns > 10 ** 18 and start_ns > 0


@pytest.mark.needs_cpus(2)
@pytest.mark.parametrize("options, env, name, speeds", [
    (["--speeds", "2,1"], {}, "option", [1000, 500]),
    (["--speeds", "2x3"], {"JUGGLE_OPTIONS": "--speeds 1"}, "option", [1000, 1000]),
    ([], {"JUGGLE_OPTIONS": "--speeds 0.55,1"}, "option", [550, 1000]),
    ([], {}, None, None),
])
def test_speeds(juggle, background, options, env, name, speeds):
    cpus = helpers.cpus()[:2]
    process = background([juggle, "-c", "%d,%d" % tuple(cpus), *options, "cat"],
                         stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env)
    helpers.wait_for_job(process)
    path = helpers.segment(process.pid)
    helpers.wait_for(lambda: HEAD.unpack(path.read_bytes()[:HEAD.size])[-1] == 1,
                     "the state is: running", process)
    found, source = helpers.speeds(process.pid)
    assert list(found) == cpus
    if name is None:
        assert source in ("equal", "cpu_capacity", "CPU kinds", "CPPC", "frequency")
        assert max(found.values()) == 1000
    else:
        assert source == name
        assert list(found.values()) == speeds


def test_nothing_is_left_whatever_the_end(run_juggle):
    before = left_over()
    for command in (["true"], ["-v", "true"], ["sleep", "0.1"], ["no-such-command"], ["/"], ["sh", "-c", "kill -9 $$"],
                    ["-p", str(2 ** 22 + 1)], ["--sampler", "guess", "true"]):
        run_juggle(*command)
    assert left_over() <= before


@pytest.fixture
def run_with_shm(juggle, app, tmp_path):
    """Runs a command of three threads after a shell command that changes /dev/shm for it alone. Returns
    what juggle said, and the report."""
    def run(prepare):
        report = tmp_path / "r.json"
        done = helpers.run([
            *helpers.own_mounts(prepare), juggle, "--always", "--report", report, "--", app("ubench"), "-q", "-t", "3",
            "-e", "5ms", "-p", "500", "-b", "yield", "--rate", "100000"])
        assert done.returncode == 0, done.stderr
        return done.stderr, helpers.read_report(report)
    return run


@pytest.mark.parametrize("how", ["read-only", "full", "absent"])
def test_without_dev_shm(run_with_shm, how):
    """The run is otherwise normal, and a message reports it."""
    stderr, found = run_with_shm({
        "read-only": "mount -t tmpfs -o ro none /dev/shm",
        "full": "mount -t tmpfs -o size=4096 none /dev/shm",
        "absent": "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3",
    }[how])
    assert stderr.count("\n") == 1
    assert "/dev/shm cannot be used" in stderr
    assert found["balancer"] == "ended"
    assert found["threads"] == 3
    assert len(found["thread"]) >= 3


@pytest.mark.skipif(os.sysconf("SC_PAGESIZE") != 4096, reason="the room is counted in pages of 4 kB")
def test_dev_shm_without_room_for_threads(run_with_shm):
    """They are balanced all the same, in one of three runs at least: once there was no move, nobody knows why."""
    migrations = 0
    for _ in range(3):
        stderr, found = run_with_shm("mount -t tmpfs -o size=96k none /dev/shm")
        assert stderr == ""
        assert found["balancer"] == "ended"
        assert found["threads"] == 3
        assert found["thread"] == []
        assert found["threads_unlisted"] >= 3
        migrations += found["migrations"]
        if migrations > 0:
            break
    assert migrations > 0
