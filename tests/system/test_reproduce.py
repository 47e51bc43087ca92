# SPDX-License-Identifier: MIT
"""tools/reproduce: the scripts run to the end and write the promised files; their findings are not
checked."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

import helpers
import mpi as mpis
import pictures

pytestmark = [pytest.mark.beside, pytest.mark.slow]  # slow with a sanitizer

TOOLS = helpers.REPO / "tools" / "reproduce"
sys.path.insert(0, str(TOOLS))
from experiment import may_be_chance  # noqa: E402

MPI_ENVIRONMENT = mpis.environment("openmpi")


def run_plb(tmp_path, *arguments, **keywords):
    return subprocess.run([TOOLS / "plb", "--build", helpers.BUILD, "--output", tmp_path, *arguments],
                          capture_output=True, text=True, timeout=helpers.TIMEOUT_S, **keywords)


def run_dplb(tmp_path, *arguments):
    return subprocess.run([TOOLS / "dplb", "--build", helpers.BUILD, "--output", tmp_path, *arguments],
                          capture_output=True, text=True, timeout=4 * helpers.TIMEOUT_S,
                          env={**os.environ, **MPI_ENVIRONMENT})


@pytest.fixture
def built(app, juggle):
    app("jacobi")
    return juggle


def test_plb(built, tmp_path):
    tmp_path /= "it's here"
    methods = "sync;async(4) + joint(0.001)"
    repeats = 1 if helpers.SANITIZER else 2
    done = run_plb(tmp_path, "--repeats", str(repeats), "--iterations", "50", "--residual", "0.3",
                   "--threads", "1", "--methods", methods)
    assert done.returncode == 0, done.stderr
    for title in ("Iteration rate and spread", "Spread with noise", "Time to solution"):
        assert title in done.stdout
    runs = json.loads((tmp_path / "runs.json").read_text())["runs"]
    assert len(runs) == repeats * 2 * 2 * 3  # repeats, methods, with and without noise, kinds
    assert len((tmp_path / "landscape.tsv").read_text().splitlines()) == 1 + 2 * 2
    assert len((tmp_path / "boxplot.tsv").read_text().splitlines()) == 1 + repeats
    assert (tmp_path / "table2.txt").read_text().strip() in done.stdout
    lead = [float(x) for x in (tmp_path / "braid-balanced.tsv").read_text().splitlines()[-1].split()[1:]]
    assert len(lead) == 4 and abs(sum(lead)) < 0.1
    pictures.check_drawn(tmp_path, ["landscape", "boxplot", "braid-balanced", "braid-unbalanced"], done.stderr)


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


@pytest.mark.parametrize("data, base, chance", [
    # The critical values of the rank sum test, two-sided, at 5 %: 0 of 4 and 4, 2 of 5 and 5, 5 of 6 and 6.
    ([1, 2, 3, 4], [5, 6, 7, 8], False), ([1, 2, 3, 5.5], [5, 6, 7, 8], True), ([1, 2, 3], [4, 5, 6], True),
    ([1, 2, 3, 4, 7.5], [6, 7, 8, 9, 10], False), ([1, 2, 3, 4, 8.5], [6, 7, 8, 9, 10], True),
    ([1, 2, 3, 4, 5, 11.5], [7, 8, 9, 10, 11, 12], False), ([1, 2, 3, 4, 5, 12.5], [7, 8, 9, 10, 11, 12], True),
    # A wide one around the other; ties; one run of each.
    ([1, 2, 3, 10, 11, 12], [4, 5, 6, 7, 8, 9], True), ([1] * 9, [1] * 9, True), ([1], [2], True),
])
def test_what_may_be_chance(data, base, chance):
    assert may_be_chance(data, base) == may_be_chance(base, data) == chance


def test_no_folder_for_the_results(built, tmp_path):
    done = run_plb(tmp_path, "--output", os.devnull)
    assert done.returncode == 1
    assert done.stderr == f"plb: {os.devnull}: File exists\n"


@pytest.fixture
def mpi(built):
    """Skips where ranks cannot be started, or the solver is built without MPI."""
    launcher = shutil.which("mpirun")
    if not launcher:
        pytest.skip("no mpirun")
    done = subprocess.run([launcher, "-n", "2", helpers.BUILD / "apps" / "jacobi", "--dplb", "none", "--threads", "1",
                           "--iterations", "1", "--json", "-"], capture_output=True, text=True,
                          timeout=helpers.TIMEOUT_S, env={**os.environ, **MPI_ENVIRONMENT})
    if "without MPI" in done.stderr:
        pytest.skip("jacobi is built without MPI")
    return launcher


@pytest.mark.alone
def test_dplb(mpi, tmp_path):
    done = run_dplb(tmp_path, "--ranks", "2", "--slow", "1", "--repeats", "1", "--grid", "32x64", "--residual", "0.3",
                    "--modes", "async", "--dplb-period", "5ms", "--mpirun", mpi)
    assert done.returncode == 0, done.stderr
    runs = json.loads((tmp_path / "runs.json").read_text())["runs"]
    assert len(runs) == 2 * (2 * 3 + 1)  # with and without; counts, places; a random one
    for run in runs:
        assert run["result"]["ranks"] == 2
        assert (run["result"]["dplb"] == "global") == run["balanced"]
        assert run["kind"] == "random" or len(run["slow"]) == run["count"]
    rows = (tmp_path / "async.tsv").read_text().splitlines()
    assert len(rows) == 1 + 3 and all(len(row.split("\t")) == 4 for row in rows)
    for name in ("rates", "table2", "table3"):
        assert (tmp_path / f"{name}.txt").read_text().strip() in done.stdout
    times = [run["result"]["elapsed_s"] for run in runs
             if (run["kind"], run["mode"], run["count"], run["balanced"]) == ("counted", "async", 1, True)]
    assert f"{min(times):.2f}-{max(times):.2f}" in (tmp_path / "rates.txt").read_text()
    assert "of the CPUs' time was stolen" in done.stdout
    assert "DPLB where ranks are slow: async: time to solution" in done.stdout
    pictures.check_drawn(tmp_path, ["async"], done.stderr)


@pytest.mark.parametrize("arguments, what", [
    (["--ranks", "1"], "2 ranks at least"),
    (["--slow", "3", "--ranks", "2"], "no more slow ranks"),
    (["--threads", "100000"], "threads here"),
    (["--repeats", "0"], "a repeat at least"),
    (["--modes", "sync"], "unknown: sync"),
    (["--mpirun", ""], "a command"),
    (["--build", os.devnull], "build first"),
])
def test_dplb_errors(built, tmp_path, arguments, what):
    done = run_dplb(tmp_path, *arguments)
    assert done.returncode == 2
    assert what in done.stderr


@pytest.mark.parametrize("mpirun, what", [
    (os.devnull, f"dplb: {os.devnull}: Permission denied"),
    ("false", "dplb: exit status 1 from false -n 2 "),
    ("echo", "dplb: not one result, but"),
    ("sh -c 'echo {\\\"ranks\\\": 1}'", "dplb: jacobi ran on 1 ranks instead of 2"),
])
def test_dplb_without_ranks(built, tmp_path, mpirun, what):
    """A launcher that does not start what it should."""
    done = run_dplb(tmp_path, "--ranks", "2", "--mpirun", mpirun)
    assert done.returncode == 1
    assert what in done.stderr


@pytest.mark.alone
@pytest.mark.parametrize("noise", [[], ["--noise", helpers.BUILD / "apps" / "noise"]])
def test_a_rank_is_slowed(built, noise):
    """Half of the CPU time goes to loops or noise, and it ends when its command ends."""
    cpu = min(os.sched_getaffinity(0))
    # as-rank's own start is not slowed, however long it takes here. A sanitizer's noise is late.
    loop = ("import time\nend = time.process_time() + %g\nwhile time.process_time() < end: pass\nraise SystemExit(7)"
            % (0.8 if helpers.SANITIZER else 0.3))

    def run(slow):
        begin = time.monotonic()
        done = subprocess.run([TOOLS / "as-rank", "--cpus", str(cpu), "--threads", "1", "--slow", slow, *noise, "--",
                               sys.executable, "-c", loop], capture_output=True, text=True,
                              timeout=4 * helpers.TIMEOUT_S,
                              env={**os.environ, "PMI_RANK": "3", "MPI_LOCALRANKID": "3"})
        assert done.returncode == 7, done.stderr
        return time.monotonic() - begin

    # A CPU that others hold for long may hide it.
    assert any(run("2:90,3:50") > run("1:40,2:90") + 0.2 for _ in range(3))
