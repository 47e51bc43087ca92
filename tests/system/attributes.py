# SPDX-License-Identifier: MIT
"""Scheduling attributes of threads. A test is skipped where the kernel, or this module, can't tell of time slices."""
import ctypes
import os
import platform
import struct

import pytest

# libc has no wrappers of these calls.
SCHED_GETATTR = {"x86_64": 315, "aarch64": 275, "ppc64le": 356, "riscv64": 275}
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "ppc64le": 355, "riscv64": 274}
ATTR = struct.Struct("=IIQiIQQQ")  # size policy flags nice priority runtime deadline period
SLICE = 5  # its index


def _call(numbers, *arguments):
    if platform.machine() not in numbers:
        pytest.skip("number of sched_getattr unknown on " + platform.machine())
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(numbers[platform.machine()], *arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def of(tid):
    """All of a thread, in the order of ATTR."""
    buffer = ctypes.create_string_buffer(ATTR.size)
    _call(SCHED_GETATTR, tid, buffer, ATTR.size, 0)
    return list(ATTR.unpack(buffer.raw))


def slice_of(tid):
    """In ns."""
    return of(tid)[SLICE]


def set_slice(tid, slice_ns):
    """0: the default one."""
    changed = of(tid)
    changed[SLICE] = slice_ns
    _call(SCHED_SETATTR, tid, ATTR.pack(*changed), 0)


def default_slice():
    """The slice, in ns, of threads that nobody gave another one."""
    try:
        before = slice_of(0)
        set_slice(0, 0)
        found = slice_of(0)
    except OSError as error:
        pytest.skip("no time slices: " + error.strerror)
    if found == 0:
        pytest.skip("this kernel has no time slices of single threads (before Linux 6.12)")
    if before != found:
        set_slice(0, before)
    return found
