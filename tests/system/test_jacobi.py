# SPDX-License-Identifier: MIT
"""The Jacobi solver: its modes against a solution computed here, its options, its files.

Grids are small, so that even a starved machine finishes in a moment, and nothing depends on speed.
tests/unit/apps/jacobi/ tests the parts of the solver.
"""

import array
import ast
import errno
import itertools
import json
import math
import os
import signal
import sys

import pytest

import helpers

pytestmark = pytest.mark.beside

ROWS, COLUMNS = 24, 17
GRID = ["--grid", "%dx%d" % (ROWS, COLUMNS), "-t", "3"]
# Threads that wait for each other on too few CPUs should not spin.
ENV = {"OMP_WAIT_POLICY": "passive"}
MODES = [
    ["--mode", "sync"],
    ["--mode", "ssync:0"],
    ["--mode", "ssync:2"],
    ["--mode", "ssync:2", "--balance", "joint"],
    ["--mode", "async", "--balance", "none"],
    ["--mode", "async"],
    ["--mode", "async", "--balance", "joint", "--period", "100us"],
    ["--mode", "async", "--balance", "hybrid:5", "--period", "100us"],
    ["--mode", "async", "--host", "daemon"],
]


@pytest.fixture
def jacobi(app):
    """jacobi(OPTION...) runs it to its end and returns its JSON."""
    def solve(*options):
        done = helpers.run([app("jacobi"), *options, "--json", "-"], env=ENV)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)
    return solve


def load(path):
    """The rows of an .npy file."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    end = 10 + int.from_bytes(data[8:10], "little")
    assert end % 64 == 0 and data[end - 1:end] == b"\n"
    header = ast.literal_eval(data[10:end].decode("ascii"))
    assert header["descr"] == {"little": "<f8", "big": ">f8"}[sys.byteorder]
    assert header["fortran_order"] is False
    rows, columns = header["shape"]
    cells = array.array("d", data[end:])
    assert len(cells) == rows * columns
    return [cells[row * columns:(row + 1) * columns].tolist() for row in range(rows)]


def iterate(rows=ROWS, columns=COLUMNS):
    """Yields the solution after 0, 1, 2, ... iterations, and its residual relative to that of the
    start."""
    source = [math.exp(-0.5 * (((i + 0.5) / columns - 0.5) / 0.125) ** 2) for i in range(columns)]
    now = [[0, *source, 0]] + [[0] + [1] * columns + [0] for _ in range(rows)] + [[0] * (columns + 2)]
    first = None
    while True:
        after = [now[0]] + [
            [0] + [0.25 * ((now[row - 1][i] + now[row + 1][i]) + (now[row][i - 1] + now[row][i + 1]))
                   for i in range(1, columns + 1)] + [0]
            for row in range(1, rows + 1)] + [now[-1]]
        norm = math.sqrt(sum((a - b) ** 2 for x, y in zip(after, now) for a, b in zip(x, y)))
        first = first or norm
        yield [row[1:-1] for row in now[1:-1]], norm / first
        now = after


# --- the solution --------------------------------------------------------------------

@pytest.mark.parametrize("cut", ["1d", "2d"])
@pytest.mark.parametrize("subdomains", ["1", "4"])
def test_sync_is_the_sequential_solution(jacobi, tmp_path, cut, subdomains):
    found = jacobi(*GRID, "--mode", "sync", "-n", "100", "--cut", cut, "-s", subdomains,
                   "--output", tmp_path / "u.npy")
    wanted, residual = next(itertools.islice(iterate(), 100, None))
    got = load(tmp_path / "u.npy")
    if sys.byteorder == "little":  # libm's exp() may differ in the last bit elsewhere
        assert max(abs(a - b) for x, y in zip(got, wanted) for a, b in zip(x, y)) < 1e-15
    assert found["residual"] == pytest.approx(residual, rel=1e-9)
    assert found["updates"] == 100 * 3 * int(subdomains)
    assert (found["spread"], found["staleness_max"], found["moves"]) == (0, 0, 0)
    assert (found["converged"], found["verifications"]) == (False, 1)


@pytest.fixture(scope="module")
def converged():
    """The solution, and how many iterations it takes to reach a residual of 1e-9."""
    states = list(itertools.islice(iterate(), 2001))
    return states[-1][0], sum(residual > 1e-9 for _, residual in states)


@pytest.mark.parametrize("cut", ["1d", "2d"])
@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_modes_converge_to_it(jacobi, tmp_path, converged, mode, cut):
    found = jacobi(*GRID, *mode, "--cut", cut, "--residual", "1e-9", "--output", tmp_path / "u.npy")
    assert found["converged"] and found["residual"] <= 1e-9
    assert found["verifications"] >= 1
    # Halos of the same iteration make it at most twice as fast as those of the one before.
    wanted, iterations = converged
    assert found["updates"] >= 12 * iterations / 2
    got = load(tmp_path / "u.npy")
    # The error is at most residual / (1 - spectral radius): for this grid about 50 times.
    assert max(abs(a - b) for x, y in zip(got, wanted) for a, b in zip(x, y)) < 1e-6
    assert mode[-1] != "none" or found["moves"] == 0


def test_iterations_end_it_before_the_residual(jacobi):
    found = jacobi(*GRID, "-n", "10", "--residual", "1e-9")
    assert not found["converged"] and found["residual"] > 1e-9
    # One thread's subdomains, ten times: the others may not have begun.
    assert 40 <= found["updates"] <= 3 * 40


def test_bounded_staleness(jacobi):
    for bound in (0, 1, 7):
        found = jacobi(*GRID, "--mode", "ssync:%d" % bound, "-n", "300")
        assert found["staleness_max"] <= bound
        assert found["staleness_mean"] <= bound
        # From one strip to the next, of twelve.
        assert found["spread"] <= 11 * (bound + 1)


def test_rates_fit_together(jacobi):
    found = jacobi(*GRID, "-n", "50")
    seconds = found["elapsed_s"]
    assert found["updates_per_s"] == pytest.approx(found["updates"] / seconds, rel=1e-6)
    assert found["iteration_rate"] == pytest.approx(found["updates"] / 12 / seconds, rel=1e-6)
    assert found["cells_per_s"] == pytest.approx(
        found["updates_per_s"] * ROWS * COLUMNS / 12, rel=1e-6)


def test_defaults(jacobi):
    found = jacobi("-t", "2", "-n", "1")
    wanted = {"rows": 600, "columns": 300, "threads": 2, "subdomains": 4, "cut": "1d",
              "mode": "async", "balance": "hybrid:500", "host": "self", "period_s": 0.001, "pin": False}
    assert {key: found[key] for key in wanted} == wanted
    found = jacobi("-t", "2", "-n", "1", "--mode", "ssync:3", "--cut", "2d")
    assert (found["mode"], found["balance"], found["columns"]) == ("ssync:3", "none", 300)


def of_one_thread(jacobi, path, *options):
    """One thread does the same each time, in all modes: its JSON without times, and its cells."""
    found = jacobi("-t", "1", *options, "--output", path)
    return {key: value for key, value in found.items()
            if not key.startswith("dplb") and not key.endswith(("_s", "rate"))}, path.read_bytes()


def test_defaults_are_what_is_done(jacobi, tmp_path):
    explicit = ["--grid", "300x300", "--subdomains", "4", "--cut", "1d", "--mode", "async",
                "--balance", "hybrid:500", "--host", "self", "--period", "1ms"]
    done = of_one_thread(jacobi, tmp_path / "a.npy", "-n", "5")
    assert of_one_thread(jacobi, tmp_path / "b.npy", "-n", "5", *explicit) == done
    # Otherwise a difference would not show.
    for other in (["--subdomains", "5"], ["--grid", "299x300"], ["--mode", "sync"]):
        assert of_one_thread(jacobi, tmp_path / "c.npy", "-n", "5", *other)[1] != done[1]


@pytest.mark.parametrize("grid, threads, subdomains, cut", [
    ("1x1", 1, 1, "1d"), ("1x40", 1, 1, "1d"), ("12x1", 3, 4, "1d"), ("1x12", 3, 4, "2d"),
    ("13x7", 5, 2, "2d"),
])
def test_odd_grids(jacobi, grid, threads, subdomains, cut):
    found = jacobi("--grid", grid, "-t", str(threads), "-s", str(subdomains), "--cut", cut,
                   "--residual", "1e-8")
    assert found["converged"]


# --- files and signals ---------------------------------------------------------------

def samples_of(path):
    """The samples of a trace: times, and the updates of each subdomain."""
    lines = path.read_text().splitlines(keepends=True)
    assert all(line.startswith("# ") for line in lines[:1])
    return [[int(word) for word in line.split(" ")] for line in lines[1:] if line.endswith("\n")]


def test_trace(jacobi, tmp_path):
    found = jacobi(*GRID, "-n", "2000", "--trace", tmp_path / "trace")
    samples = samples_of(tmp_path / "trace")
    assert samples and all(len(sample) == 1 + 12 for sample in samples)
    for before, after in zip(samples, samples[1:]):
        assert after[0] - before[0] >= 1000000
        assert all(a <= b for a, b in zip(before, after))
    assert samples[-1][0] <= found["elapsed_s"] * 1e9
    assert sum(samples[-1][1:]) <= found["updates"]


def segments(pid):
    return [name for name in os.listdir("/dev/shm") if name.endswith(".%d" % pid)]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_in_order(app, background, tmp_path, mode, number):
    path = tmp_path / "result.json"
    # On this grid it takes far longer than a test.
    process = background([app("jacobi"), "-t", "3", "--mode", mode, "--residual", "1e-300",
                          "--json", path, "--trace", tmp_path / "trace", "-q"], env=ENV)
    helpers.wait_for(lambda: samples_of(tmp_path / "trace")[10:], "it runs", process)
    seen = sum(samples_of(tmp_path / "trace")[-1][1:])
    assert segments(process.pid)
    process.send_signal(number)
    assert process.wait(helpers.TIMEOUT_S) == -number
    assert json.loads(path.read_text())["updates"] >= seen > 0
    assert not segments(process.pid)


def test_ignored_signals_stay_ignored(app, background, tmp_path):
    """As under nohup."""
    process = background(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", app("jacobi"), "-t", "1",
                          "--residual", "1e-300", "--trace", tmp_path / "trace", "-q"], env=ENV)
    helpers.wait_for(lambda: (tmp_path / "trace").stat().st_size > 0, "it runs", process)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)  # of two that are pending, the lower comes first
    assert process.wait(helpers.TIMEOUT_S) == -signal.SIGTERM


def test_closed_pipe_leaves_no_segment(app, background):
    reading, writing = os.pipe()
    os.close(reading)
    process = background([app("jacobi"), *GRID, "-n", "10"], env=ENV, stdout=writing)
    os.close(writing)
    assert process.wait(helpers.TIMEOUT_S) == -signal.SIGPIPE
    assert not segments(process.pid)


def test_text(app):
    done = helpers.run([app("jacobi"), *GRID, "-n", "10"], env=ENV)
    assert done.returncode == 0 and done.stderr == ""
    assert "iteration rate" in done.stdout and "24 x 17 cells" in done.stdout
    assert done.stdout.count(", verified (1 time)\n") == 1
    done = helpers.run([app("jacobi"), "--grid", "8x8", "-t", "1", "-s", "1", "-n", "10"], env=ENV)
    assert " 1 thread with 1 subdomain, " in done.stdout
    done = helpers.run([app("jacobi"), *GRID, "-n", "10", "-q"], env=ENV)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_progress_on_a_terminal(app):
    for quiet in ([], ["-q"]):
        ours, theirs = os.openpty()
        try:
            done = helpers.run([app("jacobi"), *GRID, "-n", "10", *quiet], env=ENV, stderr=theirs)
            assert done.returncode == 0
            os.write(theirs, b"END\n")
            shown = b""
            while b"END" not in shown:
                shown += os.read(ours, 4096)
        finally:
            os.close(ours)
            os.close(theirs)
        line = shown.partition(b"END")[0]
        if quiet:
            assert line == b""
        else:
            assert b"iterations, spread" in line
            assert line.endswith(b"\r\033[K")


def test_largest_numbers(jacobi):
    """The library accepts all that the options accept: nothing is near enough to be moved."""
    found = jacobi(*GRID, "-n", "10", "--pairs", "1024", "--low", "65536", "--high", "65536",
                   "--balance", "hybrid:4294967295", "--period", "3600s",
                   "--dplb", "neighbours:65536", "--dplb-period", "3600s",
                   "--dplb-threshold", "1000000000000", "--seed", "1000000000000000000")
    assert 40 <= found["updates"] <= 3 * 40 and found["moves"] == 0


@pytest.mark.parametrize("options", [
    ["--mode", "sync"], ["--mode", "sync", "--dplb", "none"], ["--mode", "ssync:3", "--dplb", "global"],
    ["--dplb", "none"], ["--dplb", "global"], ["--dplb", "neighbours"], ["--dplb", "neighbours:2"],
    ["--dplb", "random", "--dplb-period", "1ms", "--dplb-threshold", "0", "--seed", "0", "--check"],
    ["--dplb-threshold", "0.5"],
], ids=" ".join)
def test_options_for_ranks_have_no_effect_without(jacobi, tmp_path, options):
    run = ["--grid", "24x17", "-n", "20"]
    mode = options[:2] if options[0] == "--mode" else []
    assert of_one_thread(jacobi, tmp_path / "a.npy", *run, *options) == \
        of_one_thread(jacobi, tmp_path / "b.npy", *run, *mode)


@pytest.mark.parametrize("pin", [[], ["--pin"]], ids=" ".join)
def test_pin(app, background, tmp_path, pin):
    cpus = helpers.cpus()
    process = background([app("jacobi"), "-t", "3", "--residual", "1e-300", "--trace", tmp_path / "trace",
                          "-q", *pin], env=ENV)
    helpers.wait_for(lambda: samples_of(tmp_path / "trace")[2:], "it runs", process)
    masks = helpers.masks(process.pid).values()
    wanted = sorted(cpus[i % len(cpus)] for i in range(3)) if pin and len(cpus) > 1 else []
    assert sorted(cpu for mask in masks if len(mask) == 1 < len(cpus) for cpu in mask) == wanted


# --- errors --------------------------------------------------------------------------

@pytest.mark.parametrize("options", [
    ["-t", "0"], ["-t", "4097"], ["-t", "x"], ["-s", "0"], ["-s", "65537"], ["-s", "-1"],
    ["--grid", "0x5"], ["--grid", "5"], ["--grid", "5x"], ["--grid", "x5"], ["--grid", "5x5x5"],
    ["--grid", "16777217x1"], ["--grid", "99999999999999999999x1"], ["--grid", ""],
    ["--cut", "3d"], ["--cut", "1"],
    ["--mode", "fast"], ["--mode", "ssync"], ["--mode", "ssync:"], ["--mode", "ssync:-1"],
    ["--mode", "async:1"], ["--mode", ""],
    ["--balance", "all"], ["--balance", "hybrid"], ["--balance", "hybrid:0"], ["--balance", ""],
    ["--mode", "sync", "--balance", "split"],
    ["--host", "juggle"], ["--period", "1"], ["--period", "99us"], ["--period", "3601s"],
    ["--pairs", "0"], ["--pairs", "1025"], ["--low", "0"], ["--high", "0"], ["--high", "many"],
    ["--low", "6", "--high", "2"], ["--low", "7"],
    ["--dplb", "all"], ["--dplb", ""], ["--dplb", "global:4"], ["--dplb", "neighbours:"],
    ["--dplb", "neighbours:1"], ["--dplb", "neighbours:65537"], ["--dplb", "random:1"],
    ["--mode", "sync", "--dplb", "global"], ["--mode", "sync", "--dplb", "neighbours:8"],
    ["--dplb-period", "1"], ["--dplb-period", "999us"], ["--dplb-period", "3601s"],
    ["--dplb-threshold", "-1"], ["--dplb-threshold", "1e3"],
    ["--dplb-threshold", "1000000000001"], ["--dplb-threshold", ""],
    ["--seed", "-1"], ["--seed", "0.5"], ["--seed", "9223372036854775808"], ["--check=1"],
    ["-n", "0"], ["-n", "1e3"], ["-r", "0"], ["-r", "1"], ["-r", "-1e-4"], ["-r", "nan"],
    ["-r", "0x1p-4"], ["-r", ""], ["-r", "1e-4x"],
    ["--unknown"], ["argument"],
    ["--grid", "11x300", "-t", "3", "-s", "4"],  # more subdomains than rows
    ["--grid", "3x3", "-t", "10", "-s", "1", "--cut", "2d"],
    ["-t", "4096", "-s", "65536"],
    ["--grid", "16777216x16777216"],
], ids=" ".join)
def test_bad_options(app, options):
    done = helpers.run([app("jacobi"), *options], env=ENV)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].endswith(tuple("abcdefghijklmnopqrstuvwxyz0123456789'"))
    assert lines[0].lower().count("jacobi: ") == 1
    assert len(lines) == 1 or lines[1].startswith("Try ")


@pytest.mark.parametrize("option", ["--output", "--trace", "--json"])
@pytest.mark.parametrize("path", ["/nonexistent/file", "/dev/full"])
def test_files_that_cannot_be_written(app, option, path):
    done = helpers.run([app("jacobi"), *GRID, "-n", "100", "-q", option, path], env=ENV)
    assert done.returncode == 1
    assert done.stderr.startswith("jacobi: %s: " % path)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("option", ["--output", "--trace", "--json"])
def test_files_are_tried_first(app, option):
    """This fails before a run that would take far longer than a test."""
    done = helpers.run([app("jacobi"), *GRID, "-r", "1e-300", option, "/nonexistent/file"], env=ENV)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "jacobi: %s: %s\n" % ("/nonexistent/file", os.strerror(errno.ENOENT))


@pytest.mark.needs_root
def test_full_shm(app):
    """In a mount namespace of its own, with a tiny /dev/shm."""
    small = helpers.own_mounts("mount -t tmpfs -o size=4k none /dev/shm")
    done = helpers.run([*small, app("jacobi"), "-t", "4", "-s", "64", "-n", "1"], env=ENV)
    assert done.returncode == 0
    assert done.stderr.startswith("jacobi: progress is not published in /dev/shm: %s\n"
                                  % os.strerror(errno.ENOSPC))
