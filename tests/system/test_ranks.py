# SPDX-License-Identifier: MIT
"""The Jacobi solver on ranks that either MPI starts; see test_jacobi.py for the solver in one
process.

Each rank records its pid before it becomes the solver, so that every test can see that no process
and no segment is left behind.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import helpers
import mpi
import traces
from test_jacobi import load
from test_manuals import keys_of_page

pytestmark = pytest.mark.beside

LIBRARIES = sorted(mpi.SUFFIXES)
# Lines of "jacobi: ..." or "jacobi-mpich: ...", not those of the launchers.
OURS = re.compile(r"^jacobi(?:-\w+)?: .*$", re.MULTILINE)
# A run that takes far longer than a test.
ENDLESS = ["--grid", "600x600", "--residual", "1e-300"]
FORCED = ["--dplb", "random", "--dplb-period", "1ms", "--check"]


class Ranks:
    """Jobs of one MPI."""

    def __init__(self, library, folder):
        self.library = library
        self.program = mpi.program(library, "apps", "jacobi")
        self.launcher = mpi.launcher(library)
        self.folder = folder
        self.tcp = False
        self.grace_s = 0  # between SIGTERM and SIGKILL, by Open MPI
        self.begin = time.time()

    def noted(self):
        """The pids of all ranks that existed, by rank."""
        found = {}
        for path in self.folder.glob("rank.*"):
            with contextlib.suppress(ValueError):
                found[int(path.suffix[1:])] = int(path.read_text())
        return found

    def noting(self, *command):
        """A command whose process records its pid, after removing what a killed one with that pid
        left."""
        script = ('rm -f /dev/shm/progress.*.$$ 2>/dev/null\n'
                  'echo $$ >"$0.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"; exec "$@"')
        return ["sh", "-c", script, self.folder / "rank", *command]

    def command(self, ranks, *options, program=None):
        return [self.launcher, "-n", ranks, *self.noting(program or self.program, *options)]

    def environment(self):
        # Threads that wait for each other on too few CPUs should not spin.
        return dict(mpi.environment(self.library, self.tcp), OMP_WAIT_POLICY="passive",
                    OMPI_MCA_odls_base_sigkill_timeout=str(self.grace_s))

    def run(self, ranks, *options, program=None):
        if self.tcp and self.library == "mpich" and ranks > mpi.MPICH_TCP_RANKS_MAX:
            pytest.skip(mpi.MPICH_TCP_REASON)
        return mpi.run_patiently(self.library, self.tcp, self.command(ranks, *options, program=program),
                                 env=self.environment())

    def solve(self, ranks, *options):
        """Runs a job that succeeds, and returns its JSON."""
        done = self.run(ranks, *options, "--json", "-")
        assert done.returncode == 0, done.stdout + done.stderr
        assert not OURS.findall(done.stderr)
        # The output of one rank: two objects are not valid JSON.
        return json.loads(done.stdout)

    def segments(self):
        """Segments of the ranks, not of an earlier process that had the same pid."""
        return [str(path) for pid in self.noted().values()
                for path in Path("/dev/shm").glob("progress.*.%d" % pid)
                if path.stat().st_ctime >= self.begin - 1]

    def is_over(self):
        return not any(helpers.alive(pid) for pid in self.noted().values())

    def clear(self):
        for pid in self.noted().values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for path in self.segments():
            os.unlink(path)


@pytest.fixture(params=LIBRARIES)
def ranks(request, tmp_path):
    """Jobs of both MPIs; at the end of the test nothing of them is left."""
    made = Ranks(request.param, tmp_path)
    yield made
    try:
        helpers.wait_for(made.is_over, "all ranks have ended")
        assert made.segments() == []
    finally:
        made.clear()


def alone(*options):
    """The solution by one process with one thread."""
    done = helpers.run([helpers.app("jacobi"), "-t", "1", *options, "--json", "-"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def converged_alone(folder, grid):
    path = folder / ("alone.%s.npy" % grid)
    assert alone("--mode", "sync", "-s", "1", "--grid", grid, "-r", "1e-12", "--output",
                 path)["converged"]
    return load(path)


def assert_close(got, wanted, most):
    assert max(abs(a - b) for x, y in zip(got, wanted) for a, b in zip(x, y)) < most


# --- the solution --------------------------------------------------------------------

@pytest.mark.parametrize("count, threads, grid, cut, tcp", [
    (1, 1, "24x17", "1d", False), (2, 1, "24x17", "1d", False), (2, 2, "23x19", "2d", True),
    (3, 2, "25x7", "1d", False), (4, 1, "17x31", "2d", False),
])
def test_sync_is_the_solution_of_one_process(ranks, tmp_path, count, threads, grid, cut, tcp):
    ranks.tcp = tcp
    # Beyond the iteration at which ranks exchange their residuals.
    steps = ["--mode", "sync", "--grid", grid, "-n", "70"]
    wanted = alone(*steps, "-s", "1", "--output", tmp_path / "alone.npy")
    found = ranks.solve(count, *steps, "-t", threads, "--cut", cut, "--output", tmp_path / "u.npy")
    assert (tmp_path / "u.npy").read_bytes() == (tmp_path / "alone.npy").read_bytes()
    assert found["residual"] == pytest.approx(wanted["residual"], rel=1e-12)
    assert found["updates"] == 70 * count * threads * 4
    assert (found["spread"], found["staleness_max"], found["rank_moves"]) == (0, 0, 0)
    assert (found["converged"], found["verifications"]) == (False, 1)


@pytest.mark.parametrize("count, threads, tcp, options", [
    (2, 1, False, ["--mode", "sync"]),
    (3, 1, False, ["--mode", "ssync:0"]),
    (2, 2, True, ["--mode", "ssync:2", "--cut", "2d", "--dplb", "none"]),
    (4, 1, False, ["--mode", "ssync:5", "--dplb", "neighbours:2", "--dplb-period", "1ms"]),
    (2, 1, False, ["--mode", "async"]),
    (3, 1, False, ["--mode", "async", "--dplb-period", "1ms", "--dplb-threshold", "0"]),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_modes_converge_to_it(ranks, tmp_path, count, threads, tcp, options):
    ranks.tcp = tcp
    grid = "16x13"
    found = ranks.solve(count, "-t", threads, "-s", "2", "--grid", grid, "-r", "1e-6", *options,
                        "--output", tmp_path / "u.npy")
    assert found["converged"] and found["residual"] <= 1e-6
    assert found["verifications"] >= 1 and found["ownership_checks"] >= 1
    assert found["bound_exceeded"] == 0
    # The error is at most residual / (1 - spectral radius): 47 times that, times the norm of the
    # first.
    assert_close(load(tmp_path / "u.npy"), converged_alone(tmp_path, grid), 1e-3)


# --- moves ---------------------------------------------------------------------------

@pytest.mark.parametrize("count, threads, tcp, mode, cut", [
    (3, 1, False, "ssync:2", "1d"), (2, 2, False, "async", "2d"), (2, 1, True, "ssync:0", "1d"),
])
def test_forced_moves(ranks, tmp_path, count, threads, tcp, mode, cut):
    ranks.tcp = tcp
    for side in (24, 48, 96, 192, 384):  # until it takes long enough for a move
        grid = "%dx%d" % (side, side - 3)
        found = ranks.solve(count, "-t", threads, "--grid", grid, "--cut", cut, "--mode", mode,
                            "-r", "1e-4", *FORCED, "--output", tmp_path / "u.npy")
        assert found["converged"] and found["residual"] <= 1e-4
        assert (found["dplb"], found["dplb_period_s"]) == ("random", 0.001)
        assert sum(rank["subdomains"] for rank in found["rank"]) == count * threads * 4
        for key in ("moves_in", "moves_out"):
            assert sum(rank[key] for rank in found["rank"]) == found["rank_moves"]
        for rank in found["rank"]:
            assert rank["subdomains"] == threads * 4 + rank["moves_in"] - rank["moves_out"]
        assert sum(rank["updates"] for rank in found["rank"]) == found["updates"]
        assert found["staleness_max"] == max(rank["staleness_max"] for rank in found["rank"])
        assert found["bound_exceeded"] == 0
        if mode != "async":
            assert found["staleness_max"] <= int(mode[-1])
        # They met after moves, except those for which the last meeting waited.
        assert found["ownership_checks"] == found["verifications"] >= 1
        if found["rank_moves"] > 0 and found["ownership_checks"] > 1:
            break
    else:
        pytest.fail("no rank gave a subdomain away")
    if side <= 96:
        # In theory the error may be a quarter of (side * 2 / pi) squared times as large.
        assert_close(load(tmp_path / "u.npy"), converged_alone(tmp_path, grid),
                     1e-4 * side ** 2 / 9.8 * 4)


# --- output --------------------------------------------------------------------------

def test_result(ranks, tmp_path):
    """All keys, from rank 0; each rank's trace; no other text."""
    found = ranks.solve(3, "-t", "2", "--grid", "40x30", "--mode", "ssync:1", "-n", "300",
                        "--dplb", "neighbours:2", "--trace", tmp_path / "trace")
    keys, inner = keys_of_page("jacobi.1", "RESULT FORMAT")
    assert set(found) == keys
    assert (found["ranks"], found["threads"], found["dplb"]) == (3, 2, "neighbours:2")
    assert found["mpi"].startswith({"openmpi": "Open MPI v", "mpich": "MPICH "}[ranks.library])
    assert found["dplb_threshold"] is None and found["dplb_period_s"] == 0.5
    assert [rank["rank"] for rank in found["rank"]] == [0, 1, 2]
    for rank in found["rank"]:
        assert set(rank) == inner["rank"]
        assert rank["host"] == os.uname().nodename
        assert all(isinstance(rank[key], int) for key in rank if key != "host")
        # From one strip to the next, of 24; and a subdomain may have come or gone.
        assert rank["updates"] >= (300 - 23 * 2) * min(rank["subdomains"], 8)
    assert sum(rank["updates"] for rank in found["rank"]) == found["updates"]
    for key in ("rank_moves", "ownership_checks", "bound_exceeded"):
        assert isinstance(found[key], int)
    assert found["iteration_rate"] == pytest.approx(
        found["updates"] / (3 * 2 * 4) / found["elapsed_s"], rel=1e-6)
    assert sorted(path.name for path in tmp_path.glob("trace*")) == ["trace.0", "trace.1", "trace.2"]
    for path in tmp_path.glob("trace.*"):
        title, *lines = path.read_text().splitlines()
        assert title.startswith("# ")
        slots = int(title.rpartition(" ")[2]) + 1
        assert all(len(line.split(" ")) == 1 + slots for line in lines)


def test_text(ranks):
    done = ranks.run(2, "-t", "1", "--grid", "24x17", "-n", "10", "--dplb-threshold", "3")
    assert done.returncode == 0 and not OURS.findall(done.stderr)
    assert done.stdout.count("24 x 17 cells") == done.stdout.count("iteration rate") == 1
    assert len(re.findall(r"^ranks +2, .*, dplb global, ", done.stdout, re.MULTILINE)) == 1
    table = done.stdout.partition("subdomains     came     went")[2].splitlines()[1:]
    assert [line.split()[0] for line in table] == ["0", "1"]
    assert all(line.split()[-1] == os.uname().nodename for line in table)
    done = ranks.run(2, "-t", "1", "--grid", "24x17", "-n", "10", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_one_rank(ranks):
    found = ranks.solve(1, "-t", "2", "--grid", "24x17", "-n", "10")
    assert (found["ranks"], found["mpi"], len(found["rank"])) == (1, None, 1)


@pytest.mark.needs_root
def test_without_privileges(ranks, unprivileged):
    program = shutil.copy(ranks.program, unprivileged.dir)
    os.chmod(program, 0o755)
    done = mpi.run(ranks.library, 2, [program, "-t", "1", "--grid", "24x17", "-n", "10", "--json",
                                      "-"], wrap=unprivileged.command, cwd=str(unprivileged.dir))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ranks"] == 2


# --- errors --------------------------------------------------------------------------

def only_line(done):
    lines = OURS.findall(done.stderr)
    assert len(lines) == 1, done.stderr
    return lines[0].partition(": ")[2]


def test_grid_that_cannot_be_cut(ranks):
    done = ranks.run(3, "-t", "1", "--grid", "24x2")
    assert (done.returncode, done.stdout) == (2, "")
    assert only_line(done).startswith("this --grid cannot be cut into 3 bands of columns (ranks) "
                                      "and each into 1 x 4 subdomains")


def test_subdomains_that_cannot_be_sent(ranks):
    done = ranks.run(2, "-t", "1", "--grid", "32768x16384", "--subdomains", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert only_line(done).startswith("--grid: subdomains of 2 GiB cannot be sent between ranks")


@pytest.mark.parametrize("options, why", [
    (["--mode", "fast"], "--mode fast: expected "),
    (["--mode", "sync", "--dplb", "global"], "--dplb global: in --mode sync "),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bad_options_are_told_once(ranks, options, why):
    done = ranks.run(3, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert only_line(done).startswith(why)


@pytest.mark.parametrize("options", [
    ["--grid", "24x18"], ["--mode", "sync"], ["--output", "/dev/null"], ["--residual", "1e-3"],
    ["--help"],
], ids=" ".join)
def test_options_of_one_rank_only(ranks, options):
    """They would wait for each other, or read each other's windows in the wrong place."""
    common = [ranks.program, "-t", "1", "--grid", "24x17", "-n", "10", "-q"]
    done = ranks.run(1, "-t", "1", "--grid", "24x17", "-n", "10", "-q", ":", "-n", "1", *common,
                     *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert only_line(done) == "not all ranks were started with the same options"


def test_help_is_printed_once(ranks):
    done = ranks.run(2, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage: jacobi") == 1


@pytest.mark.parametrize("option, path", [
    ("--json", "/nonexistent/file"), ("--output", "/dev/full"),
])
def test_files_that_cannot_be_written(ranks, option, path):
    long = ENDLESS if path.startswith("/non") else ["--grid", "24x17", "-n", "10"]
    done = ranks.run(2, "-t", "1", *long, "-q", option, path)
    assert (done.returncode, done.stdout) == (1, "")
    assert only_line(done).startswith(path + ": ")


def test_trace_that_cannot_be_written(ranks):
    """Each rank has a file of its own, so each may report its error."""
    done = ranks.run(2, "-t", "1", *ENDLESS, "-q", "--trace", "/nonexistent/file")
    assert (done.returncode, done.stdout) == (1, "")
    assert OURS.findall(done.stderr)[0].startswith("jacobi: /nonexistent/file")


def test_another_launcher_is_told_of(ranks):
    (other,) = set(LIBRARIES) - {ranks.library}
    done = ranks.run(2, "--grid", "24x17", program=mpi.program(other, "apps", "jacobi"))
    assert (done.returncode, done.stdout) == (2, "")
    assert set(OURS.findall(done.stderr)) == {
        "jacobi: started by the mpirun of another MPI than the one that it was built with"}


def test_build_without_mpi(ranks):
    program = helpers.app("jacobi-alone")
    done = ranks.run(2, "-t", "1", "--grid", "24x17", "-n", "10", program=program)
    assert (done.returncode, done.stdout) == (2, "")
    assert all("but built without MPI" in line for line in OURS.findall(done.stderr))
    assert OURS.findall(done.stderr)
    done = ranks.run(1, "-t", "1", "--grid", "24x17", "-n", "10", "--json", "-", program=program)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mpi"] is None


# --- signals -------------------------------------------------------------------------

@pytest.fixture
def endless(ranks, background, tmp_path):
    """A job of three ranks that has begun, and runs until somebody ends it."""
    def start(*wrap, options=()):
        command = ranks.command(3, "-t", "1", *ENDLESS, "--mode", "ssync:3", "--trace",
                                tmp_path / "trace", "--json", tmp_path / "found", "-q", *options)
        # Where Open MPI's own files are removed even when it was killed.
        environment = dict(ranks.environment(), TMPDIR=str(tmp_path),
                           OMPI_MCA_btl_vader_backing_directory=str(tmp_path))
        with open(tmp_path / "messages", "wb") as messages:
            process = background([*wrap, *command], env=environment, stdout=messages,
                                 stderr=messages)
        helpers.wait_for(lambda: all((tmp_path / ("trace.%d" % rank)).stat().st_size > 0
                                     for rank in range(3)), "all ranks are at work", process)
        return process
    return start


def test_killed_rank_ends_the_job(ranks, endless, tmp_path):
    process = endless()
    assert len(ranks.segments()) == 3
    os.kill(ranks.noted()[1], signal.SIGKILL)
    assert process.wait(helpers.TIMEOUT_S) != 0
    assert re.search(r"signal 9|Killed", (tmp_path / "messages").read_text("utf-8"))
    helpers.wait_for(ranks.is_over, "all ranks have ended")
    assert not (tmp_path / "found").read_text()
    # Nobody is left who could remove these.
    for path in ranks.segments():
        os.unlink(path)


@pytest.mark.parametrize("who, number", [
    (0, signal.SIGTERM), (2, signal.SIGINT), ("mpirun", signal.SIGTERM),
])
def test_signals_end_it_in_order(ranks, endless, tmp_path, who, number):
    """Whichever rank receives them."""
    # Open MPI sends SIGTERM after this many seconds, and SIGKILL after as many more.
    ranks.grace_s = 3 if who == "mpirun" else 0
    process = endless()
    os.kill(process.pid if who == "mpirun" else ranks.noted()[who], number)
    helpers.wait_for(lambda: (tmp_path / "found").read_text().endswith("}\n"), "rank 0 reports")
    if ranks.grace_s == 0:  # otherwise they wait for mpirun, and that for the end of this time
        process.wait(helpers.TIMEOUT_S)
    helpers.wait_for(lambda: not ranks.segments(), "no segment is left")
    found = json.loads((tmp_path / "found").read_text())
    assert not found["converged"]
    assert sum(rank["updates"] for rank in found["rank"]) == found["updates"]
    assert all(rank["updates"] > 0 for rank in found["rank"])
    assert [rank["subdomains"] for rank in found["rank"]] == [4, 4, 4]


# --- with juggle ---------------------------------------------------------------------

@pytest.mark.alone
def test_juggle_runs_mpirun(ranks, endless, juggle, tmp_path):
    """It finds the segments of all ranks and balances them."""
    process = endless(juggle, "-v", "--report", tmp_path / "report", "--trace", tmp_path / "juggle", "--",
                      options=["--balance", "split", "--mode", "async"])
    balancer = helpers.wait_for_balancer(process)
    pids = set(ranks.noted().values())
    helpers.wait_for(lambda: all(claim(pid) == balancer for pid in pids), "all ranks are claimed", process)
    os.kill(ranks.noted()[0], signal.SIGTERM)
    assert process.wait(helpers.TIMEOUT_S) != 0
    report = helpers.read_report(tmp_path / "report")
    assert {(one["pid"], one["rank"]) for one in report["progress"]} == \
        {(pid, rank) for rank, pid in ranks.noted().items()}
    found = json.loads((tmp_path / "found").read_text())
    assert found["ranks"] == 3
    assert sum(one["held"] for one in report["progress"]) == 12
    assert max(one["updates_most"] for one in report["progress"]) - \
        min(one["updates_least"] for one in report["progress"]) == found["spread"]
    assert re.search(r"subdomains +12 of 3 workers, .* spread %d among them\n" % found["spread"],
                     (tmp_path / "messages").read_text("utf-8"))
    assert not helpers.segment(process.pid).exists()
    of_ranks = {thread["tid"] for thread in report["thread"] if thread["pid"] in pids}
    of_launcher = {thread["tid"] for thread in report["thread"] if thread["comm"].startswith("mpirun")} - of_ranks
    assert of_launcher
    # Before it calls execve(2), it may count for a moment.
    assert not any(computing & of_ranks and computing & of_launcher
                   for computing in computing_threads(tmp_path / "juggle"))


def computing_threads(trace):
    """The tids that juggle counts as computing, at each point of its trace."""
    return [{thread["tid"] for thread in threads} for _, threads, _ in traces.points(trace)]


def claim(pid):
    """Who balances the segment of a process: the low half of the word at 128."""
    return int.from_bytes(Path("/dev/shm/progress.%d.%d" % (os.geteuid(), pid))
                          .read_bytes()[128:132], "little")


def test_mpirun_runs_juggle(ranks, juggle):
    done = helpers.run([ranks.launcher, "-n", "2", juggle, "-q", "--", *ranks.noting(
        ranks.program, "-t", "2", "--grid", "60x40", "-n", "2000", "--json", "-")],
        env=ranks.environment())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ranks"] == 2
    assert len(ranks.noted()) == 2


def test_plain_start_needs_no_mpi():
    """Not even its library's daemons: with an empty environment."""
    for library in LIBRARIES:
        program = mpi.program(library, "apps", "jacobi")
        done = subprocess.run([program, "-t", "1", "--grid", "24x17", "-n", "10", "--json", "-"],
                              env={}, capture_output=True, text=True, check=False,
                              timeout=helpers.TIMEOUT_S)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["mpi"] is None


def test_commands_of_the_readme_run_on_two_cpus(tmp_path):
    """Without what the other tests set for Open MPI."""
    folders = [str(helpers.BUILD / folder) for folder in ("apps", "daemon")]
    environment = {name: text for name, text in mpi.environment("openmpi").items() if "ALLOW" in name}
    environment.update(PATH=":".join([*folders, os.environ["PATH"]]), OMP_NUM_THREADS="1")
    mpi.program("openmpi", "apps", "jacobi")
    commands = re.findall(r"^    mpirun (.* jacobi .*?) +#", (helpers.REPO / "README.md").read_text("utf-8"),
                          re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        done = helpers.run([mpi.launcher("openmpi"), "--host", "localhost:2", *command.split(), "-n", "50",
                            "--grid", "64x64"], env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
