#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints why each skipped test was skipped, then "N passed, N failed, N skipped", from a JUnit file."""
import sys
import xml.etree.ElementTree as ElementTree


def reason_in(output):
    """GoogleTest says why on the line behind "file:line: Skipped"; others on their last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line, following in zip(lines, lines[1:]):
        if line.endswith(": Skipped"):
            return following
    return lines[-1] if lines else "no reason given"


def main(path):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            counts["skipped"] += 1
            print(f"skipped: {case.get('name')}: {reason_in(case.findtext('system-out') or '')}")
        elif case.find("failure") is not None or case.get("status") == "fail":
            counts["failed"] += 1
            print(f"failed: {case.get('name')}")
        else:
            counts["passed"] += 1
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
