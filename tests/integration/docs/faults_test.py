# SPDX-License-Identifier: Apache-2.0
"""Tests that every row of docs/internals/faults.md names existing tests, or gives the reason why there is no test."""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
TESTS = SOURCE / "tests"


def rows(page):
    is_of_tests = False
    for line in (SOURCE / "docs" / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[1] != "---":
            is_of_tests = is_of_tests or cells[2] == "test"
            if is_of_tests and cells[2] != "test":
                yield cells
        elif not cells:
            is_of_tests = False


def exists(name):
    words = name.split(".")
    if words[0] == "integration":
        component, of_class, method = words[1:]
        texts = [path.read_text(encoding="utf-8") for path in (TESTS / "integration" / component).glob("*_test.py")]
        return any(re.search(rf"^class {of_class}\((?:(?!^class ).)*?^    def {method}\(", text, re.M | re.S) for text in texts)
    if words[0] == "escape":
        texts = [path.read_text(encoding="utf-8") for path in (TESTS / "escape").glob("*_test.py")]
        return any(re.search(rf"^class {words[1]}\(", text, re.M) for text in texts)
    component, suite, test = words
    texts = [path.read_text(encoding="utf-8") for path in (TESTS / "unit" / component).glob("*_test.cpp")]
    return any(re.search(rf"TEST(_F|_P)?\(\s*{suite},\s*{test}\)", text) for text in texts)


class Faults(unittest.TestCase):
    def test_every_row_is_tested_or_says_why_not(self):
        seen = list(rows("internals/faults.md"))
        self.assertGreater(len(seen), 55)
        for fault, _, tests in seen:
            with self.subTest(fault):
                names = re.findall(r"`((?:\w+\.)+\w+)`", tests)
                self.assertTrue(names or "not run: " in tests, "the row has neither a test nor a reason")
                for name in names:
                    self.assertTrue(exists(name), f"no such test: {name}")


if __name__ == "__main__":
    unittest.main()
