#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Changes documents of each kind at every place that the document's schema describes, and checks that the schema and gpuprobe's reader accept and
reject the same changed documents.

schemas_and_readers.py READ_DOCUMENTS [KIND]
"""
import copy
import json
import pathlib
import re
import subprocess
import sys
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
READ_DOCUMENTS = None

# The files with documents of each kind.
DOCUMENTS = {
    "application": ["data/knowledge/applications/*.json"],
    "variants": ["tests/data/variants/manifests/*.json"],
    "report": ["tests/data/golden/report-*.json"],
    "causes": ["data/knowledge/causes/*.json"],
    "distributions": ["data/knowledge/distributions.json"],
    "model": ["tests/fuzz/seeds/model/*.json"],
}
# Errors that only the reader can report, because a schema cannot contain the names of facts or describe how members depend
# on each other.
ABOUT_VARIABLES = ["a data file must not name this variable", "this variable loads files"]  # this depends on the application's name
BEYOND_SCHEMA = {
    "application": [*ABOUT_VARIABLES, "no such fact", "expected a version like", "not a reader or a variable", "and \"forwards\"$",
                    "expected a backend or a GPU library", "default: does not name a variant", "not the name of a requirement$",
                    "the application does not report this fact about its build$"],
    "variants": [*ABOUT_VARIABLES, "default: does not name a variant", "not the name of a requirement$"],
    "report": ["expected (non-negative )?integer, found number"],  # the reader's error for a number of more than 64 bits
    "causes": ["no such fact$", "no path begins with that name$", "a bracket is not closed$"],
    "distributions": [],
    # For a model, the reader also checks ggml's types, the necessary members, which keys are numbers, the characters of names, and that numbers have
    # at most 64 bits.
    "model": ["that gpuprobe can plan for$", "block_count is [0-9]+, not 1 to [0-9]+$", "has an unknown type$",
              "head_count is 0 in every layer$", "(is not a|has no) non-negative integer( for layer [0-9]+)?$",
              "rows that end within a block of", "a tensor name is not text", "expected non-negative integer, found number"],
}
# If a newer release has added a value at one of these paths, the reader skips the variant with that value instead of
# rejecting the document.
NEW_WORDS = ["/artifact/type$", "/scope$", "/host/(libc|cpu_level_min)$", "/device(/[0-9]+)?/(backend|(vendor|kinds)/[0-9]+)$"]
# Places at which the schema is stricter than the reader, because the schema is written for authors. The patterns have the form
# "member/member/*".
LENIENT = {
    "application": ["^source"],  # no decision depends on the source
    "variants": ["^schema$"],  # tsuku's recipes have no `schema`
    # The schema describes the documents that the current version of gpuprobe writes. The reader also accepts documents from older and newer versions
    # of gpuprobe, in which members are missing or added. For these kinds, the test therefore only checks that the reader accepts every document that
    # the schema accepts.
    "report": [""],
    "causes": [""],
    "distributions": [""],
    "model": [],
}
VALUES = (None, True, 0, -1, 1.5, 2**64, "", "x", "\u0000", "x" * 5000, [], {}, [None], {"": None})
KEPT = 2  # the test changes this many documents at each place


def members_of(schema):
    """Yields the names of all members in the schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from members_of(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from members_of(part)


def places(value, path=()):
    """Yields the path and the value of each place in a document."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, path + (key,))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, path + (index,))


def changed(document, path, change):
    """Returns a copy of the document, changed by `change(holder, key)` at the path."""
    root = [copy.deepcopy(document)]
    holder, key = root, 0
    for step in path:
        holder, key = holder[key], step
    change(holder, key)
    return root[0]


def changes(value):
    """Yields the name of each kind of change to a value, and the function that makes the change."""
    def put(new):
        return lambda holder, key: holder.__setitem__(key, new)
    for new in VALUES:
        if type(new) is not type(value) or new != value:
            yield f"= {json.dumps(new)[:24]}", put(copy.deepcopy(new))
    yield "removed", lambda holder, key: holder.__delitem__(key)
    if isinstance(value, dict):
        yield "with another member", lambda holder, key: holder[key].__setitem__("surprise", "x")
    if isinstance(value, list) and value:
        yield "with its first item twice", lambda holder, key: holder[key].append(copy.deepcopy(value[0]))
    if isinstance(value, str) and value:
        yield "in capitals", put(value.upper())
        yield "with an additional character", put(value + "~")
    if isinstance(value, int) and not isinstance(value, bool):
        yield "+ 1", put(value + 1)


def pieces(document):
    """Returns the document itself or, if it has long lists, one document per list item, because small documents are read faster."""
    lists = [key for key, value in document.items() if isinstance(value, list) and len(value) > 8]
    if not lists:
        return [document]
    short = {key: value[:1] if key in lists else value for key, value in document.items()}
    return [short, *({**short, key: [item]} for key in lists for item in document[key][1:])]


def documents(path):
    return pieces(json.loads(path.read_text(encoding="utf-8")))


def spoiled(kind, schema):
    """Yields (place, change, document) for KEPT places of each kind. In a place, "*" stands for list items and map keys."""
    seen, words = {}, set(members_of(schema))
    for pattern in DOCUMENTS[kind]:
        for path in sorted(ROOT.glob(pattern)):
            for document in documents(path):
                for steps, value in places(document):
                    place = "/".join(step if step in words else "*" for step in steps)
                    shape = place, type(value).__name__
                    seen[shape] = seen.get(shape, 0) + 1
                    if not steps or seen[shape] > KEPT:
                        continue
                    where = f"{path.name}: {'/'.join(map(str, steps))}"
                    for word, change in changes(value):
                        yield place, f"{where}: {word}", changed(document, steps, change)


def read(kind, documents):
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    done = subprocess.run([READ_DOCUMENTS, kind], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    return done.stdout.decode(errors="replace").split("\n")[:-1]


def matches(patterns, text):
    return any(re.search(pattern, text) for pattern in patterns)


def differences(kind):
    """Returns the number of documents, the documents that only the reader accepts, and the documents that only the schema accepts."""
    folders = (ROOT / "data/schema", pathlib.Path(READ_DOCUMENTS).parents[2] / "generated/interface")
    store = {path.name: json.loads(path.read_text(encoding="utf-8")) for folder in folders for path in folder.glob("*.schema.json")}
    schema = store[f"{kind}.schema.json"]
    validator = jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", schema, store))
    cases = list(spoiled(kind, schema))
    verdicts = read(kind, [document for _, _, document in cases])
    assert len(verdicts) == len(cases)
    lenient, strict = [], []
    for (place, word, document), problem in zip(cases, verdicts):
        error = next(validator.iter_errors(document), None)
        is_taken = matches(LENIENT[kind], place) or matches(NEW_WORDS, word.split(": ")[1])
        if error and not problem and not is_taken:
            lenient.append(f"{word}: {error.message[:80]}")
        elif problem and not error and not matches(BEYOND_SCHEMA[kind], problem):
            strict.append(f"{word}: {problem[:120]}")
    return len(cases), lenient, strict


class SchemasAndReaders(unittest.TestCase):
    def test_they_agree(self):
        for kind in DOCUMENTS:
            with self.subTest(kind):
                count, lenient, strict = differences(kind)
                self.assertGreater(count, 100)
                self.assertEqual(lenient, [], "the reader accepts a document that the schema rejects")
                self.assertEqual(strict, [], "the schema accepts a document that the reader rejects")

    def test_would_see_a_difference(self):
        (application,) = documents(ROOT / "data/knowledge/applications/default.json")
        spoiled_one = {**application, "selection": {**application["selection"], "strict": 1}}
        self.assertEqual(read("application", [application])[0], "")
        self.assertNotEqual(read("application", [spoiled_one])[0], "")


if __name__ == "__main__":
    READ_DOCUMENTS = sys.argv.pop(1)
    if len(sys.argv) == 2 and sys.argv[1] in DOCUMENTS:
        count, lenient, strict = differences(sys.argv[1])
        print(count, "documents")
        for title, found in (("ACCEPTED ONLY BY THE READER", lenient), ("REJECTED ONLY BY THE READER", strict)):
            print(f"{title}: {len(found)}")
            print("\n".join(found))
    else:
        unittest.main()
