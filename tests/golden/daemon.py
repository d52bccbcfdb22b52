# SPDX-License-Identifier: Apache-2.0
"""Starts a daemon that replays a recorded machine, and calls it over D-Bus and over the socket.

questions.json contains the calls:
  "socket": [METHOD, PARAMETERS]        calls a method of org.gpuprobe on the socket
  "bus":    [METHOD, ARGUMENTS]         calls a D-Bus method of the Manager; the arguments are in GVariant's text format
  "gpu":    [METHOD, ARGUMENTS]         calls a D-Bus method of each Gpu object
The answers also include the properties of all objects.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("GPUPROBE_BIN", str(SOURCE / "build/test/src"))
os.environ.setdefault("GPUPROBE_SOURCE", str(SOURCE))
sys.path.append(str(SOURCE / "tests/integration/socket"))
from socket_case import DAEMON, Client, Refused  # noqa: E402
from bus_case import DEADLINE, GPU, MANAGER, NAME, PROPERTIES, ROOT, Bus, Gio, GLib, Notify  # noqa: E402

OBJECT_MANAGER = "org.freedesktop.DBus.ObjectManager"


class ReplayingDaemon:
    """A daemon with a bus and a socket in a temporary folder."""

    def __init__(self, machine):
        self.folder = tempfile.TemporaryDirectory()
        self.bus = Bus(self.folder.name)
        self.notify = Notify(self.folder.name)
        self.socket = f"{self.folder.name}/socket"
        self.log = open(f"{self.folder.name}/log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [DAEMON, f"--bus={self.bus.address}", f"--socket={self.socket}", f"--replay={machine}", "--no-cache",
             f"--state-dir={self.folder.name}/state", f"--report-file={self.folder.name}/report.json"],
            cwd=SOURCE, stderr=self.log, env={"HOME": self.folder.name, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                                              "NOTIFY_SOCKET": self.notify.path})

    def __enter__(self):
        late = time.monotonic() + DEADLINE
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > late:
                self.log.seek(0)
                raise RuntimeError(f"the daemon is not ready: {self.log.read()}")
            time.sleep(0.005)
        return self

    def is_ready(self):
        """Returns whether the report is complete. As long as the report is incomplete, the answers depend on the time of the call."""
        try:
            self.connection = self.bus.connect()
            return self.call_bus(ROOT, PROPERTIES, "Get", f"('{MANAGER}', 'State')") == "ready"
        except GLib.Error:
            return False

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(DEADLINE)
        self.bus.stop()
        self.notify.close()
        self.log.close()
        self.folder.cleanup()

    def call_bus(self, path, interface, method, arguments):
        parameters = GLib.Variant.parse(None, arguments, None, None)
        answer = self.connection.call_sync(NAME, path, interface, method, parameters, None, Gio.DBusCallFlags.NONE,
                                           DEADLINE * 1000, None).unpack()
        return answer[0] if len(answer) == 1 else list(answer)

    def bus_answer(self, path, interface, method, arguments):
        try:
            return self.call_bus(path, interface, method, arguments)
        except GLib.Error as error:
            return {"error": Gio.DBusError.get_remote_error(error), "message": error.message}

    def answers(self, questions):
        """Yields (question, answer) for each question on D-Bus and on the socket."""
        with Client(self.socket) as client:
            for method, parameters in questions["socket"]:
                try:
                    answer = client.call(method, parameters)
                except Refused as refusal:
                    answer = {"error": refusal.name, "parameters": refusal.parameters}
                yield f"socket {method} {parameters}", answer
        for method, arguments in questions["bus"]:
            yield f"bus {method} {arguments}", self.bus_answer(ROOT, MANAGER, method, arguments)
        objects = self.bus_answer(ROOT, OBJECT_MANAGER, "GetManagedObjects", "()")
        yield "bus objects", objects
        yield "bus properties", self.bus_answer(ROOT, PROPERTIES, "GetAll", f"('{MANAGER}',)")
        for path in sorted(path for path in objects if GPU in objects[path]):
            for method, arguments in questions["gpu"]:
                yield f"bus {path} {method} {arguments}", self.bus_answer(path, GPU, method, arguments)
