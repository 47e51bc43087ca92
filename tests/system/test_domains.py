# SPDX-License-Identifier: MIT
"""Domains by NUMA node or cache, with the synthetic machines of hwloc in place of a large one."""
import collections
import subprocess

import pytest

import helpers
from juggle import read_trace

pytestmark = pytest.mark.needs_cpus(2)


@pytest.fixture
def synthetic():
    """The environment for hwloc to see two nodes of one CPU each, CPUs 0 and 1."""
    if helpers.cpus()[:2] != [0, 1]:
        pytest.skip("may not use CPUs 0 and 1")
    return {"HWLOC_SYNTHETIC": "node:2 core:1 pu:1"}


def run(run_juggle, app, tmp_path, mode, env, threads=3, phases=100):
    report, trace = tmp_path / "r.json", tmp_path / "trace"
    done = run_juggle("-c", "0,1", "--always", "-i", "5ms", "--domains", mode, "--report", report,
                      "--trace", trace, "--", app("ubench"), "-q", "-t", str(threads),
                      "-e", "5ms", "-p", str(phases), "-b", "yield", "--rate", "100000", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return helpers.read_report(report), read_trace(trace)


@pytest.mark.parametrize("mode, domains", [("split", [[0], [1]]), ("joint", [[0, 1]])])
def test_domains(run_juggle, app, tmp_path, synthetic, mode, domains):
    report, _ = run(run_juggle, app, tmp_path, mode, synthetic)
    assert report["domains"] == domains
    assert report["cpus"] == [0, 1]
    assert report["threads"] == 3
    assert report["balancer"] == "ended"
    if mode == "split":
        assert report["migrations"] <= 3, "one CPU a domain leaves nobody to swap with"
    else:
        assert report["migrations"] > 0


@pytest.mark.parametrize("mode, domains", [("split", [[0, 1]]), ("llc", [[0], [1]])])
def test_caches(run_juggle, app, tmp_path, synthetic, mode, domains):
    """A node whose CPUs each have a last-level cache of their own."""
    env = {**synthetic, "HWLOC_SYNTHETIC": "node:1 l3:2 core:1 pu:1"}
    report, trace = run(run_juggle, app, tmp_path, mode, env)
    assert report["domains"] == domains
    assert trace.header["domains"] == mode
    assert report["threads"] == 3
    assert report["balancer"] == "ended"


def test_reasons_of_all_domains(run_juggle, app, tmp_path, synthetic):
    """One thread, so that one domain of two has none: each counts for half of the time."""
    report, _ = run(run_juggle, app, tmp_path, "split", synthetic, threads=1, phases=1000)
    assert 0.2 * report["elapsed_s"] < report["balanced_s"] < 0.55 * report["elapsed_s"]
    assert sum(way["seconds"] for way in report["regimes"]) == pytest.approx(report["elapsed_s"], rel=0.2)
    assert {way["regime"] for way in report["regimes"]} == {"aside", "balance"}


@pytest.mark.parametrize("threads", [2, 3, 4, 5])
def test_threads_are_spread_over_domains(juggle, app, background, synthetic, threads):
    process = background(
        [juggle, "-c", "0,1", "--always", "-i", "5ms", "--", app("ubench"), "-q", "-t",
         str(threads), "-e", "5ms", "-p", "1000000000", "-b", "yield", "--rate", "100000"],
        env=synthetic, stdout=subprocess.DEVNULL)
    ubench = helpers.wait_for_job(process)

    def spread():
        counts = collections.Counter(cpu for mask in helpers.masks(ubench).values()
                                     for cpu in mask)
        return (helpers.is_pinned(ubench, threads) and len(counts) == 2
                and max(counts.values()) - min(counts.values()) <= 1)
    helpers.wait_for(spread, "the threads are pinned, at most one apart between domains",
                     process)


def test_the_real_machine(run_juggle, tmp_path):
    report = tmp_path / "r.json"
    assert run_juggle("--report", report, "true").returncode == 0
    found = helpers.read_report(report)
    assert sorted(cpu for domain in found["domains"] for cpu in domain) == helpers.cpus()


def test_a_machine_that_does_not_know_the_cpus(run_juggle, app, tmp_path):
    """hwloc sees fewer CPUs than there are: the others form one more domain."""
    if helpers.cpus()[:2] != [0, 1]:
        pytest.skip("may not use CPUs 0 and 1")
    report, _ = run(run_juggle, app, tmp_path, "split", {"HWLOC_SYNTHETIC": "node:1 pu:1"})
    assert report["domains"] == [[0], [1]]
