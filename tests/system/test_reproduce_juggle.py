# SPDX-License-Identifier: MIT
"""tools/reproduce/juggle: it runs to the end, and its figures agree with those of the paper."""

import os
import shutil
import subprocess
import sys

import pytest

import helpers
import pictures

pytestmark = [pytest.mark.beside, pytest.mark.slow]  # slow with a sanitizer

SCRIPT = helpers.REPO / "tools" / "reproduce" / "juggle"


def run(*arguments, **keywords):
    return subprocess.run([SCRIPT, "--build", helpers.BUILD, *arguments], capture_output=True, text=True,
                          timeout=4 * helpers.TIMEOUT_S, **keywords)


@pytest.fixture(scope="module")
def results(jugglectl, tmp_path_factory):
    """The folder of a quick run, and what it printed."""
    folder = tmp_path_factory.mktemp("juggle") / "its author's folder"
    done = run("--output", folder, "--quick")
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.fixture
def figure(results):
    """figure(9) is the data of a figure: a list of dictionaries by column."""
    def read(number):
        head, *lines = (results[0] / f"fig{number:02}.tsv").read_text().splitlines()
        names = head.removeprefix("# ").split("\t")
        return [dict(zip(names, map(float, line.split("\t")))) for line in lines]
    return read


def test_all_is_there(results):
    folder, done = results
    numbers = ["09", "10", "11", "12", "13", "14", "15", "21", "22"]
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [*(f"Fig. {int(n)}" for n in numbers),
                                                                             "Table 4"]
    for number in numbers:
        assert (folder / f"fig{number}.tsv").stat().st_size > 200
    pictures.check_drawn(folder, [f"fig{number}" for number in numbers], done.stderr)


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is not installed")
def test_drawn_again(results, tmp_path):
    """The script of a picture draws it wherever the folder is."""
    folder = tmp_path / "moved"
    folder.mkdir()
    for name in ("fig09.gp", "fig09.tsv"):
        shutil.copy(results[0] / name, folder)
    done = subprocess.run(["gnuplot", "fig09.gp"], cwd=folder, capture_output=True, text=True,
                          timeout=helpers.TIMEOUT_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    pictures.check_drawn(folder, ["fig09"], "")


def test_figure_9(figure):
    """Section 5.1: each agrees with the theory."""
    rows = figure(9)
    assert [row["n"] for row in rows] == list(range(8, 17))
    for row in rows:
        assert row["juggle"] == pytest.approx(row["theory"], rel=0.01)
        assert row["juggle_split"] == pytest.approx(row["theory_split"], rel=0.01)
        assert row["reactive"] == pytest.approx(row["theory_reactive"], rel=1e-3)


def test_figure_10(figure):
    for row in figure(10):
        for m in (2, 4, 8, 16, 32):
            assert row[f"ideal_m{m}"] == pytest.approx(row[f"theory_m{m}"], rel=0.01)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_figures_11_to_13(figure, level):
    """Below the upper bound, near it for short periods; long periods gain nothing."""
    rows = figure(10 + level)
    pairs = [name[len("bound_"):] for name in rows[0] if name.startswith("bound_")]
    assert len(pairs) == 3
    for pair in pairs:
        n, m = map(int, pair.split("_"))
        assert n // m == level
        for row in rows:
            for name in ("ideal", "juggle"):
                assert 1 - 1e-5 <= row[f"{name}_{pair}"] <= row[f"bound_{pair}"] + 1e-4
        assert rows[0][f"juggle_{pair}"] == pytest.approx((level + 1) / (n / m), rel=0.01)
        assert rows[-1][f"juggle_{pair}"] == pytest.approx(1)


def test_figure_14(figure):
    rows = figure(14)
    assert len(rows) == sum(n - 2 for n in range(3, 25)) * 500
    assert max(row["speedup"] for row in rows) == pytest.approx(2 * 23 / 24, rel=0.01)
    assert min(row["speedup"] for row in rows) == 1


def test_figure_15(figure):
    """A period of twice the phase gains nothing, unless it varies."""
    rows = figure(15)
    for row in rows:
        assert row["juggle"] <= row["bound"] + 1e-4 and row["juggle_jitter"] <= row["bound"] + 1e-4
    twice = next(row for row in rows if row["period/phase"] == 2)
    assert twice["juggle"] == twice["ideal"] == pytest.approx(1)
    assert 1.02 < twice["juggle_jitter_low"] <= twice["juggle_jitter"] <= twice["juggle_jitter_high"]


def test_table_4(results):
    """FT with juggle takes what it took in the paper, within a tenth."""
    head, *lines = (results[0] / "table4.tsv").read_text().splitlines()
    column = head.removeprefix("# ").split("\t").index("juggle2012_s")
    times = {tuple(line.split("\t")[:2]): float(line.split("\t")[column]) for line in lines}
    assert times["8", "8"] == pytest.approx(68)
    assert times["8", "7"] == pytest.approx(84, rel=0.1) and times["16", "7"] == pytest.approx(76, rel=0.1)


def test_figure_21(figure):
    """Section 5.5: three moves per period of 100 ms, with n = 8 and m = 7; four at most."""
    first = figure(21)[0]
    assert first["ideal_per_s_8_7"] == pytest.approx(30, rel=0.02)
    assert first["juggle2012_per_s_8_7"] == pytest.approx(30, rel=0.02)
    assert 28 <= first["juggle_per_s_8_7"] <= 40
    assert figure(21)[-1]["juggle_per_s_8_7"] < 1


def test_figure_22(figure):
    """Section 5.5: at 0.5 ms a fifth is lost to balancing, if that takes 100 us on each CPU."""
    first, *_, last = figure(22)
    assert (first["period_ms"], last["period_ms"]) == (0.5, 100)
    assert first["overhead_all_cpus"] / first["no_overhead"] == pytest.approx(0.8, abs=0.03)
    assert first["no_overhead"] == pytest.approx(first["bound"], rel=0.01)  # however long slices are
    for column in ("no_overhead", "overhead_one_cpu", "overhead_all_cpus"):
        assert last[column] == pytest.approx(1.75, rel=0.01)


@pytest.mark.parametrize("arguments, what", [
    (["--build", os.devnull], "build first"),
    (["--figures", "8"], "unknown: 8"),
    (["--figures", "x"], "unknown: x; known: 9, 10"),
])
def test_errors(jugglectl, tmp_path, arguments, what):
    done = run("--output", tmp_path, *arguments)
    assert done.returncode == 2
    assert what in done.stderr


def test_no_folder_for_the_results(jugglectl):
    done = run("--output", os.devnull)
    assert done.returncode == 1
    assert done.stderr == f"juggle: {os.devnull}: File exists\n"


def test_gnuplot_that_fails(jugglectl, tmp_path):
    tool = tmp_path / "bin" / "gnuplot"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 'unknown terminal' >&2; exit 1\n")
    tool.chmod(0o755)
    done = run("--output", tmp_path, "--quick", "--figures", "9",
               env={**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"})
    assert done.returncode == 1
    assert done.stderr == f"unknown terminal\njuggle: {tmp_path / 'fig09.gp'}: gnuplot failed\n"


def test_without_gnuplot(jugglectl, tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, "--build", helpers.BUILD, "--output", tmp_path, "--quick",
                           "--figures", "9"], capture_output=True, text=True, timeout=helpers.TIMEOUT_S,
                          env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "data files only" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fig09.tsv", "runs.json"]
