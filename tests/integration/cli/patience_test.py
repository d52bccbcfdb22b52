# SPDX-License-Identifier: Apache-2.0
"""Tests of `gpuprobectl --direct` with a driver that hangs: verbs that can answer without this driver do not wait long for its answer."""
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
# This worker never answers a probe of CUDA.
WORKER = """#!/bin/sh
if [ "$1" = cuda ]; then exec sleep 60; fi
exec {bin}/gpuprobe-worker "$@"
"""


class Patience(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-patience-", dir=BIN.parent)
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.worker = self.home / "worker"
        self.worker.write_text(WORKER.format(bin=BIN), encoding="ascii")
        self.worker.chmod(0o755)

    def select(self, *options):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8"}
        started = time.monotonic()
        done = subprocess.run([str(BIN / "gpuprobectl"), "--direct", f"--worker={self.worker}", *options, "select",
                               "default"], env=environment, capture_output=True, text=True, timeout=60, check=False)
        return time.monotonic() - started, done

    def test_it_answers_without_it_says_so_and_asks_it_no_third_time(self):
        for run in ("first", "second"):
            taken, done = self.select("--patience=2")
            self.assertIn(done.returncode, (0, 3), done.stderr)
            self.assertIn("cuda has not answered yet", done.stderr, run)
            self.assertIn("cuda did not answer within 2 s and is ignored; to wait longer, use --patience=SECONDS", done.stderr, run)
            self.assertGreater(taken, 1.5, run)
        _, done = self.select("--patience=30")
        self.assertNotIn("has not answered yet", done.stderr)

    def test_a_number_that_is_none_is_refused(self):
        for word in ("0", "601", "soon", "-1"):
            _, done = self.select(f"--patience={word}")
            self.assertEqual(done.returncode, 2, word)
            self.assertIn("not a number from 1 to 600", done.stderr)
