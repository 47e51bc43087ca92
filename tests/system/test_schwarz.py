# SPDX-License-Identifier: MIT
"""libprogress's examples schwarz and schwarz_mpi: strips of unequal work that move between threads,
and between the ranks that either MPI starts."""

import json
import os

import pytest

import helpers
import mpi

pytestmark = pytest.mark.beside

LIBRARIES = sorted(mpi.SUFFIXES)
FOLDER = helpers.BUILD / "libprogress" / "examples"


def run_threads(*options):
    done = helpers.run([helpers.built(FOLDER / "schwarz"), *options])
    if "progress_create" in done.stderr:
        pytest.skip("no memory for a segment here")
    return done


def run_ranks(library, ranks, *options, **how):
    program = mpi.program(library, "libprogress/examples", "schwarz_mpi")
    return mpi.run(library, ranks, [program, *options], **how)


def solved(done):
    """The JSON of a run whose result is right."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert "schwarz" not in done.stderr
    found = json.loads(done.stdout)
    assert found["verified"] is True
    assert found["residual"] <= 1e-8
    assert found["error"] <= found["residual"] + 1e-10
    assert found["updates"] >= found["strips"] * 2
    return found


def solved_by_ranks(library, ranks, *options, **how):
    found = solved(run_ranks(library, ranks, *options, **how))
    assert found["ranks"] == len(found["held"]) == ranks
    assert sum(found["held"]) == found["strips"]
    return found


# --- threads ---------------------------------------------------------------------------

@pytest.mark.alone
@pytest.mark.parametrize("options", [["-b", "joint"], ["-b", "none"], ["-t", "3", "-o", "work", "-r", "2"], ["-r", "1"]])
def test_threads_solve(options):
    """Strips of unequal work, updated in any order: the solution is the known one all the same."""
    found = solved(run_threads("-n", "63", "-s", "3", *options))
    if "1" in options:
        assert found["highest"] <= found["lowest"] + 1
    else:
        assert found["highest"] > found["lowest"] * 1.5


def test_not_solved():
    done = run_threads("-n", "63", "-u", "2")
    assert done.returncode == 1
    assert json.loads(done.stdout)["verified"] is False
    assert done.stderr == "schwarz: not solved\n"


@pytest.mark.parametrize("options", [["-t", "0"], ["-b", "no"], ["-n", "63", "-s", "64"], ["-e", "nan"]])
def test_threads_refuse(options):
    done = run_threads(*options)
    assert done.returncode == 2
    assert done.stdout == ""


# --- ranks -----------------------------------------------------------------------------

@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("ranks, tcp", [(1, False), (2, True), (3, False)])
def test_ranks_solve(library, ranks, tcp):
    found = solved_by_ranks(library, ranks, "-n", "95", "-s", "3", "-r", "2", "-b", "none", tcp=tcp)
    assert found["moves"] == 0
    assert found["held"] == [3] * ranks


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("ranks, tcp", [(2, True), (3, False)])
def test_strips_that_move_all_the_time(library, ranks, tcp):
    """Each is on one rank at the end, which the program checks, and the result is right."""
    found = solved_by_ranks(library, ranks, "-n", "95", "-s", "3", "-r", "2", "-e", "1e-11", "-b", "random",
                            "-i", "5", tcp=tcp)
    assert found["moves"] > 0


@pytest.mark.alone
@pytest.mark.parametrize("library", LIBRARIES)
def test_slow_rank_sends_strips(library):
    """Strips of equal work: what differs is how often they are updated. The rank keeps one."""
    found = solved_by_ranks(library, 2, "-r", "1", "-e", "1e-11", "-i", "50", "--slow", "1:8")
    assert found["moves"] > 0
    assert found["held"][0] > found["held"][1] > 0


@pytest.mark.alone
@pytest.mark.parametrize("library", LIBRARIES)
def test_equal_ranks_keep_their_strips(library):
    """On a CPU that they share, they get equally much, whatever else runs there."""
    cpu = str(min(os.sched_getaffinity(0)))
    found = solved_by_ranks(library, 2, "-r", "1", "-e", "1e-11", "-i", "200",
                            wrap=lambda command: ["taskset", "-c", cpu, *command])
    assert found["moves"] == 0
    if found["decisions"] <= 2:
        pytest.skip("so fast a machine solves it before ranks know how fast they are, at their second points")


@pytest.mark.parametrize("library", LIBRARIES)
def test_ranks_tell_when_it_is_not_solved(library):
    done = run_ranks(library, 2, "-n", "95", "-r", "1", "-u", "2")
    assert done.returncode == 1
    assert "schwarz_mpi: not solved" in done.stderr
    assert '"verified": false' in done.stdout


@pytest.mark.parametrize("options, said", [
    (["-i", "4"], "'4' is not a whole number from 5 to 60000"),
    (["-b", "no"], "unknown name 'no'"),
    (["--slow", "1"], "'1' is not RANK:N"),
    (["--slow", "1:8"], "schwarz_mpi: --slow: there is no rank 1"),
    (["-n", "63", "-s", "64"], "too many strips")])
def test_ranks_refuse(options, said):
    done = helpers.run([mpi.program("openmpi", "libprogress/examples", "schwarz_mpi"), *options],
                       env=mpi.environment("openmpi"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
