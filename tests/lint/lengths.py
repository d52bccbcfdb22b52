#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a function has more than 60 lines, from its name to its closing brace.

Usage: tests/lint/lengths.py SOURCE | --self-test. The script relies on clang-format: a function begins and ends in the same column, which
is the first column, or the fifth in a class.
"""
import pathlib
import re
import sys
import tempfile

LONGEST = 60
# Lines that open a brace but do not begin a function. A line with `struct` and no parameters, for example, defines a type.
NO_FUNCTION = re.compile(r"(inline )?namespace\b|extern \"C\" {|(template\b.*)?(struct|class|union|enum)\b[^(]*$|(public|private|protected):")
CLASS = re.compile(r"(template\b.*)?(struct|class|union)\b[^(]*{$")


def functions_at(indent, lines):
    """Yields (first line, number of lines) of each function that begins in that column."""
    head = start = None
    for number, line in lines:
        code = re.sub(r"\s*//.*", "", line).rstrip()
        if start:
            if code == indent + "}":
                yield start, number - start + 1
                start = None
            continue
        if not code.startswith(indent) or code.lstrip().startswith(("#", "}")):
            head = None
            continue
        body = code[len(indent):]
        if body and not body.startswith(" "):
            head = None if NO_FUNCTION.match(body) else head or number
        if head and code.endswith("{") and not code.endswith(("({", "= {", "{{")):
            start = head
        if not body or code.endswith((";", "{")):
            head = None


def within_classes(lines):
    is_within = False
    for number, line in lines:
        if line.startswith("}"):
            is_within = False
        yield number, line if is_within else ""
        is_within = is_within or bool(CLASS.match(line))


def lengths_in(text):
    lines = list(enumerate(text.splitlines(), 1))
    yield from functions_at("", lines)
    yield from functions_at("    ", within_classes(lines))


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
        ("int f() {  // says why\n" + long_body + "}\n", 1),
        ('extern "C" int f() {\n' + long_body + "}\n", 1),
        ("struct tm f() {\n" + long_body + "}\n", 1),
        ("class C {\npublic:\n    int f() {\n    " + long_body.replace("\n", "\n    ") + "}\n};\n", 1),
        ("class C {\npublic:\n    int f() { return 1; }\n" + long_body + "};\n", 0),
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
