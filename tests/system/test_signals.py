# SPDX-License-Identifier: MIT
"""Signals sent to juggle reach the command once each; with -p they end juggle alone."""
import os
import signal
import subprocess

import pytest

import helpers

pytestmark = pytest.mark.beside

# Prints each signal that it gets; SIGUSR2 ends it.
LISTENER = r"""
import signal, sys
signals = set(range(1, signal.SIGRTMAX + 1)) - {signal.SIGKILL, signal.SIGSTOP}
signal.pthread_sigmask(signal.SIG_BLOCK, signals - {32, 33})
print("ready", flush=True)
while True:
    number = signal.sigwaitinfo(signals - {32, 33, signal.SIGCHLD}).si_signo
    if number == signal.SIGUSR2:
        sys.exit(5)
    print(number, flush=True)
"""


@pytest.fixture
def listener(juggle, background):
    process = background([juggle, "/usr/bin/python3", "-S", "-c", LISTENER],
                         stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [
    signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
    signal.SIGALRM, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT, signal.SIGPIPE,
    signal.SIGRTMIN + 5], ids=str)
def test_is_passed_on_once(listener, number):
    listener.send_signal(number)
    assert listener.stdout.readline() == "%d\n" % number
    listener.send_signal(signal.SIGUSR2)
    assert listener.stdout.read() == ""
    assert listener.wait(timeout=helpers.TIMEOUT_S) == 5


def test_many(listener):
    for _ in range(50):
        listener.send_signal(signal.SIGUSR1)
        assert listener.stdout.readline() == "%d\n" % signal.SIGUSR1
    listener.send_signal(signal.SIGUSR2)
    assert listener.wait(timeout=helpers.TIMEOUT_S) == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                                    signal.SIGUSR1, signal.SIGKILL], ids=str)
def test_death_by_signal_is_128_plus_n(juggle, background, number):
    process = background([juggle, "sh", "-c", "echo ready; exec sleep 100"],
                         stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    if number == signal.SIGKILL:
        os.kill(helpers.wait_for_job(process), number)
    else:
        process.send_signal(number)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 128 + number


def test_command_that_is_stopped_alone_continues_alone(juggle, background):
    process = background([juggle, "sh", "-c", "echo ready; kill -STOP $$; exit 6"],
                         stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    job = helpers.wait_for_job(process)
    helpers.wait_for(lambda: helpers.status(job)["State"][0] == "T", "the command is stopped", process)
    assert helpers.status(process.pid)["State"][0] != "T"
    os.kill(job, signal.SIGCONT)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 6


@pytest.fixture
def attached(juggle, background):
    """attached(PREPARE) is (job, juggle): a job and a juggle that is attached to it."""
    def start(prepare=None):
        job = background(["sleep", "100"])
        process = background([juggle, "-p", job.pid], preexec_fn=prepare)
        # It handles its signals once the balancer exists.
        helpers.wait_for_balancer(process)
        return job, process
    return start


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                                    signal.SIGQUIT], ids=str)
def test_detaches(attached, number):
    job, process = attached()
    process.send_signal(number)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert job.poll() is None


def test_attached_under_nohup_stays(attached):
    """A signal that the caller has made juggle ignore is ignored."""
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    job, process = attached(ignore)
    # Of these, juggle closes the pipe to the balancer first when it releases the job.
    kept = helpers.descriptors(process.pid)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)

    def asleep():
        status = helpers.status(process.pid)
        return int(status["ShdPnd"], 16) == 0 and status["State"][0] in "SZ"
    helpers.wait_for(asleep, "the signals are dealt with")
    assert helpers.alive(process.pid), "it released the job"
    assert helpers.descriptors(process.pid) == kept, "it releases the job"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert job.poll() is None


def test_attached_ends_with_the_job(attached):
    job, process = attached()
    job.kill()
    job.wait(timeout=helpers.TIMEOUT_S)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0


# As a shell does: a group of its own, whose parent is in the same session, so that it can be stopped.
SHELL = "import os, subprocess, sys; sys.exit(subprocess.run(sys.argv[1:], preexec_fn=os.setpgrp).returncode)"


def test_stopped_before_the_command_begins(juggle, background):
    """A Ctrl-Z while PATH is searched stops both or neither: juggle may not wait for a process that has stopped."""
    slow = ":".join(["/"] * 60000)  # to search
    shell = background(["/usr/bin/python3", "-c", SHELL, juggle, "sh", "-c", "exit 3"],
                       env={**os.environ, "PATH": slow + ":" + os.environ["PATH"]})
    pid, = helpers.wait_for(lambda: helpers.children(shell.pid), "juggle has begun", shell, interval_s=0.001)
    helpers.wait_for(lambda: helpers.children(pid), "the command's process has begun", shell, interval_s=0.001)
    os.killpg(pid, signal.SIGTSTP)
    helpers.wait_for(lambda: shell.poll() is not None or helpers.status(pid).get("State", "").startswith("T"),
                     "the shell can go on")
    if shell.returncode is None:
        os.killpg(pid, signal.SIGCONT)
    assert shell.wait(timeout=helpers.TIMEOUT_S) == 3
