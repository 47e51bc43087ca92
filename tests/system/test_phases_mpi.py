# SPDX-License-Identifier: MIT
"""What libphases sees of MPI: Open MPI and MPICH, in C and Fortran."""

import shutil
import subprocess

import pytest

import helpers
import mpi
import phases_table
from phases_table import Table, run

pytestmark = pytest.mark.unsanitized


@pytest.fixture
def table():
    with Table() as made:
        yield made


MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(condition) if (!(condition)) { fprintf(stderr, "%d: " #condition "\n", __LINE__); abort(); }

static void compute(double ms)
{
	struct timespec start, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1e3 + (now.tv_nsec - start.tv_nsec) / 1e6 < ms);
}

int main(int argc, char **argv)
{
	MPI_Comm world = MPI_COMM_WORLD;
	int rank, size, peer;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	CHECK(size == 2);
	peer = 1 - rank;
	for (int i = 0; i < 20; i++) {
		int in[2] = {rank + 1, 10 * (rank + 1)}, out[4] = {0}, ones[2] = {1, 1}, offsets[2] = {0, 1};
		int byte_offsets[2] = {0, sizeof(int)};
		MPI_Datatype types[2] = {MPI_INT, MPI_INT};
		MPI_Request requests[2];
		MPI_Status status;

		compute(rank ? 1 : 10);
		MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, world);
		CHECK(out[0] == 3 && out[1] == 30);
		MPI_Alltoallv(in, ones, offsets, MPI_INT, out, ones, offsets, MPI_INT, world);
		CHECK(out[peer] == (rank ? 10 : 2) && out[rank] == (rank ? 20 : 1));
		MPI_Alltoallw(in, ones, byte_offsets, types, out, ones, byte_offsets, types, world);
		CHECK(out[peer] == (rank ? 10 : 2) && out[rank] == (rank ? 20 : 1));
		MPI_Sendrecv(in, 2, MPI_INT, peer, 5, out, 2, MPI_INT, peer, 5, world, &status);
		CHECK(out[0] == peer + 1 && status.MPI_SOURCE == peer && status.MPI_TAG == 5);
		MPI_Allgatherv(in, 2, MPI_INT, out, (int[]){2, 2}, (int[]){0, 2}, MPI_INT, world);
		CHECK(out[0] == 1 && out[1] == 10 && out[2] == 2 && out[3] == 20);
		MPI_Scatterv(in, ones, offsets, MPI_INT, out, 1, MPI_INT, 1, world);
		CHECK(out[0] == (rank ? 20 : 2));
		MPI_Irecv(out, 2, MPI_INT, peer, 6, world, &requests[0]);
		MPI_Isend(in, 2, MPI_INT, peer, 6, world, &requests[1]);
		CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS && out[0] == peer + 1);
		MPI_Barrier(world);
	}
	if (rank == 0)
		puts("done");
	MPI_Finalize();
	return 0;
}
"""
MPI_CALLS = 8

FORTRAN = """
program waits
  MODULE
  implicit none
  integer :: error, rank, i, other(2), got(2)
  double precision :: mine, total
  call mpi_init(error)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, 20
    mine = rank + 1
    call mpi_allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (total /= 3 .or. error /= MPI_SUCCESS) error stop 1
    other = [rank, 7]
    call mpi_sendrecv(other, 2, MPI_INTEGER, 1 - rank, 3, got, 2, MPI_INTEGER, 1 - rank, 3, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    if (got(1) /= 1 - rank .or. got(2) /= 7 .or. error /= MPI_SUCCESS) error stop 2
    call mpi_barrier(MPI_COMM_WORLD, error)
  end do
  if (rank == 0) print '(a)', 'done'
  call mpi_finalize(error)
end program
"""


def compile_mpi(which, folder, name, source, compilers):
    """A program by a compiler of one MPI; skips the test where there is none."""
    launcher = mpi.launcher(which)
    path = folder / name
    path.write_text(source)
    for compiler in compilers:
        compiler = shutil.which("%s.%s" % (compiler, which))
        if compiler:
            done = subprocess.run([compiler, "-O1", "-o", str(folder / "program"), str(path)], check=False,
                                  capture_output=True, text=True, timeout=helpers.TIMEOUT_S * 3)
            if done.returncode == 0:
                return [launcher, "-n", "2", str(folder / "program")]
    return pytest.skip("%s of %s compiles nothing here" % (compilers[0], which))


def ranks(table):
    """The rows of a program's processes, without those of the launcher."""
    return [row for row in table.rows() if row.arrivals]


@pytest.mark.parametrize("which", ["openmpi", "mpich"])
def test_mpi(table, tmp_path, which):
    command = compile_mpi(which, tmp_path, "program.c", MPI_PROGRAM, ["mpicc"])
    done = run(table, command, env=mpi.environment(which))
    assert done.stdout == "done\n"
    assert table.sources == phases_table.MPI
    busy, other = ranks(table)
    assert busy.waits == other.waits == 20 * MPI_CALLS
    assert 20 <= busy.arrivals < 40 and 20 <= other.arrivals < 150  # they work once for all calls
    assert busy.pid != other.pid
    assert other.waited_ns > busy.waited_ns
    names = {"Allreduce", "Alltoallv", "Alltoallw", "Sendrecv", "Allgatherv", "Scatterv", "Waitall", "Barrier"}
    assert table.site_names() == {"MPI_%s in program" % name for name in names}


@pytest.mark.parametrize("module", ["use mpi", "use mpi_f08"])
@pytest.mark.parametrize("which", ["openmpi", "mpich"])
def test_mpi_in_fortran(table, tmp_path, which, module):
    command = compile_mpi(which, tmp_path, "program.f90", FORTRAN.replace("MODULE", module), ["mpif90", "mpifort"])
    done = run(table, command, env=mpi.environment(which))
    assert done.stdout == "done\n"
    assert [row.arrivals for row in ranks(table)] == [60, 60]
    assert table.site_names() == {"MPI_%s in program" % name for name in ("Allreduce", "Sendrecv", "Barrier")}


SENDER = r"""
#include <mpi.h>
#include <unistd.h>

static char buffer[1 << 24];

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 5; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank) {
			usleep(100000);
			MPI_Recv(buffer, sizeof buffer, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Send(buffer, sizeof buffer, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
		}
	}
	MPI_Finalize();
	return 0;
}
"""


@pytest.mark.parametrize("which", ["openmpi", "mpich"])
def test_send_that_waits(table, tmp_path, which):
    """That ends no phase."""
    run(table, compile_mpi(which, tmp_path, "program.c", SENDER, ["mpicc"]), env=mpi.environment(which))
    sender, = (row for row in ranks(table) if row.arrivals == 5)
    assert sender.waited_ns > 4 * 80e6
    assert "MPI_Send in program" in table.site_names()


PMPI_TOOL = r"""
#include <stdio.h>
int PMPI_Barrier(void *comm);
int MPI_Barrier(void *comm)
{
	static int calls;
	int result = PMPI_Barrier(comm);
	if (++calls == 20)
		fputs("20 barriers\n", stdout);
	return result;
}
"""


def test_another_tool_of_mpi(table, tmp_path):
    """That is loaded after the library has its turn, too. Open MPI's communicators are pointers."""
    command = compile_mpi("openmpi", tmp_path, "program.c", MPI_PROGRAM, ["mpicc"])
    (tmp_path / "tool").mkdir()
    tool = helpers.compile_c(tmp_path / "tool", PMPI_TOOL, "-shared", "-fPIC")
    command[-1:] = ["env", "LD_PRELOAD=%s:%s" % (phases_table.library(), tool), command[-1]]
    done = run(table, command, env={**mpi.environment("openmpi"), "LD_PRELOAD": ""})
    assert sorted(done.stdout.splitlines()) == ["20 barriers", "20 barriers", "done"]
    assert [row.waits for row in ranks(table)] == [20 * MPI_CALLS] * 2
