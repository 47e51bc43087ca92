# SPDX-License-Identifier: MIT
"""What juggle loses by not knowing the best period, in virtual time: within limits."""
import re

import pytest

import helpers
import manuals

pytestmark = pytest.mark.beside


@pytest.mark.slow
def test_limits():
    """The program itself says which of its limits are not kept."""
    done = helpers.run([helpers.built("tests/bench/regret")], timeout_s=240)
    assert done.returncode == 0, done.stdout[done.stdout.index("means, least"):]


@pytest.mark.slow
def test_deviations():
    """The table of juggle(7) has a row for each, in the same order."""
    done = helpers.run([helpers.built("tests/bench/regret"), "--deviations"], timeout_s=240)
    assert (done.returncode, done.stderr) == (0, "")
    quiet, hog = (table.splitlines() for table in done.stdout.split("\n\n"))
    rows = [(line[:45].strip(), [float(word) for word in line[45:].split()]) for line in quiet[1:]]
    section = manuals.source("juggle.7").partition(".Ss What each of these gains\n")[2].partition("\n.El")[0]
    names = re.findall(r"^\.It (?!Sy)(.*?) Ta ", section, re.MULTILINE)
    assert [name for name, _ in rows] == [re.sub(r"Fl (\w) Cm", r"-\1", name) for name in names]
    assert [line[:45] for line in hog[1:]] == [line[:45] for line in quiet[1:]]
    for name, (*means, most, least) in rows:
        assert len(means) == 3 and least <= min(means) <= max(means) <= most, name
    assert sum(most > 1.01 or least < 0.99 for _, (*_, most, least) in rows) >= 10, "hardly anything was left out"
    assert min(rows[-1][1][:3]) > 1.02, "the paper's balancer is as good"


def test_unknown_option():
    done = helpers.run([helpers.built("tests/bench/regret"), "--some"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: regret")
