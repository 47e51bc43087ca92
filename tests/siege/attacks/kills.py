# SPDX-License-Identifier: MIT
"""Juggle's processes are killed."""

import contextlib
import os
import signal
import subprocess

import helpers
from attempt import STATUS, attack


def killed(attempt, attached, choose):
    """choose(job) gives the processes that are killed, while threads are born; then checks the job."""
    job = attempt.job(children=50, attached=attached)
    attempt.pause(0, 0.5)
    victims = choose(job)
    stopped = [pid for pid in victims if attempt.chance()]
    attempt.kill(*stopped, number=signal.SIGSTOP)  # the others can't react while those are killed
    attempt.kill(*victims)
    if {job.process.pid, job.balancer} & set(victims):
        job.is_released()
    job.end(-signal.SIGKILL if job.process.pid in victims else STATUS)


@attack
def keeper_killed(attempt):
    """The keeper is killed while threads are born"""
    killed(attempt, False, lambda job: [job.process.pid])


@attack
def balancer_killed(attempt):
    """The balancer is killed while threads are born"""
    killed(attempt, False, lambda job: [job.balancer])


@attack
def both_killed(attempt):
    """Keeper and balancer are killed while threads are born"""
    killed(attempt, False, lambda job: attempt.random.sample([job.process.pid, job.balancer], 2))


@attack
def guard_killed(attempt):
    """The guard of the masks is killed, and sometimes the keeper or the balancer, too"""
    killed(attempt, False, lambda job: job.guards + attempt.random.choice(
        ([], [job.process.pid], [job.balancer])))


@attack
def killed_under_load(attempt):
    """The keeper, the balancer or both are killed beside twenty busy threads on each CPU"""
    def choose(job):
        with contextlib.suppress(PermissionError):  # looking at masks must not take longer than giving them back
            os.setpriority(os.PRIO_PROCESS, 0, -15)
        return attempt.random.choice(([job.process.pid], [job.balancer], [job.process.pid, job.balancer]))

    attempt.start([helpers.app("noise"), "--pattern", "duty", "--period", "1s", "--busy", "1s", "--with-parent",
                   "-n", "40", "--cpu", ",".join(map(str, helpers.cpus()[:2]))], stdout=subprocess.DEVNULL)
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        killed(attempt, False, choose)
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


@attack
def attached_killed(attempt):
    """juggle -p is killed: its keeper, its balancer, or both"""
    killed(attempt, True, lambda job: attempt.random.choice(
        ([job.process.pid], [job.balancer], [job.process.pid, job.balancer])))


@attack
def keeper_killed_early(attempt):
    """The keeper is killed within the first milliseconds"""
    process = attempt.start([helpers.juggle_path(), "-q", "--always", "-i", "5ms", "--", *attempt.births(20)],
                            stdin=subprocess.PIPE)
    attempt.pause(0, 0.02)
    process.kill()
    process.wait()
    process.stdin.close()
    helpers.wait_for(lambda: not helpers.session_members(process.pid), "all processes end")
    helpers.wait_for(lambda: not helpers.segment(process.pid).exists(), "the segment is removed")
