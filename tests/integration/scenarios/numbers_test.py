# SPDX-License-Identifier: Apache-2.0
"""Tests that each scenario on which the profiles are based has a test whose name contains the scenario's number."""
import pathlib
import re
import unittest

from scenario_case import SOURCE

WANTED = {f"{letter}{number}" for letter, last in (("T", 18), ("S", 13), ("C", 10), ("V", 11), ("B", 12)) for number in range(1, last + 1)}
# The scenarios about packages, each of which also needs a test of `recommend`.
OF_PACKAGES = {"T1", "T2", "T3", "T4", "T5", "T8", "T9", "C1", "C2", "C3", "C4", "C5", "C6", "S12"}
PLACES = [*SOURCE.glob("tests/integration/scenarios/*_test.py"), *SOURCE.glob("tests/unit/policy/*_test.cpp")]
TESTS = re.compile(r"^\s*def test_([TSCVB]\d+)_|^TEST\(\w+, ([TSCVB]\d+)_", re.MULTILINE)


def named(path: pathlib.Path):
    return {first or second for first, second in TESTS.findall(path.read_text(encoding="utf-8"))}


class Numbers(unittest.TestCase):
    def test_each_scenario_has_a_test(self):
        found = set().union(*(named(path) for path in PLACES))
        self.assertEqual(sorted(WANTED - found), [])
        self.assertEqual(sorted(found - WANTED), [])

    def test_those_about_packages_ask_the_catalogues(self):
        found = named(SOURCE / "tests/integration/scenarios/packages_test.py")
        self.assertEqual(sorted(OF_PACKAGES - found), [])

    def test_none_is_skipped(self):
        for path in set(PLACES) - {pathlib.Path(__file__).resolve()}:
            with self.subTest(path.name):
                self.assertNotRegex(path.read_text(encoding="utf-8"), r"@unittest\.skip|GTEST_SKIP|self\.skipTest")
