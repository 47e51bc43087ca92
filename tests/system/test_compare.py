# SPDX-License-Identifier: MIT
"""tools/compare: the same command in three ways, and what it says of them."""
import re
import runpy
import sys

import pytest

import helpers

COMPARE = [sys.executable, helpers.REPO / "tools" / "compare", "--juggle", helpers.built("daemon/juggle")]


def compare(*arguments):
    return helpers.run([*COMPARE, *arguments], timeout_s=3 * helpers.TIMEOUT_S)


def test_rows():
    done = compare("--repeats", "1", "--title", "a title", "--", "sleep", "0.1")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[1] == "a title"
    rows = [re.fullmatch(r"  (.*\S) +([0-9.]+) s +[0-9.]+ - +[0-9.]+ s +([0-9.]+)x #+", line) for line in lines[3:6]]
    assert [row[1] for row in rows] == ["pinned", "the Linux balancer", "juggle"]
    assert all(float(row[2]) >= 0.1 for row in rows)
    assert float(rows[0][3]) == 1


@pytest.mark.parametrize("linux, juggle, spread, words", [
    (1, 1.01, 0.01, "Nothing is to be gained here"),
    (1.02, 0.98, 0.01, "2 % longer than when pinned,\nand took 4 % longer than with the Linux balancer"),
    (1, 1.25, 0.01, "1.25 times as fast as when pinned,\nand ran 1.25 times as fast as with the Linux"),
    (1.25, 1.25, 0.01, "and took as long as with the Linux balancer"),
    (1, 1.25, 0.2, "The repeats differ by up to 20 %")])
def test_what_it_means(linux, juggle, spread, words):
    what_it_means = runpy.run_path(COMPARE[1], run_name="compare")["what_it_means"]
    assert words in what_it_means(linux, juggle, [0, spread])


def test_beside(tmp_path):
    """The other command runs as long as the runs, and no longer."""
    pid = tmp_path / "pid"
    done = compare("--repeats", "1", "--beside", "sh -c 'echo $$ > %s; exec sleep 1000'" % pid, "--", "sleep", "0.1")
    assert done.returncode == 0
    helpers.wait_for(lambda: not helpers.alive(int(pid.read_text())), "it has ended")


def test_refuses():
    for arguments, words in (
            (["--beside", "/nonexistent/x", "--", "true"], "compare: --beside: "),
            (["--beside", "false", "--repeats", "2", "--", "sleep", "0.1"], "compare: exit status 1 from: false"),
            (["--beside", "'", "--", "true"], "compare: --beside: No closing quotation"),
            (["--repeats", "1", "--", "false"], "compare: exit status 1 from: "),
            (["--repeats", "1", "--", "/nonexistent/x"], "compare: exit status 127 from: "),
            ([], "no command given")):
        done = compare(*arguments)
        assert done.returncode != 0
        assert words in done.stderr, done.stderr
