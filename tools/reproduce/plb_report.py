# SPDX-License-Identifier: MIT
"""Tables and pictures of PLB's experiments, Section 5, from runs of any origin.

`args` has the folder for the results, the names of methods, and the iterations of the shorter runs.
A run has its kind, its method, whether there was noise, and what jacobi reported or would have.
"""

import statistics

from experiment import faster, quartiles, span
from pictures import (CLOSED_LS, axis, data, distributions, find_gnuplot, key, key_below, plot, quoted, read_columns,
                      script)

LONGER = 4  # times as many iterations, to see whether the spread grows
# Name, as in Section 5, and the options of the solver, which the simulator has as well.
METHODS = {
    "sync": ["--mode", "sync", "--subdomains", "1", "--balance", "none"],
    "ssync(1)": ["--mode", "ssync:1", "--subdomains", "1", "--balance", "none"],
    "ssync(30)": ["--mode", "ssync:30", "--subdomains", "1", "--balance", "none"],
    "async(1)": ["--mode", "async", "--subdomains", "1", "--balance", "none"],
    "async(4)": ["--mode", "async", "--subdomains", "4", "--balance", "none"],
    "async(4) + split(0.001)": ["--mode", "async", "--subdomains", "4", "--balance", "split"],
    "async(4) + joint(0.001)": ["--mode", "async", "--subdomains", "4", "--balance", "joint"],
    "async(4) + hybrid(0.001, 500)": ["--mode", "async", "--subdomains", "4", "--balance", "hybrid:500"],
    "joint, the paper's": ["--mode", "async", "--subdomains", "4", "--balance", "joint", "--dead-band", "0"],
}
QUICK_METHODS = [method for method in METHODS if method not in ("ssync(1)", "async(4) + hybrid(0.001, 500)")]
BASE = "async(4)"  # what balancing is compared with
BRAIDS = ["async(4)", "async(4) + joint(0.001)"]


def values(runs, kind, method, noisy, key):
    return [run["result"][key] for run in runs
            if (run["kind"], run["method"], run["noise"]) == (kind, method, noisy)]


def write_landscape(args, runs):
    """Fig. 3, from the longer runs: those of the paper's length last 0.1 s on fast CPUs."""
    lines = ["# method noise rate_q1 rate rate_q3 spread_q1 spread spread_q3 (rates: iterations a second)"]
    table = [f"{'Iteration rate and spread':32}{'rate 1/s':>10}{'noise':>9}{'':>8}{'spread':>10}{'noise':>10}"]
    for method in args.methods:
        rate, spread = {}, {}
        for noisy in (False, True):
            rate[noisy] = quartiles(values(runs, "longer", method, noisy, "iteration_rate"))
            spread[noisy] = quartiles(values(runs, "longer", method, noisy, "spread"))
            lines.append(f'"{method}" {int(noisy)} ' + " ".join(f"{x:.6g}" for x in rate[noisy] + spread[noisy]))
        change = rate[True][1] / rate[False][1] - 1
        table.append(f"{method:32}{rate[False][1]:10.0f}{rate[True][1]:9.0f}{change:+8.1%}"
                     f"{spread[False][1]:10.0f}{spread[True][1]:10.0f}")
    (args.output / "landscape.tsv").write_text("\n".join(lines) + "\n")
    return table


def write_spread(args, runs):
    """With noise, Section 5.1: bounded where subdomains are balanced."""
    lines = ["# method iterations spread_q1 spread spread_q3"]
    table = [f"{'Spread with noise, iterations:':32}{args.iterations:10}{LONGER * args.iterations:9}"]
    for method in args.methods:
        medians = []
        for kind, factor in (("rate", 1), ("longer", LONGER)):
            found = quartiles(values(runs, kind, method, True, "spread"))
            medians.append(found[1])
            lines.append(f'"{method}" {factor * args.iterations} ' + " ".join(f"{x:.6g}" for x in found))
        table.append(f"{method:32}{medians[0]:10.0f}{medians[1]:9.0f}")
    (args.output / "spread.tsv").write_text("\n".join(lines) + "\n")
    return table


def write_solution(args, runs, suffix=""):
    """Figs. 4, 5 and Table 2. `suffix` is added to the files' names."""
    columns = [(method, noisy) for method in args.methods for noisy in (False, True)]
    rows = zip(*(values(runs, "solution", *column, "elapsed_s") for column in columns))
    head = "\t".join(f'"{method}{", noise" if noisy else ""}"' for method, noisy in columns)
    (args.output / f"boxplot{suffix}.tsv").write_text(
        "\n".join([head] + ["\t".join(f"{x:.6f}" for x in row) for row in rows]) + "\n")
    base = BASE if BASE in args.methods else args.methods[0]
    table = [f"{'Time to solution, s':30}{'median':>8}{'range':>14}{'noise':>8}{'range':>14}{'':>8}"
             f"{'speed':>8}{'noise':>8}",
             f"(% : Table 2; speed: of {base}, ~ may be chance)"]
    for method in args.methods:
        text, medians = f"{method:30}", []
        for noisy in (False, True):
            times = values(runs, "solution", method, noisy, "elapsed_s")
            medians.append(statistics.median(times))
            text += f"{medians[-1]:8.3f}{span(times, 3):>14}"
        text += f"{medians[1] / medians[0] - 1:+8.1%}"
        for noisy in (False, True):
            times, others = (values(runs, "solution", one, noisy, "elapsed_s") for one in (method, base))
            text += f"{faster(times, others):>8}"
        table.append(text)
    (args.output / f"table2{suffix}.txt").write_text("\n".join(table) + "\n")
    return table


def read_trace(path):
    """Reads what jacobi --trace writes: a line for each moment, with the time (ns) and the updates
    of each subdomain."""
    return [[int(x) for x in line.split()] for line in path.read_text().splitlines()
            if line and not line.startswith("#")]


def write_braid(args, method, samples):
    """Fig. 2: the time, and the updates of each subdomain. The mean is subtracted, so that the
    braid shows. Returns what draw_braid() takes: the columns of leads, and of how many subdomains."""
    name = args.output / ("braid-" + ("balanced" if "+" in method else "unbalanced") + ".tsv")
    begin = samples[0][0]
    lines = ["# time_s, then the lead of each subdomain over the mean, in updates"]
    for when, *updates in samples:
        mean = statistics.fmean(updates)
        lines.append(f"{(when - begin) / 1e9:.6f} " + " ".join(f"{x - mean:.2f}" for x in updates))
    name.write_text("\n".join(lines) + "\n")
    return name, method, len(samples[0]) - 1, len(samples[0]) - 1


def draw_landscape(gnuplot, path, methods):
    """A row of landscape.tsv for each method without noise, then one with it."""
    points = "points ps 1.8*dot lc rgb '#000000' pt"
    line = "lw 1 dt 3"
    parts = [key(f"{points} 6", "open: without noise"), key(f"{points} 7", "closed: with a noisy core"),
             key(f"lines {line} lc rgb '#000000'", "from one to the other")]
    for i, method in enumerate(methods):
        rows = [2 * i, 2 * i + 1]
        parts += [f"{data(path)} every ::{rows[0]}::{rows[1]} using 4:($7+1) with lines ls {i + 1} {line} notitle"]
        # Where they agree, the small ones lie on the large ones.
        parts += [f"{data(path)} every ::{row}::{row} using 4:($7+1):3:5:($6+1):($8+1) with xyerrorbars "
                  f"ls {noisy * CLOSED_LS + i + 1} ps {3.4 - 0.3 * i:.1f}*dot "
                  + ("notitle" if noisy else f"title {quoted(method)}")
                  for noisy, row in enumerate(rows)]
    rates = [float(x) for line in path.read_text().splitlines()[1:] for x in line.split()[-6:-3]]
    label, extent = axis("iteration rate (1/s)", rates)
    rows = (len(methods) + 4) // 2
    plot(gnuplot, path.with_suffix(""), script(
        "Medians, with bars for the middle half of the runs; best: right and low", label,
        "spread + 1 (updates, log)", parts, "set logscale y", f"set xrange {extent}",
        "set yrange [0.8:*]", *key_below(rows, f"vertical maxrows {rows}")))


def draw_solution(gnuplot, path, methods):
    columns = read_columns(path)
    commands, parts = distributions(path, columns, ["without noise", "with a noisy core"], sideways=True)
    label, extent = axis("time to solution (s)", sum(columns, []))
    names = ", ".join(f"{quoted(method)} {i + 1}" for i, method in enumerate(methods))
    plot(gnuplot, path.with_name(path.name.removesuffix(".tsv")), script(
        "Medians, with bars for the middle half of the runs", label, "", parts, *commands,
        f"set ytics ({names}) scale 0", f"set xrange {extent}", f"set yrange [{len(methods) + 0.6}:0.4]",
        *key_below(1, "horizontal")))


def draw_braid(gnuplot, path, method, columns, subdomains):
    shown = min(columns, 8)
    # With more moments a line of whole updates would look thick wherever its lead hardly changes.
    step = 1 + len(path.read_text().splitlines()) // 500
    parts = [f"{data(path)} every {step} using 1:{2 + i * columns // shown} with lines ls {i + 1} lw {1.5 if i else 4} "
             + ("title 'begins on the noisy core'" if i == 0 else "notitle") for i in range(shown)]
    parts.insert(1, key("lines lw 1.5 lc rgb '#000000'", "each of the others"))
    plot(gnuplot, path.with_suffix(""), script(
        f"{method}, one noisy core: {shown} of {subdomains} subdomains, a line for each", "time (s)",
        "lead over the mean of all (updates)", parts, *key_below(1, "horizontal")))


def draw(args, braids, suffixes=("",)):
    gnuplot = find_gnuplot()
    if not gnuplot:
        return
    draw_landscape(gnuplot, args.output / "landscape.tsv", args.methods)
    for suffix in suffixes:
        draw_solution(gnuplot, args.output / f"boxplot{suffix}.tsv", args.methods)
    for braid in braids:
        draw_braid(gnuplot, *braid)
