# SPDX-License-Identifier: MIT
"""The figures and tables of the three papers, and ours beside them, as one page.

ROWS has what a paper says, and which of our numbers (collect.py) that is. How well they agree is
computed from the numbers.
"""

from dataclasses import dataclass
from math import inf

SECTIONS = {
    "Juggle": "Hofmeyr et al. (2012), 8 or 16 cores",
    "PLB": "Zarins & Weiland (2017), 24 (ARCHER) and 36 cores (Cirrus)",
    "DPLB": "Zarins & Weiland (2020), 15 and 100 nodes of 36 cores",
}
VERDICTS = ["reproduced", "in part", "not"]
NOT_RUN = "not run"
LEFT_OUT = """\
Left out, since there is nothing to measure: drawings and pseudo-code (Juggle's Figs. 1 to 8), notation, case tables
and lists of machines (Juggle's Tables 1 to 3, Table 1 of the other two), and Fig. 1 of PLB, which shows how much the
nodes of its two machines differed at that time."""
HEAD = """\
# The papers' evaluations, and ours

Each figure and table: what the paper found and what we find, by `tools/reproduce/all`. Do not edit this page: it is
made of the data files beside it, which have the numbers, commands and seeds of the runs.

*Reproduced*: our number is off by at most 15 % of the paper's effect, or by what the paper rounds. *In part*: the
effect has the same direction, another size. *Not*: no effect, or the opposite. A line without a verdict is a number of
ours that explains. In brackets are the least and the most, and of how many: seeds, boxes, runs or pairs of runs; the
number is their median.
"""


@dataclass
class Row:
    section: str
    figure: str  # as "Fig. 9", or two, as "Fig. 18, Table 7"
    source: str  # data file: who has our number
    command: str
    lines: list  # (what, what the paper has: a number, or the least and most, or None; the name of ours)
    why: str = ""  # they differ
    neutral: float = 0  # the number that means no effect
    unit: str = ""
    rounding: float = 0  # the paper's numbers are rounded by up to this much

    @property
    def kind(self):
        return "real" if self.source == "juggle-real" else "simulated"


def judge(paper, ours, neutral, rounding=0):
    low, high = paper if isinstance(paper, tuple) else (paper, paper)
    if high == inf:
        return VERDICTS[0] if ours > low else VERDICTS[2]
    margin = max(0.15 * max(abs(low - neutral), abs(high - neutral)), rounding)
    if margin == 0:  # the paper has no effect
        margin = 0.02 * max(1, abs(neutral))
    if low - margin <= ours <= high + margin:
        return VERDICTS[0]
    effect = (low + high) / 2 - neutral
    return VERDICTS[1] if effect * (ours - neutral) > 0 else VERDICTS[2]


def text(value):
    """About three digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) >= 1 else f"{value:.2f}"


def paper_text(paper, unit):
    if paper is None:
        return ""
    if not isinstance(paper, tuple):
        return text(paper) + unit
    return f"above {text(paper[0])}{unit}" if paper[1] == inf else " to ".join(map(text, paper)) + unit


def ours_text(found, unit):
    if found is None:
        return "-"
    whole = text(found["value"]) + unit
    return f"{whole} ({text(found['low'])} to {text(found['high'])}, {found['runs']})" if "runs" in found else whole


def judged(row, data):
    """Of each line: what, the paper's number, ours, the verdict."""
    numbers = data.get(row.source, {"numbers": {}})["numbers"]
    for what, paper, name in row.lines:
        found = numbers.get(name)
        if paper is None:
            verdict = ""
        elif found is None:
            verdict = NOT_RUN
        else:
            verdict = judge(paper, found["value"], row.neutral, row.rounding)
        yield what, paper, found, verdict


def verdict_of(row, data):
    """Of the whole figure."""
    found = [verdict for *_, verdict in judged(row, data) if verdict]
    known = [verdict for verdict in found if verdict != NOT_RUN]
    if not known:
        return NOT_RUN
    return known[0] if len(set(found)) == 1 else VERDICTS[1]


def verdicts(data):
    """By section and figure; where more than one row is of a figure, together."""
    found = {}
    for row in ROWS:
        for figure in row.figure.split(", "):
            found.setdefault((row.section, figure), []).append(verdict_of(row, data))
    return {key: values[0] if len(set(values)) == 1 else VERDICTS[1] for key, values in found.items()}


def page(data):
    """data: by name, what collect() returns."""
    figures = verdicts(data)
    counts = ", ".join(f"{sum(one == verdict for one in figures.values())} {verdict}"
                       for verdict in (*VERDICTS, NOT_RUN) if verdict in figures.values() or verdict != NOT_RUN)
    refuted = sum(verdict == VERDICTS[-1] for row in ROWS for *_, verdict in judged(row, data))
    lines = [HEAD, f"Of {len(figures)} figures, tables and claims: {counts}. Those whose lines differ count as in part; "
             f"{refuted} lines say *not*.", "", LEFT_OUT, ""]
    for section, title in SECTIONS.items():
        rows = [row for row in ROWS if row.section == section]
        lines += [f"## {section}: {title}", ""]
        for source in dict.fromkeys(row.source for row in rows):
            lines += [f"- `{source}.json`: `{command}`" for command in data.get(source, {"commands": []})["commands"]]
        lines += ["", "| | | | paper | ours | | why they differ | command |", "|---|---|---|---|---|---|---|---|"]
        for row in rows:
            first = True
            for what, paper, found, verdict in judged(row, data):
                head = (f"**{row.figure}**", row.kind) if first else ("", "")
                tail = (row.why, f"`{row.command}`") if first else ("", "")
                lines.append("| " + " | ".join([*head, what, paper_text(paper, row.unit), ours_text(found, row.unit),
                                                verdict, *tail]) + " |")
                first = False
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def simulated_juggle(figure, lines, why="", **more):
    name = figure.lower().replace("fig. ", "").replace("table ", "table")
    return Row("Juggle", figure, "juggle", f"juggle --figures {name}", lines, why, **{"neutral": 1, **more})


def real_juggle(figure, part, lines, why="", **more):
    return Row("Juggle", figure, "juggle-real", f"juggle --real --parts {part}", lines, why, **{"neutral": 1, **more})


def simulated_plb(figure, lines, why="", **more):
    return Row("PLB", figure, "plb", "plb --simulated", lines, why, **{"unit": " %", "rounding": 0.5, **more})


def simulated_dplb(figure, series, lines, why="", **more):
    return Row("DPLB", figure, "dplb", f"dplb --simulated --modes {series}", lines, why, **more)


SPLIT, JOINT, HYBRID = "async(4) + split(0.001)", "async(4) + joint(0.001)", "async(4) + hybrid(0.001, 500)"
# Table 2 of PLB: ARCHER, Cirrus.
PLB_TABLE_2 = {"sync": (18, 13), "ssync(1)": (18, 11), "ssync(30)": (18, 11), "async(1)": (10, 8), "async(4)": (11, 9),
               SPLIT: ((0, 1), 1), JOINT: (1, 1), HYBRID: (1, -2)}
PLB_OVERHEADS = {"async(4)": (4, None), SPLIT: ((5, 7), (1, 2)), JOINT: ((17, 19), (7, 9)), HYBRID: ((4, 7), (1, 2))}
# Table 2 of DPLB: by slow parts, then over all.
DPLB_TABLE_2 = {"ssync-sockets": [0.06, 1.21, 4.00, 2.19, 1.81, 1.03, 0.83, 0.89, 1.71, 1.11],
                "async-sockets": [1.14, 1.86, 2.42, 3.55, 4.24, 3.39, 4.37, 1.51, 3.41, 1.51],
                "async-nodes": [8.12, 1.47, 3.50, 3.88, 6.26, 7.65, 5.06, 5.71, 11.07, 2.89]}
OURS_REAL = ("Three threads on two CPUs, 16 on 12 in the paper: so gains are shares of what is possible, speedups of "
             "1.33 and 1.5. Our kernels are classes A and B, the paper's C: CG and MG have shorter phases. Today's "
             "Linux moves threads that compute, too.")

ROWS = [
    simulated_juggle("Fig. 9", [
        ("speedup, 9 threads on 8 cores, one domain (theory, which the paper meets)", 1.778, "fig09 one domain"),
        ("two domains", 1.6, "fig09 two domains"),
        ("reactive (Linux)", 1.333, "fig09 reactive"),
        ("farthest from theory, in %", None, "fig09 from theory")]),
    simulated_juggle("Fig. 10", [
        ("speedup, 3 threads on 2", 1.333, "fig10 m = 2"), ("33 on 32", 1.939, "fig10 m = 32")]),
    *(simulated_juggle(f"Fig. {number}", [
        (f"speedup, {n} on {m}, short periods", bound, f"fig{number} short"),
        ("period above the phase", 1, f"fig{number} long")])
      for number, n, m, bound in ((11, 8, 7, 1.75), (12, 16, 7, 1.3125), (13, 25, 8, 1.28))),
    simulated_juggle("Fig. 14", [
        ("the largest speedup, 64 on 63 (theory)", 1.969, "fig14 most"),
        ("the mean of all cases", None, "fig14 mean")]),
    simulated_juggle("Fig. 15", [
        ("speedup, a period of 0.1 phases", 1.75, "fig15 short"),
        ("a period of two phases", 1, "fig15 fixed"),
        ("the same, varied by 10 % (theory)", 1.143, "fig15 varied")],
        "Eq. 27 takes all moments of a phase to be equally likely. A period that is varied by 10 % moves the moment "
        "by that much at a time, from the end of a phase: in 30 phases it does not come far."),
    simulated_juggle("Fig. 21", [
        ("moves a second, 8 on 7, period 100 ms: the paper's policy", 28, "fig21 juggle2012"),
        ("ideal algorithm", 30, "fig21 ideal"),
        ("juggle's policy", None, "fig21 juggle")],
        "juggle's own policy forgets leads, so threads are hardly ever level; the paper's and the ideal one leave "
        "level threads alone.", neutral=0),
    simulated_juggle("Fig. 22", [
        ("speed lost, period 0.5 ms, 100 µs a point on each CPU", 20, "fig22 0.5 ms"),
        ("period 10 ms", 1, "fig22 10 ms"),
        ("0.5 ms, one balancer for all CPUs, as in juggle", None, "fig22 one balancer"),
        ("slices of 10 ms, balancing free", None, "fig22 slices")],
        "The fall below 10 ms is what balancing costs. Slices alone take nothing: no CPU is idle, so at the end of 30 "
        "s threads are at most a slice apart.", neutral=0, unit=" %"),
    simulated_juggle("Table 4", [
        ("FT with Juggle, s: 8 on 7", 84, "table4 8 on 7"), ("16 on 7", 76, "table4 16 on 7"),
        ("32 on 7", 87, "table4 32 on 7")],
        "Two domains, balanced apart by the paper's policy; what 32 threads cost FT beyond their work is not "
        "simulated.",
        neutral=0, unit=" s"),
    real_juggle("Table 5", "table5", [
        ("speedup of a core in use: EP", 1, "table5 ep per CPU"), ("CG", (0.33, 0.66), "table5 cg per CPU"),
        ("MG", (0.31, 0.70), "table5 mg per CPU")],
        "Two CPUs do not exhaust the memory, 8 and 16 do.", neutral=0),
    real_juggle("Fig. 16, Table 6", "fig16", [
        ("of the possible gain by the paper's policy: EP", (96, 113), "fig16 ep paper share"),
        ("CG", (-2, 4), "fig16 cg paper share"), ("MG", (16, 36), "fig16 mg paper share"),
        ("juggle's policy: EP", None, "fig16 ep juggle share"), ("CG", None, "fig16 cg juggle share"),
        ("MG", None, "fig16 mg juggle share")], OURS_REAL, neutral=0, unit=" %"),
    real_juggle("Fig. 17", "fig16", [
        ("speedup of what theory approximates", 1, "fig17 of theory")],
        "Theory has phases, not memory: CG and MG lose more by it than they gain here.", neutral=0),
    real_juggle("Fig. 18, Table 7", "fig16", [
        ("of the possible gain by Linux, k = 200 ms: EP", 59, "fig16 ep linux share"),
        ("CG", -9, "fig16 cg linux share"), ("MG", -11, "fig16 mg linux share"),
        ("by the paper's policy: EP", 100, "fig16 ep paper share"), ("CG", 0, "fig16 cg paper share"),
        ("MG", 38, "fig16 mg paper share"),
        ("speedups: EP", None, "fig16 ep paper"), ("CG", None, "fig16 cg paper"), ("MG", None, "fig16 mg paper"),
        ("juggle's policy: EP", None, "fig16 ep juggle"), ("CG", None, "fig16 cg juggle"),
        ("MG", None, "fig16 mg juggle")], OURS_REAL, neutral=0),
    real_juggle("Fig. 19", "fig19", [
        ("speedup with two hogs, EP: the paper's policy", 1.35, "fig19 ep paper"),
        ("juggle's policy", 1.35, "fig19 ep juggle"), ("Linux", None, "fig19 ep linux"),
        ("over Linux, the best program: juggle's policy, up to", 1.5, "fig19 best over Linux")],
        "Two hogs leave none of our two CPUs free, but six of the paper's eight; there Juggle moves threads away from "
        "them."),
    real_juggle("Table 8", "fig19", [
        ("variation of EP less than with Linux: the paper's policy", 26, "fig19 ep variation paper below linux"),
        ("juggle's policy", 26, "fig19 ep variation juggle below linux"),
        ("less than pinned: the paper's policy", 13, "fig19 ep variation paper below pinned"),
        ("juggle's policy", 13, "fig19 ep variation juggle below pinned"),
        ("variation, pinned", None, "fig19 ep variation pinned"), ("Linux", None, "fig19 ep variation linux"),
        ("the paper's policy", None, "fig19 ep variation paper"),
        ("juggle's policy", None, "fig19 ep variation juggle")],
        "As for Fig. 19; and few short runs, the paper's 25 of half a minute.", neutral=0, unit=" %"),
    real_juggle("Fig. 20", "fig20", [
        ("the least speedup of two programs at once: the paper's policy", (1, inf), "fig20 paper least"),
        ("juggle's policy", None, "fig20 juggle least"), ("Linux", None, "fig20 linux least")],
        "Two programs of three threads on two CPUs."),
    real_juggle("Section 5.5", "fig16", [
        ("cost of a balancing point, µs", 100, "cost point_us"), ("of one CPU, %", None, "cost percent")],
        "A newer machine, fewer CPUs.", neutral=0),
    simulated_plb("Fig. 2", [
        ("spread with noise, four times as many iterations over as many: bounded where balanced", 1,
         f"growth ARCHER {JOINT}"), ("async(4)", None, "growth ARCHER async(4)")],
        "The paper says that it is bounded.", unit="", rounding=0),
    simulated_plb("Fig. 3", [
        *((f"iterations lost by {name}: {machine}", paper, f"overhead {machine} {name}")
          for name, papers in PLB_OVERHEADS.items() for machine, paper in zip(("ARCHER", "Cirrus"), papers) if paper),
        ("lost by noise: balanced, ARCHER", (0, 2), f"rate ARCHER {SPLIT}"), ("Cirrus", (0, 1), f"rate Cirrus {SPLIT}"),
        ("spread with noise, more by: async(1), ARCHER", 443, "spread ARCHER async(1)"),
        ("Cirrus", 107, "spread Cirrus async(1)"),
        ("ssync(30), ARCHER", 76, "spread ARCHER ssync(30)"), ("ssync(1), ARCHER", 8, "spread ARCHER ssync(1)"),
        ("hybrid, ARCHER", -38, f"spread ARCHER {HYBRID}"), ("hybrid, Cirrus", 24, f"spread Cirrus {HYBRID}")],
        "What balancing and smaller subdomains cost in caches is not simulated, only that an update takes 15 % longer "
        "on the other socket. How cores differ without noise is chosen so that the spread of async(1) is right; the "
        "rest follows."),
    *(simulated_plb("Fig. 5, Table 2" if machine == "ARCHER" else "Fig. 4, Table 2", [
        (f"time to solution with noise, more by: {name}", papers[i], f"time {machine} {name}")
        for name, papers in PLB_TABLE_2.items()],
        "What always waits for a core with 81 % of its speed takes 23 % longer; less than that if without noise it "
        "waits for the slowest core already, which depends on how cores differ (see Fig. 3). The height of the source "
        "is not in the paper, and chosen for async(1) on ARCHER. Below 2 % the scatter of the machines decides.")
      for i, machine in enumerate(("ARCHER", "Cirrus"))),
    simulated_plb("Claim: 5 to 25 %", [
        *((f"balanced faster with noise than {name}, {machine}", paper, f"gain {machine} {name}")
          for name, paper in (("sync", (22, 25)), ("ssync(1)", (14, 19)), ("ssync(30)", (14, 19)), ("async(1)", (5, 8)))
          for machine in ("ARCHER", "Cirrus"))],
        "As for Table 2."),
    simulated_dplb("Fig. 1", "ssync-sockets", [
        ("ssync, slow sockets: time to solution shorter with DPLB by", (3, 10), "ssync-sockets shorter"),
        ("none slow", -5, "ssync-sockets shorter, none slow")],
        "Balancing itself cost the paper 5 %; here gaps that close by themselves move nothing. Unbalanced, all wait for "
        "the slowest socket here, unless it is at an end of the domain; the paper's time to solution grew gradually.", unit=" %"),
    simulated_dplb("Fig. 2", "async-sockets", [
        ("async, slow sockets: time to solution shorter by", (0, 6), "async-sockets shorter"),
        ("staleness, over that with DPLB", (1.08, 1.61), "async-sockets staleness"),
        *((f"1000 updates a second and node, {count} slow{': async' if not dplb else ': with DPLB'}", paper,
           f"async-sockets {count}{dplb} rate") for count, pair in ((0, (10.85, 10.86)), (4, (10.45, 10.62)),
                                                                   (8, (10.06, 10.22)))
          for dplb, paper in zip(("", " DPLB"), pair))],
        "The simulated cores differ by 1 % and wait for no memory, so that most of the staleness is that of the "
        "noise, which balancing takes away."),
    simulated_dplb("Fig. 3", "async-nodes", [
        ("async, slow nodes: time to solution shorter by", (0, 6), "async-nodes shorter"),
        ("the longest, over that with DPLB", None, "async-nodes longest"),
        ("staleness, over that with DPLB", (1.24, 4.05), "async-nodes staleness")],
        "As for Fig. 2. A third of a box are the ends of the domain, where slow nodes cost nothing and balancing a few "
        "percent; a third its middle, where they cost most and balancing gains most; the others are places at random, "
        "often the median."),
    *(simulated_dplb("Table 2", series, [
        (f"{series}: spread of the time to solution over that with DPLB, "
         f"{'0 to 8' if count == 'extremes' else count} slow",
         paper, f"{series} {count} variability") for count, paper in zip([*range(9), "extremes"], papers)],
        "The runs of a box differ by the place of the noise and the seed; in the paper by the nodes as well. Here a box "
        "has the best place, the worst one and places at random, a third of it each, so unbalanced runs differ more. "
        "Where little varies, a ratio means little.", neutral=1)
      for series, papers in DPLB_TABLE_2.items()),
    simulated_dplb("Table 3", "many-nodes", [
        ("100 nodes, random noise: mean time shorter with DPLB by, %", (-1, 1), "random shorter"),
        ("standard deviation of async, in % of the mean", 1.1, "random deviation"),
        ("with DPLB", 1.2, "random DPLB deviation"),
        ("time in s (paper: 118.1)", None, "random s"), ("with DPLB (118.1)", None, "random DPLB s")],
        "Fewer cells for each core: the sides are felt sooner, so times are shorter. The paper's deviation has the "
        "scatter of its machine in it."),
]
