# SPDX-License-Identifier: MIT
"""The same command in several ways, in turn: what the benchmarks of whole programs share.

A way (a column of the tables) is pinned threads, the Linux balancer, or juggle with some options.
"""

import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
COLUMNS = {
    "pinned": None,
    "linux": None,
    "juggle": "",
}


def add_arguments(parser):
    parser.add_argument("--build", default=os.environ.get("JUGGLE_BUILD", REPO / "build"), type=Path,
                        help="folder of the build to measure (default: build)")
    parser.add_argument("--repeats", type=int, help="runs of each column (default: 5, quick: 3)")
    parser.add_argument("--cpus", help="CPUs to use, as taskset -c takes them (default: the first two)")
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
    if args.cpus is None:
        args.cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    args.build = args.build.resolve()  # commands may run in other folders
    args.juggle = args.build / "daemon" / "juggle"
    if not args.juggle.exists():
        fail(f"{args.juggle} is missing; build first, or give --build")


def fail(message):
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


def count_cpus(args):
    return len(subprocess.run(
        ["taskset", "-c", args.cpus, "python3", "-c", "import os; print(*os.sched_getaffinity(0))"],
        capture_output=True, text=True, check=True).stdout.split())


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


def spread(times):
    """The range of times, relative to their median."""
    return (max(times) - min(times)) / statistics.median(times)
