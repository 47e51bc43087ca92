# SPDX-License-Identifier: MIT
"""jugglectl doctor on this machine: its findings depend on that, so a test compares only what it
causes itself."""

import json
import os
import re
import shutil

import pytest

import helpers
from test_manuals import keys_of_page, source

# The environment of the tests may set some of these, which doctor would find.
CLEAN = re.compile(r"OMP_|GOMP_|KMP_|OMPI_|PRTE_|HYDRA_|I_MPI_|MV2_|SLURM_|PBS_|OAR_|LSB_|JUGGLE_OPTIONS")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not CLEAN.match(name)}
    return {**kept, **more}


@pytest.fixture
def doctor(jugglectl):
    """doctor("-n", 3, "--", "app", OMP_PROC_BIND="true"): (exit status, {id: finding})."""
    def run(*arguments, before=(), **variables):
        done = helpers.run([*before, jugglectl, "doctor", "--json", *map(str, arguments)],
                           env=environment(**variables))
        assert done.stderr == ""
        result = json.loads(done.stdout)
        assert (done.returncode == 1) == (result["verdict"] == "impossible")
        return done.returncode, {finding["id"]: finding for finding in result["findings"]}
    return run


def level(findings, name):
    return findings[name]["level"] if name in findings else None


def on_cpus(count):
    """The beginning of a command line that confines a command to that many CPUs."""
    if not shutil.which("taskset"):
        pytest.skip("taskset is not installed")
    return ["taskset", "-c", ",".join(map(str, helpers.cpus()[:count]))]


# --- form ----------------------------------------------------------------------------

def test_keys_are_those_of_the_page(run_jugglectl):
    keys, inner = keys_of_page("jugglectl-doctor.1", "RESULT FORMAT")
    result = json.loads(run_jugglectl("doctor", "--json").stdout)
    assert set(result) == keys
    assert inner == {"findings": set(result["findings"][0])}


def test_page_lists_the_rules():
    code = "".join(path.read_text("utf-8") for path in sorted(
        (helpers.REPO / "tools/doctor").glob("rules_*.c")))
    rules = re.findall(r'^\t\{"([a-z_]+)", DOCTOR_', code, re.MULTILINE)
    section = source("jugglectl-doctor.1").partition(".Sh FINDINGS\n")[2].partition("\n.Sh ")[0]
    assert sorted(re.findall(r"^\.It Li (\S+)$", section, re.MULTILINE)) == sorted(rules)
    assert len(set(rules)) == len(rules)


def test_text_fits_a_terminal(run_jugglectl):
    done = run_jugglectl("doctor", "--", "/nonexistent", env=environment(
        OMP_PROC_BIND="true", OMP_DYNAMIC="true", OMPI_MCA_hwloc_base_binding_policy="core"))
    assert (done.returncode, done.stderr) == (1, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\n  XX /nonexistent is not found.\n     -> " in done.stdout
    assert done.stdout.splitlines()[0] == "CPUs"
    assert done.stdout.splitlines()[-1].startswith("juggle can't work here")


def test_quiet_leaves_out_what_is_good(run_jugglectl):
    everything = json.loads(run_jugglectl("doctor", "--json").stdout)
    quiet = json.loads(run_jugglectl("doctor", "--json", "-q").stdout)
    assert "good" in {finding["level"] for finding in everything["findings"]}
    assert "good" not in {finding["level"] for finding in quiet["findings"]}
    assert everything["verdict"] == quiet["verdict"]
    assert "\n  ok " not in run_jugglectl("doctor", "-q").stdout


@pytest.mark.parametrize("wrong", [
    ["-c", "x"], ["-c", ""], ["-n", "0"], ["-n", "1000001"], ["--nonsense"],
    ["mpirun", "-n", "3", "app"]])
def test_wrong_command_line(run_jugglectl, wrong):
    done = run_jugglectl("doctor", *wrong)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("jugglectl doctor: ")
    if wrong[0] == "mpirun":
        assert "put -- before the command" in done.stderr


def test_closed_pipe(jugglectl):
    done = helpers.run(["sh", "-c", '"$0" doctor | true', jugglectl])
    assert done.returncode == 0


# --- CPUs ----------------------------------------------------------------------------

def test_one_cpu_is_a_problem(doctor):
    status, findings = doctor(before=on_cpus(1))
    assert (status, level(findings, "cpu_count")) == (1, "problem")


@pytest.mark.needs_cpus(2)
def test_two_cpus_are_enough(doctor):
    status, findings = doctor("-n", 3, before=on_cpus(2))
    assert (status, level(findings, "cpu_count")) == (0, "good")
    assert level(findings, "threads") == "good" and "1.33" in findings["threads"]["text"]
    assert "predict -n 3 -m 2" in findings["threads"]["advice"]
    _, findings = doctor("-n", 4, before=on_cpus(2))
    assert level(findings, "threads") == "note"


def test_cpus_that_are_not_there(doctor):
    status, findings = doctor("-c", "0-8191", "-n", 3)
    assert (status, level(findings, "cpus_given")) == (1, "problem")
    assert level(findings, "cpu_count") is None and level(findings, "threads") is None


# --- who we are ----------------------------------------------------------------------

@pytest.mark.needs_root
@pytest.mark.needs_cpus(2)
def test_ordinary_user(jugglectl, unprivileged):
    copy = shutil.copy(jugglectl, unprivileged.dir / "jugglectl")
    os.chmod(copy, 0o755)
    done = unprivileged.run([copy, "doctor", "--json"], env=environment())
    findings = {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert (done.returncode, done.stderr) == (0, "")
    assert level(findings, "samplers") == "good"
    assert level(findings, "sampler_taskstats") == "note"
    assert "uid %d" % unprivileged.uid in findings["privileges"]["text"]
    # juggle can't move sudo and the like.
    program = shutil.copy(shutil.which("true"), unprivileged.dir / "set-uid")
    os.chmod(program, 0o4755)
    done = unprivileged.run([copy, "doctor", "--json", "--", program], env=environment())
    findings = {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert (done.returncode, level(findings, "command_privileges")) == (1, "problem")
    # A process that runs as yet another user keeps its real user ID, so its user may move it.
    os.chown(program, unprivileged.uid - 1, -1)
    os.chmod(program, 0o4755)
    done = unprivileged.run([copy, "doctor", "--json", "--", program], env=environment())
    findings = {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert (done.returncode, level(findings, "command_privileges")) == (0, None)


@pytest.mark.parametrize("limits, expected", [("64:64", "note"), ("64:1024", None)])
def test_open_files(doctor, limits, expected):
    """juggle raises the soft limit by itself."""
    if not shutil.which("prlimit"):
        pytest.skip("prlimit is not installed")
    before = ["prlimit", "--nofile=" + limits]
    if helpers.run([*before, "true"]).returncode != 0:
        pytest.skip("the hard limit is lower here")
    _, findings = doctor(before=before)
    assert level(findings, "open_files") == expected


@pytest.mark.needs_root
def test_proc_of_another_namespace(doctor):
    unshare = ["unshare", "--pid", "--fork"]
    if not shutil.which("unshare") or helpers.run([*unshare, "true"]).returncode != 0:
        pytest.skip("unshare cannot make a PID namespace here")
    status, findings = doctor(before=unshare)
    assert (status, level(findings, "proc")) == (1, "problem")
    status, findings = doctor(before=[*unshare, "--mount-proc"])
    assert (level(findings, "proc"), level(findings, "container")) == (None, "note")


# --- command and environment ---------------------------------------------------------

def test_command_is_looked_up(doctor, tmp_path):
    status, findings = doctor("--", "no-such-command-anywhere")
    assert (status, level(findings, "command")) == (1, "problem")
    (tmp_path / "data").write_text("no program")
    status, findings = doctor("--", tmp_path / "data")
    assert status == 1 and "126" in findings["command"]["advice"]
    status, findings = doctor("--", tmp_path)
    assert status == 1
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\ntouch '%s/run'\n" % tmp_path)
    script.chmod(0o755)
    _, findings = doctor("--", "script", PATH="/nonexistent:%s" % tmp_path)
    assert (level(findings, "command"), level(findings, "command_kind")) == ("good", "note")
    assert not (tmp_path / "run").exists(), "the command was run"


@pytest.mark.parametrize("command", ["/nonexistent", "/", "/etc/passwd", "/etc/passwd/x", "no-such-command"])
def test_status_is_that_of_juggle(doctor, run_juggle, command):
    _, findings = doctor("--", command)
    status = re.search(r"with status (\d+)\.", findings["command"]["advice"]).group(1)
    assert run_juggle("--", command).returncode == int(status)


def test_openmp(doctor, app):
    program = app("ubench-omp")
    _, findings = doctor("--", program, "-n", "3")
    assert level(findings, "omp_threads") == "note"  # not set
    assert level(findings, "omp_binding") is None
    count = 2 * len(helpers.cpus()) + 1
    _, findings = doctor("--", program, OMP_NUM_THREADS=str(count), OMP_PROC_BIND="true")
    assert level(findings, "omp_binding") == "warning"
    if len(helpers.cpus()) > 1:
        assert level(findings, "omp_threads") == "good"


@pytest.mark.needs_cpus(2)
def test_verdict_counts_warnings(run_jugglectl):
    done = run_jugglectl("doctor", "--json", env=environment(OMP_PROC_BIND="close"))
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "hindered")


def test_mpi(doctor, app):
    program = app("ubench-mpi")
    launcher = shutil.which("mpirun.openmpi")
    if not launcher:
        pytest.skip("Open MPI is not installed")
    count = 2 * os.cpu_count() + 1
    _, findings = doctor("--", launcher, "-n", count, program)
    assert level(findings, "mpi_slots") == "problem"
    assert level(findings, "launched_program") == "good"
    assert "libmpi" in findings["command_kind"]["text"]
    _, findings = doctor("--", launcher, "--oversubscribe", "--bind-to", "none", "-n", count, program)
    assert level(findings, "mpi_slots") is None
    assert level(findings, "mpi_binding") == "good"
    _, findings = doctor("--", launcher, "-n", 2, program)
    assert level(findings, "mpi_binding") == "warning"
    status, findings = doctor("--", launcher, "-n", 2, "/nonexistent")
    assert (status, level(findings, "launched_program")) == (1, "problem")


# What doctor says about Open MPI holds for the installed one: where its ranks may run.
@pytest.mark.needs_cpus(2)
@pytest.mark.parametrize("options, bound", [
    (["-n", "2"], True), (["--bind-to", "none", "-n", "2"], False),
    (["--oversubscribe", "-n", str(2 * os.cpu_count() + 1)], False)])
def test_binding_of_open_mpi(doctor, options, bound):
    launcher = shutil.which("mpirun.openmpi")
    if not launcher:
        pytest.skip("Open MPI is not installed")
    command = [launcher, *options, "grep", "Cpus_allowed_list", "/proc/self/status"]
    variables = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    _, findings = doctor("--", *command, **variables)
    assert (level(findings, "mpi_binding") == "warning") == bound
    done = helpers.run(command, env=environment(**variables))
    if done.returncode != 0:
        pytest.skip("mpirun does not work here: " + done.stderr[:200])
    for line in done.stdout.splitlines():
        allowed = helpers.parse_cpu_list(line.split()[1])
        assert (set(allowed) != set(helpers.cpus())) == bound
