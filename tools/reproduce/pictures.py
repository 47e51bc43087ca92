# SPDX-License-Identifier: MIT
"""How the pictures of this folder look, and gnuplot, which draws each as PNG, SVG and PDF.

Colours are those of Okabe and Ito without yellow, which white paper swallows, and two more that are
told apart by how dark they are. Each goes with a shape of its own, so that nothing depends on colour.
"""

import math
import shutil
import subprocess
import sys
from pathlib import Path

from experiment import die, quartiles

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#777777", "#882255"]
OPEN, CLOSED = [6, 4, 8, 12, 10, 14], [7, 5, 9, 13, 11, 15]  # point types: circle, square, triangle ...
VIRIDIS = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"]
CLOSED_LS = 10  # style line i + 1 is open, CLOSED_LS + i + 1 closed
# Ending: terminal, and the unit of points' sizes, which differs from terminal to terminal. On paper
# a column and a half of a journal wide, with text of 8 pt.
FORMATS = {"png": ("pngcairo size 1000,700 font 'sans,14'", 1),
           "svg": ("svg size 1000,700 font 'sans-serif,18'", 0.45),
           "pdf": ("pdfcairo size 14cm,9.8cm font 'sans,12'", 0.37)}
STYLE = [f"set style line {first + i + 1} lw 2 lc rgb '{colour}' pt {shapes[i % len(shapes)]}"
         for first, shapes in ((0, OPEN), (CLOSED_LS, CLOSED)) for i, colour in enumerate(COLOURS)]
STYLE += ["set encoding utf8", "set grid back lt 1 lw 0.5 lc rgb '#cccccc'",
          "set key opaque box lc rgb '#aaaaaa' Left reverse samplen 3 spacing 1.15 width -1",
          "set tics nomirror", "set border 3"]


def find_gnuplot():
    """gnuplot's path; without it, prints a message and returns None."""
    gnuplot = shutil.which("gnuplot")
    if not gnuplot:
        print(f"{Path(sys.argv[0]).name}: no gnuplot here (apt-get install gnuplot-nox): data files only",
              file=sys.stderr)
    return gnuplot


def quoted(text):
    """Quoted for gnuplot, including apostrophes."""
    return "'" + str(text).replace("'", "''") + "'"


def data(path):
    """A file's name for a script, which runs in the file's folder."""
    return quoted(path.name)


def key(style, title):
    """An entry of the key alone: what lines or points of this style are."""
    return f"NaN with {style} title {quoted(title)}"


def script(title, x, y, parts, *more):
    """A picture: its title, the axes' labels, what to plot, and other commands."""
    return "\n".join([*STYLE, f"set title {quoted(title)}", f"set xlabel {quoted(x)}", f"set ylabel {quoted(y)}", *more,
                      "plot " + ", \\\n ".join(parts)])


def key_below(rows, order):
    """Commands for a key of so many rows below the x axis' label; `order` as gnuplot has it."""
    return ["set rmargin 4", f"set bmargin at screen {0.14 + 0.05 * rows:.3g}",
            f"set key at screen 0.5, screen 0.015 bottom center {order} noopaque nobox"]


def cut(label, begin):
    """The label of an axis that begins there instead of at 0."""
    return f"{label} – axis begins at {begin:g}"


def axis(label, values):
    """(label, range) of an axis for values above 0. It begins at 0 unless they lie close together."""
    least, most = min(values), max(values)
    unit = 10 ** math.floor(math.log10(max(most - least, most / 100)))
    begin = math.floor(least / unit - 0.1) * unit
    end = math.ceil(most / unit + 0.1) * unit
    if begin < most / 3:
        return label, f"[0:{end:g}]"
    return cut(label, begin), f"[{begin:g}:{end:g}]"


def read_columns(path):
    """Of a table with a line of names: the numbers of each column, where they are known."""
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return [[float(x) for x in column if x != "?"] for column in zip(*rows)]


def distributions(path, columns, names, sideways=False):
    """(commands, parts) that draw the columns of a table of runs: those of names[0] and names[1] in turn,
    at 1, 1, 2, 2 and so on. The medians have bars for the middle half; beside them is each run as a dot.
    `sideways`: values are along the x axis."""
    def using(place, values):
        return f"using {values}:{place}" if sideways else f"using {place}:{values}"

    block, dots = ["$medians << EOD"], []
    for i, column in enumerate(columns):
        group, kind = divmod(i, 2)
        side = 1 if kind else -1
        block.append(f"{group + 1 + 0.1 * side:g} " + " ".join(f"{x:.6g}" for x in quartiles(column)))
        dots.append(f"{data(path)} skip 1 {using(f'({group + 1 + 0.25 * side})', i + 1)} with points pt 7 ps 0.6*dot "
                    f"lc rgb '{COLOURS[kind]}' notitle")
    bars = "xerrorbars" if sideways else "yerrorbars"
    medians = [f"$medians every 2::{kind} {using(1, 3)}:2:4 with {bars} ls {kind * CLOSED_LS + kind + 1} ps 1.5*dot "
               f"title {quoted(name)}" for kind, name in enumerate(names)]
    return [*block, "EOD", "set datafile missing '?'"], medians + [
        key("points pt 7 ps 0.6*dot lc rgb '#000000'", "a run"), *dots]


def plot(gnuplot, path, text):
    """Writes path.gp, which draws path.png and the other formats, and runs it."""
    names = ", ".join(f"{path.name}.{ending}" for ending in FORMATS)
    lines = [f"# Draws {names} from the data files of this folder. Change it, and run there:",
             f"#   gnuplot {quoted(f'{path.name}.gp')}"]
    for command, (ending, (terminal, dot)) in zip([text, "replot", "replot"], FORMATS.items()):
        lines += [f"set terminal {terminal} noenhanced background '#ffffff'",
                  f"set output {quoted(f'{path.name}.{ending}')}", f"dot = {dot}", command]
    file = path.with_name(f"{path.name}.gp")
    file.write_text("\n".join([*lines, "unset output"]) + "\n", encoding="utf-8")
    done = subprocess.run([gnuplot, file.name], cwd=file.parent, check=False)
    if done.returncode != 0:
        die(f"{file}: gnuplot failed")
