# SPDX-License-Identifier: MIT
"""The same command in several ways, in turn: what the benchmarks of whole programs share.

A way (a column of the tables) is pinned threads, the Linux balancer, or juggle with some options.
"""

import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
TELLING_REPEATS = 5  # fewer say nothing about differences
COLUMNS = {
    "pinned": None,
    "linux": None,
    "juggle": "",
}


def add_arguments(parser, cpu_count=2):
    parser.add_argument("--build", default=os.environ.get("JUGGLE_BUILD", REPO / "build"), type=Path,
                        help="folder of the build to measure (default: build)")
    parser.add_argument("--repeats", type=int, help="runs of each column (default: 5, quick: 3)")
    parser.add_argument("--cpus", default=",".join(map(str, sorted(os.sched_getaffinity(0))[:cpu_count])),
                        help=f"CPUs to use, as taskset -c takes them (default: the first {cpu_count})")
    parser.add_argument("--column", action="append", default=[], metavar="NAME=OPTIONS",
                        help="another column: juggle with these options; may be repeated")
    parser.add_argument("--skip", default="", metavar="NAMES", help="columns to leave out, such as pinned")
    parser.add_argument("--json", metavar="FILE", help="write all times and ratios there")


def complete(args, columns=COLUMNS):
    """Fills in what the command line left open: args.columns becomes name -> options."""
    args.repeats = args.repeats or (3 if args.quick else 5)
    args.columns = dict(columns)
    for column in args.column:
        name, _, options = column.partition("=")
        args.columns[name] = options
    for name in filter(None, args.skip.split(",")):
        args.columns.pop(name, None)
    args.build = args.build.resolve()  # commands may run in other folders
    args.juggle = built(args, "daemon/juggle")


def fail(message):
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


def built(args, program):
    """The path of a program of the build."""
    path = args.build / program
    if not path.exists():
        fail(f"{path} is missing; build first, or give --build")
    return path


def list_cpus(args):
    """The CPUs to use, ascending."""
    result = subprocess.run(
        ["taskset", "-c", args.cpus, "python3", "-c", "import os; print(*os.sched_getaffinity(0))"],
        capture_output=True, text=True)
    if result.returncode != 0:
        fail(f"--cpus {args.cpus}: {result.stderr.strip()}")
    return sorted(map(int, result.stdout.split()))


def count_cpus(args):
    return len(list_cpus(args))


def ubench_rate(args):
    """Steps of ubench in a millisecond, for --rate: all runs do the same work."""
    result = subprocess.run(["taskset", "-c", args.cpus, built(args, "apps/ubench"), "--calibrate"],
                            capture_output=True, text=True)
    if result.returncode != 0:
        fail(f"cannot run ubench on CPUs {args.cpus}: {result.stderr.strip()}")
    return json.loads(result.stdout)["rate_steps_per_ms"]


def wrap(args, column, command, pin=()):
    """The command line that runs `command` in the way of a column; `pin` is the command's own option
    for pinned threads, if it has one."""
    on_cpus = ["taskset", "-c", args.cpus]
    if column == "pinned":
        return on_cpus + command + list(pin) if pin else \
            on_cpus + [str(args.juggle), "-q", "-P", "static", "--"] + command
    if column == "linux":
        return on_cpus + command
    return on_cpus + [str(args.juggle), "-q", *shlex.split(args.columns[column]), "--"] + command


def timed(command, **options):
    """Seconds from start to exit; a command that fails ends the benchmark."""
    begin = time.monotonic()
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True, **options)
    if result.returncode != 0:
        fail(f"{shlex.join(map(str, command))} failed: {result.stderr.strip()[-300:]}")
    return time.monotonic() - begin


def measure(args, run):
    """Column -> times of run(column), one of each repeat."""
    columns = list(args.columns)
    times = {column: [] for column in columns}
    for repeat in range(args.repeats):
        # Vary the order: the machine's condition changes.
        for column in columns[repeat % len(columns):] + columns[:repeat % len(columns)]:
            times[column].append(run(column))
    return times


def ratio(times, base, column):
    """How many times as fast as the base the column is, by medians; None where one is left out."""
    if base not in times or column not in times:
        return None
    return statistics.median(times[base]) / statistics.median(times[column])


def heads(columns, bases=("pinned", "linux")):
    """Names of ratios, COLUMN/BASE: each base with the columns behind it."""
    names = list(columns)
    return [f"{column}/{base}" for base in bases if base in names for column in names[names.index(base) + 1:]]


def ratios(times, heads):
    """Name -> ratio, for names of heads()."""
    return {head: ratio(times, head.split("/")[1], head.split("/")[0]) for head in heads}


def outside(repeats, confidence=0.95):
    """How many of the smallest, and of the largest, of all means of two pairs are outside their range."""
    chance = [1.0]  # of each sum of ranks, each of which counts for either sign with probability 1/2
    for rank in range(1, repeats + 1):
        chance = [(with_it + without) / 2 for with_it, without in zip([0] * rank + chance, chance + [0] * rank)]
    count, below = 0, chance[0]
    while 2 * (below + chance[count + 1]) <= 1 - confidence:
        count += 1
        below += chance[count]
    return count


def speedup(base, times):
    """How many times as fast as the base, and from what to what that may be by Wilcoxon's signed-rank test on the
    repeats, with 95 percent confidence (94 with TELLING_REPEATS, less with fewer); as jugglectl compare has it."""
    logs = [math.log(b / t) for b, t in zip(base, times, strict=True)]
    means = sorted((one + other) / 2 for i, one in enumerate(logs) for other in logs[:i + 1])
    left_out = outside(len(logs))
    return tuple(map(math.exp, (statistics.median(means), means[left_out], means[-1 - left_out])))


def spread(times):
    """The range of times, relative to their median."""
    return (max(times) - min(times)) / statistics.median(times)
