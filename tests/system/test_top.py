# SPDX-License-Identifier: MIT
"""jugglectl top on pseudo-terminals. tests/unit/tools/top/test_screen.c tests the contents of
screens."""
import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios

import pytest

import helpers
from test_terminal import Terminal

pytestmark = pytest.mark.beside

ENTER_SCREEN, LEAVE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
XTERM = {"TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": ""}


@pytest.fixture(scope="module", autouse=True)
def built_with_ncurses(jugglectl):
    said = helpers.run([jugglectl, "top", "1"]).stderr
    if "built without ncurses" in said:
        pytest.skip(said.strip())


@pytest.fixture
def terminal():
    opened = []

    def open_terminal(command, **env):
        opened.append(Terminal(command, env={**XTERM, **env}))
        return opened[-1]
    yield open_terminal
    for each in opened:
        each.close()


def start_job(background, juggle, threads=3):
    """A wrapped job that computes until its standard input ends: (Popen, pid of ubench)."""
    job = background([juggle, "-q", "-P", "static", "--", *helpers.held_job(threads)], stdin=subprocess.PIPE)
    pid = helpers.wait_for_below(job, "ubench")
    helpers.wait_for(lambda: helpers.is_pinned(pid, threads), "juggle knows its threads", job)
    return job, pid


@pytest.fixture
def job(background, juggle):
    return start_job(background, juggle)


def expect_redrawn(screen, text):
    """Waits for text on the whole screen; otherwise only changes are written."""
    def redrawn():
        os.kill(screen.process.pid, signal.SIGCONT)
        while select.select([screen.fd], [], [], 0.1)[0]:
            screen.text += os.read(screen.fd, 65536).decode(errors="replace")
            if text in screen.text:
                return True
        return False
    screen.text = ""
    helpers.wait_for(redrawn, "%r shows" % text, screen.process)
    screen.text = ""


def resize(screen, rows, cols):
    fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


class Picture:
    """What the output of a program makes of a vt52, which has few commands."""

    MOVES = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1), "I": (-1, 0)}

    def __init__(self, rows, cols):
        self.cells = [[" "] * cols for _ in range(rows)]
        self.row = self.col = 0

    def move(self, rows, cols):
        self.row = min(max(self.row + rows, 0), len(self.cells) - 1)
        self.col = min(max(self.col + cols, 0), len(self.cells[0]) - 1)

    def erase(self, to_the_end):
        line = self.cells[self.row]
        line[self.col:] = [" "] * (len(line) - self.col)
        for below in self.cells[self.row + 1:] if to_the_end else []:
            below[:] = [" "] * len(below)

    def command(self, command):
        if command[0] == "Y":
            self.row, self.col = ord(command[1]) - 32, ord(command[2]) - 32
        elif command == "H":
            self.row = self.col = 0
        elif command in "JK":
            self.erase(command == "J")
        elif command in self.MOVES:
            self.move(*self.MOVES[command])

    def feed(self, text):
        for command, control, char in re.findall("\x1b(Y..|[^Y])|([\0-\x1f])|(.)", text, re.DOTALL):
            if command:
                self.command(command)
            elif char:
                self.cells[self.row][self.col] = char
                self.move(0, 1)
            elif control in "\r\n\b":
                self.move({"\n": 1}.get(control, 0), {"\r": -self.col, "\b": -1}.get(control, 0))

    def lines(self):
        return ["".join(line).rstrip() for line in self.cells]


def wait_for_lines(screen, rows, cols, wanted):
    """Draws the screen anew in that size until it is as wanted: its lines."""
    def drawn():
        os.kill(screen.process.pid, signal.SIGCONT)
        output = b""
        while select.select([screen.fd], [], [], 0.1)[0]:
            output += os.read(screen.fd, 65536)
        picture.feed(output.decode("latin-1"))  # far columns are single bytes above 127
        return wanted(picture.lines()) and picture.lines()
    picture = Picture(rows, cols)
    resize(screen, rows, cols)
    try:
        return helpers.wait_for(drawn, "the screen is as wanted", screen.process)
    except AssertionError as error:
        raise AssertionError("%s:\n%s" % (error, "\n".join(picture.lines()))) from None


def end(screen):
    return screen.process.wait(timeout=helpers.TIMEOUT_S)


def test_threads_are_shown_and_the_terminal_is_given_back(terminal, jugglectl, job):
    screen = terminal([jugglectl, "top", "--sort", "tid", "--view", "threads", job[0].pid])
    screen.expect(ENTER_SCREEN)
    screen.expect("juggle %d" % job[0].pid)
    for tid in helpers.threads(job[1])[:3]:
        screen.expect("%d " % tid)  # its name may still be that of the shell
    screen.type("q")
    screen.expect(LEAVE_SCREEN)
    assert end(screen) == 0


def test_modes_of_the_terminal_are_the_same_after(terminal, jugglectl, job):
    screen = terminal(["sh", "-c", 'read line; "$0" top -i 0.1 "$1"; echo status $?; read line', jugglectl, job[0].pid])
    before = termios.tcgetattr(screen.fd)
    screen.type("\n")
    screen.expect("threads")
    assert termios.tcgetattr(screen.fd) != before
    screen.type("q")
    screen.expect("status 0")
    assert termios.tcgetattr(screen.fd) == before
    screen.type("\n")
    assert end(screen) == 0


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM),
                                            (signal.SIGHUP, -signal.SIGHUP), (signal.SIGQUIT, -signal.SIGQUIT)])
def test_signals_end_it_in_order(terminal, jugglectl, job, number, status):
    screen = terminal([jugglectl, "top", job[0].pid])
    screen.expect("threads")
    os.kill(screen.process.pid, number)
    screen.expect(LEAVE_SCREEN)
    assert end(screen) == status


SERIES = ["migrations/s", "spread of threads", "subdomain moves/s", "spread, updates"]


def heights(lines):
    """How many rows each series over time has; empty unless all are there, and the panels above leave
    no row free."""
    begins = [row for row, line in enumerate(lines) if line.startswith(tuple(SERIES))]
    if len(begins) != len(SERIES) or not all(lines[:begins[0]]) or "Over time" not in lines[begins[0] - 1]:
        return []
    assert lines[-1].endswith("q quit")
    return [below - row for row, below in zip(begins, [*begins[1:], len(lines) - 1], strict=True)]


def test_the_screen_is_used(terminal, jugglectl, juggle, app, background):
    """At each size all series are there, and they share the rows that nothing else needs."""
    job = background([juggle, "-q", "-c", ",".join(map(str, helpers.cpus()[:2])), "--", app("jacobi"), "-t", "2",
                      "--grid", "40x40", "-n", "1000000000000"])
    helpers.wait_for_telemetry(job)
    screen = terminal([jugglectl, "top", "-i", "0.2", job.pid], TERM="vt52", LC_ALL="C")
    small = heights(wait_for_lines(screen, 24, 80, heights))
    large = heights(wait_for_lines(screen, 60, 200, heights))
    assert max(small) - min(small) <= 1 and max(large) - min(large) <= 1
    assert sum(large) > sum(small) + 30  # a thread more may be listed by then
    screen.type("q")
    assert end(screen) == 0


def test_size_changes(terminal, jugglectl, job):
    screen = terminal([jugglectl, "top", "-i", "60min", job[0].pid])
    expect_redrawn(screen, "q quit")
    resize(screen, 5, 20)
    expect_redrawn(screen, "too small")
    resize(screen, 1, 1)
    resize(screen, 24, 300)
    expect_redrawn(screen, "q quit")
    screen.type("q")
    assert end(screen) == 0


def test_keys_change_the_view(terminal, jugglectl, job):
    screen = terminal([jugglectl, "top", "-i", "60min", job[0].pid])
    for key, shown in [("", "by lead"), ("c", "THEIR %"), ("s", "None: "), ("?", "Help"), ("o", "Over time"),
                       (">", "share"), ("p", "PAUSED"), ("/", "Enter: keep"), ("nothing\r", "Threads: 0")]:
        screen.type(key)
        expect_redrawn(screen, shown)
    screen.type("q")
    assert end(screen) == 0


def test_interval_count_and_no_colour(terminal, jugglectl, job):
    screen = terminal([jugglectl, "top", "-i", "100ms", "-c", "3", "--no-color", job[0].pid])
    shown = screen.rest()
    assert end(screen) == 0
    assert "every 100 ms" in shown and LEAVE_SCREEN in shown
    assert "\x1b[32m" not in shown and "\x1b[31m" not in shown


def test_ascii_where_the_locale_has_no_more(terminal, jugglectl, job):
    screen = terminal([jugglectl, "top", "-c", "1", "-i", "0.1", job[0].pid], LC_ALL="C")
    shown = screen.rest()
    assert shown.isascii() and "Threads" in shown


@pytest.mark.parametrize("option", [[], ["--exit"]])
def test_the_job_ends(terminal, jugglectl, job, option):
    screen = terminal([jugglectl, "top", "-i", "0.1", *option, job[0].pid])
    screen.expect("threads")
    job[0].stdin.close()
    job[0].stdin = None
    if not option:
        expect_redrawn(screen, "ENDED")
        screen.type("q")
    assert end(screen) == 0


@pytest.fixture
def stopped(terminal, jugglectl, job):
    """The terminal of a shell below which top is stopped."""
    screen = terminal(["bash", "--norc", "--noprofile", "-i"])
    screen.type("'%s' top -i 0.1 %d\n" % (jugglectl, job[0].pid))
    screen.expect("Threads")
    screen.type("\x1a")
    screen.expect(LEAVE_SCREEN)
    screen.expect("Stopped")
    return screen


def test_stop_and_continue_under_a_shell(stopped):
    stopped.type("fg\n")
    stopped.expect(ENTER_SCREEN)
    stopped.expect("Threads")
    stopped.type("q")
    stopped.expect(LEAVE_SCREEN)
    stopped.type("exit\n")
    assert end(stopped) == 0


def test_stopped_it_can_be_killed(stopped):
    top = helpers.children(stopped.process.pid)[0]
    os.kill(top, signal.SIGCONT)  # in the background it has to wait for the terminal
    os.kill(top, signal.SIGTERM)
    with contextlib.suppress(ProcessLookupError):  # it has ended
        os.kill(top, signal.SIGCONT)
    helpers.wait_for(lambda: not helpers.alive(top), "top ends")
    stopped.type("exit 0\n")
    assert end(stopped) == 0


def test_output_that_stands_still(terminal, jugglectl, job):
    """After Ctrl-S it keeps looking at the job and handling signals; and it restores the screen."""
    screen = terminal([jugglectl, "top", "-i", "0.1", job[0].pid])
    screen.expect("threads")
    screen.type("\x13")
    # The key takes effect some time after it was typed; output before that is another case.
    output = os.open("/proc/%d/fd/1" % screen.process.pid, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        helpers.wait_for(lambda: not select.select([], [output], [], 0)[1], "the output stands still",
                         screen.process)
    finally:
        os.close(output)
    os.kill(screen.process.pid, signal.SIGTERM)
    screen.expect(LEAVE_SCREEN)
    assert end(screen) == -signal.SIGTERM


def test_several_jobs_are_a_list(terminal, jugglectl, juggle, background, job):
    start_job(background, juggle, threads=2)
    screen = terminal([jugglectl, "top", "-i", "0.5"])
    expect_redrawn(screen, "Jobs:")
    screen.type("\r")
    expect_redrawn(screen, "Over time")
    screen.type("\t?")  # others may run here, too: it does not matter which is next
    expect_redrawn(screen, "Help")
    screen.type("j")
    expect_redrawn(screen, "Jobs:")
    screen.type("q")
    assert end(screen) == 0


def test_what_is_refused(terminal, jugglectl, run_jugglectl, job):
    done = run_jugglectl("top", job[0].pid)
    assert done.returncode == 1 and "needs a terminal; use `jugglectl stat" in done.stderr
    done = run_jugglectl("top", "--json")
    assert done.returncode == 2 and "jugglectl stat --json" in done.stderr
    for wrong in (["-i", "5m"], ["-i", "10ms"], ["-i", "x"], ["-c", "0"], ["--sort", "x"], ["1", "2"]):
        helpers.refused(run_jugglectl("top", *wrong), 2)
    for name in ("dumb", "no-such-terminal", ""):
        screen = terminal([jugglectl, "top", job[0].pid], TERM=name)
        screen.expect("stat --interval")
        assert end(screen) == 1
    screen = terminal([jugglectl, "top", "no-such-command"])
    screen.expect("no-such-command")
    assert end(screen) == 1
