# SPDX-License-Identifier: MIT
"""Ranks on several hosts, by TCP between network namespaces (hosts.py)."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import helpers
import hosts
import mpi
from test_transport import WHO, check_verdict, job

pytestmark = pytest.mark.beside

# MPICH over TCP hangs more often where CPUs are busy.
LIBRARIES = [pytest.param(library, marks=pytest.mark.alone) if library == "mpich" else library
             for library in mpi.SUFFIXES]
RANKS = {"openmpi": 4, "mpich": mpi.MPICH_TCP_RANKS_MAX}


@pytest.fixture
def two():
    with hosts.Hosts(2) as found:
        yield found


@pytest.mark.parametrize("library", LIBRARIES)
def test_ranks_on_two_hosts(two, library):
    ranks = RANKS[library]
    done = two.mpirun(["-n", str(ranks)], [job(library), "check", "20", "1"], mpi=library)
    who = check_verdict(done, library, ranks)
    assert [name for _, _, name, _, _, _ in who] == \
        [two.names[rank * 2 // ranks] for rank in range(ranks)]
    assert [int(there) for _, _, _, there, _, _ in who] == \
        [rank % (ranks // 2) for rank in range(ranks)]
    # It used the network: ranks read and sent some megabytes.
    sent = helpers.run(two.on(two.names[0], ["cat", "/sys/class/net/eth0/statistics/tx_bytes"]))
    assert int(sent.stdout) > 1000000


@pytest.mark.parametrize("link", [{"rate": "200mbit"}, {"delay_ms": 2}],
                         ids=["narrow", "long"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_slow_link(two, library, link):
    two.slow_link(**link)
    done = two.mpirun(["-n", "2"], [job(library), "check", "5"], mpi=library)
    check_verdict(done, library, 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_slow_host(two, library):
    two.slow_host(two.names[1], cpus=0.5)
    done = two.mpirun(["-n", "2"], [job(library), "check", "5"], mpi=library)
    check_verdict(done, library, 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_killed_rank_ends_the_job(two, library, background):
    line, environment = two.command(["-n", "2"], [job(library), "pump"], library)
    process = background(line, env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    pids = {}
    while len(pids) < 2:
        said = process.stdout.readline()
        assert said, "mpirun ended"
        found = WHO.search(said)
        if found:
            pids[found.group(3)] = int(found.group(6))
    os.kill(pids[two.names[1]], signal.SIGKILL)
    said, _ = process.communicate(timeout=helpers.TIMEOUT_S)
    assert process.returncode != 0
    # Either mpirun notices first, or the remaining rank.
    assert re.search("signal:? 9|exit code: 9|fatal error", said, re.IGNORECASE), said
    helpers.wait_for(lambda: not any(map(helpers.alive, pids.values())), "all ranks have ended")


def solve(two, library, *options):
    """jacobi with a rank on each host; its report."""
    ranks = RANKS[library]
    done = two.mpirun(["-n", str(ranks)], [
        mpi.program(library, "apps", "jacobi"), "--threads", "1", "--grid", "60x120",
        "--residual", "1e-2", "--check", "--quiet", "--json", "-", *options], mpi=library)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout[done.stdout.index("{"):])
    assert report["ranks"] == ranks and report["converged"]
    assert [rank["host"] for rank in report["rank"]] == \
        [two.names[rank * 2 // ranks] for rank in range(ranks)]
    assert sum(rank["subdomains"] for rank in report["rank"]) == 4 * ranks
    return report


@pytest.mark.parametrize("mode", ["sync", "ssync:3", "async"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_jacobi_on_two_hosts(two, library, mode):
    moving = [] if mode == "sync" else ["--dplb", "random", "--dplb-period", "1ms"]
    for residual in ("1e-2", "1e-3", "1e-4", "1e-5"):  # until it takes long enough for a move
        report = solve(two, library, "--mode", mode, "--residual", residual, *moving)
        assert report["ownership_checks"] > 0
        assert report["bound_exceeded"] == 0
        if not moving or report["rank_moves"] > 0:
            break
    else:
        pytest.fail("no rank gave a subdomain away")


@pytest.mark.parametrize("dplb", ["global", "neighbours"])
def test_jacobi_with_a_slow_host(two, dplb):
    two.slow_host(two.names[1], cpus=0.5)
    two.slow_link(rate="100mbit")
    solve(two, "openmpi", "--mode", "async", "--dplb", dplb, "--dplb-period", "20ms")


def test_nothing_is_left(tmp_path):
    """Not even when whoever made the hosts is killed."""
    script = tmp_path / "script.py"
    script.write_text("""
import subprocess, sys, time
sys.path.insert(0, %r)
import hosts
with hosts.Hosts(2) as two:
    subprocess.Popen(two.on(two.names[0], ["sleep", "1000"]))
    while not two.processes(two.names[0]):
        time.sleep(0.01)
    print(*[process.pid for process in two._keepers.values()], flush=True)
    if sys.argv[1] == "raise":
        raise KeyError
    time.sleep(1000)
""" % str(Path(hosts.__file__).parent))
    with hosts.Hosts(1):
        pass # skips where there are none
    for end in ("raise", "kill"):
        with subprocess.Popen([sys.executable, script, end], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, start_new_session=True,
                              env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
            keepers = list(map(int, process.stdout.readline().split()))
            assert len(keepers) == 3
            if end == "kill":
                process.kill()
            process.wait(timeout=helpers.TIMEOUT_S)
            helpers.wait_for(lambda: not any(map(helpers.alive, keepers)), "keepers have ended")
            if end == "raise":
                assert not helpers.session_members(process.pid)
            helpers.kill_session(process)
