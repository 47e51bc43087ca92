# SPDX-License-Identifier: MIT
"""CPUs come and go, or can't be used for a while."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

import helpers
from attempt import STATUS, attack


def may_kill(attempt, job):
    """Half of the time the keeper or the balancer is killed: the status that juggle ends with."""
    victim = attempt.random.choice([None, None, job.process.pid, job.balancer])
    if victim:
        attempt.kill(victim)
    return -signal.SIGKILL if victim == job.process.pid else STATUS


@contextlib.contextmanager
def switch_of(cpu):
    """The file that takes a CPU offline; it is online again afterwards."""
    file = Path("/sys/devices/system/cpu/cpu%d/online" % cpu)
    own = os.sched_getaffinity(0)
    if not os.access(file, os.W_OK):
        pytest.skip("%s can't be written" % file)
    try:
        yield file
    finally:
        file.write_text("1")
        os.sched_setaffinity(0, own)  # in case the kernel has rewritten it


@attack
def hotplug(attempt):
    """One of the CPUs goes offline and comes back, time and again"""
    job = attempt.job(children=30)
    with switch_of(job.cpus[1]) as file:
        for _ in range(attempt.random.randint(1, 5)):
            file.write_text("0")
            attempt.pause(0, 0.2)
            file.write_text("1")
            attempt.pause(0, 0.2)
        status = may_kill(attempt, job)
    job.attempt.pause()
    if status != STATUS:
        job.is_released()
    job.end(status)


def cpuset_changes(attempt, processes):
    """A cpuset shrinks and grows around processes(job)."""
    with helpers.cgroup("cpuset") as group:
        cpus = group / "cpuset.cpus"
        whole = ",".join(map(str, helpers.cpus()))
        (group / "cpuset.mems").write_text((group.parent / "cpuset.mems").read_text())
        cpus.write_text(whole)
        job = attempt.job(children=30)
        for pid in processes(job):
            (group / "cgroup.procs").write_text(str(pid))
        for _ in range(attempt.random.randint(1, 3)):
            cpus.write_text(str(attempt.random.choice(job.cpus)))
            attempt.pause(0, 0.5)
            cpus.write_text(whole)
            attempt.pause(0, 0.2)
        job.runs()
        job.end(may_kill(attempt, job))


@attack
def cpuset_of_job(attempt):
    """The job's own cpuset shrinks to one CPU and grows, time and again"""
    cpuset_changes(attempt, lambda job: [job.pid])


@attack
def cpuset_of_both(attempt):
    """The cpuset of the job and of juggle shrinks to one CPU and grows, time and again"""
    cpuset_changes(attempt, lambda job: [job.pid, job.process.pid, job.balancer, *job.guards])


@attack
def quota(attempt):
    """The job, or juggle, or both may use only a part of the CPUs, which changes"""
    with helpers.cgroup("cpu") as group:
        job = attempt.job(children=20)
        for pid in attempt.random.choice(([job.pid], [job.balancer], [job.pid, job.balancer, job.process.pid])):
            (group / "cgroup.procs").write_text(str(pid))
        for _ in range(4):
            (group / "cpu.cfs_quota_us").write_text(str(attempt.random.choice((-1, 2000, 10000, 50000, 150000))))
            attempt.pause(0, 0.2)
        (group / "cpu.cfs_quota_us").write_text("-1")
        job.end(may_kill(attempt, job))


@attack
def frozen(attempt):
    """The job, the balancer or the keeper is frozen and thawed, time and again"""
    with helpers.cgroup("freezer") as group:
        job = attempt.job(children=20)
        (group / "cgroup.procs").write_text(str(attempt.random.choice([job.pid, job.balancer, job.process.pid])))
        try:
            for _ in range(3):
                (group / "freezer.state").write_text("FROZEN")
                attempt.pause(0, 0.2)
                (group / "freezer.state").write_text("THAWED")
                attempt.pause(0, 0.1)
        finally:
            (group / "freezer.state").write_text("THAWED")
        job.end(may_kill(attempt, job))


@attack
def rival(attempt):
    """Somebody else sets the masks of the job's threads, time and again"""
    job = attempt.job(children=20)
    for _ in range(200):
        for tid in helpers.threads(job.pid)[:4]:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(tid, attempt.random.sample(job.cpus, attempt.random.randint(1, 2)))
        attempt.pause(0, 0.002)
    job.runs()
    job.end(may_kill(attempt, job))


@attack
def churn(attempt):
    """Threads and processes are born and end without a pause"""
    job = attempt.job(children=-1, stay_ms=attempt.random.choice((0, 1, 10, 100)))
    attempt.pause(0.2, 0.6)
    status = may_kill(attempt, job)
    if status != STATUS:
        job.is_released()
    job.end(status)
