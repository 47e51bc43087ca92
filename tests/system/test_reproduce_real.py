# SPDX-License-Identifier: MIT
"""tools/reproduce/juggle --real: it runs to the end with our kernels and with users' programs, and its
tables are complete; what they say is not checked."""

import json
import os
import shutil

import pytest

import helpers

pytestmark = [pytest.mark.beside, pytest.mark.slow]  # slow with a sanitizer

SCRIPT = helpers.REPO / "tools" / "reproduce" / "juggle"
TINY = ["--real", "--quick", "--repeats", "1"]
PARTS = ["table4", "table5", "fig16", "fig19", "fig20"]
WAYS = ["pinned", "linux", "juggle", "paper"]
# A runtime that is preloaded must not come before a sanitizer's.
ENVIRONMENT = {"LD_PRELOAD": ""} if helpers.SANITIZER else {}


def run(*arguments):
    return helpers.run([SCRIPT, "--build", helpers.BUILD, *arguments], timeout_s=8 * helpers.TIMEOUT_S, env=ENVIRONMENT)


@pytest.fixture
def programs(juggle, tmp_path):
    """programs({"ep.A.x": SCRIPT}) makes a folder of such programs."""
    def make(scripts):
        folder = tmp_path / "its bin"
        folder.mkdir()
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        return folder
    return make


def table(folder, name):
    """Rows of a data file, as dictionaries."""
    head, *lines = (folder / f"{name}.tsv").read_text().splitlines()
    names = head.removeprefix("# ").split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


def test_kernels(app, jugglectl, tmp_path):
    app("nas-ep")
    tmp_path /= "its author's folder"
    cpus = len(helpers.cpus())
    done = run(*TINY, "--class", "S", "--seconds", "0.01", "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    for title in ("Table 4", "Table 5", "Figs. 16 and 18, Tables 6 and 7", "Fig. 17", "Section 5.5", "Fig. 19", "Table 8",
                  "Fig. 20", "Not repeated: UPC"):
        assert f"\n{title}" in done.stdout
    assert (tmp_path / "real.txt").read_text() in done.stdout

    names = ["ep.S", "cg.S", "mg.S"]
    result = json.loads((tmp_path / "runs.json").read_text())
    assert list(result["machine"]["programs"]) == names
    assert result["machine"]["threads"] == cpus + 1
    assert {run["part"] for run in result["runs"]} == set(PARTS)
    of_part = {part: [run for run in result["runs"] if run["part"] == part] for part in PARTS}
    assert len(of_part["table4"]) == 6 + 3 and {run["program"] for run in of_part["table4"]} == {"mg.S"}
    assert len(of_part["table5"]) == 3 * len({1, cpus})
    assert len(of_part["fig16"]) == 3 * len(WAYS)
    assert len(of_part["fig19"]) == 3 * (len(WAYS) + 1)
    assert len(of_part["fig20"]) == 2 * 2 * len(WAYS)
    for found in result["runs"]:
        assert found["time_s"] > 0
        assert ("cycles" in found) == (found["way"] in ("juggle", "paper", "observe"))

    assert [row["program"] for row in table(tmp_path, "table5")] == names
    assert [row["n"] for row in table(tmp_path, "table4")] == [str(k * cpus + more) for k in (1, 2, 4) for more in (0, 1)]
    for name, rows in (("fig16", [f"{name} k=200" for name in names]), ("fig19", names)):
        assert [row["program"] for row in table(tmp_path, name)] == rows
    assert len(table(tmp_path, "fig17")) == 3 and len(table(tmp_path, "fig20")) == 4
    assert len(table(tmp_path, "cost")) == 3 * 2
    for row in table(tmp_path, "fig16"):
        assert all(float(row[way]) > 0 for way in ("Linux", "juggle", "juggle2012"))
    if shutil.which("gnuplot"):
        for name in ("fig16", "fig17", "fig19", "fig20"):
            for ending in ("png", "svg", "pdf"):
                assert (tmp_path / f"{name}.{ending}").stat().st_size > 5000
    else:
        assert "data files only" in done.stderr


def test_programs(programs, jugglectl, tmp_path):
    """Of OpenMP and MPI, with other files beside; the time is what they print."""
    folder = programs({
        "ep.A.x": 'echo " Time in seconds =    1.2$OMP_NUM_THREADS"',
        "cg.A.3.x": 'echo " Time in seconds = 7.5"', "cg.B.x": "exit 1", "README": "exit 1", "ep.A.x.old": "exit 1"})
    (folder / "is.A.x").write_text("no program")
    launcher = tmp_path / "launch"
    launcher.write_text('#!/bin/sh\ntest "$1 $2" = "-n 3" || exit 9\nshift 2\nexec "$@"\n')
    launcher.chmod(0o755)
    done = run(*TINY, "--programs", folder, "--class", "A", "--mpirun", launcher, "--threads", "4", "--cpus",
               str(helpers.cpus()[0]), "--parts", "table4,table5,fig16", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out" / "runs.json").read_text())
    assert list(result["machine"]["programs"]) == ["cg.A", "ep.A"]
    times = {(run["program"], run["n"], run["time_s"]) for run in result["runs"] if run["part"] == "fig16"}
    assert times == {("cg.A", 3, 7.5), ("ep.A", 4, 1.24)}
    assert [row["program"] for row in table(tmp_path / "out", "fig16")] == ["cg.A mpi", "ep.A k=200"]
    # The number of ranks is fixed, so others have these.
    assert {run["program"] for run in result["runs"] if run["part"] != "fig16"} == {"ep.A"}


def test_barriers_and_hogs(programs, jugglectl, tmp_path):
    """k = 0 and 200 ms for OpenMP in full; programs beside hogs are nice, and their threads spin."""
    log = tmp_path / "log"
    folder = programs({"ep.A.x": f'echo "$KMP_BLOCKTIME $(nice)" >>{log}'})
    # One repeat in full: --quick would leave out k = 0.
    done = run("--real", "--repeats", "1", "--programs", folder, "--parts", "fig16,fig19", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    base = os.nice(0)
    said = log.read_text().split("\n")[1:-1]  # without the first, which finds out how long a run takes
    assert sorted(said[:8]) == [f"0 {base}"] * 4 + [f"200 {base}"] * 4
    assert sorted(said[8:]) == [f"0 {base + 3}"] + [f"infinite {base + 3}"] * 4
    assert [row["program"] for row in table(tmp_path / "out", "fig16")] == ["ep.A k=0", "ep.A k=200"]


@pytest.mark.parametrize("script, what", [
    ("exit 3", "exit status 3 from "), ("kill -9 $$", "exit status -9 from "),
    ("echo Verification = UNSUCCESSFUL", "wrong results from ")])
def test_program_fails(programs, jugglectl, tmp_path, script, what):
    done = run(*TINY, "--programs", programs({"ep.A.x": script}), "--output", tmp_path)
    assert done.returncode == 1
    assert f"juggle: {what}" in done.stderr and "Traceback" not in done.stderr


def test_no_programs(programs, jugglectl, tmp_path):
    folder = programs({"ep.A.x": "exit 0", "README": "exit 0"})
    for arguments, what in (([folder, "--class", "B"], f"{folder}: no program there is named as NAS's are, such as ep.B.x"),
                            ([tmp_path / "none"], f"{tmp_path / 'none'}: No such file or directory")):
        done = run(*TINY, "--output", tmp_path, "--programs", *arguments)
        assert (done.returncode, done.stderr) == (1, f"juggle: {what}\n")


@pytest.mark.parametrize("arguments, what", [
    (["--programs", "/"], "--programs: only with --real"),
    (["--class", "S", "--mpi"], "--class, --mpi: only with --real"),
    (["--real", "--figures", "9"], "--figures: not with --real"),
    (["--real", "--parts", "fig9"], "unknown: fig9"),
    (["--real", "--seconds", "0"], "--seconds: above 0"),
    (["--real", "--seconds", "inf"], "--seconds: above 0"),
    (["--real", "--class", "D"], "--class: of our kernels S, W, A, B"),
    (["--real", "--repeats", "0"], "1 or more"),
    (["--real", "--mpirun", ""], "--mpirun: a command"),
])
def test_errors(jugglectl, tmp_path, arguments, what):
    done = run("--output", tmp_path, *arguments)
    assert done.returncode == 2
    assert what in done.stderr
