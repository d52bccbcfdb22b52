# SPDX-License-Identifier: Apache-2.0
"""gpuprobectl prints the same bytes whether a daemon answers or the machine is asked directly."""
import subprocess
import unittest

from bus_case import BIN, SOURCE, BusCase, without_generation

MACHINES = sorted(file.parent for file in (SOURCE / "tests/data/machines").glob("*/capture.json"))
QUESTIONS = (
    ("select", "default"),
    ("select", "ollama", "--explain"),
    ("select", "llama.cpp", "--backend=rocm", "--strict"),
    ("select", "default", "--only=sycl"),
    ("recommend", "torch"),
)


class SameAnswers(BusCase):
    def asked(self, where, *question):
        done = subprocess.run([BIN / "gpuprobectl", where, "-j", *question], env=self.environment(),
                              capture_output=True, text=True, timeout=60)
        return done.returncode, without_generation(done.stdout), done.stderr

    def test_on_recorded_machines(self):
        for machine in MACHINES:
            self.start("--replay", str(machine))
            for question in QUESTIONS:
                with self.subTest(f"{machine.name}: {' '.join(question)}"):
                    told = self.asked(f"--bus={self.bus.address}", *question)
                    self.assertIn(told[0], (0, 3), told)
                    self.assertEqual(told, self.asked(f"--replay={machine}", *question))
            self.terminate()
            self.daemon.stderr.close()


if __name__ == "__main__":
    unittest.main()
