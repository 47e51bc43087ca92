# SPDX-License-Identifier: MIT
"""What tests/run relies on: the tally, the end of a run that takes too long, and waiting for
jobs."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import helpers
from test_jugglectl import symbols

pytestmark = pytest.mark.beside

SYSTEM = helpers.REPO / "tests" / "system"
PARTS = """# What meson found.
unit tests: %s
MPI (ubench-mpi): -Dmpi=disabled
jugglectl top: yes
"""


@pytest.fixture
def tally(tmp_path):
    """tally("--parts", FILE): (exit status, lines) of tests/tally.py with one test that passed."""
    junit = tmp_path / "passed.xml"
    junit.write_text('<testsuites><testsuite name="a"><testcase name="b"/></testsuite></testsuites>')

    def run(*arguments):
        done = helpers.run([sys.executable, helpers.REPO / "tests" / "tally.py", "--junit", junit,
                            *arguments])
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()
    return run


@pytest.mark.parametrize("there, complete, lines", [
    ("yes", True, ["1 passed, 0 failed, 1 skipped"]),
    ("missing", True, ["FAILED: unit tests: not in this build, although its packages are there",
                       "1 passed, 1 failed, 1 skipped"]),
    ("missing", False, ["skipped: unit tests: not in this build: missing",
                        "1 passed, 0 failed, 2 skipped"]),
    ("-Dtests=disabled", True, ["skipped: unit tests: not in this build: -Dtests=disabled",
                                "1 passed, 0 failed, 2 skipped"]),
])
def test_parts_that_a_build_lacks(tally, tmp_path, there, complete, lines):
    (tmp_path / "parts").write_text(PARTS % there)
    status, said = tally("--parts", tmp_path / "parts", *["--complete"] * complete)
    mpi = "skipped: MPI (ubench-mpi): not in this build: -Dmpi=disabled"
    assert sorted(said[:-1]) == sorted([mpi, *lines[:-1]]) and said[-1] == lines[-1]
    assert status == int("1 failed" in lines[-1])


def test_parts_of_this_build():
    """The tally understands each line."""
    names = [line.rpartition(": ")[0] for line in (helpers.BUILD / "parts").read_text("utf-8").splitlines()
             if not line.startswith("#")]
    assert "unit tests" in names and all(names) and len(set(names)) == len(names)


def test_failures_beside_those_in_files(tally):
    """An exit status counts as a failure only where no file shows one."""
    assert tally("--unless-shown", "pytest")[1] == ["FAILED: pytest", "1 passed, 1 failed, 0 skipped"]
    assert tally("--unless-shown", "pytest", "--failed", "late")[1] == [
        "FAILED: late", "1 passed, 1 failed, 0 skipped"]


@pytest.mark.parametrize("several", [[], ["-n", "2", "--dist", "loadfile"]], ids=["one process", "two"])
def test_time_limit_names_the_test(background, tally, tmp_path, several):
    """The running test fails, those before it count, and those after it do not begin."""
    if several:
        pytest.importorskip("xdist")
    for path in (SYSTEM / "conftest.py", SYSTEM / "helpers.py", helpers.REPO / "tools/python/juggle.py"):
        shutil.copy(path, tmp_path)
    (tmp_path / "test_it.py").write_text("""
import pathlib, time
def test_before(): pass
def test_that_hangs():
    pathlib.Path("hangs").touch()
    time.sleep(1000)
def test_after(): pass
""")
    process = background([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *several,
                          "--junitxml=junit.xml"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    helpers.wait_for((tmp_path / "hangs").exists, "it hangs", process)
    os.killpg(process.pid, signal.SIGTERM)
    out, _ = process.communicate(timeout=helpers.TIMEOUT_S)
    said = "SIGTERM, as at a time limit: test_it.py::test_that_hangs was running, for "
    assert out.count("\n" + said) == 1
    failure, line = tally("--junit", tmp_path / "junit.xml")[1]
    assert failure.startswith("FAILED: test_it::test_that_hangs: Failed: " + said)
    assert line == "2 passed, 1 failed, 0 skipped"


@pytest.mark.skipif(bool(helpers.SANITIZER), reason="a sanitizer's runtime can start threads")
def test_programs_that_thread_sanitizer_need_not_see():
    """Those of the unit tests that its build leaves out start no threads."""
    text = (helpers.REPO / "tests/unit/meson.build").read_text("utf-8")
    begins = re.findall(r"'(.*?)'", re.search(r"^one_thread = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)[1])
    programs = [path for begin in begins for path in (helpers.BUILD / "tests" / "unit").glob(
        "test_%s*" % re.sub(r"\W", "_", begin)) if path.is_file()]
    if not programs:
        pytest.skip("unit tests are not in this build")
    assert len(programs) > len(begins)
    if "pthread_create" in symbols(*programs):
        pytest.fail("these do: %s" % [path.name for path in programs if "pthread_create" in symbols(path)])


# --- waiting -------------------------------------------------------------------------

def never():
    return False


def test_waiting_ends_with_the_process(background, tmp_path):
    """And the failure quotes its standard error, wherever it went."""
    script = ["sh", "-c", "echo why >&2; exit 3"]
    with open(tmp_path / "stderr", "wb") as file:
        for stderr in (subprocess.PIPE, file):
            process = background(script, stderr=stderr)
            with pytest.raises(AssertionError) as found:
                helpers.wait_for(never, "this", process)
            assert "has ended with status 3, and said:\nwhy\n before this: this" in str(found.value)
    process = background(["true"])
    process.wait()
    assert helpers.wait_for(lambda: True, "what comes with its end", process)
    with pytest.raises(AssertionError, match="process %d has ended before this: that" % process.pid):
        helpers.wait_for(never, "that", process.pid)


def test_waiting_does_not_wait_for_others_with_the_pipe(background):
    process = background(["sh", "-c", "sleep 1000 & echo why >&2; exit 3"], stderr=subprocess.PIPE)
    with pytest.raises(AssertionError, match="why"):
        helpers.wait_for(never, "this", process)


def test_waiting_has_an_end():
    with pytest.raises(AssertionError, match="not within 0.01 s: this"):
        helpers.wait_for(never, "this", timeout_s=0.01)


def test_programs_that_were_not_built():
    with pytest.raises(AssertionError, match="not built: .*/apps/no-such-program"):
        helpers.app("no-such-program")
