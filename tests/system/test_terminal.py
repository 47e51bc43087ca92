# SPDX-License-Identifier: MIT
"""The terminal belongs to the command: keys, job control and window sizes work as if juggle were
not there. Uses a pseudo-terminal."""
import fcntl
import os
import re
import signal
import struct
import subprocess
import termios

import pytest

import helpers
from terminal import Terminal

pytestmark = pytest.mark.beside


@pytest.fixture
def terminal():
    opened = []

    def open_terminal(command, **options):
        opened.append(Terminal(command, **options))
        return opened[-1]
    yield open_terminal
    for each in opened:
        each.close()


COUNTER = r"""
import signal, sys
signals = {signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
while True:
    number = signal.sigwaitinfo(signals).si_signo
    if number == signal.SIGUSR1:
        break
    print("got", int(number), flush=True)
print("over", flush=True)
"""


@pytest.mark.parametrize("key, number", [("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)],
                         ids=["ctrl-c", "ctrl-backslash"])
def test_a_key_reaches_the_command_exactly_once(terminal, juggle, key, number):
    screen = terminal([juggle, "/usr/bin/python3", "-S", "-c", COUNTER])
    screen.expect("ready")
    for _ in range(3):
        screen.type(key)
        screen.expect("got %d" % number)
    # No other signal follows: juggle passes on signals in order.
    os.kill(screen.process.pid, signal.SIGUSR1)
    screen.expect("over")
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) == 0


def test_ctrl_c_kills(terminal, juggle):
    screen = terminal([juggle, "sh", "-c", "echo ready; exec sleep 100"])
    screen.expect("ready")
    screen.type("\x03")
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) == 128 + signal.SIGINT


def test_window_size_reaches_the_command_once(terminal, juggle):
    screen = terminal([juggle, "/usr/bin/python3", "-S", "-c", COUNTER])
    screen.expect("ready")
    fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    screen.expect("got %d" % signal.SIGWINCH)
    os.kill(screen.process.pid, signal.SIGUSR1)
    screen.expect("over")


@pytest.mark.parametrize("wrapper", [[], ["bash", "-c", 'exec "$@"', "bash"],
                                     ["bash", "-c", '"$@"; true', "bash"]],
                         ids=["leader", "exec", "shell"])
def test_hangup_ends_the_job(terminal, juggle, wrapper):
    screen = terminal([*wrapper, juggle, "sh", "-c", "echo ready; sleep 100"])
    screen.expect("ready")
    below = helpers.descendants(screen.process.pid)
    screen.hang_up()
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) in (-signal.SIGHUP,
                                                              128 + signal.SIGHUP)
    for pid in below:
        helpers.wait_for(lambda pid=pid: not helpers.alive(pid), "process %d ends" % pid)


def test_hangup_ends_a_stopped_job(terminal, juggle):
    screen = terminal([juggle, "sh", "-c", "echo ready; kill -STOP $$; sleep 100"])
    screen.expect("ready")
    job = helpers.job(screen.process.pid)
    helpers.wait_for(lambda: helpers.status(job)["State"][0] == "T", "the job stops")
    screen.hang_up()
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) == 128 + signal.SIGHUP


def test_hangup_that_the_job_outlives(terminal, juggle, tmp_path):
    screen = terminal([juggle, "sh", "-c", "trap 'echo hangup > %s/out; exit 3' HUP; echo ready; "
                       "while :; do sleep 0.1; done" % tmp_path])
    screen.expect("ready")
    screen.hang_up()
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) == 3
    assert (tmp_path / "out").read_text() == "hangup\n"


def test_isatty_and_reading(terminal, juggle):
    screen = terminal([juggle, "sh", "-c",
                       "test -t 0 && test -t 1 && test -t 2 && echo tty; "
                       'read line; echo "line: $line"'])
    screen.expect("tty")
    screen.type("hello\n")
    screen.expect("line: hello")
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) == 0


def test_ctrl_z_and_fg_under_a_shell(terminal, juggle):
    screen = terminal(["bash", "--norc", "--noprofile", "-i"])
    screen.type("echo re''ady\n")
    screen.expect("ready")
    screen.type("'%s' sh -c 'echo star''ted; read line; echo \"li''ne: $line\"; exit 9'\n"
                % juggle)
    screen.expect("started")
    screen.type("\x1a")
    screen.expect("Stopped")
    outer = helpers.children(screen.process.pid)[0]
    assert helpers.status(outer)["State"][0] == "T"
    assert helpers.status(helpers.job(outer))["State"][0] == "T"
    screen.type("fg\n")
    helpers.wait_for(lambda: helpers.status(outer)["State"][0] != "T", "juggle continues")
    screen.type("again\n")
    screen.expect("line: again")
    screen.type("echo sta''tus $?\n")
    screen.expect("status 9")
    screen.type("exit\n")
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) == 0


def test_ctrl_z_and_sigcont_to_juggle_alone(terminal, juggle):
    screen = terminal(["bash", "--norc", "--noprofile", "-i"])
    screen.type("'%s' sh -c 'echo star''ted; exec sleep 0.3'\n" % juggle)
    screen.expect("started")
    screen.type("\x1a")
    screen.expect("Stopped")
    outer = helpers.children(screen.process.pid)[0]
    os.kill(outer, signal.SIGCONT)
    helpers.wait_for(lambda: not helpers.alive(outer), "the command continues and ends")


def test_background_job_that_reads_stops(terminal, juggle):
    screen = terminal(["bash", "--norc", "--noprofile", "-i"])
    screen.type("'%s' cat &\n" % juggle)
    outer = helpers.wait_for(
        lambda: [pid for pid in helpers.children(screen.process.pid)
                 if helpers.status(pid)["State"][0] == "T"], "juggle stops")[0]
    assert helpers.status(helpers.job(outer))["State"][0] == "T"
    screen.type("fg\n")
    helpers.wait_for(lambda: helpers.status(outer)["State"][0] != "T", "juggle continues")
    screen.type("hello\n\x04")
    screen.expect("hello")
    helpers.wait_for(lambda: not helpers.alive(outer), "cat ends")


def test_nohup_outlives_the_terminal(terminal, juggle, tmp_path):
    pids = tmp_path / "pids"
    screen = terminal(["bash", "--norc", "--noprofile", "-i"])
    screen.type("cd '%s'; nohup '%s' sh -c 'echo $$ > pids; exec sleep 100' &\n"
                % (tmp_path, juggle))
    job = int(helpers.wait_for(lambda: pids.exists() and pids.read_text().strip(), "the job"))
    outer = int(helpers.status(job)["PPid"])
    helpers.wait_for(lambda: helpers.comm(job) == "sleep", "the job is executed")
    os.kill(screen.process.pid, signal.SIGHUP)  # an interactive bash passes it to its jobs
    screen.process.wait(timeout=helpers.TIMEOUT_S)
    os.kill(outer, signal.SIGHUP)
    os.kill(outer, signal.SIGUSR1)  # follows, and ends the command
    helpers.wait_for(lambda: not helpers.alive(job), "the job ends")
    assert "SIGHUP" not in (tmp_path / "nohup.out").read_text()


def test_ctrl_c_lets_go_of_an_attached_job(terminal, juggle, background):
    job = background(["sleep", "100"])
    screen = terminal([juggle, "-p", job.pid])
    helpers.wait_for_balancer(screen.process)
    screen.type("\x03")
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert job.poll() is None


# --- the line at the end -----------------------------------------------------------------

LONG = ["sh", "-c", "echo ready; sleep 1.1; echo over"]
LINE = "juggle: stood aside for 100 % of "


def ended(screen):
    """What it showed, once it has ended."""
    text = screen.rest()
    assert screen.process.wait(timeout=helpers.TIMEOUT_S) == 0
    return text.replace("\r", "").splitlines()


@pytest.fixture(scope="module")
def after_long(juggle, background_of_module, tmp_path_factory):
    """The lines that LONG has shown on a terminal, by juggle's options; "2>" with standard error in a file,
    "2> file" what is in it then, and "| OPTIONS" what comes on standard error where no terminal is. All run at
    once, as each takes a second."""
    errors = tmp_path_factory.mktemp("long") / "errors"
    screens = {options: Terminal([juggle, *options.split(), *LONG]) for options in ("", "-q", "-P observe", "-P static")}
    screens["2>"] = Terminal(["sh", "-c", '"$0" "$@" 2>%s' % errors, juggle, *LONG])
    piped = {options: background_of_module([juggle, *options.split(), *LONG], stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE) for options in ("", "-v")}
    try:
        shown = {options: ended(screen) for options, screen in screens.items()}
        shown["2> file"] = errors.read_text("utf-8").splitlines()
        for options, process in piped.items():
            out, err = process.communicate(timeout=helpers.TIMEOUT_S)
            assert (process.returncode, out) == (0, "ready\nover\n")
            shown["| " + options] = err.splitlines()
        return shown
    finally:
        for screen in screens.values():
            screen.close()


def test_a_line_says_what_it_did(after_long):
    first, second, line = after_long[""]
    assert (first, second) == ("ready", "over")
    assert re.fullmatch(re.escape(LINE) + r"[0-9.]+ s: (no thread computed|fewer compute threads than CPUs|starting|"
                        r"one CPU, one for each thread, or threads that Linux balances well)", line)


@pytest.mark.parametrize("options", ["-q", "-P observe", "-P static"])
def test_no_line_without_need(after_long, options):
    assert after_long[options] == ["ready", "over"]


def test_no_line_after_a_moment(terminal, juggle):
    assert ended(terminal([juggle, "echo", "over"])) == ["over"]


def test_the_line_is_for_terminals(after_long):
    assert after_long["| "] == []
    assert (after_long["2>"], after_long["2> file"]) == (["ready", "over"], [])
    first, *_, last = after_long["| -v"]
    assert first == "juggle: " + " ".join(LONG) and last.startswith(LINE)


@pytest.mark.alone
@pytest.mark.needs_cpus(2)
def test_a_line_says_how_much_it_balanced(terminal, juggle, app):
    two = "%d,%d" % tuple(helpers.cpus()[:2])
    screen = terminal([juggle, "-c", two, "--always", app("ubench"), "-q", "-t", "3", "-p", "100", "-e", "10ms"])
    line = ended(screen)[-1]
    assert re.fullmatch(r"juggle: [3-9] threads on 2 CPUs, balanced for \d+ % of [0-9.]+ s by \d+ moves"
                        r"( \(as the options want it\)|; pinned it would have taken at least [0-9.]+ times as long)",
                        line), line
