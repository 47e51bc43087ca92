# SPDX-License-Identifier: MIT
"""The script per-node of juggle-batch(7), copied from the page, under both launchers of MPI.

Ranks need no MPI library here: the launchers start any program, and give each its rank.
"""

import os
import re
import signal
from pathlib import Path

import pytest

import helpers
import manuals
import mpi as mpis

# With the options that the manual gives for these launchers, besides those in mpis.environment().
ONE_NODE = {"openmpi": ["--oversubscribe", "--bind-to", "none"],
            "mpich": ["-launcher", "fork", "-bind-to", "none"]}


@pytest.fixture
def per_node(tmp_path):
    """The path of the script, made executable."""
    text, = [block for block in manuals.displays("juggle-batch.7") if "# Runs a rank" in block]
    path = tmp_path / "per-node"
    path.write_text(text)
    path.chmod(0o755)
    return path


def environment(mpi):
    """An environment that finds juggle by its name, and has it report what it saw."""
    path = "%s:%s" % (Path(helpers.juggle_path()).parent, os.environ["PATH"])
    return {**mpis.environment(mpi), "PATH": path, "JUGGLE_OPTIONS": "-v"}


def command(mpi, ranks, program):
    return [mpis.launcher(mpi), "-n", str(ranks), *ONE_NODE[mpi], *map(str, program)]


def ranks_of(launcher, name="ubench"):
    return [pid for pid in helpers.descendants(launcher) if helpers.comm(pid) == name]


def attached(launcher):
    """Each juggle below a launcher; the balancer process beside it has another name."""
    return [pid for pid in helpers.descendants(launcher) if helpers.comm(pid) == "juggle"]


def busy():
    """A rank that computes until it is ended, without MPI."""
    return [helpers.app("ubench"), "-q", "-t", "2", "-e", "5ms", "-p", "1000000000",
            "-b", "yield", "--rate", "100000", "--json", "/dev/null"]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_one_juggle_balances_all_ranks_and_goes_with_them(mpi, per_node, juggle, background):
    ranks = len(helpers.cpus())  # With two threads each: more than CPUs.
    process = background(command(mpi, ranks, [per_node, *busy()]), env=environment(mpi))
    helpers.wait_for(lambda: len(ranks_of(process.pid)) == ranks, "all ranks run", process)
    found = ranks_of(process.pid)
    helpers.wait_for(lambda: all(helpers.is_pinned(pid, threads=2) for pid in found),
                     "the threads of all ranks are placed", process)
    daemon, = attached(process.pid)
    segment = helpers.segment(daemon)
    helpers.wait_for(segment.exists, "there is telemetry", process)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=helpers.TIMEOUT_S)
    helpers.wait_for(lambda: not any(map(helpers.alive, [*found, daemon])),
                     "ranks and juggle have ended")
    # Launchers kill the group of a rank some milliseconds after they ask it to end.
    segment.unlink(missing_ok=True)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_status_of_the_rank_passes_through(mpi, per_node, juggle):
    script = "grep Cpus_allowed_list /proc/self/status; exit 7"
    done = helpers.run(command(mpi, 2, [per_node, "sh", "-c", script]), env=environment(mpi))
    assert done.returncode == 7, done.stderr
    masks = re.findall(r"Cpus_allowed_list:\s*(\S+)", done.stdout)
    assert masks
    for mask in masks:
        assert helpers.parse_cpu_list(mask) <= set(helpers.cpus())


@pytest.mark.needs_root
@pytest.mark.needs_cpus(2)
@pytest.mark.skipif(helpers.SANITIZER == "thread", reason="counts threads")
def test_tasks_of_srun(per_node, unprivileged, background):
    """The parent of all tasks is root's slurmstepd; here a shell."""
    user = unprivileged
    script = user.dir / "per-node"
    script.write_text(per_node.read_text())
    script.chmod(0o755)
    ranks = len(helpers.cpus())
    rank = user.command(["env", "SLURM_LOCALID=$i", script, user.app("ubench"), *busy()[1:]])
    step = 'for i in $(seq 0 %d); do %s & done; wait' % (
        ranks - 1, " ".join(map(str, rank)))
    environ = environment("openmpi")
    environ["PATH"] = "%s:%s" % (Path(user.juggle).parent, os.environ["PATH"])
    process = background(["sh", "-c", step], env=environ, cwd=user.dir)
    helpers.wait_for(lambda: len(ranks_of(process.pid)) == ranks, "all ranks run", process)
    found = ranks_of(process.pid)
    helpers.wait_for(lambda: all(helpers.is_pinned(pid, threads=2) for pid in found),
                     "the threads of all ranks are placed", process)
    daemon, = attached(process.pid)
    first, = [pid for pid in found if helpers.status(pid)["PPid"] != str(process.pid)]
    os.kill(first, signal.SIGTERM)
    helpers.wait_for(lambda: not helpers.alive(daemon), "juggle has ended with the first rank")
    assert not any(helpers.is_pinned(pid, threads=2) for pid in found if pid != first)
    assert not helpers.segment(daemon, user.uid).exists()


def test_scripts_of_the_page_are_shell(tmp_path):
    scripts = [block for block in manuals.displays("juggle-batch.7") if block.startswith("#!/bin/sh\n")]
    assert len(scripts) >= 7
    for script in scripts:
        path = tmp_path / "script"
        path.write_text(script)
        done = helpers.run(["sh", "-n", path])
        assert done.returncode == 0, script + done.stderr
