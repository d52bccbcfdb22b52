# SPDX-License-Identifier: Apache-2.0
"""What the tests of gpuprobectl share: a private bus with a fake daemon, runs with and without a terminal, golden files."""
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import termios
import unittest

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
DATA = SOURCE / "tests/data/cli"
CTL = str(BIN / "gpuprobectl")
NOWHERE = "unix:path=/nonexistent/bus"


def environment(**more):
    """Nothing of the caller's settings but what the program needs. None leaves a variable out."""
    settings = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "xterm",
        "DBUS_SYSTEM_BUS_ADDRESS": NOWHERE,
        "DBUS_SESSION_BUS_ADDRESS": NOWHERE,
        "GPUPROBE_SOCKET": "/nonexistent/socket",
        "GPUPROBE_PAGER": "",
        **more,
    }
    return {name: value for name, value in settings.items() if value is not None}


def without_sudo(text):
    """As root is told it, whose lines are shorter and end elsewhere."""
    return re.sub(r"\n {6,}(?=\S)", " ", text.replace("sudo ", ""))


def run(*words, **more):
    """The program with pipes."""
    return subprocess.run([CTL, *words], env=environment(**more), capture_output=True, text=True, timeout=60, check=False)


def run_in_terminal(columns, *words, program=CTL, **more):
    """Exit code and what a terminal of that width receives."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen([program, *words], env=environment(**more), stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    output = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        if not block:
            break
        output += block
    os.close(master)
    return child.wait(timeout=60), output.decode().replace("\r\n", "\n")


class Bus:
    """A private bus; daemons are started on it by the tests."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gpuprobe-cli-")
        config = pathlib.Path(self.folder.name) / "bus.conf"
        config.write_text(
            '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" '
            '"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd"><busconfig><type>session</type>'
            f"<listen>unix:path={self.folder.name}/bus</listen><servicedir>{self.folder.name}</servicedir>"
            '<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>',
            encoding="utf-8",
        )
        self.daemon = subprocess.Popen(
            ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self.daemon.stdout.readline().strip()

    def starts(self, command):
        """From now on the bus starts the daemon by this command, as /usr/share/dbus-1/system-services would."""
        service = f"[D-BUS Service]\nName=org.gpuprobe.GpuProbe1\nExec={command}\n"
        pathlib.Path(self.folder.name, "org.gpuprobe.GpuProbe1.service").write_text(service, encoding="utf-8")
        reload = [f"--address={self.address}", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus"]
        subprocess.run(["busctl", *reload, "org.freedesktop.DBus", "ReloadConfig"], check=True)

    def start_fake(self, *files):
        fake = subprocess.Popen(
            ["/usr/bin/python3", str(pathlib.Path(__file__).with_name("fake_daemon.py")), *map(str, files)],
            env={**os.environ, "FAKE_BUS": self.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if fake.stdout.readline() != "ready\n":
            raise RuntimeError("the fake daemon did not start")
        return fake

    def close(self):
        self.daemon.terminate()
        self.daemon.wait()
        self.daemon.stdout.close()
        self.folder.cleanup()


class WithDaemon(unittest.TestCase):
    """Each class has one fake daemon with these answers."""

    report = "laptop"
    decision = "laptop"
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.bus = Bus()
        cls.addClassCleanup(cls.bus.close)
        cls.fake = cls.bus.start_fake(DATA / f"{cls.report}.report.json", DATA / f"{cls.decision}.decision.json")
        cls.addClassCleanup(cls.stop_fake)

    @classmethod
    def stop_fake(cls):
        cls.fake.stdin.close()
        cls.fake.wait(timeout=10)
        cls.fake.stdout.close()

    def ask(self, *words, **more):
        return run("--bus=" + self.bus.address, *words, **more)

    def show(self, columns, *words, **more):
        return run_in_terminal(columns, "--bus=" + self.bus.address, *words, **more)

    def document(self, *words):
        done = self.ask("-j", *words)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
        return done.returncode, json.loads(done.stdout)

    def assert_golden(self, name, text):
        path = DATA / "expected" / (name + ".txt")
        is_root = os.geteuid() == 0
        if os.environ.get("UPDATE_GOLDEN"):
            self.assertFalse(is_root, "root is told no sudo: update as another user")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        wanted = path.read_text(encoding="utf-8")
        self.assertEqual(without_sudo(wanted) if is_root else wanted, without_sudo(text) if is_root else text)
