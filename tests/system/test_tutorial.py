# SPDX-License-Identifier: MIT
"""juggle-tutorial(7): all its commands, in their order, on one terminal, but with less to do.

Commands are the lines of displays that begin with "$ ". What stands below one is its output: it has
to print the same words in the same order, with any numbers; with the same ones, if it only computes.
"""

import platform
import re
import shlex
import shutil

import pytest

import helpers
import manuals
import mpi
from terminal import Terminal

PAGE = "juggle-tutorial.7"
pytestmark = [pytest.mark.needs_cpus(2), pytest.mark.told]

# What is smaller here than in the page, as regular expressions; each has to be found there.
SMALLER = {
    r"(ubench|ubench-mpi) -q\b": r"\1 -q -p 20 --rate 200000",
    r"jugglectl compare ": "jugglectl compare --repeats 1 --warmups 0 ",
    r"-n 20000\b": "-n 6000",
    r"-i 1 -c 3\b": "-i 0.1 -c 1",
    r"jugglectl top\b": "jugglectl top -c 1",
}
# tests/run has done these.
DONE = {"meson setup build -Dbuildtype=release", "ninja -C build"}
# A reader is slow enough: until then there is nothing to see.
PUBLISHED = ("timeout %d sh -c 'until [ $(jugglectl stat -q --summary 2>&1 | grep -c -e \" 3 compute\" -e efficiency) = 2 ]"
             "; do sleep 0.01; done'" % helpers.TIMEOUT_S)


def commands():
    """[(command, [line of its output, ...]), ...] of the page."""
    found = []
    for display in manuals.displays(PAGE):
        assert display.startswith("$ "), "no command begins this:\n" + display
        for line in display.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line:
                found[-1][1].append(line)
    return found


COMMANDS = commands()


def lacking(command):
    """What this machine or build lacks for a command; None if nothing."""
    if "mpirun" in command and not (helpers.BUILD / "apps" / "ubench-mpi").exists():
        return "MPI"
    if "plot" in command and "--perfetto" not in command and not shutil.which("gnuplot"):
        return "gnuplot"
    if "top" in command and "jugglectl top: yes" not in (helpers.BUILD / "parts").read_text("utf-8"):
        return "ncurses"
    return None


def smaller(command):
    for pattern, replacement in SMALLER.items():
        command = re.sub(pattern, replacement, command)
    first, second = helpers.cpus()[:2]
    command = re.sub(r"(-c|--cpu) 0,1\b", r"\1 %d,%d" % (first, second), command)
    command = command.replace("--cpu 0 ", "--cpu %d " % first)
    if "mpirun" in command:
        command = command.replace("mpirun", mpi.launcher("openmpi"))
    return command


def test_smaller_is_of_this_page():
    text = "\n".join(command for command, _ in COMMANDS)
    for pattern in SMALLER:
        assert re.search(pattern, text), pattern
    assert DONE <= {command for command, _ in COMMANDS}
    assert all(smaller(command) == command for command, _ in COMMANDS if only_computes(command))


NUMBER = r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?[KMG]?"
UNITS = "(?:ns|us|ms|s|min)"


def pattern(line):
    """A regular expression for lines with the words of this one."""
    cut = line.removesuffix("...")
    words = []
    for word in cut.split():
        if re.fullmatch(UNITS, word):
            words.append(UNITS)
        elif word == "root":  # whoever runs it
            words.append(r"\S+")
        elif word == "-" or re.fullmatch(NUMBER, word):
            words.append("(?:-|%s)" % NUMBER)
        else:
            words.append(NUMBER.join(map(re.escape, re.split(NUMBER, word))))
    return r"\s*" + r"\s+".join(words) + (r"\s*$" if cut == line else "")


def only_computes(command):
    """Does it print the same everywhere? Other processors and libraries may round in another way."""
    return (re.match("jugglectl (simulate|predict) ", command) and "--from" not in command
            and platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc")


def differs(shown, output, exactly=False):
    """The first line of the page that the output lacks, after those before; None if it has all."""
    def agree(line, other):
        return line.split() == other.split() if exactly else re.match(pattern(line), other)
    left = iter(output.splitlines())
    return next((line for line in shown if not any(agree(line, other) for other in left)), None)


def test_pattern():
    assert re.match(pattern("  lost  1.5 s of 2 (9.1 %), at ..."), "lost 20 ms of 12 (0 %), at main")
    assert re.match(pattern("a  - 3.1"), "a 2.5 -")
    for other in ("lost 20 ms of 12 (- %), at", "lost 20 of 12 (0 %), at", "won 20 ms of 12 (0 %), at"):
        assert not re.match(pattern("lost 1.5 s of 2 (9.1 %), at ..."), other)
    assert not re.match(pattern("a"), "a b")
    assert differs(["a", "c"], "a\nb\nc\n") is None
    assert differs(["c", "a"], "a\nb\nc\n") == "a"
    assert differs(["a 1", "b 2"], "a  1\nb 3\n") is None
    assert differs(["a 1", "b 2"], "a  1\nb 3\n", exactly=True) == "b 2"


def script(folder):
    lines = ["cd " + shlex.quote(str(folder)), "set -m"]
    for number, (command, _) in enumerate(COMMANDS):
        if command in DONE or lacking(command):
            continue
        lines += ["echo BEGIN %d" % number, "eval " + shlex.quote(smaller(command)), "echo END %d $?" % number]
        if command.startswith("juggle ") and command.endswith("&"):
            lines.append(PUBLISHED)
    return "\n".join(lines) + "\n"


def test_commands_do_what_the_page_shows(shm, tmp_path):
    (tmp_path / "build").symlink_to(helpers.BUILD)
    (tmp_path / "tools").symlink_to(helpers.REPO / "tools")
    path = tmp_path / "script"
    path.write_text(script(tmp_path))
    terminal = Terminal(shm.command(["bash", path]), env={
        **mpi.environment("openmpi"), "TERM": "xterm", "TMPDIR": str(tmp_path)})
    try:
        # Without progress lines.
        text = re.sub(r"[^\n]*\x1b\[K", "", terminal.rest().replace("\r\n", "\n"))
    finally:
        terminal.close()
    outcome = {int(number): (output, int(status)) for number, output, status in re.findall(
        r"BEGIN (\d+)\n(.*?)END \1 (\d+)$", text, re.MULTILINE | re.DOTALL)}
    for number, (command, shown) in enumerate(COMMANDS):
        if command in DONE or lacking(command):
            continue
        assert number in outcome, "not ended: %s\n%s" % (command, text)
        output, status = outcome[number]
        assert status == 0, "status %d: %s\n%s" % (status, command, output)
        missing = differs(shown, output, only_computes(command))
        assert missing is None, "%s\ndoes not print\n%s\nbut\n%s" % (command, missing, output)
