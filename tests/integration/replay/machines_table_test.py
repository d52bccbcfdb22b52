#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/internals/machines.md with the machines in tests/data/machines and with their replayed reports.

GPUPROBE_ACCEPT=1 writes the page; otherwise the page must match the reports of the program in GPUPROBE_BIN.
"""

import collections
import difflib
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from matcher import CONTAINS, KNOWN_GAP, VALUE  # noqa: E402
from replay_test import HERE, MACHINES, describe, expected_of  # noqa: E402

PAGE = os.path.normpath(os.path.join(HERE, "..", "..", "..", "docs", "internals", "machines.md"))
UNKNOWN = "–"
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

HEADER = """# The recorded machines

The table compares the report of gpuprobe about every machine in `tests/data/machines` with the known facts about that machine. The
test `tests/integration/replay/machines_table_test.py` replays each machine with `gpuprobectl --replay`, and fails if the table on
this page differs from the results. With `GPUPROBE_ACCEPT=1`, the test writes the table instead.

- **source** names the origin of the recorded data: a file in a repository, or the program that recorded the machine. *public file N*
  is a file whose repository is unknown; N is its id in an index of public files.
- **GPUs** contains two numbers, *expected / found*. The first number comes from `expected.json` ({unknown} if the file contains no number,
  ≥ if the file names only some GPUs), and the second number comes from the report.
- **APIs joined by** lists the APIs that answered for a GPU, with the key by which the device of the API was joined to the GPU.
- **Memory** contains two sizes, *physical / allocatable*. Physical memory is unknown if all memory belongs to the host.
- `n ×` means n identical GPUs; {unknown} means unknown or none.
- If a value in the report differs from the expected value, **known gaps** contains the reason from `expected.json`. A difference
  without a reason fails the test.

| machine | source | GPUs | kinds | APIs joined by | memory | known gaps |
| --- | --- | --- | --- | --- | --- | --- |
"""


def all_machines():
    return sorted(name for name in os.listdir(MACHINES) if os.path.exists(f"{MACHINES}/{name}/capture.json"))


def plain(value):
    """Returns the expected value without the mark of a known gap."""
    return value[VALUE] if isinstance(value, dict) and KNOWN_GAP in value else value


def expected_count(expected):
    gpus = plain(expected.get("gpus"))
    if isinstance(gpus, dict):
        return f"≥ {len(gpus[CONTAINS])}"
    return UNKNOWN if gpus is None else str(len(gpus))


def gaps_in(value, path=""):
    """Yields (path within the GPU's record, expected value, reason why gpuprobe does not find the value) for each known gap."""
    if isinstance(value, dict) and KNOWN_GAP in value:
        yield path, value[VALUE], value[KNOWN_GAP]
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from gaps_in(member, path if key == CONTAINS else f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for element in value:
            yield from gaps_in(element, "" if path == "gpus" else path)


def gap_text(place, value, why):
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return f"`{place}` should be {text if len(text) <= 60 else 'another'}: {why}"


def size(count):
    """Formats a size as gpuprobectl does, rounded down to one decimal."""
    if count is None:
        return UNKNOWN
    unit = 0
    amount = count
    while amount >= 1024 and unit + 1 < len(UNITS):
        amount //= 1024
        unit += 1
    if unit < UNITS.index("GiB"):
        return f"{amount} {UNITS[unit]}"
    tenths = count * 10 // 1024**unit
    return f"{tenths // 10}.{tenths % 10} {UNITS[unit]}"


def memory(gpu):
    physical, allocatable = (gpu["memory"][part] for part in ("physical", "allocatable"))
    return UNKNOWN if physical is None and allocatable is None else f"{size(physical)} / {size(allocatable)}"


def apis(gpu):
    """Returns the APIs whose devices were joined with the GPU. "pci" is left out, because "pci" describes the hardware itself."""
    joined = [f"{api} ({view['joined_by'] or 'itself'})" for api, view in sorted(gpu["apis"].items())
              if view["device"] is not None and api != "pci"]
    return ", ".join(joined) or UNKNOWN


def grouped(texts):
    """Groups equal items, in the order of their first occurrence."""
    groups = collections.Counter(texts)
    if len(groups) <= 1 and list(groups) in ([], [UNKNOWN]):
        return UNKNOWN
    return "<br>".join(text if count == 1 else f"{count} × {text}" for text, count in groups.items())


def source(name):
    with open(f"{MACHINES}/{name}/provenance.json", encoding="utf-8") as file:
        stated = json.load(file)["source"]
    if stated["repo"]:
        return f"{stated['repo']} `{stated['path']}`" if stated.get("path") else stated["repo"]
    text = stated.get("recorded_with") or stated.get("path") or UNKNOWN
    return re.sub(r"public text with the id ([0-9]+), repository unknown", r"public file \1, repository unknown", text)


def row(name, expected, report):
    gpus = report["gpus"]
    cells = [
        f"`{name}`",
        source(name),
        f"{expected_count(expected)} / {len(gpus)}",
        grouped(gpu["kind"] for gpu in gpus),
        grouped(apis(gpu) for gpu in gpus),
        grouped(memory(gpu) for gpu in gpus),
        grouped(gap_text(*gap) for gap in gaps_in(expected)),
    ]
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"


def page(rows):
    return HEADER.format(unknown=UNKNOWN) + "".join(rows)


class MachinesTable(unittest.TestCase):
    maxDiff = None

    def reports(self):
        for name in all_machines():
            run = describe(name)
            self.assertEqual(run.returncode, 0, f"{name}: {run.stderr.decode(errors='replace')}")
            yield name, expected_of(name), json.loads(run.stdout)

    def test_the_page_is_what_the_replayed_machines_say(self):
        rows = []
        for name, expected, report in self.reports():
            stated = expected_count(expected)
            if stated.isdigit() and int(stated) != len(report["gpus"]):
                self.assertTrue(any(gaps_in(expected)), f"{name}: {stated} GPUs expected, and no known gap explains the difference")
            rows.append(row(name, expected, report))
        made = page(rows)
        if os.environ.get("GPUPROBE_ACCEPT") == "1":
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(made)
        with open(PAGE, encoding="utf-8") as file:
            kept = file.read()
        difference = "".join(difflib.unified_diff(kept.splitlines(True), made.splitlines(True), "docs/internals/machines.md", "made"))
        self.assertEqual(difference, "", "the page is out of date: read the difference, then run with GPUPROBE_ACCEPT=1")


class TableCells(unittest.TestCase):
    def test_a_size_is_rounded_down(self):
        self.assertEqual([size(count) for count in (None, 640, (1 << 30) - 1, (8 << 30) - 1, 8 << 30)],
                         [UNKNOWN, "640 B", "1023 MiB", "7.9 GiB", "8.0 GiB"])

    def test_alike_gpus_are_one_line(self):
        self.assertEqual(grouped(["a", "b", "a"]), "2 × a<br>b")
        self.assertEqual(grouped([UNKNOWN, UNKNOWN]), UNKNOWN)

    def test_a_count_is_given_only_where_it_is_stated(self):
        self.assertEqual(expected_count({}), UNKNOWN)
        self.assertEqual(expected_count({"gpus": [{}, {}]}), "2")
        self.assertEqual(expected_count({"gpus": {CONTAINS: [{}]}}), "≥ 1")
        self.assertEqual(expected_count({"gpus": {KNOWN_GAP: "why", VALUE: [{}]}}), "1")

    def test_a_gap_tells_its_place(self):
        expected = {"gpus": [{"id": "x", "kind": {KNOWN_GAP: "why", VALUE: "discrete"}}]}
        self.assertEqual([gap_text(*gap) for gap in gaps_in(expected)], ["`kind` should be discrete: why"])


if __name__ == "__main__":
    unittest.main()
