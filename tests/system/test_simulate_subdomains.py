# SPDX-License-Identifier: MIT
"""jugglectl simulate plb and dplb: what they print, what they refuse, and the expected results."""

import re

import pytest

from helpers import refused
from test_manuals import keys_of_page

pytestmark = [pytest.mark.beside, pytest.mark.no_races]

# Few subdomains and rare updates, so that runs are short.
SMALL_PLB = ["-w", "8", "--update", "100us", "--time", "2s"]
SMALL_DPLB = ["--ranks", "6", "-w", "4", "--update", "2ms", "--period", "10ms", "--time", "10s"]


@pytest.fixture
def simulate(jugglectl_json):
    """simulate("plb", ...): what it prints as JSON."""
    return lambda *arguments: jugglectl_json("simulate", *arguments)


def by_balance(result):
    return {variant["balance"]: variant for variant in result["variant"]}


@pytest.mark.parametrize("machine, arguments", [("plb", SMALL_PLB), ("dplb", SMALL_DPLB)])
def test_keys_are_those_of_the_page(simulate, machine, arguments):
    result = simulate(machine, *arguments)
    assert keys_of_page("jugglectl-simulate-%s.1" % machine, "RESULT FORMAT") == (
        set(result), {"variant": set(result["variant"][0])})
    assert result["command"] == "simulate " + machine


def test_variants_side_by_side(simulate):
    plb = by_balance(simulate("plb", *SMALL_PLB))
    assert list(plb) == ["none", "split", "joint", "hybrid:500"]
    assert plb["none"]["spread"] > 5 * plb["joint"]["spread"]
    assert plb["none"]["plb_moves"] == 0 < plb["joint"]["plb_moves"]
    dplb = simulate("dplb", *SMALL_DPLB)["variant"]
    assert [variant["dplb"] for variant in dplb] == ["none", "global", "neighbours:4"]
    assert [variant["dplb_moves"] > 0 for variant in dplb] == [False, True, True]


def test_modes(simulate):
    common = [*SMALL_PLB, "--slow", "2:50", "--variation", "0", "--jitter", "0", "--balance", "none"]
    rate = {mode: simulate("plb", *common, "--mode", mode)["variant"][0]["iterations_per_s"]
            for mode in ("sync", "ssync:1", "async")}
    assert rate["sync"] == pytest.approx(1250, rel=0.01)
    assert rate["ssync:1"] == pytest.approx(1250, rel=0.01)
    assert rate["async"] == pytest.approx(2500 * 7.5 / 8, rel=0.01)


def test_the_same_seed_gives_the_same(run_jugglectl):
    lines = [run_jugglectl("simulate", "dplb", *SMALL_DPLB, "--seed", seed).stdout
             for seed in (1, 1, 2)]
    assert lines[0] == lines[1] != lines[2]


def test_stops(simulate):
    result = simulate("plb", *SMALL_PLB, "--iterations", "100", "--balance", "none")["variant"][0]
    assert 100 <= result["iterations"] < 102
    assert result["time_to_solution_s"] is None and result["residual"] is None
    early = simulate("plb", "-w", "8", "--update", "1s", "--time", "10ms", "--balance", "none")
    assert early["variant"][0]["updates"] == 0


def test_stops_at_what_comes_first(simulate):
    common = ["-w", "4", "--grid", "32x32", "--update", "10us", "--balance", "none"]
    for mode in ("sync", "async"):
        cells = [*common, "--mode", mode, "--residual"]
        few = simulate("plb", *cells, "1e-9", "--iterations", "70")["variant"][0]
        assert 70 <= few["iterations"] < 72 and few["time_to_solution_s"] is None
        solved, free = (simulate("plb", *cells, "0.1", *arguments)["variant"][0]
                        for arguments in (["--iterations", "1000000"], []))
        assert solved == free and solved["time_to_solution_s"] > 0


def test_time_to_solution(simulate):
    """The interpolated moment does not depend on how often it looks, nor the grid on the mode."""
    common = ["-w", "4", "--grid", "32x32", "--residual", "1e-2", "--update", "10us",
              "--balance", "none", "--slow", "none", "--variation", "0", "--jitter", "0"]
    sync = simulate("plb", *common, "--mode", "sync")["variant"][0]
    fine = simulate("plb", *common, "--mode", "sync", "--check", "40us")["variant"][0]
    assert sync["residual"] <= 1e-2
    assert sync["time_to_solution_s"] == pytest.approx(fine["time_to_solution_s"], rel=0.02)
    # The newest halos are better than those of the iteration before.
    free = simulate("plb", *common)["variant"][0]
    assert 0 < free["time_to_solution_s"] < sync["time_to_solution_s"]
    # And waiting for a slow one takes time.
    slow = simulate("plb", *common, "--mode", "sync", "--slow", "1:50")["variant"][0]
    assert slow["time_to_solution_s"] == pytest.approx(2 * sync["time_to_solution_s"], rel=0.02)
    cut = simulate("plb", *common, "--time", "1ms")["variant"][0]
    assert cut["time_to_solution_s"] is None and 1e-2 < cut["residual"] < 1


def test_limits_are_accepted_as_given(simulate):
    simulate("plb", "-w", "2", "--grid", "8x8", "--residual", "0.9", "--source", "1e12", "--time", "1ms",
             "--balance", "none")
    simulate("dplb", *SMALL_DPLB, "--time", "1ms", "--dplb-threshold", "1000000000000")


def test_nothing_left(simulate):
    result = simulate("plb", "-w", "2", "-s", "2", "--grid", "40x40", "--residual", "1e-30", "--update", "1ms",
                      "--slow", "none", "--balance", "none")["variant"][0]
    assert result["residual"] == 0 and result["time_to_solution_s"] > 0


def test_cells_on_ranks(simulate):
    result = simulate("dplb", "--ranks", "3", "-w", "4", "--grid", "24x48", "--residual", "1e-2",
                      "--update", "100us", "--dplb-period", "5ms", "--dplb-threshold", "0",
                      "--send", "200us")
    seconds = [variant["time_to_solution_s"] for variant in result["variant"]]
    assert all(0 < s < 10 for s in seconds)
    assert result["variant"][1]["dplb_moves"] > 0


def test_ssync_bounds_staleness(simulate):
    result = simulate("dplb", *SMALL_DPLB, "--mode", "ssync:3", "--dplb", "global,random")
    assert all(0 < variant["staleness"] <= 3 for variant in result["variant"])


@pytest.mark.parametrize("dplb", ["global", "neighbours"])
def test_what_is_behind_is_given_away(simulate, dplb):
    """A rank with a slow socket gives away what that socket holds, not what the fast one has."""
    none, balanced = simulate("dplb", "--update", "20ms", "--time", "1min", "--slow-sockets", "4:40",
                              "--dplb", "none," + dplb, "-q")["variant"]
    assert balanced["spread"] < none["spread"] / 3 and balanced["staleness_mean"] < none["staleness_mean"] / 2
    assert balanced["iterations_per_s"] > 0.997 * none["iterations_per_s"]


def test_slow_parts(simulate):
    quiet = ["--variation", "0", "--time", "1ms"]
    for arguments, expected in [
            (["--slow", "none"], 1),
            (["--slow-ranks", "0-2,5:40"], 1 - 0.4 * 4 / 6),
            (["--slow-ranks", "any:2:30"], 1 - 0.3 * 2 / 6),
            (["--slow-sockets", "11:50", "--slow-sockets", "0:50"], 1 - 0.5 * 2 / 12),
            (["--slow", "23:24"], 1 - 0.24 / 24)]:
        result = simulate("dplb", *SMALL_DPLB, *quiet, *arguments)
        assert result["capacity"] == pytest.approx(expected)


def test_series(run_jugglectl, tmp_path):
    path = tmp_path / "series"
    done = run_jugglectl("simulate", "plb", *SMALL_PLB, "--balance", "joint", "--series", path,
                         "--lines", "5")
    assert done.returncode == 0, done.stderr
    comment, *lines = path.read_text("utf-8").splitlines()
    assert comment.startswith("#")
    rows = [[float(word) for word in line.split("\t")] for line in lines]
    assert {len(row) for row in rows} == {6} and len(rows) >= 1000
    assert rows[-1][0] == 2 and all(a[0] < b[0] for a, b in zip(rows, rows[1:]))
    done = run_jugglectl("simulate", "plb", *SMALL_PLB, "--balance", "joint", "--series",
                         tmp_path / "no" / "such")
    assert done.returncode == 1 and "no/such" in done.stderr


@pytest.fixture
def told(run_jugglectl, tmp_path):
    """told("plb", ...): what is announced before a run that can't begin, as its picture can't be written."""
    def run(machine, *arguments):
        done = run_jugglectl("simulate", machine, *arguments, "--balance", "none", "--series", tmp_path / "no" / "such")
        assert done.returncode == 1 and "no/such" in done.stderr
        return re.findall(r"this takes (.*) (\d+) (seconds|minutes|hours); (.*) takes less\n", done.stderr)
    return run


def test_long_runs_are_announced(told):
    for machine in (["plb"], ["dplb", "--dplb", "none"]):
        assert told(*machine, "--time", "10ms") == []
        (about, _, unit, less), = told(*machine, "--time", "10min")
        assert (about, unit, less) == ("about", "seconds" if machine == ["plb"] else "minutes", "a shorter --time")
        assert told(*machine, "--time", "10min", "-q") == []


def test_time_to_a_residual_is_announced(told):
    """While only the neighbours of the sides matter, half of it takes 2^(4/3) iterations for one."""
    cells = ["--grid", "1500x1500", "--residual"]
    (about, longer, unit, less), = told("plb", *cells, "5e-4")
    assert (about, unit, less) == ("about", "seconds", "a larger --residual or a smaller --grid")
    (_, shorter, _, _), = told("plb", *cells, "1e-3")
    assert int(longer) / int(shorter) == pytest.approx(2 ** (4 / 3), rel=0.1)
    # A limit may come first, or not.
    (about, number, _, _), = told("plb", *cells, "5e-4", "--iterations", "1000000")
    assert (about, number) == ("about", longer)
    (about, number, unit, _), = told("plb", *cells, "1e-6", "--iterations", "10000")
    assert (about, unit) == ("at most about", "seconds") and int(shorter) < int(number) < int(longer)
    assert told("plb", *cells, "1e-6", "--time", "1ms") == []


def test_text_fits_a_terminal(run_jugglectl):
    cells = ["--residual", "0.5", "--grid", "40x40"]
    dplb = ["dplb", *SMALL_DPLB, "--dplb", "neighbours:65536", "--balance", "hybrid:500"]
    fast = ["plb", "--update", "10ns", "--time", "100us"]
    for arguments in (["plb", *SMALL_PLB], ["plb", *SMALL_PLB, *cells], dplb, dplb + cells, fast):
        done = run_jugglectl("simulate", *arguments)
        assert done.returncode == 0 and done.stderr == ""
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_text_of_one(run_jugglectl):
    one = ["--workers", "1", "--sockets", "1", "--subdomains", "1", "--balance", "none", "--slow", "any:0:40",
           "--variation", "0"]
    done = run_jugglectl("simulate", "dplb", *one, "--ranks", "1", "--update", "50s", "--time", "1000s")
    assert done.stdout.startswith("1 rank of 1 worker on 1 socket, 1 subdomain each, async\n")
    done = run_jugglectl("simulate", "plb", *one, "--update", "50s", "--time", "1000s")
    assert done.stdout.startswith("1 worker on 1 socket, 1 subdomain each, async\n")
    assert "0.02 iterations/s" in done.stdout and done.stdout.splitlines()[3].split()[1] != "0.0"


@pytest.mark.parametrize("arguments, words", [
    (["plb", "--workers", "0"], "1 to 65536"),
    (["plb", "--sockets", "25"], "more than the 24 workers"),
    (["plb", "--slow", "24:19"], "there are 24, numbered from 0"),
    (["plb", "--slow", "any:25:19"], "there are 24"),
    (["plb", "--slow", "4294967296:19"], "LIST:PCT"),
    (["plb", "--slow", "3-1:19"], "--slow 3-1:19: expected"),
    (["plb", "--slow", "1"], "LIST:PCT"),
    (["plb", "--slow", "1:100"], "LIST:PCT"),
    (["plb", "--slow", "1:40-15"], "--slow 1:40-15: expected"),
    (["plb", "--slow", "1:-1"], "--slow 1:-1: expected"),
    (["plb", "--low", "7"], "more than --high 6"),
    (["plb", "--lines", "7"], "--series"),
    (["plb", "--slow", "1,:40"], "LIST:PCT"),
    (["plb", "--balance", "hybrid"], "hybrid:N"),
    (["plb", "--balance", ","], "none, split"),
    (["plb", "--mode", "sync", "--balance", "joint"], "stay where they are"),
    (["plb", "--mode", "ssync"], "ssync:30"),
    (["plb", "--period", "0"], "above 0"),
    (["plb", "--update", "1001s"], "at most 1000s"),
    (["plb", "--time", "10"], "with its unit"),
    (["plb", "--residual", "2"], "below 1"),
    (["plb", "--residual", "nan"], "below 1"),
    (["plb", "--residual", "0.1", "--source", "1.1e12"], "up to 1e12"),
    (["plb", "--residual", "0.1", "--grid", "4x4"], "fewer cells"),
    (["plb", "--grid", "400x400"], "--residual"),
    (["plb", "--grid", "400"], "600x300"),
    (["plb", "--series", "x"], "one variant"),
    (["plb", "-w", "65536", "-s", "65536"], "50 million"),
    (["plb", "--update", "1ns"], "take hours"),
    (["plb", "--iterations", "1000000000000"], "take hours"),
    (["plb", "--residual", "0.5", "--check", "1ns"], "--check"),
    (["dplb", "--update", "1s", "--look", "1us", "--time", "1000min"], "take hours"),
    (["dplb", "--ranks", "100001"], "1 to 100000"),
    (["dplb", "--ranks", "100000", "-w", "600"], "50 million"),
    (["dplb", "--ranks", "100000", "-w", "9", "--high", "65536", "--dplb", "global", "--time", "1ms"], "lower --high"),
    (["dplb", "--dplb", "neighbours:1"], "REACH"),
    (["dplb", "--dplb", "nobody"], "--dplb nobody"),
    (["dplb", "--dplb-threshold", "-1"], "from 0"),
    (["dplb", "--slow-ranks", "15:40"], "there are 15"),
    (["dplb", "--look", "0"], "from 1us"),
])
def test_refused(run_jugglectl, arguments, words):
    refused(run_jugglectl("simulate", *arguments), 2, "simulate %s: " % arguments[0], words)
