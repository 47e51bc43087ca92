# SPDX-License-Identifier: MIT
"""jugglectl itself: which command it runs, and its message when there is none."""

import re
import shutil
import subprocess

import pytest

import helpers

pytestmark = [pytest.mark.beside, pytest.mark.no_races]

COMMANDS = ["list", "stat", "top", "doctor", "plot", "clean", "compare", "predict", "simulate", "replay"]
# Their words; only simulate has others below it.
LEAVES = [[command] for command in COMMANDS if command != "simulate"] + [
    ["simulate", machine] for machine in ("juggle", "plb", "dplb")]


def test_no_command(run_jugglectl):
    done = run_jugglectl()
    assert (done.returncode, done.stdout) == (2, "")
    assert all(command in done.stderr for command in COMMANDS)


@pytest.mark.parametrize("word", ["--help", "help"])
def test_help(run_jugglectl, word):
    done = run_jugglectl(word)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert re.findall(r"^  (\w+) ", done.stdout, re.MULTILINE) == COMMANDS


def test_help_and_page_list_the_same_commands():
    page = (helpers.REPO / "man" / "jugglectl.1").read_text("utf-8")
    listed = re.findall(r"^\.It Cm (\w+)", page, re.MULTILINE)
    assert sorted(set(listed)) == sorted(COMMANDS)


def test_version(run_jugglectl):
    done = run_jugglectl("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"jugglectl \(juggle\) \S+\n", done.stdout)


@pytest.mark.parametrize("word", ["juggle", "", "predic", "predict2", "-h", "--json", "--version=1"])
def test_unknown_command(run_jugglectl, word):
    done = run_jugglectl(word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("jugglectl: ")
    assert len(done.stderr.splitlines()) == 1 and "--help" in done.stderr


@pytest.mark.parametrize("option", ["--help", "--version"])
@pytest.mark.parametrize("command", [[], *LEAVES], ids=" ".join)
def test_help_that_cannot_be_written(jugglectl, command, option):
    for redirect in (">/dev/full", ">&-"):
        done = subprocess.run(["sh", "-c", '"$@" ' + redirect, "sh", jugglectl, *command, option],
                              stderr=subprocess.PIPE, text=True, timeout=helpers.TIMEOUT_S, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("jugglectl") and "cannot write" in done.stderr


def test_unknown_machine(run_jugglectl):
    done = run_jugglectl("simulate", "cat")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("jugglectl simulate: cat: ")


@pytest.mark.parametrize("command", LEAVES, ids=" ".join)
def test_command_without_what_it_needs_is_one_line(run_jugglectl, command):
    """And it has the full name, as typed."""
    done = run_jugglectl(*command, "--no-such-option")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("jugglectl %s: " % " ".join(command))


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["simulate", "--help"],
                                   ["predict", "--help"], ["predict", "-n", "3", "-m", "2", "-e", "1s"],
                                   ["predict", "-n", "3", "-m", "2", "-e", "1s", "--json"]])
def test_full_disk(run_jugglectl, words):
    """A failure to write output is not a success."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run_jugglectl(*words, stdout=full)
    assert done.returncode == 1
    assert re.fullmatch(r"jugglectl[a-z ]*: cannot write: No space left on device\n", done.stderr)


# --- what it can't do ------------------------------------------------------------------

def symbols(*paths):
    """Names in programs, defined or needed."""
    nm = shutil.which("nm")
    if not nm:
        pytest.skip("nm is not installed")
    done = helpers.run([nm, *paths])
    found = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines() if line}
    if "main" not in found:
        pytest.skip("the program is stripped")
    return found


def test_it_has_no_code_to_change_a_thread(jugglectl):
    headers = ["daemon/act/act.h", "daemon/telemetry/writer.h"]
    forbidden = set()
    for header in headers:
        found = re.findall(r"^\w.*?\b(\w+)\(.*[;,]$", (helpers.REPO / header).read_text("utf-8"), re.MULTILINE)
        assert found, header
        forbidden |= set(found)
    if not helpers.SANITIZER:  # whose runtime library may have all of these
        forbidden |= {"sched_setaffinity", "pthread_setaffinity_np", "sched_setscheduler", "setpriority"}
        # With a thread of its own, it would be a case for ThreadSanitizer.
        forbidden.add("pthread_create")
    assert not symbols(jugglectl) & forbidden
