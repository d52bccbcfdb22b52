# SPDX-License-Identifier: Apache-2.0
"""Tests that a sandboxed worker measures with NVML how much memory a CUDA context needs, and that the report and plan contain the result."""
import json
import os
import pathlib
import subprocess

from fault_case import BIN, FaultCase

CARD = "pci:0000:c1:00.0"
MIB = 1 << 20
MODEL = pathlib.Path(os.environ["GPUPROBE_SOURCE"]) / "tests/data/models/llama-3.1-8b.header.gguf"


class ContextsOfADaemon(FaultCase):
    def command(self, *arguments):
        return super().command(f"--socket={self.socket}", *arguments)

    def ctl(self, *words):
        done = subprocess.run([BIN / "gpuprobectl", f"--socket={self.socket}", *words], capture_output=True, text=True,
                              timeout=60, check=True)
        return done.stdout

    def gpu(self):
        return next(gpu for gpu in json.loads(self.ctl("describe", "-j"))["gpus"] if gpu["id"] == CARD)

    def measured(self):
        self.ctl("probe", "--stage=measure", "--api=cuda", "--force", CARD)
        measurement = self.gpu()["backends"]["cuda"]["measurement"]
        self.assertEqual((measurement["outcome"], measurement["reasons"]), ("answered", []))
        return measurement["context"]

    def counted(self):
        plan = json.loads(self.ctl("plan", "-j", "--beginning", f"--gguf={MODEL}", f"--gpu={CARD}"))
        return plan["gpus"][0]["overhead"] / MIB

    def test_is_in_the_report_and_counted(self):
        self.start_healthy()
        self.assertIsNone(self.gpu()["backends"]["cuda"]["measurement"])
        self.assertEqual(self.measured(), 523 * MIB)
        self.assertEqual(self.counted(), 523 + 7)

    def test_is_measured_although_somebody_has_just_left(self):
        # The driver frees the memory of a process only a moment after the process has ended. Here, two workers have just ended: the worker of the
        # previous API, and the NVML worker that reported the used memory.
        self.start_healthy()
        self.set_fault("cuda", "another-leaves")
        self.assertEqual(self.measured(), 523 * MIB)
