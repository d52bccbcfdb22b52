#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Replays every machine of tests/data/machines through gpuprobectl: its report follows the schema and expected.json.

GPUPROBE_BIN is the folder of the built programs. GPUPROBE_MACHINE limits the run to machines whose name starts with it.
"""

import json
import os
import subprocess
import sys
import unittest

import jsonschema

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from matcher import compare  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.normpath(os.path.join(HERE, "..", "..", "..", "data", "schema", "report.schema.json"))
MACHINES = os.path.normpath(os.path.join(HERE, "..", "..", "data", "machines"))
PROGRAM = os.path.join(os.environ.get("GPUPROBE_BIN", "build/src"), "gpuprobectl")
DEADLINE_SECONDS = 30


def machines():
    prefix = os.environ.get("GPUPROBE_MACHINE", "")
    return sorted(name for name in os.listdir(MACHINES)
                  if name.startswith(prefix) and os.path.exists(f"{MACHINES}/{name}/capture.json"))


def describe(name):
    return subprocess.run([PROGRAM, "--replay", f"{MACHINES}/{name}", "-j", "describe"], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=DEADLINE_SECONDS, check=False)


def expected_of(name):
    with open(f"{MACHINES}/{name}/expected.json", encoding="utf-8") as file:
        return json.load(file)


def validator():
    with open(SCHEMA, encoding="utf-8") as file:
        return jsonschema.Draft202012Validator(json.load(file))


@unittest.skipUnless(os.path.exists(PROGRAM), "gpuprobectl is not built")
class Replay(unittest.TestCase):
    """One test per machine; the tests are added below."""

    @classmethod
    def setUpClass(cls):
        cls.validator = validator()

    def replay(self, name):
        run = describe(name)
        self.assertEqual(run.returncode, 0, run.stderr.decode(errors="replace"))
        report = json.loads(run.stdout)
        self.assertEqual(report["source"], "replay")
        self.assertEqual([f"{e.json_path}: {e.message}" for e in self.validator.iter_errors(report)], [])
        comparison = compare(expected_of(name), report)
        for gap in comparison.open_gaps:
            print(f"{name}: known gap {gap}", file=sys.stderr)
        self.assertEqual(comparison.differences + comparison.closed_gaps, [])

    def test_machines_are_there(self):
        self.assertTrue(machines())

    def test_the_same_machine_gives_the_same_report(self):
        for name in machines()[:3]:
            first, second = (json.loads(describe(name).stdout) for _ in range(2))
            for report in (first, second):
                report.pop("created_usec")
            self.assertEqual(without_ages(first), without_ages(second), name)


def without_ages(value):
    """The report without what the clock has a part in."""
    if isinstance(value, dict):
        return {k: without_ages(v) for k, v in value.items() if k not in ("age_usec", "free_at_usec", "duration_usec")}
    if isinstance(value, list):
        return [without_ages(v) for v in value]
    return value


def add_tests():
    for name in machines():
        setattr(Replay, "test_" + name.replace("-", "_"), lambda self, name=name: self.replay(name))


add_tests()

if __name__ == "__main__":
    unittest.main()
