# SPDX-License-Identifier: MIT
"""Read what juggle writes: reports, traces, and samples of running jobs.

    import juggle

    report = juggle.read_report("report.json")      # juggle --report report.json ./app
    print(report["reason"], [thread["wait_s"] for thread in report["thread"]])

    trace = juggle.read_trace("run.trace")          # juggle --trace run.trace ./app
    print(trace.header["command"], len(trace.points), "points")
    lead = trace.frame("samples").pivot_table("progress_ns", "now_ns", "tid")

    for sample in juggle.watch("ubench", interval=0.5):
        print(sample["age_s"], sample["thread_spread_s"])

Records are dicts. Their keys are those of the manual: REPORT FORMAT and TRACE FORMAT in juggle(1),
RESULT FORMAT in jugglectl-stat(1). Nothing but the standard library is needed, except for pandas by
frame() and Trace.frame().

A file that cannot be read raises OSError. One that is not what it should be raises FormatError.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO, Union

if TYPE_CHECKING:
    import pandas

__all__ = ["Error", "FormatError", "Trace", "TruncatedError", "VersionError", "WatchError", "frame",
           "read_report", "read_samples", "read_trace", "watch"]

Record = dict[str, Any]
Path = Union[str, "os.PathLike[str]"]


class Error(Exception):
    """What this module raises itself."""


class FormatError(Error):
    """A file is damaged, or something else. It has .path, .line (from 1) and .reason."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(path, line, reason)
        self.path, self.line, self.reason = os.fspath(path), line, reason

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


class VersionError(FormatError):
    """A trace has another version of the format than this module knows."""


class TruncatedError(FormatError):
    """A file ends within a record. It may still be written, or the writer was killed."""


class WatchError(Error):
    """jugglectl cannot be run, or failed; the text is what it said. Its exit status is .status."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


# --- reports and samples -------------------------------------------------------------

_REPORT_KEYS = ("version", "command", "exit_status", "elapsed_s", "policy", "thread")


def read_report(path: Path) -> Record:
    """The report that `juggle --report` wrote: a dict with the keys of REPORT FORMAT in juggle(1).

    A report of another version of juggle may have further keys.
    """
    report = _object(path, 1, _text(path))
    missing = [key for key in _REPORT_KEYS if key not in report]
    if missing:
        raise FormatError(path, 1, f"no report of juggle --report: it has no {missing[0]!r}")
    return report


def read_samples(path: Path, partial: bool = False) -> list[Record]:
    """What `jugglectl stat --json`, with or without --interval, printed into a file: a dict for each
    sample, with the keys of RESULT FORMAT in jugglectl-stat(1).

    If the last line is not whole, that raises TruncatedError; with `partial` the line is left out.
    """
    lines = _text(path).split("\n")
    if lines.pop() and not partial:
        raise TruncatedError(path, len(lines) + 1, "the file ends within a sample")
    return [_sample(path, number, line) for number, line in enumerate(lines, 1)]


def watch(job: int | str | None = None, interval: float = 1, count: int | None = None,
          jugglectl: Path = "jugglectl") -> Iterator[Record]:
    """Samples of a running job, one each `interval` seconds (0.01 or more), until it ends or there
    were `count`. It runs `jugglectl stat`; the first sample comes after the first interval.

    `job` is the pid of juggle, of its command or of a process of theirs, or the name of the
    command's file. None is the only job there is. Raises WatchError where jugglectl fails, such as
    when there is no such job. To stop earlier, leave the loop, or close() the iterator.
    """
    command = [os.fspath(jugglectl), "stat", "--json", "--quiet", f"--interval={interval:f}s"]
    if count is not None:
        command.append(f"--count={count}")
    if job is not None:
        command += ["--", str(job)]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    except OSError as error:
        raise WatchError(f"{command[0]} cannot be run: {error.strerror}") from error
    with process:
        assert process.stdout and process.stderr
        try:
            for number, line in enumerate(process.stdout, 1):
                yield _sample("jugglectl stat", number, line)
            said = process.stderr.read().strip()
            process.wait()
        finally:
            process.terminate()
    if process.returncode != 0:
        raise WatchError(said or f"{command[0]} ended with status {process.returncode}", process.returncode)


def _text(path: Path) -> str:
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        return file.read()


def _object(path: Path, line: int, text: str) -> Record:
    """A JSON object that begins in this line."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(path, line + error.lineno - 1, f"not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or as many brackets
        raise FormatError(path, line, f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise FormatError(path, line, "no JSON object")
    return found


def _sample(path: Path, line: int, text: str) -> Record:
    sample = _object(path, line, text)
    if sample.get("program") != "jugglectl stat":
        raise FormatError(path, line, "no sample of jugglectl stat --json")
    return sample


# --- traces --------------------------------------------------------------------------

_MAGIC = "# juggle trace "
_VERSION = 2
_HEADER: dict[str, tuple[type, ...]] = {
    "version": (str,), "command": (str,), "policy": (str,), "sampler": (str,), "balancers": (str,), "domains": (str,),
    "start_ns": (int,), "period_s": (int, float), "period_auto": (bool,), "jitter": (int, float), "margin_ns": (int,),
    "always": (bool,), "threads": (int,)}
_NUMBER = "[0-9]{1,19}"
_FLAGS = ("tickers", "bells", "shortens", "rung", "unseen", "asleep", "ready", "waits", "yields",
          "dynamic")
_TEXTS = ("comm", "unit", "looked", "state", "regime", "reason")
_LISTS = ("owners", "holders", "counts")
_STATES = {"a": "ahead", "b": "behind", "i": "idle", "e": "ended"}


def _layout(numbers: str, end: str = "") -> re.Pattern[str]:
    """The pattern of a record: numbers of these names, which may be negative where a name ends in -,
    and `end`."""
    return re.compile(" ".join(f"(?P<{name[:-1]}>-?{_NUMBER})" if name.endswith("-") else f"(?P<{name}>{_NUMBER})"
                               for name in numbers.split()) + end)


def _list(name: str) -> str:
    return f"(?P<{name}>(?: -?{_NUMBER})+)"


_MORE = "(?P<unseen> unseen)?(?P<asleep> asleep)?(?P<ready> ready)?" + "".join(
    f"(?: {key.partition('_')[0]}=(?P<{key}>{_NUMBER}))?" if key not in _FLAGS else f"(?P<{key}> {key})?"
    for key in ("work", "left_ns", "sleeps", "updates", "arrivals", "useful_ns", "done_ns", "waits", "yields",
                "dynamic", "rule", "role"))

_RECORDS = {
    "birth": _layout("now_ns tid pid", " (?P<comm>[^\0]*)"),
    "name": _layout("now_ns tid", " (?P<comm>[^\0]*)"),
    "cpus": _layout("now_ns", f"(?P<cpus>(?: {_NUMBER}:{_NUMBER}(?::{_NUMBER}:{_NUMBER}(?::{_NUMBER})?)?)+)"),
    "team": _layout("now_ns domain domains seed", " (?P<unit>ns|work)(?P<tickers> tickers)?(?P<bells> bells)?"
                    "(?P<shortens> shortens)?"),
    "point": _layout("now_ns domain elapsed_ns lines",
                     f" (?P<looked>some|all|all,open)(?P<rung> rung)?(?: cost=(?P<cost_ns>{_NUMBER}))?"),
    "plb": _layout("now_ns pid moves"),
    "subdomains": _layout("now_ns pid rank- workers", _list("owners")),
    "give": _layout("now_ns pid subdomain from to"),
    "holders": _layout("now_ns pid", _list("holders")),
    "updates": _layout("now_ns pid", _list("counts")),
    "dropped": _layout("count"),
}
# The lines of a point. All but the last may come in any number.
_THREAD = {
    "thread": _layout("tid os_cpu- progress_ns- run_ns wait_ns slices", " (?P<state>[ab])" + _MORE),
    "other": _layout("tid os_cpu- run_ns wait_ns slices", " (?P<state>[ie])" + _MORE),
}
_OF_POINT = {
    "new": _layout("tid assigned"),
    "move": _layout("tid from- to-"),
    "handover": _layout("tid to"),
}
_COUNTS = ("domains", "neighbours", "stolen", "ticked")  # lists of a point
_COUNT = re.compile(f"{_NUMBER}(?: {_NUMBER})*")
_BESIDE = re.compile(_NUMBER)
_SLICES = ("short", "default")
_DECIDE = _layout("period_ns wait_ns ticks", " (?P<regime>balance|aside) (?P<reason>[^\0]*)")


def _columns(*layouts: re.Pattern[str], before: tuple[str, ...] = ()) -> list[str]:
    return [*before, *(name for layout in layouts for name in layout.groupindex if name != "lines")]


_OF = ("now_ns", "domain")  # the point that a record belongs to
# The lists that take records as they are.
_KEPT_AS = {"birth": "threads", "name": "names", "team": "teams", "plb": "plb", "subdomains": "subdomains",
            "give": "gives", "holders": "holders", "updates": "updates"}
# The columns of Trace.frame(), by the names of the lists.
_FRAMES = {
    "threads": _columns(_RECORDS["birth"]),
    "names": _columns(_RECORDS["name"]),
    "cpus": ["now_ns", "os_cpu", "domain", "core", "speed", "cache"],
    "teams": _columns(_RECORDS["team"]),
    "points": _columns(_RECORDS["point"], _DECIDE),
    "samples": _columns(_THREAD["thread"], before=_OF),
    "moves": _columns(_OF_POINT["move"], before=_OF),
    "newcomers": _columns(_OF_POINT["new"], before=_OF),
    "handovers": _columns(_OF_POINT["handover"], before=_OF),
    "plb": _columns(_RECORDS["plb"]),
    "gives": _columns(_RECORDS["give"]),
    "subdomains": ["now_ns", "pid", "rank", "workers", "subdomain", "owner"],
    "holders": ["now_ns", "pid", "subdomain", "holder"],
    "updates": ["now_ns", "pid", "subdomain", "updates"],
}
# What holds a number for each subdomain, and the column that this becomes.
_BY_SUBDOMAIN = {"subdomains": ("owners", "owner"), "holders": ("holders", "holder"), "updates": ("counts", "updates")}


@dataclass
class Trace:
    """What `juggle --trace` wrote; TRACE FORMAT in juggle(1) explains the records.

    Each list holds dicts, in the order of the file: that of time, for each domain. Times end in _ns;
    now_ns is that of CLOCK_MONOTONIC. CPUs are -1 for a thread that is left to the kernel. What
    applies only to some records, such as "work" and "asleep" of samples, is missing in the others.
    """

    header: Record
    #: Threads, when they were found: now_ns, tid, pid, and comm, the last name that each had.
    threads: list[Record] = field(default_factory=list)
    #: When threads were found to have changed their name.
    names: list[Record] = field(default_factory=list)
    #: CPUs at the start, and again at each time that they changed.
    cpus: list[Record] = field(default_factory=list)
    #: When balancing of a domain began.
    teams: list[Record] = field(default_factory=list)
    #: Balancing points: what was looked at, and the decision. They hold the lists `domains`,
    #: `neighbours`, `stolen` and `ticked` where the trace has them, `beside` where that number of threads
    #: has changed, and `slice` ("short" or "default") where time slices do.
    points: list[Record] = field(default_factory=list)
    #: Threads at points (the now_ns and domain of these); state is "behind", "ahead", "idle" or "ended".
    samples: list[Record] = field(default_factory=list)
    #: Moves of threads at points.
    moves: list[Record] = field(default_factory=list)
    #: Threads that a domain has from a point on.
    newcomers: list[Record] = field(default_factory=list)
    #: Threads that went from a domain to another one, `to`.
    handovers: list[Record] = field(default_factory=list)
    #: Numbers of subdomains that were moved, for each process.
    plb: list[Record] = field(default_factory=list)
    #: Moves of single subdomains.
    gives: list[Record] = field(default_factory=list)
    #: The `owners` of all subdomains of a process, in their order; likewise `holders`, and the
    #: `counts` of updates. -1: nobody's.
    subdomains: list[Record] = field(default_factory=list)
    holders: list[Record] = field(default_factory=list)
    updates: list[Record] = field(default_factory=list)
    #: Records that are missing because the disk was too slow.
    dropped: int = 0
    #: Records of kinds that only later versions write, which were skipped.
    unknown: int = 0
    #: The last record is not whole, and left out.
    cut_short: bool = False

    def frame(self, name: str) -> pandas.DataFrame:
        """One of the lists as a pandas.DataFrame. "subdomains", "holders" and "updates" have a row for
        each subdomain. The lists that points hold are left out."""
        if name not in _FRAMES:
            raise ValueError(f"a trace has no {name!r}, but: {', '.join(_FRAMES)}")
        rows = getattr(self, name)
        if name in _BY_SUBDOMAIN:
            values, column = _BY_SUBDOMAIN[name]
            rows = [{**row, "subdomain": i, column: value} for row in rows for i, value in enumerate(row[values])]
        made = _pandas().DataFrame(rows, columns=_FRAMES[name])
        for flag in _FLAGS:
            if flag in made:
                made[flag] = made[flag].notna()
        return made


def read_trace(path: Path, partial: bool = False) -> Trace:
    """The trace that `juggle --trace` wrote.

    If it ends within a record, that raises TruncatedError; with `partial` this record is left out, as
    for a trace that is still written. A missing end is not noticed where it begins between two
    records. Whether times are plausible is not checked; `jugglectl replay` does that.
    """
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        return _TraceReader(path, file).read(partial)


class _TraceReader:
    def __init__(self, path: Path, file: TextIO) -> None:
        self.path, self.file, self.line = path, file, 0
        self.trace = Trace(header={})
        self.thread: dict[int, Record] = {}  # by tid, the last one
        self.ended = False

    def read(self, partial: bool) -> Trace:
        self.first_line()
        # Where it is cut short, what follows may have been written since: it isn't the rest of the record.
        while not self.trace.cut_short and (text := self.next_line()) is not None:
            self.record(text)
        if self.trace.cut_short and not partial:
            raise TruncatedError(self.path, self.line + 1, "the trace ends within a record")
        return self.trace

    def refuse(self, reason: str) -> FormatError:
        return FormatError(self.path, max(self.line, 1), reason)

    def next_line(self) -> str | None:
        """None at the end."""
        text = self.file.readline()
        if text.endswith("\n"):
            self.line += 1
            return text[:-1]
        self.trace.cut_short |= text != ""
        return None

    def first_line(self) -> None:
        # Not more of a file that is something else, and may have no end.
        magic = self.file.read(len(_MAGIC))
        if not _MAGIC.startswith(magic):
            raise self.refuse("no trace of juggle --trace")
        text = self.next_line() if magic == _MAGIC else None
        if text is None:
            raise TruncatedError(self.path, 1, "the trace ends within its header")
        version, _, header = text.partition(" ")
        if not re.fullmatch(_NUMBER, version):
            raise self.refuse("no trace of juggle --trace")
        if int(version) != _VERSION:
            raise VersionError(self.path, 1, f"version {version} of the format, only {_VERSION} is known")
        self.trace.header = _object(self.path, 1, header)
        for key, kinds in _HEADER.items():
            if type(self.trace.header.get(key)) not in kinds:
                raise self.refuse(f"the header is damaged: {key}")

    def take(self, word: str, layout: re.Pattern[str], rest: str) -> Record:
        match = layout.fullmatch(rest)
        if not match:
            raise self.refuse(f"a damaged {word} record")
        return {key: _value(key, text) for key, text in match.groupdict().items() if text is not None}

    def record(self, text: str) -> None:
        word, blank, rest = text.partition(" ")
        if self.ended:
            raise self.refuse("a record after the last one")
        if not re.fullmatch("[a-z]+", word):
            raise self.refuse("not a record")
        if blank and word in ("thread", "move", "decide"):
            raise self.refuse("a record that belongs to no point")
        if not blank or word not in _RECORDS:
            self.trace.unknown += 1
            return
        found = self.take(word, _RECORDS[word], rest)
        if word in _KEPT_AS:
            getattr(self.trace, _KEPT_AS[word]).append(found)
        if word == "birth":
            self.thread[found["tid"]] = found
        elif word == "name" and found["tid"] in self.thread:
            self.thread[found["tid"]]["comm"] = found["comm"]
        elif word == "cpus":
            self.trace.cpus += _cpus(found)
        elif word == "point":
            self.point(found)
        elif word == "dropped":
            self.trace.dropped, self.ended = found["count"], True

    def point(self, point: Record) -> None:
        """The point and its lines; nothing if some of them are missing at the end."""
        of = {key: point[key] for key in _OF}
        if point["lines"] == 0:
            raise self.refuse("a point without its decision")
        lists: dict[str, list[Record]] = {"thread": [], "new": [], "move": [], "handover": []}
        for left in range(point.pop("lines"), 0, -1):
            text = self.next_line()
            if text is None:
                self.trace.cut_short = True
                return
            word, _, rest = text.partition(" ")
            if left == 1:
                if word != "decide":
                    raise self.refuse("a point without its decision")
                point.update(self.take(word, _DECIDE, rest))
            elif word in _COUNTS:
                if not _COUNT.fullmatch(rest):
                    raise self.refuse("a damaged list of counts")
                point[word] = [int(number) for number in rest.split(" ")]
            elif word == "beside":
                if not _BESIDE.fullmatch(rest):
                    raise self.refuse("a damaged count of threads")
                point["beside"] = int(rest)
            elif word == "slice":
                if rest not in _SLICES:
                    raise self.refuse("a damaged slice record")
                point["slice"] = rest
            elif word in _THREAD:
                lists["thread"].append({**of, **self.take(word, _THREAD[word], rest)})
            elif word in _OF_POINT:
                lists[word].append({**of, **self.take(word, _OF_POINT[word], rest)})
            else:
                raise self.refuse("a point with fewer lines than it announces")
        self.trace.points.append(point)
        self.trace.samples += lists["thread"]
        self.trace.newcomers += lists["new"]
        self.trace.moves += lists["move"]
        self.trace.handovers += lists["handover"]


def _value(key: str, text: str) -> Any:
    if key in _FLAGS:
        return True
    if key == "cpus":
        return [[int(number) for number in cpu.split(":")] for cpu in text.split()]
    if key in _LISTS:
        return [int(number) for number in text.split()]
    if key == "state":
        return _STATES[text]
    return text if key in _TEXTS else int(text)


def _cpus(record: Record) -> Iterator[Record]:
    """A record for each CPU."""
    for os_cpu, domain, *more in record["cpus"]:
        more += [os_cpu, 1000, 0][len(more):]  # older traces have none of these, or the first two
        yield dict(zip(_FRAMES["cpus"], [record["now_ns"], os_cpu, domain, *more]))


# --- pandas --------------------------------------------------------------------------

def frame(records: Record | Iterable[Record], table: str | None = None) -> pandas.DataFrame:
    """Reports or samples (one, or several) as a pandas.DataFrame with a row for each, without their lists.

    `table` is the name of such a list, as "thread": then there is a row for each of its elements, with
    unix_time_ms of the sample that it is of. Raises KeyError if none of the records has this list.
    """
    records = [records] if isinstance(records, dict) else list(records)
    if table is None:
        rows = [{key: value for key, value in record.items() if not isinstance(value, (list, dict))}
                for record in records]
    elif records and not any(table in record for record in records):
        raise KeyError(table)
    else:
        rows = [{**_time_of(record), **row} for record in records for row in record.get(table, ())]
    return _pandas().DataFrame(rows)


def _time_of(record: Record) -> Record:
    return {key: record[key] for key in ("unix_time_ms",) if key in record}


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: python3-pandas of Debian, or `pip install pandas`") from error
    return pandas
