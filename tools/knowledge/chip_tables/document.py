# SPDX-License-Identifier: Apache-2.0
"""Formats data files with one line for each row, so that differences are readable."""

import json

SCHEMA = "gpuprobe.chips/1"
CLAIMED_SCHEMA = "gpuprobe.chips-claimed/1"
VERSION, ISSUED, EXPIRES = "2026.11.29", "2026-11-29", "2027-11-29"
MAX_BYTES = 256 * 1024


def line(value):
    return json.dumps(value, ensure_ascii=False)


def rows_text(name, rows):
    body = ",\n".join(f"    {line(row)}" for row in rows)
    return f'  "{name}": [\n{body}\n  ]'


def text_of(head, maps, lists):
    """Returns the text of a data file: simple members, objects with one line for each key, and lists with one line for each row."""
    parts = [f"  {line(key)}: {line(value)}" for key, value in head.items()]
    for name, members in maps.items():
        body = ",\n".join(f"    {line(key)}: {line(value)}" for key, value in members.items())
        parts.append(f"  {line(name)}: {{\n{body}\n  }}")
    parts += [rows_text(name, rows) for name, rows in lists.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def chips_text(sources, vendors, chips, compatibles, drivers, video):
    head = {"schema": SCHEMA, "version": VERSION, "issued": ISSUED, "expires": EXPIRES}
    lists = {"vendors": vendors, "chips": chips, "compatibles": compatibles, "drivers": drivers, "video": video}
    return text_of(head, {"$source": sources}, lists)


def claimed_text(sources, vendors, claims, exceptions):
    head = {"schema": CLAIMED_SCHEMA, "version": VERSION, "vendor_ids": vendors}
    return text_of(head, {"$source": sources}, {"claims": claims, "exceptions": exceptions})
