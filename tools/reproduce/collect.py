# SPDX-License-Identifier: MIT
"""The numbers that the papers tell, from what the scripts of this folder have written.

Each function takes the folders of one or more runs of a script, and returns numbers by name. A number is
a dictionary: its value; where it comes from several runs, the median of them with the least, the most and
how many. What was not run is left out.
"""

import json
import statistics
from collections import defaultdict
from math import ceil
from pathlib import Path

import juggle_real_report as real_report
from dplb_report import whiskers
from dplb_simulated import SERIES, SUBDOMAINS, WORKERS
from plb_simulated import MACHINES


def rounded(value):
    return float(f"{value:.4g}")


def number(values):
    values = list(values)
    if len(values) == 1:
        return {"value": rounded(values[0])}
    return {"value": rounded(statistics.median(values)), "low": rounded(min(values)), "high": rounded(max(values)),
            "runs": len(values)}


def read_table(path):
    """Rows of a .tsv as dictionaries; none without it."""
    if not path.exists():
        return []
    head, *lines = path.read_text().splitlines()
    names = head.removeprefix("# ").split("\t")
    return [dict(zip(names, line.split("\t"))) for line in lines]


def runs_of(folders):
    return [run for folder in folders for run in json.loads((folder / "runs.json").read_text())["runs"]]


# ---- Juggle ----

def juggle(folders):
    numbers = {}
    for folder in folders:
        for path in sorted(folder.glob("*.tsv")):
            rows = [{name: float(x) for name, x in row.items()} for row in read_table(path)]
            if path.stem in JUGGLE:
                numbers |= {f"{path.stem} {name}": number(values) for name, values in JUGGLE[path.stem](rows).items()}
    return numbers


def speedups(pair):
    """Of Figs. 11 to 13: with the shortest period and with the longest."""
    return lambda rows: {"short": [rows[0][f"juggle_{pair}"]], "long": [rows[-1][f"juggle_{pair}"]]}


def figure_9(rows):
    row = next(row for row in rows if row["n"] == 9)
    return {"one domain": [row["juggle"]], "two domains": [row["juggle_split"]], "reactive": [row["reactive"]],
            "from theory": [100 * max(abs(row["juggle"] / row["theory"] - 1) for row in rows)]}


def figure_15(rows):
    row = next(row for row in rows if row["period/phase"] == 2)
    names = ("juggle_jitter", "juggle_jitter_low", "juggle_jitter_high")
    return {"fixed": [row["juggle"]], "varied": [row[name] for name in names],
            "short": [rows[0]["juggle"]]}


def figure_21(rows):
    return {name: [rows[0][f"{name}_per_s_8_7"]] for name in ("ideal", "juggle2012", "juggle")}


def figure_22(rows):
    def lost(row, name):
        return 100 * (1 - row[name] / row["bound"])
    slow = min(rows, key=lambda row: abs(row["period_ms"] - 10))
    return {"0.5 ms": [lost(rows[0], "overhead_all_cpus")], "10 ms": [lost(slow, "overhead_all_cpus")],
            "one balancer": [lost(rows[0], "overhead_one_cpu")], "slices": [lost(rows[0], "no_overhead")]}


def table_4(rows):
    return {f"{row['n']:g} on {row['m']:g}": [row["juggle2012_s"]] for row in rows if row["m"] == 7}


JUGGLE = {"fig09": figure_9, "fig10": lambda rows: {f"m = {m}": [rows[0][f"ideal_m{m}"]] for m in (2, 32)},
          "fig11": speedups("8_7"), "fig12": speedups("16_7"), "fig13": speedups("25_8"),
          "fig14": lambda rows: {"most": [max(row["speedup"] for row in rows)],
                                 "mean": [statistics.fmean(row["speedup"] for row in rows)]},
          "fig15": figure_15, "fig21": figure_21, "fig22": figure_22, "table4": table_4}


def median_speedup(runs, way, base="pinned", **wanted):
    """Over the base, and the range over all pairs of runs."""
    data, other = (real_report.times(runs, way=one, **wanted) for one in (way, base))
    if not data or not other:
        return []
    return [min(other) / max(data), statistics.median(other) / statistics.median(data), max(other) / min(data)]


def real_program(runs, name, bound, **wanted):
    """Of one program in Fig. 16 or 19."""
    found = {f"{name} over Linux": median_speedup(runs, "juggle", "linux", **wanted)}
    for way in ("linux", "paper", "juggle"):
        found[f"{name} {way}"] = gained = median_speedup(runs, way, **wanted)
        found[f"{name} {way} share"] = [100 * (x - 1) / (bound - 1) for x in gained if bound > 1]
    varied = {way: real_report.variation(data) for way in ("pinned", "linux", "paper", "juggle")
              if (data := real_report.times(runs, way=way, **wanted))}
    found |= {f"{name} variation {way}": [varied[way]] for way in varied}
    return found | {f"{name} variation {way} below {base}": [varied[base] - varied[way]]
                    for way in ("paper", "juggle") for base in ("pinned", "linux") if way in varied}


def juggle_real(folders):
    runs, found = runs_of(folders), {}
    # The largest speedup: pinned, some CPUs have one thread more than others.
    bound = max((ceil(run["n"] / run["m"]) * run["m"] / run["n"] for run in runs if run["part"] == "fig16"), default=1)
    kernels = sorted({(run["program"].partition(".")[0], run["program"]) for run in runs})
    parts = {part: [run for run in runs if run["part"] == part] for part in ("table5", "fig16", "fig19", "fig20")}
    for kernel, program in kernels:
        for part, barrier in (("fig16", "k=200"), ("fig19", "spin")):
            if any(run["program"] == program for run in parts[part]):
                found |= real_program(parts[part], f"{part} {kernel}", bound, program=program, barrier=barrier)
        table5 = [run for run in parts["table5"] if run["program"] == program]
        many = max((run["m"] for run in table5), default=1)
        one, all_cpus = ([run["time_s"] for run in table5 if run["n"] == n] for n in (1, many))
        if one and many > 1:
            found[f"table5 {kernel} per CPU"] = [statistics.median(one) / statistics.median(all_cpus) / many]
    over = [found[name][1] for kernel, _ in kernels if (name := f"fig19 {kernel} over Linux") in found]
    found["fig19 best over Linux"] = [max(over)] if over else []
    found["fig16 bound"] = [bound] if bound > 1 else []
    pairs = {(run["program"], run["beside"]) for run in parts["fig20"]}
    for way in ("linux", "paper", "juggle"):
        least = [median_speedup(parts["fig20"], way, program=program, beside=beside)[1] for program, beside in pairs]
        found[f"fig20 {way} least"] = [min(least)] if least else []
    balanced = [run for run in parts["fig16"] if run["way"] == "paper" and "cycles" in run]
    found["cost point_us"] = [run["cycle_us"]["median"] for run in balanced]
    found["cost percent"] = [100 * run["balancer_cpu_s"] / run["elapsed_s"] for run in balanced]
    for folder in folders:
        ratios = [float(row["juggle2012"]) / float(row["approximation"])
                  for row in read_table(folder / "fig17.tsv")]
        if ratios:
            found["fig17 of theory"] = ratios
    return {name: number(values) for name, values in found.items() if values}


# ---- PLB ----

def plb(folders):
    """The source is the highest that was run, which was chosen for the paper's times."""
    runs, found = runs_of(folders), {}
    height = max(run["height"] for run in runs)
    value = {(run["machine"], run["kind"], run["method"], run["noise"], run["repeat"]): run["result"]
             for run in runs if run["height"] in (0, height)}
    repeats, methods = sorted({run["repeat"] for run in runs}), list(dict.fromkeys(run["method"] for run in runs))

    def each(machine, kind, key, method, noise, over, over_noise):
        """Of each repeat, over that of another method, in percent."""
        pairs = [(value.get((machine, kind, method, noise, i)), value.get((machine, kind, over, over_noise, i)))
                 for i in repeats]
        return [100 * (one[key] / other[key] - 1) for one, other in pairs if one and other and other[key] > 0]

    for machine in MACHINES:
        for method in methods:
            found[f"time {machine} {method}"] = each(machine, "solution", "elapsed_s", method, True, method, False)
            found[f"spread {machine} {method}"] = each(machine, "rate", "spread", method, True, method, False)
            found[f"rate {machine} {method}"] = \
                [-x for x in each(machine, "longer", "iteration_rate", method, True, method, False)]
            found[f"overhead {machine} {method}"] = \
                [-x for x in each(machine, "longer", "iteration_rate", method, False, "async(1)", False)]
            # How much faster the paper's best balanced method is, with noise.
            found[f"gain {machine} {method}"] = each(machine, "solution", "elapsed_s", method, True,
                                                    "async(4) + split(0.001)", True)
            # From the shorter runs to those that are LONGER times as long.
            found[f"growth {machine} {method}"] = [
                longer["spread"] / one["spread"] for i in repeats
                if (one := value.get((machine, "rate", method, True, i))) and one["spread"] > 0
                and (longer := value.get((machine, "longer", method, True, i)))]
    return {name: number(values) for name, values in found.items() if values}


# ---- DPLB ----

def dplb(folders):
    groups = defaultdict(list)
    for run in runs_of(folders):
        groups[run["kind"], run["mode"], run["count"], run["balanced"]].append(run["result"])
    counts = sorted({count for kind, _, count, _ in groups if kind == "counted"})
    found = {}

    def values(series, count, balanced, key):
        return [result[key] for result in groups["counted", series, count, balanced]]

    for series in SERIES:
        boxes = [count for count in counts if groups["counted", series, count, True]]
        slow = [count for count in boxes if count > 0]

        def ratio(count, key, pick):
            return pick(values(series, count, False, key)) / max(pick(values(series, count, True, key)), 1e-9)

        def length(chosen, balanced):
            ends = [whiskers(values(series, count, balanced, "elapsed_s")) for count in chosen]
            return max(high for _, high in ends) - min(low for low, _ in ends)

        if 0 in boxes:
            found[f"{series} shorter, none slow"] = [100 * (1 - 1 / ratio(0, "elapsed_s", statistics.median))]
        found[f"{series} shorter"] = [100 * (1 - 1 / ratio(count, "elapsed_s", statistics.median)) for count in slow]
        found[f"{series} longest"] = [ratio(count, "elapsed_s", max) for count in slow]
        found[f"{series} staleness"] = [ratio(count, "staleness_max", statistics.median) for count in slow]
        for count in boxes:
            for balanced in (False, True):
                name = f"{series} {count}{' DPLB' if balanced else ''}"
                found[f"{name} rate"] = [rate * WORKERS * SUBDOMAINS / 1000
                                         for rate in values(series, count, balanced, "iteration_rate")]
                found[f"{name} stale"] = values(series, count, balanced, "staleness_max")
                found[f"{name} s"] = values(series, count, balanced, "elapsed_s")
            found[f"{series} {count} variability"] = [length([count], False) / max(length([count], True), 1e-9)]
        if boxes:
            found[f"{series} extremes variability"] = [length(boxes, False) / max(length(boxes, True), 1e-9)]
    for balanced in (False, True):
        data = [result["elapsed_s"] for (kind, *_, which), results in groups.items() for result in results
                if kind == "random" and which == balanced]
        name = f"random{' DPLB' if balanced else ''}"
        found[f"{name} s"] = data
        found[f"{name} deviation"] = [100 * statistics.pstdev(data) / statistics.fmean(data)] if data else []
    if found["random s"]:
        found["random shorter"] = [100 * (1 - statistics.fmean(found["random DPLB s"])
                                          / statistics.fmean(found["random s"]))]
    return {name: number(values) for name, values in found.items() if values}


SOURCES = {"juggle": juggle, "juggle-real": juggle_real, "plb": plb, "dplb": dplb}


def collect(name, folders):
    """What is kept of these runs: commands, settings and numbers."""
    folders = [Path(folder) for folder in folders]
    setups = []
    for folder in folders:
        found = json.loads((folder / "runs.json").read_text())
        setups.append(found.get("simulated") or found["machine"])
    return {"commands": [setup["command"] for setup in setups],
            "settings": [{key: value for key, value in setup.items()
                          if key != "command" and not isinstance(value, dict)} for setup in setups],
            "numbers": SOURCES[name](folders)}
