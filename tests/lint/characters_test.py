# SPDX-License-Identifier: Apache-2.0
"""Checks that the tables in src/base/character_table.h agree with Python's unicodedata."""
import importlib.machinery
import importlib.util
import pathlib
import re
import sys
import unicodedata
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HEADER = (SOURCE / "src/base/character_table.h").read_text(encoding="utf-8")
sys.dont_write_bytecode = True


def tool():
    loader = importlib.machinery.SourceFileLoader("characters", str(SOURCE / "tools/characters"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("characters", loader))
    loader.exec_module(module)
    return module


def points(name):
    """Returns all code points of a table in the header."""
    body = re.search(rf" {name} = {{{{(.*?)}}}};", HEADER, re.S)[1]
    found = set()
    for first, last in re.findall(r"{0x([0-9A-F]+), 0x([0-9A-F]+)}", body):
        found.update(range(int(first, 16), int(last, 16) + 1))
    return found


class Tables(unittest.TestCase):
    VERSION = re.search(r"Unicode ([0-9.]+);", HEADER)[1]

    def test_are_what_the_tool_writes(self):
        if unicodedata.unidata_version == self.VERSION:
            self.assertEqual(HEADER, tool().header())

    def test_hold_every_character_of_their_categories(self):
        """A different version of Unicode may assign more characters, so the test compares only characters that are assigned in Python's version."""
        characters = tool()
        same = unicodedata.unidata_version == self.VERSION
        known = [point for point in range(0x110000) if same or unicodedata.category(chr(point)) != "Cn"]
        if not same:  # a character that Unicode assigned after the table was generated is not in the table
            older = unicodedata.ucd_3_2_0
            known = [point for point in known if older.category(chr(point)) != "Cn"]
        unprintable, marks = points("kUnprintable"), points("kMarks")
        self.assertEqual([hex(point) for point in known if (point in unprintable) != characters.is_unprintable(point)], [])
        self.assertEqual([hex(point) for point in known if (point in marks) != characters.is_mark(point)], [])

    def test_hold_what_hides_text_and_not_what_people_write(self):
        unprintable = points("kUnprintable")
        for point in (0, 0x1B, 0x7F, 0x9B, 0xAD, 0x61C, 0x200B, 0x200D, 0x200E, 0x2028, 0x2029, 0x202E, 0x2066, 0x3164, 0xFE0F,
                      0xFEFF, 0xFFF9, 0xE000, 0xFFFE, 0xE0001, 0xE0041, 0xE0100, 0xF0000, 0x10FFFF):
            self.assertIn(point, unprintable, hex(point))
        for text in ("NVIDIA GeForce RTX™ 4090", "Größe", "显卡", "видеокарта", "כרטיס", "グラフィックス", "é", "🖥", "…", "µ", "\ufffd"):
            self.assertEqual([hex(ord(each)) for each in text if ord(each) in unprintable], [], text)


if __name__ == "__main__":
    unittest.main()
