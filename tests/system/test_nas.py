# SPDX-License-Identifier: MIT
"""The NAS kernels: their results are those that were published, with any number of threads."""

import json

import pytest

import helpers

pytestmark = pytest.mark.beside

KERNELS = {"nas-ep": {"sx": -3.247834652034740e3, "sy": -6.958407078382297e3},
           "nas-cg": {"zeta": 8.5971775078648}, "nas-mg": {"norm": 0.5307707005734e-4}}


@pytest.fixture(params=KERNELS)
def kernel(request, app):
    return app(request.param)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_results(app, name, threads):
    done = helpers.run([app(name), "--class", "S", "--threads", str(threads)])
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert (result["program"], result["class"], result["threads"]) == (name, "S", threads)
    assert result["verified"] is True and result["elapsed_s"] > 0
    found = {key: value["found"] for key, value in result["results"].items()}
    assert found == pytest.approx(KERNELS[name], rel=1e-8)


def test_threads_of_the_runtime(kernel):
    done = helpers.run([kernel], env={"OMP_NUM_THREADS": "2"})
    assert (json.loads(done.stdout)["class"], json.loads(done.stdout)["threads"]) == ("S", 2)


@pytest.mark.parametrize("arguments", [
    ["--class", "D"], ["--class", ""], ["--class", "s"], ["-t", "0"], ["-t", "4097"], ["-t", "2x"], ["-r", "0"],
    ["-r", "1000001"], ["surplus"]])
def test_refused(kernel, arguments):
    done = helpers.run([kernel, *arguments])
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("nas-")


def test_repeats(kernel):
    """Each begins anew."""
    done = helpers.run([kernel, "--repeats", "2"])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["repeats"] == 2


def test_full_disk(kernel):
    with open("/dev/full", "w") as full:
        done = helpers.run([kernel], stdout=full)
    assert done.returncode == 1
    assert "No space left" in done.stderr


def test_help(kernel):
    done = helpers.run([kernel, "--help"])
    assert done.returncode == 0
    assert "Exit status" in done.stdout
