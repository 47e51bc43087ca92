# SPDX-License-Identifier: MIT
"""tools/reproduce --simulated: the scripts run to the end and write the promised files, on tiny
grids."""

import json
import os
import statistics
import subprocess

import pytest

import helpers
import pictures

pytestmark = [pytest.mark.beside, pytest.mark.slow]  # slow with a sanitizer

TOOLS = helpers.REPO / "tools" / "reproduce"


def reproduce(script, output, *arguments):
    return subprocess.run([TOOLS / script, "--simulated", "--build", helpers.BUILD, "--output", output, *arguments],
                          capture_output=True, text=True, timeout=2 * helpers.TIMEOUT_S)


def numbers_of(name, folder, output):
    """What tools/reproduce/all takes from the results there."""
    done = subprocess.run([TOOLS / "all", "--only", name, "--use", f"{name}={folder}", "--output", output],
                          capture_output=True, text=True, timeout=helpers.TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    found = json.loads((output / f"{name}.json").read_text())
    assert found["commands"][0].startswith(f"tools/reproduce/{name} --simulated ")
    assert "--output" not in found["commands"][0]
    assert "commit" in found["settings"][0]
    return found["numbers"]


def runs_of(folder):
    return json.loads((folder / "runs.json").read_text())["runs"]


@pytest.mark.parametrize("torn", ["", '["0123'])
def test_goes_on(jugglectl, tmp_path, torn):
    arguments = ["--cells", "3", "--slow", "0", "--modes", "async-nodes", "--residual", "1e-1"]
    assert reproduce("dplb", tmp_path, *arguments).returncode == 0
    runs, kept = runs_of(tmp_path), tmp_path / "simulated.jsonl"
    first, *others = kept.read_text().splitlines()
    assert len(runs) == 1 + len(others) == 6
    # As if ended after the first run; that its result is taken shows where it is another one.
    simulator, machine, options, result = json.loads(first)
    kept.write_text(json.dumps([simulator, machine, options, {**result, "spread": -1}]) + "\n" + torn)
    done = reproduce("dplb", tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    again = runs_of(tmp_path)
    assert [run["result"]["spread"] for run in again if run["options"] == options] == [-1]
    assert [run for run in again if run["options"] != options] == [run for run in runs if run["options"] != options]


def test_other_simulator(jugglectl, tmp_path):
    """Results of another one are not taken."""
    arguments = ["--cells", "3", "--slow", "0", "--modes", "async-nodes", "--residual", "1e-1"]
    assert reproduce("dplb", tmp_path, *arguments).returncode == 0
    runs, kept = runs_of(tmp_path), tmp_path / "simulated.jsonl"
    found = [json.loads(line) for line in kept.read_text().splitlines()]
    kept.write_text("".join(json.dumps(["0" * 64, *key, {**result, "spread": -1}]) + "\n" for _, *key, result in found))
    assert reproduce("dplb", tmp_path, *arguments).returncode == 0
    assert runs_of(tmp_path) == runs


METHODS = ["sync", "async(1)", "async(4) + joint(0.001)"]


@pytest.fixture(scope="module")
def plb(jugglectl, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plb")
    done = reproduce("plb", folder, "--cells", "12", "--repeats", "2", "--iterations", "100", "--residual", "1e-2",
                     "--methods", ";".join(METHODS), "--height", "1", "--height", "1.5")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout, done.stderr


def test_plb_runs(plb):
    folder, output, _ = plb
    runs = runs_of(folder)
    assert len(runs) == 2 * 2 * len(METHODS) * 2 * 4  # machines, repeats, with and without noise, kinds with heights
    assert "12 x 12 cells for each core (the paper: 300 x 300)" in output
    for run in runs:
        assert f"--workers {24 if run['machine'] == 'ARCHER' else 36} " in run["options"]
    # The share that is lost: in lockstep one core slows all.
    def rate(noise, method):
        return [run["result"]["iteration_rate"] for run in runs
                if (run["machine"], run["kind"], run["noise"], run["method"]) == ("ARCHER", "longer", noise, method)][0]
    assert rate(True, "sync") < 0.9 * rate(False, "sync")
    assert rate(True, "async(1)") > 0.98 * rate(False, "async(1)")


def test_plb_files(plb):
    folder, output, errors = plb
    for machine in ("archer", "cirrus"):
        part = folder / machine
        assert len((part / "landscape.tsv").read_text().splitlines()) == 1 + 2 * len(METHODS)
        for height in ("", "-source-1.5"):
            assert len((part / f"boxplot{height}.tsv").read_text().splitlines()) == 1 + 2
            assert (part / f"table2{height}.txt").read_text().strip() in output
        assert len((part / "braid-balanced.tsv").read_text().splitlines()[-1].split()) == 1 + 8
        pictures.check_drawn(part, ["landscape", "boxplot", "boxplot-source-1.5", "braid-balanced", "braid-unbalanced"],
                             errors)


def test_plb_beside_the_paper(plb):
    folder, output, _ = plb
    paper = (folder / "paper.txt").read_text()
    assert paper.strip() in output
    row = next(line for line in paper.splitlines() if line.startswith("async(1)")).split()
    assert row[1] == "10" and row[4] == "8" and len(row) == 7  # of both machines: paper, and for each height
    assert "Why they differ" in paper


def test_plb_numbers(plb, tmp_path):
    """The median of the repeats and their range, from the runs with the higher source."""
    folder, _, _ = plb
    found = numbers_of("plb", folder, tmp_path)["time Cirrus async(1)"]
    times = {(run["repeat"], run["noise"]): run["result"]["elapsed_s"] for run in runs_of(folder)
             if (run["machine"], run["kind"], run["height"], run["method"]) == ("Cirrus", "solution", 1.5, "async(1)")}
    longer = sorted(100 * (times[i, True] / times[i, False] - 1) for i in (0, 1))
    assert found["runs"] == 2
    assert [found["low"], found["high"]] == pytest.approx(longer, rel=1e-3)
    assert "time to solution with noise, more by: async(1)" in (tmp_path / "README.md").read_text()


def test_plb_again_is_the_same(plb, tmp_path):
    """The same results, whatever else runs, and however many at a time."""
    folder, _, _ = plb
    done = reproduce("plb", tmp_path, "--cells", "12", "--repeats", "1", "--iterations", "100", "--residual", "1e-2",
                     "--methods", METHODS[2], "--height", "1", "--jobs", "3")
    assert done.returncode == 0, done.stderr
    before = {run["options"]: run["result"] for run in runs_of(folder)}
    again = runs_of(tmp_path)
    assert len(again) == 2 * 2 * 3
    assert all(before[run["options"]] == run["result"] for run in again)


def test_dplb(jugglectl, tmp_path):
    done = reproduce("dplb", tmp_path, "--quick", "--cells", "2", "--slow", "1", "--residual", "0.5",
                     "--modes", "async-sockets,async-nodes,many-nodes")
    assert done.returncode == 0, done.stderr
    runs = runs_of(tmp_path)
    assert len(runs) == 2 * (2 * 3 * 2 + 2)  # with and without; counts, places, series; random ones
    for run in runs:
        assert ("--dplb global" in run["options"]) == run["balanced"]
        assert f"--ranks {30 if run['kind'] == 'random' else 15} " in run["options"]
    for series in ("async-sockets", "async-nodes"):
        rows = (tmp_path / f"{series}.tsv").read_text().splitlines()
        assert len(rows) == 1 + 3 and all(len(row.split("\t")) == 4 for row in rows)
    for name in ("rates", "table2", "table3", "paper"):
        assert (tmp_path / f"{name}.txt").read_text().strip() in done.stdout
    assert "2 x 2 cells for each core (the paper: 1000 x 1000)" in done.stdout
    paper = (tmp_path / "paper.txt").read_text()
    assert "1860" in paper and "118.1" in paper and "Why they differ" in paper
    stale = [statistics.median(run["result"]["staleness_max"] for run in runs if (run["kind"], run["mode"], run["count"],
             run["balanced"]) == ("counted", "async-sockets", 1, balanced)) for balanced in (False, True)]
    row = next(line for line in paper.splitlines() if line.startswith("async-sockets, 1 slow"))
    assert row.endswith(f"staleness {stale[1]:.0f} instead of {stale[0]:.0f}")
    pictures.check_drawn(tmp_path, ["async-sockets", "async-nodes"], done.stderr)
    numbers = numbers_of("dplb", tmp_path, tmp_path / "page")
    boxes = [[run["result"]["elapsed_s"] for run in runs if (run["kind"], run["mode"], run["count"], run["balanced"])
              == ("counted", "async-nodes", 1, balanced)] for balanced in (False, True)]
    assert numbers["async-nodes shorter"]["value"] == pytest.approx(
        100 * (1 - sorted(boxes[1])[1] / sorted(boxes[0])[1]), abs=0.01)
    assert numbers["async-nodes 1 s"]["runs"] == len(boxes[0]) == 3


@pytest.mark.parametrize("mode, counted, many", [("ssync-sockets", 2 * 3, 0), ("many-nodes", 0, 2 * 2)])
def test_dplb_alone(jugglectl, tmp_path, mode, counted, many):
    """One figure, or Table 3: nothing else runs, and nothing else is reported."""
    done = reproduce("dplb", tmp_path, "--quick", "--cells", "2", "--slow", "0", "--residual", "0.5", "--modes", mode)
    assert done.returncode == 0, done.stderr
    kinds = [run["kind"] for run in runs_of(tmp_path)]
    assert (kinds.count("counted"), kinds.count("random")) == (counted, many)
    paper = (tmp_path / "paper.txt").read_text()
    assert ("Table 2, unbalanced" in paper, "Table 3, s" in paper, "Fig. 2, async" in paper) == (
        counted > 0, many > 0, False)
    assert ("random s" in numbers_of("dplb", tmp_path, tmp_path / "page")) == (many > 0)


@pytest.mark.parametrize("script, arguments, what", [
    ("plb", ["--threads", "2", "--host", "daemon"], "--threads, --host: not with --simulated"),
    ("plb", ["--jobs", "0"], "a job, a cell"),
    ("plb", ["--height", "-1"], "a job, a cell"),
    ("plb", ["--repeats", "0"], "a repeat at least"),
    ("plb", ["--methods", "psync"], "unknown: psync"),
    ("plb", ["--build", os.devnull], "build first"),
    ("dplb", ["--ranks", "3"], "--ranks: not with --simulated"),
    ("dplb", ["--slow", "9"], "from 0 to 8"),
    ("dplb", ["--height", "1", "--height", "2"], "one height"),
    ("dplb", ["--modes", "async"], "unknown: async; known: ssync-sockets"),
    ("dplb", ["--build", os.devnull], "build first"),
    ("plb", ["--residual", "2"], "above 0 and below 1"),
    ("plb", ["--residual", "nan"], "above 0 and below 1"),
    ("plb", ["--iterations", "0"], "1 or more"),
    ("dplb", ["--residual", "x"], "--residual"),
    ("dplb", ["--dplb-period", "0"], "with its unit"),
    ("dplb", ["--dplb-period", "0ms"], "with its unit"),
    ("dplb", ["--seed", "-3"], "0 or more"),
])
def test_errors(jugglectl, tmp_path, script, arguments, what):
    done = reproduce(script, tmp_path / "new", *arguments)
    assert done.returncode == 2
    assert what in done.stderr
    assert not (tmp_path / "new").exists() and done.stdout == ""


def test_what_the_simulator_refuses(jugglectl, tmp_path):
    done = reproduce("plb", tmp_path, "--height", "1e13")
    assert done.returncode == 1
    assert done.stderr.startswith("plb: exit status 2 from ") and "--source 1e+13" in done.stderr


@pytest.mark.parametrize("script", ["plb", "dplb"])
def test_only_simulated(jugglectl, tmp_path, script):
    done = subprocess.run([TOOLS / script, "--build", helpers.BUILD, "--output", tmp_path, "--cells", "3"],
                          capture_output=True, text=True, timeout=helpers.TIMEOUT_S)
    assert done.returncode == 2
    assert "--cells: only with --simulated" in done.stderr


@pytest.mark.parametrize("script", ["plb", "dplb"])
def test_simulations_end_with_a_killed_script(background, jugglectl, tmp_path, script):
    """They take minutes, where nothing is said of cells."""
    process = background([TOOLS / script, "--simulated", "--build", helpers.BUILD, "--output", tmp_path],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    simulation = helpers.wait_for_below(process, "jugglectl")
    process.kill()
    helpers.wait_for(lambda: not helpers.alive(simulation), "the simulation has ended")


def test_source(jugglectl):
    """Noise next to a source matters when most of the residual is there."""
    def solve(*options):
        done = subprocess.run([jugglectl, "simulate", "plb", "-w", "8", "--balance", "none", "--grid", "160x20",
                               "--residual", "1e-3", "--json", *options], capture_output=True, text=True, check=True,
                              timeout=helpers.TIMEOUT_S)
        return json.loads(done.stdout)["variant"][0]["time_to_solution_s"]
    low, high = (solve("--slow", "0:40", "--source", height) / solve("--slow", "none", "--source", height)
                 for height in ("1", "1000"))
    assert low < 1.1 and high > 1.3
    assert solve("--source", "1") == solve()


@pytest.mark.parametrize("height", ["0", "-1", "x", "1e13"])
def test_source_refused(jugglectl, height):
    done = subprocess.run([jugglectl, "simulate", "plb", "--residual", "0.1", "--source", height],
                          capture_output=True, text=True, timeout=helpers.TIMEOUT_S)
    assert done.returncode == 2
    assert "--source" in done.stderr and len(done.stderr.splitlines()) == 1
