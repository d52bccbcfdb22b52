# SPDX-License-Identifier: Apache-2.0
"""Checks chips.json without its sources, after the file was generated or edited."""

import json
import re

from .document import MAX_BYTES, SCHEMA
from .ids import ids_in

ROLES = ("gpu", "accelerator", "display", "neither")
FORMS = ("discrete", "integrated", "virtual-function", "paravirtual")
MEMORY = ("dedicated", "shared", "unified")
KINDS = ("npu", "tpu", "training", "inference", "video", "fpga", "vector")
WORDS = {"lacks": ("decode", "encode", "decode encode"), "role": ROLES, "form": FORMS, "memory": MEMORY, "kind": KINDS, "part": ("core",)}
MEMBERS = {
    "vendors": (("vendor", "name", "vendor_ids", "makes", "source"), ()),
    "chips": (("vendor_id", "ids", "role", "source"), ("chip", "kind", "form", "memory", "architecture", "name", "class")),
    "compatibles": (("compatible", "vendor", "role", "drivers", "source"),
                    ("part", "chip", "kind", "form", "memory", "architecture", "name")),
    "drivers": (("driver", "source"), ("vendor", "role", "kind", "form")),
    "video": (("vendor", "chips", "lacks", "source"), ()),
}
IDS = re.compile(r"^(\*|[0-9a-f]{4}(-[0-9a-f]{4})?( [0-9a-f]{4}(-[0-9a-f]{4})?)*)$")
CHIP = re.compile(r"^[a-z0-9][a-z0-9.-]*$")
SPELLING = {"10de": re.compile(r"^\d{1,2}\.\d$"), "1002": re.compile(r"^gfx[0-9a-f]{3,4}$"),
            "8086": re.compile(r"^\d{2}\.\d{1,2}\.\d{1,2}$")}
# Architectures that data/rules does not contain, because no current build supports the architecture, or because it is the variant of a single board.
NOT_IN_RULES = {"1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "3.0", "3.2", "12.60.1", "12.61.7"}


def members(name, row):
    required, optional = MEMBERS[name]
    for key in required:
        if not row.get(key) and key != "vendor_ids":
            yield f"{name}: {row}: no {key}"
    for key in row:
        if key not in required + optional:
            yield f"{name}: {row}: what is {key}?"
    for key, allowed in WORDS.items():
        roles = (*allowed, "passthrough") if name == "drivers" and key == "role" else allowed
        if key in row and row[key] not in roles:
            yield f"{name}: {row}: {key} is none of {' '.join(roles)}"
    if row.get("role") == "accelerator" and name != "drivers" and not row.get("kind") and row["ids"] != "*":
        yield f"{name}: {row}: an accelerator without a kind"


def sources(document):
    known = document["$source"]
    for name in MEMBERS:
        for row in document[name]:
            for word in row["source"].split():
                if word not in known:
                    yield f"{name}: {row}: unknown source {word}"
    for word, source in known.items():
        if not all(source.get(key) for key in ("repository", "commit", "path")):
            yield f"$source: {word}: no repository, commit or path"


def order(name, keys, document):
    found = [keys(row) for row in document[name]]
    if found != sorted(found):
        yield f"{name}: not sorted"
    for one, other in zip(found, found[1:]):
        if one == other:
            yield f"{name}: {one} twice"


def chip_order(row):
    return row["vendor_id"], row["ids"] == "*", row["ids"][:4], row.get("class", "")


def overlap(document):
    seen = {}
    for row in document["chips"]:
        for device in ids_in(row["ids"]):
            if seen.setdefault((row["vendor_id"], device), row) is not row:
                yield f"chips: {row['vendor_id']}:{device:04x} is in two rows"


def vendors(document):
    vendors = {word for row in document["vendors"] for word in row["vendor_ids"].split()}
    words = {row["vendor"] for row in document["vendors"]}
    count = sum(len(row["vendor_ids"].split()) for row in document["vendors"])
    if count != len(vendors):
        yield "vendors: a vendor id has two vendors"
    for row in document["chips"]:
        if row["vendor_id"] not in vendors:
            yield f"chips: {row['vendor_id']}: a vendor id without a vendor"
    for name in ("compatibles", "drivers"):
        for row in document[name]:
            if row.get("vendor", "arm") not in words:
                yield f"{name}: {row}: unknown vendor"


def ids(document):
    for row in document["chips"]:
        if not IDS.match(row["ids"]):
            yield f"chips: {row['vendor_id']} {row['ids']}: not a list of ids"
            continue
        found = ids_in(row["ids"])
        if found != sorted(set(found)):
            yield f"chips: {row['vendor_id']} {row['ids']}: not in order"
        if "chip" in row and not CHIP.match(row["chip"]):
            yield f"chips: {row['chip']}: not a chip's word"


def video(document):
    """Checks that each chip has only one row in "video", and that "chips" also contains each chip in "video"."""
    ids = {row["vendor"]: row["vendor_ids"].split() for row in document["vendors"]}
    known = {(row["vendor_id"], row.get("chip")) for row in document["chips"]}
    seen = set()
    for row in document["video"]:
        for chip in row["chips"].split():
            if not any((vendor, chip) in known for vendor in ids.get(row["vendor"], [])):
                yield f"video: {row['vendor']} {chip}: not in chips"
            if (row["vendor"], chip) in seen:
                yield f"video: {row['vendor']} {chip}: in two rows"
            seen.add((row["vendor"], chip))


def known_architectures(rules):
    """Returns all architectures in data/rules: compute capabilities, gfx targets, IP versions."""
    cuda = json.loads((rules / "cuda_sm.json").read_text(encoding="utf-8"))
    intel = json.loads((rules / "intel_ip.json").read_text(encoding="utf-8"))
    return {row["sm"] for row in cuda["sm"]} | {row["ip"] for row in intel["ip"]} | NOT_IN_RULES


def architectures(document, rules):
    known = known_architectures(rules)
    for row in document["chips"]:
        word = row.get("architecture")
        if not word:
            continue
        spelling = SPELLING.get(row["vendor_id"])
        if not spelling or not spelling.match(word):
            yield f"chips: {row['vendor_id']} {row['ids']}: {word} is not how data/rules spells architectures"
        elif not word.startswith("gfx") and word not in known:
            yield f"chips: {row['vendor_id']} {row['ids']}: data/rules does not know {word}"


def problems(text, rules):
    """Returns all faults of the data file, one line for each."""
    document = json.loads(text)
    if document.get("schema") != SCHEMA or next(iter(document)) != "schema":
        return ["schema: not the first member, or another"]
    found = [f"{len(text.encode())} bytes, more than {MAX_BYTES}"] if len(text.encode()) > MAX_BYTES else []
    for name in MEMBERS:
        found += [problem for row in document[name] for problem in members(name, row)]
    if found:
        return found
    found += [*sources(document), *overlap(document), *vendors(document), *ids(document), *video(document)]
    found += order("vendors", lambda row: row["vendor"], document)
    found += order("chips", chip_order, document)
    found += order("compatibles", lambda row: row["compatible"], document)
    found += order("drivers", lambda row: row["driver"], document)
    return found + list(architectures(document, rules))
