# SPDX-License-Identifier: MIT
"""One try of an attack: its random numbers, its jobs, and what must be true of them.

An attack is a function in attacks/ that takes an Attempt, and has the decorator below. It fails by
AssertionError, and can't be made here when it raises pytest's Skipped. Its docstring starts with
what is attacked, in one line.
"""

import contextlib
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system")]

import helpers  # noqa: E402

STATUS = 7  # of the job
ATTACKS = {}


def attack(function):
    """Decorator: makes a function of attacks/ an attack, called by its own name."""
    ATTACKS[function.__name__] = function
    return function


def load():
    """{name: function} of all attacks."""
    for path in sorted((HERE / "attacks").glob("*.py")):
        importlib.import_module("attacks." + path.stem)
    return ATTACKS


def make(name, number, seed):
    """Makes one try. Returns how it went, "whole", "broken" or "skipped", why, and the longest time
    until masks were back, in seconds."""
    folder = tempfile.mkdtemp(prefix="siege.")
    attempt = Attempt(name, number, seed, folder)
    try:
        with attempt:
            ATTACKS[name](attempt)
        return "whole", "", attempt.recovery_s
    except pytest.skip.Exception as reason:
        return "skipped", str(reason), 0.0
    except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
        return "broken", "%s: %s" % (type(error).__name__, error), attempt.recovery_s
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Job:
    """Three busy threads and their children (births.c) on two CPUs, under juggle.

    .process is the Popen of juggle, .pid the job's process; .balancer is that process's pid.
    """

    def __init__(self, attempt, options, prefix, children, stay_ms, attached):
        self.attempt = attempt
        self.cpus = helpers.cpus()[:2]
        on_cpus = ["taskset", "-c", ",".join(map(str, self.cpus))]
        births = attempt.births(children, stay_ms)
        juggle = [helpers.juggle_path(), "-q", "--always", "-i", "5ms", *options]
        self.alone = None
        if attached:
            self.alone = attempt.start([*prefix, *on_cpus, *births], stdin=subprocess.PIPE)
            self.pid = helpers.wait_for(lambda: self.alone.pid if helpers.comm(self.alone.pid) == "births" else None,
                                        "the job has started", self.alone)
            self.process = attempt.start([*prefix, *on_cpus, *juggle, "-p", self.pid], stderr=subprocess.PIPE)
        else:
            self.process = attempt.start([*prefix, *on_cpus, *juggle, "--", *births], stdin=subprocess.PIPE,
                                         stderr=subprocess.PIPE)
            self.pid = helpers.wait_for_below(self.process, "births")
        self.balancer = helpers.wait_for_balancer(self.process)
        self.guards = helpers.children(self.balancer)

    def wait_until_pinned(self):
        helpers.wait_for(lambda: sum(len(mask) == 1 for mask in helpers.masks(self.pid).values()) >= 3,
                         "the busy threads are pinned", self.process)

    def runs(self):
        helpers.wait_for_progress(self.pid)

    def masks_left(self):
        """{thread: mask} of the job's threads whose masks aren't those of its start."""
        left = {}
        for pid in helpers.session_members((self.alone or self.process).pid):
            if helpers.comm(pid) != "births":
                continue
            for tid in helpers.threads(pid):
                with contextlib.suppress(ProcessLookupError):
                    mask = os.sched_getaffinity(tid)
                    if mask != set(self.cpus):
                        left[tid] = mask
        return left

    def is_released(self):
        """All threads get their masks back, and keep them."""
        begin = time.monotonic()
        try:
            helpers.wait_for(lambda: not self.masks_left(), "the masks are back", self.pid,
                             self.attempt.timeout_s)
        except AssertionError as error:
            raise AssertionError("%s: %s" % (error, self.masks_left())) from None
        self.attempt.recovery_s = max(self.attempt.recovery_s, time.monotonic() - begin)
        self.attempt.pause(0.2, 0.3)
        assert not self.masks_left(), "masks that were back are gone again: %s" % self.masks_left()

    def end(self, status=STATUS):
        """The job ends by itself; juggle, if it lives, passes on its status (0 where it was attached).
        Neither processes nor segments are left."""
        first = self.alone or self.process
        first.stdin.close()
        if self.alone:
            assert self.alone.wait(helpers.TIMEOUT_S) == STATUS
            status = 0 if status == STATUS else status
        found = self.process.wait(helpers.TIMEOUT_S)
        assert found == status, "juggle ended with status %d, not %d" % (found, status)
        self.nothing_left()

    def nothing_left(self):
        helpers.wait_for(lambda: not helpers.alive(self.pid), "the job ends")
        helpers.wait_for(lambda: not helpers.session_members(self.process.pid), "all processes end")
        helpers.wait_for(lambda: not helpers.segment(self.process.pid).exists(), "the segment is removed")


class Attempt:
    """.random has the try's random numbers; .folder is empty; .recovery_s is the longest time that
    masks took to come back, and .timeout_s the longest that they may."""

    def __init__(self, name, number, seed, folder):
        self.timeout_s = helpers.TIMEOUT_S
        self.random = random.Random("%s/%s/%d" % (seed, name, number))
        self.folder = Path(folder)
        self.recovery_s = 0.0
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            helpers.kill_session(process)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    pipe.close()
            process.wait()

    def start(self, command, **options):
        """Starts a command in a session of its own, which ends with the try."""
        self.started.append(helpers.start(command, **options))
        return self.started[-1]

    def births(self, children=0, stay_ms=-1):
        """The command line of the job."""
        return [helpers.built("tests/siege/births"), str(STATUS), str(children), str(stay_ms)]

    def job(self, *options, prefix=(), children=0, stay_ms=-1, attached=False):
        return Job(self, options, prefix, children, stay_ms, attached)

    def chance(self):
        return self.random.random() < 0.5

    def pause(self, least_s=0.0, most_s=0.3):
        time.sleep(self.random.uniform(least_s, most_s))

    def kill(self, *pids, number=signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def ends_as_alone(self, prefix, setup=None):
        """Where the job alone ends well, it does so under juggle; or juggle says in one line that
        it can't start. False: the job alone does not end well."""
        births = self.births(2)
        if helpers.run([*prefix, *births], preexec_fn=setup).returncode != STATUS:
            return False
        process = self.start([*prefix, helpers.juggle_path(), "--always", "-i", "5ms", "--", *births],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             preexec_fn=setup)
        self.pause(0.05, 0.3)
        process.stdin.close()
        status = process.wait(helpers.TIMEOUT_S)
        said = process.stderr.read()
        if status == 125:
            assert said.startswith("juggle: ") and said.count("\n") == 1, "it said: " + said
        else:
            assert status == STATUS, "status %d, and it said: %s" % (status, said)
        helpers.wait_for(lambda: not helpers.session_members(process.pid), "all processes end")
        return True
