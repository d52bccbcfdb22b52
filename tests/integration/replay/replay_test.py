#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Replays every machine in tests/data/machines with gpuprobectl, and compares the report with the schema and with expected.json.

GPUPROBE_BIN is the folder of the built programs. If GPUPROBE_MACHINE is set, only machines whose names start with it are replayed.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import jsonschema

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from matcher import compare  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINES = os.path.normpath(os.path.join(HERE, "..", "..", "data", "machines"))
GOLDEN = os.path.normpath(os.path.join(HERE, "..", "..", "data", "golden"))
BIN = os.environ.get("GPUPROBE_BIN", "build/src")
PROGRAM = os.path.join(BIN, "gpuprobectl")
SCHEMA = os.path.join(BIN, "..", "generated", "interface", "report.schema.json")
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


def closed_records(schema, place="#"):
    """Yields (path, record) for each record in the schema that allows no additional members."""
    if isinstance(schema, dict):
        if schema.get("additionalProperties") is False:
            yield place, schema
        for key, part in schema.items():
            yield from closed_records(part, f"{place}/{key}")
    elif isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from closed_records(part, f"{place}/{index}")


class ReportSchema(unittest.TestCase):
    def setUp(self):
        self.schema = json.loads(pathlib.Path(SCHEMA).read_text(encoding="utf-8"))
        self.validator = jsonschema.Draft202012Validator(self.schema)

    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_requires_every_field_of_every_record(self):
        for place, record in closed_records(self.schema):
            with self.subTest(place):
                # Only reasons in answers to calls have these members; reasons in a report do not have them.
                words = {"text", "fix", "commands", "subject"} if place.endswith("/Reason") else set()
                self.assertEqual({*record["required"]} | words, {*record["properties"]})

    def test_accepts_every_golden_report(self):
        paths = sorted(pathlib.Path(GOLDEN).glob("report-*.json"))
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path.name):
                errors = [f"{e.json_path}: {e.message}" for e in self.validator.iter_errors(json.loads(path.read_text(encoding="utf-8")))]
                self.assertEqual(errors, [])

    def test_refuses_what_is_no_report(self):
        good = json.loads(pathlib.Path(GOLDEN, "report-laptop.json").read_text(encoding="utf-8"))
        mistakes = {
            "another schema": lambda r: r.update(schema=2),
            "missing field": lambda r: r.pop("gpus"),
            "unknown field": lambda r: r.update(surprise=1),
            "unknown word": lambda r: r["gpus"][0].update(kind="quantum"),
            "zero for unknown": lambda r: r["gpus"][0]["memory"].update(physical=0),
            "id as a number": lambda r: r["gpus"][0]["pci"].update(vendor_id=4318),
        }
        for name, spoil in mistakes.items():
            with self.subTest(name):
                report = json.loads(json.dumps(good))
                spoil(report)
                self.assertFalse(self.validator.is_valid(report))


@unittest.skipUnless(os.path.exists(PROGRAM), "gpuprobectl is not built")
class Replay(unittest.TestCase):
    """Contains one test for each machine; add_tests() adds the tests."""

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
    """Removes the members of a report that depend on the clock."""
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
