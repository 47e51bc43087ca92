# SPDX-License-Identifier: MIT
"""What juggle loses by not knowing the best period, in virtual time: within limits."""
import pytest

import helpers

pytestmark = pytest.mark.beside


@pytest.mark.slow
def test_limits():
    """The program itself says which of its limits are not kept."""
    done = helpers.run([helpers.built("tests/bench/regret")], timeout_s=240)
    assert done.returncode == 0, done.stdout[done.stdout.index("means, least"):]


def test_unknown_option():
    done = helpers.run([helpers.built("tests/bench/regret"), "--some"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: regret")
