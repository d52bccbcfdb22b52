# SPDX-License-Identifier: Apache-2.0
"""Parses YAML into None, str, list and Mapping, and limits the size and depth of the input. An alias becomes a reference to the aliased object; the object is
never copied."""

import yaml

from .documents import Refusal, checked_size, decoded, scrubbed

MAX_DEPTH = 16
MAX_NODES = 262_144
MAX_MEMBERS = 64  # members of one mapping
MAX_MERGES = 16  # mappings that are merged into one mapping, on all levels

MERGE_TAG = "tag:yaml.org,2002:merge"
NULLS = ("", "~", "null", "Null", "NULL")


class MergeKey(str):
    """The key `<<` without quotes."""


class Mapping(dict):
    """Holds the members of a mapping, without the members of merged mappings, which are in `merged`."""

    def __init__(self):
        super().__init__()
        self.merged = []

    def check_key(self, key):
        if not isinstance(key, str):
            raise Refusal("a key that is not text")
        if len(self) == MAX_MEMBERS:
            raise Refusal(f"more than {MAX_MEMBERS} members")
        if key in self and not isinstance(key, MergeKey):
            raise Refusal(f"twice: {scrubbed(key)}")

    def add(self, key, value):
        if not isinstance(key, MergeKey):
            self[key] = value
        elif len(self.merged) == MAX_MERGES:
            raise Refusal(f"merges more than {MAX_MERGES} mappings")
        else:
            self.merged.append(value)


class Builder:
    """Builds the tree from events, because PyYAML's own loaders have no limits and accept duplicate keys."""

    def __init__(self):
        self.documents, self.nodes, self.root = 0, 0, None
        self.open = []  # all lists and mappings that have not ended, each with the key of its next value
        self.anchors = {}

    def take(self, event):
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise Refusal("a second document")
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise Refusal("the referenced anchor is not defined")
            self.attach(self.anchors[event.anchor])
        elif isinstance(event, yaml.ScalarEvent):
            self.add(scalar(event), event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self.open) == MAX_DEPTH:
                raise Refusal(f"more than {MAX_DEPTH} levels deep")
            node = [] if isinstance(event, yaml.SequenceStartEvent) else Mapping()
            self.add(node, event.anchor)
            self.open.append([node, None])
        elif isinstance(event, yaml.CollectionEndEvent):
            self.open.pop()

    def add(self, node, anchor):
        if self.nodes == MAX_NODES:
            raise Refusal(f"more than {MAX_NODES} nodes")
        self.nodes += 1
        if anchor is not None:
            self.anchors[anchor] = node
        self.attach(node)

    def attach(self, node):
        if not self.open:
            self.root = node
            return
        parent, key = self.open[-1]
        if isinstance(parent, list):
            parent.append(node)
        elif key is None:
            parent.check_key(node)
            self.open[-1][1] = node
        else:
            parent.add(key, node)
            self.open[-1][1] = None


def scalar(event):
    is_plain = event.tag is None and event.implicit[0]
    if is_plain and event.value in NULLS:
        return None
    return MergeKey("<<") if event.value == "<<" and (is_plain or event.tag == MERGE_TAG) else event.value


def parse_yaml(data, limit):
    """Parses one YAML document. Every scalar becomes a string or None."""
    text = decoded(checked_size(data, limit), "YAML")
    builder = Builder()
    mark = None
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            mark = event.start_mark
            builder.take(event)
    except yaml.reader.ReaderError as problem:
        raise Refusal(f"not YAML at byte {problem.position + 1}: {scrubbed(problem.reason)}") from None
    except yaml.MarkedYAMLError as problem:
        raise Refusal(f"line {problem.problem_mark.line + 1}: {scrubbed(problem.problem)}") from None
    except Refusal as problem:
        raise Refusal(f"line {mark.line + 1}: {problem}") from None
    if not builder.documents:
        raise Refusal("empty")
    return builder.root


def members_of(mapping):
    """Returns the members of a mapping and of the mappings that it merges. The mapping's own members have precedence over the members of the first
    merged mapping, and so on.

    At most MAX_MERGES mappings are merged, so that a cycle also ends. Source: https://yaml.org/type/merge.html
    """
    if not isinstance(mapping, Mapping):
        raise Refusal("not a mapping")
    members, waiting, left = {}, [mapping], MAX_MERGES
    while waiting:
        node = waiting.pop(0)
        if not isinstance(node, Mapping):
            raise Refusal("<<: not a mapping")
        members = {**node, **members}
        sources = [each for merged in node.merged for each in (merged if isinstance(merged, list) else [merged])]
        left -= len(sources)
        if left < 0:
            raise Refusal(f"merges more than {MAX_MERGES} mappings")
        waiting = sources + waiting
    return members
