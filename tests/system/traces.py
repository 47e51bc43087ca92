# SPDX-License-Identifier: MIT
"""What a trace of juggle tells, by `jugglectl plot --perfetto`, which knows its format."""

import collections
import json

import helpers

# A thread was on a CPU (None: left to Linux), from when to when.
Stay = collections.namedtuple("Stay", "tid os_cpu from_us to_us")


class Trace:
    """.stays, ascending in time; .points: {when, in us: {tid: how far it was ahead, in ms}}."""

    def __init__(self, path):
        done = helpers.run([helpers.built("tools/jugglectl"), "plot", "--perfetto", "-q", "-o", "-", path])
        assert done.returncode == 0, done.stderr
        self.stays, self.points = [], collections.defaultdict(dict)
        for event in json.loads(done.stdout)["traceEvents"]:
            # Each stay is there twice, in the track of its thread and, with the tid, in its CPU's.
            if event["ph"] == "X" and event["cat"] == "placement" and "args" not in event:
                kind, _, cpu = event["name"].partition(" ")
                self.stays.append(Stay(event["tid"], int(cpu) if kind == "CPU" else None, event["ts"],
                                       round(event["ts"] + event["dur"], 3)))
            elif event["ph"] == "C" and event["name"] == "lead of %d" % event["tid"]:
                self.points[event["ts"]][event["tid"]] = event["args"]["ms"]
        self.stays.sort(key=lambda stay: stay.from_us)

    def placements(self, threads):
        """{tid: CPU} after each change, while so many threads have a CPU each."""
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
