# SPDX-License-Identifier: MIT
"""Count single tests in JUnit files, and report what failed, and why others were skipped.

Prints `N passed, N failed, N skipped` last. Exit status: 0 when something passed and nothing
failed. meson writes no failure for a program that crashed after its last good line or ran out of
time, so its own log is read beside the JUnit file. A part that the build lacks is skipped if it was
left out on purpose. If it is missing although all its packages are there, that is a failure:
otherwise nobody would notice that its tests did not run.
"""

import argparse
import json
import os
import sys
import xml.etree.ElementTree as ElementTree


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add_junit(self, path):
        """Adds a file's cases; returns the names of its suites that hold a failure."""
        bad = set()
        for suite in ElementTree.parse(path).getroot().iter("testsuite"):
            for case in suite.findall("testcase"):
                name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
                skip = case.find("skipped")
                failure = case.find("failure")
                if failure is None:
                    failure = case.find("error")
                if failure is not None:
                    self.failed.append((name, first_line(failure.get("message"))))
                    bad.add(suite.get("name"))
                    # Programs that report by their exit status share one suite.
                    bad.add("%s.%s" % (suite.get("name"), case.get("name")))
                elif skip is not None:
                    why = skip.get("message") or case.findtext("system-out") or "no reason given"
                    self.skipped.append((name, why.strip()))
                else:
                    self.passed += 1
        return bad

    def add_meson_log(self, path, project, bad):
        """Adds failures that the JUnit file of the same run doesn't show."""
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                test = json.loads(line)
                # "suite:name / test" or plain "test", depending on meson's version and suites.
                name = test["name"].split(" / ")[-1]
                known = "%s.%s" % (project, name) in bad
                if test["result"] in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT") and not known:
                    why = {"TIMEOUT": "ran out of its time",
                           "INTERRUPT": "was running when meson was ended"}.get(
                               test["result"], "exit status %s" % test.get("returncode"))
                    self.failed.append((name, why))

    def add_parts(self, path, complete):
        """Adds the parts that a build lacks: build/parts has lines of NAME: WHETHER."""
        with open(path, encoding="utf-8") as parts:
            for line in parts:
                name, _, there = line.strip().rpartition(": ")
                if line.startswith("#") or there == "yes":
                    continue
                if complete and there == "missing":
                    self.failed.append((name, "not in this build, although its packages are there"))
                else:
                    self.skipped.append((name, "not in this build: " + there))


def first_line(text):
    """The part of a message that is worth showing."""
    lines = (text or "").strip().splitlines()
    return lines[0][:200] if lines else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--meson", metavar="LOGS", help="meson's meson-logs folder")
    parser.add_argument("--project", default="juggle", help="meson's name of the project")
    parser.add_argument("--junit", action="append", default=[], help="a JUnit file")
    parser.add_argument("--parts", help="the file `parts` of a build")
    parser.add_argument("--complete", action="store_true",
                        help="nothing may be missing in the build")
    parser.add_argument("--failed", action="append", default=[], metavar="WHAT",
                        help="count this as a failure")
    parser.add_argument("--unless-shown", action="append", default=[], metavar="WHAT",
                        help="count this as a failure, unless a file shows one anyway")
    parser.add_argument("--label", help="put this before the last line")
    args = parser.parse_args()

    tally = Tally()
    if args.meson:
        junit = os.path.join(args.meson, "testlog.junit.xml")
        bad = tally.add_junit(junit) if os.path.exists(junit) else set()
        log = os.path.join(args.meson, "testlog.json")
        if os.path.exists(log):
            tally.add_meson_log(log, args.project, bad)
    for path in args.junit:
        try:
            tally.add_junit(path)
        except (OSError, ElementTree.ParseError) as error:
            tally.failed.append((path, str(error)))
    if args.parts:
        tally.add_parts(args.parts, args.complete)
    tally.failed += [(what, "") for what in args.failed]
    if not tally.failed:
        tally.failed += [(what, "") for what in args.unless_shown]

    for name, why in tally.skipped:
        print("skipped: %s: %s" % (name, " ".join(why.split())))
    for name, why in tally.failed:
        print("FAILED: %s: %s" % (name, why) if why else "FAILED: " + name)
    line = "%d passed, %d failed, %d skipped" % (
        tally.passed, len(tally.failed), len(tally.skipped))
    print("%s: %s" % (args.label, line) if args.label else line)
    return 0 if tally.passed and not tally.failed else 1


if __name__ == "__main__":
    sys.exit(main())
