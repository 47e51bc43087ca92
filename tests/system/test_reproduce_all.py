# SPDX-License-Identifier: MIT
"""tools/reproduce/all: the committed page is made of the committed data, and says something of each figure."""

import json
import re
import shutil
import subprocess
import sys

import pytest

import helpers

SCRIPT = helpers.REPO / "tools" / "reproduce" / "all"
RESULTS = SCRIPT.with_name("results")
sys.path.append(str(SCRIPT.parent))
import evaluation  # noqa: E402

pytestmark = [pytest.mark.beside, pytest.mark.unsanitized]

SOURCES = ["juggle", "juggle-real", "plb", "dplb"]
# Claim and Section: numbers that only the text has.
FIGURES = {
    "Juggle": {*(f"Fig. {n}" for n in range(9, 23)), *(f"Table {n}" for n in range(4, 9)), "Section 5.5"},
    "PLB": {"Fig. 2", "Fig. 3", "Fig. 4", "Fig. 5", "Table 2", "Claim: 5 to 25 %"},
    "DPLB": {"Fig. 1", "Fig. 2", "Fig. 3", "Table 2", "Table 3"},
}


def reproduce(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=helpers.TIMEOUT_S, check=False)


def data_of(folder):
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


@pytest.fixture
def copy(tmp_path):
    return shutil.copytree(RESULTS, tmp_path / "results")


def test_page_is_made_of_its_data():
    done = reproduce("--check")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", SOURCES)
def test_data_changed_by_hand(copy, name):
    path = copy / f"{name}.json"
    if not path.exists():
        pytest.skip(f"no results of {name} yet")
    found = json.loads(path.read_text())
    row = next(row for row in evaluation.ROWS if row.source == path.stem)
    shown = row.lines[0][2]
    found["numbers"][shown]["value"] *= 1.5
    path.write_text(json.dumps(found))
    done = reproduce("--check", "--output", copy)
    assert done.returncode == 1
    assert "--page" in done.stderr and len(done.stderr.splitlines()) == 1
    assert reproduce("--page", "--output", copy).returncode == 0
    assert reproduce("--check", "--output", copy).returncode == 0


def test_page_changed_by_hand(copy):
    path = copy / "README.md"
    text = path.read_text()
    number = re.search(r"\| (\d\.\d+) \|", text)
    path.write_text(text[:number.start(1)] + "9.99" + text[number.end(1):])
    assert reproduce("--check", "--output", copy).returncode == 1


def test_every_figure_is_there():
    for section, wanted in FIGURES.items():
        found = {name for row in evaluation.ROWS if row.section == section for name in row.figure.split(", ")}
        assert found == wanted


@pytest.mark.parametrize("name", SOURCES)
def test_no_row_without_a_number(name):
    data = data_of(RESULTS)
    if name not in data:
        pytest.skip(f"no results of {name} yet")
    commands = data[name]["commands"]
    assert commands and all(command.startswith("tools/reproduce/") for command in commands)
    for row in (row for row in evaluation.ROWS if row.source == name):
        lines = list(evaluation.judged(row, data))
        assert all(found is not None for _, _, found, _ in lines), row.figure
        assert any(paper is not None for _, paper, _, _ in lines), row.figure
        assert row.why or evaluation.verdict_of(row, data) == "reproduced", row.figure


@pytest.mark.parametrize("paper, ours, neutral, verdict", [
    (1.75, 1.7, 1, "reproduced"), (1.75, 1.3, 1, "in part"), (1.75, 0.9, 1, "not"),
    ((3, 10), 11, 0, "reproduced"), ((3, 10), 1, 0, "in part"), (-5, 2, 0, "not"),
    (1, 1.01, 1, "reproduced"), (1, 1.1, 1, "not"),
    ((1, float("inf")), 1.2, 1, "reproduced"), ((1, float("inf")), 0.9, 1, "not"),
])
def test_verdicts(paper, ours, neutral, verdict):
    assert evaluation.judge(paper, ours, neutral) == verdict


@pytest.mark.parametrize("arguments, status, what", [
    (["--only", "x"], 2, "unknown: x"), (["--use", "x=y"], 2, "unknown: x"),
    (["--only", "plb", "--use", "plb=/nowhere"], 1, "plb: not results of it"),
])
def test_errors(tmp_path, arguments, status, what):
    done = reproduce("--output", tmp_path, *arguments)
    assert done.returncode == status
    assert what in done.stderr
