# SPDX-License-Identifier: Apache-2.0
"""Generates the types of org.gpuprobe for Go, and a method of Client for each method."""
import re
import textwrap

HEAD = """package gpuprobe

import (
\t"context"
\t"encoding/json"
)
"""
INITIALISMS = {"acl": "ACL", "api": "API", "cpu": "CPU", "drm": "DRM", "gid": "GID", "gpu": "GPU", "id": "ID", "os": "OS", "pci": "PCI",
               "uid": "UID", "url": "URL", "uuid": "UUID"}
PLURALS = {f"{word}s": f"{initialism}s" for word, initialism in INITIALISMS.items()}
SIMPLE = {"bool": "bool", "float": "float64", "text": "string", "json": "json.RawMessage"}


def go_name(name):
    """Returns the exported name in Go, for example MinMemory for min_memory and PCIInfo for PciInfo."""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    initialisms = {**INITIALISMS, **PLURALS}
    return "".join(initialisms.get(word.lower(), word[:1].upper() + word[1:]) for word in words)


def go_type(kind, is_input=False):
    """Returns the Go type. Lists, maps, JSON values and pointers are nil if they are unknown or not set. A string in a request is empty if the member
    is not set."""
    word = kind["kind"]
    if word in SIMPLE:
        return SIMPLE[word]
    if word == "integer":
        return "uint64" if "minimum" in kind or "above" in kind else "int64"
    if word == "named":
        return go_name(kind["name"])
    inner = kind["item"]
    if word == "nullable":
        return go_type(inner) if has_nil(inner) or (is_input and inner["kind"] == "text") else f"*{go_type(inner)}"
    return f"[]{go_type(inner)}" if word == "list" else f"map[string]{go_type(inner)}"


def has_nil(kind):
    return kind["kind"] in ("list", "map", "json", "nullable")


def member_type(member, is_input):
    kind = go_type(member["type"], is_input)
    return f"*{kind}" if member.get("optional") and not has_nil(member["type"]) else kind


def comment(about, indent=""):
    lines = [part for line in about.splitlines() for part in textwrap.wrap(line, 96, break_long_words=False, break_on_hyphens=False)]
    return [f"{indent}// {line}" for line in lines]


def aligned(rows):
    """Returns the cells of each row, padded as gofmt pads them. A row with a comment starts a new group of rows whose columns are aligned."""
    lines, group = [], []

    def flush():
        widths = [max(map(len, column)) for column in zip(*group)]
        lines.extend("\t" + " ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in group)
        group.clear()
    for about, row in rows:
        if about:
            flush()
            lines.extend(comment(about, "\t"))
        group.append(row)
    flush()
    return lines


def may_lack(member):
    return member["type"]["kind"] == "nullable"


def field(member, is_input):
    tag = f"`json:\"{member['name']}{',omitzero' if is_input and may_lack(member) else ''}\"`"
    return member["about"], (go_name(member["name"]), member_type(member, is_input), tag)


def record(name, members, about="", is_input=False):
    """Returns a Go struct. Members of a request that are not set are omitted from the JSON, even with Go versions before 1.24, which lack
    omitzero."""
    lines = ["", *comment(about), f"type {name} struct {{", *aligned([field(member, is_input) for member in members]), "}"]
    if is_input and any(map(may_lack, members)):
        lines += ["", "// MarshalJSON leaves out members that are not set.", f"func (request {name}) MarshalJSON() ([]byte, error) {{",
                  "\treturn json.Marshal(membersSet(request))", "}"]
    return lines


def words(definition):
    name = go_name(definition["name"])
    rows = [(definition["about_words"][word], (f"{name}{go_name(word.replace('-', '_'))}", name, f'= "{word}"')) for word in definition["words"]]
    about = f"{definition['about']} Newer versions may add values.".strip()
    return ["", *comment(about), f"type {name} string", "", f"// The values of {name}.", "const (", *aligned(rows), ")"]


def method(each):
    name, answer = go_name(each["name"]), f"{go_name(each['name'])}Answer"
    takes, given = (f", parameters {name}Parameters", "parameters") if each["parameters"] else ("", "nil")
    lines = ["", *comment(f"{name}: {each['about']}")]
    if each["traits"]["subscribes"]:
        return [*lines, f"func (c *Client) {name}(ctx context.Context{takes}) *Stream[{answer}] {{",
                f"\treturn stream[{answer}](ctx, c, \"{each['name']}\", {given})", "}"]
    if each["traits"]["reports_progress"]:
        return [*lines, "// If onProgress is not nil, calls it with the progress, from 0 to 1. Only the context limits the time of the call.",
                f"func (c *Client) {name}(ctx context.Context{takes}, onProgress func(float64)) (*{answer}, error) {{",
                f"\treturn withProgress[{answer}](ctx, c, \"{each['name']}\", {given}, onProgress)", "}"]
    return [*lines, f"func (c *Client) {name}(ctx context.Context{takes}) (*{answer}, error) {{",
            f"\treturn ask[{answer}](ctx, c, \"{each['name']}\", {given})", "}"]


def errors(description):
    rows = [("", (f"Err{go_name(short)}", "ErrorName", f'= "{name}"')) for short, name in description.errors().items()]
    return ["", "// The errors of org.gpuprobe, for errors.Is.", "const (", *aligned(rows), ")"]


def go(description, made):
    spdx, *made = made
    lines = [f"// {spdx}", "", "// Code generated when gpuprobe is built. DO NOT EDIT.", *(f"// {line}" for line in made[1:]), "", *HEAD.splitlines()]
    inputs = description.input_names()
    for each in description.of_methods():
        lines += words(each) if each["words"] else record(go_name(each["name"]), each["members"], each["about"], each["name"] in inputs)
    for each in description.methods:
        name = go_name(each["name"])
        if each["parameters"]:
            lines += record(f"{name}Parameters", each["parameters"], f"{name}Parameters are the parameters of {name}.", is_input=True)
        lines += record(f"{name}Answer", each["result"], each["result_about"])
        lines += method(each)
    return "\n".join([*lines, *errors(description), ""])
