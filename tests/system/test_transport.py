# SPDX-License-Identifier: MIT
"""The ranks' network over either MPI, by shared memory and by TCP: see transport_job.c."""

import os
import re
import shutil
import socket

import pytest

import mpi

pytestmark = pytest.mark.beside

LIBRARIES = {"openmpi": "Open MPI v", "mpich": "MPICH "}
WHO = re.compile(r"rank (\d+) of (\d+) on (\S+), there (\d+), expected (\d+), process (\d+)")


def job(library):
    return mpi.program(library, "tests/system", "transport-job")


def check_verdict(done, library, ranks):
    assert done.returncode == 0, done.stdout + done.stderr
    assert "transport-job: " + LIBRARIES[library] in done.stdout
    assert done.stdout.count(" 0 wrong at all") == 1
    who = sorted(tuple(found) for found in WHO.findall(done.stdout))
    assert [(int(rank), int(of), int(expected)) for rank, of, _, _, expected, _ in who] == \
        [(rank, ranks, ranks) for rank in range(ranks)]
    return who


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("tcp", [False, True], ids=["shared", "tcp"])
@pytest.mark.parametrize("library", mpi.SUFFIXES)
def test_all_at_once(library, tcp, ranks):
    done = mpi.run(library, ranks, [job(library), "check", "30", "1"], tcp)
    who = check_verdict(done, library, ranks)
    assert {host for _, _, host, _, _, _ in who} == {socket.gethostname()}
    if not tcp:
        assert sorted(int(there) for _, _, _, there, _, _ in who) == list(range(ranks))


@pytest.mark.parametrize("library", mpi.SUFFIXES)
def test_one_rank_needs_no_launcher(library):
    done = mpi.helpers.run([job(library), "check", "5"], env=mpi.environment(library))
    check_verdict(done, library, 1)


@pytest.mark.needs_root
@pytest.mark.parametrize("library", mpi.SUFFIXES)
def test_without_privileges(library, unprivileged):
    program = shutil.copy(job(library), unprivileged.dir)
    os.chmod(program, 0o755)
    done = mpi.run(library, 2, [program, "check", "10"], wrap=unprivileged.command,
                   cwd=str(unprivileged.dir))
    check_verdict(done, library, 2)


@pytest.mark.parametrize("library", mpi.SUFFIXES)
def test_abort_ends_all(library):
    done = mpi.run(library, 3, [job(library), "abort", "7"])
    assert done.returncode == 7


@pytest.mark.parametrize("library", mpi.SUFFIXES)
def test_another_launcher_is_told_of(library):
    other = {"openmpi": "mpich", "mpich": "openmpi"}[library]
    done = mpi.run(other, 2, [job(library), "check", "1"])
    assert done.returncode == 3, done.stdout + done.stderr
    assert "transport-job: Protocol error, wanted" in done.stderr
