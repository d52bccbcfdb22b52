# SPDX-License-Identifier: Apache-2.0
"""Tests that gpuprobectl can show every captured machine, and that the table of messages contains all reasons of these machines."""
import json
import re
import unittest

from cli_case import SOURCE, run, run_in_terminal

MACHINES = sorted(path.parent for path in (SOURCE / "tests/data/machines").glob("*/capture.json"))


def worded():
    text = (SOURCE / "src/explain/wording_table.h").read_text(encoding="utf-8")
    return set(re.findall(r'^    \{"([a-z0-9-]+)",', text, re.M))


def codes_in(document):
    if isinstance(document, dict):
        if isinstance(document.get("code"), str) and "detail" in document:
            yield document["code"]
        for value in document.values():
            yield from codes_in(value)
    elif isinstance(document, list):
        for value in document:
            yield from codes_in(value)


class CapturedMachines(unittest.TestCase):
    def setUp(self):
        if not MACHINES:
            self.skipTest("there are no captures")

    def test_each_can_be_shown_and_has_words_for_its_reasons(self):
        known = worded()
        for machine in MACHINES:
            with self.subTest(machine=machine.name):
                shown = run(f"--replay={machine}", "status")
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                report = json.loads(run(f"--replay={machine}", "-j", "describe").stdout)
                self.assertEqual(set(codes_in(report)) - known, set())
                for index in range(len(report["gpus"])):
                    self.assertEqual(run(f"--replay={machine}", "show", "--all", str(index)).returncode, 0)

    def test_each_gets_a_decision(self):
        for machine in MACHINES:
            with self.subTest(machine=machine.name):
                done = run(f"--replay={machine}", "-j", "select", "--strict")
                self.assertIn(done.returncode, (0, 3))
                json.loads(done.stdout)

    def test_the_default_gpu_is_the_first(self):
        seen = 0
        for machine in MACHINES:
            with self.subTest(machine=machine.name):
                chosen = json.loads(run(f"--replay={machine}", "-j", "select").stdout)["gpus"]
                gpus = json.loads(run(f"--replay={machine}", "-j", "describe").stdout)["gpus"]
                if chosen:
                    self.assertEqual(gpus[0]["id"], chosen[0].split("/")[0])
                    seen += len(gpus) > 1
        self.assertGreater(seen, 10)

    def test_no_command_that_helps_is_broken(self):
        seen = 0
        for machine in MACHINES[::4]:
            with self.subTest(machine=machine.name):
                findings = json.loads(run(f"--replay={machine}", "-j", "doctor").stdout)["findings"]
                shown = run_in_terminal(60, f"--replay={machine}", "--color=never", "doctor")[1]
                for finding in findings:
                    for command in finding["commands"]:
                        self.assertIn(command, shown)
                        seen += 1
        self.assertGreater(seen, 10)

    def test_equal_warnings_and_fixes_are_told_once(self):
        seen = 0
        for machine in MACHINES:
            for words in (["status"], ["select", "llama.cpp", "--explain"], ["recommend", "torch", "--explain"], ["doctor"]):
                done = run(f"--replay={machine}", *words)
                told = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith(("•", "warning:", "fix:"))]
                told += filter(None, done.stderr.splitlines())
                seen += len(told)
                self.assertEqual(len(told), len(set(told)), f"{machine.name}: {words}: {told}")
        self.assertGreater(seen, 300)


if __name__ == "__main__":
    unittest.main()
