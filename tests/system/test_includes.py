# SPDX-License-Identifier: MIT
"""Who uses whom, by all #include lines of the tree; and what only one file may use.

Includes are paths from the root of the tree, so each line names the file that it uses.
"""

import os
import re

import pytest

import helpers

pytestmark = pytest.mark.beside

PARTS = ("apps", "daemon", "libprogress", "tools")

# Which files may be used: the first row whose beginning fits a file's path decides. A word is the
# beginning of the paths that may be used, or with "!" the beginning of an exception.
RULES = [
    # Decisions are pure.
    ("daemon/policy/", "daemon/policy/ libprogress/policy/random.h"),
    ("libprogress/policy/", "libprogress/policy/"),
    # Shared basics depend on nothing but each other.
    ("daemon/base/", "daemon/base/"),
    # Looking and acting depend on the policy, but not on each other.
    ("daemon/proc/", "daemon/proc/ daemon/base/ daemon/policy/"),
    ("daemon/sample/", "daemon/sample/ daemon/base/ daemon/policy/"),
    ("daemon/act/", "daemon/act/ daemon/base/ daemon/policy/"),
    ("daemon/topology/", "daemon/topology/ daemon/base/"),
    ("daemon/preload/", "daemon/preload/ daemon/base/ libprogress/phases/phases.h"),
    # The library is a guest in other programs; they see only one file of it.
    ("libprogress/progress.h", ""),
    ("libprogress/", "libprogress/"),
    ("daemon/", "daemon/ libprogress/progress.h libprogress/phases/make.h libprogress/phases/phases.h "
                "libprogress/policy/ libprogress/reader/"),
    ("apps/", "apps/ daemon/base/ libprogress/progress.h libprogress/phases/waits.h libprogress/policy/"),
    # Tools look, and never act. The simulator of subdomains runs the solver's own cells.
    ("tools/sim/", "tools/sim/ daemon/base/ daemon/policy/ libprogress/policy/ "
                   "apps/jacobi/grid.h apps/jacobi/kernel.h apps/jacobi/method.h "
                   "apps/jacobi/subdomain.h"),
    ("tools/", "tools/ daemon/base/ daemon/policy/ daemon/preload/ daemon/proc/ daemon/sample/ daemon/topology/ "
               "daemon/telemetry/ !daemon/telemetry/writer daemon/trace/ !daemon/trace/writer "
               "libprogress/progress.h libprogress/policy/ libprogress/reader/"),
]

# A policy has no clock, files, threads or processes: these headers of the C library are left.
PURE = ("daemon/policy/", "libprogress/policy/")
PURE_HEADERS = {"assert.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdbool.h",
                "stddef.h", "stdint.h", "stdlib.h", "string.h"}

# What only one file may use, in all parts or in some.
ONLY_IN = [
    (r"#\s*include\s*<netlink/", "daemon/sample/taskstats.c", PARTS),
    (r"#\s*include\s*<hwloc", "daemon/topology/topology.c", PARTS),
    (r"#\s*include\s*<linux/perf_event\.h>|perf_event_open", "daemon/sample/perf.c", PARTS),
    (r"(?:sched|pthread)_setaffinity", "daemon/act/act.c", ("daemon", "libprogress", "tools")),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def tree():
    """{path from the root: its lines} of all C files."""
    return {str(path.relative_to(helpers.REPO)): path.read_text("utf-8").splitlines()
            for part in PARTS for path in sorted((helpers.REPO / part).rglob("*.[ch]"))}


def code(lines):
    """The lines without comments, and without string literals except those of #include."""
    text = "\n".join(lines)
    text = re.sub(r'/\*.*?\*/|//[^\n]*|(?<!include )"(?:\\.|[^"\\\n])*"',
                  lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)
    return text.split("\n")


def includes(files):
    """(path, line number, "<" or '"', what is included) of all files."""
    for path, lines in files.items():
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if found:
                yield path, number, found[1], found[2]


def may_use(user, used):
    for begin, words in RULES:
        if user.startswith(begin):
            allowed = [word for word in words.split() if used.startswith(word.lstrip("!"))]
            return bool(allowed) and not any(word.startswith("!") for word in allowed)
    return False


def wrong_includes(files):
    """A line of text for each #include that breaks a rule."""
    found = []
    for path, number, kind, name in includes(files):
        where = "%s:%d: " % (path, number)
        if kind == "<":
            if path.startswith(PURE) and name not in PURE_HEADERS:
                found.append(where + "<%s> in a policy" % name)
        elif name not in files:
            found.append(where + '"%s" is no path from the root of the tree' % name)
        elif not may_use(path, name):
            found.append(where + "may not use " + name)
    return found


def rooms(files):
    """{path: its room}: the folder; but a file that lies beside folders is a room of its own."""
    with_folders = {os.path.dirname(os.path.dirname(path)) for path in files}
    return {path: os.path.splitext(path)[0] if os.path.dirname(path) in with_folders
            else os.path.dirname(path) for path in files}


def circles(files):
    """{rooms of a circle: its #include lines}; circles of files within one folder are left out."""
    room = rooms(files)
    folder = {room[path]: os.path.dirname(path) for path in files}
    uses = {}  # room -> {room that it uses: an #include line}
    for path, number, kind, name in includes(files):
        if kind == '"' and name in files and room[path] != room[name]:
            uses.setdefault(room[path], {})[room[name]] = "%s:%d: uses %s" % (path, number, name)

    def reached(start):
        seen, left = set(), [start]
        while left:
            new = set(uses.get(left.pop(), ())) - seen
            seen |= new
            left += new
        return seen
    reach = {user: reached(user) for user in uses}
    found = {}
    for user in uses:
        circle = frozenset(other for other in reach[user] if user in reach.get(other, ()))
        if len({folder[one] for one in circle}) > 1:
            found[circle] = sorted(line for one in circle for used, line in uses[one].items()
                                   if used in circle)
    return found


def other_uses(files):
    """A line of text for each use of such a thing outside of its one file."""
    found = []
    for pattern, only, parts in ONLY_IN:
        for path, lines in files.items():
            if path == only or not path.startswith(tuple(part + "/" for part in parts)):
                continue
            found += ["%s:%d: is for %s alone: %s" % (path, number, only, line.strip())
                      for number, line in enumerate(code(lines), 1) if re.search(pattern, line)]
    return found


# --- the tree ------------------------------------------------------------------------

@pytest.fixture(scope="module")
def files():
    return tree()


def test_who_uses_whom(files):
    assert len(files) > 100
    wrong = wrong_includes(files)
    assert not wrong, "\n" + "\n".join(wrong)


def test_no_circles_of_folders(files):
    found = circles(files)
    assert not found, "\n" + "\n\n".join("\n".join(lines) for lines in found.values())


def test_one_file_each(files):
    for pattern, only, _ in ONLY_IN:
        assert any(re.search(pattern, line) for line in code(files[only])), "not in " + only
    wrong = other_uses(files)
    assert not wrong, "\n" + "\n".join(wrong)


# --- the checks find what they should ------------------------------------------------

BASE = {"daemon/base/clock.h": [], "daemon/policy/policy.h": [], "daemon/act/act.h": [],
        "daemon/keeper/keeper.h": [], "daemon/telemetry/reader.h": [], "daemon/telemetry/writer.h": [],
        "libprogress/progress.h": [], "libprogress/segment.h": [], "libprogress/reader/reader.h": [],
        "libprogress/policy/plb.h": [], "libprogress/policy/random.h": [], "apps/jacobi/solve.h": [],
        "apps/jacobi/grid.h": [], "tools/format.h": [], "tools/live/live.h": []}


@pytest.mark.parametrize("user, used, allowed", [
    ("daemon/policy/step.c", "daemon/policy/policy.h", True),
    ("daemon/policy/step.c", "libprogress/policy/random.h", True),
    ("daemon/policy/step.c", "libprogress/policy/plb.h", False),
    ("daemon/policy/step.c", "daemon/base/clock.h", False),
    ("libprogress/policy/plb.c", "daemon/policy/policy.h", False),
    ("libprogress/progress.h", "libprogress/policy/plb.h", False),
    ("libprogress/place.c", "libprogress/policy/plb.h", True),
    ("libprogress/place.c", "daemon/base/clock.h", False),
    ("daemon/base/file.c", "daemon/policy/policy.h", False),
    ("daemon/proc/scan.c", "daemon/act/act.h", False),
    ("daemon/topology/topology.c", "daemon/policy/policy.h", False),
    ("daemon/team/team.c", "daemon/act/act.h", True),
    ("daemon/team/team.c", "libprogress/segment.h", False),
    ("daemon/team/team.c", "tools/format.h", False),
    ("apps/noise/noise.c", "daemon/base/clock.h", True),
    ("apps/noise/noise.c", "daemon/act/act.h", False),
    ("tools/stat/stat.c", "daemon/telemetry/reader.h", True),
    ("tools/stat/stat.c", "daemon/telemetry/writer.h", False),
    ("tools/stat/stat.c", "daemon/act/act.h", False),
    ("tools/stat/stat.c", "daemon/keeper/keeper.h", False),
    ("tools/stat/stat.c", "apps/jacobi/grid.h", False),
    ("tools/sim/field.c", "apps/jacobi/grid.h", True),
    ("tools/sim/field.c", "apps/jacobi/solve.h", False),
    ("elsewhere/file.c", "daemon/base/clock.h", False),
    ("daemon/team/team.c", "act.h", False),
])
def test_rule(user, used, allowed):
    wrong = wrong_includes({**BASE, user: ["", '#include "%s"' % used]})
    assert (wrong == []) == allowed
    assert all(line.startswith(user + ":2: ") for line in wrong)


@pytest.mark.parametrize("header, allowed", [
    ("stdint.h", True), ("math.h", True), ("time.h", False), ("stdio.h", False), ("unistd.h", False),
    ("pthread.h", False), ("sys/types.h", False)])
def test_headers_of_policies(header, allowed):
    for path in ("daemon/policy/step.c", "libprogress/policy/plb.c"):
        wrong = wrong_includes({path: ["#include <%s>" % header]})
        assert (wrong == []) == allowed
    assert wrong_includes({"daemon/team/team.c": ["#include <%s>" % header]}) == []


def test_circles_are_found():
    line = '#include "%s"'
    keeper = {"daemon/keeper/keeper.c": [line % "daemon/team/team.h"], "daemon/keeper/keeper.h": [],
              "daemon/team/team.h": []}
    assert circles(keeper) == {}
    found = circles({**keeper, "daemon/team/team.c": [line % "daemon/job/job.h"],
                     "daemon/job/job.h": [line % "daemon/keeper/keeper.h"]})
    assert found == {frozenset(["daemon/keeper", "daemon/team", "daemon/job"]): [
        "daemon/job/job.h:1: uses daemon/keeper/keeper.h",
        "daemon/keeper/keeper.c:1: uses daemon/team/team.h",
        "daemon/team/team.c:1: uses daemon/job/job.h"]}


def test_files_beside_folders_are_rooms():
    line = '#include "%s"'
    main = {"daemon/main.c": [line % "daemon/keeper/keeper.h", line % "daemon/options.h"],
            "daemon/keeper/keeper.h": [line % "daemon/options.h"], "daemon/options.h": []}
    assert circles(main) == {}
    assert set(circles({**main, "daemon/options.c": [line % "daemon/keeper/keeper.h"]})) == {
        frozenset(["daemon/options", "daemon/keeper"])}
    # A circle of files within a folder is allowed.
    assert circles({**main, "daemon/options.h": [line % "daemon/other.h"],
                    "daemon/other.h": [line % "daemon/options.h"]}) == {}


def test_uses_are_found():
    """In code, but not in comments."""
    said = ["/* sched_setaffinity(2) is", " * sched_setaffinity */", 'puts("sched_setaffinity");', ""]
    assert other_uses({"tools/stat/stat.c": said}) == []
    used = [*said, "\tsched_setaffinity(0, 8, &mask); /* here */"]
    assert [line.split(": ")[0] for line in other_uses({"tools/stat/stat.c": used})] == ["tools/stat/stat.c:5"]
    assert other_uses({"daemon/act/act.c": used}) == other_uses({"apps/pin.c": used}) == []
    assert other_uses({"apps/pin.c": ["#include <hwloc.h>"]})
    assert other_uses({"daemon/sample/schedstat.c": ["syscall(SYS_perf_event_open, &attr)"]})
