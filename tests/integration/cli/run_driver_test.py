# SPDX-License-Identifier: Apache-2.0
"""Tests of `run` with a program that runs computations through a Vulkan driver. The driver works, crashes when the program submits work, or returns
an error.

A fake Vulkan driver reports the GPU (tests/runtimes/gpus.py). The program is gpuprobe-worker, which loads the driver that the chosen environment
names, and checks the result of a test computation.
"""
import json
import pathlib
import sys
import tempfile
import unittest

from cli_case import BIN, SOURCE

sys.path.insert(0, str(SOURCE / "tests/runtimes"))
import gpus
from gpus import DISCRETE, GIB, gpu

CARD = gpu("RTX 4090", "NVIDIA GeForce RTX 4090", 0x10de, 0x2684, DISCRETE, "1:0", memory=24 * GIB)
VICTIM = "vulkan on NVIDIA GeForce RTX 4090"
# Computes on the visible device, or prints "CPU" if no device is visible. Mesa's cache is disabled, because the worker is not
# allowed to create a folder for the cache, and Mesa would print an error.
PROGRAM = """export MESA_SHADER_CACHE_DISABLE=true; test -n "${GGML_VK_VISIBLE_DEVICES-x}" || { echo CPU; exit 0; }
exec "$0" vulkan --stage verify --device index:"${GGML_VK_VISIBLE_DEVICES:-0}" --driver "$VK_DRIVER_FILES" 3>"$1"
"""


@unittest.skipUnless(gpus.LAVAPIPE.exists(), "lavapipe is not installed")
class ThroughADriver(unittest.TestCase):
    def machine(self, **fail):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        machine = self.enterContext(gpus.Machine(folder.name, {"nvidia": [CARD]}, **fail))
        self.assertEqual(self.chosen(machine), "vulkan")
        return machine

    def enterContext(self, context):  # built in since Python 3.11
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def chosen(self, machine):
        return machine.ask("select", "llama.cpp", "--built=vulkan,cpu", "-q").stdout.strip()

    def run_on(self, machine, *words):
        """Returns the finished process of `run`, the GPUs that computed, and whether the program verified the result of its computation."""
        frames = machine.folder / "frames"
        frames.unlink(missing_ok=True)
        command = [BIN / "gpuprobectl", f"--socket={machine.folder}/socket", "run", "llama.cpp", "--built=vulkan,cpu", *words, "--",
                   "/bin/sh", "-c", PROGRAM, BIN / "gpuprobe-worker", frames]
        done, _, computed = machine.run(command)
        said = frames.read_bytes() if frames.exists() else b""
        return done, computed, b'"result":"verified"' in said.replace(b" ", b"")

    def test_one_that_computes(self):
        machine = self.machine()
        done, computed, is_right = self.run_on(machine, "--fallback")
        self.assertEqual((done.returncode, computed, is_right), (0, {"RTX 4090"}, True), done.stderr)
        # The fake driver computes on the CPU, so `run` detects no GPU in use and reports that no GPU was used.
        self.assertEqual(done.stderr, "gpuprobectl: used no GPU, although vulkan was chosen\n")
        self.assertEqual(self.chosen(machine), "vulkan")

    def test_one_that_crashes_when_work_is_submitted(self):
        machine = self.machine(vkQueueSubmit="crash")
        done, _, is_right = self.run_on(machine)
        self.assertEqual((done.returncode, is_right), (-11, False))
        self.assertIn("used no GPU, although vulkan was chosen", done.stderr)

        done, computed, is_right = self.run_on(machine, "--fallback")
        self.assertEqual((done.returncode, done.stdout, computed, is_right), (0, "CPU\n", set(), False), done.stderr)
        first, *rest = done.stderr.splitlines()
        self.assertRegex(first, rf"^gpuprobectl: {VICTIM} was ended by SIGSEGV after \d+(\.\d)? m?s; trying cpu$")
        self.assertEqual(rest, ["gpuprobectl: used no GPU, as chosen"])

    def test_a_crash_that_the_cpu_does_not_have_is_remembered(self):
        machine = self.machine(vkQueueSubmit="crash")
        done, _, _ = self.run_on(machine, "--fallback", "-j")
        attempts = json.loads(done.stderr)["attempts"]
        self.assertEqual([(each["backend"], each["signal"], each["failed"], each["reported"]) for each in attempts],
                         [("vulkan", "SIGSEGV", True, "failed"), ("cpu", None, False, None)])
        # `run` looks for loaded libraries at intervals, so the program may have crashed before `run` looked for the first time.
        self.assertIn(attempts[0]["loaded"], ([], ["vulkan"]))
        self.assertEqual(self.chosen(machine), "cpu")

    def test_one_that_refuses(self):
        """If a program exits by itself with a status that llama.cpp's data file does not list, no other candidate is tried."""
        machine = self.machine(vkQueueSubmit=-4)  # VK_ERROR_DEVICE_LOST
        done, computed, is_right = self.run_on(machine, "--fallback", "-j")
        attempts = json.loads(done.stderr)["attempts"]
        self.assertEqual((len(attempts), attempts[0]["signal"], computed, is_right), (1, None, set(), False))
        self.assertEqual(self.chosen(machine), "vulkan")


if __name__ == "__main__":
    unittest.main()
