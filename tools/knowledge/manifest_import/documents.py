# SPDX-License-Identifier: Apache-2.0
"""Reads files of other projects, with size limits, strict JSON, and error messages that contain the position."""

import contextlib
import json
import math
import re

MAX_LIST = 4 << 20  # bytes of a project's list
MAX_MANIFEST = 1 << 20  # bytes of a manifest or an overlay
MAX_JSON_DEPTH = 64

# Characters that must not be sent to a terminal: C0, DEL, C1, marks that reorder text, and halves of
# surrogate pairs.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
KINDS = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "non-negative integer": lambda value: KINDS["integer"](value) and value >= 0,
    "number": lambda value: isinstance(value, float),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class Refusal(Exception):
    """An error that contains the reason why an input is rejected: "place: reason"."""


@contextlib.contextmanager
def within(place):
    """Adds the place in the document to the beginning of each Refusal that is raised in this context."""
    try:
        yield
    except Refusal as problem:
        raise Refusal(f"{place}: {problem}") from None


def scrubbed(text, limit=256):
    """Returns the text in which U+FFFD replaces each unprintable character, cut to that many bytes of UTF-8."""
    return UNPRINTABLE.sub("\ufffd", text).encode()[:limit].decode(errors="ignore")


def read_file(path, limit):
    with within(path):
        try:
            with open(path, "rb") as file:
                return checked_size(file.read(limit + 1), limit)
        except OSError as problem:
            raise Refusal(problem.strerror) from None


def checked_size(data, limit):
    if len(data) > limit:
        raise Refusal(f"over {limit} bytes")
    return data


def decoded(data, language):
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Refusal(f"not {language} at byte {problem.start + 1}") from None


def parse_json(data, limit):
    """Parses one JSON document, as strictly as gpuprobe does."""
    text = decoded(checked_size(data, limit), "JSON")
    try:
        document = json.loads(text, object_pairs_hook=Members, parse_int=integer, parse_constant=no_constant)
    except json.JSONDecodeError as problem:
        raise Refusal(f"not JSON at byte {len(text[:problem.pos].encode()) + 1}") from None
    except RecursionError:
        raise Refusal("nested too deeply") from None
    check_tree(Json(document), 0)
    return Json(document)


class Members(dict):
    """The members of an object, and a key that occurs twice in the object, or None if no key occurs twice."""

    repeated = None

    def __init__(self, pairs):
        super().__init__()
        for key, value in pairs:
            if key in self and self.repeated is None:
                self.repeated = key
            self[key] = value


def integer(text):
    """Parses an integer. Integers of more than 64 bits become floating-point numbers."""
    return int(text) if len(text) <= 20 and -(1 << 63) <= int(text) < 1 << 64 else float(text)


def no_constant(word):
    raise Refusal(f"not JSON: {word}")


def check_tree(node, depth):
    """Rejects documents that json.loads() accepts but gpuprobe does not accept."""
    value = node.value
    if isinstance(value, (dict, list)) and depth == MAX_JSON_DEPTH:
        node.refuse("nested too deeply")
    if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        node.refuse("half a surrogate pair")
    if isinstance(value, float) and math.isinf(value):
        node.refuse("number out of range")
    if isinstance(value, dict) and value.repeated is not None:
        node.at(value.repeated).refuse("a key appears twice")
    for child in node.children():
        check_tree(child, depth + 1)


def path_part(key):
    """Returns the key as a part of a path, in quotes if it consists of more than one word."""
    return key if re.fullmatch("[A-Za-z0-9_-]{1,64}", key) else f'["{scrubbed(key, 64)}"]'


class Json:
    """A value in a document, with its path ("assets[3].size")."""

    def __init__(self, value, path=""):
        self.value, self.path = value, path

    def refuse(self, problem):
        raise Refusal(f"{self.path}: {problem}" if self.path else problem)

    def expect(self, kind):
        """Returns the value. Rejects the value if it has another kind."""
        if not KINDS[kind](self.value):
            found = next(name for name, holds in KINDS.items() if holds(self.value))
            self.refuse(f"expected {kind}, found {found}")
        return self.value

    def at(self, key):
        """Returns the member with a given key; null if the member is missing."""
        part = path_part(key)
        dot = "." if self.path and not part.startswith("[") else ""
        return Json(self.expect("object").get(key), f"{self.path}{dot}{part}")

    def children(self):
        """Returns the items of a list, or the members of an object; nothing for other values."""
        if isinstance(self.value, dict):
            return [self.at(key) for key in self.value]
        items = self.value if isinstance(self.value, list) else []
        return [Json(item, f"{self.path}[{place}]") for place, item in enumerate(items)]

    def required(self, key, kind="string"):
        if key not in self.expect("object"):
            self.at(key).refuse("missing")
        return self.at(key).expect(kind)

    def optional(self, key, kind="string", default=None):
        """Returns the value of a member, or the default if the member is null or missing."""
        return default if self.at(key).value is None else self.at(key).expect(kind)

    def items(self, key):
        """Returns the items of a list; nothing if the list is missing."""
        if key not in self.expect("object"):
            return []
        self.at(key).expect("array")
        return self.at(key).children()

    def texts(self, key):
        return [item.expect("string") for item in self.items(key)]


def json_line(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def json_pretty(document):
    return json.dumps(document, ensure_ascii=False, indent=2).encode(errors="replace") + b"\n"
