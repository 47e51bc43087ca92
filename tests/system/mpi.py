# SPDX-License-Identifier: MIT
"""How to start programs with either MPI: its launcher, its environment, its network."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import helpers

# For each, the suffix of the programs built with it (see apps/meson.build).
SUFFIXES = {"openmpi": "", "mpich": "-mpich"}
VERSIONS = {"openmpi": "Open MPI", "mpich": "HYDRA"}

# MPI_Finalize waits for others without letting them progress: any program may hang; of two ranks
# seldom, so that a second attempt tells.
MPICH_TCP_RANKS_MAX = 2
MPICH_TCP_REASON = "MPICH before 4.2 may hang at its end over TCP (its pull request 6596)"


def launcher(mpi):
    """The path of mpirun; skips the test where this MPI is not installed."""
    for name in ("mpirun." + mpi, "mpirun"):
        path = shutil.which(name)
        if not path:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if VERSIONS[mpi] in version.stdout + version.stderr:
            return path
    pytest.skip("no mpirun of " + mpi)


def program(mpi, folder, name):
    """The path of a program built with this MPI; skips the test when it was not built."""
    path = str(Path(helpers.BUILD) / folder / (name + SUFFIXES[mpi]))
    if not os.access(path, os.X_OK):
        pytest.skip("%s was not built with %s" % (name, mpi))
    libraries = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    if not any(line.split()[0].startswith(("libmpi.so", "libmpich.so"))
               for line in libraries.splitlines() if line.strip()):
        pytest.skip("%s was built without MPI" % name)
    return path


def environment(mpi, tcp=False):
    """What to add to the environment of mpirun."""
    if mpi == "openmpi":
        found = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                 "OMPI_MCA_rmaps_base_oversubscribe": "1",
                 "OMPI_MCA_hwloc_base_binding_policy": "none",
                 # What it chooses itself on one machine, but each start looks for fast networks before.
                 "OMPI_MCA_pml": "ob1",
                 # Containers forbid what it uses by default.
                 "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                 # Where there are fewer CPUs than ranks, those that wait leave theirs to the others. Open MPI
                 # does so by itself only if it has counted the CPUs.
                 "OMPI_MCA_mpi_yield_when_idle": "1",
                 # After a rank has failed, it waits for this many seconds, or one by default.
                 "OMPI_MCA_odls_base_sigkill_timeout": "0"}
        if tcp:
            found.update({"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_osc": "pt2pt"})
        return found
    return {"UCX_TLS": "tcp,self", "MPIR_CVAR_NOLOCAL": "1"} if tcp else {}


def run_patiently(mpi, tcp, command, **options):
    """helpers.run() of ranks; a second time where the first may have failed by no fault of the program."""
    if mpi == "mpich" and tcp:
        with contextlib.suppress(helpers.StillRunning):
            return helpers.run(command, **options)
    done = helpers.run(command, **options)
    # Very seldom a rank crashes when all is done, where no code is mapped any more: Open MPI seems to unload parts of
    # its own too soon.
    if mpi == "openmpi" and done.returncode == 128 + signal.SIGSEGV and done.stdout:
        return helpers.run(command, **options)
    return done


def run(mpi, ranks, command, tcp=False, wrap=lambda command: command, **options):
    """Runs ranks of a program on this machine to their end: see helpers.run()."""
    if mpi == "mpich" and tcp and ranks > MPICH_TCP_RANKS_MAX:
        pytest.skip(MPICH_TCP_REASON)
    command = wrap([launcher(mpi), "-n", str(ranks), *command])
    return run_patiently(mpi, tcp, command, env=environment(mpi, tcp), **options)
