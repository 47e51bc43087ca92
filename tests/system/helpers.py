# SPDX-License-Identifier: MIT
"""Helpers of the system tests: paths, running juggle, reading /proc, waiting.

Nothing here sleeps to let something happen: wait_for() polls a condition until a deadline, and
every wait has one.
"""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tools" / "python"))
import juggle  # noqa: E402

read_report = juggle.read_report
BUILD = Path(os.environ.get("JUGGLE_BUILD", REPO / "build")).resolve()
NOBODY = 65534
# A sanitized program is several times slower; deadlines only bound a failure.
SANITIZER = os.environ.get("JUGGLE_SANITIZER", "")
TIMEOUT_S = 60 if SANITIZER else 30
ADDED_THREADS = 1 if SANITIZER == "thread" else 0


def built(path, build=BUILD):
    """A program's path, from its path in the build folder; fails when it was not built."""
    path = Path(build) / path
    assert os.access(path, os.X_OK), "not built: %s" % path
    return str(path)


def app(name, build=BUILD):
    """The path of one of the workloads: ubench, ubench-omp, ubench-mpi, noise, nas-ep, nas-cg, nas-mg."""
    return built(Path("apps") / name, build)


def app_or_skip(name):
    """The same; skips the test if the build has no OpenMP or MPI."""
    if name.startswith(("ubench-", "nas-")) and not (BUILD / "apps" / name).exists():
        pytest.skip("%s is not in this build (no OpenMP or MPI)" % name)
    return app(name)


def juggle_path(build=BUILD):
    return built("daemon/juggle", build)


def cpus():
    """The CPUs that this process may use, ascending."""
    return sorted(os.sched_getaffinity(0))


def wait_for(condition, what, process=None, timeout_s=TIMEOUT_S, interval_s=0.005):
    """Returns the first true value of condition(); fails with `what` at the deadline.

    `process` (a Popen, or a pid) has to live until then: if it ends, this fails at once. A process
    or thread that vanishes while condition() looks at it is not an error: the condition is tried
    again.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        end = end_of(process)
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            value = condition()
            if value:
                return value
        if end:
            raise AssertionError("%s before this: %s" % (end, what))
        if time.monotonic() > deadline:
            raise AssertionError("not within %g s: %s" % (timeout_s, what))
        time.sleep(interval_s)


def end_of(process):
    """How a process (a Popen, or a pid) ended, for a message; None while it lives."""
    if process is None or isinstance(process, int):
        return None if process is None or alive(process) else "process %d has ended" % process
    if process.poll() is None:
        return None
    return "%s\nhas ended with status %d%s" % (
        " ".join(map(str, process.args)), process.returncode, last_words(process))


def last_words(process):
    """The standard error that a process of start() wrote to a file, or left in a pipe.

    Others may hold the pipe open, so this does not wait for its end.
    """
    said = b""
    path = getattr(process, "stderr_path", None)
    if path:
        said = Path(path).read_bytes()
    elif process.stderr:
        os.set_blocking(process.stderr.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while part := os.read(process.stderr.fileno(), 65536):
                said += part
    return ", and said:\n" + said.decode(errors="replace") if said else ""


# --- /proc ---------------------------------------------------------------------------

def parse_cpu_list(text):
    """The set of CPUs in Linux's list format: "0-2,5"."""
    found = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def status(pid, tid=None):
    """/proc/PID/task/TID/status as a dictionary."""
    path = "/proc/%d/task/%d/status" % (pid, tid or pid)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except ProcessLookupError:
        raise
    except FileNotFoundError as error:
        raise ProcessLookupError(path) from error


def threads(pid):
    """The thread ids of a process, in the order of their births; empty when it is gone.

    Leaves out the thread that ThreadSanitizer adds to our programs, right after the first.
    """
    try:
        # After the highest pid, the kernel begins again with low ones.
        tids = sorted(map(int, os.listdir("/proc/%d/task" % pid)), key=lambda tid: (tid < pid, tid))
        if ADDED_THREADS and os.readlink("/proc/%d/exe" % pid).startswith(str(BUILD)):
            del tids[1:1 + ADDED_THREADS]
        return tids
    except (FileNotFoundError, ProcessLookupError):
        return []


def mask(tid, pid=None):
    """The CPUs that a thread may use."""
    return parse_cpu_list(status(pid or tid, tid)["Cpus_allowed_list"])


def masks(pid):
    """{tid: set of CPUs} for a process's threads; threads that end meanwhile are left out."""
    found = {}
    for tid in threads(pid):
        with contextlib.suppress(ProcessLookupError):
            found[tid] = mask(tid, pid)
    return found


def children(pid):
    """The processes whose parent is pid, ascending."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(ProcessLookupError, KeyError):
            if int(status(int(name))["PPid"]) == pid:
                found.append(int(name))
    return sorted(found)


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child] + descendants(child)
    return found


def descriptors(pid):
    """What a process has open, by descriptor: {number: link}. Not files of /proc, which juggle opens at any time."""
    found = {}
    for number in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(FileNotFoundError):
            link = os.readlink("/proc/%d/fd/%s" % (pid, number))
            if not link.startswith("/proc/"):
                found[number] = link
    return found


def alive(pid):
    """True while a process has a thread that is not a zombie."""
    try:
        found = status(pid)
        return found["State"][0] not in "ZX" or int(found["Threads"]) > 1
    except ProcessLookupError:
        return False


def kill_at_once(members, until_gone=True):
    """None of them may clean up after another: all are stopped before the first is killed, also those that were
    started meanwhile. members() are their pids. Children are killed first: where a parent in another process group
    dies, the kernel may continue a group that is left without one.

    Each of their threads has to run once more to end. Where a session has hardly anything else on a CPU, autogroups
    let it wait there for minutes (sched(7)), if other sessions' threads yield."""
    pids = []
    while more := [pid for pid in members() if pid not in pids]:
        for pid in more:
            os.kill(pid, signal.SIGSTOP)
        pids += more
        wait_for(lambda: all(status(pid)["State"][0] in "TZ" for pid in pids), "all have stopped")
    parents = {pid: int(status(pid)["PPid"]) for pid in pids}
    while parents:
        pid = next(pid for pid in parents if pid not in parents.values())
        os.kill(pid, signal.SIGKILL)
        del parents[pid]
    if until_gone:
        wait_for(lambda: not any(alive(pid) for pid in pids), "they are gone", timeout_s=4 * TIMEOUT_S)


# --- running -------------------------------------------------------------------------

PLANT = """
import os, sys
uid, owner, count = map(int, sys.argv[1:4])
pid = os.getpid()
for i in range(count):
    for kind in ("juggle", "progress"):
        path = "/dev/shm/%s.%d.%d" % (kind, uid, pid + i)
        if i % 3 == 1:
            os.mkdir(path)
        else:
            with open(path, "wb") as file:
                file.write(b"x" * (i % 5000))
        os.chown(path, owner, owner)
os.execvp(sys.argv[4], sys.argv[4:])
"""


def planted(command, uid, owner, count):
    """The command, after its names in /dev/shm as `uid`, and those of the next processes, were taken by
    `owner`: empty, too short, or a folder. Only for root."""
    return [sys.executable, "-c", PLANT, str(uid), str(owner), str(count), *map(str, command)]


def as_user(command, uid=NOBODY):
    """The command line that runs a command as an unprivileged user without groups."""
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups",
            "--"] + [str(part) for part in command]


def own_mounts(script):
    """The start of a command line: the command comes after a shell script that mounts something for it alone. Skips
    the test where that can't be done."""
    start = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", script + ' && exec "$@"', "sh"]
    if not shutil.which("unshare") or run([*start, "true"]).returncode != 0:
        pytest.skip("no mount namespace, or this mount is forbidden: " + script)
    return start


class StillRunning(AssertionError):
    """A command has not ended in time."""


def run(command, timeout_s=TIMEOUT_S, env=None, **options):
    """Runs a command to its end, and never hangs: the CompletedProcess, with text output.

    `env` is added to the environment. At the timeout the command and everything that it started in
    its session are killed, and the test fails.
    """
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("text", True)
    command = [str(part) for part in command]
    process = subprocess.Popen(command, env=dict(os.environ, **(env or {})),
                               start_new_session=True, **options)
    try:
        out, err = process.communicate(timeout=timeout_s)
    except BaseException as error:
        kill_session(process)
        out, err = process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise StillRunning("still running after %g s: %s\n%s\n%s" % (
                timeout_s, " ".join(command), out, err)) from None
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def start(command, env=None, **options):
    """Starts a command in a session of its own and returns the Popen.

    Use the `background` fixture in tests: it also ends what is left.
    """
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("text", True)
    process = subprocess.Popen([str(part) for part in command],
                               env=dict(os.environ, **(env or {})),
                               start_new_session=True, **options)
    process.stderr_path = getattr(options.get("stderr"), "name", None)
    return process


def session_members(sid):
    """Processes of a session. Field 6 of stat; comm may contain blanks and parentheses."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[3]) == sid and fields[0] not in "ZX":
                found.append(int(name))
    return found


def kill_session(process):
    """Kills all that is left of the session that start() or run() created.

    Then also removes the segments of a juggle or a program with libprogress among them, since
    nobody else can.
    """
    members = session_members(process.pid)
    for pid in members:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in {*members, process.pid}:  # which a test may have killed itself
        for path in [*Path("/dev/shm").glob("juggle.*.%d" % pid),
                     *Path("/dev/shm").glob("progress.*.%d" % pid)]:
            with contextlib.suppress(OSError):
                path.unlink()


def refused(done, status, *words):
    """jugglectl ended with one line on standard error that contains these words, and no other
    output."""
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert done.stderr.startswith("jugglectl ") and done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr


# --- juggle --------------------------------------------------------------------------

BALANCER = "juggle/balance"


def comm(pid):
    """The name of a process; None when it is gone."""
    try:
        return status(pid)["Name"]
    except ProcessLookupError:
        return None


def balancer(juggle_pid):
    """The pid of the balancer process of a running juggle, None while there is none."""
    for child in children(juggle_pid):
        if comm(child) == BALANCER:
            return child
    return None


def job(juggle_pid):
    """The pid of the command of a running juggle, once it has been executed."""
    for child in children(juggle_pid):
        if comm(child) not in (None, BALANCER, "juggle"):
            return child
    return None


def stat(pid):
    """What `jugglectl stat --json` prints of a job; None while it can't."""
    done = run([built("tools/jugglectl"), "stat", pid, "--json"])
    return json.loads(done.stdout) if done.returncode == 0 else None


def wait_for_stat(process, condition, what):
    """The stat of a job that was started (a Popen), once condition() holds for it."""
    def look():
        found = stat(process.pid)
        return found if found and condition(found) else None
    return wait_for(look, what, process, interval_s=0.02)


def looks(balancer_pid, count=50):
    """A condition: the balancer process has woken up that often, and has looked at its job
    meanwhile."""
    def wakeups():
        return sum(int(status(balancer_pid, tid)["voluntary_ctxt_switches"])
                   for tid in threads(balancer_pid))
    before = wakeups()
    return lambda: wakeups() >= before + count


def wait_for_looks(balancer_pid, count=50):
    wait_for(looks(balancer_pid, count), "the balancer has looked", balancer_pid)


def wait_for_progress(pid):
    """Until a process has used some CPU time from now on."""
    def used():
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    before = used()
    wait_for(lambda: used() > before + 5, "process %d runs on" % pid, pid)


def wait_for_job(process):
    """The pid of the command of a juggle that was started (a Popen)."""
    return wait_for(lambda: job(process.pid), "the command has started", process)


def wait_for_telemetry(process):
    """Until jugglectl can find a juggle that was started (a Popen): a little later than its command."""
    wait_for(segment(process.pid).exists, "there is telemetry", process)


def wait_for_balancer(process):
    """The pid of the balancer process of a juggle that was started (a Popen)."""
    return wait_for(lambda: balancer(process.pid), "the balancer has started", process)


def segment(juggle_pid, uid=None):
    """The path of the telemetry segment of a running juggle."""
    uid = os.geteuid() if uid is None else uid
    return Path("/dev/shm/juggle.%d.%d" % (uid, juggle_pid))


def speeds(juggle_pid):
    """({CPU: its speed in thousandths}, where speeds come from), of the telemetry of a running
    juggle."""
    data = segment(juggle_pid).read_bytes()
    header_bytes, = struct.unpack_from("=I", data, 12)
    cpus, = struct.unpack_from("=I", data, 416)
    found = {}
    for at in range(header_bytes, header_bytes + 16 * cpus, 16):
        os_cpu, _, found[os_cpu], _ = struct.unpack_from("=iiII", data, at)
    return found, data[4272:4288].rstrip(b"\0").decode()


def find(root, name):
    """The pid of a process called name below root; None while there is none."""
    for pid in descendants(root):
        if comm(pid) == name:
            return pid
    return None


def wait_for_below(process, name):
    """The pid of a process of that name below one that was started (a Popen)."""
    return wait_for(lambda: find(process.pid, name), name + " has started", process)


ONLY_UBENCH = ["--idle", "auto,comm=sh"]


def held_job(threads=3, status=7, phase="5ms", barrier="yield"):
    """A command that computes until its standard input ends, and then exits with status.

    Its threads are those of the process called ubench below it. Where starting takes the shell long,
    it counts as a compute thread for a moment, unless juggle has the options ONLY_UBENCH.
    """
    script = '"$@" >/dev/null & read line; exec 2>/dev/null; kill $!; wait $!; exit %d' % status
    return ["sh", "-c", script, "sh", app("ubench"), "-q", "-t", str(threads), "-e", phase,
            "-p", "1000000000", "-b", barrier, "--rate", "100000"]


def is_pinned(pid, threads=3):
    """Whether a process has that many threads, each with one CPU."""
    found = masks(pid)
    return len(found) == threads and all(len(mask) == 1 for mask in found.values())


def has_masks(pid, expected, threads=3):
    """Whether a process has that many threads, each with these CPUs."""
    found = masks(pid)
    return len(found) == threads and all(mask == set(expected) for mask in found.values())


def compile_c(folder, source, *flags, compiler="cc"):
    """Compiles a small C program; the path of the executable."""
    path = Path(folder) / "program"
    code = Path(folder) / "program.c"
    code.write_text(source)
    subprocess.run([compiler, "-O1", "-o", path, code, *flags], check=True,
                   timeout=TIMEOUT_S * 3)
    return path


@contextlib.contextmanager
def cgroup(controller):
    """A new group of a control-group controller, version 1; it is empty afterwards."""
    root = Path("/sys/fs/cgroup") / controller
    try:
        if not (root / "tasks").exists():
            raise FileNotFoundError(root / "tasks")
        folder = Path(tempfile.mkdtemp(prefix="juggle-test.", dir=root))
    except OSError as error:
        pytest.skip("no control groups (version 1, %s): %s" % (controller, error))
    try:
        yield folder
    finally:
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (root / "cgroup.procs").write_text(pid)
        wait_for(lambda: not (folder / "tasks").read_text(), "the group is empty")
        folder.rmdir()
