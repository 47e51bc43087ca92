# SPDX-License-Identifier: MIT
"""Signals: storms of them, stops, and terminals that hang up."""

import contextlib
import signal

import helpers
from attempt import STATUS, attack
from terminal import Terminal

HARMLESS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO,
            signal.SIGPIPE, signal.SIGURG, signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT)
FATAL = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@attack
def storm(attempt):
    """Signals that the job ignores, hundreds, to all of its and juggle's processes"""
    job = attempt.job(children=30)
    job.wait_until_pinned()  # it has begun to ignore them
    everybody = [job.process.pid, job.balancer, *job.guards, job.pid]
    for _ in range(300):
        attempt.kill(attempt.random.choice(everybody), number=attempt.random.choice(HARMLESS))
        attempt.pause(0, 0.001)
    assert helpers.alive(job.process.pid) and helpers.alive(job.pid)
    job.end()


@attack
def stops(attempt):
    """Any of the processes is stopped for a while, time and again"""
    job = attempt.job(children=30)
    for _ in range(5):
        victim = attempt.random.choice([job.process.pid, job.balancer, *job.guards, job.pid])
        attempt.kill(victim, number=signal.SIGSTOP)
        attempt.pause(0, 0.1)
        attempt.kill(victim, number=signal.SIGCONT)
    job.end()


@attack
def ended(attempt):
    """A signal that ends the job is sent to juggle"""
    job = attempt.job(children=20)
    attempt.pause()
    number = attempt.random.choice(FATAL)
    job.process.send_signal(number)
    found = job.process.wait(helpers.TIMEOUT_S)
    assert found == 128 + number, "juggle ended with status %d after signal %d" % (found, number)
    job.nothing_left()


@attack
def ended_attached(attempt):
    """juggle -p is told to end"""
    job = attempt.job(children=20, attached=True)
    attempt.pause()
    job.process.send_signal(attempt.random.choice((signal.SIGTERM, signal.SIGINT)))
    found = job.process.wait(helpers.TIMEOUT_S)
    assert found == 0, "juggle ended with status %d" % found
    job.is_released()
    job.end()


@attack
def hang_up(attempt):
    """The terminal goes away; juggle leads its session, or a shell does"""
    juggle = [helpers.juggle_path(), "--always", "-i", "5ms", "--", *attempt.births(20)]
    prefix = attempt.random.choice(([], ["bash", "-c", 'exec "$@"', "bash"], ["bash", "-c", '"$@"; true', "bash"],
                                    ["bash", "-i", "-c", '"$@"; true', "bash"]))
    screen = Terminal([*prefix, *juggle])
    with contextlib.closing(screen):
        helpers.wait_for_below(screen.process, "births")
        attempt.pause()
        below = [screen.process.pid, *helpers.descendants(screen.process.pid)]
        screen.hang_up()
        screen.process.wait(helpers.TIMEOUT_S)
        helpers.wait_for(lambda: not any(map(helpers.alive, below)), "all processes end")
        for pid in below:
            assert not helpers.segment(pid).exists(), "its segment is left"
