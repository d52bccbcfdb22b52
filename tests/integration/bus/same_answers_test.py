# SPDX-License-Identifier: Apache-2.0
"""Tests that gpuprobectl prints the same bytes with a daemon and in direct mode."""
import shlex
import subprocess
import unittest

from bus_case import BIN, GPU, SOURCE, BusCase, without_generation

MACHINES = sorted(file.parent for file in (SOURCE / "tests/data/machines").glob("*/capture.json"))
QUESTIONS = (
    ("select", "default"),
    ("select", "ollama", "--explain"),
    ("select", "llama.cpp", "--backend=rocm", "--strict"),
    ("select", "default", "--only=sycl"),
    ("recommend", "torch"),
)
NAMES = (("apps",), ("apps", "-q"), ("select", "defualt"), ("recommend", "torhc"))


class SameAnswers(BusCase):
    def asked(self, where, *question):
        done = subprocess.run([BIN / "gpuprobectl", where, "-j", *question], env=self.environment(),
                              capture_output=True, text=True, timeout=60)
        return done.returncode, without_generation(done.stdout), done.stderr

    def test_of_what_makes_programs_use_a_gpu(self):
        for name in ("nvidia-h200-1", "nvidia-h200-2"):
            self.start("--replay", str(SOURCE / "tests/data/machines" / name), f"--socket={self.socket}")
            for path in self.gpus():
                with self.subTest(f"{name}: {path}"):
                    gpu = self.property(path, GPU, "Id")
                    done = subprocess.run([BIN / "gpuprobectl", f"--socket={self.socket}", "env", gpu],
                                          env=self.environment(), capture_output=True, text=True, timeout=60)
                    told = dict(word.split("=", 1) for word in shlex.split(done.stdout))
                    self.assertTrue(told["CUDA_VISIBLE_DEVICES"].startswith("GPU-"))
                    self.assertEqual(self.property(path, GPU, "Environment"), told)
            self.terminate()
            self.daemon.stderr.close()

    def test_of_names_and_of_words_that_are_none(self):
        self.start("--replay", str(MACHINES[0]), f"--socket={self.socket}")
        for question in NAMES:
            with self.subTest(" ".join(question)):
                told = self.asked(f"--socket={self.socket}", *question)
                self.assertEqual(told, self.asked(f"--replay={MACHINES[0]}", *question))

    def test_on_recorded_machines(self):
        for machine in MACHINES:
            self.start("--replay", str(machine), f"--socket={self.socket}")
            for question in QUESTIONS:
                with self.subTest(f"{machine.name}: {' '.join(question)}"):
                    told = self.asked(f"--socket={self.socket}", *question)
                    self.assertIn(told[0], (0, 3), told)
                    self.assertEqual(told, self.asked(f"--replay={machine}", *question))
            self.terminate()
            self.daemon.stderr.close()


if __name__ == "__main__":
    unittest.main()
