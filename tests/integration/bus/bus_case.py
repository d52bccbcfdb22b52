# SPDX-License-Identifier: Apache-2.0
"""Shared code for the bus tests: starts a private bus, starts a daemon on this bus, and makes captured machines."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib  # noqa: E402

NAME = "org.gpuprobe.GpuProbe1"
ROOT = "/org/gpuprobe/GpuProbe1"
MANAGER = NAME + ".Manager"
GPU = NAME + ".Gpu"
LOG_CONTROL = "org.freedesktop.LogControl1"
PROPERTIES = "org.freedesktop.DBus.Properties"

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
DAEMON = BIN / "gpuprobed"
DEADLINE = 10  # seconds; every call normally takes less than one second

# The settings of a session bus: /usr/share/dbus-1/session.conf.
OPEN_POLICY = """
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>"""
# The settings of a system bus: /usr/share/dbus-1/system.conf.
SYSTEM_POLICY = """
  <policy context="default">
    <allow user="*"/>
    <deny own="*"/>
    <deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
  </policy>"""


def without_generation(document):
    """Sets the generation in a JSON document to 0, because the generation grows while a daemon runs."""
    return re.sub(r'"generation":\s*\d+', '"generation":0', document)


class Bus:
    """A dbus-daemon that only one test uses."""

    def __init__(self, folder, policy=OPEN_POLICY, includes=()):
        self.address = f"unix:path={folder}/bus"
        self.config = pathlib.Path(folder) / "bus.conf"
        self.config.write_text(
            '<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"\n'
            ' "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">\n'
            f"<busconfig>\n  <listen>{self.address}</listen>\n  <auth>EXTERNAL</auth>"
            + policy
            + "".join(f"\n  <include>{path}</include>" for path in includes)
            + '\n  <limit name="max_replies_per_connection">5000</limit>\n</busconfig>\n'
        )
        self.path = pathlib.Path(folder) / "bus"
        self.process = None
        self.start()

    def start(self):
        self.path.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self.config}", "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.process.stdout.readline()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def connect(self):
        flags = (
            Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
            | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        )
        return Gio.DBusConnection.new_for_address_sync(self.address, flags, None, None)


class Notify:
    """The socket on which a service reports its state to systemd."""

    def __init__(self, folder):
        self.path = f"{folder}/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.bind(self.path)
        self.socket.settimeout(0.1)

    def wait_for(self, word, sender):
        """Waits until the sender reports `word`. If the sender ends or takes too long, raises AssertionError with the sender's standard error."""
        late = time.monotonic() + DEADLINE
        while time.monotonic() < late:
            ended = sender.poll() is not None
            try:
                if word in self.socket.recv(4096).decode().split("\n"):
                    return
            except TimeoutError:
                if ended:
                    break
        sender.kill()
        raise AssertionError(f"no {word}: {sender.wait()}: {sender.stderr.read()}")

    def close(self):
        self.socket.close()


class Capture:
    """A captured machine without GPUs; tests add PCI GPUs."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.write("capture.json", json.dumps({"schema": 1, "host": {}}))
        (self.folder / "root/sys/bus/pci/devices").mkdir(parents=True)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def add_gpu(self, address, driver="amdgpu", vendor="0x1002", status="active"):
        device = f"root/sys/devices/pci0000:00/{address}"
        files = {"vendor": vendor, "device": "0x73bf", "class": "0x030000", "revision": "0x00"}
        for name, text in {**files, "power/runtime_status": status}.items():
            self.write(f"{device}/{name}", text + "\n")
        (self.folder / f"root/sys/bus/pci/devices/{address}").symlink_to(
            f"../../../devices/pci0000:00/{address}"
        )
        self.write(f"root/sys/bus/pci/drivers/{driver}/.keep", "")
        (self.folder / device / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")

    def add_probe(self, api, **answer):
        self.write(f"probes/{api}.json", json.dumps({"outcome": "answered", "note": None, **answer}))


class Failure(Exception):
    """An error reply."""

    def __init__(self, error):
        self.name = Gio.DBusError.get_remote_error(error) or error.message
        Gio.DBusError.strip_remote_error(error)
        self.message = error.message
        super().__init__(f"{self.name}: {self.message}")


@unittest.skipUnless(DAEMON.exists(), "gpuprobed is not built")
class BusCase(unittest.TestCase):
    """Base class of tests that each have a separate folder and a separate bus; start() starts a daemon on this bus."""

    POLICY = OPEN_POLICY
    INCLUDES = ()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpuprobe-bus-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.bus = Bus(self.folder, self.POLICY, self.INCLUDES)
        self.addCleanup(self.bus.stop)
        self.socket = f"{self.folder}/org.gpuprobe"  # the daemon's socket, which gpuprobectl uses
        self.notify = Notify(self.folder)
        self.addCleanup(self.notify.close)
        self.daemon = None

    def environment(self):
        return {**os.environ, "NOTIFY_SOCKET": self.notify.path, "HOME": self.folder}

    def command(self, *arguments):
        return [str(DAEMON), f"--bus={self.bus.address}", "--no-cache", *arguments]

    def start(self, *arguments):
        self.daemon = subprocess.Popen(
            self.command(*arguments),
            env=self.environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.end_daemon)
        self.notify.wait_for("READY=1", self.daemon)
        self.connection = self.bus.connect()

    def start_on(self, capture, *arguments):
        self.start("--replay", str(capture.folder), *arguments)

    def end_daemon(self):
        if self.daemon.poll() is None:
            self.daemon.kill()
        self.daemon.wait(DEADLINE)
        self.daemon.stderr.close()

    def capture(self):
        return Capture(f"{self.folder}/machine")

    def call_raw(self, path, interface, method, parameters=None, connection=None):
        try:
            return (connection or self.connection).call_sync(
                NAME, path, interface, method, parameters, None,
                Gio.DBusCallFlags.NONE, DEADLINE * 1000, None,
            )
        except GLib.Error as error:
            raise Failure(error) from None

    def call(self, path, interface, method, parameters=None):
        answer = self.call_raw(path, interface, method, parameters).unpack()
        return answer[0] if len(answer) == 1 else answer

    def manager(self, method, parameters=None):
        return self.call(ROOT, MANAGER, method, parameters)

    def property(self, path, interface, name):
        return self.call(path, PROPERTIES, "Get", GLib.Variant("(ss)", (interface, name)))

    def select(self, request=None, application="default"):
        return self.manager("SelectBackend", GLib.Variant("(sa{sv})", (application, request or {})))

    def explain(self, request=None, application="default"):
        """Like select(), but returns an answer with every candidate, even if no candidate matches."""
        return self.select({**(request or {}), "explain": GLib.Variant("b", True)}, application)

    def gpus(self):
        return self.manager("ListGpus", GLib.Variant("(a{sv})", ({},)))

    def assert_refused(self, name, call, *arguments):
        with self.assertRaises(Failure) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.name, name, str(caught.exception))
        return caught.exception.message

    def assert_same_daemon(self):
        self.call(ROOT, "org.freedesktop.DBus.Peer", "Ping")
        self.assertIsNone(self.daemon.poll(), "the daemon has ended")

    def signals(self, interface, member, connection=None):
        """Returns a list to which the tuple (path, arguments) of each later signal is appended."""
        seen = []
        (connection or self.connection).signal_subscribe(
            NAME, interface, member, None, None, Gio.DBusSignalFlags.NONE,
            lambda _bus, _from, path, _interface, _member, arguments: seen.append((path, arguments.unpack())),
        )
        # Wait until a later call is answered, because the subscription is active when that call is answered.
        self.ping(connection)
        return seen

    def ping(self, connection=None):
        """Returns when the daemon has read all earlier calls of the connection."""
        self.call_raw(ROOT, "org.freedesktop.DBus.Peer", "Ping", None, connection)

    def wait_until(self, done, what):
        """Runs the main loop until `done()` is true."""
        context = GLib.MainContext.default()
        late = []
        timer = GLib.timeout_add_seconds(DEADLINE, lambda: late.append(True) or False)
        # Wake up every 10 ms, because some conditions change without an event in the main loop.
        tick = GLib.timeout_add(10, lambda: True)
        while not done() and not late:
            context.iteration(True)
        GLib.source_remove(tick)
        if late:
            self.fail(f"not within {DEADLINE} s: {what}")
        GLib.source_remove(timer)

    def terminate(self):
        started = time.monotonic()
        self.daemon.send_signal(signal.SIGTERM)
        code = self.daemon.wait(DEADLINE)
        return code, time.monotonic() - started
