# SPDX-License-Identifier: Apache-2.0
"""Tests the option --assume with captures in which a fact is missing."""
import json
import unittest

from cli_case import SOURCE, run

MACHINES = SOURCE / "tests/data/machines"
H200 = MACHINES / "nvidia-h200-1"


class Assume(unittest.TestCase):
    """Tests with a capture in which the version of the C library is missing, as in many bug reports."""

    def ask(self, *words):
        return run(f"--replay={MACHINES / 'lact-amd-rx7900xtx'}", *words)

    def test_an_assumption_is_repeated_in_the_answer(self):
        answer = json.loads(self.ask("-j", "recommend", "torch", "--assume=platform=linux-amd64", "--assume=glibc=2.39").stdout)
        self.assertEqual(answer["assumed"], {"glibc": "2.39", "platform": "linux-amd64"})
        self.assertEqual(answer["platform"], "linux-x86_64")
        self.assertIsNotNone(answer["variant"])
        answer = json.loads(self.ask("-j", "select", "torch", "--assume=glibc=2.39").stdout)
        self.assertEqual(answer.get("assumed") or answer["error"].get("assumed"), {"glibc": "2.39"})

    def test_a_contradiction_is_an_error(self):
        done = run(f"--replay={H200}", "recommend", "torch", "--assume=glibc=2.5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("assume: glibc=2.5: this machine has", done.stderr)
        self.assertEqual(run(f"--replay={H200}", "select", "--assume=glib=2.39").returncode, 2)

    def test_without_assumptions_it_is_empty(self):
        self.assertEqual(json.loads(run(f"--replay={H200}", "-j", "select").stdout)["assumed"], {})


if __name__ == "__main__":
    unittest.main()
