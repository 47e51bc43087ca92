# SPDX-License-Identifier: MIT
"""Little of everything: low limits, and system calls that a sandbox forbids."""

import ctypes
import errno
import os
import platform
import resource
import struct
from functools import partial

import pytest

import helpers
from attempt import STATUS, attack

MIB = 2 ** 20
LIMITS = {
    "NOFILE": (3, 40), "AS": (8 * MIB, 300 * MIB), "DATA": (0, 60 * MIB), "STACK": (64 * 1024, 8 * MIB),
    "FSIZE": (0, 8192), "MEMLOCK": (0, 65536), "SIGPENDING": (0, 20), "RTPRIO": (0, 0), "NPROC": (1, 40),
    "MSGQUEUE": (0, 0), "NICE": (0, 0), "CORE": (0, 0),
}
# Numbers of x86_64. What containers, batch systems and old kernels are known to refuse.
CALLS = {
    "sched_setaffinity": 203, "sched_getaffinity": 204, "inotify_init1": 294, "inotify_add_watch": 254,
    "memfd_create": 319, "timerfd_create": 283, "eventfd2": 290, "epoll_create1": 291, "pidfd_open": 434,
    "socket": 41, "sendto": 44, "sendmsg": 46, "recvmsg": 47, "prctl": 157, "sched_setscheduler": 144,
    "sched_setattr": 314, "setpriority": 141, "getrusage": 98, "perf_event_open": 298, "signalfd4": 289,
    "times": 100, "ftruncate": 77, "fallocate": 285, "mlock": 149, "unlink": 87, "process_vm_readv": 310,
    "membarrier": 324, "getcpu": 309, "setpgid": 109, "setsid": 112, "flock": 73, "fchmod": 91, "statx": 332,
    "get_mempolicy": 239, "rt_sigtimedwait": 128, "ptrace": 101, "kcmp": 312, "clone3": 435,
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
libc = ctypes.CDLL(None, use_errno=True)


def low_limits(limits):
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))


def random_limits(attempt):
    return {name: attempt.random.randint(*LIMITS[name]) for name in attempt.random.sample(list(LIMITS), 2)}


@attack
def started_low(attempt):
    """juggle starts with low resource limits, where the job alone ends well"""
    prefix = helpers.as_user([]) if os.geteuid() == 0 else []
    for _ in range(5):
        limits = random_limits(attempt)
        try:
            if attempt.ends_as_alone(prefix if attempt.chance() else [], partial(low_limits, limits)):
                return
        except AssertionError as error:
            raise AssertionError("%s: %s" % (limits, error)) from None


@attack
def lowered(attempt):
    """Resource limits of the keeper, the balancer or the guard are lowered while they run"""
    job = attempt.job(children=20)
    for _ in range(5):
        pid = attempt.random.choice([job.process.pid, job.balancer, *job.guards])
        for name, value in random_limits(attempt).items():
            number = getattr(resource, "RLIMIT_" + name)
            _, most = resource.prlimit(pid, number)
            resource.prlimit(pid, number, (value if most < 0 else min(value, most), most))
        attempt.pause(0, 0.1)
    job.end()


def forbid(numbers, error):
    """From now on these system calls fail with an error, here and in all descendants."""
    code = [(LOAD, 0, 0, 0)]
    for left, number in zip(range(len(numbers), 0, -1), numbers):
        code.append((JUMP_IF_EQUAL, left, 0, number))
    code += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | error)]
    filters = b"".join(struct.pack("HBBI", *instruction) for instruction in code)
    room = ctypes.create_string_buffer(filters)
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(room))
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0):
        raise OSError(ctypes.get_errno(), "seccomp")


@attack
def sandboxed(attempt):
    """A sandbox forbids system calls, where the job alone ends well"""
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of the system calls are those of x86_64")
    for _ in range(5):
        names = attempt.random.sample(list(CALLS), attempt.random.choice((1, 1, 2, 5)))
        error = attempt.random.choice((errno.EPERM, errno.ENOSYS, errno.EACCES))
        try:
            if attempt.ends_as_alone([], partial(forbid, [CALLS[name] for name in names], error)):
                return
        except AssertionError as why:
            raise AssertionError("%s, %s: %s" % (", ".join(names), errno.errorcode[error], why)) from None
