#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a JUnit file and prints the reason why each test was skipped or failed, and then "N passed, N failed, N skipped".

Usage: summary.py FILE [FOLDER]

The folder contains the files in which programs of unit tests (unit.*) have written the result of each case. A program without such a file is
counted as one failed test: it could not be started, or it ended too early.
"""
import pathlib
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
    exception. If GoogleTest has crashed, its last line names the case."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if lines and lines[-1].startswith("[ RUN "):
        return f"ended during {lines[-1].split(']')[-1].strip()}"
    for index, line in enumerate(lines):
        if line.endswith(": Failure"):
            return " ".join(lines[index:index + 4])[:LONGEST]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Trouble|Expired)\b.*:", line)]
    return (named or lines[-1:] or ["no output"])[0][:LONGEST]


def outcome_of(case):
    """Returns whether a test of CTest has passed, failed or been skipped, and why."""
    output = case.findtext("system-out") or ""
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped", reason_in(output)
    if case.find("failure") is not None or case.get("status") == "fail":
        return "failed", failure_in(output)
    return "passed", ""


def outcomes_in(place):
    """Yields name, outcome and reason of each case in a file of GoogleTest."""
    for case in ElementTree.parse(place).getroot().iter("testcase"):
        name = f"{place.stem}: {case.get('classname')}.{case.get('name')}"
        failure, skipped = case.find("failure"), case.find("skipped")
        if failure is not None:
            yield name, "failed", " ".join((failure.text or failure.get("message") or "").split())[:LONGEST]
        elif skipped is not None or case.get("status") == "notrun":
            reason = "" if skipped is None else (skipped.text or "").strip()
            yield name, "skipped", (reason.splitlines() or ["no reason given"])[-1]
        else:
            yield name, "passed", ""


def outcomes(path, folder):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        outcome, reason = outcome_of(case)
        if folder is None or not case.get("name").startswith("unit."):
            yield case.get("name"), outcome, reason
            continue
        try:
            cases = list(outcomes_in(folder / f"{case.get('name')}.xml"))
        except (OSError, ElementTree.ParseError):
            yield case.get("name"), "failed", reason or "no results"
            continue
        yield from cases
        if outcome == "failed" and all(each[1] != "failed" for each in cases):
            yield case.get("name"), outcome, reason


def main(path, folder=None):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, outcome, reason in outcomes(path, pathlib.Path(folder) if folder else None):
        counts[outcome] += 1
        if outcome != "passed":
            print(f"{outcome}: {name}: {reason}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
