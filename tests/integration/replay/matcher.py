# SPDX-License-Identifier: Apache-2.0
"""Compares a report with the expected report. The rules are in tests/data/machines/README.md."""

import json

KNOWN_GAP = "_known_gap"
VALUE = "_value"
CONTAINS = "_contains"


class Comparison:
    """The result of a comparison: the differences, the known gaps that still exist, and the known gaps that no longer exist."""

    def __init__(self):
        self.differences = []
        self.open_gaps = []
        self.closed_gaps = []


def compare(expected, got):
    comparison = Comparison()
    _compare(expected, got, "", comparison)
    return comparison


def matches(expected, got):
    comparison = compare(expected, got)
    return not comparison.differences and not comparison.closed_gaps


def _compare(expected, got, path, out):
    if isinstance(expected, dict) and KNOWN_GAP in expected:
        _compare_gap(expected, got, path, out)
    elif isinstance(expected, dict) and CONTAINS in expected:
        _compare_some(expected[CONTAINS], got, path, out)
    elif isinstance(expected, dict):
        _compare_object(expected, got, path, out)
    elif isinstance(expected, list):
        _compare_list(expected, got, path, out)
    elif type(expected) is not type(got) or expected != got:
        out.differences.append(f"{path or '/'}: expected {_short(expected)}, got {_short(got)}")


def _compare_gap(expected, got, path, out):
    inner = compare(expected[VALUE], got)
    if inner.differences:
        out.open_gaps.append(f"{path}: {expected[KNOWN_GAP]}")
    else:
        out.closed_gaps.append(f"{path}: holds now; take the mark of a known gap away")


def _compare_object(expected, got, path, out):
    if not isinstance(got, dict):
        out.differences.append(f"{path or '/'}: expected an object, got {_short(got)}")
        return
    for key, value in expected.items():
        if key not in got:
            out.differences.append(f"{path}/{key}: expected {_short(value)}, but it is not there")
        else:
            _compare(value, got[key], f"{path}/{key}", out)


def _compare_list(expected, got, path, out):
    if not isinstance(got, list):
        out.differences.append(f"{path}: expected an array, got {_short(got)}")
        return
    if len(expected) != len(got):
        out.differences.append(f"{path}: expected {len(expected)} elements, got {len(got)}: {_labels(got)}")
    _compare_some(expected, got, path, out)


def _compare_some(expected, got, path, out):
    """Compares lists. Each expected element must match a different element of the report: the element with the same id or, if the expected element
    has no id, any element."""
    if not isinstance(got, list):
        out.differences.append(f"{path}: expected an array, got {_short(got)}")
        return
    free = list(range(len(got)))
    without_id = []
    for element in expected:
        identifier = element.get("id") if isinstance(element, dict) else None
        if identifier is None:
            without_id.append(element)
            continue
        index = next((i for i in free if isinstance(got[i], dict) and got[i].get("id") == identifier), None)
        if index is None:
            out.differences.append(f"{path}[{identifier}]: not there; there are {_labels(got)}")
        else:
            free.remove(index)
            _compare(element, got[index], f"{path}[{identifier}]", out)
    _assign(without_id, got, free, path, out)


def _assign(expected, got, free, path, out):
    """Assigns expected elements without an id to different elements of the report. If this is impossible, records the differences from the closest
    elements."""
    if not expected or _assignment(expected, got, free):
        return
    for number, element in enumerate(expected):
        attempts = [compare(element, got[i]).differences for i in free]
        if any(not differences for differences in attempts):
            continue
        best = min(attempts, key=len, default=["there is none left"])
        out.differences.append(f"{path}[no id, {number}]: nothing matches; closest: {'; '.join(best)}")
    if not any(d.startswith(f"{path}[no id") for d in out.differences):
        out.differences.append(f"{path}: {len(expected)} elements match fewer different ones")


def _assignment(expected, got, free):
    if not expected:
        return True
    return any(matches(expected[0], got[i]) and _assignment(expected[1:], got, [f for f in free if f != i])
               for i in free)


def _labels(elements):
    return [e.get("id", e.get("name")) if isinstance(e, dict) else e for e in elements]


def _short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + "..."
