# SPDX-License-Identifier: MIT
"""The command sees what it would see without juggle: streams, descriptors, environment, signal mask
and dispositions, limits, priority."""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

import pytest

import helpers

# What a process inherits, as JSON; descriptors as the files they refer to.
SHOW = r"""
import json, os, resource, signal
status = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status"))
fds = {}
for name in os.listdir("/proc/self/fd"):
    try:
        fds[name] = os.readlink("/proc/self/fd/" + name)
    except OSError:
        pass  # of the listing itself
print(json.dumps({
    "fds": fds, "environment": dict(os.environ), "directory": os.getcwd(),
    "umask": status["Umask"],
    "blocked": status["SigBlk"], "ignored": status["SigIgn"], "caught": status["SigCgt"],
    "no_new_privs": status.get("NoNewPrivs"),
    "limits": {str(n): resource.getrlimit(n) for n in range(16)},
    "nice": os.nice(0), "policy": os.sched_getscheduler(0),
    "session": os.getsid(0), "group": os.getpgid(0),
    "mask": status["Cpus_allowed_list"],
    "slack": open("/proc/self/timerslack_ns").read(),
    "oom": open("/proc/self/oom_score_adj").read(),
}))
"""


def shown(prefix, prepare=None, **options):
    """What SHOW prints when run by the prefix, in a child that prepare() has set up."""
    command = [*prefix, "/usr/bin/python3", "-S", "-c", SHOW]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                               preexec_fn=prepare, **options)
    try:
        out, _ = process.communicate(timeout=helpers.TIMEOUT_S)
    except subprocess.TimeoutExpired:
        for pid in [process.pid, *helpers.descendants(process.pid)]:
            os.kill(pid, signal.SIGKILL)
        process.communicate()
        raise AssertionError("juggle does not end") from None
    assert process.returncode == 0
    return json.loads(out)


def compare(juggle, prepare=None, **options):
    plain = shown([], prepare, **options)
    wrapped = shown([juggle], prepare, **options)
    for found in (plain, wrapped):  # each run has a pipe of its own
        assert found["fds"].pop("1").startswith("pipe:")
        # The folder that lists the descriptors is itself open, with a number that varies.
        found["fds"] = {fd: target for fd, target in found["fds"].items()
                        if not target.startswith("/proc/")}
    assert wrapped == plain


def test_nothing_of_juggle_is_inherited(juggle):
    compare(juggle)


def test_callers_descriptors_are(juggle):
    with tempfile.TemporaryFile() as file:
        os.set_inheritable(file.fileno(), True)
        compare(juggle, pass_fds=[file.fileno()])


def test_blocked_and_ignored_signals_are(juggle):
    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGRTMIN + 3):
            signal.signal(number, signal.SIG_IGN)
    compare(juggle, prepare)


def test_ignored_sigchld_is(juggle):
    compare(juggle, lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))


def test_limits_priority_and_umask_are(juggle):
    def prepare():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 1024))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(1)
        os.umask(0o37)
    compare(juggle, prepare)


def test_variables_of_juggle_reach_the_command(run_juggle):
    done = run_juggle("sh", "-c", "echo $JUGGLE_OPTIONS", env={"JUGGLE_OPTIONS": "-q -i 5ms"})
    assert done.stdout == "-q -i 5ms\n"


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_closed_streams_stay_closed_and_harm_nothing(juggle, app, closed, tmp_path):
    def prepare():
        for fd in closed:
            os.close(fd)

    def opened(prefix):
        script = "ls -l /proc/$$/fd > %s; exec %s -q -t 3 -e 5ms -p 100 --rate 100000 --json %s" % (
            tmp_path / "fds", app("ubench"), tmp_path / "out.json")
        process = subprocess.Popen([*prefix, "sh", "-c", script], preexec_fn=prepare,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            assert process.wait(timeout=helpers.TIMEOUT_S) == 0
        finally:
            helpers.kill_session(process)
        lines = (tmp_path / "fds").read_text().splitlines()
        return sorted(line.partition(":")[2][3:] for line in lines if " -> " in line)

    report = tmp_path / "r.json"
    assert opened([juggle, "--always", "--report", report, "--"]) == opened([])
    found = helpers.read_report(report)
    assert found["balancer"] == "ended"
    assert found["threads"] >= 1, "nobody looked for threads"


def test_binary_data_passes_unchanged(juggle):
    data = bytes(range(256)) * 4096 + os.urandom(65536)
    done = subprocess.run([juggle, "cat"], input=data, capture_output=True,
                          timeout=helpers.TIMEOUT_S, check=False)
    assert done.returncode == 0
    assert done.stdout == data
    assert done.stderr == b""


def test_standard_error_is_the_commands(run_juggle):
    done = run_juggle("sh", "-c", "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_the_reader_of_the_output_sees_its_end(juggle):
    """A balancer that kept the pipe open would keep the reader waiting."""
    done = subprocess.run(
        ["sh", "-c", '"$0" sh -c "echo one; sleep 0.1; echo two" | cat; echo end', juggle],
        capture_output=True, text=True, timeout=helpers.TIMEOUT_S, check=False)
    assert done.stdout == "one\ntwo\nend\n"


def test_a_broken_pipe_is_the_commands_own(juggle):
    done = subprocess.run(
        ["sh", "-c", '{ "$0" yes; echo $? >&2; } | head -n 1', juggle],
        capture_output=True, text=True, timeout=helpers.TIMEOUT_S, check=False)
    assert done.stdout == "y\n"
    assert done.stderr == "%d\n" % (128 + signal.SIGPIPE)


def test_the_callers_interpreter_is_unharmed():
    """These tests use preexec_fn, which is only safe in programs without threads."""
    assert len(helpers.threads(os.getpid())) == 1, sys.modules
