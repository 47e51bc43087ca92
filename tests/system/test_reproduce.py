# SPDX-License-Identifier: MIT
"""tools/reproduce: that the scripts run through and leave what they promise, not what they find."""

import json
import os
import shutil
import subprocess

import pytest

import helpers

TOOL = helpers.REPO / "tools" / "reproduce" / "plb"


def run_plb(tmp_path, *arguments, **keywords):
    return subprocess.run([TOOL, "--build", helpers.BUILD, "--output", tmp_path, *arguments],
                          capture_output=True, text=True, timeout=helpers.TIMEOUT_S, **keywords)


@pytest.fixture
def built(app, juggle):
    app("jacobi")
    return juggle


def test_plb(built, tmp_path):
    methods = "sync;async(4) + joint(0.001)"
    done = run_plb(tmp_path, "--repeats", "2", "--iterations", "50", "--residual", "0.3",
                   "--threads", "1", "--methods", methods)
    assert done.returncode == 0, done.stderr
    for title in ("Iteration rate and spread", "Spread with noise", "Time to solution"):
        assert title in done.stdout
    runs = json.loads((tmp_path / "runs.json").read_text())["runs"]
    assert len(runs) == 2 * 2 * 2 * 3  # repeats, methods, with and without noise, kinds
    assert len((tmp_path / "landscape.tsv").read_text().splitlines()) == 1 + 2 * 2
    assert len((tmp_path / "boxplot.tsv").read_text().splitlines()) == 1 + 2
    assert (tmp_path / "table2.txt").read_text().strip() in done.stdout
    lead = [float(x) for x in (tmp_path / "braid-balanced.tsv").read_text().splitlines()[-1].split()[1:]]
    assert len(lead) == 4 and abs(sum(lead)) < 0.1
    pictures = {"landscape.png", "boxplot.png", "braid-balanced.png", "braid-unbalanced.png"}
    if shutil.which("gnuplot"):
        assert pictures <= {path.name for path in tmp_path.iterdir() if path.stat().st_size > 1000}
    else:
        assert "data files only" in done.stderr


def test_plb_hosted_by_juggle(built, tmp_path):
    done = run_plb(tmp_path, "--repeats", "1", "--iterations", "50", "--residual", "0.3", "--threads", "1",
                   "--host", "daemon", "--methods", "async(4) + joint(0.001)")
    assert done.returncode == 0, done.stderr
    runs = json.loads((tmp_path / "runs.json").read_text())["runs"]
    assert {run["result"]["host"] for run in runs} == {"daemon"}


@pytest.mark.parametrize("arguments, what", [
    (["--methods", "psync"], "unknown: psync"),
    (["--threads", "100000"], "threads here"),
    (["--threads", "0"], "threads here"),
    (["--repeats", "0"], "a repeat at least"),
    (["--build", os.devnull], "build first"),
])
def test_errors(built, tmp_path, arguments, what):
    done = run_plb(tmp_path, *arguments)
    assert done.returncode == 2
    assert what in done.stderr


def test_no_folder_for_the_results(built, tmp_path):
    done = run_plb(tmp_path, "--output", os.devnull)
    assert done.returncode == 1
    assert done.stderr == f"plb: {os.devnull}: File exists\n"


def test_readme_example_compiles(tmp_path):
    """What the README shows of libprogress is a program's part that a compiler takes."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no cc here")
    text = (helpers.REPO / "README.md").read_text("utf-8")
    code = text.partition("```c\n")[2].partition("```")[0]
    assert "progress_begin" in code
    (tmp_path / "example.c").write_text(code)
    done = subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-c", "example.c",
                           "-I", helpers.REPO / "libprogress" / "include"],
                          cwd=tmp_path, capture_output=True, text=True)
    if "omp.h" in done.stderr:
        pytest.skip("no OpenMP here")
    assert done.returncode == 0, done.stderr
