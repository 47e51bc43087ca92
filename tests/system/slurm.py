# SPDX-License-Identifier: MIT
"""A Slurm of the tests' own: munged, slurmctld, and a slurmd on each of several "hosts" (see hosts.py).

    with slurm.Cluster("optional /path/juggle.so") as cluster:
        done = cluster.run(["srun", "hostname"])

It has its own key, sockets, network and folders: nothing of it can be seen, or clash, outside, and all
of it ends with the tests.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import helpers
import hosts

DAEMONS = ("munged", "slurmctld", "slurmd", "slurmstepd")
FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin")
USER = helpers.NOBODY

CONFIGURATION = """ClusterName=juggle
SlurmctldHost={first}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge/socket
CredType=cred/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/%n.pid
PlugStackConfig={dir}/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
{more}
NodeName={names} CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES:8
"""


def daemon(name):
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *FOLDERS]))


def reason_to_skip():
    """Why there can be no Slurm here; None if there can."""
    if os.geteuid() != 0:
        return "needs root, for namespaces and Slurm's daemons"
    for name in (*DAEMONS, "srun", "scancel"):
        if not daemon(name):
            return "%s is not installed (Debian: slurmctld, slurmd, slurm-client, munge)" % name
    return None


class Cluster:
    """Slurm on `count` hosts that share the machine's CPUs."""

    def __init__(self, plugstack, count=1, more=""):
        self.hosts = hosts.Hosts(count)
        self._plugstack = plugstack
        self._more = more
        self._daemons = []
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        reason = reason_to_skip()
        if reason:
            pytest.skip(reason)
        with contextlib.ExitStack() as stack:
            self.dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm.")))
            stack.enter_context(self.hosts)
            stack.callback(self._end)
            self._configure()
            self._start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception):
        self._stack.close()

    @property
    def names(self):
        return self.hosts.names

    def _configure(self):
        self.dir.chmod(0o755)
        for name in ("state", *self.names):
            (self.dir / name).mkdir()
        key = self.dir / "munge"
        key.mkdir()  # which has to be root's, and writable by nobody else
        key.chmod(0o755)
        (key / "key").write_bytes(os.urandom(128))
        (key / "key").chmod(0o600)
        (self.dir / "plugstack.conf").write_text(self._plugstack + "\n")
        # Named, since a host has no control groups to find out; nothing here uses them.
        (self.dir / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.configuration = self.dir / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            dir=self.dir, first=self.names[0], names=",".join(self.names),
            cpus=os.cpu_count(), more=self._more))

    def _start(self):
        munge = self.dir / "munge"
        self._daemon(self.names[0], "munged", "--foreground", "--force", *(
            "--%s=%s" % (name, munge / file) for name, file in (
                ("socket", "socket"), ("key-file", "key"), ("pid-file", "pid"), ("seed-file", "seed"),
                ("log-file", "log"))))
        helpers.wait_for((munge / "socket").exists, "munged listens", self._daemons[0])
        self._daemon(self.names[0], "slurmctld", "-D", "-i", "-f", self.configuration)
        for name in self.names:
            self._daemon(name, "slurmd", "-D", "-f", self.configuration)
        helpers.wait_for(self._idle, "all nodes are idle", self._daemons[1], interval_s=0.1)

    def _daemon(self, host, name, *arguments):
        with open(self.dir / ("%s.%s.log" % (name, host)), "wb") as log:
            self._daemons.append(helpers.start(
                self.hosts.on(host, [daemon(name), *arguments]), env=self.environment, stdout=log, stderr=log))

    def _idle(self):
        done = self.run(["sinfo", "--noheader", "--Node", "--format=%T"], user=0)
        return done.stdout.split() == ["idle"] * len(self.names)

    def _end(self):
        for process in reversed(self._daemons):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            helpers.kill_session(process)
            process.wait(timeout=helpers.TIMEOUT_S)

    # --- running -------------------------------------------------------------------------

    @property
    def environment(self):
        return {"SLURM_CONF": str(self.configuration)}

    def command(self, command, user=USER):
        """The command line that runs a command on the first host."""
        return self.hosts.on(self.names[0], helpers.as_user(command, user) if user else command)

    def run(self, command, user=USER, env=None, **options):
        options.setdefault("cwd", "/")
        return helpers.run(self.command(command, user), env={**self.environment, **(env or {})}, **options)

    def start(self, command, background, user=USER, env=None, **options):
        """The same without waiting for its end; `background` is the fixture."""
        options.setdefault("cwd", "/")
        return background(self.command(command, user), env={**self.environment, **(env or {})}, **options)
