# SPDX-License-Identifier: Apache-2.0
"""Shared code for the tests with real orchestrators: returns exports of known machines, and the reason why a test is skipped."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def golden(name):
    """Returns the expected export of a machine with an H200 and the integrated GPU of an AMD processor (tests/unit/export)."""
    return (SOURCE / f"tests/data/fleet/{name}.txt").read_text(encoding="utf-8")


def missing(*programs):
    """Returns the reason why an orchestrator cannot be tested on the test machine, or an empty string if it can be tested."""
    for program in programs:
        if not shutil.which(program, path=PATH):
            return f"{program} is not installed: tools/install-dependencies --engines"
    return ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class FleetCase(unittest.TestCase):
    machine = SOURCE / "tests/data/machines/nvidia-h200-1"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuprobe-fleet-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_command(self, *words, check=True, **more):
        environment = {"PATH": PATH, "HOME": str(self.folder), "LANG": "C.UTF-8", **more.pop("environment", {})}
        return subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True,
                              timeout=60, check=check, **more)

    def ctl(self, *words, **more):
        return self.run_command(BIN / "gpuprobectl", f"--replay={self.machine}", *words, **more)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
