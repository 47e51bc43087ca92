# SPDX-License-Identifier: MIT
"""jugglectl plot --html: what is in the page, and how it behaves in a real browser."""

import json
import re

import pytest

import browser as chromium
import helpers
import traces
from helpers import refused
from test_manuals import keys_of_page

pytestmark = [pytest.mark.beside, pytest.mark.no_races]

TRACES = helpers.REPO / "tests" / "fixtures" / "trace"
NAMES = ["</script><script>throw 1</script>", "a'\"&<!--b", "<img src=http://x/ onerror=alert(1)>", "é\u202e\x1b[31m\x07"]

HAVE_PAGES = "jugglectl plot --html: yes" in (helpers.BUILD / "parts").read_text("utf-8")
NEEDS_PAGES = pytest.mark.skipif(not HAVE_PAGES, reason="this build has no web pages (libjs-dygraphs)")
NEEDS_BROWSER = pytest.mark.skipif(not chromium.find(), reason="chromium is not installed")


def data_of(path):
    text = path.read_text("utf-8")
    found = re.search(r'<script id="data" type="application/json">\n(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


@pytest.fixture
def write(run_jugglectl, tmp_path):
    """write(TRACE, OPTION...): the path of its page."""
    def write(trace, *options):
        path = tmp_path / "page.html"
        done = run_jugglectl("plot", "--html", path, *options, trace)
        assert done.returncode == 0, done.stderr
        return path
    return write


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium.Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def show(browser):
    """show(PATH): the browser with that page. Afterwards: it loaded nothing else, and no script failed."""
    def show(path, size=(1280, 800), scheme="light"):
        browser.size(*size)
        browser.scheme(scheme)
        browser.open(path)
        return browser
    browser.requests.clear()
    browser.errors.clear()
    yield show
    assert browser.errors == []
    assert {url.split(":")[0] for url in browser.requests} <= {"file", "data"}
    assert sum(url.startswith("file:") for url in browser.requests) == browser.loads
    browser.loads = 0


# --- what is in it -------------------------------------------------------------------

@NEEDS_PAGES
def test_says_what_perfetto_does(write, jugglectl_json, tmp_path):
    """A short trace is not thinned."""
    data = data_of(write(TRACES / "block"))
    trace = traces.Trace(TRACES / "block")
    tids = [thread["tid"] for thread in data["threads"]]
    bars = [tuple(data["bars"][i:i + 5]) for i in range(0, len(data["bars"]), 5)]
    found = sorted((tids[thread], data["cpus"][cpu]["os_cpu"], begin, end) for _, thread, cpu, begin, end in bars)
    told = sorted((stay.tid, -1 if stay.os_cpu is None else stay.os_cpu, stay.from_us / 1e6, stay.to_us / 1e6)
                  for stay in trace.stays)
    assert len(found) == len(told) > 100
    for one, other in zip(found, told):
        assert one == pytest.approx(other, abs=2e-6)
    for tid, lead in zip(tids, data["lead"]):
        told = {round(us / 1e6, 6): leads[tid] for us, leads in trace.points.items() if tid in leads}
        assert dict(zip(lead[::2], (1e3 * value for value in lead[1::2]))) == pytest.approx(told, abs=1e-4)
    assert jugglectl_json("plot", "--html", tmp_path / "other", TRACES / "block")["format"] == "html"


@NEEDS_PAGES
def test_ending_and_panels(run_jugglectl, tmp_path):
    path = tmp_path / "x.html"
    assert run_jugglectl("plot", "-o", path, "--what", "spread,progress", TRACES / "block").returncode == 0
    data = data_of(path)
    assert {"spread", "moves", "progress", "mean"} <= set(data) and not {"lead", "bars", "braid"} & set(data)


@NEEDS_PAGES
def test_has_its_licence(write):
    text = write(TRACES / "braid").read_text("utf-8")
    assert "Permission is hereby granted" in text and "Dan" in text
    assert "sourceMappingURL" not in text


@NEEDS_PAGES
@pytest.mark.parametrize("options, words", [
    (["--html", "x", "--perfetto"], "doesn't go together"),
    (["--html", "x", "-o", "y"], "doesn't go together"),
    (["--html", "x", "--width", "500"], "not for web pages"),
    (["-o", "x.htm"], "has to end in .svg, .png or .html"),
    (["--compare", "--html", "x"], "two REPORTs"),
    (["--compare", "--html", "x", "--from", "1s"], "no options of what to draw"),
    (["--compare", "-o", "x.svg"], "needs --html"),
])
def test_wrong_command_line(run_jugglectl, tmp_path, options, words):
    refused(run_jugglectl("plot", *options, TRACES / "block", cwd=tmp_path), 2, words)


@pytest.mark.skipif(HAVE_PAGES, reason="this build has web pages")
def test_build_without_pages(run_jugglectl, tmp_path):
    refused(run_jugglectl("plot", "--html", tmp_path / "x", TRACES / "block"), 1, "libjs-dygraphs")


REPORT = {"version": "1", "command": "./app", "elapsed_s": 2.0, "policy": "observe", "cpus": [0, 1], "migrations": 0,
          "reason": "as the options want it", "exit_status": 0, "balancer_cpu_s": 0.01, "cycle_us": {"median": 20},
          "phases": {"parallel_efficiency": None, "advice": NAMES[0]},
          "thread": [{"tid": 7 + i, "pid": 7, "comm": NAMES[i], "progress_s": 1 + i / 4, "wait_s": 0.5, "migrations": 3}
                     for i in range(3)]}


@pytest.fixture
def reports(tmp_path):
    """Two reports, of the same program before and after a change."""
    paths = [tmp_path / "before.json", tmp_path / "after.json"]
    for path, changes in zip(paths, [{}, {"elapsed_s": 1.6, "policy": "juggle", "migrations": 40}]):
        path.write_text(json.dumps({**REPORT, **changes}), "utf-8")
    return paths


@NEEDS_PAGES
def test_comparison(run_juggle, jugglectl_json, app, tmp_path):
    """Of what juggle really writes."""
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, policy in zip(paths, ["static", "juggle"]):
        run_juggle("-P", policy, "--report", path, app("ubench"), "-q", "-t", "2", "-p", "2", "-e", "10ms")
    result = jugglectl_json("plot", "--compare", "--html", tmp_path / "page.html", *paths)
    assert set(result) == {"program", "version", "output", "format", "bytes"} | keys_of_page(
        "jugglectl-plot.1", "RESULT OF A COMPARISON")[0]
    runs = data_of(tmp_path / "page.html")["runs"]
    assert [run["report"] for run in runs] == [helpers.read_report(path) for path in paths]
    elapsed = [run["report"]["elapsed_s"] for run in runs]
    assert result["elapsed_s"] == pytest.approx(elapsed) and result["speedup"] == pytest.approx(elapsed[0] / elapsed[1])


@NEEDS_PAGES
@pytest.mark.parametrize("text, words", [
    ("", "line"), ("[]", "not what juggle --report writes"), ('{"elapsed_s": 1}', "not what juggle --report writes"),
    ('{"elapsed_s": 0, "command": "x", "policy": "y", "thread": []}', "not what juggle --report writes"), (None, "No such file")])
def test_not_a_report(run_jugglectl, reports, tmp_path, text, words):
    if text is None:
        reports[1].unlink()
    else:
        reports[1].write_text(text)
    refused(run_jugglectl("plot", "--compare", "--html", tmp_path / "page.html", *reports), 1, "after.json", words)
    assert not (tmp_path / "page.html").exists()


@NEEDS_PAGES
def test_report_as_output(run_jugglectl, reports):
    refused(run_jugglectl("plot", "--compare", "--html", reports[1], *reports), 2, "the report itself")


# --- in a browser --------------------------------------------------------------------

def window(browser):
    return browser.ask("page.panels.window()")


def place(browser, name, across, down):
    """A point of a panel, from shares of its area."""
    return browser.ask("""(() => {
        const panel = page.panels.list.find((each) => each.name === "%s"), area = panel.dygraph.getArea();
        panel.chart.scrollIntoView({block: "center"});
        const box = panel.chart.getBoundingClientRect();
        return [box.left + area.x + area.w * %g, box.top + area.y + area.h * %g];
    })()""" % (name, across, down))


@NEEDS_PAGES
@NEEDS_BROWSER
def test_zoom_and_pan(write, show):
    page = show(write(TRACES / "braid"))
    begin, end = whole = window(page)
    assert page.ask("page.panels.list.map((panel) => panel.name)") == ["spread", "lead", "placement", "braid", "updates"]
    page.drag(place(page, "lead", 0.25, 0.5), place(page, "lead", 0.5, 0.5))
    length = end - begin
    zoomed = window(page)
    assert zoomed == pytest.approx([begin + length / 4, begin + length / 2], abs=length / 100)
    assert page.ask("page.panels.list.every((panel) => String(panel.dygraph.xAxisRange()) === String(page.panels.window()))")
    page.drag(place(page, "placement", 0.75, 0.5), place(page, "placement", 0.25, 0.5), modifiers=8)
    panned = window(page)
    assert panned == pytest.approx([at + length / 8 for at in zoomed], abs=length / 100)
    x, y = place(page, "braid", 0.5, 0.5)
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100, modifiers=2)
    page.ask("new Promise(requestAnimationFrame)")
    wheel = window(page)
    assert wheel[0] > panned[0] and wheel[1] < panned[1]
    for key in ("-", "ArrowLeft", "0"):
        before = window(page)
        page.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        assert window(page) != before, key
    assert window(page) == pytest.approx(whole)
    page.ask('[...document.querySelectorAll("nav button")].find((each) => each.textContent === "+").click()')
    inner = window(page)
    assert inner[1] - inner[0] == pytest.approx(length / 2)
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            page.mouse(kind, *place(page, "lead", 0.5, 0.5), button="left", clickCount=count)
    assert window(page) == pytest.approx(whole)


@NEEDS_PAGES
@NEEDS_BROWSER
def test_tells_what_is_below_the_pointer(write, show):
    page = show(write(TRACES / "braid"))
    said = {}
    for name, down in (("spread", 0.5), ("lead", 0.1), ("placement", 0.1), ("braid", 0.1), ("updates", 0.5)):
        page.mouse("mouseMoved", *place(page, name, 0.6, down))
        said[name] = page.ask('document.querySelector(".tip").innerText').split("\n")
    assert re.fullmatch(r"\d\.\d+ s", said["lead"][0])
    assert re.fullmatch(r"jacobi \d+", said["lead"][1]) and re.search("s (ahead|behind)$", said["lead"][2])
    assert re.search("apart$", said["spread"][1]) and said["spread"][2] == "0 migrations per second"
    assert re.fullmatch(r"jacobi \d+", said["placement"][1]) and said["placement"][2] == "CPU 0"
    assert re.fullmatch(r"subdomain \d", said["braid"][1]) and said["braid"][2] == "worker 0"
    assert re.search("updates apart$", said["updates"][1])
    page.mouse("mouseMoved", 5, 5)
    assert page.ask('document.querySelector(".tip").hidden')


@NEEDS_PAGES
@NEEDS_BROWSER
def test_threads_can_be_hidden(write, show):
    page = show(write(TRACES / "block"))
    assert page.ask('[...document.querySelectorAll(".chip")].map((chip) => chip.textContent)') == [
        "ubench 31420", "ubench 31421", "ubench 31422"]
    page.ask('document.querySelector(".chip").click()')
    assert page.ask('page.panels.list[1].dygraph.visibility().slice(0, 3)') == [False, True, True]
    page.scheme("dark")
    assert page.ask('page.panels.list[1].dygraph.visibility().slice(0, 3)') == [False, True, True]
    page.ask('document.querySelector(".chip").click()')
    assert page.ask('page.panels.list[1].dygraph.visibility().slice(0, 3)') == [True, True, True]


@NEEDS_PAGES
@NEEDS_BROWSER
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1920])
def test_fits(write, show, width, scheme):
    """Nothing is wider than the window, the time axes of all panels are one, and there is something in each."""
    page = show(write(TRACES / "lively"), (width, 900), scheme)
    assert page.ask("document.documentElement.scrollWidth") == width
    areas = page.ask("page.panels.list.map((panel) => panel.dygraph.getArea())")
    assert len(areas) == 3 and len({(area["x"], area["w"]) for area in areas}) == 1, areas
    assert all(page.ask("""page.panels.list.map((panel) => {
        const area = panel.dygraph.getArea(), canvas = panel.dygraph.hidden_;
        const {data} = canvas.getContext("2d").getImageData(area.x, area.y, area.w, area.h);
        return new Set(new Uint32Array(data.buffer)).size > 4;
    })"""))


@NEEDS_PAGES
@NEEDS_BROWSER
def test_hostile_names(write, show, tmp_path):
    text = traces.begin(command=NAMES[0] + NAMES[2])
    text += "".join("birth 1000 %d 7 %s\n" % (7 + i, name) for i, name in enumerate(NAMES))
    for k in range(1, 20):
        text += traces.point(k * 10000000, [(7 + i, i % 2, k * 5000000 + i, 5000000, 5000000) for i in range(len(NAMES))])
    trace = tmp_path / "trace"
    trace.write_text(text, "utf-8")
    path = write(trace)
    page = show(path)
    assert page.ask('[...document.images].every((image) => image.src.startsWith("data:"))')
    assert page.ask("document.scripts.length") == path.read_text("utf-8").count("<script")
    said = page.ask('[...document.querySelectorAll(".chip")].map((chip) => chip.textContent)')
    assert [name.rsplit(" ", 1)[0] for name in said] == [*NAMES[:3], "é??[31m?"]
    assert page.ask("document.querySelector('h1').textContent") == NAMES[0] + NAMES[2]


@NEEDS_PAGES
@NEEDS_BROWSER
def test_long_trace(write, show, tmp_path):
    """A trace of some megabytes gives a page of bounded size that opens."""
    trace = tmp_path / "trace"
    with trace.open("w") as file:
        file.write(traces.begin())
        for k in range(1, 15001):
            file.write(traces.point(k * 1000000, [
                (7 + i, (i + k) % 2, k * 250000 + i * k % 977, 250000, 750000) for i in range(8)],
                [(7 + k % 8, k % 2, (k + 1) % 2)], elapsed_ns=1000000))
    path = write(trace)
    assert trace.stat().st_size > 4000000 and path.stat().st_size < 4000000
    page = show(path)
    assert page.ask("page.panels.window()") == pytest.approx([0.001, 15], abs=0.01)


@NEEDS_PAGES
@NEEDS_BROWSER
@pytest.mark.parametrize("width", [390, 1280])
def test_shows_a_comparison(run_jugglectl, show, reports, tmp_path, width):
    path = tmp_path / "page.html"
    assert run_jugglectl("plot", "--compare", "--html", path, *reports).returncode == 0
    page = show(path, (width, 800))
    assert page.ask("document.documentElement.scrollWidth") == width
    rows = {cells[0]: cells[1:] for cells in page.ask(
        '[...document.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.textContent))')}
    assert rows[""] == ["before.json", "after.json", "change"]
    assert rows["Elapsed"] == ["2 s", "1.6 s", "−20 % ✓"]
    assert rows["Migrations"] == ["0", "40", ""] and rows["Policy"] == ["observe", "juggle", "differs"]
    assert rows["Advice"][0] == NAMES[0] and "Parallel efficiency" not in rows
    assert "1.25 times as fast" in page.ask('document.querySelector(".verdict").textContent')
    assert page.ask('[...document.querySelectorAll(".bar .name")].map((name) => name.textContent)') == [
        "%s %d" % (NAMES[i], 7 + i) for i in (2, 1, 0)] * 2
    widths = page.ask('[...document.querySelectorAll(".bar .used:first-child")].map((bar) => bar.offsetWidth)')
    assert widths[0] > widths[1] > widths[2] > 0
