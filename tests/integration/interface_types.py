# SPDX-License-Identifier: Apache-2.0
"""Types of TypeScript and of Python for an interface of Varlink, from its description."""
import collections
import json
import keyword
import re

WORD = re.compile(r"\s*(->|\[string\]|\[\]|[A-Za-z_][A-Za-z0-9_.]*|[(),:?])")
MADE = """SPDX-License-Identifier: Apache-2.0
Made from the description of org.gpuprobe by the test integration.{} (GPUPROBE_ACCEPT=1).
Whole numbers are bytes, microseconds or counts; {} is unknown.
"""

# A type is a name, or ("?", type), ("[]", type), ("[string]", type).
Member = collections.namedtuple("Member", "name type said")
# A record has members, an enumeration words.
Type = collections.namedtuple("Type", "name members words")
Method = collections.namedtuple("Method", "name said parameters answer")


class Reader:
    """Words of a description; comments that stand before a word are in `said`."""

    def __init__(self, text):
        self.text, self.at, self.said = text, 0, []

    def next(self):
        self.said = []
        while (comment := re.compile(r"\s*#[ \t]*(.*)\n").match(self.text, self.at)):
            self.said.append(comment[1])
            self.at = comment.end()
        word = WORD.match(self.text, self.at)
        if not word:
            return None
        self.at = word.end()
        return word[1]

    def peek(self):
        at, said = self.at, self.said
        word = self.next()
        self.at, self.said = at, said
        return word

    def take(self, *wanted):
        word = self.next()
        if word not in wanted:
            raise ValueError(f"'{word}' in the place of {wanted}, before: {self.text[self.at:self.at + 80]}")
        return word

    def type(self):
        word = self.next()
        return (word, self.type()) if word in ("?", "[]", "[string]") else word

    def record(self):
        """(members, words)"""
        members, words = [], []
        self.take("(")
        while self.peek() != ")":
            name, said = self.next(), self.said
            if self.peek() in (",", ")"):
                words.append(name)
            else:
                self.take(":")
                members.append(Member(name, self.type(), said))
            if self.peek() == ",":
                self.take(",")
        self.take(")")
        return members, words


def definitions(description):
    """(types, methods)"""
    read = Reader(description)
    read.take("interface")
    read.next()
    types, methods = [], []
    while (word := read.next()):
        said, name = read.said, read.next()
        if word == "type":
            types.append(Type(name, *read.record()))
        elif word == "error":
            read.record()
        elif word == "method":
            parameters, _ = read.record()
            read.take("->")
            methods.append(Method(name, said, parameters, read.record()[0]))
        else:
            raise ValueError(f"no definition: {word}")
    return types, methods


def name_in(kind):
    return kind if isinstance(kind, str) else name_in(kind[1])


def inputs_of(methods):
    """Types that methods take: what is not given there is left out."""
    return {name_in(member.type) for method in methods for member in method.parameters}


def may_lack(member):
    return member.type[0] == "?"


def indented(text):
    return text.replace("\n", "\n  ")


def typescript_type(kind):
    simple = {"string": "string", "int": "number", "float": "number", "bool": "boolean", "object": "Json"}
    if isinstance(kind, str):
        return simple.get(kind, kind)
    inner = typescript_type(kind[1])
    if kind[0] == "?":
        return f"{inner} | null"
    inner = f"({inner})" if " | " in inner else inner
    return f"{inner}[]" if kind[0] == "[]" else f"{{ [key: string]: {inner} }}"


def typescript_record(members, is_input):
    lines = []
    for member in members:
        lines += [f"  /** {line} */" for line in member.said]
        lines.append(f"  {member.name}{'?' if is_input and may_lack(member) else ''}: {typescript_type(member.type)};")
    return "{\n" + "\n".join(lines) + "\n}" if lines else "{}"


def typescript(description):
    types, methods = definitions(description)
    inputs = inputs_of(methods)
    parts = ["".join(f"// {line}\n" for line in MADE.format("node.NodeTypes", "null").splitlines()),
             "/** What drivers and documents say. */\n"
             "export type Json = string | number | boolean | null | Json[] | { [member: string]: Json };\n"]
    for each in types:
        text = " | ".join(f'"{word}"' for word in each.words) or typescript_record(each.members, each.name in inputs)
        parts.append(f"export type {each.name} = {text};\n")
    parts += ["/** The methods of org.gpuprobe. */", "export interface Methods {"]
    for method in methods:
        parts += [f"  /** {line} */" for line in method.said]
        taken, answer = typescript_record(method.parameters, True), typescript_record(method.answer, False)
        parts.append(f"  {method.name}: {{ parameters: {indented(taken)}; answer: {indented(answer)} }};")
    return "\n".join([*parts, "}", ""])


def python_type(kind):
    simple = {"string": "str", "object": "Json"}
    if isinstance(kind, str):
        return simple.get(kind, kind)
    inner = python_type(kind[1])
    return {"?": f"Optional[{inner}]", "[]": f"List[{inner}]", "[string]": f"Dict[str, {inner}]"}[kind[0]]


def python_record(name, members, is_input, said=()):
    """A TypedDict; one with a key that is a word of Python's is made by a call."""
    if any(keyword.iskeyword(member.name) for member in members):
        lines = [f'    "{member.name}": "{python_type(member.type)}",' for member in members]
        return "\n".join([f'\n\n{name} = TypedDict("{name}", {{', *lines, "})"])
    lines = [f'    """{" ".join(said)}"""'] if said else []
    for member in members:
        lines += [f"    # {line}" for line in member.said]
        lines.append(f"    {member.name}: {python_type(member.type)}")
    total = ", total=False" if is_input and all(map(may_lack, members)) else ""
    return "\n".join([f"\n\nclass {name}(TypedDict{total}):", *(lines or ["    pass"])])


def python(description):
    """Of parameters only those of methods that need none: the others are given one by one."""
    types, methods = definitions(description)
    inputs = inputs_of(methods)
    spdx, *made = MADE.format("python.PythonTypes", "None").splitlines()
    parts = [f"# {spdx}", '"""The documents that gpuprobe takes and answers.\n', *made, '"""', "from __future__ import annotations\n",
             "from typing import Any, Dict, List, Literal, Optional, TypedDict\n", "Json = Any  # what drivers and documents say"]
    # Words first: they are read when the module is loaded.
    parts += [f"{each.name} = Literal{json.dumps(each.words)}" for each in types if each.words]
    parts += [python_record(each.name, each.members, each.name in inputs) for each in types if not each.words]
    for method in methods:
        if method.parameters and all(map(may_lack, method.parameters)):
            parts.append(python_record(f"{method.name}Parameters", method.parameters, True))
        parts.append(python_record(f"{method.name}Answer", method.answer, False, method.said))
    return "\n".join([*parts, ""])
