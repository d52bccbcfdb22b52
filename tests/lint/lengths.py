#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fails for a function of more than 60 lines, from its name to its closing brace.

Usage: tests/lint/lengths.py SOURCE | --self-test. As clang-format lays the text out, a function outside of a class begins and ends
in the first column; those within a class are part of what ends there.
"""
import pathlib
import re
import sys
import tempfile

LONGEST = 60
NO_FUNCTION = re.compile(r"(inline )?namespace\b|extern\b|(template\b.*)?(struct|class|union|enum)\b")


def lengths_in(text):
    """(line, lines) of each function."""
    head = start = None
    for number, line in enumerate(text.splitlines(), 1):
        if line == "}" and start:
            yield start, number - start + 1
        if line.startswith("}"):
            head = start = None
        if start or not line or line[0] in "#/}":
            continue
        if not line.startswith(" "):
            head = None if NO_FUNCTION.match(line) else head or number
        if head and line.endswith("{") and not line.endswith("({"):
            start = head
        if line.endswith((";", "{")):
            head = None


def check(source):
    bad = 0
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".h", ".cpp", ".c"):
            continue
        for line, lines in lengths_in(path.read_text(encoding="utf-8")):
            if lines > LONGEST:
                print(f"{path}:{line}: a function of {lines} lines: at most {LONGEST}")
                bad += 1
    return bad


def self_test():
    long_body = "    call();\n" * LONGEST
    rows = [
        ("int f() {\n    return 1;\n}\n", 0),
        ("int f(int a,\n      int b) {\n" + long_body + "}\n", 1),
        ("int f() {\n" + long_body[:-len("    call();\n") * 2] + "}\n", 0),
        ("int f() {\n" + long_body[:-len("    call();\n")] + "}\n", 1),
        ("struct S {\n" + long_body + "};\n", 0),
        ("constexpr auto kRows = std::to_array<Row>({\n" + long_body + "});\n", 0),
        ("namespace a {\n\nint f() {\n}\n\n" + long_body + "}  // namespace a\n", 0),
        ("struct S {\n    int a;\n};\n\nvoid f() {\n" + long_body + "}\n", 1),
    ]
    for text, wanted in rows:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.cpp").write_text(text, encoding="utf-8")
            found = check(pathlib.Path(folder))
            assert found == wanted, f"{text[:60]!r}: found {found}, wanted {wanted}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        sys.exit(1 if check(pathlib.Path(sys.argv[1])) else 0)
