# SPDX-License-Identifier: MIT
"""juggle --fit: what it sets, and prints; it overrides nothing."""

import subprocess

import pytest

import helpers
import mpi
from test_quota import group  # noqa: F401

pytestmark = pytest.mark.beside

NAMES = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
         "NUMEXPR_NUM_THREADS"]
# What may be set where the tests run.
OTHERS = ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY", "GOTO_NUM_THREADS",
          "NUMEXPR_MAX_THREADS", "OMPI_MCA_mpi_yield_when_idle"]
SHOW = ["sh", "-c", "env | grep -E '^(%s)=' | sort" % "|".join([*NAMES, *OTHERS])]


@pytest.fixture
def fit(juggle):
    """fit(OPTION..., env={}, wrap=...) is (what the command finds in its environment, what juggle
    prints)."""
    def run(*options, env=None, wrap=list, command=SHOW):
        clean = ["env", *("-u" + name for name in (*NAMES, *OTHERS))]
        clean += ["%s=%s" % pair for pair in (env or {}).items()]
        done = helpers.run(wrap([*clean, juggle, "--fit", *options, "--", *command]))
        assert done.returncode == 0, done.stderr
        return dict(line.split("=", 1) for line in done.stdout.split()), done.stderr
    return run


@pytest.fixture(autouse=True)
def no_quota_of_their_own(run_juggle, tmp_path):
    run_juggle("--report", tmp_path / "report.json", "true")
    quota = helpers.read_report(tmp_path / "report.json")["quota_cpus"]
    if quota is not None:
        pytest.skip("these tests run with a quota of %g CPUs" % quota)


def test_number_of_cpus(fit):
    count = str(len(helpers.cpus()))
    found, said = fit()
    assert found == dict.fromkeys(NAMES, count)
    assert said == "juggle: --fit:%s\n" % "".join(" %s=%s" % (name, count) for name in NAMES)
    found, _ = fit("-c", helpers.cpus()[0])
    assert found == dict.fromkeys(NAMES, "1")


def test_quiet(fit):
    found, said = fit("-q")
    assert (len(found), said) == (len(NAMES), "")


def test_nothing_is_overridden(fit):
    environment = {"OMP_NUM_THREADS": "1"}
    assert fit(env=environment) == (environment, "juggle: --fit: nothing to set\n")
    found, said = fit(env={"MKL_NUM_THREADS": "77"})
    assert found == {**dict.fromkeys(NAMES, str(len(helpers.cpus()))), "MKL_NUM_THREADS": "77"}
    assert "MKL" not in said


def test_more_threads_than_cpus(fit):
    many = {"OMP_NUM_THREADS": str(len(helpers.cpus()) + 1)}
    found, said = fit(env=many)
    assert found == {**many, "OMP_WAIT_POLICY": "passive"}
    assert said == "juggle: --fit: OMP_WAIT_POLICY=passive\n"
    many["OMP_WAIT_POLICY"] = "active"
    assert fit(env=many)[0] == many


@pytest.mark.needs_cpus(2)
def test_quota(fit, group):  # noqa: F811
    group.set_quota(1)
    assert fit(wrap=group.inside)[0] == dict.fromkeys(NAMES, "1")
    found, _ = fit(wrap=group.inside, env={"OMP_NUM_THREADS": "2"})
    assert found == {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    group.set_quota(1.01)
    assert fit(wrap=group.inside)[0] == dict.fromkeys(NAMES, "2")


def test_launcher_knows_better(fit, tmp_path):
    """How many threads a rank may have is not known."""
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\n" + SHOW[2] + "\n")
    launcher.chmod(0o755)
    assert fit(command=[launcher]) == ({}, "juggle: --fit: nothing to set\n")


@pytest.fixture
def fit_ranks(juggle, tmp_path):
    """fit_ranks(LIBRARY, RANKS, BEFORE...) is what each rank finds in its environment. A launcher may
    mix their output."""
    def run(library, ranks, *before):
        folder = tmp_path / ("%s-%d" % (library, ranks))
        folder.mkdir()
        done = mpi.run(library, ranks, [
            *before, "env", *("-u" + name for name in (*NAMES, *OTHERS)), juggle, "--fit", "sh", "-c",
            SHOW[2] + ' > "$0/$$"', folder])
        assert done.returncode == 0, done.stderr
        return [dict(line.split("=", 1) for line in file.read_text().split())
                for file in folder.iterdir()]
    return run


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_ranks_divide_the_cpus(fit_ranks, library):
    count = len(helpers.cpus())
    assert fit_ranks(library, 1) == [dict.fromkeys(NAMES, str(count))]
    assert fit_ranks(library, count) == [dict.fromkeys(NAMES, "1")] * count
    crowded = {**dict.fromkeys(NAMES, "1"), "OMP_WAIT_POLICY": "passive"}
    if library == "openmpi":
        crowded["OMPI_MCA_mpi_yield_when_idle"] = "1"
    assert fit_ranks(library, count + 1) == [crowded] * (count + 1)


@pytest.mark.needs_cpus(2)
def test_ranks_that_are_bound(fit_ranks):
    """Each has CPUs of its own, and divides them no further."""
    if not {0, 1} <= set(helpers.cpus()):
        pytest.skip("needs CPUs 0 and 1")
    bound = ["sh", "-c", 'exec taskset -c "$OMPI_COMM_WORLD_LOCAL_RANK" "$@"', "sh"]
    assert fit_ranks("openmpi", 2, *bound) == [dict.fromkeys(NAMES, "1")] * 2


def test_not_of_a_running_process(juggle):
    done = helpers.run([juggle, "--fit", "-p", "1"])
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr == ("juggle: --fit is for a command; a running process has its "
                           "environment already\n")


def test_not_needed_where_it_is_a_habit(juggle):
    with subprocess.Popen(["sleep", "0.5"]) as sleeper:
        done = helpers.run(["env", "JUGGLE_OPTIONS=--fit", juggle, "-p", str(sleeper.pid)])
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_command_that_is_not_found(juggle):
    done = helpers.run([juggle, "--fit", "/nonexistent"])
    assert done.returncode == 127
    assert done.stderr.endswith("juggle: /nonexistent: command not found\n")
