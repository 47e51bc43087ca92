# SPDX-License-Identifier: MIT
"""What the scripts of this folder share: running programs, statistics, and a progress line."""

import argparse
import ctypes
import functools
import json
import math
import re
import shlex
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PR_SET_PDEATHSIG = 1
CHANCE = 0.05
LIBC = ctypes.CDLL(None, use_errno=True)


def die(message):
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


def command_line():
    """What this was started with, as a shell takes it, without what changes no result: for results, which say how
    to get them again."""
    words, skip = [], False
    for word in sys.argv[1:]:
        name, _, value = word.partition("=")
        if skip or name in ("--build", "--output", "--jobs"):
            skip = not skip and not value
            continue
        words.append(word)
    return shlex.join([f"tools/reproduce/{Path(sys.argv[0]).name}", *words])


def commit():
    """Of what this is run from, with + where it was changed since; None where that is unknown."""
    try:
        done = subprocess.run(["git", "-C", REPO, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None


def make_folder(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        die(f"{path}: {error.strerror}")


def residual(text):
    """For argparse, as the next ones: what jacobi and the simulator accept, so that wrong values
    fail before any run."""
    if not 0 < float(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: above 0 and below 1")
    return text


def duration(text):
    """Above 0, with its unit."""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(ns|us|ms|s|min)", text)
    if not match or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text}: a time above 0 with its unit, as 20ms")
    return text


def whole(least):
    """A whole number from `least`."""
    def number(text):
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}: {least} or more")
        return int(text)
    return number


def end_with_parent(number=signal.SIGTERM):
    """For preexec_fn: asks the kernel for this signal when the parent ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def quartiles(data):
    """25th percentile, median, 75th."""
    if len(data) < 2:
        return data[0], data[0], data[0]
    return tuple(statistics.quantiles(data, n=4, method="inclusive"))


def span(data, digits):
    """The range of all runs."""
    return f"{min(data):.{digits}f}-{max(data):.{digits}f}"


@functools.lru_cache(maxsize=None)
def orders(n, m, less):
    """In how many orders of n and m values is one of the first less than one of the others that often?"""
    if n == 0 or m == 0:
        return int(less == 0)
    return orders(n - 1, m, less - m) + orders(n, m - 1, less) if less >= 0 else 0


def may_be_chance(data, base):
    """Is there no difference? By the rank sum test of Mann and Whitney: if runs do not differ, one table in twenty
    says that they do. Three runs of each are too few to tell."""
    n, m = len(data), len(base)
    less = sum((x < y) + (x == y) / 2 for x in data for y in base)
    extreme = sum(orders(n, m, i) for i in range(int(min(less, n * m - less)) + 1))
    return 2 * extreme / math.comb(n + m, n) > CHANCE


def faster(times, base):
    """How many times as fast as the base, by medians; with ~ where that may be chance."""
    return f"{statistics.median(base) / statistics.median(times):.3f}{'~' if may_be_chance(times, base) else ' '}"


class Stolen:
    """The share of the CPUs' time that other guests of the same host have taken since this was made."""

    def __init__(self):
        self.before = self._read()

    @staticmethod
    def _read():
        times = [int(x) for x in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
        return times[7], sum(times)

    def share(self):
        stolen, total = (now - before for now, before in zip(self._read(), self.before))
        return stolen / total if total > 0 else 0


def run_json(command, timeout=None, may_outlive=False, **keywords):
    """Runs a program to its end. Returns its output, parsed as JSON. If this process is killed, the program ends, too,
    unless it may outlive it. That starts faster: otherwise Python has to copy itself first, which takes longer than some
    programs run."""
    text = " ".join(map(str, command))
    try:
        program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=None if may_outlive else end_with_parent, **keywords)
    except OSError as error:
        die(f"{command[0]}: {error.strerror}")
    try:
        output, errors = program.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        program.terminate()
        program.communicate()
        die(f"no end within {timeout} s: {text}")
    if program.returncode != 0:
        die(f"exit status {program.returncode} from {text}\n{errors}")
    try:
        return json.loads(output)
    except json.JSONDecodeError:
        die(f"not one result, but\n{output}\nfrom {text}\n{errors}")


class Progress:
    """A progress line on the terminal: runs done, runs in total, and the time left."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.began = time.monotonic()

    def step(self):
        self.done += 1
        if not sys.stderr.isatty():
            return
        left = (time.monotonic() - self.began) * (self.total - self.done) / self.done
        print(f"\r{self.done} of {self.total} runs, {left:.0f} s left ", end="", file=sys.stderr)
        if self.done == self.total:
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
