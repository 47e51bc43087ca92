# SPDX-License-Identifier: MIT
"""The Python module: reports, traces and samples of real runs, recorded traces, and damaged ones."""

import collections
import contextlib
import importlib.util
import io
import json
import os
import random
import re
import signal
import subprocess
import sys

import pytest

import helpers  # first: it makes the module known
import juggle as module
import traces

pytestmark = [pytest.mark.beside, pytest.mark.no_races]

TRACES = sorted(path for path in (helpers.REPO / "tests/fixtures/trace").iterdir() if path.name != "README")
UPDATES = "updates 5 7 3 -1\n"
WHOLE = traces.begin() + "birth 4 1 1 x y\n" + traces.point(5, [(1, 0, 0, 0, 0)], [(1, 0, 1)]) + UPDATES


@pytest.fixture
def written(tmp_path):
    """written(TEXT) is the path of a file with this text."""
    def write(text):
        (tmp_path / "file").write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / "file"
    return write


@pytest.fixture
def no_pandas(tmp_path, monkeypatch):
    """Nothing is installed."""
    (tmp_path / "pandas.py").write_text("raise ImportError('no such module')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pandas", raising=False)


def count(lines, word):
    return sum(line.startswith(word + " ") for line in lines)


def assert_is_all(trace, path):
    """The trace has as many records as the file has lines of each kind."""
    lines = path.read_text("utf-8").split("\n")
    for name, *words in [("threads", "birth"), ("names", "name"), ("teams", "team"), ("points", "point"),
                         ("samples", "thread", "other"), ("moves", "move"), ("newcomers", "new"), ("plb", "plb"),
                         ("subdomains", "subdomains"), ("gives", "give"), ("updates", "updates")]:
        assert len(getattr(trace, name)) == sum(count(lines, word) for word in words), name
    assert (trace.dropped, trace.unknown, trace.cut_short) == (0, 0, False)


def refused(read, path, line, *words, kind=module.FormatError, **options):
    with pytest.raises(kind) as raised:
        read(path, **options)
    assert type(raised.value) is kind and isinstance(raised.value, module.Error)
    assert (raised.value.path, raised.value.line) == (str(path), line)
    assert str(raised.value).startswith("%s:%d: " % (path, line))
    for word in words:
        assert word in raised.value.reason


# --- real runs -----------------------------------------------------------------------

@pytest.fixture(scope="module", params=["ubench", "jacobi"])
def recorded(request, juggle, app, tmp_path_factory):
    """(name of the program, path of its trace, of its report)."""
    folder = tmp_path_factory.mktemp(request.param)
    command = {"ubench": ["-q", "-t", "3", "-e", "5ms", "-p", "200", "-b", "yield", "--rate", "100000"],
               "jacobi": ["-q", "-t", "2", "-n", "30000", "--grid", "64x64", "--mode", "async", "--host", "daemon"]}
    done = helpers.run([juggle, "--always", "-i", "5ms", "--trace", folder / "trace", "--report", folder / "report",
                        app(request.param), *command[request.param]])
    assert done.returncode == 0, done.stderr
    return request.param, folder / "trace", folder / "report"


def test_a_report_and_its_trace(recorded):
    name, path, report_path = recorded
    trace, report = module.read_trace(path), module.read_report(report_path)
    assert report == json.loads(report_path.read_text("utf-8"))
    assert_is_all(trace, path)
    for key in ("version", "command", "policy", "sampler"):
        assert trace.header[key] == report[key]
    assert {cpu["os_cpu"] for cpu in trace.cpus} == set(report["cpus"])
    assert {thread["tid"] for thread in trace.threads} == {thread["tid"] for thread in report["thread"]}
    assert any(thread["comm"] == name for thread in trace.threads)
    assert {point["regime"] for point in trace.points} <= {"balance", "aside"}
    states = {sample["state"] for sample in trace.samples}
    assert states <= {"ahead", "behind", "idle", "ended"}
    assert name != "ubench" or states & {"ahead", "behind"}
    if name == "jacobi":
        owners, = trace.subdomains[:1]
        assert len(owners["owners"]) == len(trace.updates[-1]["counts"]) == report["progress"][0]["subdomains"]
        assert sum(record["moves"] for record in trace.plb) == report["progress"][0]["moves"]


@contextlib.contextmanager
def running(background, juggle):
    """A juggle whose job ends with the context (see helpers.held_job)."""
    process = background([juggle, "-q", "-i", "10ms", "--", *helpers.held_job()], stdin=subprocess.PIPE)
    helpers.wait_for_below(process, "ubench")
    helpers.wait_for_stat(process, lambda found: found["cycles"], "a point")
    yield process
    process.stdin.close()
    process.wait(timeout=helpers.TIMEOUT_S)


def test_watch(juggle, jugglectl, background):
    with running(background, juggle) as process:
        samples = list(module.watch(process.pid, 0.02, 3, jugglectl))
        assert [sample["juggle_pid"] for sample in samples] == [process.pid] * 3
        assert samples[0]["age_s"] < samples[2]["age_s"] and samples[0]["thread"]
        watch = module.watch(process.pid, 0.02, jugglectl=jugglectl)
        assert next(watch)["wrapped"]
        child, = [pid for pid in helpers.children(os.getpid()) if helpers.comm(pid) == "jugglectl"]
        watch.close()
        assert not helpers.alive(child), "it ends when it is not needed any more"
        watch = module.watch(process.pid, 0.02, jugglectl=jugglectl)
        next(watch)
    collections.deque(watch, maxlen=0)  # it ends with the job


def test_watch_is_interrupted(juggle, jugglectl, background):
    """In a long interval; jugglectl does not stay behind."""
    with running(background, juggle) as process:
        script = "import juggle, sys; next(juggle.watch(int(sys.argv[1]), 1000, jugglectl=sys.argv[2]))"
        watch = background([sys.executable, "-B", "-c", script, process.pid, jugglectl], stderr=subprocess.PIPE,
                           env={"PYTHONPATH": str(helpers.REPO / "tools/python")})
        child = helpers.wait_for_below(watch, "jugglectl")
        # While Popen starts it, Python would leave it behind.
        helpers.wait_for(lambda: helpers.status(watch.pid)["State"][0] == "S", "waiting for a sample", watch)
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=helpers.TIMEOUT_S)
        assert "KeyboardInterrupt" in err and not helpers.alive(child)


def test_watch_fails(jugglectl, tmp_path):
    with pytest.raises(module.WatchError, match="no-such-job") as raised:
        list(module.watch("no-such-job", jugglectl=jugglectl))
    assert raised.value.status == 1
    with pytest.raises(module.WatchError, match="10ms") as raised:
        list(module.watch("x", interval=0, jugglectl=jugglectl))
    assert raised.value.status == 2
    with pytest.raises(module.WatchError, match="cannot be run: No such file"):
        next(module.watch(jugglectl=tmp_path / "jugglectl"))
    with pytest.raises(module.FormatError, match="^jugglectl stat:1: not JSON"):
        next(module.watch(jugglectl="/bin/echo"))


def test_samples(juggle, jugglectl, background, written):
    with running(background, juggle) as process:
        done = helpers.run([jugglectl, "stat", process.pid, "--json", "-i", "20ms", "-c", "2"])
    samples = module.read_samples(written(done.stdout))
    assert samples == [json.loads(line) for line in done.stdout.splitlines()] and len(samples) == 2
    path = written(done.stdout[:-10])
    refused(module.read_samples, path, 2, "ends within a sample", kind=module.TruncatedError)
    assert module.read_samples(path, partial=True) == samples[:1]
    refused(module.read_samples, written(done.stdout[:-10] + "\n"), 2, "not JSON")
    refused(module.read_samples, written('{"program": "ubench"}\n'), 1, "no sample of jugglectl stat")
    assert module.read_samples(written("")) == []


# --- recorded traces, and made-up ones -----------------------------------------------

@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_recorded_trace(path):
    assert_is_all(module.read_trace(path), path)


def test_records(written):
    text = traces.begin(cpus=0).replace("cpus 0", "cpus 0 3:1 4:0:4:500 5:0:4:1000:2") + (
        "birth 5 9 8 a b\nbirth 6 7 8 \nname 7 9 c\n"
        "point 10 0 10 11 all,open cost=4\ndomains 2 1\nneighbours 0 2\nbeside 3\nstolen 5 6\nticked 1 0\nslice short\nnew 9 1\n"
        "thread 9 -1 -5 6 7 8 b unseen ready work=1 left=2 sleeps=3 waits yields dynamic role=3\nother 7 4 1 2 3 e asleep\n"
        "handover 9 1\ndecide 3 4 0 aside why not\n"
        "subdomains 11 8 -1 2 0 -1 1\nholders 11 8 1 -1 1\nfuture 11 x y\nnews\ndropped 12\n")
    trace = module.read_trace(written(text))
    assert [list(cpu.values()) for cpu in trace.cpus] == [
        [0, 3, 1, 3, 1000, 0], [0, 4, 0, 4, 500, 0], [0, 5, 0, 4, 1000, 2]]
    assert trace.threads == [
        {"now_ns": 5, "tid": 9, "pid": 8, "comm": "c"}, {"now_ns": 6, "tid": 7, "pid": 8, "comm": ""}]
    assert trace.points == [{
        "now_ns": 10, "domain": 0, "elapsed_ns": 10, "looked": "all,open", "cost_ns": 4, "domains": [2, 1],
        "neighbours": [0, 2], "beside": 3, "stolen": [5, 6], "ticked": [1, 0], "slice": "short", "period_ns": 3, "wait_ns": 4,
        "ticks": 0, "regime": "aside", "reason": "why not"}]
    of = {"now_ns": 10, "domain": 0}
    assert trace.samples == [
        {**of, "tid": 9, "os_cpu": -1, "progress_ns": -5, "run_ns": 6, "wait_ns": 7, "slices": 8, "state": "behind",
         "unseen": True, "ready": True, "work": 1, "left_ns": 2, "sleeps": 3, "waits": True, "yields": True, "dynamic": True,
         "role": 3},
        {**of, "tid": 7, "os_cpu": 4, "run_ns": 1, "wait_ns": 2, "slices": 3, "state": "ended", "asleep": True}]
    assert (trace.newcomers, trace.handovers) == ([{**of, "tid": 9, "assigned": 1}], [{**of, "tid": 9, "to": 1}])
    assert trace.subdomains == [{"now_ns": 11, "pid": 8, "rank": -1, "workers": 2, "owners": [0, -1, 1]}]
    assert trace.holders == [{"now_ns": 11, "pid": 8, "holders": [1, -1, 1]}]
    assert (trace.unknown, trace.dropped) == (2, 12)


def test_fields_that_the_manual_has():
    """Each word of a trace that juggle(1) explains is read."""
    text = (helpers.REPO / "man/juggle.1").read_text("utf-8")
    section = text.partition(".Sh TRACE FORMAT\n")[2].partition("\n.Sh ")[0]
    words = set(re.findall(r"^\.It Li (\w+) Ar ", section, re.MULTILINE))
    assert words == {*module._RECORDS, *module._THREAD, *module._OF_POINT, *module._COUNTS, "beside", "slice", "decide"}


# --- damage --------------------------------------------------------------------------

def test_trace_cut_anywhere(written):
    """A missing end is found, unless the file ends between two records."""
    lines = WHOLE.splitlines(keepends=True)
    first, records, at = len(lines[0]), set(), 0
    for line in lines:
        at += len(line)
        if not line.startswith(("point", "thread", "move")):
            records.add(at)
    for size in range(len(WHOLE)):
        path = written(WHOLE[:size])
        if size in records:
            assert not module.read_trace(path).cut_short
        else:
            line = 1 + WHOLE[:size].count("\n")
            refused(module.read_trace, path, line, "ends within", kind=module.TruncatedError)
            if size > first:
                trace = module.read_trace(path, partial=True)
                assert trace.cut_short and len(trace.points) == len(trace.moves) == int(size > WHOLE.index(UPDATES))


class Growing(io.StringIO):
    """A file that ends at `size`, until somebody has come there; then the rest has been written."""

    def __init__(self, text, size):
        super().__init__(text[:size])
        self.rest = text[size:]

    def grow(self, wanted, got):
        if len(got) < wanted and self.rest:
            at = self.tell()
            self.write(self.rest)
            self.seek(at)
            self.rest = ""
        return got

    def read(self, size=-1):
        return self.grow(size, super().read(size))

    def readline(self, size=-1):
        line = super().readline(size)
        return line if line.endswith("\n") else self.grow(len(line) + 1, line)


def test_trace_grows_while_it_is_read():
    """Whatever is written after its end was seen, that is no damage."""
    for size in range(len(WHOLE)):
        with contextlib.suppress(module.TruncatedError):
            module._TraceReader("growing", Growing(WHOLE, size)).read(partial=True)


@pytest.mark.parametrize("text, line, words", [
    (b"\xff\xfe\x00", 1, "no trace"), ("{}\n", 1, "no trace"),
    ("# juggle trace two {}\n", 1, "no trace"), ("# juggle trace 2 x\n", 1, "not JSON"),
    ("# juggle trace 2 []\n", 1, "no JSON object"), ("# juggle trace 2 {}\n", 1, "the header is damaged: version"),
    ("# juggle trace 2 %s\n" % ("[" * 100000), 1, "not JSON"), ("# juggle trace 2 %s\n" % ("9" * 10000), 1, "JSON"),
    (traces.begin(period_auto=1), 1, "the header is damaged: period_auto"),
    (traces.begin(start_ns=True), 1, "the header is damaged: start_ns"),
    (traces.begin(cpus=0), 2, "a damaged cpus record"),
    (WHOLE + "birth 1 2\n", 10, "a damaged birth record"), (WHOLE + "birth 1 2 3 \0\n", 10, "a damaged birth record"),
    (WHOLE + "updates 1 2 \n", 10, "a damaged updates record"), (WHOLE + "updates 1 2 1  2\n", 10, "a damaged"),
    (WHOLE + "give 1 2 3 4 -5\n", 10, "a damaged give record"),
    (WHOLE + "plb 1 2 %s\n" % ("9" * 5000), 10, "a damaged plb record"),
    (WHOLE + "plb 1 2 \u0663\n", 10, "a damaged plb record"), (WHOLE + "plb 1 2 3\r\n", 10, "a damaged plb record"),
    (WHOLE + "decide 1 1 1 aside x\n", 10, "belongs to no point"), (WHOLE + "\n", 10, "not a record"),
    (WHOLE + "Plb 1 2 3\n", 10, "not a record"), (WHOLE + "dropped 1\nplb 1 2 3\n", 11, "after the last one"),
    (WHOLE + "point 6 0 1 0 some\n", 10, "without its decision"),
    (WHOLE + "point 6 0 1 1 most\n", 10, "a damaged point record"),
    (WHOLE + "point 6 0 1 1 some\nnew 1 1\n", 11, "without its decision"),
    (WHOLE + "point 6 0 1 2 some\nfuture 1 1\n", 11, "fewer lines than it announces"),
    (WHOLE + "point 6 0 1 2 some\nthread 1 0 0 0 0 1 a sometime\n", 11, "a damaged thread record"),
    (WHOLE + "point 6 0 1 2 some\nticked 1 -1\n", 11, "a damaged list of counts"),
    (WHOLE + "point 6 0 1 2 some\nbeside 1 2\n", 11, "a damaged count of threads"),
    (WHOLE + "point 6 0 1 2 some\nslice long\n", 11, "a damaged slice record"),
])
def test_damaged_trace(written, text, line, words):
    refused(module.read_trace, written(text), line, words)


def test_another_version(written):
    refused(module.read_trace, written(WHOLE.replace(" 2 ", " 3 ", 1)), 1, "version 3", kind=module.VersionError)


def test_no_regular_file(tmp_path):
    refused(module.read_trace, "/dev/zero", 1, "no trace")
    for read in (module.read_trace, module.read_report, module.read_samples):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")


def test_random_damage(written):
    """Whatever stands there, it is read or refused; where jugglectl reads it, so does the module."""
    generator = random.Random(1)
    original = (helpers.REPO / "tests/fixtures/trace/braid").read_bytes()[:20000]
    original = original[:original.rindex(b"\npoint ") + 1]
    verdicts = collections.Counter()
    for _ in range(50 if helpers.SANITIZER else 200):  # the fuzzers find more
        data = bytearray(original)
        for _ in range(generator.randint(1, 2)):
            at = generator.randrange(len(data))
            data[at:at + generator.randint(0, 3)] = bytes(generator.choices(b"0123456789 \n-=:abtz\0\xff", k=1))
        path = written(bytes(data))
        try:
            module.read_trace(path, partial=True)
            accepted = True
        except module.FormatError:
            accepted = False
        done = helpers.run([helpers.built("tools/jugglectl"), "replay", "--json", path])
        verdicts[accepted, done.returncode == 0] += 1
    assert verdicts[True, True] > 5 and verdicts[False, False] > 5 and verdicts[False, True] == 0


@pytest.mark.parametrize("text, line, words", [
    ("", 1, "not JSON"), ("[]", 1, "no JSON object"), (b"\xff{}", 1, "not JSON"),
    ('{"version":\n"1",\n', 3, "not JSON"),
    ('{"program": "ubench", "version": "1"}', 1, "no report of juggle --report: it has no 'command'"),
    ('{"version": %s}' % ("[" * 100000), 1, "not JSON"), ('{"version": %s}' % ("9" * 10000), 1, ""),
])
def test_damaged_report(written, text, line, words):
    refused(module.read_report, written(text), line, words)


# --- pandas --------------------------------------------------------------------------

def test_frames():
    """The tests of frames.py in a process of their own: what pandas loads starts threads, and processes with
    threads must not use preexec_fn, as other tests do."""
    if importlib.util.find_spec("pandas") is None:
        pytest.skip("no pandas (python3-pandas)")
    done = helpers.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                        helpers.REPO / "tests/system/frames.py"])
    assert done.returncode == 0, done.stdout


@pytest.mark.usefixtures("no_pandas")
def test_without_pandas():
    for make in (lambda: module.frame([]), lambda: module.read_trace(TRACES[0]).frame("moves")):
        with pytest.raises(ImportError, match="data frames need pandas: python3-pandas of Debian"):
            make()


def test_imports_the_standard_library_alone():
    """It is documented, and needs no package, not even those that site brings."""
    done = helpers.run([sys.executable, "-B", "-I", "-S", "-c",
                        "import pydoc, sys; sys.path.append(sys.argv[1]); pydoc.plainpager(pydoc.render_doc('juggle'))",
                        helpers.REPO / "tools/python"])
    assert done.returncode == 0, done.stderr
    for name in module.__all__:
        assert getattr(module, name).__doc__ and name in done.stdout
