# SPDX-License-Identifier: MIT
"""Several "hosts" on one machine, for programs that need a network between them.

    with hosts.Hosts(2) as two:
        two.slow_link(delay_ms=5)
        done = two.mpirun(["-n", "4"], [program, "--dplb", "global"], mpi="openmpi")

Each host is a set of namespaces (network, host name, mounts) that a sleeping process keeps alive,
and so is the switch between them: what the kernel has of it goes when these processes do, and
they do when the tests are killed. Nothing of it can be seen, or clash, outside.

Processes, memory and CPUs are the machine's: a host is slow only where a cgroup makes it so.
"""

import contextlib
import math
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import helpers
import mpi as mpis

DEVICE = "eth0"
SUBNET = "10.77.0."
TOOLS = ("ip", "nsenter", "setpriv", "unshare")

# How ssh would be called: options, a host, a command for the shell there.
ENTER = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
here=$(dirname "$0")
read -r keeper < "$here/$host.keeper" || exit 255
if [ -f "$here/$host.cgroup" ]; then
	read -r cgroup < "$here/$host.cgroup"
	echo $$ > "$cgroup/cgroup.procs" || exit 255
fi
exec nsenter --target "$keeper" --net --uts --mount --wd="$PWD" -- sh -c "$*"
"""

HOST = """set -e
hostname "$1"
mount -t sysfs none /sys
mount --bind "$2" /etc/hosts
ip link set lo up
echo ready
exec sleep infinity
"""

SWITCH = """set -e
ip link add switch type bridge
ip link set switch up
echo ready
exec sleep infinity
"""


def quoted(words):
    return " ".join("'%s'" % str(word).replace("'", "'\\''") for word in words)


class Hosts:
    """hosts.names are those that mpirun's -H knows; the first is where mpirun runs."""

    def __init__(self, count=2):
        self.names = ["host%c-%d" % (ord("a") + i, os.getpid()) for i in range(count)]
        self._stack = contextlib.ExitStack()
        self._keepers = {}

    def __enter__(self):
        if os.geteuid() != 0:
            pytest.skip("needs root, for namespaces")
        for tool in TOOLS:
            if not shutil.which(tool):
                pytest.skip("needs " + tool)
        with contextlib.ExitStack() as stack:
            self._dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hosts.")))
            stack.callback(self._kill)
            self._make()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception):
        self._stack.close()

    # --- setting up ----------------------------------------------------------------------

    def _make(self):
        enter = self._dir / "enter"
        enter.write_text(ENTER)
        enter.chmod(0o755)
        (self._dir / "etc").write_text("127.0.0.1 localhost\n" + "".join(
            "%s%d %s\n" % (SUBNET, i + 1, name) for i, name in enumerate(self.names)))
        switch = self._keep("switch", ["--net"], SWITCH)
        for i, name in enumerate(self.names):
            keeper = self._keep(name, ["--net", "--uts", "--mount"], HOST,
                                [name, self._dir / "etc"])
            (self._dir / (name + ".keeper")).write_text("%d\n" % keeper)
            port = "port%d" % i
            inside = ["nsenter", "--target", switch, "--net", "ip", "link"]
            self._need([*inside, "add", port, "type", "veth", "peer", "name", DEVICE,
                        "netns", keeper])
            self._need([*inside, "set", port, "master", "switch", "up"])
            inside = ["nsenter", "--target", keeper, "--net", "ip"]
            self._need([*inside, "address", "add", "%s%d/24" % (SUBNET, i + 1), "dev", DEVICE])
            self._need([*inside, "link", "set", DEVICE, "up"])

    def _keep(self, name, namespaces, script, arguments=()):
        """Starts the process that keeps namespaces; they end with the tests in any case."""
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", *namespaces, "sh", "-c", script, "sh",
             *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._keepers[name] = process
        if process.stdout.readline() != "ready\n":
            pytest.skip("no namespaces here: " + process.stderr.read().strip())
        return process.pid

    def _need(self, command):
        done = helpers.run(command)
        if done.returncode != 0:
            pytest.skip("no network of hosts here: %s: %s" % (
                " ".join(map(str, command)), done.stderr.strip()))

    # --- cleaning up ---------------------------------------------------------------------

    def processes(self, name):
        """The processes in a host, without the one that keeps it."""
        keeper = self._keepers[name].pid
        network = os.stat("/proc/%d/ns/net" % keeper).st_ino
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            with contextlib.suppress(OSError):
                if pid != keeper and os.stat("/proc/%d/ns/net" % pid).st_ino == network:
                    found.append(pid)
        return found

    def _end_processes(self, name):
        def ended():
            left = self.processes(name)
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not left
        helpers.wait_for(ended, "%s is empty" % name)

    def _kill(self):
        for name, process in self._keepers.items():
            if process.poll() is None:
                self._end_processes(name)
        for process in self._keepers.values():
            process.kill()
            process.wait(timeout=helpers.TIMEOUT_S)
            process.stdout.close()
            process.stderr.close()

    # --- slowing them --------------------------------------------------------------------

    def slow_link(self, delay_ms=None, rate=None, names=None):
        """Delays what hosts (default: all) send, and limits it to `rate` (such as "10mbit")."""
        if delay_ms is not None:
            how = ["netem", "delay", "%gms" % delay_ms] + (["rate", rate] if rate else [])
        else:
            how = ["tbf", "rate", rate, "burst", "32kb", "latency", "400ms"]
        if not shutil.which("tc"):
            pytest.skip("needs tc")
        for name in names or self.names:
            done = helpers.run(["nsenter", "--target", self._keepers[name].pid, "--net",
                                "tc", "qdisc", "replace", "dev", DEVICE, "root", *how])
            if done.returncode != 0:
                pytest.skip("the kernel has no %s: %s" % (how[0], done.stderr.strip()))

    def slow_host(self, name, cpus=0.25):
        """Limits what is started on a host from now on to the time of that many CPUs in total."""
        cgroups, limits = Path("/sys/fs/cgroup"), {"cpu.max": "%d 100000" % (100000 * cpus)}
        if not (cgroups / "cgroup.controllers").exists():
            cgroups, limits = cgroups / "cpu", {
                "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "%d" % (100000 * cpus)}
        try:
            # One for each host: what one host starts on another belongs to the other's.
            for each in self.names:
                cgroup = cgroups / ("juggle-" + each)
                if not cgroup.exists():
                    cgroup.mkdir()
                    self._stack.callback(self._remove, each, cgroup)
            for file, value in limits.items():
                # Not write_text(): it would create the file where there is no such limit.
                with open(cgroups / ("juggle-" + name) / file, "r+", encoding="ascii") as limit:
                    limit.write(value)
        except OSError as error:
            pytest.skip("no cgroup limits CPUs here: %s" % error)
        for each in self.names:
            # As it is outside of the hosts, which have their own /sys.
            (self._dir / (each + ".cgroup")).write_text(
                "/proc/%d/root%s\n" % (os.getpid(), cgroups / ("juggle-" + each)))

    def _remove(self, name, cgroup):
        """A cgroup can be removed when nobody is in it any more."""
        self._end_processes(name)

        def removed():
            with contextlib.suppress(OSError):
                cgroup.rmdir()
            return not cgroup.exists()
        helpers.wait_for(removed, "%s is empty" % cgroup)

    # --- running -------------------------------------------------------------------------

    def on(self, name, command):
        """The command line that runs a command on a host."""
        return [str(self._dir / "enter"), name, quoted(command)]

    def command(self, arguments, command, mpi="openmpi"):
        """The command line and the environment of mpirun, with the ranks divided evenly among the
        hosts.

        `arguments` begins with "-n", RANKS; a list of hosts in it ("-H") is kept.
        """
        ranks = int(arguments[arguments.index("-n") + 1])
        if mpi == "mpich" and ranks > mpis.MPICH_TCP_RANKS_MAX:
            pytest.skip(mpis.MPICH_TCP_REASON)
        hosts, launch = [], []
        if "-H" not in arguments and "-hosts" not in arguments:
            slots = math.ceil(ranks / len(self.names))
            hosts = ["-H" if mpi == "openmpi" else "-hosts",
                     ",".join("%s:%d" % (name, slots) for name in self.names)]
        environment = mpis.environment(mpi)
        if mpi == "openmpi":
            for name, value in (("plm_rsh_agent", self._dir / "enter"),
                                ("plm_rsh_no_tree_spawn", "1"),
                                ("btl", "tcp,self"), ("btl_tcp_if_include", DEVICE),
                                ("oob_tcp_if_include", DEVICE)):
                launch += ["--mca", name, value]
        else:
            launch = ["-launcher", "ssh", "-launcher-exec", self._dir / "enter",
                      "-iface", DEVICE]
            # The library sees that it is one machine, and would use shared memory.
            environment.update({"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": DEVICE})
        return self.on(self.names[0], [mpis.launcher(mpi), *launch, *hosts, *arguments,
                                       *command]), environment

    def mpirun(self, arguments, command, mpi="openmpi", env=None, **options):
        """Runs a program across the hosts to its end: see command() and helpers.run()."""
        line, environment = self.command(arguments, command, mpi)
        return mpis.run_patiently(mpi, True, line, env={**environment, **(env or {})}, **options)
