# SPDX-License-Identifier: MIT
"""Traces of juggle: reading one with the Python module and with `jugglectl plot --perfetto`, and making
one up."""

import collections
import json

import helpers
from juggle import TruncatedError, read_trace

# A thread was on a CPU (None: left to Linux), from when to when.
Stay = collections.namedtuple("Stay", "tid os_cpu from_us to_us")


class Trace:
    """.stays, ascending in time; .points: {time in us: {tid: how far it was ahead, in ms}}; .ticks: were
    there any? With a fixed period, only where others may have taken a CPU: then threads leave it."""

    def __init__(self, path):
        done = helpers.run([helpers.built("tools/jugglectl"), "plot", "--perfetto", "-q", "-o", "-", path])
        assert done.returncode == 0, done.stderr
        self.stays, self.points = [], collections.defaultdict(dict)
        for event in json.loads(done.stdout)["traceEvents"]:
            # Each stay is there twice: in the track of its thread and, with the tid, in its CPU's.
            if event["ph"] == "X" and event["cat"] == "placement" and "args" not in event:
                kind, _, cpu = event["name"].partition(" ")
                self.stays.append(Stay(event["tid"], int(cpu) if kind == "CPU" else None, event["ts"],
                                       round(event["ts"] + event["dur"] + 0.001, 3)))  # slices end a nanosecond early
            elif event["ph"] == "C" and event["name"] == "lead of %d" % event["tid"]:
                self.points[event["ts"]][event["tid"]] = event["args"]["ms"]
        self.stays.sort(key=lambda stay: stay.from_us)
        self.ticks = any(point["ticks"] for point in read_trace(path).points)

    def placements(self, threads):
        """{tid: CPU} after each change, while that many threads have a CPU each."""
        changes = collections.defaultdict(list)
        for stay in self.stays:
            if stay.os_cpu is not None:
                changes[stay.from_us].append((True, stay))
                changes[stay.to_us].append((False, stay))
        where, found = {}, []
        for when in sorted(changes):
            for begins, stay in sorted(changes[when]):  # the ends first
                if begins:
                    where[stay.tid] = stay.os_cpu
                else:
                    del where[stay.tid]
            if len(where) == threads:
                found.append(dict(where))
        return found


def growing(path, name):
    """A list of a trace that is still written; empty as long as there is none."""
    try:
        return getattr(read_trace(path, partial=True), name)
    except (FileNotFoundError, TruncatedError):
        return []


def points(path):
    """[(a point, its compute threads, its moves)] of a trace."""
    trace = read_trace(path)
    threads, moves = collections.defaultdict(list), collections.defaultdict(list)
    for sample in trace.samples:
        if sample["state"] in ("ahead", "behind"):
            threads[sample["now_ns"], sample["domain"]].append(sample)
    for move in trace.moves:
        moves[move["now_ns"], move["domain"]].append(move)
    keys = [(point["now_ns"], point["domain"]) for point in trace.points]
    return [(point, threads[key], moves[key]) for point, key in zip(trace.points, keys)]


# --- made-up traces ------------------------------------------------------------------

def begin(cpus=2, start_ns=0, **header):
    """The first lines of a trace: header, CPUs, and the only domain."""
    header = {"version": "1", "command": "x", "start_ns": start_ns, "policy": "juggle", "sampler": "schedstat",
              "balancers": "domain", "domains": "split", "period_s": 0.01, "period_auto": False, "jitter": 0.1,
              "margin_ns": 500000, "always": True, "threads": 0, **header}
    places = "".join(" %d:0" % cpu for cpu in range(cpus))
    return "# juggle trace 2 %s\ncpus %d%s\nteam %d 0 1 1 ns\n" % (json.dumps(header), start_ns, places, start_ns)


def point(now_ns, threads, moves=(), elapsed_ns=10000000, decision="aside why"):
    """A point of threads (tid, CPU, progress, run, wait, ...), and of moves (tid, from, to)."""
    lines = ["thread %d %d %d %d %d 1 a" % thread for thread in threads]
    lines += ["move %d %d %d" % move for move in moves]
    lines.append("decide 10000000 10000000 0 " + decision)
    return "\n".join(["point %d 0 %d %d some" % (now_ns, elapsed_ns, len(lines)), *lines]) + "\n"
