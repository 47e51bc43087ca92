# SPDX-License-Identifier: MIT
"""Leads within a worker of the Jacobi solver: what leads sits out every other iteration, until the others have
caught up. Nothing depends on speed: tests make the lead, as a balancer would by moves, and the solver stands
still while its counters are read."""
import os
import signal
import struct

import pytest

import helpers
import mpi
from test_jacobi import ENV
from test_progress import HEADER_BYTES, SUBDOMAIN_BYTES, WORKER_BYTES, path_of

HOLDER, UPDATES, OWNER = 4, 8, 32  # offsets in the record of a subdomain
LEAD = 100  # updates, at least, that are watched
MADE = 20 * LEAD  # before the others catch up with it: some of it is gone when it is first looked at
STEADY = 10  # a lead that changes by less stays
# Two workers with four subdomains each, whom nobody balances: the first point comes in an hour.
SOLVER = ["-t", "2", "--grid", "400x300", "--balance", "joint", "--period", "3600s", "-n", "1000000000000", "-q"]


class Solver:
    def __init__(self, process, pid):
        self.process = process
        self.pid = pid
        helpers.wait_for(lambda: path_of(pid).stat().st_size > 0 and min(self.updates(range(8))) > 0, "it has begun",
                         process)
        assert [self.held(worker) for worker in (0, 1)] == [[0, 1, 2, 3], [4, 5, 6, 7]]

    def stopped(self, look):
        """look(), while it stands still."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            helpers.wait_for(lambda: helpers.status(self.pid)["State"][0] == "T", "it stands still", self.process)
            return look()
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def at(self, subdomain, field):
        return HEADER_BYTES + 2 * WORKER_BYTES + subdomain * SUBDOMAIN_BYTES + field

    def held(self, worker):
        """The subdomains that a worker holds."""
        data = path_of(self.pid).read_bytes()
        count, = struct.unpack_from("=I", data, 28)
        return [s for s in range(count) if struct.unpack_from("=I", data, self.at(s, HOLDER)) == (worker,)]

    def updates(self, subdomains):
        data = path_of(self.pid).read_bytes()
        return [struct.unpack_from("=Q", data, self.at(s, UPDATES))[0] for s in subdomains]

    def give(self, subdomain, worker):
        """Move a subdomain from the other worker."""
        with open(path_of(self.pid), "r+b", buffering=0) as file:
            os.pwrite(file.fileno(), struct.pack("=I", worker), self.at(subdomain, OWNER))
            os.pwrite(file.fileno(), struct.pack("=I", 1), HEADER_BYTES + (1 - worker) * WORKER_BYTES)
        helpers.wait_for(lambda: subdomain in self.held(worker), "it has moved", self.process)

    def others(self):
        return min(self.updates(range(1, 8)))

    def lead(self):
        """By how much the first subdomain leads the least advanced one."""
        return self.updates([0])[0] - self.others()

    def wait_for_others(self, updates):
        helpers.wait_for(lambda: self.others() >= updates, "%d updates of each" % updates, self.process)


@pytest.fixture(params=["alone", "openmpi", "mpich"])
def solver(request, background, app, tmp_path):
    """solver(OPTION...) starts one; with MPI it is the first of two ranks. They end in order, and remove their
    segments."""
    made = []

    def begun(process, pid):
        made.append((process, pid))
        return Solver(process, pid)

    def start(*options):
        if request.param == "alone":
            process = background([app("jacobi"), *SOLVER, *options], env=ENV)
            return begun(process, process.pid)
        noted = tmp_path / "pid"
        script = ('rm -f /dev/shm/progress.*.$$; [ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 1 ] || echo $$ >"$0"; '
                  'exec "$@"')
        process = background([mpi.launcher(request.param), "-n", "2", "sh", "-c", script, noted,
                              mpi.program(request.param, "apps", "jacobi"), *SOLVER, "--dplb", "none", *options],
                             # Where Open MPI's own files are removed although it is killed.
                             env={**mpi.environment(request.param), **ENV, "TMPDIR": str(tmp_path),
                                  "OMPI_MCA_btl_vader_backing_directory": str(tmp_path)})
        return begun(process, helpers.wait_for(lambda: noted.exists() and int(noted.read_text() or 0), "it has a pid",
                                               process))
    yield start
    for process, pid in made:
        os.kill(pid, signal.SIGTERM)
        process.wait(helpers.TIMEOUT_S)
        assert not path_of(pid).exists()


def make_lead(solver):
    """Let a worker have one subdomain, until that leads all others, and then give it to the other worker.
    Returns the lead."""
    for subdomain in (1, 2, 3):
        solver.give(subdomain, 1)
    # While both workers are on the same CPU, the one that yields after a short iteration has no more of them.
    helpers.wait_for(lambda: solver.lead() > MADE, "it leads", solver.process, timeout_s=4 * helpers.TIMEOUT_S)
    solver.give(0, 1)
    return solver.stopped(solver.lead)


def change(solver):
    """Of the lead, while the others are updated so often that a lead closes, or becomes much less: what leads sits
    out every other iteration."""
    before = make_lead(solver)
    solver.wait_for_others(solver.others() + 2 * LEAD)
    return solver.stopped(solver.lead) - before


def test_leads_close(solver):
    assert change(solver()) < -LEAD / 2


@pytest.mark.parametrize("options", [("--dead-band", "0"), ("--mode", "ssync:1000000")], ids=" ".join)
def test_leads_stay(solver, options):
    """By the paper's algorithm, and where workers wait for each other."""
    assert abs(change(solver(*options))) < STEADY
