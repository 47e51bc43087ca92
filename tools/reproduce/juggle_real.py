# SPDX-License-Identifier: MIT
"""Section 5 of the Juggle paper with real programs on this machine.

Programs are NAS benchmarks that the user has built, or the three kernels of apps/nas. Each part is
some experiments of the paper; its runs are interleaved, so that changes of the machine affect all
ways alike. juggle_real_report makes tables and pictures of the runs.
"""

import json
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import juggle_real_report as report
from experiment import REPO, Progress, Stolen, command_line, die, end_with_parent, whole

sys.path.append(str(REPO / "tests" / "bench"))
import side_by_side as ways  # noqa: E402

DEFAULT_MPIRUN = "mpirun"
REPEATS, QUICK_REPEATS = 25, 3  # Section 5.4
SECONDS, QUICK_SECONDS = 5, 0.5
KERNELS = ["ep", "cg", "mg"]
CLASSES = ["S", "W", "A", "B"]
LLVM_OPENMP = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / "libomp.so.5"
PARTS = {"table4": "Table 4", "table5": "Table 5", "fig16": "Figs. 16 to 18, Tables 6 and 7, Section 5.5",
         "fig19": "Fig. 19, Table 8", "fig20": "Fig. 20"}
FEWER = ["table4", "table5"]  # a third of the repeats: their subject is not the balancer
OPTIONS = {"juggle": "", "paper": "-P juggle2012", "observe": "-P observe"}  # of juggle

# How threads wait at a barrier, for the runtimes of gcc, and of LLVM and Intel. k is how long they
# spin and yield before they sleep; gcc's only counts, and gives up soon when there are more threads
# than CPUs. "spin": they never yield, as UPC's by default. "mpi": as MPI has it.
BARRIERS = {
    "k=0": {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0",
            "OMPI_MCA_mpi_yield_when_idle": "1"},
    "k=200": {"GOMP_SPINCOUNT": "20000000", "KMP_BLOCKTIME": "200"},
    "spin": {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinite", "KMP_BLOCKTIME": "infinite",
             "KMP_USE_YIELD": "0", "OMPI_MCA_mpi_yield_when_idle": "0"},
    "mpi": {},
}
# For Open MPI: more ranks than CPUs, where Linux and juggle may move them.
MPI_ENVIRONMENT = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
HOG_CYCLE_S = 30  # a run of EP, in the paper: ours see as many turns of the hogs

DESCRIPTION = f"""
Section 5 on this machine, with real programs: the NAS Parallel Benchmarks, or three kernels of ours like EP, CG and MG.
NPB is at https://www.nas.nasa.gov/software/npb.html. In its folder NPB3.4-OMP, copy config/make.def.template to
config/make.def, then `make ep CLASS=A` and so on; DIR is bin/. Programs of NPB-MPI need mpirun. Their time is
what they print, or from start to exit. Parts: {'; '.join(f'{name}: {what}' for name, what in PARTS.items())}.
"""


def add_options(parser):
    """Options that only --real has."""
    group = parser.add_argument_group("with --real", DESCRIPTION)
    group.add_argument("--real", action="store_true", help="real programs on this machine instead of simulations; "
                       "some hours, with --quick a few minutes on 2 CPUs")
    group.add_argument("--programs", type=Path, metavar="DIR",
                       help="NAS programs, named ep.A.x; ep.A.4.x has 4 MPI ranks (default: our kernels)")
    group.add_argument("--class", dest="size", metavar="NAME",
                       help="this class only, such as A (default: all; of our kernels, what fits --seconds)")
    group.add_argument("--mpi", action="store_true", default=None,
                       help="programs without a number of ranks in their name are MPI programs, too")
    group.add_argument("--mpirun", metavar="COMMAND",
                       help=f"starts ranks; -n and their number follow (default: {DEFAULT_MPIRUN})")
    group.add_argument("--cpus", metavar="LIST", help="CPUs to use, as taskset -c takes them (default: all)")
    group.add_argument("--threads", type=whole(1), metavar="N",
                       help="threads or ranks where there should be more than CPUs (default: one more)")
    group.add_argument("--seconds", type=float, metavar="S",
                       help=f"length of a run of our kernels, about (default: {SECONDS}, quick: {QUICK_SECONDS})")
    group.add_argument("--repeats", type=whole(1), metavar="N",
                       help=f"runs of each kind, in {' and '.join(FEWER)} a third of them "
                       f"(default: {REPEATS}, quick: {QUICK_REPEATS})")
    group.add_argument("--parts", metavar="NAME,NAME",
                       help="these only (default: all; with --quick, fig16 has no k = 0)")


def check_options(parser, args):
    """Completes the options; refuses those of the other kind."""
    own = {"programs": "programs", "size": "class", "mpi": "mpi", "mpirun": "mpirun", "cpus": "cpus",
           "threads": "threads", "seconds": "seconds", "repeats": "repeats", "parts": "parts"}
    given = [f"--{option}" for name, option in own.items() if getattr(args, name) is not None]
    if not args.real:
        if given:
            parser.error(f"{', '.join(given)}: only with --real")
        return
    if args.figures:
        parser.error("--figures: not with --real, which has --parts")
    args.parts = args.parts.split(",") if args.parts else list(PARTS)
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(PARTS)}")
    if not args.programs and args.size not in (None, *CLASSES):
        parser.error(f"--class: of our kernels {', '.join(CLASSES)}")
    if args.seconds is None:
        args.seconds = QUICK_SECONDS if args.quick else SECONDS
    if not 0 < args.seconds < math.inf:
        parser.error("--seconds: above 0")
    args.repeats = args.repeats or (QUICK_REPEATS if args.quick else REPEATS)
    args.mpirun = shlex.split(DEFAULT_MPIRUN if args.mpirun is None else args.mpirun)
    if not args.mpirun:
        parser.error("--mpirun: a command")
    args.cpus = ways.list_cpus(Namespace(cpus=args.cpus)) if args.cpus else sorted(os.sched_getaffinity(0))
    args.threads = args.threads or len(args.cpus) + 1
    args.build = args.build.resolve()
    for name in ("daemon/juggle", "apps/noise"):
        if not (args.build / name).exists():
            parser.error(f"{args.build / name} is missing; build first, or give --build")


# ---- Programs ----

@dataclass
class Program:
    name: str  # such as ep.A
    command: list
    environment: dict
    mpi: bool = False
    ranks: int = None  # the only possible number
    seconds: float = 0  # of a run with more threads than CPUs, about

    @property
    def benchmark(self):
        return self.name.partition(".")[0]

    def shown(self):
        """What a shell would take."""
        return shlex.join([*(f"{name}={value}" for name, value in self.environment.items()), *self.command])

    def threads(self, wanted):
        return self.ranks or wanted

    def start(self, args, threads, barrier):
        """Its command line and environment."""
        env = os.environ | self.environment | BARRIERS[barrier]
        if not self.mpi:
            return self.command, env | {"OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false",
                                        "OMP_PROC_BIND": "false"}
        return [*args.mpirun, "-n", str(threads), *self.command], env | MPI_ENVIRONMENT | {"OMP_NUM_THREADS": "1"}


def find_programs(args):
    """The NAS programs of the folder."""
    found = []
    try:
        paths = sorted(args.programs.iterdir())
    except OSError as error:
        die(f"{args.programs}: {error.strerror}")
    for path in paths:
        match = re.fullmatch(r"([a-z]+)\.([A-Z])(?:\.(\d+))?(?:\.x)?", path.name)
        if not match or not path.is_file() or not os.access(path, os.X_OK) or args.size not in (None, match[2]):
            continue
        ranks = int(match[3]) if match[3] else None
        found.append(Program(f"{match[1]}.{match[2]}", [str(path.resolve())], {}, bool(ranks or args.mpi), ranks))
    if not found:
        die(f"{args.programs}: no program there is named as NAS's are, such as ep.{args.size or 'A'}.x")
    return found


def make_kernels(bench):
    """Our own, with classes and repeats such that a run takes about args.seconds."""
    args = bench.args
    env = {}
    if LLVM_OPENMP.exists() and "LD_PRELOAD" not in os.environ:
        env = {"LD_PRELOAD": str(LLVM_OPENMP)}
    programs = []
    for kernel in KERNELS:
        path = args.build / "apps" / f"nas-{kernel}"
        if not path.exists():
            die(f"{path} is missing: built without OpenMP; give --programs")
        found = None  # class and seconds
        for size in [args.size] if args.size else CLASSES:
            program = Program(f"{kernel}.{size}", [str(path), "--class", size], env)
            time_s = min(bench.run(program, args.threads, args.cpus, "k=200", "linux")["time_s"] for _ in range(2))
            if found is None or time_s < 1.5 * args.seconds:
                found = size, time_s
            if time_s > args.seconds / 3:
                break
        size, time_s = found
        repeats = max(1, round(args.seconds / time_s))
        programs.append(Program(f"{kernel}.{size}", [str(path), "--class", size, "--repeats", str(repeats)], env,
                                seconds=repeats * time_s))
    return programs


# ---- Runs ----

def words_of(cpus):
    """The CPUs as taskset takes them."""
    return ",".join(map(str, cpus))


class Bench:
    """Runs one command at a time, or two."""

    def __init__(self, args, folder):
        self.args = args
        self.folder = Path(folder)  # for reports

    def run(self, program, threads, cpus, barrier, way, polite=False, name="report"):
        """One run to its end. polite: with a nice value of 3 more. Returns its time, its memory, and what
        juggle reported. `name` tells apart the reports of runs at the same time."""
        command, env = program.start(self.args, program.threads(threads), barrier)
        path = self.folder / name
        options = f"{OPTIONS.get(way, '')} --report {shlex.quote(str(path))}"
        command = ways.wrap(Namespace(cpus=words_of(cpus), juggle=self.args.build / "daemon" / "juggle",
                                      columns={way: options}), way, command)
        if polite:
            command = ["nice", "-n", "3", *command]
        path.unlink(missing_ok=True)
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            begin = time.monotonic()
            process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
            _, status, usage = os.wait4(process.pid, 0)
            elapsed_s = time.monotonic() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            said = output.read()
        if process.returncode != 0 or "UNSUCCESSFUL" in said:
            why = f"exit status {process.returncode}" if process.returncode else "wrong results"
            die(f"{why} from {shlex.join(command)}\n{said.strip()[-500:]}")
        told = re.search(r'(?:"elapsed_s":|Time in seconds\s*=)\s*([0-9.]+)', said)
        result = {"time_s": float(told[1]) if told and float(told[1]) > 0 else elapsed_s,
                  "memory_bytes": usage.ru_maxrss * 1024}
        if path.exists():
            full = json.loads(path.read_text())
            result |= {key: full[key] for key in ("elapsed_s", "cycles", "cycle_us", "migrations", "balancer_cpu_s")}
            result |= {key: full["phases"][key] for key in ("phases", "work_s")}
        return result

    def case(self, case, repeat):
        """The run of a case, or the two; each a dictionary."""
        programs = case["programs"]
        hogs = self.hogs(programs[0], repeat) if case.get("hogs") else None
        try:
            with ThreadPoolExecutor(len(programs)) as pool:
                futures = [pool.submit(self.run, program, case["n"], self.args.cpus[:case["m"]], case["barrier"],
                                       case["way"], polite=hogs is not None, name=f"report-{i}")
                           for i, program in enumerate(programs)]
                results = [future.result() for future in futures]
        finally:
            if hogs:
                hogs.terminate()
                hogs.communicate()
        return [{"program": program.name, "beside": other.name if len(programs) > 1 else "",
                 "n": program.threads(case["n"]), "repeat": repeat,
                 **{key: case[key] for key in ("part", "m", "barrier", "way")}, **result}
                for program, other, result in zip(programs, reversed(programs), results)]

    def hogs(self, program, repeat):
        """Section 5.4: two, one of which has twice the weight of the other and of the program."""
        base = os.nice(0)
        scale = max(1e-4, program.seconds / HOG_CYCLE_S)
        command = [self.args.build / "apps" / "noise", "--pattern", "hogs", "--count", "2", "--scale", f"{scale:.6f}",
                   "--nice", f"{base},{min(base + 3, 19)}", "--seed", str(repeat + 1), "--with-parent"]
        return subprocess.Popen(["taskset", "-c", words_of(self.args.cpus), *command], stdout=subprocess.PIPE,
                                preexec_fn=end_with_parent)


# ---- Parts: each is a list of cases ----

def cases_of(part, args, programs):
    n, m = args.threads, len(args.cpus)
    free = [program for program in programs if program.ranks is None]

    def case(*programs, way, n=n, m=m, barrier="k=200", **more):
        return {"part": part, "programs": programs, "n": n, "m": m, "barrier": barrier, "way": way, **more}

    if part == "table4":
        found = report.example(free)
        return [case(found, n=k * m + extra, way=way) for k in (1, 2, 4) for extra in (0, 1)
                for way in (["pinned", "juggle"] if extra else ["pinned"])] if found else []
    if part == "table5":
        return [case(program, n=count, m=count, way="observe") for program in free for count in {1, m}]
    if part == "fig16":
        openmp = ["k=200"] if args.quick else ["k=0", "k=200"]
        return [case(program, barrier=barrier, way=way) for program in programs
                for barrier in (["mpi"] if program.mpi else openmp) for way in report.WAYS]
    if part == "fig19":
        kinds = [(way, "spin") for way in report.WAYS] + [("linux", "k=0")]
        return [case(program, n=m, barrier=barrier, way=way, hogs=True)
                for program in programs for way, barrier in kinds]
    return [case(*pair, way=way) for pair in pairs(programs) for way in report.WAYS]


def pairs(programs):
    """Those with similar times; each is in one at least."""
    order = sorted(programs, key=lambda program: program.seconds)
    found = list(zip(order[::2], order[1::2]))
    if len(order) % 2:
        found.append((order[-2] if len(order) > 1 else order[-1], order[-1]))
    return found


def run_all(bench, plan):
    """plan: the cases of each part, and how often to run them."""
    runs = []
    progress = Progress(sum(len(cases) * repeats for cases, repeats in plan))
    for cases, repeats in plan:
        for repeat in range(repeats if cases else 0):
            turn = repeat % len(cases)
            for case in cases[turn:] + cases[:turn]:
                runs += bench.case(case, repeat)
                progress.step()
    return runs


def run(args):
    stolen = Stolen()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, folder)
        if args.programs:
            programs = find_programs(args)
            for program in programs:
                program.seconds = bench.run(program, args.threads, args.cpus, "k=200", "linux")["time_s"]
        else:
            programs = make_kernels(bench)
        plan = [(cases_of(part, args, programs), max(1, args.repeats // 3) if part in FEWER else args.repeats)
                for part in args.parts]
        runs = run_all(bench, plan)
    machine = {"command": command_line(), "cpus": args.cpus, "threads": args.threads, "repeats": args.repeats,
               "kernel": platform.release(), "seconds": args.seconds, "stolen_share": stolen.share(),
               "programs": {program.name: program.shown() for program in programs}}
    (args.output / "runs.json").write_text(json.dumps({"machine": machine, "runs": runs}, indent=1) + "\n")
    report.write(args, machine, runs)
