# SPDX-License-Identifier: Apache-2.0
"""Shared code for the tests that run tools/torture for a short time."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
TORTURE = SOURCE / "tools/torture"
sys.path.insert(0, str(SOURCE / "tests/torture"))


@unittest.skipUnless((BIN / "gpuprobed").exists(), "gpuprobed is not built")
class TortureCase(unittest.TestCase):
    def survives(self, *arguments):
        """Runs tools/torture and checks that the torture test finds no fault. Returns the figures of the last torture test in this run."""
        done = subprocess.run([TORTURE, f"--bin={BIN.parent}", "--json", *arguments], stdout=subprocess.PIPE,
                              timeout=110, text=True, check=False)
        shown = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((done.returncode, shown["wrong"], shown["grown"], shown["deaths"]), (0, [], [], 0), shown)
        return shown
