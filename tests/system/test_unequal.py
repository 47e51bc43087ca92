# SPDX-License-Identifier: MIT
"""tests/bench/unequal: it runs, and its bounds are right. Nothing here asserts how fast anything is."""
import json

import pytest

import helpers

SCRIPT = helpers.REPO / "tests" / "bench" / "unequal"
REAL = ["--seconds", "0.02", "--repeats", "1", "--phases", "5", "--barriers", "block"]


def run(*args):
    return helpers.run([SCRIPT, "--build", helpers.BUILD, *args], timeout_s=4 * helpers.TIMEOUT_S)


@pytest.fixture
def measured(app, tmp_path):
    """measured(OPTION...) is what the script printed and its JSON."""
    app("ubench")

    def start(*args):
        path = tmp_path / "result.json"
        done = run(*args, "--json", path)
        assert done.returncode == 0, done.stderr
        return done.stdout, json.loads(path.read_text())
    return start


def needs_speeds(*command):
    if "--speeds" not in helpers.run([*command, "--help"]).stdout:
        pytest.skip(f"{command[0]} has no --speeds")


@pytest.mark.needs_cpus(2)
def test_real(measured):
    printed, result = measured(*REAL, "--untold", "--skip", "juggle,10ms")
    assert "EMULATED" in printed
    assert result["speeds"] == "emulated" and result["rate_steps_per_ms"] > 0
    pairs = [case for case in result["cases"] if len(case["speeds"]) < 8]  # two CPUs
    assert [(case["speeds"], case["threads"]) for case in pairs] == [("1,0.55", 2), ("1,0.8", 2), ("1,0.55", 3)]
    assert [case["bound"] for case in pairs] == pytest.approx([1.409, 1.125, 1.033], abs=1e-3)
    for case in result["cases"]:
        assert set(case["times_s"]) == {"pinned", "linux", "untold"}
        times = {column: time for column, (time,) in case["times_s"].items()}
        assert case["ratios"] == pytest.approx({
            "linux/pinned": times["pinned"] / times["linux"], "untold/pinned": times["pinned"] / times["untold"],
            "untold/linux": times["linux"] / times["untold"],
            "linux/bound": times["pinned"] / times["linux"] / case["bound"],
            "untold/bound": times["pinned"] / times["untold"] / case["bound"]})


@pytest.mark.needs_cpus(2)
def test_speeds_are_emulated(measured):
    """A hundred times as long on the slow CPU: no noise hides that."""
    _, result = measured(*REAL, "--seconds", "0.01", "--speeds", "1,0.01", "--skip", "linux,juggle,10ms")
    case, = result["cases"]
    assert case["bound"] == pytest.approx(50.5)
    assert case["times_s"]["pinned"][0] > 25 * case["ideal_s"]


@pytest.mark.needs_cpus(2)
def test_juggle_is_told(measured, juggle):
    needs_speeds(juggle)
    _, result = measured(*REAL, "--speeds", "2,1")
    assert list(result["cases"][0]["times_s"]) == ["pinned", "linux", "juggle", "10ms"]


def test_simulated(measured, jugglectl):
    needs_speeds(jugglectl, "simulate", "juggle")
    printed, result = measured("--simulated", "--seconds", "1", "--phases", "100")
    assert "Virtual time" in printed and "EMULATED" not in printed
    assert result["speeds"] == "simulated"
    bounds = {(case["speeds"], case["threads"]): case["bound"] for case in result["cases"]}
    assert bounds == {
        ("8x1,16x0.55", 24): pytest.approx(1.273, abs=1e-3), ("8x1,16x0.55", 12): pytest.approx(1.545, abs=1e-3),
        ("10x1,10x0.28", 20): pytest.approx(2.286, abs=1e-3), ("10x1,10x0.28", 10): 1}
    assert len(result["cases"]) == 4 * 3
    for case in result["cases"]:
        pinned_s, = case["times_s"]["pinned"]
        assert pinned_s == pytest.approx(case["ideal_s"] * case["bound"], rel=0.02)


@pytest.mark.parametrize("args, message", [
    (["--speeds", "0"], "unequal: --speeds 0: not a list as 1,0.55 or 8x1,16x0.55\n"),
    (["--speeds", "8192x1"], "unequal: --speeds 8192x1: it has 8192 speeds, and --cpus has "),
    (["--cpus", "9000"], "unequal: --cpus 9000: "),
    (["--simulated", "--untold"], "--untold is not for --simulated\n"),
])
def test_refuses(args, message, juggle):
    done = run(*args)
    assert done.returncode != 0
    assert message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""
