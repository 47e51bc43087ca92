# SPDX-License-Identifier: MIT
"""A short siege: each attack of tests/siege once."""

import json
import sys

import pytest

import helpers

sys.path.insert(0, str(helpers.REPO / "tests" / "siege"))
import attempt  # noqa: E402

ATTACKS = attempt.load()
pytestmark = pytest.mark.needs_cpus(2)


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(name):
    if helpers.SANITIZER and name in ("started_low", "lowered"):
        pytest.skip("a sanitizer needs more than low limits leave")
    how, why, _ = attempt.make(name, 0, "tests/run")
    if how == "skipped":
        pytest.skip(why)
    assert how == "whole", why


def run(*arguments):
    return helpers.run([helpers.REPO / "tests" / "siege" / "siege", *arguments])


def test_result(tmp_path):
    done = run("--tries", "2", "--first", "5", "--json", tmp_path / "r.json", "storm", "ended")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "2 attacks, 4 tries, 0 broken"
    found = json.loads((tmp_path / "r.json").read_text())
    assert [row["attack"] for row in found["attacks"]] == ["storm", "ended"]
    assert all(row["tries"] == 2 and row["broken"] == [] for row in found["attacks"])


@pytest.mark.skipif(bool(helpers.SANITIZER), reason="a sanitizer keeps memory that was freed")
def test_soak(tmp_path):
    """Too short to find more than coarse leaks."""
    path = tmp_path / "r.json"
    done = helpers.run([helpers.REPO / "tests" / "siege" / "soak", "--seconds", "3", "--json", path])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found = json.loads(path.read_text())
    assert len(found["rows"]) == 6 and not found["grown"] and found["status"] == 7
    assert found["rows"][-1]["cycles"] > found["rows"][0]["cycles"] > 0


def test_list_and_errors():
    assert [line.split()[0] for line in run("--list").stdout.splitlines()] == list(ATTACKS)
    done = run("no-such-attack")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "--list" in done.stderr


def test_masks_that_do_not_come_back_are_noticed(tmp_path):
    with attempt.Attempt("none", 0, "1", tmp_path) as one:
        job = one.job()
        job.wait_until_pinned()
        one.timeout_s = 0.2
        with pytest.raises(AssertionError, match="the masks are back"):
            job.is_released()
        job.end()
