# SPDX-License-Identifier: MIT
"""jugglectl predict: its numbers, its advice, and how it reads files of real runs."""

import json
import os
import re
import subprocess

import pytest

import helpers
import traces
from test_manuals import keys_of_page

pytestmark = [pytest.mark.beside, pytest.mark.no_races]


@pytest.fixture
def predict(jugglectl_json):
    """predict("-n", 3, ...): what it prints as JSON."""
    return lambda *arguments: jugglectl_json("predict", *arguments)


@pytest.fixture
def refused(run_jugglectl):
    """The message of a prediction that fails: one line, after the name."""
    def run(*arguments, status):
        done = run_jugglectl("predict", *arguments)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        first, *more = done.stderr.splitlines()
        assert first.startswith("jugglectl predict: ")
        assert not [line for line in more if "--help" not in line]
        return first
    return run


# --- numbers -------------------------------------------------------------------------

def test_keys_are_those_of_the_page(predict, tmp_path):
    keys, inner = keys_of_page("jugglectl-predict.1", "RESULT FORMAT")
    alone = predict("-n", 3, "-m", 2, "--phase", "1s")
    assert keys == set(alone) and alone["measured"] is None
    run = predict("--from", ubench_result(tmp_path))
    assert keys == set(run) and inner == {"measured": set(run["measured"])}


def test_numbers_of_the_paper(predict):
    """16 threads on 12 CPUs: 1.5 with juggle (Section 5.3), by Eq. 30 4/3 with Linux."""
    found = predict("-n", 16, "-m", 12, "--phase", "1s", "--period", "1ms", "--phases", 10)
    assert found["pinned_s"] == 20
    assert found["juggle_speedup"] == pytest.approx(1.5)
    assert found["reactive_speedup"] == pytest.approx(4 / 3)
    assert found["perfect_s"] == pytest.approx(40 / 3)
    # Eq. 2, where the period is long.
    found = predict("-n", 8, "-m", 7, "--phase", "1s", "--period", "1s")
    assert found["juggle_s"] == pytest.approx(1.5)
    assert found["juggle_speedup_bound"] == pytest.approx(2 / 1.5)


def test_defaults(predict):
    found = predict("-n", 99, "-e", "20ms")
    assert found["cpus"] == len(helpers.cpus())
    assert (found["phases"], found["phase_s"]) == (1, 0.02)
    # As juggle --period auto has it: the longer the phase, the longer the period.
    periods = [predict("-n", 5, "-m", 4, "-e", phase)["period_s"] for phase in ("20ms", "50ms")]
    assert 0.002 < periods[0] < periods[1] < 0.05


def test_affinity_mask_counts(jugglectl):
    done = helpers.run(["taskset", "-c", str(helpers.cpus()[0]), jugglectl, "predict", "-n", "3",
                        "-e", "1s", "--json"])
    assert json.loads(done.stdout)["cpus"] == 1


def test_huge_numbers(predict):
    for n, m in [(1000000, 999), (1000000, 999999), (999999, 2), (1000000, 1000000), (1, 1000000)]:
        found = predict("-n", n, "-m", m, "-e", "3600s", "-l", 1000000000, "-i", "1ns")
        assert found["perfect_s"] <= found["juggle_bound_s"] * (1 + 1e-9)
        assert found["juggle_bound_s"] <= found["juggle_s"] * (1 + 1e-9)
        assert found["juggle_s"] <= found["pinned_s"] * (1 + 1e-9)


def test_unequal_work(predict):
    """1 of each of 3, 1 and 1 at a rate of 2/3, then 2 alone."""
    found = predict("--work", "1,3,1", "-m", 2, "-e", "20ms", "-l", 10)
    assert (found["threads"], found["work"]) == (3, [3, 1, 1])
    assert [found[key] for key in ("pinned_s", "juggle_s", "by_rest_s", "juggle_bound_s")] == pytest.approx(
        [0.8, 0.7, 0.6, 0.6])
    assert found["juggle_speedup"] == pytest.approx(8 / 7) and found["verdict"] == "juggle"
    assert found["reactive_s"] is None and found["reactive_speedup"] is None
    # The largest on the fastest CPU, which has 3 + 1 of work.
    found = predict("--work", "3,2x1", "--speeds", "0.5,1", "-e", "1s")
    assert (found["pinned_s"], found["perfect_s"]) == (4, pytest.approx(10 / 3))
    assert found["verdict"] == "little"


def test_unequal_work_as_text(run_jugglectl):
    text = run_jugglectl("predict", "--work", "3,2x1", "-m", 2, "-e", "1s").stdout
    assert "3 threads of unequal work" in text and "by work left" in text and "Linux" not in text


def test_equal_works_are_none(predict):
    alone, works = (predict("-m", 4, "-e", "1s", "-i", "1ms", *more) for more in (["-n", 7], ["--work", "7x1"]))
    for key in ("pinned_s", "perfect_s"):
        assert works[key] == pytest.approx(alone[key])


@pytest.mark.parametrize("n, m, cost", [(3, 2, "100us"), (7, 6, "50us"), (8, 6, "30us")])
def test_cost_of_moves(predict, jugglectl_json, n, m, cost):
    """As much longer as in the simulator, within the 2 percent of test_uneven.c."""
    case = ["-n", n, "-m", m, "--phase", "100ms", "--phases", 20, "-i", "1ms"]
    simulated = [jugglectl_json("simulate", "juggle", *case, "-P", "ideal", "--jitter", 10, "--migration-cost", each)[
        "policies"][0]["time_s"] for each in ("0ns", cost)]
    found, free = predict(*case, "--migration-cost", cost), predict(*case)
    assert found["moves_cost"] > 1.02
    assert found["juggle_s"] == pytest.approx(free["juggle_s"] * found["moves_cost"])
    assert found["moves_cost"] == pytest.approx(simulated[1] / simulated[0], rel=0.02)


# --- advice --------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, verdict, words", [
    ("-n 4 -m 4 -e 1s", "nothing", "4 threads fit 4 CPUs"),
    ("-n 3 -m 4 -e 1s", "nothing", "1 CPU is idle"),
    ("-n 8 -m 4 -e 1s", "nothing", "2 for each of 4 CPUs"),
    ("-n 7 -m 4 -e 20ms", "juggle", "1.14 times as fast"),
    ("-n 16 -m 12 -e 2s", "juggle", "Linux by itself gains 1.33"),
    ("-n 16 -m 12 -e 2s -i 3s", "juggle", "the shorter the period the better, up to 1.50"),
    ("-n 3 -m 2 -e 1s", "linux", "Linux does as well"),
    ("-n 3 -m 2 -e 20ms", "juggle", "under 100 ms"),
    ("-n 3 -m 2 -e 10ms", "juggle", "to moves"),
    ("-n 3 -m 2 -e 20ms -i 50us", "juggle", "100 us"),
    ("-n 99 -m 2 -e 1s", "little", "Little to gain"),
    ("-n 3 -m 2 -e 1s -i 5s", "period", "too long"),
    ("-n 3 -m 2 -e 10ms -i 40ms -l 100", "period", "50 of 100 phases"),
    ("-n 3 -m 2 -e 10us", "period", "can't be balanced"),
    ("-n 2 --speeds 1,0.55 -e 20ms", "juggle", "1.38 times as fast"),
    ("-n 2 --speeds 1,0.55 -e 20ms", "juggle", "up to 1.25 where it knows the speeds"),
    ("-n 12 --speeds 8x1,16x0.55 -e 20ms", "juggle", "up to 1.55"),
    ("-n 20 --speeds 10x1,10x0.28 -e 20ms", "juggle", "Pinning more threads to fast CPUs gains 1.79"),
    ("-n 5 --speeds 3,2x1 -e 1s", "linux", "if it knows the speeds and threads sleep"),
    ("-n 2 --speeds 1,0.99 -e 1s", "little", "the CPUs are nearly equal"),
    ("-n 2 --speeds 1,0.55 -e 1s -i 9s", "period", "too long"),
    ("-n 8 --speeds 8x1,16x0.55 -e 1s", "nothing", "16 CPUs are idle"),
    ("-n 4 --speeds 4x0.5 -e 1s", "nothing", "4 threads fit 4 CPUs"),
])
def test_advice(predict, arguments, verdict, words):
    found = predict(*arguments.split())
    assert found["verdict"] == verdict and words in found["advice"]


@pytest.mark.parametrize("arguments", ["-n 7 -m 4 -e 20ms", "-n 3 -m 2 -e 10ms -i 40ms -l 100",
                                       "-n 1000000 -m 999999 -e 3600s -l 1000000000"])
def test_text_fits_a_terminal(run_jugglectl, arguments):
    done = run_jugglectl("predict", *arguments.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) < 80
    assert " CPUs, " in done.stdout and ", a balancing point every " in done.stdout.replace("\n", " ")
    assert re.search(r"^pinned .* s +1\.000$", done.stdout, re.MULTILINE)


# --- unequal CPUs --------------------------------------------------------------------

@pytest.mark.parametrize("threads, speeds, bound", [
    (2, "1,0.55", 1.41), (2, "0.55,1", 1.41), (2, "2x1,0.3", 1), (24, "8x1,16x0.55", 1.27), (12, "8x1,16x0.55", 1.55),
    (20, "10x1,10x0.28", 2.29), (3, "2x3", 4 / 3),
])
def test_speeds(predict, threads, speeds, bound):
    """Mean speed over slowest, of the fastest CPUs, one for each thread."""
    found = predict("-n", threads, "-e", "1s", "--speeds", speeds, "-i", "1us")
    assert found["juggle_speedup_bound"] == pytest.approx(bound, abs=0.005)
    assert found["juggle_speedup"] == pytest.approx(bound, abs=0.005)
    assert found["cpus"] == len(found["speeds"]) and found["speeds"] == sorted(found["speeds"], reverse=True)
    assert found["perfect_s"] <= found["reactive_s"] <= found["best_pinned_s"] <= found["pinned_s"]


def test_period_costs(predict):
    """What is lost before barriers grows with the period, from the default that juggle would choose."""
    def gain(*options):
        return predict("-n", 2, "-e", "20ms", "--speeds", "1,0.55", *options)["juggle_speedup"]
    assert 1 == gain("-i", "100ms") < gain("-i", "30ms") < gain("-i", "10ms") < 1.36 < gain() < 1.4


def test_speeds_say_how_many_cpus(predict, refused):
    assert predict("-n", 2, "-m", 2, "-e", "1s", "--speeds", "1,0.5")["cpus"] == 2
    assert predict("-n", 2, "-m", 2, "-e", "1s")["speeds"] is None
    assert "--cpus 3: --speeds has 2 CPUs" in refused(*"-n 2 -m 3 -e 1s --speeds 1,0.5".split(), status=2)


def test_pinned_at_best(run_jugglectl):
    """The row is there where it says something."""
    def rows(*options):
        done = run_jugglectl("predict", "-n", 20, "-e", "1s", *options)
        assert max(map(len, done.stdout.splitlines())) < 80
        return dict(re.findall(r"^([a-zA-Z, ]+?) +[0-9.]+ s +([0-9.]+)$", done.stdout, re.MULTILINE))
    assert "pinned, at best" not in rows("-m", 20)
    assert float(rows("--speeds", "10x1,10x0.28")["pinned, at best"]) == pytest.approx(3.571 / 2, abs=0.001)


def test_speeds_of_a_run(predict, refused, tmp_path):
    """CPU time is work at the mean speed; that of ubench is known."""
    report = written(tmp_path, REPORT)
    assert predict("--from", report, "-l", 1, "--speeds", "1,0.5")["phase_s"] == pytest.approx(2 * 0.75)
    found = predict("--from", report, "--speeds", "1,0.5", "-e", "50ms")
    assert found["phases"] == 30
    assert predict("--from", ubench_result(tmp_path), "--speeds", "1,0.5")["phase_s"] == 0.05
    found = predict("--from", written(tmp_path, REPORT, cpu_speeds=[0.5, 1.0]), "-l", 1)
    assert (found["speeds"], found["phase_s"]) == ([1, 0.5], pytest.approx(2 * 0.75))
    # Others are asked for, or they are equal or not known.
    assert predict("--from", tmp_path / "run", "-l", 1, "-m", 4)["speeds"] is None
    assert predict("--from", tmp_path / "run", "-l", 1, "--speeds", "1,0.7")["speeds"] == [1, 0.7]
    for speeds in ([1.0, 1.0], [1.0, 0.0]):
        assert predict("--from", written(tmp_path, REPORT, cpu_speeds=speeds), "-l", 1)["speeds"] is None
    many = written(tmp_path, REPORT, threads=5000)
    assert "at most 4096 threads" in refused("--from", many, "-l", 1, "--speeds", "1,0.5", status=2)


# --- wrong command lines -------------------------------------------------------------

@pytest.mark.parametrize("arguments, word", [
    ("", "-n"),
    ("-n 3 -m 2", "--phase"),
    ("-m 2 -e 1s", "-n"),
    ("-n 0 -m 2 -e 1s", "--threads 0"),
    ("-n 3 -m 0 -e 1s", "--cpus 0"),
    ("-n 3 -m -1 -e 1s", "--cpus -1"),
    ("-n 1000001 -m 2 -e 1s", "--threads 1000001"),
    ("-n 3 -m 2 -e 0", "--phase 0"),
    ("-n 3 -m 2 -e 1s -i 0", "--period 0"),
    ("-n 3 -m 2 -e 1s -i 5", "--period 5"),
    ("-n 3 -m 2 -e 1s -l 0", "--phases 0"),
    ("-n 3 -m 2 -e 1s -l 1.5", "--phases 1.5"),
    ("-n 3 -m 2 -e 1s more", "more"),
    ("-n 3 -e 1s --speeds 0", "0.01 to 100"),
    ("-n 3 -e 1s --speeds 1,,1", "0.01 to 100"),
    ("-n 3 -e 1s --speeds 1025x1", "at most 1024 CPUs"),
    ("-n 4097 -e 1s --speeds 1,0.5", "at most 4096 threads"),
    ("-e 1s --work 3,,1", "0.01 to 100"),
    ("-e 1s --work 1025x1", "at most 1024 threads"),
    ("-n 3 -e 1s --work 3,1", "--work has 2 threads"),
    ("-e 1s --work 3,1 --migration-cost 1us", "--migration-cost"),
    ("-n 9 -m 5 -e 1s --migration-cost 1us", "one thread more"),
    ("-n 3 -m 2 -e 1s -i 1ms --migration-cost 1ms", "all time"),
])
def test_wrong_command_line(refused, arguments, word):
    assert word in refused(*arguments.split(), status=2)


# --- real runs -----------------------------------------------------------------------

UBENCH = {"program": "ubench", "version": "1", "threads": 3, "cpus": 2, "phase_s": 0.05, "phases": 40,
          "barrier": "block", "pin": False, "imbalance_pct": 0.0, "elapsed_s": 3.03}
REPORT = {"version": "1", "policy": "juggle", "period_s": 0.01, "elapsed_s": 3.03, "cpus": [0, 1],
          "threads": 3, "idle_threads": 1, "regime": "balance", "reason": "a trial",
          "balanced_s": 3.0, "threads_unlisted": 0,
          "thread": [{"tid": i, "progress_s": p} for i, p in enumerate([2.0, 1.99, 2.01, 0.0])]}


def written(folder, value, **changes):
    path = folder / "run"
    path.write_text(json.dumps({**value, **changes}))
    return path


def ubench_result(folder, **changes):
    return written(folder, UBENCH, **changes)


def test_result_of_ubench(predict, tmp_path):
    found = predict("--from", ubench_result(tmp_path))
    assert [found[key] for key in ("threads", "cpus", "phase_s", "phases")] == [3, 2, 0.05, 40]
    assert (found["pinned_s"], found["juggle_s"]) == (pytest.approx(4), pytest.approx(3))
    measured = found["measured"]
    assert (measured["kind"], measured["way"], measured["elapsed_s"]) == ("ubench", "unknown", 3.03)
    assert measured["juggle_deviation_pct"] == pytest.approx(1)
    assert measured["pinned_deviation_pct"] == pytest.approx(-24.25)
    assert predict("--from", ubench_result(tmp_path, pin=True))["measured"]["way"] == "pinned"
    assert predict("--from", ubench_result(tmp_path, speeds=[1, 0.55]))["measured"] == measured
    assert predict("--from", ubench_result(tmp_path), "-m", 3)["juggle_s"] == pytest.approx(2)


@pytest.mark.parametrize("policy, way", [("juggle", "juggle"), ("static", "pinned"), ("observe", "linux")])
def test_report(predict, tmp_path, policy, way):
    found = predict("--from", written(tmp_path, REPORT, policy=policy), "-l", 1)
    assert [found[key] for key in ("threads", "cpus", "period_s", "phases")] == [3, 2, 0.01, 1]
    assert found["phase_s"] == pytest.approx(2)
    assert found["measured"]["way"] == way
    assert found["measured"]["juggle_deviation_pct"] == pytest.approx(1)


def test_phases_of_a_report(predict, tmp_path):
    """The work is known: the number of phases and their length follow from each other."""
    path = written(tmp_path, REPORT)
    found = predict("--from", path, "--phase", "50ms")
    assert (found["phase_s"], found["phases"]) == (0.05, 40)
    found = predict("--from", path, "--phases", 20)
    assert (found["phase_s"], found["phases"]) == (pytest.approx(0.1), 20)
    found = predict("--from", path, "--phases", 10, "--phase", "1ms")
    assert (found["phase_s"], found["phases"]) == (0.001, 10)
    assert predict("--from", path, "--phase", "5s")["phases"] == 1


# What runtimes told: 3 threads, 100 phases of 20 ms of work each, in 30.9 ms.
TOLD = {"told_by": ["libgomp"], "threads": 3, "phases": 100, "phase_s": 0.0309, "work_s": 0.02, "told_s": 3.09,
        "load_balance": 0.99}


def test_report_with_phases(predict, run_jugglectl, tmp_path):
    """Phases and their length are those that were told; the time is that for which they were."""
    path = written(tmp_path, REPORT, phases=TOLD, threads=4)
    found = predict("--from", path)
    assert [found[key] for key in ("threads", "cpus", "period_s", "phases", "phase_s")] == [3, 2, 0.01, 100, 0.02]
    assert (found["pinned_s"], found["juggle_bound_s"]) == (pytest.approx(4), pytest.approx(3))
    assert (found["measured"]["elapsed_s"], found["measured"]["work_s"]) == (3.09, pytest.approx(2))
    text = " ".join(run_jugglectl("predict", "--from", path).stdout.split())
    assert "for which runtimes told of phases" in text and "same work" not in text
    # Where nothing was balanced, the period is what juggle would choose, by what a point costs.
    static = written(tmp_path, REPORT, phases=TOLD, policy="observe")
    period_s = predict("--from", static)["period_s"]
    assert period_s != 0.01 and period_s == predict("-n", 3, "-m", 2, "-e", "20ms")["period_s"]
    dear = written(tmp_path, REPORT, phases=TOLD, policy="observe", point_s=0.001)
    assert predict("--from", dear)["period_s"] > period_s
    # Speeds of CPUs: work is CPU time at their mean speed. Options take precedence.
    assert predict("--from", path, "--speeds", "1,0.5")["phase_s"] == pytest.approx(0.015)
    assert predict("--from", path, "-e", "50ms", "-l", 7, "-n", 5)["pinned_s"] == pytest.approx(7 * 0.05 * 3)


def test_report_of_unequal_work(run_jugglectl, tmp_path):
    path = written(tmp_path, REPORT, phases={**TOLD, "load_balance": 0.75})
    text = " ".join(run_jugglectl("predict", "--from", path).stdout.split())
    assert "did not do the same work (load balance 0.75)" in text


@pytest.mark.parametrize("phases", [None, "off", ["libgomp"], {**TOLD, "phases": None}])
def test_report_without_phases(predict, refused, tmp_path, phases):
    path = written(tmp_path, REPORT, phases=phases)
    assert "it has no phases, as no runtime told them (juggle --phases): give --phase or --phases" in refused(
        "--from", path, status=1)
    assert predict("--from", path, "-l", 20)["phase_s"] == pytest.approx(0.1)


def test_juggle_stood_aside(predict, run_jugglectl, tmp_path):
    """The reason is that of most of the time, not that at the end, when threads end one by one."""
    ways = [("balance", "starting", 1.3), ("aside", "a trial", 1), ("aside", "at the end", 0.7)]
    regimes = [{"regime": regime, "reason": reason, "seconds": s} for regime, reason, s in ways]
    path = written(tmp_path, REPORT, regime="aside", reason="at the end", balanced_s=1.3, regimes=regimes)
    measured = predict("--from", path, "-l", 1)["measured"]
    assert (measured["way"], measured["reason"]) == ("linux", "a trial")
    assert measured["balanced"] == pytest.approx(0.43, abs=0.01)
    text = run_jugglectl("predict", "--from", path, "-l", 1).stdout
    assert "43 % of that run, and otherwise stood aside (mainly: a trial)" in " ".join(text.split())


@pytest.mark.parametrize("changes, word", [
    ({"threads": None}, "threads"), ({"threads": 0}, "threads"), ({"threads": 2.5}, "threads"),
    ({"threads": "3"}, "threads"), ({"cpus": -1}, "cpus"), ({"elapsed_s": 0}, "elapsed_s"),
    ({"elapsed_s": -1}, "elapsed_s"), ({"elapsed_s": 1e300}, "elapsed_s"),
    ({"phase_s": 0}, "phase_s"), ({"phases": 1e300}, "phases"), ({"pin": 1}, "pin"),
    ({"program": "noise"}, "neither"), ({"program": None}, "neither"),
])
def test_damaged_result_of_ubench(refused, tmp_path, changes, word):
    assert word in refused("--from", ubench_result(tmp_path, **changes), status=1)


@pytest.mark.parametrize("changes, word", [
    ({"threads": 0}, "no compute threads"), ({"threads": 1e9}, "threads"), ({"cpus": []}, "cpus"),
    ({"cpus": 2}, "cpus"), ({"elapsed_s": -3}, "elapsed_s"), ({"period_s": 0}, "period_s"),
    ({"policy": "best"}, "policy"), ({"policy": 1}, "policy"), ({"thread": {}}, "thread"),
    ({"thread": [1]}, "progress_s"), ({"thread": [{"progress_s": -1}]}, "progress_s"),
    ({"thread": [{"progress_s": 1e300}]}, "progress_s"), ({"thread": []}, "progress_s"),
    ({"phases": {**TOLD, "threads": 0}}, "threads"), ({"phases": {**TOLD, "work_s": 0}}, "work_s"),
    ({"phases": {**TOLD, "phases": 1e300}}, "phases"), ({"phases": {**TOLD, "told_s": "1"}}, "told_s"),
    ({"phases": {**TOLD, "load_balance": 2}}, "load_balance"), ({"point_s": -1}, "point_s"),
    ({"cpu_speeds": 1}, "cpu_speeds"), ({"cpu_speeds": [1]}, "cpu_speeds"), ({"cpu_speeds": [1, -1]}, "cpu_speeds"),
    ({"cpu_speeds": [1, "x"]}, "cpu_speeds"), ({"threads_unlisted": 5}, "threads_unlisted"), ({"balanced_s": None}, "balanced_s"),
])
def test_damaged_report(refused, tmp_path, changes, word):
    assert word in refused("--from", written(tmp_path, REPORT, **changes), status=1)


@pytest.mark.parametrize("text, word", [
    (b"", "cut short"), (b"[]", "no JSON object"), (b"{}", "neither"), (b"\0\xff\x7fELF", "damaged"),
    (json.dumps(UBENCH).encode()[:-9], "cut short"), (b'{"program": "ubench"}', "no run"),
    (b'{"program": "ubench", "elapsed_s": 1e999}', "overflow"), (b"[" * 100000, "damaged"),
    (b"# juggle trace 1 {", "line"), (b"# juggle trace 77 {}\n", "version"),
    (b"# juggle traces\n", "line"),
], ids=range(11))
def test_foreign_file(refused, tmp_path, text, word):
    path = tmp_path / "run"
    path.write_bytes(text)
    assert word in refused("--from", path, status=1)


@pytest.mark.parametrize("run_s, wait_s, others", [
    (2.0, 1.0, 0),  # 3 threads on 2 CPUs, alone there
    (2.0, 2.0, 0),
    (1.0, 2.03, 0.255),
    (0.1, 3.0, 0.718),
])
def test_other_work(predict, run_jugglectl, tmp_path, run_s, wait_s, others):
    path = written(tmp_path, REPORT, thread=[{"tid": i, "progress_s": run_s, "wait_s": wait_s} for i in range(3)])
    assert predict("--from", path, "-l", 1)["measured"]["others"] == pytest.approx(others, abs=1e-3)
    said = re.search(r"Other work had at least (\d+) % of the CPUs", run_jugglectl("predict", "--from", path, "-l", 1).stdout)
    assert int(said[1]) == pytest.approx(100 * others, abs=1) if others else said is None


def test_other_work_of_a_trace(predict, tmp_path):
    path = tmp_path / "trace"
    path.write_text(trace())
    assert predict("--from", path)["measured"]["others"] == 0
    path.write_text(trace().replace(" 6000000 4000000 1 a", " 1000000 9000000 1 a"))
    assert predict("--from", path)["measured"]["others"] == pytest.approx(0.6)


@pytest.mark.parametrize("text", [b'{"a" \x1b[31m: 1}', b'{"a": \x1b[31m}', b"\x1b[31m", b'{"a" \x7f\x9b}'])
def test_message_is_printable(refused, tmp_path, text):
    """Text of a file must not reach the terminal as control characters."""
    path = tmp_path / "file"
    path.write_bytes(text)
    assert re.fullmatch("[ -~]*", refused("--from", path, status=1))


def test_pipe(run_jugglectl, tmp_path):
    for path in (ubench_result(tmp_path), helpers.REPO / "tests" / "fixtures" / "trace" / "block"):
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
            piped = run_jugglectl("predict", "--from", "/dev/stdin", stdin=cat.stdout)
        assert piped.returncode == 0, piped.stderr
        assert piped.stdout == run_jugglectl("predict", "--from", path).stdout


def test_unreadable_file(refused, tmp_path):
    assert "No such file" in refused("--from", tmp_path / "none", status=1)
    assert "directory" in refused("--from", tmp_path, status=1)


def test_name_that_is_no_text(predict, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(UBENCH, file)
    assert predict("--from", os.fsdecode(path))["measured"]["file"] == "%s/??" % tmp_path


# --- traces --------------------------------------------------------------------------

def trace(policy="juggle", points=30, threads=3, decision=lambda i: "balance starting"):
    """The threads run 6 ms each of every 10 ms, from 0.01 s on."""
    return traces.begin(policy=policy, start_ns=1000000000) + "".join(
        traces.point(1000000000 + i * 10000000,
                     [(10 + t, 0, i * 6000000, 6000000, 4000000) for t in range(threads)], decision=decision(i))
        for i in range(1, points + 1))


@pytest.mark.parametrize("policy, way", [("juggle", "juggle"), ("static", "pinned"), ("observe", "linux")])
def test_trace(predict, tmp_path, policy, way):
    path = tmp_path / "trace"
    path.write_text(trace(policy))
    found = predict("--from", path)
    assert [found[key] for key in ("threads", "cpus", "period_s", "phases")] == [3, 2, 0.01, 1]
    assert found["phase_s"] == pytest.approx(0.18)
    measured = found["measured"]
    assert (measured["kind"], measured["way"], measured["elapsed_s"]) == ("trace", way, 0.3)


def test_trace_of_a_run_stood_aside(predict, tmp_path):
    path = tmp_path / "trace"
    decisions = ["balance starting"] * 4 + ["aside seldom \x1b[7m"] * 24 + ["aside at the end"] * 99
    path.write_text(trace(decision=lambda i: decisions[i]))
    measured = predict("--from", path)["measured"]
    assert (measured["balanced"], measured["reason"]) == (pytest.approx(0.1), "seldom ?[7m")
    assert measured["way"] == "linux"


def test_trace_of_two_domains(predict, tmp_path):
    """Each counts by its part of the CPUs: the second one, which has one of two, stood aside."""
    path = tmp_path / "trace"
    path.write_text(trace().replace(" 0:0 1:0", " 0:0 1:1"))
    assert predict("--from", path)["measured"]["balanced"] == pytest.approx(0.29 / 0.3 / 2)


@pytest.mark.parametrize("text, word", [
    (trace()[:-20], "cut short"), (trace(points=0), "no compute threads"),
    (trace(threads=0), "no compute threads"), (trace() + "dropped 3\n", "3 records are missing"),
    (trace("best"), "policy"), (trace().replace("point", "pint"), "line 5"),
], ids=["cut", "empty", "no threads", "dropped", "policy", "records"])
def test_bad_trace(refused, tmp_path, text, word):
    path = tmp_path / "trace"
    path.write_text(text)
    assert word in refused("--from", path, status=1)


def test_files_of_a_real_run(predict, run_juggle, app, tmp_path):
    """They are understood; how long the runs took depends on the machine."""
    files = [tmp_path / name for name in ("report", "trace", "result")]
    done = run_juggle("-P", "static", "--report", files[0], "--trace", files[1], "--", app("ubench"),
                      "-q", "-t", len(helpers.cpus()) + 1, "-e", "10ms", "-p", "10", "--json", files[2])
    assert done.returncode == 0, done.stderr
    for file, kind in zip(files, ["report", "trace", "ubench"]):
        if kind == "report" and helpers.SANITIZER:
            continue  # it has no phases, as nothing is preloaded to a sanitized workload
        found = predict("--from", file)
        assert found["measured"]["kind"] == kind
        assert found["threads"] >= 1 and found["cpus"] == len(helpers.cpus())
        assert found["measured"]["elapsed_s"] > 0
