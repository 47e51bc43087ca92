# SPDX-License-Identifier: MIT
"""jugglectl simulate juggle: what it accepts, prints and refuses."""

import json
import re
import subprocess

import pytest

from test_manuals import keys_of_page

pytestmark = [pytest.mark.beside, pytest.mark.no_races]

PAGE = "jugglectl-simulate-juggle.1"

# The paper's balancer, which balances all threads from the start, with a fixed period.
PAPER = ["--always", "--idle", "none", "--period", "4ms"]


@pytest.fixture
def simulate(run_jugglectl):
    """simulate("-n", 3) runs it to its end."""
    return lambda *arguments: run_jugglectl("simulate", "juggle", *arguments)


@pytest.fixture
def result(simulate):
    """result("-n", 3) is what it prints as JSON, the policies by name."""
    def run(*arguments):
        done = simulate("--json", *arguments)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        found["policies"] = {policy["name"]: policy for policy in found["policies"]}
        return found
    return run


def test_policies(result):
    """8 threads on 7 CPUs: Eqs. 16, 30 and 15."""
    found = result(*PAPER, "-n", 8, "-m", 7, "--phase", "1s", "--phases", "10")
    times = {name: policy["time_s"] for name, policy in found["policies"].items()}
    assert list(times) == ["pinned", "reactive", "ideal", "juggle", "juggle2012"]
    assert times["pinned"] == pytest.approx(20)
    assert times["reactive"] == pytest.approx(15)
    for name in ("ideal", "juggle"):
        assert times[name] == pytest.approx(10 * 8 / 7, rel=0.01)
        assert found["policies"][name]["speedup"] == pytest.approx(20 / times[name])
        assert found["policies"][name]["points"] == pytest.approx(times[name] / 0.004, abs=1)
    assert found["perfect_speedup"] == pytest.approx(20 / (10 * 8 / 7))
    assert found["policies"]["juggle"]["balanced"] > 0.99
    assert found["policies"]["juggle"]["regime_changes"] == 1


def test_trials(result):
    """Without --always, juggle tries whether balancing pays."""
    found = result("-n", 8, "-m", 7, "--phase", "50ms", "--phases", "200")
    juggle, reactive = found["policies"]["juggle"], found["policies"]["reactive"]
    assert juggle["regime_changes"] > 1 and juggle["time_s"] < 0.95 * reactive["time_s"]
    # Two threads with a CPU each: nothing to balance, and nothing to try.
    found = result("-n", 2, "-m", 2, "--phase", "50ms", "--phases", "100")
    assert found["policies"]["juggle"]["balanced"] == 0
    assert found["policies"]["juggle"]["time_s"] == found["policies"]["reactive"]["time_s"]


def test_period_auto(result):
    """The period grows while nothing moves, so there are fewer points."""
    options = ["--always", "--idle", "none", "-n", 7, "-m", 7, "--phase", "1s", "--phases", "2"]
    found = result(*options)
    assert found["period_auto"] and not result(*options, "-i", "2ms")["period_auto"]
    points = found["policies"]["juggle"]["points"]
    assert points < 0.5 * result(*options, "-i", "2ms")["policies"]["juggle"]["points"]


def test_theory(simulate, result):
    """It is printed beside the simulation where it applies."""
    found = result(*PAPER, "-n", 8, "-m", 7, "--phases", 1)
    theory = {name: policy["theory_speedup"] for name, policy in found["policies"].items()}
    assert theory["pinned"] == 1
    assert theory["reactive"] == pytest.approx(found["policies"]["reactive"]["speedup"])
    assert theory["ideal"] == theory["juggle"] == pytest.approx(1.75)
    assert found["bound_speedup"] == pytest.approx(found["perfect_speedup"]) == pytest.approx(1.75)
    assert result("--speeds", "7x2", "-i", "100ms", "--phase", "400ms")[
        "bound_speedup"] == pytest.approx(result("-i", "100ms", "--phase", "200ms")["bound_speedup"])
    assert result("--barrier", "spin")["policies"]["reactive"]["theory_speedup"] == 1
    for options in (["--load", "0:1"], ["--speeds", "2,6x1"], ["--domains", "2"], ["--imbalance", "1"]):
        found = result(*options)
        assert found["bound_speedup"] is None
        assert {policy["theory_speedup"] for policy in found["policies"].values()} == {None}
        assert simulate(*options).stdout.splitlines()[1].split()[3] == "-"
    assert result("--domains", "2", "--joint")["bound_speedup"] is not None


@pytest.mark.parametrize("options, each", [
    # Two threads can't use more than two CPUs.
    (["-n", "2", "--speeds", "4,3x1"], 0.4),
    (["-n", "2", "-m", "4", "--speeds", "2x4,2x1"], 0.25),
    (["-n", "3", "--speeds", "4,1,1"], 0.5),
    (["-n", "2", "-m", "3", "--load", "2:50,1:80"], 1 / 0.75),
])
def test_perfect(result, options, each):
    found = result("--phase", "1s", "--phases", "1", *options)
    assert found["policies"]["pinned"]["time_s"] / found["perfect_speedup"] == pytest.approx(each)


def test_bound_is_of_equal_periods(result):
    options = ["-n", "9", "--cpus", "7", "--phase", "24ms", "--phases", "1", "--period", "23179us", "--seed", "113",
               "--slice", "100us", "--by-work", "--always", "--idle", "none"]
    bound = result(*options)["bound_speedup"]
    found = result(*options, "--jitter", "99")
    assert found["policies"]["juggle"]["speedup"] > bound
    assert found["bound_speedup"] is None


def test_text_and_json_agree(simulate, result):
    options = ["-n", 5, "-m", 3, "--phase", "100ms", "--slice", "3ms", "--tick", "4ms"]
    done = simulate(*options)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    found = result(*options)
    for line in lines[1:5]:
        name, time, speedup, theory, moves, _, busy, placed = line.split()[:8]
        policy = found["policies"][name]
        assert float(time) == pytest.approx(policy["time_s"], rel=1e-5)
        assert float(speedup) == pytest.approx(policy["speedup"], abs=1e-3)
        assert float(theory) == pytest.approx(policy["theory_speedup"], abs=1e-3)
        assert int(moves) == policy["migrations"]
        assert float(busy[:-1]) == pytest.approx(100 * policy["busy"], abs=0.05)
        if placed != "-":
            assert float(placed[:-1]) == pytest.approx(100 * policy["balanced"], abs=0.05)
    assert "%.2f times as fast as pinned" % found["policies"]["juggle"]["speedup"] in done.stdout
    assert simulate(*options).stdout == done.stdout


def test_one_policy(simulate, result):
    found = result("--policy", "reactive")
    assert list(found["policies"]) == ["reactive"]
    assert found["policies"]["reactive"]["speedup"] == pytest.approx(4 / 3)
    assert "pinned  " not in simulate("--policy", "juggle").stdout


@pytest.mark.parametrize("options, times", [
    # Threads that spin or yield are not seen to wait.
    (["--barrier", "yield"], {"pinned": 20, "reactive": 20}),
    (["--barrier", "spin"], {"pinned": 20, "reactive": 20}),
    (["-n", "2", "-m", "2", "--load", "1:50"], {"pinned": 20, "juggle": 40 / 3}),
    (["-n", "2", "--speeds", "0.5,1"], {"pinned": 20}),
    (["-n", "2", "--speeds", "0.5,1", "--by-work"], {"juggle": 40 / 3}),
    (["-n", "9", "-m", "8", "--domains", "2"], {"ideal": 12.5, "juggle": 12.5}),
    (["-n", "9", "-m", "8", "--domains", "2", "--joint"], {"ideal": 11.25, "juggle": 11.25}),
    (["-n", "14"], {"pinned": 20, "reactive": 20, "ideal": 20, "juggle": 20}),
])
def test_machines(result, options, times):
    found = result(*PAPER, *options)["policies"]
    for name, time in times.items():
        assert found[name]["time_s"] == pytest.approx(time, rel=0.02), name


def test_costs(result):
    """Other work makes it slower, and seeds make a difference where something is random."""
    def time(*options):
        return result(*PAPER, "--policy", "juggle", *options)["policies"]["juggle"]["time_s"]
    free = time()
    for option in ("--migration-cost", "--point-cost"):
        assert 1.002 * free < time(option, "100us") < 1.1 * free
    assert time("--jitter", "10") != time("--jitter", "10", "--seed", "2")
    assert time("--imbalance", "10") > 1.01 * free
    domains = ["-n", "9", "-m", "8", "--domains", "2", "--joint"]
    assert time(*domains, "--remote-cost", "50") > 1.05 * time(*domains)
    assert time("--margin", "1s") > 1.05 * free  # nobody is ever ahead


def test_series(simulate, tmp_path):
    """Fig. 1: three threads on two CPUs are level after three periods."""
    path = tmp_path / "series"
    done = simulate("-n", 3, "-m", 2, "--phase", "6s", "--phases", "1", "-i", "1s", "-P", "ideal", "--series", path)
    assert done.returncode == 0, done.stderr
    rows = [[float(x) for x in line.split("\t")] for line in path.read_text().splitlines()[1:]]
    assert rows[0] == [0, 0, 0, 0]
    assert rows[-1] == pytest.approx([9, 6, 6, 6])
    for before, after in zip(rows, rows[1:]):
        assert all(a <= b for a, b in zip(before, after))
        assert max(after[1:]) - min(after[1:]) <= 0.5 + 1e-6


def test_heat_map(simulate):
    done = simulate("--heat-map", "--max-threads", 6)
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head == "# threads\tcpus\tperiod/phase\tspeedup"
    rows = {tuple(line.split("\t")[:3]): float(line.split("\t")[3]) for line in lines}
    assert len(rows) == len(lines) == (1 + 2 + 3 + 4) * 500
    assert rows["3", "2", "0.01"] == pytest.approx(4 / 3, rel=0.01)
    assert rows["4", "2", "1.00"] == rows["3", "2", "2.00"] == 1
    assert all(1 <= speedup < 2 for speedup in rows.values())
    found = json.loads(simulate("--heat-map", "--max-threads", 6, "--json").stdout)
    assert set(found) == {"program", "version", "period_per_phase", "heat_map"}
    for row in found["heat_map"]:
        for ratio, speedup in zip(found["period_per_phase"], row["speedup"]):
            assert rows[str(row["threads"]), str(row["cpus"]), "%.2f" % ratio] == pytest.approx(speedup, abs=1e-5)


def test_keys(simulate):
    found = json.loads(simulate("--json", "--phases", "1").stdout)
    assert keys_of_page(PAGE, "RESULT FORMAT") == (set(found), {"policies": set(found["policies"][0])})


@pytest.mark.parametrize("options, what", [
    (["-n", "0"], "from 1 to 4096"),
    (["-n", "1000000"], "from 1 to 4096"),
    (["-m", "0"], "from 1 to 1024"),
    (["--period", "0"], "a time above 0"),
    (["--period", "20"], "a time above 0 with its unit"),
    (["--phase", "0"], "a time above 0"),
    (["--phases", "0"], "from 1 to"),
    (["--policy", "linux"], "pinned, reactive, ideal, juggle, juggle2012 or all"),
    (["--barrier", "sleep"], "block, yield or spin"),
    (["--load", "7:50"], "below the number of --cpus"),
    (["--load", "1"], "CPU:PCT"),
    (["--load", "1:100"], "0 to 99"),
    (["--load", ""], "CPU:PCT"),
    (["--load", "1:5,"], "CPU:PCT"),
    (["--speeds", "0"], "0.01 to 100"),
    (["--speeds", ""], "0.01 to 100"),
    (["--speeds", "1,-1"], "0.01 to 100"),
    (["--speeds", "0x1"], "0.01 to 100"),
    (["--speeds", "1,0.5,"], "0.01 to 100"),
    (["--speeds", "1024x1,1"], "at most 1024 CPUs"),
    (["--speeds", "2x1,0.5", "-m", "2"], "--cpus 2: --speeds has 3 CPUs"),
    (["-m", "4", "--speeds", "2x1,0.5"], "--cpus 4: --speeds has 3 CPUs"),
    (["--speeds", "2x1,0.5", "--load", "3:50"], "below the number of --cpus"),
    (["--speeds", "2x1,0.5", "--domains", "4"], "more than CPUs"),
    (["--heat-map", "--speeds", "2x1,0.5"], "no other options"),
    (["--load", "-1:1"], "CPU:PCT"),
    (["--load", "3-1:2"], "CPU:PCT"),
    (["--load", "0x1:2"], "CPU:PCT"),
    (["--load", ":2"], "CPU:PCT"),
    (["--load", "99999999999999999999:2"], "below the number of --cpus"),
    (["--load", "0:50,1:5,0:60"], "each CPU once"),
    (["--heat-map", "-n", "3"], "no other options"),
    (["--policy", "ideal", "--heat-map"], "no other options"),
    (["--heat-map", "--seed", "2"], "no other options"),
    (["--max-threads", "8"], "of --heat-map only"),
    (["--load", "0:" + 100 * "1"], "CPU:PCT"),
    (["--domains", "8"], "more than CPUs"),
    (["--jitter", "100"], "from 0 to 99"),
    (["--imbalance", "nan"], "from 0 to 99"),
    (["--point-cost", "4ms"], "less than the shortest period"),
    (["--migration-cost", "1s"], "less than the shortest period"),
    (["--phase", "100000000s", "--phases", "1000000000"], "more than two years"),
    (["--phase", "90000000s", "--phases", "1", "-n", "4096", "-m", "1", "--period", "90000000s"], "more than two years"),
    (["--period", "1ns", "-n", "4096"], "take hours"),
    (["--series", "x"], "choose one --policy"),
    (["--max-threads", "2"], "from 3 to 256"),
    (["--seed", "-1"], "a whole number"),
    (["--seed", "99999999999999999999"], "a whole number from 0"),
    (["extra"], "extra"),
])
def test_wrong_command_lines(simulate, options, what):
    done = simulate(*options)
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(r"jugglectl simulate juggle: .*\n", done.stderr), done.stderr
    assert what in done.stderr


def test_nothing_to_balance(simulate):
    done = simulate("-n", 2, "-m", 4, "--phases", "1")
    assert done.returncode == 0
    assert done.stderr == "jugglectl simulate juggle: no more threads than CPUs: there is little to balance\n"
    assert "There is a CPU for each thread.\nWith juggle the program is 1.00 times" in done.stdout
    assert simulate("-n", 2, "-m", 4, "--phases", "1", "--quiet").stderr == ""
    # It may well be something.
    for unequal in (["--speeds", "1,0.5"], ["-m", "2", "--load", "0:50"]):
        assert simulate("-n", 2, *unequal, "--phases", "1").stderr == ""


def test_long_runs_are_announced(simulate, jugglectl, tmp_path):
    """Before anything is simulated: nothing is written either, and --quiet is quiet."""
    def told(phases, *options):
        done = simulate("-n", 65, "-m", 64, "-P", "juggle", "--phases", phases, "--series", tmp_path / "no" / "such",
                        *options)
        assert done.returncode == 1 and "No such file" in done.stderr
        return re.findall(r"juggle: this takes about (\d+) (seconds|minutes|hours); fewer --phases takes less\n",
                          done.stderr)

    assert told(100) == []
    (number, unit), = told(5000)
    (ten, minutes), = told(50000)
    assert unit == "seconds" and minutes == "minutes" and int(number) / 6 == pytest.approx(int(ten), abs=0.6)
    assert told(5000, "-q") == []
    with subprocess.Popen([jugglectl, "simulate", "juggle", "--heat-map", "--max-threads", "256"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as heat_map:
        line = heat_map.stderr.readline()
        heat_map.kill()
    assert re.fullmatch(r"jugglectl simulate juggle: this takes about \d minutes; a smaller --max-threads takes less\n",
                        line)


def test_speeds_say_how_many_cpus(result):
    assert result("-n", "2", "--speeds", "2x1,0.5", "--phases", "1")["cpus"] == 3
    assert result("-n", "2", "--speeds", "2x1,0.5", "-m", "3", "--phases", "1")["cpus"] == 3
    assert result("-n", "2", "--phases", "1")["cpus"] == 7


def test_fast_machine_may_work_for_long(result):
    """What would be too long on slow CPUs."""
    options = ["-n", "2", "--phase", "60000000s", "-P", "pinned", "-i", "100s"]
    assert result(*options, "--speeds", "2x100")["policies"]["pinned"]["time_s"] == pytest.approx(6000000)


def test_impossible(simulate, tmp_path):
    done = simulate("-P", "ideal", "--series", tmp_path / "none" / "series")
    assert done.returncode == 1
    assert "No such file" in done.stderr
    done = simulate("-P", "ideal", "--series", "/dev/full")
    assert done.returncode == 1 and "cannot write" in done.stderr
