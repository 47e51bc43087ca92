# SPDX-License-Identifier: MIT
"""Tables and pictures of the Juggle paper's Section 5, from runs of real programs, and the paper's
own numbers beside them.

A run has its part, program, what ran beside it, n threads on m CPUs, barrier, way, and its time.
"""

import math
import random
import statistics

from experiment import faster, run_json
from pictures import CLOSED_LS, data as file_of, find_gnuplot, key_below, plot, quoted, script

WAYS = ["pinned", "linux", "juggle", "paper"]
TITLES = {"pinned": "pinned", "linux": "Linux", "juggle": "juggle", "paper": "juggle2012"}
PAPER_PERIOD_S = 0.1

# Seconds. Table 4: n, m: static, e * ceil(n / m), Juggle; UPC FT.C on Nehalem.
TABLE_4 = {(8, 8): (68, 68, None), (16, 8): (68, 68, None), (32, 8): (81, 68, None),
           (8, 7): (120, 136, 84), (16, 7): (92, 102, 76), (32, 7): (87, 85, 87)}
# Gigabytes; speedup by 8 cores (Nehalem). UPC, class C; BT and SP class B. Our copy has no times between barriers.
TABLE_5 = {"bt": (1.1, 5.5), "cg": (1.3, 5.3), "ep": (0.02, 8.0), "ft": (7.1, 4.3), "is": (2.3, 6.7), "mg": (3.5, 5.6),
           "sp": (0.4, 7.0)}
# Static and Juggle on Nehalem, Tigerton, Barcelona; UPC.
TABLE_6 = {"bt": ((133.0, 126.8), (398.0, 359.0), (223.5, 209.2)), "cg": ((77.3, 76.0), (174.8, 172.6), (98.5, 99.2)),
           "ep": ((38.0, 24.3), (60.0, 40.6), (48.0, 32.4)), "ft": ((103.0, 73.8), (182.3, 142.2), (116.7, 86.0)),
           "is": ((36.0, 32.3), (85.0, 72.0), (50.5, 42.0)), "mg": ((26.5, 24.5), (67.0, 59.8), (33.0, 28.0)),
           "sp": ((95.5, 93.0), (222.8, 216.4), (141.0, 135.4))}
# Static, LLB, Juggle, each with k = 0 and 200; OpenMP on Barcelona.
TABLE_7 = {"bt": (98.6, 99.0, 104.0, 101.4, 98.8, 99.0), "cg": (104.3, 107.4, 127.3, 112.6, 105.6, 107.4),
           "ep": (42.0, 42.0, 31.1, 32.4, 28.0, 28.0), "ft": (72.7, 72.0, 66.7, 71.0, 58.6, 56.0),
           "is": (39.5, 40.5, 40.2, 41.3, 37.4, 36.8), "mg": (40.0, 39.0, 45.5, 41.2, 36.4, 32.8),
           "sp": (114.0, 117.0, 127.7, 125.3, 112.6, 119.0)}
# Largest variation in percent: static, LLB, LLB yield, Juggle.
TABLE_8 = {"bt": (9, None, 35, 14), "cg": (14, 36, 32, 12), "ep": (17, 30, 29, 4), "ft": (6, 10, 8, 1),
           "is": (11, 12, 24, 5), "mg": (15, 26, 30, 13), "sp": (27, None, 24, 20)}
NOT_REPEATED = "Not repeated: UPC (OpenMP stands in), domains of a NUMA machine apart, LLB from an even start; " \
               "Figs. 9 to 15, 21 and 22 are simulated, without --real."


def example(programs):
    """The one for Table 4: FT, or else the one that is most like it."""
    by_name = {program.benchmark: program for program in programs}
    return next((by_name[name] for name in ("ft", "mg") if name in by_name), programs[0] if programs else None)


# ---- Numbers ----

def chosen(runs, **wanted):
    return [run for run in runs if all(run[key] == value for key, value in wanted.items())]


def times(runs, **wanted):
    return [run["time_s"] for run in chosen(runs, **wanted)]


def median_of(runs, key):
    """None where no run has it."""
    found = [run[key] for run in runs if run.get(key) is not None]
    return statistics.median(found) if found else None


def rows_of(runs, *keys):
    """The different values of the keys, as they first come."""
    return list(dict.fromkeys(tuple(run[key] for key in keys) for run in runs))


def variation(data):
    """The largest percentage variation, as we read Table 8: how much longer the longest run is than the
    shortest."""
    return 100 * (max(data) / min(data) - 1)


def interval(data, base):
    """Speedup over the base, and its 95 % confidence interval, by drawing from the runs again and again."""
    rng = random.Random(1)
    drawn = sorted(statistics.median(rng.choices(base, k=len(base))) / statistics.median(rng.choices(data, k=len(data)))
                   for _ in range(1000))
    return statistics.median(base) / statistics.median(data), drawn[25], drawn[974]


def text(value, digits=2):
    return "-" if value is None else value if isinstance(value, str) else f"{value:.{digits}f}"


def table(title, heads, rows):
    """Lines; the first column is left-aligned."""
    cells = [heads, *([text(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
    return [title, *(line[0].ljust(widths[0]) + "".join(f"  {cell:>{width}}" for cell, width in zip(line[1:], widths[1:]))
                     for line in cells), ""]


def write_tsv(path, heads, rows):
    lines = ["# " + "\t".join(heads)]
    lines += ["\t".join(cell if isinstance(cell, str) else "nan" if cell is None else f"{cell:.6g}" for cell in row)
              for row in rows]
    path.write_text("\n".join(lines) + "\n")


# ---- Parts: each writes its data, and returns the lines of its tables and scripts of pictures by name ----

def speedups(args, runs, name, title, label, columns):
    """Bars with their intervals. columns: way and barrier, by title; the first one is the base. label: of a group
    of runs, which the keys of a row are given to."""
    groups = {}
    for run in runs:
        groups.setdefault(label(run), []).append(run)
    titles = list(columns)[1:]
    rows = []
    for group, found in groups.items():
        data = [times(found, **columns[title]) for title in columns]
        rows.append([group, *(x for own in data[1:] for x in interval(own, data[0]))])
    path = args.output / f"{name}.tsv"
    write_tsv(path, ["program", *(f"{title}{end}" for title in titles for end in ("", " low", " high"))], rows)
    # From dark to light, so that they are told apart without colours, too.
    parts = [f"{file_of(path)} using {2 + 3 * i}:{3 + 3 * i}:{4 + 3 * i}:xtic(1) ls {i + 1} fs solid {0.9 - 0.25 * i:.2f} "
             f"title {quoted(title)}" for i, title in enumerate(titles)]
    return {name: script(f"{title}", "", "speedup over pinned threads",
                         ["1 lc rgb '#777777' lw 2 dt 2 with lines title 'pinned'", *parts],
                         "set style data histograms", "set style histogram errorbars gap 2 lw 1.5",
                         "set datafile separator tab", "set grid noxtics", "set yrange [0:*]",
                         *key_below(2, "maxrows 2"))}


def table_4(args, runs):
    rows, data = [], []
    for (n, m, *_), paper in zip(rows_of(runs, "n", "m"), ((8, 8), (8, 7), (16, 8), (16, 7), (32, 8), (32, 7))):
        pinned, juggle = times(runs, n=n, way="pinned"), times(runs, n=n, way="juggle")
        even = statistics.median(times(runs, n=m, way="pinned"))  # e m/n, for the work is the same
        static_s, bound_s, juggle_s = TABLE_4[paper]
        expected = even * m / n * math.ceil(n / m)
        rows.append([f"{n} on {m}", statistics.median(pinned), expected, statistics.median(juggle) if juggle else None,
                     faster(juggle, pinned) if juggle else None, "%d on %d" % paper,
                     *(text(x, 0) for x in (static_s, bound_s, juggle_s)), static_s / juggle_s if juggle_s else None])
        data.append([n, m, *rows[-1][1:3], rows[-1][3]])
    write_tsv(args.output / "table4.tsv", ["n", "m", "pinned_s", "expected_s", "juggle_s"], data)
    return table(f"Table 4: more threads than CPUs, {runs[0]['program']}; the paper: UPC FT.C on 7 or 8 cores",
                 ["n on m", "pinned s", "e ceil(n/m)", "juggle s", "speedup ", "paper", "static s", "e ceil(n/m)",
                  "Juggle s", "speedup"], rows), {}


def table_5(args, runs):
    rows, data = [], []
    for program, in rows_of(runs, "program"):
        most = max(run["m"] for run in chosen(runs, program=program))
        found = chosen(runs, program=program, n=most)
        memory_gb = median_of(found, "memory_bytes") / 1e9
        speedup = statistics.median(times(runs, program=program, n=1)) / statistics.median(times(found))
        phase_s = median_of(found, "work_s")
        paper = TABLE_5.get(program.partition(".")[0], (None, None))
        rows.append([program, memory_gb, speedup, text(phase_s and 1000 * phase_s), *paper])
        data.append([program, most, memory_gb, speedup, phase_s and 1000 * phase_s])
    write_tsv(args.output / "table5.tsv", ["program", "cpus", "rss_gb", "speedup", "phase_ms"], data)
    return table(f"Table 5: memory, speedup by {max(run['m'] for run in runs)} CPUs, CPU time between barriers (-: few "
                 "or none); the paper: UPC, class B or C, 8 cores",
                 ["program", "GB", "speedup", "phase ms", "paper GB", "speedup"], rows), {}


def paper_speedups(benchmark, barrier):
    """Of LLB and Juggle in Table 7, and the range of Table 6."""
    if benchmark not in TABLE_7:
        return None, None, None
    late = int(barrier != "k=0")
    static_s, linux_s, juggle_s = TABLE_7[benchmark][late::2]
    upc = sorted(static / juggle for static, juggle in TABLE_6[benchmark])
    return static_s / linux_s, static_s / juggle_s, f"{upc[0]:.2f} to {upc[-1]:.2f}"


def figure_16(args, runs):
    keys = rows_of(runs, "program", "barrier", "n", "m")
    rows, varied = [], []
    for program, barrier, n, m in keys:
        data = {way: times(runs, program=program, barrier=barrier, n=n, way=way) for way in WAYS}
        benchmark = program.partition(".")[0]
        rows.append([f"{program} {barrier}", f"{n} on {m}", math.ceil(n / m) * m / n, statistics.median(data["pinned"]),
                     *(faster(data[way], data["pinned"]) for way in WAYS[1:]), *paper_speedups(benchmark, barrier)])
        varied.append([f"{program} {barrier}", *(variation(data[way]) for way in WAYS)])
    lines = table("Figs. 16 and 18, Tables 6 and 7: speedup over pinned threads; the paper: 16 on 12, bound 1.5; OpenMP, "
                  "and UPC on three machines",
                  ["program", "n on m", "bound", "pinned s", "Linux ", "juggle ", "juggle2012 ", "paper: LLB", "Juggle",
                   "UPC"], rows)
    lines += table("The same: largest variation in percent (the paper: small)",
                   ["program", *(TITLES[way] for way in WAYS)], varied)
    pictures = speedups(args, runs, "fig16", "Figs. 16 and 18: more threads than CPUs, medians and their 95 % intervals",
                        lambda run: f"{run['program']} {run['barrier']}", {TITLES[way]: {"way": way} for way in WAYS})
    more, picture = figure_17(args, runs)
    return lines + more + cost(args, runs), pictures | picture


def figure_17(args, runs):
    """The paper's settings, against its own theory for such phases."""
    rows = []
    for program, barrier, n, m in rows_of(runs, "program", "barrier", "n", "m"):
        found = chosen(runs, program=program, barrier=barrier, way="paper")
        pinned = statistics.median(times(runs, program=program, barrier=barrier, way="pinned"))
        # Without many barriers, the run is one phase.
        phase_s, phases = median_of(found, "work_s") or pinned / math.ceil(n / m), median_of(found, "phases") or 1
        theory = run_json([args.jugglectl, "predict", "-q", "--json", f"-n{n}", f"-m{m}", f"--period={PAPER_PERIOD_S}s",
                           f"--phase={phase_s * 1e9:.0f}ns", f"--phases={max(1, phases):.0f}"], may_outlive=True)
        rows.append([f"{program} {barrier}", PAPER_PERIOD_S / phase_s, pinned / statistics.median(times(found)),
                     theory["juggle_speedup"], theory["juggle_speedup_bound"]])
    rows.sort(key=lambda row: row[1])
    path = args.output / "fig17.tsv"
    heads = ["program", "period/phase", "juggle2012", "approximation", "bound"]
    write_tsv(path, heads, rows)
    picture = script("Fig. 17: a period of 100 ms over the phase", "period over phase (log)", "speedup over pinned threads",
                     [f"{file_of(path)} using 2:4 with linespoints ls 1 lw 4 dt 2 ps 2.4*dot title 'theory: approximation'",
                      f"{file_of(path)} using 2:5 with linespoints ls 3 lw 1 title 'theory: upper bound'",
                      f"{file_of(path)} using 2:3 with points ls {CLOSED_LS + 2} ps 1.5*dot title 'measured'",
                      f"{file_of(path)} using 2:3:1 with labels offset 0,-1 notitle"],
                     "set datafile separator tab", "set logscale x", "set yrange [0:*]",
                     f"set xrange [{rows[0][1] / 4:g}:{rows[-1][1] * 4:g}]", "set key bottom left")
    return table("Fig. 17: juggle2012 (100 ms) by period over phase; the paper: near its approximation", heads, rows), \
        {"fig17": picture}


def cost(args, runs):
    """Section 5.5, of each run's report."""
    rows = []
    for program, barrier, way in rows_of([run for run in runs if "cycles" in run], "program", "barrier", "way"):
        found = chosen(runs, program=program, barrier=barrier, way=way)
        rows.append([f"{program} {barrier}", TITLES[way], statistics.median(run["cycle_us"]["median"] for run in found),
                     *(statistics.median(run[key] / run["elapsed_s"] for run in found)
                       for key in ("cycles", "migrations")),
                     100 * statistics.median(run["balancer_cpu_s"] / run["elapsed_s"] for run in found)])
    write_tsv(args.output / "cost.tsv",
              ["program", "way", "point_us", "points_per_s", "moves_per_s", "percent_of_cpu"], rows)
    return table("Section 5.5: cost of balancing; the paper (EP, 8 on 7): 100 us a point, 10 points and 28 moves a second",
                 ["program", "way", "point us", "points/s", "moves/s", "% of a CPU"], rows)


def figure_19(args, runs):
    columns = {TITLES[way]: {"way": way, "barrier": "spin"} for way in WAYS}
    columns["Linux, k=0"] = {"way": "linux", "barrier": "k=0"}
    rows, varied = [], []
    for program, n, m in rows_of(runs, "program", "n", "m"):
        data = {title: times(runs, program=program, **column) for title, column in columns.items()}
        rows.append([program, f"{n} on {m}", statistics.median(data["pinned"]),
                     *(faster(data[title], data["pinned"]) for title in list(columns)[1:])])
        paper = TABLE_8.get(program.partition(".")[0], (None,) * 4)
        varied.append([program, *(text(variation(data[title]), 0) for title in columns), *(text(x, 0) for x in paper)])
    lines = table("Fig. 19: with two hogs, threads that spin (last column: that sleep); the paper: Juggle up to about 1.35 "
                  "(EP), LLB mostly below 1",
                  ["program", "n on m", "pinned s", *(f"{title} " for title in list(columns)[1:])], rows)
    lines += table("Table 8: largest variation in percent",
                   ["program", *columns, "paper: static", "LLB", "LLB yield", "Juggle"], varied)
    return lines, speedups(args, runs, "fig19", "Fig. 19: two hogs, medians and their 95 % intervals", lambda run: run["program"],
                           columns)


def figure_20(args, runs):
    rows = []
    for program, beside, n, m in rows_of(runs, "program", "beside", "n", "m"):
        data = {way: times(runs, program=program, beside=beside, way=way) for way in WAYS}
        rows.append([f"{program}/{beside}", f"{n} on {m}", statistics.median(data["pinned"]),
                     *(faster(data[way], data["pinned"]) for way in WAYS[1:]),
                     *(text(variation(data[way]), 0) for way in WAYS)])
    lines = table("Fig. 20: two programs at once, the first one's speedup and largest variation in percent; the paper "
                  "(8 on 7): Juggle above 1 for all, LLB hardly and with far more variation",
                  ["program/beside", "n on m", "pinned s", "Linux ", "juggle ", "juggle2012 ",
                   *(f"{TITLES[way]} %" for way in WAYS)], rows)
    return lines, speedups(args, runs, "fig20", "Fig. 20: two programs at once, medians and their 95 % intervals",
                           lambda run: f"{run['program']}/{run['beside']}", {TITLES[way]: {"way": way} for way in WAYS})


WRITERS = {"table4": table_4, "table5": table_5, "fig16": figure_16, "fig19": figure_19, "fig20": figure_20}


def write(args, machine, runs):
    """All tables and pictures, and the tables on standard output."""
    lines = [f"CPUs {','.join(map(str, machine['cpus']))}; medians of {machine['repeats']}; ~: may be chance; "
             f"{machine['stolen_share']:.1%} of the CPUs' time was stolen"]
    lines += [f"{name}: {command}" for name, command in machine["programs"].items()]
    lines += [NOT_REPEATED, ""]
    scripts = {}
    for part in args.parts:
        found = chosen(runs, part=part)
        if not found:
            lines += [f"{part}: none of the programs can run with any number of threads", ""]
            continue
        more, drawn = WRITERS[part](args, found)
        lines += more
        scripts |= drawn
    (args.output / "real.txt").write_text("\n".join(lines))
    print("\n".join(lines))
    gnuplot = find_gnuplot()
    for name, picture in scripts.items() if gnuplot else ():
        plot(gnuplot, args.output / name, picture)
    print(f"Data and pictures: {args.output}")
