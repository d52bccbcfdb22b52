# SPDX-License-Identifier: Apache-2.0
"""Shared code for the socket tests: starts a daemon without a bus. The client needs only the standard library."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "bus"))
from bus_case import BIN, DAEMON, DEADLINE, SOURCE, Notify  # noqa: E402

MACHINES = SOURCE / "tests/data/machines"
H200 = MACHINES / "nvidia-h200-1"


class Refused(Exception):
    """An error reply."""

    def __init__(self, reply):
        self.name = reply["error"]
        self.parameters = reply.get("parameters", {})
        super().__init__(f"{self.name}: {self.parameters}")


class Client:
    """A connection to the socket."""

    def __init__(self, path, timeout=DEADLINE):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, method, parameters=None, **flags):
        call = {"method": method if "." in method else "org.gpuprobe." + method, **flags}
        if parameters is not None:
            call["parameters"] = parameters
        self.send_raw(json.dumps(call).encode() + b"\0")

    def send_raw(self, data):
        self.socket.sendall(data)

    def receive_raw(self):
        while b"\0" not in self.buffer:
            block = self.socket.recv(65536)
            if not block:
                raise EOFError
            self.buffer += block
        message, self.buffer = self.buffer.split(b"\0", 1)
        return message.decode()

    def receive(self):
        reply = json.loads(self.receive_raw())
        if "error" in reply:
            raise Refused(reply)
        return reply

    def call(self, method, parameters=None):
        self.send(method, parameters)
        return self.receive()["parameters"]

    def text_of(self, method, parameters=None):
        """Makes a call. Returns the JSON text of the answer, or of the error's parameters, unchanged."""
        self.send(method, parameters)
        text = self.receive_raw()
        return text.split('"parameters":', 1)[1].removesuffix("}")


@unittest.skipUnless(DAEMON.exists(), "gpuprobed is not built")
class SocketCase(unittest.TestCase):
    """Each test has its own folder. start() starts a daemon with a socket in this folder; LAUNCHER is put before the daemon's command line."""

    LAUNCHER = ()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpuprobe-socket-")
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = f"{self.folder}/org.gpuprobe"
        self.notify = Notify(self.folder)
        self.addCleanup(self.notify.close)
        self.daemon = None

    def environment(self):
        return {**os.environ, "NOTIFY_SOCKET": self.notify.path, "HOME": self.folder}

    def start(self, *arguments, machine=H200):
        self.daemon = subprocess.Popen(
            [*self.LAUNCHER, DAEMON, "--bus=none", f"--socket={self.path}", "--no-cache", f"--replay={machine}", *arguments],
            env=self.environment(), stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_daemon)
        self.notify.wait_for("READY=1", self.daemon)

    def end_daemon(self):
        if self.daemon.poll() is None:
            self.daemon.kill()
        self.daemon.wait(DEADLINE)
        self.daemon.stderr.close()

    def client(self, **options):
        client = Client(self.path, **options)
        self.addCleanup(client.socket.close)
        return client

    def call(self, method, parameters=None):
        with Client(self.path) as client:
            return client.call(method, parameters)

    def refused(self, method, parameters=None):
        with self.assertRaises(Refused) as caught:
            self.call(method, parameters)
        return caught.exception

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.pid}/fd"))

    def wait_for_descriptors(self, count):
        late = time.monotonic() + DEADLINE
        while self.descriptors() > count:
            if time.monotonic() > late:
                self.fail(f"{self.descriptors()} descriptors instead of {count}")
            time.sleep(0.01)

    def gpuprobectl(self, *words, **options):
        return subprocess.run([BIN / "gpuprobectl", *words], env=self.environment(), capture_output=True, text=True,
                              timeout=60, check=False, **options)
