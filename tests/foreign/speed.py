# SPDX-License-Identifier: MIT
"""hackbench and EPCC's syncbench: no slower under juggle than under Linux? Both tell their own times."""

import math
import os
import re
import statistics
import subprocess
from functools import partial

import side_by_side as ways
import suites

AT_LEAST = 0.99


def _output(args, column, command, env):
    done = subprocess.run(ways.wrap(args, column, command), env=os.environ | env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        ways.fail(f"{' '.join(command)} failed: {done.stdout[-300:]}")
    return done.stdout


def hackbench(args):
    """Name of a measurement -> function of a column that gives named times."""
    suites.need("hackbench")

    def run(how, column):
        said = _output(args, column, ["hackbench", *how, "-g", "4", "-l", "500" if args.quick else "3000"], {})
        return {"": float(re.search(r"Time: ([\d.]+)", said)[1])}
    return {"hackbench " + " ".join(how): partial(run, how)
            for how in (["-P"], ["-T"], ["-P", "-p"], ["-T", "-p"])}


def syncbench(args):
    program = suites.find_built(args, "epcc", "syncbench")

    def run(threads, column):
        said = _output(args, column, [str(program), "--outer-repetitions", "10" if args.quick else "50"],
                       {"OMP_NUM_THREADS": str(threads)})
        return {name: float(us) for name, us in re.findall(r"^([A-Z/ ]+?) +time +=\s+([\d.]+)", said, re.M)}
    return {f"syncbench, {threads} threads": partial(run, threads)
            for threads in (args.threads - 1, args.threads)}


BENCHMARKS = {"hackbench-speed": hackbench, "syncbench": syncbench}


def measure(args, names):
    """Prints a table, and returns all times and ratios. A measurement with several times counts by the
    geometric mean of their ratios."""
    columns = dict(args.columns)
    args.columns = {column: options for column, options in columns.items() if column != "always"}
    ours = [column for column in args.columns if column != "linux"]
    found = {}
    if names:
        print(f"speed: {args.repeats} repeats; medians and spreads; >1: faster than under Linux; "
              f"at least {AT_LEAST} is the aim")
    for name in names:
        try:
            measurements = BENCHMARKS[name](args)
        except suites.Missing as missing:
            print(f"{name}: left out: {missing}")
            continue
        for title, run in measurements.items():
            runs = ways.measure(args, run)
            times = {what: {column: [run[what] for run in runs[column]] for column in runs}
                     for what in runs["linux"][0]}
            found[title] = {"times": times, "ratios": {
                column: {what: ways.ratio(times[what], "linux", column) for what in times} for column in ours}}
            _print(title, found[title], ours)
    args.columns = columns
    return found


def _print(title, found, ours):
    def spread(column):
        return statistics.median(ways.spread(times[column]) for times in found["times"].values())
    for column in ours:
        ratios = found["ratios"][column]
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        worst = min(ratios, key=ratios.get)
        print(f"  {title:28} {column:10} {mean:7.3f}  spreads {spread('linux'):6.1%} {spread(column):6.1%}" +
              (f"  least {ratios[worst]:.3f} ({worst})" if len(ratios) > 1 else "") +
              ("" if mean >= AT_LEAST else "  BELOW"), flush=True)
