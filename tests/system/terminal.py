# SPDX-License-Identifier: MIT
"""A pseudo-terminal and the session on it."""

import contextlib
import fcntl
import os
import pty
import select
import subprocess
import termios
import time

import helpers


class Terminal:
    """A process that leads a session on a pseudo-terminal of its own."""

    def __init__(self, command, env=None):
        self.fd, slave = pty.openpty()
        self.text = ""

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=slave, stdout=slave, stderr=slave,
            preexec_fn=take_terminal, env=dict(os.environ, PS1="", ENV="", **(env or {})))
        os.close(slave)

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, text):
        """Waits until the output contains text, and drops everything up to its end."""
        deadline = time.monotonic() + helpers.TIMEOUT_S
        while text not in self.text:
            left = deadline - time.monotonic()
            assert left > 0, "%r does not show in %r" % (text, self.text)
            if not select.select([self.fd], [], [], left)[0]:
                continue
            with contextlib.suppress(OSError):  # EIO: all have closed the other end
                data = os.read(self.fd, 4096)
                self.text += data.decode(errors="replace")
                continue
            assert text in self.text, "%r does not show in %r" % (text, self.text)
        self.text = self.text.partition(text)[2]

    def rest(self):
        """The output until all have closed the terminal."""
        deadline = time.monotonic() + helpers.TIMEOUT_S
        with contextlib.suppress(OSError):
            while select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
                data = os.read(self.fd, 4096)
                if not data:
                    break
                self.text += data.decode(errors="replace")
        return self.text

    def hang_up(self):
        os.close(self.fd)
        self.fd = -1

    def close(self):
        helpers.kill_session(self.process)
        if self.fd >= 0:
            os.close(self.fd)
        self.process.wait(timeout=helpers.TIMEOUT_S)
