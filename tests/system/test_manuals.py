# SPDX-License-Identifier: MIT
"""The manual pages against the programs: options, defaults, keys of the JSON output.

A page has an option as `.It Fl x , Fl -name Ns = Ns Ar ARG`, and its default in the text below in
the words of --help: `(default: ...)`.
"""

import json
import re
import shutil
import subprocess

import pytest

import helpers
from manuals import PAGES, source

pytestmark = pytest.mark.beside


def page_of(program):
    return program.replace(" ", "-") + ".1"


PROGRAMS = ["juggle", "ubench", "noise", "jacobi", "jugglectl list", "jugglectl stat", "jugglectl top",
            "jugglectl doctor", "jugglectl plot", "jugglectl clean", "jugglectl compare",
            "jugglectl predict", "jugglectl replay",
            "jugglectl simulate juggle", "jugglectl simulate plb", "jugglectl simulate dplb"]
ALL_PAGES = sorted([page_of(program) for program in PROGRAMS] + [
    "juggle.7", "juggle-batch.7", "juggle-internals.7", "juggle-tutorial.7", "jugglectl.1", "phases.7",
    "progress.3"])


@pytest.fixture
def program(request, juggle, jugglectl, app):
    """The words of a command line, and the page that describes it."""
    name, *subcommand = request.param.split()
    path = {"juggle": juggle, "jugglectl": jugglectl}.get(name) or app(name)
    return [path, *subcommand], page_of(request.param)


def default_of(text):
    """The text in `(default: ...)`; None without one, a list when there are several."""
    found = re.findall(r"\(default: ([^()]*)\)", " ".join(text.split()))
    return found[0] if len(found) == 1 else found or None


# --- what the programs say -----------------------------------------------------------

def options_of_help(text):
    """{long name: (short name, argument, default)} from argp's --help."""
    found, name, words = {}, None, {}
    for line in text.splitlines():
        option = re.match(r"  (?:-(\S), |    )--([a-z-]+)(?:=(\S+))?(?:\s+(.*))?$", line)
        if option:
            name = option.group(2)
            found[name] = [option.group(1), option.group(3)]
            words[name] = [option.group(4) or ""]
        elif name and line.startswith(" " * 20):
            words[name].append(line)
        else:
            name = None
    return {name: (*found[name], default_of(" ".join(words[name]))) for name in found}


# --- what the pages say --------------------------------------------------------------

def options_of_page(page):
    """The same from a page's source."""
    found = {}
    items = re.split(r"^\.(?=It |El$|Sh |Ss )", source(page), flags=re.MULTILINE)
    name = None
    for item in items:
        head, _, text = item.partition("\n")
        option = re.fullmatch(
            r"It (?:Fl (\S+) , )?Fl -([a-z-]+)(?: Ns = Ns Ar (\S+))?", head)
        if option:
            name = option.group(2)
            assert name not in found, "twice in %s: --%s" % (page, name)
            short = option.group(1) and option.group(1).replace("\\&", "")
            found[name] = [short, option.group(3), ""]
        elif head.startswith(("Sh ", "Ss ")):
            name = None
        if name:  # an item in a list below an option's is text of that option
            plain = re.sub(r"^\.[A-Z][a-z] ?", "", text, flags=re.MULTILINE)
            found[name][2] += plain.replace("\\&", "").replace("\\-", "-") + "\n"
    return {name: (short, arg, default_of(text))
            for name, (short, arg, text) in found.items()}


def flags_in(page):
    """Everything that the source of a page marks as an option: {"c", "-cpus", ...}."""
    found = set()
    for line in source(page).splitlines():
        if line.startswith("."):
            found |= set(re.findall(r"\bFl (\S+)", line))
    return {flag.replace("\\&", "") for flag in found} - {"-"}


def keys_of_page(page, section):
    """Keys that a section lists: the tags of its list, and {tag: those of the list in its item}."""
    text = source(page).partition(".Sh %s\n" % section)[2].partition("\n.Sh ")[0]
    assert text, "no section %s in %s" % (section, page)
    outer, inner, depth, last = set(), {}, 0, None
    for line in text.splitlines():
        depth += line.startswith(".Bl ") - (line == ".El")
        if line.startswith(".It Va ") and depth == 1:
            last = line.split()[2]
            outer.add(last)
        elif line.startswith(".It Va "):
            inner.setdefault(last, set()).add(line.split()[2])
    return outer, inner


# --- the comparison ------------------------------------------------------------------

@pytest.mark.parametrize("program", PROGRAMS, indirect=True)
def test_page_has_the_options_of_the_program(program):
    command, page = program
    shown = helpers.run([*command, "--help"])
    assert shown.returncode == 0, shown.stderr
    in_help, in_page = options_of_help(shown.stdout), options_of_page(page)
    assert len(in_help) > 5, "cannot read this --help:\n" + shown.stdout
    assert set(in_page) == set(in_help)
    for name, option in in_help.items():
        assert in_page[name] == option, "--%s (short name, argument, default)" % name


@pytest.mark.slow  # with a sanitizer
@pytest.mark.parametrize("program", PROGRAMS, indirect=True)
def test_each_option_of_the_page_is_taken(program):
    """argp checks options before it acts on --help, so nothing is run."""
    command, page = program
    for name, (_, argument, _) in options_of_page(page).items():
        # Without a value, an option that needs one is refused with a particular message.
        done = helpers.run([*command, "--" + name, *([] if argument else ["--help"])])
        assert "unrecognized option" not in done.stderr, done.stderr
        if argument:
            assert "requires an argument" in done.stderr, done.stderr
        else:
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", ["juggle", "jacobi"], indirect=True)
def test_limits_of_the_period_are_as_said(program):
    """--help, the page and the program agree on them."""
    command, page = program
    limits = re.compile(r"(\d+)(us) to (\d+)(s)\b")

    def tried(number, unit):
        return helpers.run([*command, "--period=%d%s" % (number, unit), "--help"])
    shown = " ".join(helpers.run([*command, "--help"]).stdout.split())
    of_help = limits.search(shown[shown.index("--period="):]).groups()
    text = re.sub(r"^\.\w+ ", "", source(page), flags=re.MULTILINE)
    assert limits.search(" ".join(text[text.index("-period Ns"):].split())).groups() == of_help
    least, least_unit, most, most_unit = of_help
    for taken, refused, unit in [(int(least), int(least) - 1, least_unit), (int(most), int(most) + 1, most_unit)]:
        assert tried(taken, unit).returncode == 0
        done = tried(refused, unit)
        assert done.returncode != 0 and "%d%s" % (refused, unit) in done.stderr


LIMITS = [("daemon/job/ledger.c", "ENTRIES"), ("daemon/telemetry/telemetry.h", "TELEMETRY_THREADS"),
          ("daemon/telemetry/telemetry.h", "TELEMETRY_CPUS"), ("daemon/telemetry/telemetry.h", "TELEMETRY_PROGRESS"),
          ("daemon/base/cpuset.h", "CPUSET_CPUS_MAX"), ("daemon/progress/traced.h", "PROGRESS_TRACE_SUBDOMAINS_MAX"),
          ("libprogress/phases/phases.h", "PHASES_ROWS"), ("daemon/policy/dry.h", "POLICY_BELL_THREADS"),
          ("daemon/team/neighbours.c", "ENTRIES_MOST")]


def test_limits_are_as_in_the_sources():
    """LIMITS of juggle(1) has each of these numbers, and no other large one."""
    text = source("juggle.1").partition("\n.Sh LIMITS\n")[2].partition("\n.El\n")[0]
    defined = {}
    for path, name in LIMITS:
        defined[name] = re.search(r"^#define %s (\d+)" % name, (PAGES.parent / path).read_text(), re.MULTILINE).group(1)
    assert set(re.findall(r"\b\d{2,}\b", text)) == {*defined.values(), "20"}, defined


@pytest.mark.parametrize("page", ALL_PAGES)
def test_text_names_no_other_option(page):
    known = {"-help", "-version"} if page == "jugglectl.1" else set()
    of_program = "juggle.1" if page.endswith(".7") else page
    if of_program in map(page_of, PROGRAMS):
        for name, (short, _, _) in options_of_page(of_program).items():
            known |= {"-" + name} | ({short} if short else set())
    assert flags_in(page) <= known


# --- the library ----------------------------------------------------------------------

def header():
    """progress.h without its comments."""
    text = (helpers.REPO / "libprogress/progress.h").read_text("utf-8")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def prototypes_of_header():
    """{name: (return type, [argument, ...])}."""
    found = re.findall(r"^(\w+) (progress_\w+)\(([^)]*)\);", header(), re.MULTILINE)
    return {name: (kind, [" ".join(argument.split()) for argument in arguments.split(",")])
            for kind, name, arguments in found}


def test_prototypes_of_the_page():
    synopsis = source("progress.3").partition(".Sh SYNOPSIS\n")[2].partition("\n.Sh ")[0]
    found = re.findall(r'^\.Ft (.*)\n\.Fn (\S+) "(.*)"$', synopsis, re.MULTILINE)
    in_page = {name: (kind, arguments.split('" "')) for kind, name, arguments in found}
    assert len(in_page) == synopsis.count("\n.Fn ")
    assert in_page == prototypes_of_header()
    assert set(re.findall(r"^\.Nm (\S+)", source("progress.3"), re.MULTILINE)) == set(in_page)


def test_symbol_map_has_the_functions_of_the_header():
    text = (helpers.REPO / "libprogress/libprogress.map").read_text("utf-8")
    listed = re.findall(r"^\t\t(\w+);$", text, re.MULTILINE)
    assert listed == sorted(prototypes_of_header())


def test_options_and_constants_of_the_library():
    names = []
    for name in ("progress_options", "progress_rank_options", "progress_rank"):
        fields = re.search(r"struct %s \{(.*?)\};" % name, header(), re.DOTALL).group(1)
        names += [a or b for a, b in re.findall(r"(\w+)(?:\[\d+\])?;|\(\*(\w+)\)", fields)]
    text = source("progress.3")
    assert re.findall(r"^\.It Va (\w+)$", text, re.MULTILINE) == names
    constants = set(re.findall(r"\bPROGRESS_[A-Z_]+\b", header())) - {
        "PROGRESS_H", "PROGRESS_BALANCE_DEFAULT"}
    assert set(re.findall(r"\.Dv (PROGRESS_\w+)", text)) == constants


def test_functions_of_libphases():
    """Those of waits.h, each a weak symbol."""
    text = (helpers.REPO / "libprogress/phases/waits.h").read_text("utf-8")
    declared = re.findall(r"^__attribute__\(\(weak\)\) (\w+) (\w+)\((\w+)\);$", text, re.MULTILINE)
    synopsis = source("phases.7").partition(".Sh SYNOPSIS\n")[2].partition("\n.Sh ")[0]
    assert len(declared) == 2
    assert re.findall(r'^\.Ft (.*)\n\.Fn (\S+) "(.*)"$', synopsis, re.MULTILINE) == declared


# --- output --------------------------------------------------------------------------

@pytest.fixture
def observed(run_juggle, tmp_path):
    """(report, lines of the trace) of a command that runs until it was seen."""
    trace = tmp_path / "trace"
    done = run_juggle(
        "-P", "observe", "--report", tmp_path / "report", "--trace", trace, "--",
        "sh", "-c", 'until grep -q ^birth "$0" && [ $(grep -c ^point "$0") -gt 2 ]; do sleep 0.02; done', trace)
    assert done.returncode == 0, done.stderr
    return helpers.read_report(tmp_path / "report"), trace.read_text("utf-8").splitlines()


def test_report_keys(observed):
    report, _ = observed
    keys, inner = keys_of_page("juggle.1", "REPORT FORMAT")
    assert keys == set(report)
    for name in ("thread", "regimes", "periods"):
        assert inner[name] == set(report[name][0]), name
    assert inner["phases"] == set(report["phases"])
    assert set(inner) == {"thread", "regimes", "periods", "phases", "progress"}  # test_progress.py compares the last


def test_trace_records(observed):
    _, lines = observed
    section = source("juggle.1").partition(".Sh TRACE FORMAT\n")[2].partition("\n.Sh ")[0]
    first, *words = re.findall(r"^\.It Li (\S+|\".*\") Ar ", section, flags=re.MULTILINE)
    assert lines[0].startswith(first.strip('"') + " {")
    json.loads(lines[0][len(first) - 1:])
    assert {"birth", "point"} <= {line.split()[0] for line in lines[1:]} <= set(words)


def test_ubench_keys(app):
    done = helpers.run([app("ubench"), "-t", "1", "-p", "1", "-e", "1us", "--rate", "1000"])
    assert done.returncode == 0, done.stderr
    assert keys_of_page("ubench.1", "RESULT FORMAT") == (set(json.loads(done.stdout)), {})


def test_noise_keys(app):
    done = helpers.run([app("noise"), "--time", "1ms"])
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert keys_of_page("noise.1", "RESULT FORMAT") == (
        set(result), {"hogs": set(result["hogs"][0])})


def test_jacobi_keys(app):
    done = helpers.run([app("jacobi"), "-t", "1", "-n", "1", "--grid", "8x8", "--json", "-"])
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert keys_of_page("jacobi.1", "RESULT FORMAT") == (
        set(result), {"rank": set(result["rank"][0])})


# --- form ----------------------------------------------------------------------------

def test_all_pages_are_installed():
    """The list here, that of meson.build, and the folder are the same."""
    assert sorted(path.name for path in PAGES.glob("*.[1-9]")) == ALL_PAGES
    listed = re.search(r"^pages = \[(.*?)\]$", (PAGES / "meson.build").read_text(), re.MULTILINE | re.DOTALL)
    assert sorted(re.findall(r"'([^']+)'", listed.group(1))) == ALL_PAGES


def need_mandoc():
    mandoc = shutil.which("mandoc")
    if not mandoc:
        pytest.skip("mandoc is not installed")
    return mandoc


@pytest.mark.parametrize("page", ALL_PAGES)
def test_mandoc_finds_nothing(page):
    mandoc = need_mandoc()
    # Below "warning" mandoc also reports other pages that this machine lacks.
    done = subprocess.run([mandoc, "-T", "lint", "-W", "warning", str(PAGES / page)],
                          capture_output=True, text=True, timeout=helpers.TIMEOUT_S)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


PUNCTUATION = {".", ",", ":", ";", "(", ")", "[", "]", "?", "!", "|"}


def flags_too_many(line):
    """Words of a macro line that are options only because they follow Fl: `Fl p , of that` is -p, -of -that."""
    words, found = line[1:].split() if re.match(r"\.[A-Z]", line) else [], []
    while "Fl" in words:
        words = words[words.index("Fl") + 1:]
        after = words[1:] if words and not re.fullmatch("[A-Z][a-z]", words[0]) else words
        while after and after[0] in PUNCTUATION:
            after = after[1:]
        if after and not re.fullmatch("[A-Z][a-z]", after[0]):
            found.append(after[0])
    return found


@pytest.mark.parametrize("page", ALL_PAGES)
def test_no_word_is_an_option_by_mistake(page):
    assert [line for line in source(page).splitlines() if flags_too_many(line)] == []


def test_flags_too_many():
    assert flags_too_many(".Pq with Fl p , of that process ,") == ["of"]
    assert flags_too_many(".Fl v prints") == ["prints"]
    for line in (".It Fl p , Fl -pid Ns = Ns Ar PID", ".Pq Fl v No prints this", ".Fl i Cm auto ,", "with Fl p of"):
        assert not flags_too_many(line), line


def test_each_form_of_a_command_is_one_line():
    """Only .Nm begins one, so that a command that starts another must not have two of them."""
    shown = subprocess.run([need_mandoc(), "-T", "ascii", "-O", "width=200", str(PAGES / "jacobi.1")],
                           capture_output=True, text=True, timeout=helpers.TIMEOUT_S, check=True).stdout
    shown = re.sub(".\b", "", shown)  # bold, underlined
    synopsis = shown.partition("SYNOPSIS\n")[2].partition("\n\n")[0]
    assert [line.strip() for line in synopsis.splitlines()] == [
        "jacobi [options]", "mpirun -n RANKS jacobi [options]"]
