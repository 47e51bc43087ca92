# SPDX-License-Identifier: MIT
"""jugglectl replay of recorded traces, of a live run, and of files that are not traces."""

import json
import random
import re
import subprocess

import pytest

import helpers
import traces
from helpers import refused
from test_manuals import keys_of_page

pytestmark = [pytest.mark.beside, pytest.mark.no_races]

TRACES = helpers.REPO / "tests" / "fixtures" / "trace"
OUTCOMES = ("recorded", "model", "replayed")


@pytest.fixture
def replay(jugglectl_json):
    """replay(TRACE, OPTION...): what it prints as JSON."""
    return lambda trace, *options: jugglectl_json("replay", trace, *options)


# --- recorded traces -----------------------------------------------------------------

def test_keys(replay):
    outcome = {"time_s", "speed", "lag_mean_s", "lag_s", "migrations", "busy"}
    result = replay(TRACES / "block")
    outer, inner = keys_of_page("jugglectl-replay.1", "RESULT FORMAT")
    assert outer == set(result)
    assert inner == {"recorded": outcome, "decisions": set(result["decisions"]),
                     "load": set(result["load"][0])}
    assert set(result["asked_decisions"]) == set(result["decisions"])
    assert all(set(result[name]) == outcome for name in OUTCOMES)


def test_as_recorded(replay):
    result = replay(TRACES / "block")
    assert (result["threads"], result["cpus"], result["domains"]) == (3, 2, 1)
    assert result["policy_recorded"] == result["policy"] == "juggle"
    assert result["period_recorded_s"] == result["period_s"] == pytest.approx(0.004)
    assert 0.019 < result["phase_s"] < 0.022, "phases of 20 ms"
    assert result["replayed"] == result["model"]
    assert result["recorded"]["speed"] == 1
    assert result["expected_s"] == pytest.approx(result["recorded"]["time_s"])
    assert abs(result["model_error"]) < 0.1
    assert not result["cut_short"] and result["dropped"] == result["unknown"] == 0


@pytest.mark.parametrize("name", ["block", "yield", "static", "observe", "braid", "lively", "hotplug"])
def test_decisions_are_those_of_the_daemon(run_jugglectl, name):
    done = run_jugglectl("replay", "--json", TRACES / name)
    assert done.returncode == 0, done.stderr
    assert ("the CPUs changed" in done.stderr) == (name == "hotplug")
    decisions = json.loads(done.stdout)["decisions"]
    assert decisions["same"] == decisions["points"] > 40
    assert decisions["moves"] == decisions["moves_recorded"]
    assert decisions["regime_parts_s"] is decisions["moves_part_s"] is decisions["period_parts_s"] is None


def test_other_settings_part(run_jugglectl, replay):
    """It says where: at the first decision that differs."""
    margin = replay(TRACES / "block", "--margin", "50ms")["asked_decisions"]
    assert margin["same"] < 0.9 * margin["points"] and margin["moves"] < 0.5 * margin["moves_recorded"]
    assert margin["regime_parts_s"] is None and margin["moves_part_s"] > 0
    period = replay(TRACES / "block", "--period", "auto")["asked_decisions"]
    assert period["period_parts_s"] > 0
    pinned = replay(TRACES / "block", "--policy", "pinned")["asked_decisions"]
    assert pinned["regime_parts_s"] > 0, "its reason is another"
    assert replay(TRACES / "block", "--policy", "ideal")["asked_decisions"] is None
    always = replay(TRACES / "lively", "--always")["asked_decisions"]
    assert always["regime_parts_s"] > 0 and always["same"] < always["points"]
    assert re.search(r"^The placement first differs after [0-9.]+ s\.$",
                     run_jugglectl("replay", "--margin", "50ms", TRACES / "block").stdout, re.MULTILINE)


def test_shares_and_times_make_sense(run_jugglectl, tmp_path):
    """Also without decisions, and when all happened before the start."""
    file, recorded = tmp_path / "file", (TRACES / "block").read_text()
    file.write_text(re.sub(r"^team .*\n", "", recorded, flags=re.MULTILINE))
    assert "as recorded at 100.0 % of them" in run_jugglectl("replay", "-i", "5ms", file).stdout
    file.write_text(re.sub(r'"start_ns":\d+', '"start_ns":99999999999999', recorded))
    assert re.search(r"first differs after -\d", run_jugglectl("replay", file).stdout)


def test_another_policy(replay):
    """The bound of the theory: 3 threads on 2 CPUs are 4/3 as fast as pinned ones."""
    options = "--slice", "0", "--tick", "0", "--jitter", "0"
    pinned = replay(TRACES / "block", "--policy", "pinned", *options)
    assert pinned["policy"] == "pinned"
    assert 0.7 < pinned["model"]["time_s"] / pinned["replayed"]["time_s"] < 0.95
    assert pinned["expected_s"] > 1.05 * pinned["recorded"]["time_s"]
    assert pinned["replayed"]["migrations"] == 0
    assert pinned["replayed"]["lag_s"] > pinned["model"]["lag_s"]
    ideal = replay(TRACES / "block", "--policy", "ideal", *options)
    assert ideal["replayed"]["time_s"] < pinned["replayed"]["time_s"]
    reactive = replay(TRACES / "block", "--policy", "reactive", *options)
    assert reactive["replayed"]["lag_s"] is None, "it has no balancing points"
    back = replay(TRACES / "static", "--policy", "juggle", "--phase", "20ms", *options)
    assert back["replayed"]["time_s"] < back["model"]["time_s"]


def test_another_period(replay):
    result = replay(TRACES / "block", "--period", "40ms")
    assert result["period_s"] == pytest.approx(0.04)
    assert result["replayed"]["migrations"] < result["model"]["migrations"]
    assert result["replayed"]["time_s"] > result["model"]["time_s"]


def test_phase_of_the_user(replay):
    result = replay(TRACES / "block", "--phase", "100ms")
    assert result["phase_s"] == pytest.approx(0.1, rel=0.2)
    assert result["phases"] * result["phase_s"] * 3 == pytest.approx(
        result["recorded"]["busy"] * result["recorded"]["time_s"] * 2, rel=0.01)


@pytest.mark.parametrize("barrier", ["yield", "spin"])
def test_who_waits_without_sleeping(replay, barrier):
    """Simulating the recorded run finds how much of it was work."""
    result = replay(TRACES / "yield", "--barrier", barrier, "--phase", "20ms")
    assert result["barrier"] == barrier
    assert abs(result["model_error"]) < 0.05


def test_left_to_the_kernel(run_jugglectl, replay):
    result = replay(TRACES / "observe")
    assert (result["policy"], result["balanced"]) == ("reactive", 0)
    assert all(cpu["share"] == 0 for cpu in result["load"])
    assert "The kernel placed the threads" in run_jugglectl("replay", TRACES / "observe").stdout


def test_same_seed_same_result(replay):
    assert replay(TRACES / "block") == replay(TRACES / "block")
    assert replay(TRACES / "block") != replay(TRACES / "block", "--seed", "7")


def test_text(run_jugglectl):
    done = run_jugglectl("replay", "--policy", "pinned", TRACES / "block")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) < 80 for line in done.stdout.splitlines())
    assert re.search(r"^recorded +[0-9.]+ +1\.000 ", done.stdout, re.MULTILINE)
    assert re.search(r"^model: juggle, 4 ms +[0-9.]+ ", done.stdout, re.MULTILINE)
    assert re.search(r"^replay: pinned, 4 ms +[0-9.]+ ", done.stdout, re.MULTILINE)
    assert "With these options the run would have taken" in done.stdout


# --- a live run ----------------------------------------------------------------------

@pytest.mark.needs_cpus(2)
def test_of_a_live_run(run_juggle, replay, app, tmp_path):
    trace = tmp_path / "trace"
    two = "%d,%d" % tuple(helpers.cpus()[:2])
    done = run_juggle("-c", two, "--always", "-i", "4ms", "--trace", str(trace), "--", app("ubench"),
                      "-q", "-t", "3", "-p", "100", "-e", "10ms", "--rate", "200000")
    assert done.returncode == 0, done.stderr
    result = replay(trace)
    assert (result["threads"], result["cpus"], result["policy"]) == (3, 2, "juggle")
    assert result["command"].endswith("--rate 200000")
    assert result["decisions"]["points"] > 0
    for name in OUTCOMES:
        assert result[name]["time_s"] > 0
    assert replay(trace, "--policy", "pinned")["policy"] == "pinned"


# --- damaged traces ------------------------------------------------------------------

def test_cut_in_mid_line(run_jugglectl, tmp_path):
    text = (TRACES / "block").read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(text[:len(text) // 2 + 3])
    done = run_jugglectl("replay", "--json", cut)
    assert done.returncode == 0
    assert done.stderr == "jugglectl replay: the trace is cut short; what is there is used\n"
    assert json.loads(done.stdout)["cut_short"]
    assert run_jugglectl("replay", "-q", cut).stderr == ""


def test_damaged(run_jugglectl, tmp_path):
    lines = (TRACES / "block").read_text().splitlines(keepends=True)
    damaged = tmp_path / "damaged"
    damaged.write_text("".join(lines[:20] + ["thread 1 2\n"] + lines[20:]))
    refused(run_jugglectl("replay", damaged), 1, str(damaged), "line 21: ")


@pytest.mark.parametrize("command", [["replay"], ["predict", "--from"]])
def test_more_cpu_time_than_there_was(run_jugglectl, tmp_path, command):
    """One digit too many is enough, whatever the options."""
    lines = (TRACES / "block").read_text().splitlines(keepends=True)
    damaged = tmp_path / "damaged"
    number = max(i for i, line in enumerate(lines) if line.startswith("thread "))
    for run, words in (("700220774749341", "line %d: damaged: more CPU time than has passed" % (number + 1)),
                       ("700000000", "damaged: more CPU time than the CPUs had")):
        fields = lines[number].split(" ")
        fields[4] = run
        damaged.write_text("".join([*lines[:number], " ".join(fields), *lines[number + 1:]]))
        done = run_jugglectl(*command, damaged)
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(r"jugglectl %s: .*%s.*\n" % (command[0], words), done.stderr), done.stderr


def test_no_trace(run_jugglectl, tmp_path):
    file = tmp_path / "file"
    header = (TRACES / "block").read_text().splitlines(keepends=True)[0]
    without_cpus = re.sub(r"^(cpus|team) .*\n", "", (TRACES / "observe").read_text(), flags=re.MULTILINE)
    for text, words in (
            (b"", ("nothing in it",)),
            (random.Random(1).randbytes(10000), ("line 1", "no trace of juggle --trace")),
            (header.replace("trace 2", "trace 1").encode(), ("version 1",)),
            (header.replace("trace 2", "trace 3").encode(), ("version 3",)),
            (header.encode()[:50], ("the file ends within the header",)),
            (header.encode(), ("no two balancing points",)),
            (traces.begin(cpus=0).encode(), ("line 2", "cpus")),
            (without_cpus.encode(), ("no CPUs",))):
        file.write_bytes(text)
        refused(run_jugglectl("replay", file), 1, str(file), *words)


def test_no_file(run_jugglectl, tmp_path):
    refused(run_jugglectl("replay", tmp_path / "missing"), 1, "No such file or directory")
    refused(run_jugglectl("replay", tmp_path), 1, "Is a directory")


def test_unreadable(unprivileged, jugglectl, tmp_path):
    hidden = tmp_path / "hidden"
    hidden.write_text("")
    hidden.chmod(0)
    refused(unprivileged.run([jugglectl, "replay", str(hidden)]), 1, "Permission denied")


@pytest.mark.parametrize("options, words", [
    ([], ["TRACE is missing"]),
    ([TRACES / "block", TRACES / "yield"], ["one trace at a time"]),
    (["-P", "static", TRACES / "block"], ["pinned, reactive, ideal, juggle or juggle2012"]),
    (["-i", "0", TRACES / "block"], ["--period"]),
    (["-i", "20", TRACES / "block"], ["--period"]),
    (["--domains", "all", TRACES / "block"], ["split or joint"]),
    (["--jitter", "91", TRACES / "block"], ["--jitter"]),
    (["--runs", "0", TRACES / "block"], ["--runs"]),
    (["--phase", "0", TRACES / "block"], ["--phase"]),
    (["--phase", "1ns", TRACES / "block"], ["--phase", "too short"]),
    (["--barrier", "yield", TRACES / "block"], ["--phase"]),
    (["--barrier", "none", TRACES / "block"], ["block, yield or spin"]),
    (["--point-cost", "1s", TRACES / "block"], ["--point-cost"]),
    (["--point-cost", "3.7ms", TRACES / "block"], ["--point-cost", "shortest period"]),
    (["--slice", "1ns", "--runs", "100", TRACES / "block"], ["would take hours", "--slice"]),
    (["--slice", "10ns", "--runs", "1000", TRACES / "block"], ["would take hours", "--runs"]),
])
def test_wrong_command_line(run_jugglectl, options, words):
    refused(run_jugglectl("replay", *options), 2, *words)


def test_output_that_cannot_be_written(jugglectl):
    with open("/dev/full", "w", encoding="utf-8") as full:
        for options in ([], ["--json"]):
            done = subprocess.run(
                [jugglectl, "replay", *options, str(TRACES / "block")], stdout=full,
                stderr=subprocess.PIPE, text=True, timeout=helpers.TIMEOUT_S, check=False)
            assert done.returncode == 1
            assert "No space left on device" in done.stderr


def test_times_that_cannot_be(run_jugglectl, tmp_path):
    """It neither hangs nor prints nonsense."""
    file, most = tmp_path / "file", 2 ** 62 - 1
    file.write_text(traces.begin() + "".join(
        traces.point(now, [(1, 0, 0, most, 0), (2, 1, 0, most, 0)]) for now in (10, 20, 30)))
    refused(run_jugglectl("replay", file), 1, "line 5: damaged: more CPU time than has passed")
    file.write_text(traces.begin() + "".join(
        traces.point(now, [(1, 0, 0, 5, 0)], elapsed_ns=5) for now in (10, most)))
    assert run_jugglectl("replay", "--json", file).returncode == 0
    assert run_jugglectl("replay", "--json", "-i", "1000000min", TRACES / "block").returncode == 0


def test_costs_without_end(run_jugglectl):
    """A move costs more than a period, so there is no progress."""
    done = run_jugglectl("replay", "--migration-cost", "3600s", TRACES / "block")
    refused(done, 1, "does not end")
