# SPDX-License-Identifier: MIT
"""Pictures that gnuplot has drawn: are they there, and is a text of an SVG cut off?"""

import re
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

NAMESPACE = "{http://www.w3.org/2000/svg}"
WIDTH = 0.6  # of a character, by its height: fonts differ
FORMATS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}  # how each begins
ANCHORS = {"start": 0, "middle": 0.5, "end": 1}


@dataclass
class Text:
    text: str
    x: float  # of its anchor, on the base line
    y: float
    left: float
    top: float
    right: float
    bottom: float


def text_of(group):
    found = re.match(r"translate\((\S+?),(\S+?)\)(.*)", group.get("transform", ""))
    words = "".join(group.find(NAMESPACE + "text").itertext()).strip().replace("\xa0", " ")
    x, y, height = float(found[1]), float(found[2]), float(group.get("font-size"))
    begin = -ANCHORS[group.get("text-anchor")] * WIDTH * height * len(words)
    end = begin + WIDTH * height * len(words)
    if "rotate(270)" in found[3]:
        return Text(words, x, y, x - 0.8 * height, y - end, x + 0.2 * height, y - begin)
    return Text(words, x, y, x + begin, y - 0.8 * height, x + end, y + 0.2 * height)


def texts(path):
    """All texts of a picture."""
    root = ElementTree.parse(path).getroot()
    return [text_of(group) for group in root.iter(NAMESPACE + "g") if group.find(NAMESPACE + "text") is not None]


def check_texts(path):
    """There are texts, and all are inside the picture."""
    left, top, width, height = map(float, ElementTree.parse(path).getroot().get("viewBox").split())
    found = texts(path)
    assert found
    for text in found:
        assert left <= text.left and text.right <= left + width and top <= text.top and text.bottom <= top + height, (
            path, text)


def check_drawn(folder, names, stderr):
    """tools/reproduce has drawn these, and nothing else, in all formats; or said that it can't."""
    if not shutil.which("gnuplot"):
        assert "data files only" in stderr
        return
    assert {path.stem for path in folder.glob("*.gp")} == set(names)
    for name in names:
        for ending, begin in FORMATS.items():
            data = (folder / f"{name}.{ending}").read_bytes()
            assert data.startswith(begin) and len(data) > 5000, (name, ending)
        check_texts(folder / f"{name}.svg")
