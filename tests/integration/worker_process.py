# SPDX-License-Identifier: Apache-2.0
"""Runs gpuprobe-worker without a daemon, and reads its frames (src/probe/worker_answer.h)."""
import json
import os
import struct
import subprocess
import tempfile

BIN = os.path.abspath(os.environ.get("GPUPROBE_BIN", "build/test/src"))
# The members of a device that later frames do not change.
NAMED = {"index", "name", "vendor_id", "device_id", "pci", "uuid", "drm", "type", "memory"}
KINDS = {1: "phase", 2: "runtime", 3: "device", 4: "done", 5: "confined", 6: "known"}


class Frames:
    def __init__(self, data, status):
        self.status = status
        self.phases, self.runtime, self.devices, self.done = [], {}, [], None
        self.is_known = False
        while len(data) >= 8:
            length, kind = struct.unpack_from("<II", data)
            payload, data = data[8 : 8 + length], data[8 + length :]
            self._add(KINDS[kind], payload)

    def _add(self, kind, payload):
        # These kinds of frames end with the CRC-32 of all earlier bytes.
        facts = json.loads(payload[:-4] if kind in ("done", "known") else payload)
        if kind == "phase":
            self.phases.append(facts["name"])
        elif kind == "runtime":
            self.runtime.update(facts)
        elif kind == "device" and self.is_known:
            told = next(device for device in self.devices if device["index"] == facts["index"])
            told.update({key: value for key, value in facts.items() if key not in NAMED})
        elif kind == "device":
            self.devices.append(facts)
        elif kind == "known":
            self.is_known = True
        elif kind == "confined":
            self.confinement = facts["by"]
        else:
            self.done = facts


def run_worker(api, *options, library_path=None, timeout=20, variables=None):
    """Runs a worker that writes its frames to descriptor 3, as the supervisor does. Returns the frames."""
    reader, writer = os.pipe()
    folder = tempfile.TemporaryDirectory()
    environment = {"PATH": "/usr/bin:/bin", "HOME": folder.name, "TMPDIR": folder.name, "LANG": "C.UTF-8"}
    if library_path:
        environment["LD_LIBRARY_PATH"] = library_path
    environment.update(variables or {})
    # The shell moves the pipe to descriptor 3, because subprocess cannot change the number of a descriptor.
    command = ["/bin/sh", "-c", f'exec "$@" 3>&{writer}', "sh", f"{BIN}/gpuprobe-worker", api, *options]
    process = subprocess.Popen(
        command, cwd=folder.name, pass_fds=[writer], env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader, "rb") as frames:
        data = frames.read()
    with folder:
        return Frames(data, process.wait(timeout))
