# SPDX-License-Identifier: MIT
"""Fixtures of the system tests. JUGGLE_BUILD names the build folder (default: build)."""

import atexit
import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import helpers


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "timing: measures time or speed; not run in sanitizer builds")
    config.addinivalue_line("markers", "told: the workload tells its phases; one with a sanitizer doesn't")
    config.addinivalue_line(
        "markers", "no_races: but for tests that use juggle or app, nothing runs in which ThreadSanitizer could find "
        "one: programs have one thread, or are not made for it")
    config.addinivalue_line(
        "markers", "unsanitized: but for tests that use juggle or app, nothing runs that is built with a sanitizer")
    config.addinivalue_line(
        "markers", "slow: takes more than ten seconds, here or with a sanitizer, which would see nothing new")
    config.addinivalue_line(
        "markers", "beside: passes whatever other tests do at the same time; tests/run starts several at once")
    config.addinivalue_line("markers", "alone: of such a file, but not started beside others")
    config.addinivalue_line("markers", "needs_cpus(n): skipped where fewer CPUs are allowed")
    config.addinivalue_line("markers", "needs_root: skipped when not run as root")
    config.pluginmanager.register(Ending())
    # A shell without job control makes its background commands ignore these, and jobs would inherit
    # that. Children do not inherit handlers.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


class Ending:
    """SIGTERM, as at a time limit: the running test fails by name, and is the last."""

    def __init__(self):
        self.session = None
        self.running = None  # (its name, when it began) while only it would be at fault

    def pytest_sessionstart(self, session):
        self.session = session
        signal.signal(signal.SIGTERM, self.end)

    def end(self, _number, _frame):
        said = "SIGTERM, as at a time limit"
        self.session.shouldstop = said
        if self.running:
            name, begin = self.running
            self.running = None
            said += ": %s was running, for %.0f s" % (name, time.monotonic() - begin)
            # At once, in case the end of the test also takes too long; one of several processes has no other output.
            with self.session.config.pluginmanager.get_plugin(
                    "capturemanager").global_and_fixture_disabled():
                print("\n" + said, file=sys.stderr, flush=True)
            pytest.fail(said)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self):
        """One of several processes does not look at shouldstop: it passes over all that is left."""
        return True if self.session.shouldstop else None

    def _watch(self, item):
        self.running = (item.nodeid, time.monotonic())
        yield
        self.running = None

    pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = pytest.hookimpl(
        hookwrapper=True, tryfirst=True)(_watch)


COUNTING_THREADS = {"test_affinity", "test_discovery", "test_domains", "test_kill", "test_options",
                    "test_sharing", "test_users"}

ASAN_OPTIONS = os.environ.get("ASAN_OPTIONS", "")


def pytest_runtest_setup(item):
    if helpers.SANITIZER == "address":
        # The search for leaks takes longer than most programs run; where other threads take all CPUs, ten seconds now
        # and then. All unit tests have it. Here it is left to those tests of juggle, which runs for long, in which
        # nothing depends on time.
        leaks = ("juggle" in item.fixturenames and item.get_closest_marker("beside")
                 and not item.get_closest_marker("alone"))
        os.environ["ASAN_OPTIONS"] = "%s:detect_leaks=%d" % (ASAN_OPTIONS, bool(leaks))
    if item.get_closest_marker("timing") and helpers.SANITIZER:
        pytest.skip("measures time, and this is a %s sanitizer build" % helpers.SANITIZER)
    if item.get_closest_marker("told") and helpers.SANITIZER:
        pytest.skip("nothing is preloaded to a sanitized workload")
    if helpers.SANITIZER == "thread" and item.module.__name__ in COUNTING_THREADS:
        pytest.skip("counts threads, and ThreadSanitizer adds one to each process")
    if not {"juggle", "app"} & set(item.fixturenames):
        if helpers.SANITIZER == "thread" and item.get_closest_marker("no_races"):
            pytest.skip("ThreadSanitizer has nothing to find in this")
        if helpers.SANITIZER and item.get_closest_marker("unsanitized"):
            pytest.skip("a sanitizer sees nothing of this")
    mark = item.get_closest_marker("needs_cpus")
    if mark and len(helpers.cpus()) < mark.args[0]:
        pytest.skip("needs %d CPUs, may use %d" % (mark.args[0], len(helpers.cpus())))
    if item.get_closest_marker("needs_root") and os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture(scope="session")
def build():
    """The build folder."""
    return helpers.BUILD


@pytest.fixture(scope="session")
def juggle():
    """The path of the juggle executable; fails the test if it was not built."""
    return helpers.juggle_path()


@pytest.fixture(scope="session")
def jugglectl():
    """The path of the jugglectl executable; fails the test if it was not built."""
    return helpers.built("tools/jugglectl")


@pytest.fixture
def run_jugglectl(jugglectl):
    """run_jugglectl("predict", "-n", "3") runs jugglectl to its end (see helpers.run)."""
    def run(*arguments, **options):
        return helpers.run([jugglectl, *map(str, arguments)], **options)
    return run


@pytest.fixture
def jugglectl_json(run_jugglectl):
    """jugglectl_json("predict", "-n", 3): the JSON object of a command that succeeds without
    messages."""
    def run(*arguments, **options):
        done = run_jugglectl(*arguments, "--json", **options)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)
    return run


@pytest.fixture(scope="session")
def app():
    """app("ubench") is the path of a workload; skips when it was left out of the build."""
    return helpers.app_or_skip


@pytest.fixture
def run_juggle(juggle):
    """run_juggle("-i", "10ms", "--", COMMAND...) runs juggle to its end (see helpers.run)."""
    def run(*arguments, **options):
        return helpers.run([juggle, *arguments], **options)
    return run


@contextlib.contextmanager
def starting():
    started = []

    def start(command, **options):
        process = helpers.start(command, **options)
        started.append(process)
        return process
    yield start
    for process in reversed(started):
        helpers.kill_session(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()
        process.wait(timeout=helpers.TIMEOUT_S)


@pytest.fixture
def background():
    """background(COMMAND) starts a command; what is left of it ends with the test."""
    with starting() as start:
        yield start


@pytest.fixture(scope="module")
def background_of_module():
    """The same for fixtures that several tests share."""
    with starting() as start:
        yield start


@pytest.fixture
def shm(background, jugglectl):
    """A mount namespace in which nobody else publishes: .path is its /dev/shm, .command(COMMAND)
    runs in it, .list() and .clean() return what jugglectl prints there."""
    root = os.geteuid() == 0
    unshare = ["unshare", "-m"] if root else ["unshare", "-rm"]
    holder = background(
        [*unshare, "sh", "-c", "mount -t tmpfs none /dev/shm && chmod 1777 /dev/shm && echo ready && read x"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if holder.stdout.readline() != "ready\n":
        pytest.skip("no mount namespace, or mount(2) is forbidden")
    enter = ["nsenter", "-t", str(holder.pid), "-m"] + ([] if root else ["-U", "--preserve-credentials"])

    class Shm:
        path = Path("/proc/%d/root/dev/shm" % holder.pid)
        uid = 0  # in a user namespace, too

        def command(self, command):
            return [*enter, "--", *map(str, command)]

        def run(self, *arguments, wrap=lambda command: command, **options):
            return helpers.run(self.command(wrap([jugglectl, *map(str, arguments)])), **options)

        def _objects(self, *arguments, **options):
            done = self.run(*arguments, "--json", "-q", **options)
            assert (done.returncode, done.stderr) == (0, "")
            return [json.loads(line) for line in done.stdout.splitlines()]

        def list(self, *arguments, **options):
            return self._objects("list", *arguments, **options)

        def clean(self, *arguments, **options):
            return {Path(o["path"]).name: o for o in self._objects("clean", *arguments, **options)}

        def state(self, pid):
            """The only segment with this pid."""
            found = [entry["state"] for entry in self.list() if entry["pid"] == pid]
            assert len(found) == 1
            return found[0]

        def segment(self, pid, content=b"", kind="progress"):
            """A file that nobody has open, with the name of a segment."""
            path = self.path / ("%s.%d.%d" % (kind, self.uid, pid))
            path.write_bytes(content)
            path.chmod(0o600)
            return path

        def names(self):
            return {path.name for path in self.path.iterdir()}
    return Shm()


def _readable_by_others(path):
    """Whether any user can read the file and enter all folders above it."""
    if not path.stat().st_mode & stat.S_IROTH:
        return False
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)


@pytest.fixture(scope="session")
def unprivileged():
    """Runs commands without privileges, whoever runs the tests.

    .command([...]) is the command line to use, .juggle and .app(name) are paths that
    this user can execute, and .dir is a folder that it can write to.
    """
    class Unprivileged:
        uid = os.geteuid() or helpers.NOBODY
        dir = Path(tempfile.mkdtemp(prefix="juggle-test."))
        _build = helpers.BUILD

        def command(self, command):
            if os.geteuid() != 0:
                return [str(part) for part in command]
            return helpers.as_user(command, self.uid)

        @property
        def juggle(self):
            return helpers.juggle_path(self._build)

        def app(self, name):
            return helpers.app(name, self._build)

        def run(self, command, **options):
            options.setdefault("cwd", str(self.dir))
            return helpers.run(self.command(command), **options)

    user = Unprivileged()
    atexit.register(shutil.rmtree, user.dir, ignore_errors=True)
    if os.geteuid() == 0:
        if subprocess.run(user.command(["true"]), stdin=subprocess.DEVNULL,
                          check=False).returncode != 0:
            pytest.skip("setpriv cannot take privileges away here")
        if not _readable_by_others(Path(helpers.juggle_path())):
            # A checkout below root's home: give the user copies of the programs.
            copy = user.dir / "build"
            for folder in ("daemon", "apps"):
                (copy / folder).mkdir(parents=True)
                for file in (helpers.BUILD / folder).iterdir():
                    if file.is_file() and os.access(file, os.X_OK):
                        shutil.copy(file, copy / folder)
            user._build = copy
        for path in [user.dir, *user.dir.rglob("*")]:
            path.chmod(0o755)
        os.chown(user.dir, user.uid, user.uid)
    return user
