# SPDX-License-Identifier: Apache-2.0
"""TypeScript's types of an interface of Varlink, from its description."""
import re

SIMPLE = {"string": "string", "int": "number", "float": "number", "bool": "boolean", "object": "Json"}
HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made from the description of org.gpuprobe by the test integration.node.NodeTypes (GPUPROBE_ACCEPT=1).
// Whole numbers are bytes, microseconds or counts; null is unknown.

/** What drivers and documents say. */
export type Json = string | number | boolean | null | Json[] | { [member: string]: Json };
"""
WORD = re.compile(r"\s*(->|\[string\]|\[\]|[A-Za-z_][A-Za-z0-9_.]*|[(),:?])")


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


def type_of(read, is_input):
    """(TypeScript's type, whether it may be absent)"""
    word = read.next()
    if word == "?":
        return f"{type_of(read, is_input)[0]} | null", True
    if word in ("[]", "[string]"):
        inner = type_of(read, is_input)[0]
        inner = f"({inner})" if " | " in inner else inner
        return (f"{inner}[]" if word == "[]" else f"{{ [key: string]: {inner} }}"), False
    return SIMPLE.get(word, word), False


def members(read, is_input):
    """A record as TypeScript, or the words of an enumeration."""
    read.take("(")
    lines, words = [], []
    while read.peek() != ")":
        name = read.next()
        said = read.said
        if read.peek() in (",", ")"):
            words.append(f'"{name}"')
        else:
            read.take(":")
            kind, may_lack = type_of(read, is_input)
            lines += [f"  /** {line} */" for line in said]
            lines.append(f"  {name}{'?' if is_input and may_lack else ''}: {kind};")
        if read.peek() == ",":
            read.take(",")
    read.take(")")
    return " | ".join(words) if words else "{\n" + "\n".join(lines) + "\n}" if lines else "{}"


def inputs_of(text):
    """Types that methods take: what is not given there is left out."""
    taken = re.findall(r"^method \w+(\(.*?\)) ->", text, re.MULTILINE)
    return {word for part in taken for word in re.findall(r"[A-Z]\w+", part)}


def indented(text):
    return text.replace("\n", "\n  ")


def typescript(description):
    read = Reader(description)
    inputs = inputs_of(description)
    read.take("interface")
    read.next()
    types, methods = [], []
    while (word := read.next()):
        said, name = read.said, read.next()
        if word == "type":
            types.append(f"export type {name} = {members(read, name in inputs)};\n")
        elif word == "error":
            members(read, False)
        elif word == "method":
            taken = members(read, True)
            read.take("->")
            answer = members(read, False)
            methods += [f"  /** {line} */" for line in said]
            methods.append(f"  {name}: {{ parameters: {indented(taken)}; answer: {indented(answer)} }};")
        else:
            raise ValueError(f"no definition: {word}")
    return "\n".join([HEAD, *types, "/** The methods of org.gpuprobe. */", "export interface Methods {", *methods, "}", ""])
