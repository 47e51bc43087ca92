# SPDX-License-Identifier: MIT
"""PLB's experiments on the paper's machines, in virtual time, compared with the paper's results."""

import argparse
import json
import statistics

from experiment import command_line, commit, make_folder
from plb_report import (BRAIDS, LONGER, METHODS, draw, values, write_landscape, write_solution, write_spread)
from simulated import height_name, simulate, simulate_all

SOCKETS = 2
NOISE = "0:19"  # Section 4.3: the worker next to the source, which has the northernmost strip
UPDATE_NS = 92000  # of 300 x 300 cells, by one of their cores

# Heights of the source, relative to the initial value of the cells inside. The paper does not give
# it: jacobi's, and one that the paper's times suggest, which depends on the cells.
HEIGHTS = [1, 60]
QUICK_HEIGHTS = [1, 100]

# Table 2, in percent. Cores, then by method.
MACHINES = {"ARCHER": 24, "Cirrus": 36}
# By how many percent cores differ to either side. With noise the spread of async(1) grew by 443 % and 107 %
# (Section 5.1): from 2 v to v + 19, for speeds from 100 - v to 100 + v. Nothing else is fitted to it.
VARIATION = {"ARCHER": 1.9, "Cirrus": 6}
TABLE_2 = {
    "sync": {"ARCHER": "18", "Cirrus": "13"},
    "ssync(1)": {"ARCHER": "18", "Cirrus": "11"},
    "ssync(30)": {"ARCHER": "18", "Cirrus": "11"},
    "async(1)": {"ARCHER": "10", "Cirrus": "8"},
    "async(4)": {"ARCHER": "11", "Cirrus": "9"},
    "async(4) + split(0.001)": {"ARCHER": "<1", "Cirrus": "1"},
    "async(4) + joint(0.001)": {"ARCHER": "1", "Cirrus": "1"},
    "async(4) + hybrid(0.001, 500)": {"ARCHER": "1", "Cirrus": "-2"},
}
# Section 5.2: iterations lost against async(1), without noise, in percent.
OVERHEADS = {
    "async(4)": {"ARCHER": "4", "Cirrus": "-"},
    "async(4) + split(0.001)": {"ARCHER": "5 to 7", "Cirrus": "1 to 2"},
    "async(4) + joint(0.001)": {"ARCHER": "17 to 19", "Cirrus": "7 to 9"},
    "async(4) + hybrid(0.001, 500)": {"ARCHER": "4 to 7", "Cirrus": "1 to 2"},
}
# Section 5.1: how noise changes the spread, in percent; those that the text gives.
SPREADS = {
    "ssync(1)": {"ARCHER": "8", "Cirrus": "-"},
    "ssync(30)": {"ARCHER": "76", "Cirrus": "-"},
    "async(1)": {"ARCHER": "443", "Cirrus": "107"},
    "async(4) + hybrid(0.001, 500)": {"ARCHER": "-38", "Cirrus": "24"},
}
WHY = """\
Why they differ:
sync, ssync   A core that is 19 % slower costs 23 % where all wait for it. Less is lost where without noise all wait
              already for the slowest core, which is 1.9 % (ARCHER) and 6 % (Cirrus) slower here, as the spread of
              async(1) in the paper tells. It also depends on how slow the noisy core is by itself, which differs from
              run to run. ssync(30) has its first 30 iterations for nothing.
async         It depends on how much of the residual is next to the noisy core, so on the height of the source over
              what is inside at the start. The paper does not tell it. With 1, which jacobi has, nearly all of the
              residual is elsewhere and the noise hardly matters. With 60 it costs 12 % on ARCHER (with 100, where there
              are 60 x 60 cells for each core, 9 %): a height that is chosen for it, and not a prediction. What comes
              out on Cirrus with it, 8.5 %, was not looked at before.
balanced      The share of one core that is lost is 0.8 % of 24 and 0.5 % of 36; what is above comes from what is stale.
              Medians of the paper that are below that (-2 %) are within the scatter of its machines.
overhead      Here it has two parts: a balancing point costs 20 ns a subdomain, and an update 15 % more on the
              other socket. The paper's caches and memory, which are what ARCHER loses most by, are not simulated.
spread        Without noise it comes from how speeds differ, which is chosen so that that of async(1) is right; the others
              follow. With noise it grows with the number of iterations, in both."""


def sizes(args):
    if args.cells is None:
        args.cells = 60 if args.quick else 300
    args.height = args.height or (QUICK_HEIGHTS if args.quick else HEIGHTS)
    if args.repeats is None:
        args.repeats = 5 if args.quick else 1


def subdomains_each(method):
    """Of a worker."""
    options = METHODS[method]
    return int(options[options.index("--subdomains") + 1])


def options_of(args, machine, method, noisy, seed):
    """The options of jugglectl simulate plb."""
    return [*METHODS[method], "--workers", MACHINES[machine], "--sockets", SOCKETS, "--seed", seed, "--cut", "1d",
            "--variation", VARIATION[machine],
            "--update", f"{UPDATE_NS // subdomains_each(method)}ns", "--slow", NOISE if noisy else "none",
            "--dead-band", 0, "--move-cost", "0ns"]


def plan_of(args):
    plan = []
    for machine, cores in MACHINES.items():
        grid = f"{args.cells * cores}x{args.cells}"
        kinds = [("rate", 0, ["--iterations", args.iterations]),
                 ("longer", 0, ["--iterations", LONGER * args.iterations]),
                 *(("solution", height, ["--residual", args.residual, "--grid", grid, "--source", f"{height:g}"])
                   for height in args.height)]
        plan += [{"machine": machine, "kind": kind, "height": height, "method": method, "noise": noisy,
                  "repeat": repeat, "options": options_of(args, machine, method, noisy, repeat + 1) + options}
                 for repeat in range(args.repeats) for method in args.methods for noisy in (False, True)
                 for kind, height, options in kinds]
    # The longest first, so that none is left at the end.
    return sorted(plan, key=lambda run: (run["kind"] != "solution", -MACHINES[run["machine"]]))


def run_braids(args, machine):
    """Fig. 2, with noise."""
    written = []
    for method in BRAIDS:
        name = args.output / ("braid-" + ("balanced" if "+" in method else "unbalanced") + ".tsv")
        simulate(args, "plb", [*options_of(args, machine, method, True, 1), "--iterations", args.iterations,
                               "--series", name])
        columns = len(name.read_text().splitlines()[-1].split()) - 1
        written.append((name, method, columns, subdomains_each(method) * MACHINES[machine]))
    return written


def change(runs, kind, key, method):
    """The effect of noise on medians, in percent."""
    quiet, noisy = (statistics.median(values(runs, kind, method, noise, key)) for noise in (False, True))
    return f"{100 * (noisy / quiet - 1):+.1f}" if quiet > 0 else "-"


def overhead(runs, method):
    if "async(1)" not in {run["method"] for run in runs}:
        return "-"
    base, rate = (statistics.median(values(runs, "longer", name, False, "iteration_rate"))
                  for name in ("async(1)", method))
    return f"{100 * (1 - rate / base):.1f}"


def compare(args, runs):
    """Paper and simulated, side by side. `runs`: by machine."""
    names = [f"source {height:g}" for height in args.height]

    def rows(title, paper, columns, cell):
        head = "".join(f"{machine:>12}" + "".join(f"{name:>12}" for name in columns) for machine in MACHINES)
        lines = [f"{title:32}{head}"]
        for method in (method for method in args.methods if method in paper):
            found = ((paper[method][machine], *cell(runs[machine], method)) for machine in MACHINES)
            lines.append(f"{method:32}" + "".join(f"{x:>12}" for parts in found for x in parts))
        return lines + [""]

    def solutions(found, method):
        return [change([run for run in found if run["height"] == height], "solution", "elapsed_s", method)
                for height in args.height]

    lines = ["In percent: what the paper found on a machine, then what was simulated of it.", ""]
    lines += rows("Time to solution, with noise", TABLE_2, names, solutions)
    lines += rows("Spread, with noise", SPREADS, ["simulated"],
                  lambda found, method: [change(found, "rate", "spread", method)])
    lines += rows("Iterations lost", OVERHEADS, ["simulated"], lambda found, method: [overhead(found, method)])
    lines.append(WHY)
    (args.output / "paper.txt").write_text("\n".join(lines) + "\n")
    return lines


def run(args):
    sizes(args)
    print(f"Simulated, {args.cells} x {args.cells} cells for each core (the paper: 300 x 300), medians of "
          f"{args.repeats}; one core 19 % slower\n", flush=True)
    setup = {"command": command_line(), "commit": commit(), "cells": args.cells, "residual": args.residual,
             "iterations": args.iterations, "repeats": args.repeats, "update_ns": UPDATE_NS}
    runs = simulate_all(args, "plb", plan_of(args))
    (args.output / "runs.json").write_text(json.dumps({"simulated": setup, "runs": runs}, indent=1) + "\n")
    by_machine = {machine: [run for run in runs if run["machine"] == machine] for machine in MACHINES}
    for machine, found in by_machine.items():
        part = argparse.Namespace(**{**vars(args), "output": args.output / machine.lower()})
        make_folder(part.output)
        tables = [write_landscape(part, found), write_spread(part, found)]
        for height in args.height:
            table = write_solution(part, [run for run in found if run["height"] == height], height_name(height))
            tables.append([f"Source {height:g} times as high as what is inside at the start:", *table])
        print(f"{machine}, {MACHINES[machine]} cores\n")
        for table in tables:
            print("\n".join(table) + "\n")
        draw(part, run_braids(part, machine), [height_name(height) for height in args.height])
    print("\n".join(compare(args, by_machine)) + "\n")
    print(f"Data and pictures: {args.output}")
