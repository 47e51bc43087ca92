# SPDX-License-Identifier: MIT
"""libprogress as programs see it: the exports of the shared library, and the examples."""

import re
import shutil
import subprocess

import pytest

import helpers

SOURCE = helpers.REPO / "libprogress"
BUILT = helpers.BUILD / "libprogress"


def run_example(name, *arguments):
    if name == "count" and not (BUILT / "examples" / name).exists():
        pytest.skip("count is not in this build (no Fortran)")
    done = helpers.run([helpers.built(BUILT / "examples" / name), *arguments])
    if "No space" in done.stderr or "No such file" in done.stderr:
        pytest.skip("/dev/shm cannot be used here")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_exports():
    """The functions of the header, by version, and nothing of the policy."""
    nm = shutil.which("nm")
    if not nm:
        pytest.skip("nm is not installed")
    shown = subprocess.run([nm, "-D", "--defined-only", str(BUILT / "libprogress.so")],
                           capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in shown.splitlines()} - {"PROGRESS_1"}
    header = (SOURCE / "progress.h").read_text("utf-8")
    declared = set(re.findall(r"^\w[\w ]*[ *](progress_\w+)\(", header, re.MULTILINE))
    assert len(declared) > 5
    assert exported == {name + "@@PROGRESS_1" for name in declared}


@pytest.mark.parametrize("balancing", ["split", "none"])
def test_example_in_c(balancing):
    spread, *subdomains = run_example("braid", balancing)
    assert re.fullmatch(r"spread \d+", spread)
    updates = []
    for i, line in enumerate(subdomains):
        found = re.fullmatch(r"subdomain %d: (\d+) updates, held by (\d)" % i, line)
        assert found, line
        updates.append(int(found.group(1)))
        if balancing == "none":
            assert int(found.group(2)) == i // 4
    assert len(updates) == 12
    assert max(updates) >= 2000
    assert int(spread.split()[1]) == max(updates) - min(updates)


def test_example_in_fortran():
    assert run_example("count") == [
        "worker 1 has 1 3",
        "spread 10",
        "subdomain 0: iteration 10, held by 0",
        "subdomain 1: iteration 0, held by 1",
        "subdomain 2: iteration 10, held by 0",
        "subdomain 3: iteration 0, held by 1",
        "removed: iteration 0, held by -1",
        "worker 1 has 1 2 3",
        "inserted: iteration 20",
        "rank: 4 subdomains, updates 7.5",
        "to send: 0",
    ]
