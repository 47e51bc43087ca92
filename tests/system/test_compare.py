# SPDX-License-Identifier: MIT
"""jugglectl compare: a command in several ways, what it prints of them, and its end in all cases."""
import importlib
import json
import os
import re
import signal
import subprocess

import pytest

import helpers
import test_manuals
from terminal import Terminal

pytestmark = pytest.mark.beside

QUICK = ["--repeats", "1", "--warmups", "0"]


@pytest.fixture
def compare(run_jugglectl):
    return lambda *arguments, **options: run_jugglectl("compare", *arguments, timeout_s=3 * helpers.TIMEOUT_S,
                                                       **options)


@pytest.fixture
def compare_json(compare):
    def run(*arguments, **options):
        done = compare("--json", *arguments, **options)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)
    return run


def sleeper(path):
    """A command that writes its process group to the file, and sleeps."""
    return ["sh", "-c", "echo $$ > %s.new; mv %s.new %s; sleep 1000; true" % (path, path, path)]


# --- what it shows -------------------------------------------------------------------

def test_rows_and_sentences(compare):
    done = compare("--repeats", "5", "--", "sleep", "0.02")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    rows = [re.fullmatch(r"(\w+) +([0-9.]+) s +([0-9.]+) to ([0-9.]+) s(?: +([0-9.]+) \(([0-9.]+) to ([0-9.]+)\))?",
                         line) for line in done.stdout.splitlines()[1:4]]
    assert [row[1] for row in rows] == ["Linux", "pinned", "juggle"]
    for row in rows:
        assert 0.02 <= float(row[3]) <= float(row[2]) <= float(row[4])
    assert rows[0][5] is None
    assert all(float(row[6]) <= float(row[5]) <= float(row[7]) for row in rows[1:])
    text = " ".join(done.stdout.split())
    assert "94 % confidence" in text and "give the program more work" in text
    quiet = compare("-q", "--repeats", "5", "--", "sleep", "0.02").stdout
    assert "94 % confidence" in quiet and "more work" not in quiet


def test_a_difference_is_found(compare_json):
    """By the times that commands print, which can't differ by chance."""
    found = compare_json("--skip=pinned,juggle", "--against", "echo it took 0.5 s", "--time-after", "took ",
                         "--", "echo", "it took 1 s")
    assert [way["name"] for way in found["ways"]] == ["Linux", "echo it took 0.5 s"]
    assert [way["times_s"] for way in found["ways"]] == [[1] * 5, [0.5] * 5]
    [difference] = found["comparisons"]
    assert (difference["speedup"], difference["least"], difference["most"]) == pytest.approx((2, 2, 2))
    assert (difference["verdict"], difference["confidence"]) == ("faster", 0.9375)
    assert (found["juggle"], found["advice"]) == (None, "")


@pytest.mark.parametrize("repeats", [5, 9])
def test_benchmarks_say_the_same(compare_json, monkeypatch, repeats):
    """tests/bench/programs, of the same times."""
    monkeypatch.syspath_prepend(helpers.REPO / "tests" / "bench")
    speedup = importlib.import_module("side_by_side").speedup
    found = compare_json("--skip=pinned", "--repeats", repeats, "--", "true")
    times = [way["times_s"] for way in found["ways"]]
    assert [way["name"] for way in found["ways"]] == ["Linux", "juggle"]
    [difference] = found["comparisons"]
    expected = tuple(difference[key] for key in ("speedup", "least", "most"))
    assert speedup(*times) == pytest.approx(expected, rel=1e-3)


def test_keys_are_those_of_the_page(compare_json):
    found = compare_json(*QUICK, "--with", "-i 10ms", "--", "sleep", "0.02")
    keys, inner = test_manuals.keys_of_page("jugglectl-compare.1", "RESULT FORMAT")
    assert keys == set(found)
    assert inner == {"ways": set(found["ways"][0]), "comparisons": set(found["comparisons"][0]),
                     "juggle": set(found["juggle"])}


def test_how_each_way_is_run(compare_json, juggle):
    found = compare_json(*QUICK, "--with", "-i 10ms --always", "--against", "exit 0", "--", "true")
    ways = {way["name"]: way["command"] for way in found["ways"]}
    assert ways["Linux"] == ["true"]
    assert ways["pinned"] == [juggle, "-q", "-P", "static", "--", "true"]
    assert ways["juggle"][:2] == [juggle, "-q"] and ways["juggle"][-2:] == ["--", "true"]
    assert ways["juggle -i 10ms --always"][-5:] == ["-i", "10ms", "--always", "--", "true"]
    assert ways["exit 0"] == ["sh", "-c", "exit 0"]
    assert len(found["comparisons"]) == 10


def test_order_and_warmups(compare, tmp_path):
    log = tmp_path / "log"
    done = compare("--repeats", "3", "--warmups", "2", "--skip", "linux,juggle", "--with", "--policy=observe",
                   "--against", "echo against >> %s" % log, "--", "sh", "-c",
                   'if grep -q jugglectl /proc/$PPID/comm; then echo plain; '
                   'elif grep -aq "st[a]tic" /proc/$PPID/cmdline; then echo pinned; '
                   'else echo observe; fi >> "$0"', log)
    assert (done.returncode, done.stderr) == (0, "")
    assert log.read_text("utf-8").split() == [
        "plain", "plain", "pinned", "observe", "against", "observe", "against", "pinned", "against", "pinned", "observe"]


def test_output(compare):
    command = ["--", "sh", "-c", "echo printed; echo said >&2"]
    kept = compare(*QUICK, *command)
    assert kept.stderr == "" and "printed" not in kept.stdout
    shown = compare(*QUICK, "--show-output", *command)
    assert shown.stderr.count("printed\nsaid\n") == 3 and "printed" not in shown.stdout


@pytest.mark.told
def test_juggles_own_verdict_is_shown(compare_json, app):
    """One of two threads has twice the work."""
    found = compare_json("--repeats", "5", "--warmups", "0", "--skip", "pinned", "--with", "--phases=on", "--skip",
                         "juggle", "--", app("ubench"), "-q", "-t", "2", "-p", "100", "-e", "1ms", "--rate", "300000",
                         "--imbalance", "100")
    told = found["juggle"]
    assert told["verdict"] in ("work", "waits", "juggle", "nothing", "noise", "threads", "brought")
    assert told["advice"] and found["advice"]


def test_no_advice_about_linux_without_it(compare_json):
    found = compare_json(*QUICK, "--skip", "linux", "--", "true")
    assert found["advice"] == ""


def test_blanks_between_options(compare_json):
    found = compare_json(*QUICK, "--skip", "pinned,juggle", "--with", " -P  observe ", "--", "true")
    assert len(found["ways"]) == 2


@pytest.mark.alone
def test_binding_is_pointed_out(compare, app):
    program = helpers.app_or_skip("ubench-omp")
    done = compare("--repeats", "5", "--warmups", "0", "--skip", "pinned", "--with", "-P observe", "--skip", "juggle",
                   "--", program, "-q", "-t", "2", "-p", "1", "-e", "1ms", "--rate", "1000",
                   env={"OMP_PROC_BIND": "true"})
    assert done.returncode == 0, done.stderr
    verdict = " ".join(done.stdout.split())
    assert "OMP_PROC_BIND=true binds threads" in verdict or "(1." in verdict  # "faster": by chance


# --- what fails ----------------------------------------------------------------------

@pytest.mark.parametrize("arguments, status, words", [
    (["--", "sh", "-c", "echo a reason; exit 3"], 1, "a reason\njugglectl compare: exit status 3 from: sh -c "),
    (["--", "sh", "-c", "kill -9 $$"], 1, "exit status 137 from: sh -c "),
    (["--skip=linux", "--", "/nonexistent/x"], 1, "exit status 127 from: "),
    (["--", "/nonexistent/x"], 1, "jugglectl compare: /nonexistent/x: No such file"),
    (["--juggle", "/nonexistent/j", "--", "true"], 1, "jugglectl compare: /nonexistent/j: No such file"),
    (["--timeout", "50ms", "--", "sleep", "1000"], 1, "jugglectl compare: still running after 0.05 s: sleep 1000"),
    (["--with=--no-such", "--", "true"], 1, "exit status 125 from: "),
    (["--time-after", "took", "--", "echo", "took long"], 1, "no time after 'took' was printed by: echo took long"),
    (["--beside", "exit 7", "--", "sleep", "0.2"], 1, "--beside: exit status 7 from: exit 7"),
    ([], 2, "Give -- and a command"),
    (["true"], 2, "true: put -- before the command"),
    (["--skip", "linux,pinned", "--", "true"], 2, "fewer than two ways"),
    (["--skip", "slow", "--", "true"], 2, "--skip slow: expected linux, pinned, juggle"),
    (["--repeats", "0", "--", "true"], 2, "--repeats 0: expected a whole number from 1 to 100"),
    (["--repeats", "101", "--", "true"], 2, "--repeats 101: expected"),
    (["--with=-q"] * 13 + ["--against=true", "--", "true"], 2, "at most 13 ways more")])
def test_refusals(compare, arguments, status, words):
    done = compare(*QUICK, *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr


# --- signals, and what runs beside ---------------------------------------------------

def test_beside(compare, tmp_path):
    """The other command runs as long as the runs, and no longer."""
    path = tmp_path / "pid"
    line = "echo $$ > %s; sleep 1000; true" % path
    done = compare(*QUICK, "--beside", line, "--", "sh", "-c", 'until [ -s "$0" ]; do sleep 0.01; done', path)
    assert (done.returncode, done.stderr) == (0, "")
    group = int(path.read_text("utf-8"))
    helpers.wait_for(lambda: not group_members(group), "all of it has ended")


def group_members(group):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] not in "ZX":
            found.append(int(name))
    return found


def test_beside_that_ends_by_itself(compare, tmp_path):
    """What it has started ends as well."""
    path = tmp_path / "pid"
    line = "echo $$ > %s; sleep 1000 &" % path
    done = compare(*QUICK, "--beside", line, "--", "sh", "-c", 'until [ -s "$0" ]; do sleep 0.01; done; sleep 0.3', path)
    assert done.returncode == 1 and "--beside: exit status 0" in done.stderr
    helpers.wait_for(lambda: not group_members(int(path.read_text("utf-8"))), "all of it has ended")


def test_ignored_signals_stay_ignored(background, jugglectl, tmp_path):
    path, go = tmp_path / "pid", tmp_path / "go"
    command = ["sh", "-c", 'echo > "$0"; until [ -e "$1" ]; do sleep 0.01; done', path, go]
    process = background(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", jugglectl, "compare", *QUICK, "--", *command],
                         stdout=subprocess.DEVNULL)
    helpers.wait_for(path.exists, "the command runs", process)
    process.send_signal(signal.SIGHUP)
    go.touch()
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0


def test_whatever_a_run_started_ends_with_it(compare, tmp_path):
    """Also what ignores the signal, when the first of the group has ended."""
    path = tmp_path / "pid"
    script = '(trap "" TERM; exec sleep 1000) & echo $$ > %s; wait' % path
    done = compare("--timeout", "300ms", *QUICK, "--", "sh", "-c", script)
    assert done.returncode == 1
    helpers.wait_for(lambda: not group_members(int(path.read_text("utf-8"))), "all of it has ended")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_in_the_first_repeat(background, jugglectl, tmp_path, number):
    path = tmp_path / "pid"
    with open(tmp_path / "err", "w", encoding="utf-8") as err:
        process = background([jugglectl, "compare", "--", *sleeper(path)], stderr=err)
    helpers.wait_for(path.exists, "the command runs", process)
    process.send_signal(number)
    assert process.wait(timeout=helpers.TIMEOUT_S) == 128 + number
    assert (tmp_path / "err").read_text("utf-8") == "jugglectl compare: ended before each way had run once\n"
    helpers.wait_for(lambda: not group_members(int(path.read_text("utf-8"))), "all of it has ended")


def test_ctrl_c_shows_what_there_is(jugglectl, tmp_path):
    """In the second repeat, on a terminal, with the command under juggle; nothing is left of it."""
    path, count = tmp_path / "pid", tmp_path / "count"
    command = ["sh", "-c", 'echo >> "$0"; [ $(wc -l < "$0") -lt 4 ] || { echo $PPID > %s; sleep 1000; }' % path, count]
    terminal = Terminal([jugglectl, "compare", "--warmups", "0", "--", *command])
    try:
        helpers.wait_for(lambda: path.exists() and path.read_text("utf-8").strip(), "the second repeat",
                         terminal.process)
        terminal.type("\x03")
        text = " ".join(terminal.rest().split())
        assert terminal.process.wait(timeout=helpers.TIMEOUT_S) == 130
    finally:
        terminal.close()
    assert "Ended early: 1 of 5 repeats." in text
    assert "median" in text and "in too few runs to tell" in text
    helpers.wait_for(lambda: not helpers.alive(int(path.read_text("utf-8"))), "juggle has ended")


def test_progress_on_a_terminal(jugglectl):
    terminal = Terminal([jugglectl, "compare", *QUICK, "--", "sleep", "0.5"])
    try:
        text = terminal.rest()
        assert terminal.process.wait(timeout=helpers.TIMEOUT_S) == 0
    finally:
        terminal.close()
    assert re.search(r"\r\[#*\.*\] +\d+ %", text)
    assert "\r\033[K" in text
