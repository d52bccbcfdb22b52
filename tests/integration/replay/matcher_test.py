#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the rules for comparing a report with the expected report."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from matcher import compare  # noqa: E402

GOOD = [
    ("scalars are equal", 1, 1),
    ("null is null", None, None),
    ("an object is a subset", {"a": 1}, {"a": 1, "b": 2}),
    ("an object inside an object", {"a": {"b": None}}, {"a": {"b": None, "c": 0}}),
    ("elements with an id in another order", [{"id": "x"}, {"id": "y"}], [{"id": "y"}, {"id": "x"}]),
    ("elements without id in another order", [{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}]),
    ("a greedy choice would fail", [{}, {"a": 1}], [{"a": 1}, {"a": 2}]),
    ("two equal elements", [{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 1}]),
    ("an array that may have more", {"_contains": [{"a": 1}]}, [{"a": 2}, {"a": 1}]),
    ("an empty array", [], []),
]
BAD = [
    ("another scalar", 1, 2),
    ("false is not 0", False, 0),
    ("null is not 0", None, 0),
    ("a missing member", {"a": None}, {}),
    ("an object is not an array", {"a": 1}, []),
    ("one element too many", [{"id": "x"}], [{"id": "x"}, {"id": "y"}]),
    ("one element too few", [{"a": 1}, {"a": 1}], [{"a": 1}]),
    ("an id that is not there", [{"id": "x"}], [{"id": "y"}]),
    ("one got element for two", {"_contains": [{"a": 1}, {"a": 1}]}, [{"a": 1}, {"a": 2}]),
    ("an array that lacks it", {"_contains": [{"a": 1}]}, []),
]


class Matcher(unittest.TestCase):
    def test_good_rows_match(self):
        for name, expected, got in GOOD:
            with self.subTest(name):
                self.assertEqual(compare(expected, got).differences, [])

    def test_bad_rows_differ(self):
        for name, expected, got in BAD:
            with self.subTest(name):
                self.assertNotEqual(compare(expected, got).differences, [])

    def test_an_open_gap_is_told_but_is_no_difference(self):
        comparison = compare({"a": {"_known_gap": "why", "_value": 1}}, {"a": 2})
        self.assertEqual(comparison.differences, [])
        self.assertEqual(comparison.open_gaps, ["/a: why"])

    def test_a_closed_gap_is_told(self):
        comparison = compare({"a": {"_known_gap": "why", "_value": 1}}, {"a": 1})
        self.assertEqual(len(comparison.closed_gaps), 1)


if __name__ == "__main__":
    unittest.main()
