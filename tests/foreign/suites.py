# SPDX-License-Identifier: MIT
"""The suites that tests/foreign/foreign runs: where each is from, its cases, and how a case's verdict is taken.

stress-ng, hackbench, rt-app and MPICH's tests come from Debian. The sources of the others are fetched at a stated
commit, built by hand, as their own documentation says, and looked for in the folder of the suites: ltp (an
installation, with the conformance folder of its POSIX tests), OpenMP_VV (its binaries in bin), and epcc (with
syncbench). Links to such folders will do.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable


class Missing(Exception):
    """A suite is not there; the message says what to do about it."""


@dataclass
class Case:
    name: str
    command: list
    limit_s: float = 60
    env: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)  # name -> text, to be written into the case's own folder
    skips: tuple = ()  # exit statuses that mean: cannot be tested here
    says: Callable = None  # verdict from (exit status, output), instead of that from the exit status

    def verdict(self, status, output):
        if self.says:
            return self.says(status, output)
        return "pass" if status == 0 else "skip" if status in self.skips else "fail"


@dataclass
class Suite:
    title: str
    source: str
    cases: Callable  # (args) -> list of cases; raises Missing


def need(program, package="tools/install-packages foreign"):
    if not shutil.which(program):
        raise Missing(f"no {program} ({package})")


# About threads, processes, schedulers and affinity. Not softlockup and cpu-online, which stop other programs;
# not mmapfork and forkheavy, which take all memory, and all of /tmp.
STRESSORS = """affinity clone cpu cyclic daemon eventfd exec exit-group fork futex get hrtimers kill
    msg mutex nanosleep netlink-proc nice numa pidfd pipe poll prctl pthread ptrace race-sched resched
    schedpolicy sem sem-sysv session set sigpending sleep spawn switch timer tlb-shootdown vfork vforkmany wait
    yield zombie"""


def stress_ng(args):
    need("stress-ng")
    return [Case(name, ["stress-ng", f"--{name}", str(args.threads), "--verify", "--timeout", f"{args.seconds}s"],
                 skips=(3, 4)) for name in STRESSORS.split()]


def hackbench(args):
    need("hackbench")
    return [Case(" ".join(how), ["hackbench", *how, "-l", str(100 * args.seconds)])
            for how in (["-P"], ["-P", "-p"], ["-T"], ["-T", "-p"], ["-T", "-g", "2"], ["-P", "-i", "-g", "2"],
                        ["-T", "-s", "4096", "-g", "2"], ["-P", "-F"])]


RT_APP_EXAMPLES = Path("/usr/share/doc/rt-app/examples")


def rt_app(args):
    need("rt-app")
    cases = []
    for path in sorted(RT_APP_EXAMPLES.glob("**/*.json")):
        text, timed = re.subn(r'^(\s*"duration" : )\d+,', rf"\g<1>{args.seconds},", path.read_text(), flags=re.M)
        text = text.replace('"CPU0"', "50")  # ns of a loop, rather than measured each time
        if timed and '"tasks"' in text:  # the others are pieces, or last as long as their loops say
            cases.append(Case(path.stem, ["rt-app", path.name], files={path.name: text}))
    if not cases:
        raise Missing(f"no examples in {RT_APP_EXAMPLES} (apt-get install --reinstall rt-app)")
    return cases


def _builder(folder):
    """Makes the folder. Returns a function that runs a command there, and writes to its log."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"

    def run(*command, cwd=folder, check=True):
        with open(log, "a") as file:
            try:
                subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=check)
            except (OSError, subprocess.CalledProcessError):
                raise Missing(f"{' '.join(command)} failed; see {log}") from None
    return run


SOURCES = {  # of what Debian has not: repository and commit
    "ltp": ("https://github.com/linux-test-project/ltp.git", "695827725f4fc14fe583043127e0335c29bbd52d"),
    "OpenMP_VV": ("https://github.com/OpenMP-Validation-and-Verification/OpenMP_VV.git",
                  "0c4118d18054c8164b70e78c2f1d5a2333f001d2"),
    "epcc": ("https://github.com/EPCCed/epcc-openmp-microbenchmarks.git", "d4a904cbfc95c104bf052b097a07d256548866f7"),
}


def _fetch(folder, name):
    """Fetches the sources of a suite. Returns their folder."""
    source = folder / f"{name}-source"
    if (source / ".git" / "index").exists():
        return source
    run = _builder(source)
    run("git", "init", "-q")
    run("git", "fetch", "-q", "--depth", "1", *SOURCES[name])
    run("git", "checkout", "-q", "-f", "FETCH_HEAD")
    return source


def find_built(args, name, program):
    """A program, or folder, of a suite that is built by hand. Without it the sources are fetched."""
    path = args.folder / name / program
    if not path.exists():
        source = _fetch(args.folder, name)
        raise Missing(f"no {path} (its sources are in {source}: build them as they say)")
    return path


LTP_SYSCALLS = re.compile(r"(sched_|getcpu|nice|futex_|clone|fork|vfork|[gs]etpriority)")
# Cases that last for longer than the limit, and for how much of that they are run.
LTP_SHORTER = {"fork13": {"LTP_RUNTIME_MUL": "0.05"}}  # of ten minutes
# Exit statuses of LTP: 32 is TCONF alone; the conformance tests have 4 and 5 for unsupported and untested.
TCONF, PTS_UNSUPPORTED, PTS_UNTESTED = 32, 4, 5


def ltp(args):
    root = find_built(args, "ltp", "runtest").parent
    programs = root / "testcases" / "bin"
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "LTPROOT": str(root), "LTP_COLORIZE_OUTPUT": "n"}
    cases = []
    for part in ("sched", "nptl", "syscalls"):
        for line in (root / "runtest" / part).read_text().splitlines():
            name, _, command = line.strip().partition("\t" if "\t" in line else " ")
            words = command.split()
            if not words or name.startswith("#") or part == "syscalls" and not LTP_SYSCALLS.match(name):
                continue
            if (programs / words[0]).exists() and words[0] != "hackbench":  # a suite of its own
                cases.append(Case(f"{part}/{name}", words, 300, env | LTP_SHORTER.get(name, {}), skips=(TCONF,)))
    return cases


LTP_POSIX = ("pthread_*", "sched_*", "sem_*")


def posix(args):
    root = find_built(args, "ltp", "conformance") / "interfaces"
    return [Case(f"{path.parent.name}/{path.name.removesuffix('.run-test')}", [str(path)], 120,
                 skips=(PTS_UNSUPPORTED, PTS_UNTESTED))
            for kind in LTP_POSIX for path in sorted(root.glob(f"{kind}/*.run-test"))]


# A test of OpenMP_VV is over before juggle has looked at its threads: ten in one job are not.
TEN_TIMES = ["sh", "-c", 'for i in 1 2 3 4 5 6 7 8 9 10; do "$0" || exit; done']


def openmp_vv(args):
    programs = find_built(args, "OpenMP_VV", "bin")

    def says(status, output):
        return "skip" if "Test skipped" in output else "pass" if status == 0 else "fail"
    return [Case(path.stem.removesuffix(".c"), [*TEN_TIMES, str(path.resolve())], says=says,
                 env={"OMP_NUM_THREADS": str(args.threads)}) for path in sorted(programs.glob("*.o"))]


MPICH_PARTS = ("coll", "pt2pt", "threads/coll", "threads/comm", "threads/init", "threads/mpi_t", "threads/pt2pt")


def mpich(args):
    need("mpiexec.mpich")
    tests = _build_mpich(args.folder / "mpich")

    def says(status, output):
        return "pass" if status == 0 and "No Errors" in output else "fail"
    cases = []
    for part in MPICH_PARTS:
        for line in (tests / part / "testlist").read_text().splitlines():
            words = line.split("#")[0].split()
            if len(words) < 2 or not (tests / part / words[0]).exists():
                continue
            more = [word.partition("=")[::2] for word in words[2:]]
            if "xfail" not in dict(more):
                cases.append(Case(
                    f"{part}/{' '.join(words)}",
                    ["mpiexec.mpich", "-n", words[1], str(tests / part / words[0]),
                     *(value for key, value in more if key == "arg")],
                    300, dict(value.split("=", 1) for key, value in more if key == "env"), says=says))
    return cases


def _build_mpich(folder):
    """The folder of the tests, built in their source tree."""
    need("mpicc.mpich")
    run = _builder(folder)
    if not list(folder.glob("mpich-*/test/mpi")):
        run("apt-get", "source", "mpich")  # needs a deb-src line
    tests, = folder.glob("mpich-*/test/mpi")
    if not (tests / "built").exists():
        run("./configure", "MPICC=mpicc.mpich", "--disable-cxx", "--disable-fortran",
            "--disable-rma", "--disable-spawn", cwd=tests)
        for part in ("util", *MPICH_PARTS):  # those that want another MPICH cannot be built
            run("make", "-k", cwd=tests / part, check=False)
        (tests / "built").touch()
    return tests


SUITES = {
    "stress-ng": Suite("stress-ng's stressors of threads and schedulers", "Debian", stress_ng),
    "hackbench": Suite("hackbench", "Debian (rt-tests)", hackbench),
    "rt-app": Suite("rt-app's examples", "Debian", rt_app),
    "mpich": Suite("MPICH's tests: coll, pt2pt, threads", "Debian (source of mpich)", mpich),
    "ltp": Suite("LTP: sched, nptl, and system calls of scheduling", "LTP", ltp),
    "posix": Suite("LTP's POSIX conformance: pthread, sched, sem", "LTP", posix),
    "openmp-vv": Suite("OpenMP_VV, the C part", "OpenMP_VV", openmp_vv),
}

BOTH = ("juggle", "always")
# (suite, name of the case as a pattern, columns, reason): verdicts that differ, and should. See CAVEATS in
# juggle(1) on affinity.
EXPECTED = [
    ("stress-ng", "affinity", BOTH,
     "binds itself to a CPU and asks at once whether it is there; juggle has moved it meanwhile"),
    ("ltp", "syscalls/nice05", BOTH,
     "binds two threads to one CPU and wants the nicer one to run less; juggle spreads bound threads, too"),
    ("posix", "pthread_create/pthread_create_1-6", ("always",),
     "binds threads to one CPU and wants the one of higher priority to run first; juggle spreads bound threads, too"),
]
