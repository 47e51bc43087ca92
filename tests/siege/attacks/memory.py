# SPDX-License-Identifier: MIT
"""/dev/shm is full, missing, or full of what others put there."""

import os
import struct
import time

import pytest

import helpers
from attempt import STATUS, attack

UNUSABLE = {
    "full": "mount -t tmpfs -o size=4096 none /dev/shm",
    "small": "mount -t tmpfs -o size=64k none /dev/shm",
    "without inodes": "mount -t tmpfs -o nr_inodes=2 none /dev/shm",
    "read-only": "mount -t tmpfs -o ro none /dev/shm",
    "absent": "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/zero c 1 5",
    "not a folder of files": "mount -t proc none /dev/shm",
}


@attack
def unusable(attempt):
    """/dev/shm is full, small, read-only, absent, or something else"""
    how = attempt.random.choice(list(UNUSABLE))
    job = attempt.job(prefix=helpers.own_mounts(UNUSABLE[how]), children=10)
    attempt.pause()
    job.end()


@attack
def planted(attempt):
    """Another user has taken the names of the next processes in /dev/shm"""
    if os.geteuid() != 0:
        pytest.skip("only root can make files of another user")
    count = attempt.random.choice((200, 5000))
    prefix = helpers.own_mounts("mount -t tmpfs none /dev/shm && chmod 1777 /dev/shm")
    job = attempt.job(prefix=[*prefix, *helpers.planted([], 0, helpers.NOBODY, count)], children=10)
    job.wait_until_pinned()
    done = helpers.run(["nsenter", "-t", job.process.pid, "-m", "--", helpers.built("tools/jugglectl"), "list"])
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "%d/%d " % (job.process.pid, job.pid) in done.stdout, done.stdout
    job.end()


def scribble(attempt, path, seconds):
    """Random bytes at random places of a file, as its owner could write them."""
    deadline = time.monotonic() + seconds
    with open(path, "r+b", buffering=0) as file:
        while time.monotonic() < deadline:
            file.seek(attempt.random.randrange(os.fstat(file.fileno()).st_size or 1))
            file.write(attempt.random.randbytes(attempt.random.choice((1, 4, 8, 64))))


def look(job):
    """What users may ask for meanwhile: an answer, or one line that says why not."""
    for command in (["list"], ["stat", job.process.pid], ["stat", job.pid]):
        done = helpers.run([helpers.built("tools/jugglectl"), *command, "--json"])
        assert done.returncode in (0, 1) and done.stderr.count("\n") <= 1, done


@attack
def torn(attempt):
    """Random bytes are written into the telemetry segment of a running juggle"""
    job = attempt.job(children=10)
    for _ in range(3):
        scribble(attempt, helpers.segment(job.process.pid), 0.05)
        look(job)
    job.end()


@attack
def forged(attempt):
    """The job publishes a progress segment of random content"""
    path = "/dev/shm/progress.%d." % os.geteuid()
    solver = attempt.start([helpers.app("jacobi"), "-q", "-t", "2", "-n", "1000000000", "-s", "64"])
    real = path + str(solver.pid)
    helpers.wait_for(lambda: os.path.getsize(real) > 0, "the solver publishes", solver)
    with open(real, "rb") as file:
        content = file.read()
    job = attempt.job(children=10)
    content = content.replace(struct.pack("<I", solver.pid), struct.pack("<I", job.pid), 1)
    try:
        with open(path + str(job.pid), "wb") as file:
            file.write(content)
        for _ in range(3):
            look(job)
            scribble(attempt, path + str(job.pid), 0.1)
        job.end()
    finally:
        os.unlink(path + str(job.pid))
