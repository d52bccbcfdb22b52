# SPDX-License-Identifier: Apache-2.0
"""Formats data/knowledge/applications with an indentation of two spaces, and with each value that fits on one line."""

import json

WIDTH = 119  # columns of a line
FILL = 106  # columns of a line in a list of short words


def on_one_line(value, is_outermost=True):
    if isinstance(value, dict) and value:
        members = ", ".join(f"{quoted(key)}: {on_one_line(member, False)}" for key, member in value.items())
        return f"{{ {members} }}" if is_outermost else f"{{{members}}}"
    if isinstance(value, list):
        return "[" + ", ".join(on_one_line(item, False) for item in value) + "]"
    return quoted(value)


def quoted(value):
    return json.dumps(value, ensure_ascii=False)


def filled(words, indent):
    """Returns a list of short words, with as many words on a line as fit."""
    lines = [""]
    for place, word in enumerate(words):
        item = quoted(word) + ("," if place + 1 < len(words) else "")
        if lines[-1] and len(indent) + 3 + len(lines[-1]) + len(item) > FILL:
            lines.append("")
        lines[-1] = f"{lines[-1]} {item}".lstrip()
    return lines


def lines_of_list(items, depth):
    indent = "  " * depth
    if all(isinstance(item, str) and len(item) <= 16 for item in items):
        return "\n".join(f"{indent}  {line}" for line in filled(items, indent))
    return ",\n".join(f"{indent}  {laid_out(item, depth + 1, len(indent) + 2)}" for item in items)


def laid_out(value, depth=0, column=0):
    """Returns the value as text without a line end. The value begins in column `column`, at nesting depth `depth`."""
    whole = on_one_line(value)
    if not isinstance(value, (dict, list)) or not value or depth > 0 and column + len(whole) <= WIDTH:
        return whole
    indent = "  " * depth
    if isinstance(value, list):
        return f"[\n{lines_of_list(value, depth)}\n{indent}]"
    members = []
    for key, member in value.items():
        start = f"{indent}  {quoted(key)}: "
        members.append(start + laid_out(member, depth + 1, len(start)))
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def document_text(document):
    return laid_out(document) + "\n"
