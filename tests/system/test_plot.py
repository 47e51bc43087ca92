# SPDX-License-Identifier: MIT
"""jugglectl plot: pictures and JSON of recorded traces, of a live run, and of files that are not
traces."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

import helpers
import pictures
import traces
from helpers import refused
from test_manuals import keys_of_page

pytestmark = [pytest.mark.beside, pytest.mark.no_races]

TRACES = helpers.REPO / "tests" / "fixtures" / "trace"
NEEDS_GNUPLOT = pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is not installed")
SVG = "{http://www.w3.org/2000/svg}svg"


@pytest.fixture
def plot(jugglectl_json):
    """plot(TRACE, OPTION...): what it prints as JSON."""
    return lambda trace, *options, **keywords: jugglectl_json("plot", trace, *options, **keywords)


def draw(plot, folder, trace, *options, **keywords):
    """(texts of the picture, result)."""
    result = plot(trace, "-o", folder / "picture.svg", *options, **keywords)
    assert ElementTree.parse(folder / "picture.svg").getroot().tag == SVG
    return [text.text for text in pictures.texts(folder / "picture.svg")], result


# --- pictures ------------------------------------------------------------------------

@NEEDS_GNUPLOT
def test_keys(plot, tmp_path):
    _, result = draw(plot, tmp_path, TRACES / "block")
    assert keys_of_page("jugglectl-plot.1", "RESULT FORMAT") == (set(result), {})


@NEEDS_GNUPLOT
@pytest.mark.parametrize("name, panels", [
    ("block", 3), ("yield", 3), ("static", 3), ("observe", 3), ("braid", 5)])
def test_svg(plot, tmp_path, name, panels):
    texts, result = draw(plot, tmp_path, TRACES / name)
    assert any(text.startswith("ubench" if name != "braid" else "jacobi") for text in texts)
    expected = ["Lead", "Placement", "Spread of the threads", "Braid", "Spread of the subdomains"][:panels]
    for title in expected:
        assert any(text.startswith(title) for text in texts), title
    assert result["format"] == "svg" and result["threads"] == result["threads_drawn"] == 3 - (name == "braid")
    assert result["bytes"] == (tmp_path / "picture.svg").stat().st_size < 1000000
    assert result["subdomains"] == result["subdomains_drawn"] == (8 if name == "braid" else 0)


@NEEDS_GNUPLOT
@pytest.mark.parametrize("name", ["yield", "braid"])
@pytest.mark.parametrize("size", [[], ["--width", "500", "--height", "700"]])
def test_layout(run_jugglectl, plot, tmp_path, name, size):
    """No text is cut off, and titles are nearer to their own panels than to those above."""
    options, trace = ["--what", "all", *size], tmp_path / "trace"
    # A name of 15 characters and a tid of 7, the longest that the kernel allows.
    text = re.sub(r"^(birth .*) \S+$", r"\1 fifteen-of-them", (TRACES / name).read_text(), flags=re.MULTILINE)
    tids = set(re.findall(r"^birth \S+ (\d+)", text, re.MULTILINE))
    trace.write_text(re.sub(r"(?<= )(%s)(?= )" % "|".join(tids), lambda tid: str(4000000 + int(tid[1]) % 100000), text))
    draw(plot, tmp_path, trace, *options)
    picture = tmp_path / "picture.svg"
    pictures.check_texts(picture)
    height = float(ElementTree.parse(picture).getroot().get("viewBox").split()[3])
    script = run_jugglectl("plot", "--gnuplot", "-o", "-", *options, trace).stdout
    tops, bottoms = ([height * (1 - float(x)) for x in re.findall(rf"set {side}margin at screen (\S+)", script)]
                     for side in "tb")
    found = [text for text in pictures.texts(picture) if re.match("(Progress|Lead|Placement|Spread|Braid)\\b", text.text)]
    assert len(found) == len(tops) == len(bottoms) > 3
    for above, title, top in zip(bottoms, found[1:], tops[1:]):
        assert 0 < 2 * (top - title.bottom) < title.top - above, title


@NEEDS_GNUPLOT
def test_png(plot, tmp_path):
    result = plot(TRACES / "braid", "-o", tmp_path / "a.png", "--width", "700", "--height", "900", "--what", "all")
    data = (tmp_path / "a.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (700, 900)
    assert (result["format"], result["bytes"]) == ("png", len(data))


@NEEDS_GNUPLOT
def test_panels(plot, tmp_path):
    texts, _ = draw(plot, tmp_path, TRACES / "yield", "--what", "progress,spread")
    found = [text.split(":")[0].split()[0] for text in texts if text.startswith(("Progress", "Lead", "Plac", "Spread"))]
    assert found == ["Progress", "Spread"]


@NEEDS_GNUPLOT
def test_window(plot, tmp_path):
    whole = draw(plot, tmp_path, TRACES / "yield")[1]
    part = draw(plot, tmp_path, TRACES / "yield", "--from", "100ms", "--to", "0.2s")[1]
    assert (part["from_s"], part["to_s"]) == (pytest.approx(0.1), pytest.approx(0.2))
    assert 0 < part["points"] < whole["points"] and 0 < part["migrations"] < whole["migrations"]
    assert whole["from_s"] == 0 and whole["to_s"] > 0.3


@NEEDS_GNUPLOT
def test_some_threads(run_jugglectl, plot, tmp_path):
    tid = re.search(r"^birth \S+ (\d+)", (TRACES / "yield").read_text(), re.MULTILINE)[1]
    texts, result = draw(plot, tmp_path, TRACES / "yield", "--tid", tid)
    assert (result["threads"], result["threads_drawn"]) == (3, 1)
    assert f"ubench {tid}" in texts
    done = run_jugglectl("plot", "-t", "2", "-o", tmp_path / "a.svg", TRACES / "yield")
    assert (done.returncode, done.stderr) == (0, "jugglectl plot: 2 of 3 threads are drawn (--threads, --tid)\n")
    assert done.stdout.startswith(f"{tmp_path / 'a.svg'}: 2 threads, ")
    done = run_jugglectl("plot", "--subdomains", "5", "-o", tmp_path / "a.svg", TRACES / "braid")
    assert done.stderr == "jugglectl plot: 5 of 8 subdomains are drawn (--subdomains)\n"


@NEEDS_GNUPLOT
@pytest.mark.parametrize("name", ["it's a \"trace\"", "`id` $(id) \\", "-n", "50% of\nit", "\xe9"])
def test_names(run_jugglectl, tmp_path, name):
    """The picture is beside the trace; names need no quoting, and an existing file is replaced."""
    trace = tmp_path / name
    header, rest = (TRACES / "yield").read_text().split("\n", 1)
    command = json.dumps(name + " <&> '\u20ac' \x01 \ufffe")
    trace.write_text(re.sub(r'"command":"[^"]*"', lambda _: '"command":' + command, header) + "\n" + rest)
    picture = tmp_path / (name + ".svg")
    picture.write_text("old")
    picture.chmod(0o640)
    done = run_jugglectl("plot", "--", trace)
    assert (done.returncode, done.stderr) == (0, "")
    assert " <&> '\u20ac' ? ?" in " ".join(text.text for text in pictures.texts(picture))
    assert picture.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == sorted([name, name + ".svg"])


@NEEDS_GNUPLOT
def test_settings_of_the_user(plot, tmp_path):
    """Settings for an interactive gnuplot don't affect pictures, and errors in them don't
    matter."""
    (tmp_path / ".gnuplot").write_text(f"set output '{tmp_path}/own'\nset title 'own'\nthis is no command\n")
    texts, _ = draw(plot, tmp_path, TRACES / "block", env={**os.environ, "HOME": str(tmp_path)})
    assert "own" not in texts and sorted(os.listdir(tmp_path)) == [".gnuplot", "picture.svg"]


@NEEDS_GNUPLOT
def test_standard_output(run_jugglectl):
    done = run_jugglectl("plot", "-o", "-", TRACES / "block")
    assert (done.returncode, done.stderr) == (0, "")
    assert ElementTree.fromstring(done.stdout.encode()).tag == SVG


@NEEDS_GNUPLOT
def test_script(run_jugglectl, tmp_path):
    done = run_jugglectl("plot", "--gnuplot", "-o", "-", TRACES / "braid")
    assert (done.returncode, done.stderr) == (0, "")
    drawn = subprocess.run(["gnuplot"], input=done.stdout, capture_output=True, text=True, check=False,
                           timeout=helpers.TIMEOUT_S)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert ElementTree.fromstring(drawn.stdout.encode()).tag == SVG


@NEEDS_GNUPLOT
def test_many_threads_and_points(run_jugglectl, tmp_path):
    """However long the trace is, the picture is small."""
    trace = tmp_path / "trace"
    with open(trace, "w", encoding="utf-8") as file:
        file.write(traces.begin())
        file.writelines(traces.point(
            i * 1000000, [(t + 1, (t + i) % 2, (i * t * 7919) % 1000003, 9000, 0) for t in range(200)],
            [(1, 0, 1)], 1000000) for i in range(1, 2001))
    done = run_jugglectl("plot", "-q", "--json", "-t", "200", trace)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["threads_drawn"] == 200 and 50000 < result["bytes"] < 2000000


@NEEDS_GNUPLOT
@pytest.mark.needs_cpus(2)
def test_of_a_live_run(run_juggle, plot, app, tmp_path):
    """Subdomains of a program that is wrapped."""
    iterations = "500" if helpers.SANITIZER else "3000"  # half a second without a sanitizer
    done = run_juggle("--trace", str(tmp_path / "trace"), "--", app("jacobi"), "-t", "2", "-n", iterations,
                      "--host", "daemon", "--period", "2ms", "-b", "joint", "-q")
    assert done.returncode == 0, done.stderr
    texts, result = draw(plot, tmp_path, tmp_path / "trace")
    assert result["subdomains_drawn"] == 8
    assert "worker 0" in texts and "worker 1" in texts


def test_names_are_the_last_ones(run_juggle, plot, app, tmp_path):
    """A thread that executes another program, or names itself, after it was found."""
    wait = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; exec \"$@\""
    done = run_juggle("--trace", str(tmp_path / "trace"), "--report", str(tmp_path / "report"), "--", "sh", "-c", wait,
                      "sh", app("ubench"), "-t", "3", "-p", "10", "-q")
    assert done.returncode == 0, done.stderr
    known = {thread["tid"]: thread["comm"] for thread in helpers.read_report(tmp_path / "report")["thread"]}
    found = {event["tid"]: event["args"]["name"] for event in events(plot, tmp_path / "trace", tmp_path)
             if event["name"] == "thread_name" and event["tid"] in known}
    assert found and found == {tid: known[tid] for tid in found}


# --- Perfetto ------------------------------------------------------------------------

def events(plot, trace, folder, *options):
    result = plot(trace, "--perfetto", "-o", folder / "out", *options)
    assert result["format"] == "perfetto"
    return json.loads((folder / "out").read_text("utf-8"))["traceEvents"]


@pytest.mark.parametrize("name", ["block", "yield", "static", "observe", "braid"])
def test_perfetto(plot, tmp_path, name):
    processes, threads, last, end, flows = set(), set(), {}, {}, Counter()
    kinds, cut = Counter(), {}
    for event in events(plot, TRACES / name, tmp_path):
        kind, track = event["ph"], (event["pid"], event["tid"])
        kinds[kind] += 1
        if kind == "M":
            assert event["args"]
            if event["name"] == "process_name":
                processes.add(event["pid"])
            elif event["name"] == "thread_name":
                threads.add(track)
            continue
        assert event["pid"] in processes and track in threads, "all have names"
        assert event["name"] and event["cat"]
        if kind == "C":
            track = event["pid"], event["name"]
            (value,) = event["args"].values()
            assert isinstance(value, (int, float))
        now = round(event["ts"] * 1000)
        assert now >= last.get(track, 0), "in order of time"
        last[track] = now
        if kind == "X":
            assert event["dur"] > 0 and now >= end.get(track, 0), "one after the other"
            end[track] = now + round(event["dur"] * 1000)
            # Until 2025, Perfetto cut off what is left of a nanosecond, and dropped slices that overlap by that.
            assert int(event["ts"] * 1000) >= cut.get(track, 0)
            cut[track] = int(event["ts"] * 1000) + int(event["dur"] * 1000)
        elif kind in "sf":
            flows[kind, event["id"]] += 1
            assert kind == "s" or event["bp"] == "e"
    assert set(flows.values()) <= {1}
    assert {i for k, i in flows if k == "s"} == {i for k, i in flows if k == "f"}
    assert (kinds["s"] > 10) == (name in ("block", "yield"))
    assert kinds["X"] > 3 and kinds["C"] > 50 and kinds["i"] >= (name != "observe")


def test_perfetto_says_what_the_trace_does(plot, tmp_path):
    everything = events(plot, TRACES / "yield", tmp_path)
    tids = set(re.findall(r"^birth \S+ (\d+)", (TRACES / "yield").read_text(), re.MULTILINE))
    cpus = {event["name"] for event in everything if event["ph"] == "X" and str(event["tid"]) in tids}
    assert cpus >= {"CPU 0", "CPU 1"}
    assert {"balance: starting"} <= {event["name"] for event in everything if event["ph"] == "i"}
    owners = Counter(event["name"] for event in events(plot, TRACES / "braid", tmp_path)
                     if event["ph"] == "X" and event["cat"] == "holding")
    times = re.findall(r"^(\w+) (\d+)", (TRACES / "braid").read_text(), re.MULTILINE)
    end = max(int(time) for record, time in times if record in ("point", "give"))
    gives = sum(record == "give" and int(time) < end for record, time in times)
    assert set(owners) == {"worker 0", "worker 1"} and sum(owners.values()) == 8 + gives


# --- what fails ----------------------------------------------------------------------

def test_no_gnuplot(run_jugglectl, tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path)}
    refused(run_jugglectl("plot", "-o", tmp_path / "a.svg", TRACES / "block", env=environment), 1,
            "gnuplot is not installed", "gnuplot-nox", "--gnuplot")
    assert os.listdir(tmp_path) == []
    for option in ("--gnuplot", "--perfetto"):
        done = run_jugglectl("plot", option, "-o", tmp_path / "a", TRACES / "block", env=environment)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script, words", [
    ("cat > /dev/null; echo '\"x\" line 7: unknown terminal' >&2; exit 1", ["line 7: unknown terminal"]),
    ("exit 0", ["it drew nothing"]),
    ("kill -9 $$", ["signal 9"]),
])
def test_gnuplot_that_fails(run_jugglectl, tmp_path, script, words):
    """An existing file stays as it is."""
    tool, old = tmp_path / "gnuplot", tmp_path / "a.png"
    tool.write_text("#!/bin/sh\n" + script + "\n")
    tool.chmod(0o755)
    old.write_text("old")
    environment = {**os.environ, "PATH": "%s:%s" % (tmp_path, os.environ["PATH"])}
    refused(run_jugglectl("plot", "-o", old, TRACES / "block", env=environment), 1, "gnuplot failed: ", *words)
    assert old.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["a.png", "gnuplot"]


def test_interrupted(background, jugglectl, tmp_path):
    """Control-C ends both, though gnuplot would go on; and an existing file stays as it is."""
    tool, old, started = tmp_path / "gnuplot", tmp_path / "a.svg", tmp_path / "started"
    tool.write_text("#!/bin/sh\ntrap '' INT\necho half\necho $$ > '%s'\nexec sleep 60\n" % started)
    tool.chmod(0o755)
    old.write_text("old")
    environment = {**os.environ, "PATH": "%s:%s" % (tmp_path, os.environ["PATH"])}
    process = background([jugglectl, "plot", "-o", old, TRACES / "block"], env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pid = helpers.wait_for(lambda: started.read_text().strip(), "gnuplot runs", process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=helpers.TIMEOUT_S) == ("", "")
    assert process.returncode == -signal.SIGINT
    helpers.wait_for(lambda: not os.path.exists("/proc/%s" % pid), "gnuplot has ended")
    assert old.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["a.svg", "gnuplot", "started"]


@pytest.mark.parametrize("output, words", [
    ("missing/a.json", "No such file or directory"), ("", "Is a directory"), ("full", "No space left")])
def test_output_that_cannot_be_written(run_jugglectl, tmp_path, output, words):
    (tmp_path / "full").symlink_to("/dev/full")
    refused(run_jugglectl("plot", "--perfetto", "-o", tmp_path / output, TRACES / "block"), 1, words)
    assert os.listdir(tmp_path) == ["full"]


def test_folder_of_somebody_else(unprivileged, jugglectl, tmp_path):
    tmp_path.chmod(0o755)
    refused(unprivileged.run([jugglectl, "plot", "--perfetto", "-o", str(tmp_path / "a"), str(TRACES / "block")]),
            1, "Permission denied")


def test_link_stays_a_link(plot, tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    plot(TRACES / "observe", "--perfetto", "-o", tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and json.loads((tmp_path / "real").read_text())


def test_name_that_is_no_text(plot, tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xc3\xa9 \xff"
    assert plot(TRACES / "observe", "--perfetto", "-o", os.fsdecode(path))["output"] == "%s/caf\u00e9 ?" % tmp_path


def test_damage(run_jugglectl, plot, tmp_path):
    text, file = (TRACES / "braid").read_text(), tmp_path / "file"
    refused(run_jugglectl("plot", file), 1, str(file), "No such file or directory")
    refused(run_jugglectl("plot", tmp_path), 1, "Is a directory")
    file.write_text(re.sub(r"^give .*", "give 1 2", text, count=1, flags=re.MULTILINE))
    refused(run_jugglectl("plot", file), 1, str(file), "line ", "a damaged give record")
    file.write_text(text.partition("\n")[0] + "\n")
    refused(run_jugglectl("plot", file), 1, "no balancing points with threads")
    file.write_text(text[:len(text) // 2 + 3])
    done = run_jugglectl("plot", "--perfetto", "-o", tmp_path / "out", file)
    assert (done.returncode, done.stderr) == (
        0, "jugglectl plot: the trace is cut short; what is there is used\n")
    assert plot(file, "-q", "--perfetto", "-o", tmp_path / "out")["cut_short"]


def test_nothing_to_draw(run_jugglectl, tmp_path):
    output = "-o", tmp_path / "a.svg"
    refused(run_jugglectl("plot", *output, "--from", "1min", TRACES / "block"), 1, "the last is at 0.8")
    refused(run_jugglectl("plot", *output, "--tid", "1", TRACES / "block"), 1, "--tid")
    refused(run_jugglectl("plot", *output, "--what", "braid", TRACES / "block"), 1, "no subdomains")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options, words", [
    ([], ["TRACE is missing"]),
    ([TRACES / "block", TRACES / "yield"], ["one trace at a time"]),
    (["-o", "a.pdf", TRACES / "block"], ["a.pdf", ".svg, .png or .html"]),
    (["--what", "braids", TRACES / "block"], ["--what", "braid, or all"]),
    (["--what", ",", TRACES / "block"], ["--what"]),
    (["--from", "2", TRACES / "block"], ["--from", "unit"]),
    (["--from", "2s", "--to", "1s", TRACES / "block"], ["--from has to be before --to"]),
    (["--threads", "0", TRACES / "block"], ["--threads"]),
    (["--tid", "1,x", TRACES / "block"], ["--tid"]),
    (["--tid", "", TRACES / "block"], ["--tid"]),
    (["--width", "399", TRACES / "block"], ["--width"]),
    (["--height", "10001", TRACES / "block"], ["--height"]),
    (["--json", "-o", "-", TRACES / "block"], ["--json"]),
    (["--perfetto", "--gnuplot", TRACES / "block"], ["--gnuplot"]),
    (["--perfetto", "--what", "all", TRACES / "block"], ["--perfetto"]),
    (["--perfetto", "-o", TRACES / "block", TRACES / "block"], ["the trace itself"]),
])
def test_wrong_command_line(run_jugglectl, options, words):
    refused(run_jugglectl("plot", *options), 2, *words)


@pytest.mark.parametrize("output", ["a.svg", "link.svg", "hard.svg", "-"])
def test_trace_as_output(jugglectl, tmp_path, output):
    """It is neither overwritten nor appended to, under any name."""
    trace = tmp_path / "a.svg"
    shutil.copy(TRACES / "block", trace)
    (tmp_path / "link.svg").symlink_to("a.svg")
    (tmp_path / "hard.svg").hardlink_to(trace)
    with open(trace, "a", encoding="utf-8") as stdout:
        done = subprocess.run([jugglectl, "plot", "-o", output, "a.svg"], cwd=tmp_path, stdout=stdout,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=helpers.TIMEOUT_S)
    assert done.returncode == 2 and "that is the trace itself" in done.stderr
    assert trace.read_bytes() == (TRACES / "block").read_bytes()


@pytest.mark.parametrize("name", ["-n", "--", "a\nb", "\033[31m"])
def test_relative_names(run_jugglectl, tmp_path, name):
    """With a dash, or with bytes that would break a line or reach the terminal."""
    shown = re.sub(r"[\n\033]", "?", name)
    refused(run_jugglectl("plot", "--perfetto", "--", name, cwd=tmp_path), 1, shown + ": No such file")
    shutil.copy(TRACES / "block", tmp_path / name)
    done = run_jugglectl("plot", "--perfetto", "-o", "-o", "--", name, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = run_jugglectl("plot", "--perfetto", "--", name, cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert done.stdout.startswith(shown + ".json: ")
    assert sorted(os.listdir(tmp_path)) == sorted(["-o", name, name + ".json"])
