# SPDX-License-Identifier: MIT
"""juggle as the host of progressive load balancing: it finds the segments of the job's processes,
moves their subdomains, and leaves them in good order, whatever their content."""
import contextlib
import os
import random
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

import helpers
import traces
from juggle import read_trace
from test_manuals import keys_of_page

NONE, SPLIT = 1, 3  # enum progress_balancing

# struct segment_header, up to the state; then claim, beat_ns, points, moves
HEADER = struct.Struct("=QIIQIIIIIiQIIIIIIQI")
BALANCER = struct.Struct("=QQQQ")
BALANCER_AT, HEADER_BYTES, WORKER_BYTES, SUBDOMAIN_BYTES = 128, 256, 128, 64
MAGIC = int.from_bytes(b"PROGRESS", "little")
NOBODY = 0xffffffff


def progress_job(workers=3, subdomains=12, slow=0, kind="sleep", balancing=SPLIT, status=0):
    return [helpers.built("tests/system/progress-job"), workers, subdomains, slow, kind, balancing,
            status]


def path_of(pid):
    return Path("/dev/shm/progress.%d.%d" % (os.geteuid(), pid))


def balancer_of(pid):
    """(who balances, points, moves) from the segment of a process; None without one."""
    try:
        data = path_of(pid).read_bytes()[:HEADER_BYTES]
    except FileNotFoundError:
        return None
    if len(data) < HEADER_BYTES:
        return None
    claim, _, points, moves = BALANCER.unpack_from(data, BALANCER_AT)
    return claim & 0xFFFFFFFF, points, moves


def held_by(pid, worker):
    """How many subdomains a worker holds."""
    data = path_of(pid).read_bytes()
    workers, subdomains = struct.unpack_from("=II", data, 24)
    begin = HEADER_BYTES + workers * WORKER_BYTES
    return sum(struct.unpack_from("=I", data, begin + s * SUBDOMAIN_BYTES + 4)[0] == worker
               for s in range(subdomains))


def worker_tids(pid, count):
    """The threads of all workers; empty while one is missing."""
    data = path_of(pid).read_bytes()
    tids = [struct.unpack_from("=I", data, HEADER_BYTES + w * WORKER_BYTES + 64)[0]
            for w in range(count)]
    return tids if all(tids) else []


class Held:
    """A juggle with a job that ends with its standard input; the job's pid and segment."""

    def __init__(self, background, tmp_path, juggle, command, *options):
        self.report_path = tmp_path / "report.json"
        self.stderr = tmp_path / "stderr"
        with open(self.stderr, "wb") as stderr:
            self.juggle = background(
                [juggle, "--report", self.report_path, *options, "--", *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        self.job = helpers.wait_for_job(self.juggle)
        self.balancer = helpers.wait_for_balancer(self.juggle)

    def wait_for(self, condition, what):
        return helpers.wait_for(condition, what, self.juggle)

    def who(self):
        found = balancer_of(self.job)
        return found and found[0]

    def claimed(self):
        self.wait_for(lambda: self.who() == self.balancer, "juggle has the claim")

    def points(self):
        return balancer_of(self.job)[1]

    def more_points(self, count=20):
        before = self.points()
        self.wait_for(lambda: self.points() >= before + count, "somebody balances")

    def end(self, status=0):
        """Ends the job: its output, juggle's messages and the report."""
        out, _ = self.juggle.communicate(timeout=helpers.TIMEOUT_S)
        err = self.stderr.read_text("utf-8")
        assert self.juggle.returncode == status, err
        return out, err, helpers.read_report(self.report_path)


@pytest.fixture
def held(background, tmp_path, juggle):
    made = []

    def start(command, *options):
        made.append(Held(background, tmp_path, juggle, [str(word) for word in command], *options))
        return made[-1]
    yield start
    for one in made:
        with contextlib.suppress(FileNotFoundError):
            path_of(one.job).unlink()


# --- balancing -----------------------------------------------------------------------

def test_moves_subdomains(held):
    job = held(progress_job(status=5))
    job.claimed()
    # The slow worker begins with four of twelve, and keeps at least two.
    job.wait_for(lambda: held_by(job.job, 0) == 2, "the slow worker has given work away")
    seen = set()
    _, points, moves = balancer_of(job.job)  # the threads of the job may have made these before juggle found it

    def balanced_on():
        who, points_now, moves_now = balancer_of(job.job)
        seen.add(who)
        return points_now > points + 50 and moves_now > moves
    job.wait_for(balanced_on, "it balances on")
    assert seen == {job.balancer}
    out, err, report = job.end(5)
    assert err == ""
    (progress,) = report["progress"]
    assert progress["pid"] == job.job
    assert progress["workers"] == 3
    assert progress["subdomains"] == 12
    assert progress["balancing"] == "split"
    assert progress["rank"] == 0
    assert progress["moves"] > 0
    assert progress["points"] > 0
    assert progress["spread"] > 0
    assert set(progress) == keys_of_page("juggle.1", "REPORT FORMAT")[1]["progress"]
    assert out.startswith("ready\n")
    assert not path_of(job.job).exists()


def test_workers_are_the_compute_threads(held):
    """They sleep most of the time, and the main thread is not one of them."""
    job = held(progress_job())
    job.claimed()
    job.more_points(100)
    helpers.wait_for_stat(job.juggle, lambda found: found["threads"] == 3, "only they count")


def test_trace_and_summary(held, tmp_path):
    """They count the same moves as the report."""
    job = held(progress_job(), "-v", "--trace", tmp_path / "trace")
    job.claimed()
    before = balancer_of(job.job)[2]  # those that its own threads made
    job.wait_for(lambda: balancer_of(job.job)[2] > before, "something has moved")
    _, err, report = job.end()
    (progress,) = report["progress"]
    records = read_trace(tmp_path / "trace").plb
    assert all(record["pid"] == job.job for record in records)
    assert sum(record["moves"] for record in records) == progress["moves"] > 0
    assert ("subdomains   12 of 3 workers, %d moves in %d points, spread %d among them\n"
            % (progress["moves"], progress["points"], progress["spread"])) in err


def test_last_sample(held, tmp_path):
    """With this many subdomains, a sample is taken every 6.6 s, and one at the end."""
    job = held(progress_job(workers=4, subdomains=65536, slow=-1, balancing=NONE), "--trace", tmp_path / "trace")

    def samples():
        return [sum(record["counts"]) for record in traces.growing(tmp_path / "trace", "updates")]
    job.wait_for(samples, "the first sample")
    job.end()
    first, *_, last = samples()
    assert last > first


def test_several_processes(held):
    command = " & ".join('"$@" </dev/fd/3' for _ in range(3)) + " & wait"
    script = 'exec 3<&0; ' + command
    job = held(["sh", "-c", script, "sh", *map(str, progress_job())])

    def hosted():
        pids = [pid for pid in helpers.children(job.job) if balancer_of(pid)]
        return len(pids) == 3 and all(balancer_of(pid)[0] == job.balancer for pid in pids)
    job.wait_for(hosted, "all three are balanced")
    _, _, report = job.end()
    assert len({progress["pid"] for progress in report["progress"]}) == 3
    assert all(progress["points"] > 0 for progress in report["progress"])


def test_late_segment(held):
    """The process executes another program before it creates its segment."""
    job = held(["sh", "-c", 'read line; exec "$@"', "sh", *map(str, progress_job())])
    helpers.wait_for_looks(job.balancer)
    job.juggle.stdin.write("\n")
    job.juggle.stdin.flush()
    job.claimed()
    assert job.end()[2]["progress"][0]["points"] > 0


@pytest.mark.parametrize("policy", ["static", "observe"])
def test_other_policies_leave_it_alone(held, policy):
    job = held(progress_job(), "-P", policy)
    job.wait_for(lambda: balancer_of(job.job), "there is a segment")
    seen = set()
    before = job.points()
    job.wait_for(
        lambda: seen.add(job.who()) or job.points() > before + 50, "its own threads balance")
    helpers.wait_for_stat(job.juggle, lambda found: found["workers"] == 3, "juggle knows the workers")
    helpers.wait_for_looks(job.balancer)
    assert job.balancer not in seen
    _, err, report = job.end()
    assert err == ""
    (progress,) = report["progress"]
    assert progress["points"] == progress["moves"] == 0
    assert progress["spread"] > 0


def test_no_balancing_is_wanted(held):
    job = held(progress_job(balancing=NONE))
    job.wait_for(lambda: balancer_of(job.job), "there is a segment")
    helpers.wait_for_stat(job.juggle, lambda found: found["workers"] == 3, "juggle knows the workers")
    helpers.wait_for_looks(job.balancer)
    assert balancer_of(job.job) == (0, 0, 0)
    _, _, report = job.end()
    assert report["progress"][0]["balancing"] == "none"
    assert report["progress"][0]["points"] == 0


@pytest.mark.needs_cpus(2)
def test_a_cpu_for_each_worker(background, held, tmp_path):
    """Two workers on two CPUs stay where they are, though one CPU is shared, and their work
    moves."""
    two = "%d,%d" % tuple(helpers.cpus()[:2])
    job = held(progress_job(workers=2, subdomains=8, slow=-1, kind="spin"), "-c", two,
               "--trace", tmp_path / "trace")
    job.claimed()

    # Until juggle knows them for workers, it moves them like any threads.
    helpers.wait_for_stat(job.juggle, lambda found: "subdomains move instead" in (found["reason"] or ""),
                          "juggle knows the workers")

    def pinned():
        masks = helpers.masks(job.job)
        return sorted(len(mask) for mask in masks.values()) == [1, 1, 2]
    job.wait_for(pinned, "each worker has a CPU, the main thread both")
    masks = helpers.masks(job.job)
    moved = helpers.stat(job.juggle.pid)["migrations"]
    background(["taskset", "-c", str(helpers.cpus()[0]), "sh", "-c", "while :; do :; done"])
    job.wait_for(lambda: sorted(held_by(job.job, w) for w in (0, 1)) != [4, 4],
                 "subdomains have moved")
    for _ in range(10):
        job.more_points()
        assert helpers.masks(job.job) == masks
    _, _, report = job.end()
    assert report["migrations"] == moved
    # The report has the reason from the end, when one thread has ended before the other.
    assert " balance a CPU for each thread, and subdomains move instead\n" in (
        tmp_path / "trace").read_text("utf-8")


@pytest.mark.needs_cpus(2)
@pytest.mark.parametrize("balancing", [NONE, SPLIT])
def test_more_workers_than_cpus(held, tmp_path, balancing):
    """Threads are balanced, too, and by updates: the worker whose updates take long is behind all the
    time. With CPU time as progress, each of the three would be behind in turn. Where it computes
    then depends on who else uses the CPUs: test_step.c has that for a machine of their own. If it
    begins on a CPU of its own, nothing has to be moved. Where subdomains move, too, they take its work
    from it, and while it has a single one left, another may be as far behind."""
    two = "%d,%d" % tuple(helpers.cpus()[:2])
    job = held(progress_job(kind="spin", balancing=balancing), "-c", two, "-i", "4ms", "--trace", tmp_path / "trace")
    job.wait_for(lambda: balancer_of(job.job), "there is a segment")
    tids = job.wait_for(lambda: worker_tids(job.job, 3), "all are registered")
    found = helpers.wait_for_stat(job.juggle, lambda found: found["workers"] == found["threads"] == 3,
                                  "juggle knows the workers")
    seen = found["cycles"]
    helpers.wait_for_stat(job.juggle, lambda found: found["cycles"] > seen + 300, "300 points")
    job.wait_for(lambda: balancing == NONE or balancer_of(job.job)[2] > 0, "something has moved")
    _, _, report = job.end()
    # Until juggle has the claim, the program moves subdomains itself, and may have moved all that had to be.
    assert balancing == SPLIT or report["progress"][0]["moves"] == 0
    trace = traces.Trace(tmp_path / "trace")
    assert trace.placements(3)
    last = [min(point, key=point.get) for point in trace.points.values() if set(point) == set(tids)]
    assert len(last) > 100
    assert last.count(tids[0]) > (0.8 if balancing == NONE else 0.5) * len(last)


# --- the end of juggle ---------------------------------------------------------------

def test_killed_balancer(held):
    """The program's own threads take over."""
    job = held(progress_job(status=3))
    job.claimed()
    os.kill(job.balancer, signal.SIGKILL)
    job.wait_for(lambda: job.who() != job.balancer, "the claim is another's")
    job.more_points()
    _, err, report = job.end(3)
    assert "the balancer was killed" in err
    assert report["balancer"] == "lost"


def test_stopped_balancer(held):
    """As above, and it comes back."""
    job = held(progress_job())
    job.claimed()
    os.kill(job.balancer, signal.SIGSTOP)
    job.wait_for(lambda: job.who() != job.balancer, "the claim is another's")
    job.more_points()
    os.kill(job.balancer, signal.SIGCONT)
    job.claimed()
    job.more_points()
    assert job.end()[1] == ""


def test_attach_and_detach(background, juggle):
    alone = background(progress_job(status=4), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert alone.stdout.readline() == "ready\n"
    attached = background([juggle, "-p", str(alone.pid)], stderr=subprocess.PIPE)
    balancer = helpers.wait_for_balancer(attached)
    helpers.wait_for(lambda: balancer_of(alone.pid)[0] == balancer, "juggle has the claim",
                     attached)
    attached.send_signal(signal.SIGINT)
    assert attached.wait(timeout=helpers.TIMEOUT_S) == 0
    # Released, not abandoned: that would take half a second to notice.
    assert balancer_of(alone.pid)[0] != balancer
    points = balancer_of(alone.pid)[1]
    helpers.wait_for(lambda: balancer_of(alone.pid)[1] > points + 20, "its own threads balance",
                     alone)
    alone.stdin.close()
    assert alone.wait(timeout=helpers.TIMEOUT_S) == 4


# --- damaged segments ----------------------------------------------------------------

def segment(pid, workers=2, subdomains=8, version=2, state=1, empty=(), created_ns=None):
    """The bytes of a segment that nobody uses, as the library would create it."""
    size = HEADER_BYTES + workers * WORKER_BYTES + subdomains * SUBDOMAIN_BYTES
    header = HEADER.pack(MAGIC, version, HEADER_BYTES, size, workers, subdomains, WORKER_BYTES,
                         SUBDOMAIN_BYTES, pid, 0, created_ns or time.monotonic_ns(), SPLIT, 6, 2, 6, 500, 0,
                         1000000, state)
    assert HEADER.size == 92
    data = bytearray(size)
    data[:len(header)] = header
    for w in range(workers):
        struct.pack_into("=I", data, HEADER_BYTES + w * WORKER_BYTES + 64, pid)
    for s in range(subdomains):
        begin = HEADER_BYTES + workers * WORKER_BYTES + s * SUBDOMAIN_BYTES
        holder = NOBODY if s in empty else s % workers
        struct.pack_into("=IIQQQI", data, begin, 0, holder, s * 100, 0, 0, s % workers)
    return bytes(data)


def put(pid, data):
    """Creates a segment for another process."""
    file = os.open(path_of(pid), os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    os.write(file, data)
    os.close(file)


def ends_with_its_status(job, message, count=1):
    """The message comes once, although the segment is looked at again and again."""
    job.wait_for(lambda: job.stderr.read_text("utf-8").count("\n") == count, "the message")
    path_of(job.job).with_name("progress-test.%d" % job.job).write_bytes(b"")
    path_of(job.job).with_name("progress-test.%d" % job.job).unlink()
    helpers.wait_for_looks(job.balancer)
    _, err, report = job.end(6)
    assert err.count("\n") == count, err
    if count:
        assert ("juggle: cannot use the progress segment of process %d: %s\n"
                % (job.job, message)) == err
    assert report["balancer"] == "ended"


CAT = ["sh", "-c", "cat; exit 6"]


def test_made_up_segment_is_balanced(held):
    """Without the damage of the tests below, it is fine."""
    job = held(CAT)
    put(job.job, segment(job.job))
    job.claimed()
    job.more_points()
    ends_with_its_status(job, "", count=0)


def test_left_by_an_earlier_process(held):
    """Killed, with the pid that a process of the job has now, which is a moment younger than the segment. Births
    are known by the tick of 10 ms, and may seem to be earlier where a look at two clocks is interrupted."""
    before = time.monotonic_ns() - 20_000_000
    job = held(CAT)
    put(job.job, segment(job.job, created_ns=before))
    helpers.wait_for_looks(job.balancer)
    assert balancer_of(job.job) == (0, 0, 0)
    path_of(job.job).unlink()
    put(job.job, segment(job.job))
    job.claimed()
    _, _, report = job.end(6)
    assert len(report["progress"]) == 1


def test_left_without_a_successor(held):
    before = time.monotonic_ns() - 20_000_000
    job = held(CAT)
    put(job.job, segment(job.job, created_ns=before))
    helpers.wait_for_looks(job.balancer)
    _, err, report = job.end(6)
    assert (err, report["progress"]) == ("", [])


def test_trace_of_a_holder_that_stalls(held, tmp_path):
    """It never begins an iteration, so it keeps what another owns."""
    job = held(CAT, "--trace", tmp_path / "trace")
    data = bytearray(segment(job.job))
    struct.pack_into("=I", data, len(data) - SUBDOMAIN_BYTES + 32, 0)  # the owner of the last one
    put(job.job, bytes(data))

    job.wait_for(lambda: traces.growing(tmp_path / "trace", "updates"), "a sample")
    job.end(6)
    trace = read_trace(tmp_path / "trace")
    assert trace.subdomains[0]["owners"][-1] == 0
    assert trace.holders and all(record["holders"] == 4 * [0, 1] for record in trace.holders)


def test_version_before(held):
    """It has the same layout, but no empty places."""
    job = held(CAT)
    put(job.job, segment(job.job, version=1))
    job.claimed()
    job.more_points()
    ends_with_its_status(job, "", count=0)


def test_empty_places(held):
    """They are neither balanced nor shown, even if they are the most and the least updated."""
    job = held(CAT)
    put(job.job, segment(job.job, empty=(0, 3, 6, 7)))
    job.claimed()
    job.more_points()
    _, err, report = job.end(6)
    assert err == ""
    (progress,) = report["progress"]
    assert progress["moves"] == 0  # two for each of the two, too few to give one away
    assert progress["spread"] == 400


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes(held, seed):
    job = held(CAT)
    put(job.job, random.Random(seed).randbytes(5000))
    ends_with_its_status(job, "it is damaged")


def test_another_version(held):
    job = held(CAT)
    put(job.job, segment(job.job, version=9))
    ends_with_its_status(job, "it is of version 9")


def test_another_version_and_quiet(held):
    job = held(CAT, "-q")
    put(job.job, segment(job.job, version=9))
    ends_with_its_status(job, "", count=0)


def test_too_short(held):
    job = held(CAT)
    put(job.job, segment(job.job)[:-1])
    ends_with_its_status(job, "it is damaged")


def test_of_another_process(held):
    job = held(CAT)
    put(job.job, segment(1))
    ends_with_its_status(job, "Operation not permitted")


@pytest.mark.parametrize("length", [0, 100, 300, 1000])
def test_cut_short_while_it_is_read(held, length):
    job = held(CAT)
    put(job.job, segment(job.job))
    job.claimed()
    os.truncate(path_of(job.job), length)
    ends_with_its_status(job, "it is damaged")


def test_overwritten_while_it_is_read(held):
    """Counters, owners and workers out of any range do no harm."""
    job = held(CAT)
    put(job.job, segment(job.job))
    job.claimed()
    with open(path_of(job.job), "r+b") as file:
        for seed in range(50):
            file.seek(HEADER_BYTES)
            file.write(random.Random(seed).randbytes(2 * WORKER_BYTES + 8 * SUBDOMAIN_BYTES))
            file.flush()
            job.more_points(2)
    ends_with_its_status(job, "", count=0)


def test_segment_is_closed_and_made_anew(held):
    job = held(CAT)
    for _ in range(2):
        put(job.job, segment(job.job))
        job.claimed()
        with open(path_of(job.job), "r+b") as file:
            file.seek(88)
            file.write(struct.pack("=I", 2))
        path_of(job.job).unlink()
    _, err, report = job.end(6)
    assert err == ""
    assert len(report["progress"]) == 2


def test_segment_that_is_being_made(held):
    job = held(CAT)
    put(job.job, segment(job.job, state=0))
    helpers.wait_for_looks(job.balancer)
    assert job.who() == 0
    with open(path_of(job.job), "r+b") as file:
        file.seek(88)
        file.write(struct.pack("=I", 1))
    job.claimed()
    ends_with_its_status(job, "", count=0)
