# SPDX-License-Identifier: MIT
"""Tables and pictures of DPLB's experiments, Section 5, from runs of any origin.

`args` has the folder for the results, the modes, the most slow ranks and the number of ranks, and
what those (units) and the slow parts are called. A run has its kind, its mode, how many ranks were slow, whether it was
balanced, and what jacobi reported or would have.
"""

import statistics

from experiment import faster, quartiles, span
from pictures import axis, distributions, find_gnuplot, key_below, plot, read_columns, script

LEVEL = 40  # percent, Section 4
RANDOM_LEVELS = (15, 40)  # Table 3
PLACES = ["best", "worst", "random"]


def place(where, ranks, count, generator):
    """The slow ranks. The source is in the middle of the domain, Section 5."""
    if where == "random":
        return generator.sample(range(ranks), count)
    from_the_middle = sorted(range(ranks), key=lambda rank: abs(2 * rank - (ranks - 1)))
    return from_the_middle[:count] if where == "worst" else from_the_middle[::-1][:count]


def values(runs, key, **wanted):
    return [run["result"][key] for run in runs if all(run[name] == value for name, value in wanted.items())]


def whiskers(data):
    """The ends of a box plot's whiskers: the last values within 1.5 boxes of the box."""
    low, _, high = quartiles(data)
    reach = 1.5 * (high - low)
    return min(x for x in data if x >= low - reach), max(x for x in data if x <= high + reach)


def label(mode, balanced):
    return f"{mode} + DPLB" if balanced else mode


def write_rates(args, runs):
    """The tables below Figs. 1 to 3."""
    lines = [f"{f'Medians, by slow {args.parts}:':44}" + "".join(f"{count:>12}" for count in range(args.slow + 1))]
    for mode in args.modes:
        for balanced in (False, True):
            for title, key, form in (("time to solution (s)", "elapsed_s", "12.3f"),
                                     ("iteration rate (1/s)", "iteration_rate", "12.1f"),
                                     ("staleness", "staleness_max", "12.0f"),
                                     ("moves between ranks", "rank_moves", "12.0f")):
                row = [statistics.median(values(runs, key, kind="counted", mode=mode, balanced=balanced, count=count))
                       for count in range(args.slow + 1)]
                name = label(mode, balanced) if key == "elapsed_s" else ""
                lines.append(f"{name:22}{title:22}" + "".join(format(value, form) for value in row))
            lines += write_times(args, runs, mode, balanced)
    (args.output / "rates.txt").write_text("\n".join(lines) + "\n")
    return lines


def write_times(args, runs, mode, balanced):
    """The ranges of times to solution, and what DPLB gains."""
    times = [[values(runs, "elapsed_s", kind="counted", mode=mode, balanced=which, count=count)
              for which in (False, True)] for count in range(args.slow + 1)]
    ranges = [span(found[balanced], 2) for found in times]
    lines = [f"{'':22}{'range (s)':22}" + "".join(f"{text:>12}" for text in ranges)]
    if balanced:
        gains = [faster(found[True], found[False]) for found in times]
        lines.append(f"{'':22}{'gain (~ may be chance)':22}" + "".join(f"{text:>12}" for text in gains))
    return lines


def write_ratios(args, runs):
    """Table 2."""
    counts = range(args.slow + 1)
    ends = {(mode, balanced, count): whiskers(values(runs, "elapsed_s", kind="counted", mode=mode, balanced=balanced,
                                                     count=count))
            for mode in args.modes for balanced in (False, True) for count in counts}

    def ratio(mode, chosen):
        length = []
        for balanced in (False, True):
            found = [ends[mode, balanced, count] for count in chosen]
            length.append(max(high for _, high in found) - min(low for low, _ in found))
        return f"{length[0] / length[1]:15.2f}" if length[1] > 0 else f"{'-':>15}"

    lines = [f"{'Spread of the time to solution, ratio':42}" + "".join(f"{mode:>15}" for mode in args.modes)]
    for name, chosen in [*((f"{count} slow", [count]) for count in counts), ("extremes", counts)]:
        lines.append(f"{name:42}" + "".join(ratio(mode, chosen) for mode in args.modes))
    (args.output / "table2.txt").write_text("\n".join(lines) + "\n")
    return lines


def write_random(args, runs):
    """Table 3."""
    lines = [f"{'Random noise, time to solution (s)':42}" + "".join(f"{x:>10}" for x in ("mean", "min", "max", "std"))]
    for balanced in (False, True):
        data = values(runs, "elapsed_s", kind="random", balanced=balanced)
        row = (statistics.fmean(data), min(data), max(data), statistics.pstdev(data))
        lines.append(f"{label('async', balanced):42}" + "".join(f"{x:10.3f}" for x in row))
    (args.output / "table3.txt").write_text("\n".join(lines) + "\n")
    return lines


def write_figure(args, runs, mode):
    """Fig. 1 or 3: a column for each box, unbalanced and balanced in turn."""
    columns = [(count, balanced) for count in range(args.slow + 1) for balanced in (False, True)]
    data = [values(runs, "elapsed_s", kind="counted", mode=mode, balanced=balanced, count=count)
            for count, balanced in columns]
    lines = ["\t".join(f'"{count} slow{", DPLB" if balanced else ""}"' for count, balanced in columns)]
    for i in range(max(map(len, data))):
        lines.append("\t".join(f"{column[i]:.6f}" if i < len(column) else "?" for column in data))
    (args.output / f"{mode}.tsv").write_text("\n".join(lines) + "\n")


def draw(args):
    gnuplot = find_gnuplot()
    if not gnuplot:
        return
    ticks = ", ".join(f"'{count}' {count + 1}" for count in range(args.slow + 1))
    for mode in args.modes:
        path = args.output / f"{mode}.tsv"
        columns = read_columns(path)
        commands, parts = distributions(path, columns, [label(mode, balanced) for balanced in (False, True)])
        time, extent = axis("time to solution (s)", sum(columns, []))
        slow = mode.partition("-")[2] or args.parts
        plot(gnuplot, path.with_suffix(""), script(
            f"{args.ranks} {args.units}: medians, with bars for the middle half of the runs",
            f"{slow} that are {LEVEL} % slower", time, parts, *commands, f"set xtics ({ticks})",
            f"set xrange [0.4:{args.slow + 1.6}]", f"set yrange {extent}", *key_below(1, "horizontal")))


def summarise(args, runs):
    """One line: what DPLB changed where there was noise."""
    parts = []
    for mode in args.modes:
        noisy = [run for run in runs if run["mode"] == mode and run["kind"] == "counted" and run["count"] > 0]
        if not noisy:
            continue
        change = {key: statistics.median(values(noisy, key, balanced=True))
                  / max(statistics.median(values(noisy, key, balanced=False)), 1e-9)
                  for key in ("elapsed_s", "staleness_max")}
        worst = [max(values(noisy, "elapsed_s", balanced=balanced)) for balanced in (True, False)]
        parts.append(f"{mode}: time to solution {change['elapsed_s'] - 1:+.1%}, "
                     f"the longest {worst[0] / worst[1] - 1:+.1%}, staleness {change['staleness_max'] - 1:+.1%}")
    return f"DPLB where {args.parts} are slow: {'; '.join(parts)}" if parts else f"No {args.parts} were slow."
