# SPDX-License-Identifier: MIT
"""The workloads as their users see them: options, JSON, signals.

Nothing here asserts how fast anything is: the machine may be small, shared or slow. A share of CPU
time is only checked against bounds that a starved machine also meets.
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

import pytest

import helpers
import mpi

pytestmark = pytest.mark.beside

RATE = "1000"  # steps per ms: far below any CPU's, so that phases are short
PATIENCE_S = 60  # a test that takes longer hangs

UBENCH_KEYS = {
    "program", "version", "threads", "cpus", "phase_s", "phases", "barrier", "pin",
    "imbalance_pct", "speeds", "rate_steps_per_ms", "memory_bytes", "elapsed_s", "phase_times_s",
    "phase_median_s", "ideal_s", "checksum",
}


def run(name, *args, env=None, **kwargs):
    return subprocess.run(
        [helpers.app_or_skip(name), *args], capture_output=True, text=True, timeout=PATIENCE_S,
        env={**os.environ, **(env or {})}, **kwargs)


def result(name, *args, **kwargs):
    done = run(name, *args, **kwargs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def mpirun():
    path = shutil.which("mpirun")
    if not path:
        pytest.skip("no mpirun")
    command = [path]
    version = subprocess.run([path, "--version"], capture_output=True, text=True)
    if "Open MPI" in version.stdout or "Open MPI" in version.stderr:
        command.append("--oversubscribe")
    environment = {**os.environ, **mpi.environment("openmpi")}

    def start(ranks, *args, program="ubench-mpi"):
        return subprocess.run(
            [*command, "-n", str(ranks), helpers.app_or_skip(program), *args],
            capture_output=True, text=True, timeout=PATIENCE_S, env=environment)

    return start


# ---- options

@pytest.mark.parametrize("args", [
    ["-t", "0"], ["-t", "-1"], ["-t", "4097"], ["-t", "99999999999999999999"], ["-t", "2x"],
    ["-e", "20"], ["-e", "0s"], ["-e", "-1ms"], ["-e", "2h"], ["-e", "3601s"], ["-e", ""],
    ["-e", "nan"], ["-p", "0"], ["-p", "1e3"], ["-p", "1000000001"],
    ["-b", "sleep"], ["-b", "omp"], ["-b", "mpi"], ["-b", ""],
    ["-m", "-1"], ["-m", "5T"], ["-m", "3X"], ["-m", "4T"],
    ["--rate", "0"], ["--rate", "-5"], ["--rate", "1000000001"],
    ["--imbalance", "-1"], ["--imbalance", "10001"], ["--imbalance", "5%"],
    ["--speeds", ""], ["--speeds", "0"], ["--speeds", "1,"], ["--speeds", "-1"], ["--speeds", "101"],
    ["--speeds", "0x1"], ["--speeds", "8193x1"], ["--speeds", "1,fast"],
    ["surplus"],
])
def test_ubench_refuses(args):
    done = run("ubench", *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("ubench: ")


@pytest.mark.parametrize("args", [
    ["--pattern", "rain"], ["--busy", "5"], ["--busy", "20ms", "--period", "10ms"],
    ["--period", "0s"], ["--scale", "0"], ["--scale", "-1"], ["--scale", "1001"],
    ["--seed", "-1"], ["--cpu", ""], ["--cpu", "1-"], ["--cpu", "3-1"], ["--cpu", "9000"],
    ["-n", "0"], ["-n", "4097"], ["--nice", "20"], ["--nice", "x"], ["--nice", ""],
    ["--nice", ","], ["--nice", "1," * 300], ["--time", "5"], ["surplus"],
    ["--ranks", "x", "true"], ["--ranks", "", "true"], ["--ranks", "0-8192", "true"],
    ["--ranks", "0"], ["--ranks", "0", "--"], ["--", "true"], ["true", "--ranks", "0"],
    ["--ranks", "0", "--json", "-", "--", "true"], ["--ranks", "0", "--with-parent", "true"],
    ["--ranks", "0", "--nice-command", "20", "true"], ["--ranks", "0", "--nice-command", "", "true"],
])
def test_noise_refuses(args):
    done = run("noise", *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("noise: ")


@pytest.mark.parametrize("name", ["ubench", "ubench-omp", "ubench-mpi", "noise"])
def test_help_and_version(name):
    done = run(name, "--help")
    assert done.returncode == 0
    assert "Exit status" in done.stdout and "--json" in done.stdout
    done = run(name, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith(name)


@pytest.mark.parametrize("name", ["ubench", "noise"])
def test_unknown_option(name):
    done = run(name, "--no-such-option")
    assert done.returncode == 2
    assert "no-such-option" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("args", [
    ["ubench", "-t1", "-p1", "-e1ms", "--rate", RATE], ["noise", "--time", "10ms"]])
def test_result_that_cannot_be_written(args):
    done = run(*args, "--json", "/dev/full")
    assert done.returncode == 1
    assert "/dev/full" in done.stderr


# ---- ubench

@pytest.mark.parametrize("barrier", ["block", "yield", "spin"])
def test_ubench_result(barrier):
    found = result("ubench", "-t", "3", "-e", "2ms", "-p", "7", "-b", barrier, "--rate", RATE)
    assert UBENCH_KEYS <= set(found)
    assert found["program"] == "ubench"
    assert (found["threads"], found["phases"], found["barrier"]) == (3, 7, barrier)
    assert found["phase_s"] == 0.002
    assert found["rate_steps_per_ms"] == int(RATE)
    assert len(found["phase_times_s"]) == 7
    assert all(phase > 0 for phase in found["phase_times_s"])
    assert found["phase_median_s"] == sorted(found["phase_times_s"])[3]
    # Thread 0's phases take no longer than the span over all threads.
    assert sum(found["phase_times_s"]) <= found["elapsed_s"] + 1e-6
    assert found["cpus"] == len(os.sched_getaffinity(0))
    assert found["ideal_s"] == pytest.approx(0.002 * 7 * max(1, 3 / found["cpus"]))


def test_ubench_checksum_depends_on_the_work_alone():
    def checksum(*args):
        return result("ubench", "-e", "2ms", "--rate", RATE, *args)["checksum"]

    first = checksum("-t", "3", "-p", "4")
    assert checksum("-t", "3", "-p", "4", "-b", "yield", "--pin") == first
    assert checksum("-t", "3", "-p", "5") != first
    assert checksum("-t", "2", "-p", "4") != first
    assert checksum("-t", "3", "-p", "4", "--imbalance", "50") != first
    memory = checksum("-t", "3", "-p", "4", "-m", "10000")
    assert memory != first
    assert checksum("-t", "3", "-p", "4", "-m", "10000") == memory


def test_ubench_imbalance_is_in_the_ideal():
    found = result("ubench", "-t", "1", "-e", "1ms", "-p", "2", "--rate", RATE,
                   "--imbalance", "25")
    assert found["ideal_s"] == pytest.approx(0.0025)


@pytest.mark.needs_cpus(2)
@pytest.mark.parametrize("args, threads, speeds, phases", [
    # Threads take turns: all work over the speeds that can be used at a time.
    (["-t", "2"], 2, [1, 0.5], 2 / 1.5),
    (["-t", "3"], 3, [0.5, 1], 3 / 1.5),
    (["-t", "1"], 1, [0.5, 1], 1),
    # As fast as the fastest CPU lets the thread with the most work be.
    (["-t", "2", "--imbalance", "150"], 2, [1, 0.25], 3.5 / 1.25),
    (["-t", "2", "--imbalance", "50"], 2, [1, 1], 1.5),
])
def test_ubench_speeds_are_in_the_ideal(args, threads, speeds, phases):
    found = result("ubench", "-e", "1ms", "-p", "2", "--rate", RATE, *args,
                   "--speeds", ",".join(f"{2 * speed:g}" for speed in speeds),
                   preexec_fn=lambda: os.sched_setaffinity(0, helpers.cpus()[:2]))
    assert (found["threads"], found["cpus"], found["speeds"]) == (threads, 2, speeds)
    assert found["ideal_s"] == pytest.approx(2 * phases * 0.001)


def all_speeds(*first):
    """A list of speeds for all CPUs of this process, of which the last is repeated."""
    count = len(os.sched_getaffinity(0))
    return ",".join(map(str, (list(first) + [first[-1]] * count)[:count]))


@pytest.mark.parametrize("name", ["ubench", "ubench-omp"])
def test_ubench_does_the_same_work_at_any_speed(name):
    args = ["-t", "3", "-e", "3ms", "-p", "4", "--rate", "1003", "-m", "1000"]
    equal = result(name, *args)
    assert equal["speeds"] is None
    for speeds in (all_speeds(1, 0.3), all_speeds(0.1, 1), all_speeds(7)):
        assert result(name, *args, "--speeds", speeds)["checksum"] == equal["checksum"]


@pytest.mark.needs_cpus(2)
def test_ubench_slow_cpu_takes_more_time():
    """Twenty times the CPU time for the same work; a machine that is busy can't hide that."""
    def cpu_s(cpu):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        result("ubench", "-t", "2", "-e", "10ms", "-p", "2", "--rate", "100000", "--imbalance", "1000", "--pin",
               "--speeds", "0.05,1" if cpu == 0 else "1,0.05",
               preexec_fn=lambda: os.sched_setaffinity(0, helpers.cpus()[:2]))
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    # Thread 0 has nearly all the work, on the first CPU.
    assert cpu_s(0) > 3 * cpu_s(1)


@pytest.mark.parametrize("args", [[], ["--calibrate"]])
def test_ubench_needs_a_speed_for_each_cpu(args):
    cpu = min(os.sched_getaffinity(0))
    done = run("ubench", "--speeds", "1,2x0.55", *args,
               preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ubench: --speeds: speeds given: 3, CPUs in the affinity mask: 1\n"


def test_ubench_uses_the_mask():
    cpu = min(os.sched_getaffinity(0))
    found = result("ubench", "-e", "1ms", "-p", "2", "--rate", RATE, "--pin",
                   preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    assert (found["threads"], found["cpus"]) == (1, 1)


def test_ubench_pins(background):
    cpus = sorted(os.sched_getaffinity(0))
    process = background(
        [helpers.app("ubench"), "-t", "3", "-e", "1s", "-p", "1000", "--pin", "--rate", "100000"],
        stdout=subprocess.DEVNULL)
    wanted = sorted(cpus[i % len(cpus)] for i in range(3))
    helpers.wait_for(
        lambda: sorted(min(mask) for mask in helpers.masks(process.pid).values()
                       if len(mask) == 1) == wanted, f"threads are pinned to {wanted}", process)


def test_ubench_keeps_a_bounded_number_of_phase_times():
    found = result("ubench", "-t", "1", "-e", "1us", "-p", "10005", "--rate", RATE)
    assert found["phases"] == 10005
    assert len(found["phase_times_s"]) == 10000


def test_ubench_calibrates(tmp_path):
    found = result("ubench", "--calibrate")
    assert found["rate_steps_per_ms"] > 0
    assert found["memory_bytes"] == 0
    path = tmp_path / "result.json"
    done = run("ubench", "-t", "1", "-e", "1ms", "-p", "1", "--json", str(path))
    assert done.returncode == 0 and done.stdout == ""
    rate = json.loads(path.read_text())["rate_steps_per_ms"]
    assert f"--rate {rate}" in done.stderr
    done = run("ubench", "-t", "1", "-e", "1ms", "-p", "1", "-q")
    assert done.returncode == 0 and done.stderr == ""


# ---- the other builds

COMMON = ["-e", "2ms", "-p", "5", "--rate", RATE]


@pytest.mark.parametrize("barrier", [None, "omp", "block", "yield", "spin"])
def test_omp_does_the_same_work(barrier):
    args = [*COMMON, "-t", "3"] + (["-b", barrier] if barrier else [])
    found = result("ubench-omp", *args)
    assert UBENCH_KEYS <= set(found)
    assert found["barrier"] == (barrier or "omp")
    assert found["checksum"] == result("ubench", *COMMON, "-t", "3")["checksum"]


def test_omp_environment():
    assert result("ubench-omp", *COMMON, env={"OMP_NUM_THREADS": "2"})["threads"] == 2
    bound = {"OMP_PROC_BIND": "true"}
    assert result("ubench-omp", *COMMON, env=bound)["cpus"] == len(os.sched_getaffinity(0))
    for args in (["--pin"], ["--speeds", all_speeds(1)]):
        done = run("ubench-omp", *args, env=bound)
        assert done.returncode == 2
        assert done.stderr == f"ubench-omp: {args[0]}: OMP_PROC_BIND already binds the threads\n"
    done = run("ubench-omp", *COMMON, "-t", "3", env={
        "OMP_THREAD_LIMIT": "2",
        # It ends while threads run, and leaves their memory to the kernel.
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"})
    assert done.returncode == 1
    assert done.stderr.count("ubench-omp: ") == 1  # LLVM's runtime adds its own lines


def test_mpi_does_the_same_work(mpirun):
    done = mpirun(3, *COMMON)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert UBENCH_KEYS <= set(found)
    assert (found["threads"], found["barrier"], found["program"]) == (3, "mpi", "ubench-mpi")
    assert len(found["phase_times_s"]) == 5
    assert found["checksum"] == result("ubench", *COMMON, "-t", "3")["checksum"]
    speeds = ",".join(["1"] + ["0.5"] * (found["cpus"] - 1))  # mpirun may bind ranks
    done = mpirun(3, *COMMON, "--speeds", speeds)
    assert done.returncode == 0, done.stderr
    slowed = json.loads(done.stdout)
    assert slowed["speeds"] == [1] + [0.5] * (found["cpus"] - 1)
    assert slowed["checksum"] == found["checksum"]


def test_mpi_says_an_error_once(mpirun):
    for args in (["-t", "3"], ["-b", "spin"], ["--speeds", "8192x1"]):
        done = mpirun(2, *args)
        assert done.returncode == 2
        assert done.stderr.count("ubench-mpi: ") == 1
        assert done.stdout == ""


# ---- noise

@pytest.mark.parametrize("args, most", [
    # 46 of 246 us is 0.187, however fast the CPU and late the timers, and what it costs to wake and to sleep: up to
    # 6 us were seen. Less where others want the CPU.
    (["--pattern", "plb"], 0.24),
    (["--pattern", "duty", "--busy", "2ms", "--period", "20ms"], 0.2),
    (["--pattern", "hogs", "--scale", "0.01"], 1.01),
])
def test_noise_share(args, most):
    found = result("noise", *args, "--time", "300ms")
    assert found["pattern"] == args[1]
    assert found["elapsed_s"] >= 0.3
    assert found["cpu_s"] == pytest.approx(found["share"] * found["elapsed_s"], rel=1e-3)
    assert 0 < found["share"] < most
    assert len(found["hogs"]) == 1
    assert found["hogs"][0]["cpu"] is None


def test_noise_busy_all_the_time():
    found = result("noise", "--pattern", "duty", "--busy", "5ms", "--period", "5ms",
                   "--time", "500ms")
    assert 0 < found["share"] < 1.01


def test_noise_on_cpus():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    found = result("noise", "--cpu", ",".join(map(str, cpus)), "--nice", "1,2", "--time",
                   "100ms")
    assert [hog["cpu"] for hog in found["hogs"]] == cpus
    assert [hog["nice"] for hog in found["hogs"]] == [1, 2][:len(cpus)]
    found = result("noise", "--cpu", str(cpus[0]), "-n", "3", "--nice", "5", "--time", "50ms")
    assert [(hog["cpu"], hog["nice"]) for hog in found["hogs"]] == [(cpus[0], 5)] * 3


def test_noise_on_a_cpu_that_is_not_there():
    done = run("noise", "--cpu", "8191", "--time", "50ms")
    assert done.returncode == 1
    assert done.stderr == "noise: CPU 8191: not there, or not allowed\n"


def test_noise_nice_not_permitted():
    if os.geteuid() == 0:
        done = run("noise", "--nice", "-3", "--time", "50ms", user=65534, group=65534)
    else:
        done = run("noise", "--nice", "-3", "--time", "50ms")
    if done.returncode == 0:
        pytest.skip("this user may lower nice values")
    assert done.returncode == 1
    assert done.stderr.startswith("noise: --nice -3: not permitted")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("pattern", ["plb", "duty", "hogs"])
def test_noise_ends_on_signals(background, number, pattern):
    # Long times: only waking a sleeping hog can end it soon.
    process = background(
        [helpers.app("noise"), "--pattern", pattern, "--busy", "1ms", "--period", "100s", "--scale",
         "1000", "-n", "3"], stdout=subprocess.PIPE)

    def all_sleep():
        tids = helpers.threads(process.pid)
        return len(tids) == 4 and all(
            helpers.status(process.pid, tid)["State"][0] == "S" for tid in tids)
    helpers.wait_for(all_sleep, "all hogs sleep", process)
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE_S / 2)
    assert process.returncode == 0
    assert json.loads(output)["pattern"] == pattern


def test_noise_ends_with_its_parent(background, tmp_path):
    path = tmp_path / "noise.json"
    parent = background(
        [sys.executable, "-c",
         "import subprocess, sys, time\n"
         "print(subprocess.Popen(sys.argv[1:]).pid, flush=True)\n"
         "time.sleep(1000)",
         helpers.app("noise"), "--with-parent", "--time", "90s", "--json", str(path)],
        stdout=subprocess.PIPE)
    noise = int(parent.stdout.readline())
    helpers.wait_for(lambda: len(helpers.threads(noise)) == 2, "its hog has started", noise)
    parent.kill()
    parent.wait()
    # It is not our child, so its pid may be reused: its last output is the proof.
    helpers.wait_for(lambda: path.read_text().endswith("}\n"), "it has written its result")
    assert json.loads(path.read_text())["program"] == "noise"


# ---- noise beside ranks

RANK_NAMES = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"]


def rank_environment(name, rank):
    return {**{k: v for k, v in os.environ.items() if k not in RANK_NAMES}, name: rank}


def hogs_with(word):
    """Processes of noise that were started with that argument."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if os.readlink(process / "exe") == os.path.realpath(helpers.app("noise")) and \
                    word.encode() in words:
                found.append(process)
        except OSError:  # it has ended
            pass
    return found


def wait_until_none_with(word):
    helpers.wait_for(lambda: not hogs_with(word), "the hogs have ended")


@pytest.fixture
def rank_command(tmp_path):
    """Start `cat` by noise as rank 3. Returns the process, once it is cat, and a word to find its
    hogs by."""
    started = []

    def start(*args):
        word = str(tmp_path / "word")
        process = subprocess.Popen(
            [helpers.app("noise"), *args, "sh", "-c", "nice; exec cat", word],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=rank_environment("PMI_RANK", "3"))
        started.append(process)
        process.nice = process.stdout.readline()
        return process, word

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_noise_beside_a_rank(rank_command, end):
    process, word = rank_command("--ranks", "1,3", "--pattern", "duty")
    assert process.nice == "19\n"
    hog, = hogs_with(word)
    stat = (hog / "stat").read_text().rpartition(")")[2].split()
    # It shares neither parent nor group with the command, but the session, within which nice values
    # count.
    assert int(stat[1]) != process.pid
    assert int(stat[2]) != os.getpgid(process.pid)
    assert int(stat[3]) == os.getsid(process.pid)
    assert int(stat[16]) == os.getpriority(os.PRIO_PROCESS, 0)
    files = sorted(os.readlink(fd) for fd in (hog / "fd").iterdir())
    assert files[:3] == ["/dev/null"] * 3
    assert len(files) == 4 and "pidfd" in files[3]
    # Hogs, one on each CPU, besides threads that wait (ThreadSanitizer adds some).
    masks = [os.sched_getaffinity(int(task.name)) for task in (hog / "task").iterdir()
             if task.name != hog.name]
    here = os.sched_getaffinity(0)
    assert sorted(cpu for mask in masks if len(mask) == 1 for cpu in mask) == sorted(here)
    assert all(mask == here for mask in masks if len(mask) > 1)
    if end == "kill":
        process.kill()
    # The streams close although hogs may live for a moment longer.
    assert process.communicate("end", timeout=PATIENCE_S / 2) == (
        "" if end == "kill" else "end", "")
    assert process.returncode == (-signal.SIGKILL if end == "kill" else 0)
    wait_until_none_with(word)


def test_noise_beside_another_rank(rank_command):
    process, word = rank_command("--ranks", "0-2,4-8191", "--nice-command", "19")
    assert process.nice == "19\n"  # in all ranks
    assert hogs_with(word) == []


def test_noise_beside_a_rank_for_some_time(rank_command):
    process, word = rank_command("--ranks", "3", "--time", "10ms", "-n", "2")
    wait_until_none_with(word)
    assert process.poll() is None


@pytest.mark.parametrize("name", RANK_NAMES)
@pytest.mark.parametrize("rank", ["0", "1"])
def test_noise_leaves_the_exit_status(name, rank):
    for script, status in [("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM)]:
        done = subprocess.run(
            [helpers.app("noise"), "--ranks", "1", "--", "sh", "-c", script], capture_output=True,
            env=rank_environment(name, rank), timeout=PATIENCE_S)
        assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


@pytest.mark.parametrize("options, command, status, message", [
    ([], "/nonexistent/command", 127, "/nonexistent/command: No such file or directory"),
    ([], "/", 126, "/: Permission denied"),
    (["--cpu", "8191"], "true", 1, "CPU 8191: not there, or not allowed"),
])
def test_noise_command_that_cannot_be_run(options, command, status, message):
    done = subprocess.run(
        [helpers.app("noise"), "--ranks", "0", *options, command], capture_output=True, text=True,
        env={**rank_environment("PMI_RANK", "0"), "LC_ALL": "C"}, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == f"noise: {message}\n"


def test_noise_without_a_rank():
    environment = rank_environment("PMI_RANK", "x")
    done = subprocess.run([helpers.app("noise"), "--ranks", "0", "echo"], capture_output=True,
                          text=True, env=environment, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("noise: --ranks: ")


def test_noise_of_the_nearest_launcher():
    """MPICH's mpirun may itself have been started by srun as its rank 0."""
    environment = {**rank_environment("PMIX_RANK", "0"), "PMI_RANK": "1", "SLURM_PROCID": "0"}
    done = subprocess.run(
        [helpers.app("noise"), "--ranks", "0", "--nice-command", "0", "--cpu", "8191", "true"],
        capture_output=True, text=True, env=environment, timeout=PATIENCE_S)
    # Otherwise hogs would have been started, which is impossible there.
    assert (done.returncode, done.stderr) == (0, "")


def test_noise_below_mpirun(mpirun):
    done = mpirun(2, "--ranks", "1", "--pattern", "duty", "nice", program="noise")
    assert (done.returncode, done.stdout) == (0, "19\n19\n"), done.stderr
