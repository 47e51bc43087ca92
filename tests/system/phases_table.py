# SPDX-License-Identifier: MIT
"""Tables of phases, as juggle makes and reads them: see libprogress/phases/phases.h."""

import contextlib
import fcntl
import mmap
import os
import struct
from dataclasses import dataclass

import helpers

MAGIC, VERSION = 0x736573616870, 5
ROWS, SITES = 16384, 1024
BELLS = 64
HEADER_BYTES, ROW_BYTES, SITE_BYTES, BELL_BYTES = 128, 64, 128, 256
BYTES = HEADER_BYTES + ROWS * (ROW_BYTES + 2) + SITES * SITE_BYTES + BELLS * BELL_BYTES
OMPT, GOMP, MPI, PTHREAD, OWN = 1, 2, 4, 8, 16
TASKS, YIELDS, DYNAMIC = 1, 2, 4
RESTS, RESTS_MORE = 1, 2

F_ADD_SEALS, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW = 1033, 1, 2, 4


@dataclass
class Row:
    """A thread; tid and pid are 0 when it has given the row back."""
    tid: int
    pid: int
    arrivals: int
    turns: int  # modulo 4: it works, arrives, waits, departs
    site: int
    flags: int
    since_ns: int
    waited_ns: int
    turn_cpu_ns: int
    useful_ns: int
    before_ns: int

    @property
    def waits(self):
        return self.turns // 4


@dataclass
class Site:
    address: int
    pid: int
    named: int
    waits: int
    waited_ns: int
    name: str


def library():
    """The path of libphases.so."""
    return helpers.built("libprogress/phases/libphases.so")


class Table:
    """A new table, or that of a descriptor. `header` has its magic, version, ..., row_bytes."""

    def __init__(self, fd=None, header=(), seals=F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, size=BYTES):
        self.fd = fd
        if fd is None:
            self.fd = os.memfd_create("juggle-phases", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self.fd, size)
        self.memory = mmap.mmap(self.fd, size)
        if fd is None:
            fields = dict(magic=MAGIC, version=VERSION, header_bytes=HEADER_BYTES, size_bytes=BYTES, rows=ROWS,
                          sites=SITES, row_bytes=ROW_BYTES, site_bytes=SITE_BYTES)
            fields.update(header)
            struct.pack_into("=QIIQIIII", self.memory, 0, *fields.values())
            fcntl.fcntl(self.fd, F_ADD_SEALS, seals)

    def close(self):
        self.memory.close()
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def path(self):
        return "/proc/%d/fd/%d" % (os.getpid(), self.fd)

    @property
    def environment(self):
        """For a program that is to fill it in."""
        return {"JUGGLE_PHASES": self.path, "LD_PRELOAD": library()}

    @property
    def maker(self):
        """The process that has made it for itself."""
        return struct.unpack_from("=I", self.memory, 40)[0]

    def _live(self):
        return struct.unpack_from("=IIII", self.memory, 64)

    @property
    def rows_used(self):
        return self._live()[0]

    @property
    def sources(self):
        return self._live()[2]

    def row(self, i):
        return Row(*struct.unpack_from("=IIQIHHQQQQQ", self.memory, HEADER_BYTES + i * ROW_BYTES))

    def rows(self):
        """All that were ever used, those of the most useful time first."""
        return sorted((self.row(i) for i in range(min(self.rows_used, ROWS))),
                      key=lambda row: -row.useful_ns)

    def take_rows(self, first, last, tid=1):
        """As if other threads had them."""
        for i in range(first, last):
            struct.pack_into("=II", self.memory, HEADER_BYTES + i * ROW_BYTES, tid, tid)
        struct.pack_into("=I", self.memory, 64, last)

    def let_rest(self, rows, how=RESTS):
        """Nobody decides by the times of the threads that have the first so many rows."""
        at = BYTES - ROWS
        self.memory[at:at + rows] = bytes([how]) * rows

    @property
    def resting(self):
        """What threads that have a row may leave untold: see libprogress/phases/phases.h."""
        at = BYTES - ROWS
        return [self.memory[at + i] for i in range(self.rows_used) if self.row(i).tid]

    def sites(self):
        found = []
        for i in range(1, min(self._live()[3], SITES)):
            at = HEADER_BYTES + ROWS * ROW_BYTES + i * SITE_BYTES
            *numbers, name = struct.unpack_from("=QIIQQ96s", self.memory, at)
            found.append(Site(*numbers, name.partition(b"\0")[0].decode()))
        return found

    def site_names(self):
        return {site.name.partition("+")[0] for site in self.sites()}


def of_process(pid, maker=None):
    """The table that a process has made for itself; None if it has none, or still its parent's. Juggle's has no
    maker (0)."""
    folder = "/proc/%d/fd" % pid
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(FileNotFoundError):
            if os.readlink(path).startswith("/memfd:juggle-phases"):
                table = Table(os.open(path, os.O_RDWR | os.O_CLOEXEC))
                if table.maker == (pid if maker is None else maker):
                    return table
                table.close()
    return None


def run(table, command, status=0, env=None, **options):
    """Runs a command that fills in the table: as it ends without the library, and as silently."""
    done = helpers.run(command, env={**table.environment, **(env or {})}, **options)
    assert (done.returncode, done.stderr) == (status, ""), done.stderr
    return done
