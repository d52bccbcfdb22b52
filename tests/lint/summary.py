#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a JUnit file and prints the reason why each test was skipped or failed, and then "N passed, N failed, N skipped"."""
import re
import sys
import xml.etree.ElementTree as ElementTree

LONGEST = 300  # maximum number of characters printed for a failure


def reason_in(output):
    """Why a test was skipped. GoogleTest prints the reason on the line after "file:line: Skipped"; other tests print it on their last
    line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line, following in zip(lines, lines[1:]):
        if line.endswith(": Skipped"):
            return following
    return lines[-1] if lines else "no reason given"


def failure_in(output):
    """Why a test failed. GoogleTest prints this on the lines after "file:line: Failure"; unittest prints it on the line that names the
    exception."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        if line.endswith(": Failure"):
            return " ".join(lines[index:index + 4])[:LONGEST]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Trouble|Expired)\b.*:", line)]
    return (named or lines[-1:] or ["no output"])[0][:LONGEST]


def main(path):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            counts["skipped"] += 1
            print(f"skipped: {case.get('name')}: {reason_in(case.findtext('system-out') or '')}")
        elif case.find("failure") is not None or case.get("status") == "fail":
            counts["failed"] += 1
            print(f"failed: {case.get('name')}: {failure_in(case.findtext('system-out') or '')}")
        else:
            counts["passed"] += 1
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
