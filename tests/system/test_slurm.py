# SPDX-License-Identifier: MIT
"""srun --juggle, by the plugin, and the scripts of juggle-batch(7) for sites without it: in a real Slurm,
as a user without privileges."""

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

import helpers
import manuals
import slurm

PLUGIN = helpers.BUILD / "tools" / "slurm" / "spank_juggle.so"
pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(bool(helpers.SANITIZER), reason="Slurm lacks the runtime of a sanitizer"),
              pytest.mark.skipif(bool(slurm.reason_to_skip()), reason=str(slurm.reason_to_skip())),
              pytest.mark.skipif(not PLUGIN.exists(), reason="the plugin is not in this build (no slurm/spank.h)")]


@pytest.fixture(scope="module")
def two(unprivileged):
    """A Slurm of two nodes with the plugin, whose user can execute the programs."""
    plugin = "optional %s juggle=%s" % (PLUGIN, unprivileged.juggle)
    with slurm.Cluster(plugin, count=2) as cluster:
        cluster.user = unprivileged
        cluster.segments = segments()  # of others
        yield cluster


@pytest.fixture
def srun(two):
    """srun(ARGUMENT...) runs srun to its end, on one node with all of its CPUs unless the arguments say
    otherwise."""
    def run(*arguments, **options):
        return two.run(["srun", "-N1", "--overcommit", "--cpus-per-task=%d" % os.cpu_count(), *arguments], **options)
    return run


@pytest.fixture
def folder(two, tmp_path):
    """Where the user can write."""
    path = two.user.dir / tmp_path.name
    path.mkdir()
    path.chmod(0o777)
    return path


def ubench(two, *arguments):
    """More threads than CPUs, for some ten times as long as juggle needs to see them."""
    return [two.user.app("ubench"), "-q", "-t", str(os.cpu_count() + 1), "-e", "5ms", "-p", "150", "-b", "yield",
            "--rate", "100000", "--json", "/dev/null", *arguments]


ENDLESS = ["-p", "1000000000"]


def running(two, name):
    """The processes of that name in the cluster."""
    return [pid for host in two.names for pid in two.hosts.processes(host) if helpers.comm(pid) == name]


def segments():
    return set(Path("/dev/shm").glob("juggle.%d.*" % slurm.USER))


def wait_for_nothing_left(two):
    """No juggle, and no segment of one that has ended."""
    helpers.wait_for(lambda: not running(two, "juggle"), "juggle has gone")
    helpers.wait_for(lambda: segments() <= two.segments, "its segment has gone")


# --- the option ----------------------------------------------------------------------

def test_without_the_option_nothing_happens(srun):
    done = srun("-n2", "sh", "-c", 'echo "$JUGGLE_OPTIONS$LD_PRELOAD"; exit 3')
    assert done.returncode == 3
    assert "juggle" not in done.stdout + done.stderr


def test_one_juggle_balances_all_tasks_of_a_node(srun, two, folder):
    report = folder / "report"
    done = srun("-n2", "--juggle=--report %s -v --always" % report, *ubench(two))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("juggle: -p ") == 1
    found = json.loads(report.read_text())
    assert found["threads"] == 2 * (os.cpu_count() + 1)
    assert found["migrations"] > 0
    assert found["cpus"] == helpers.cpus()
    wait_for_nothing_left(two)


def test_each_node_has_a_juggle(two):
    done = two.run(["srun", "-N2", "-n2", "--juggle=-v", *ubench(two)])
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("juggle: -p ") == 2


@pytest.mark.needs_cpus(2)
def test_its_cpus_are_those_of_all_tasks(two, folder):
    """Slurm binds each task to a CPU of its own."""
    report = folder / "report"
    done = two.run(["srun", "-N1", "-n2", "--cpu-bind=cores", "--juggle=--report %s" % report, *ubench(two)])
    assert done.returncode == 0, done.stderr
    assert len(json.loads(report.read_text())["cpus"]) == 2


def test_tasks_tell_their_phases(srun, two, folder):
    """As they would below juggle."""
    report = folder / "report"
    library = helpers.built("libprogress/phases/libphases.so")
    for options, told in (("", ["own"]), ("--phases off ", [])):
        # juggle looks once a second for tables of processes that it has not started.
        done = srun("-n1", "--juggle=%s--report %s" % (options, report), *ubench(two, "-p", "600"),
                    env={"JUGGLE_LIBPHASES": library})
        assert done.returncode == 0, done.stderr
        assert json.loads(report.read_text())["phases"]["told_by"] == told


def test_options_of_the_environment_come_first(srun, two, folder):
    report = folder / "report"
    done = srun("-n1", "--juggle=-P observe", *ubench(two),
                env={"JUGGLE_OPTIONS": "-P static --report %s " % report})
    assert done.returncode == 0, done.stderr
    assert json.loads(report.read_text())["policy"] == "observe"


def test_wrong_options_are_refused_before_the_step(srun, folder):
    done = srun("-n1", "--juggle=-i 5parsecs", "touch", folder / "ran")
    assert done.returncode != 0
    lines = done.stderr.splitlines()
    assert "-i '5parsecs': expected a time" in lines[0]
    assert len(lines) == 2 and "Invalid --juggle argument" in lines[1]  # by srun itself
    assert not (folder / "ran").exists()


# --- it does no harm -----------------------------------------------------------------

@pytest.mark.parametrize("status", [0, 7])
def test_status_of_the_tasks(srun, status):
    done = srun("-n2", "--juggle", "sh", "-c", "exit %d" % status)
    assert done.returncode == status
    assert "juggle" not in done.stderr


def test_a_task_has_no_child_that_it_did_not_start(srun):
    done = srun("-n1", "--juggle", "sh", "-c", "sleep 0.2; cat /proc/$$/task/$$/children")
    assert (done.returncode, done.stdout.split()[1:]) == (0, []), done.stderr  # cat itself


def test_juggle_that_fails_leaves_the_tasks_alone(srun):
    """What only the node can know."""
    done = srun("-n2", "--juggle=--report /nowhere/report", "sh", "-c", "exit 7")
    assert done.returncode == 7
    assert [line for line in done.stderr.splitlines() if line.startswith("juggle: ")]


def test_without_juggle_on_the_node():
    with slurm.Cluster("optional %s juggle=/nowhere/juggle" % PLUGIN) as cluster:
        done = cluster.run(["srun", "-n2", "--overcommit", "--juggle", "sh", "-c", "exit 7"])
        assert done.returncode == 7
        said, = [line for line in done.stderr.splitlines() if "juggle" in line]
        assert said == "juggle: /nowhere/juggle: No such file or directory; the tasks run without it"


@pytest.fixture
def endless(two, background, folder):
    """A step that computes until it is ended, with a juggle that has seen its threads; .report is what that
    leaves."""
    wait_for_nothing_left(two)
    log = open(folder / "log", "wb")
    step = two.start(["srun", "-N1", "-n1", "--job-name=endless", "--cpus-per-task=%d" % os.cpu_count(),
                      "--juggle=--always --report %s" % (folder / "report"), *ubench(two, *ENDLESS)],
                     background, stderr=log)
    step.report = folder / "report"
    step.task, = helpers.wait_for(lambda: running(two, "ubench"), "the task runs", step)
    helpers.wait_for(lambda: helpers.is_pinned(step.task, threads=os.cpu_count() + 1), "threads are placed", step)
    step.juggle, = running(two, "juggle")  # its balancer has another name by now
    yield step
    log.close()


def test_scancel_leaves_nothing(two, endless):
    assert two.run(["scancel", "--name=endless"]).returncode == 0
    endless.wait(timeout=helpers.TIMEOUT_S)
    wait_for_nothing_left(two)
    assert json.loads(endless.report.read_text())["threads"] == os.cpu_count() + 1


def test_the_step_outlives_juggle(two, endless):
    """Killed with its balancer, as by the kernel when memory runs out: the guard gives the masks back."""
    for pid in [endless.juggle, *helpers.children(endless.juggle)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    helpers.wait_for(lambda: not running(two, "juggle"), "juggle has gone")
    helpers.wait_for_progress(endless.task)
    assert endless.poll() is None
    assert two.run(["scancel", "--name=endless"]).returncode == 0
    endless.wait(timeout=helpers.TIMEOUT_S)
    helpers.segment(endless.juggle, slurm.USER).unlink(missing_ok=True)


def test_signals_reach_the_tasks(two, background, folder):
    script = "trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.01; done"
    with open(folder / "out", "wb") as out:
        step = two.start(["srun", "-n1", "--job-name=traps", "--juggle", "sh", "-c", script], background, stdout=out)
        helpers.wait_for(lambda: "ready" in (folder / "out").read_text(), "the task runs", step)
        assert two.run(["scancel", "--signal=USR1", "--name=traps"]).returncode == 0
        assert step.wait(timeout=helpers.TIMEOUT_S) == 9
    assert (folder / "out").read_text().split() == ["ready", "caught"]
    wait_for_nothing_left(two)


# --- without the plugin --------------------------------------------------------------

@pytest.fixture
def scripts(folder):
    """[--task-prolog, --task-epilog] with the scripts of the page."""
    options = []
    for name in ("prolog", "epilog"):
        text, = [block for block in manuals.displays("juggle-batch.7") if "# Task%s" % name.capitalize() in block]
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
        options.append("--task-%s=%s" % (name, path))
    return options


@pytest.mark.parametrize("wanted", [True, False])
def test_scripts_of_the_page(two, srun, folder, scripts, wanted):
    report = folder / "report"
    done = srun("-n2", *scripts, *ubench(two), env={
        "JUGGLE": "1" if wanted else "", "JUGGLE_OPTIONS": "--always --report %s" % report,
        "PATH": "%s:%s" % (Path(two.user.juggle).parent, os.environ["PATH"])})
    assert (done.returncode, done.stderr) == (0, "")
    assert report.exists() == wanted
    if wanted:
        found = json.loads(report.read_text())
        assert found["threads"] == 2 * (os.cpu_count() + 1) and found["migrations"] > 0
    wait_for_nothing_left(two)
