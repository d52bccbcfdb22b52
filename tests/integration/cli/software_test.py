# SPDX-License-Identifier: Apache-2.0
"""Tests without a GPU: the real worker verifies and measures llvmpipe, pocl and the CPU, which gpuprobe does not report as GPUs."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from cli_case import BIN, CTL, environment

NAMES = {"vulkan": "llvmpipe", "opencl": "pocl"}


def ask(home, *words):
    done = subprocess.run([CTL, "--direct", *words], env=environment(HOME=str(home)), capture_output=True, text=True,
                          timeout=110, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


@unittest.skipUnless(os.path.exists(BIN / "gpuprobe-worker"), "gpuprobe-worker is not built")
class SoftwareComputes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.home = pathlib.Path(folder.name)
        report = ask(cls.home, "describe", "-j")
        if report["gpus"]:
            raise unittest.SkipTest("this machine has a GPU, and tests do not use real GPUs")
        cls.missing = [name for api, name in NAMES.items()
                       if not any(each["api"] == api and name in (each["name"] or "") for each in report["software"])]
        if cls.missing:
            raise unittest.SkipTest(f"not installed: {', '.join(cls.missing)}")
        cls.rows = ask(cls.home, "bench", "-j")["results"]
        cls.choice = ask(cls.home, "select", "-j", "measured")

    def row(self, backend):
        return next(row for row in self.rows if row["backend"] == backend)

    def test_each_is_verified_and_measured(self):
        for backend in (*NAMES, "cpu"):
            with self.subTest(backend):
                row = self.row(backend)
                self.assertEqual(row["verification"]["result"], "verified", row)
                self.assertGreater(row["verification"]["words"], 0)
                self.assertEqual(row["measurement"]["outcome"], "answered", row)
                for figure in ("memory_read", "memory_copy", "fp32"):
                    self.assertGreater(row["measurement"][figure], 0)
                self.assertGreater(row["score"], 0)

    def test_each_is_labelled_as_what_it_is(self):
        self.assertEqual([self.row(backend)["kind"] for backend in (*NAMES, "cpu")], ["software", "software", "cpu"])
        self.assertTrue(all(row["gpu"] is None for row in self.rows))
        self.assertEqual(ask(self.home, "describe", "-j")["gpus"], [])

    def test_the_processor_is_chosen_over_both_and_that_is_explained(self):
        self.assertEqual(self.choice["backend"], "cpu")
        best = self.row("cpu")["score"]
        for backend in NAMES:
            with self.subTest(backend):
                candidate = next(each for each in self.choice["candidates"] if each["backend"] == backend)
                reasons = {reason["code"]: reason["detail"] for reason in candidate["reasons"]}
                self.assertEqual(candidate["verdict"], "rejected")
                self.assertIn("software-rasterizer", reasons)
                score = self.row(backend)["score"]
                self.assertEqual("slower-than-cpu" in reasons, score < 0.95 * best)
                if "slower-than-cpu" in reasons:
                    self.assertEqual(reasons["slower-than-cpu"], {"score": score, "cpu_score": best})


if __name__ == "__main__":
    unittest.main()
