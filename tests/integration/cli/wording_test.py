# SPDX-License-Identifier: Apache-2.0
"""Every code that the program can give has words, and every captured machine can be shown."""
import json
import re
import unittest

from cli_case import SOURCE, run

MACHINES = sorted(path.parent for path in (SOURCE / "tests/data/machines").glob("*/capture.json"))
PREDICATES = SOURCE / "src/policy/predicate_words.cpp"
GIVEN = re.compile(r'(?:because|[^_a-z]reason|doubt|reject)\(\s*"([a-z0-9-]+)"|\.code = "([a-z0-9-]+)"')


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


class Wording(unittest.TestCase):
    def test_every_code_in_the_source_is_worded(self):
        given = set()
        for room in ("report", "decide", "plan", "recommend", "inventory", "probe", "backends", "engine"):
            for path in (SOURCE / "src" / room).rglob("*.cpp"):
                for match in GIVEN.finditer(path.read_text(encoding="utf-8")):
                    given.add(match[1] or match[2])
        given |= set(re.findall(r'return "([a-z0-9-]+)";', PREDICATES.read_text(encoding="utf-8")))
        self.assertGreater(len(given), 20)
        self.assertEqual(given - worded(), set())


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
                    self.assertEqual(run(f"--replay={machine}", "show", str(index)).returncode, 0)

    def test_each_gets_a_decision(self):
        for machine in MACHINES:
            with self.subTest(machine=machine.name):
                done = run(f"--replay={machine}", "-j", "select", "--strict")
                self.assertIn(done.returncode, (0, 3))
                json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
