# SPDX-License-Identifier: Apache-2.0
"""Shared code for the tests of gpuprobectl: runs a fake daemon, runs gpuprobectl with and without a terminal, and compares golden files."""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import unittest

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
DATA = SOURCE / "tests/data/cli"
CTL = str(BIN / "gpuprobectl")


def environment(**more):
    """Returns the environment for gpuprobectl, without the caller's variables. A value of None removes a variable."""
    settings = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "xterm",
        "GPUPROBE_SOCKET": "/nonexistent/socket",
        "GPUPROBE_PAGER": "",
        **more,
    }
    return {name: value for name, value in settings.items() if value is not None}


def without_sudo(text):
    """Removes sudo from the output, because gpuprobectl prints no sudo for root. Joins wrapped lines, because shorter output is wrapped at other
    places."""
    text = re.sub(r"\n {4,}(?=sudo )", " ", text)
    return re.sub(r"\n {6,}(?=\S)", " ", text.replace("sudo ", ""))


def run(*words, **more):
    """Runs gpuprobectl with pipes."""
    return subprocess.run([CTL, *words], env=environment(**more), capture_output=True, text=True, timeout=60, check=False)


def run_in_terminal(columns, *words, program=CTL, **more):
    """Returns the exit code of a program, and its output on a terminal with the given width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen([program, *words], env=environment(**more), stdin=slave, stdout=slave, stderr=slave)
    ended = os.pidfd_open(child.pid)
    output = b""
    # The test keeps the terminal open until it has read everything, because closing the terminal early may lose the last lines.
    while master in select.select([master, ended], [], [])[0] or select.select([master], [], [], 0.02)[0]:
        output += os.read(master, 65536)
    os.close(ended)
    os.close(slave)
    os.close(master)
    return child.wait(), output.decode().replace("\r\n", "\n")


class FakeDaemon:
    """Runs fake_daemon.py, which answers calls with the content of files."""

    def __init__(self, path, *files):
        self.process = subprocess.Popen(
            ["/usr/bin/python3", str(pathlib.Path(__file__).with_name("fake_daemon.py")), *map(str, files)],
            env={**os.environ, "FAKE_SOCKET": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the fake daemon did not start")

    def tell(self, command):
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.process.stdout.close()


class WithDaemon(unittest.TestCase):
    """Base class of tests with a fake daemon. Each subclass has a separate fake daemon, which answers with `report` and `decision`."""

    report = "laptop"
    decision = "laptop"
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-cli-")
        cls.addClassCleanup(folder.cleanup)
        cls.socket = f"{folder.name}/socket"
        cls.fake = FakeDaemon(cls.socket, DATA / f"{cls.report}.report.json", DATA / f"{cls.decision}.decision.json")
        cls.addClassCleanup(cls.fake.stop)

    def ask(self, *words, **more):
        return run("--socket=" + self.socket, *words, **more)

    def show(self, columns, *words, **more):
        return run_in_terminal(columns, "--socket=" + self.socket, *words, **more)

    def document(self, *words):
        done = self.ask("-j", *words)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
        return done.returncode, json.loads(done.stdout)

    def assert_golden(self, name, text):
        path = DATA / "expected" / (name + ".txt")
        is_root = os.geteuid() == 0
        if os.environ.get("UPDATE_GOLDEN"):
            self.assertFalse(is_root, "root sees no sudo: update the golden files as another user")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        wanted = path.read_text(encoding="utf-8")
        self.assertEqual(without_sudo(wanted) if is_root else wanted, without_sudo(text) if is_root else text)
