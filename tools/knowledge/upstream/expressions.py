# SPDX-License-Identifier: Apache-2.0
"""Evaluates expressions of GitHub workflows: operators, literals, contexts, and the functions that the rules need.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/expressions
"""

import re

from manifest_import.documents import Refusal, scrubbed

TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?[0-9]+(?:\.[0-9]+)?)|(?P<name>[A-Za-z_][\w.-]*)"
                   r"|(?P<sign>&&|\|\||==|!=|<=|>=|[!<>(),]))")
LITERALS = {"true": True, "false": False, "null": None}
MAX_TOKENS = 512
COMPARISONS = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
               ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


def from_json(text):
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", str(text)):
        raise Refusal(f"fromJSON of something that is not a number: {scrubbed(str(text))}")
    return float(text)


def lowered(value):
    """Returns the string in lower case, because comparisons of strings ignore case."""
    return value.lower() if isinstance(value, str) else value


FUNCTIONS = {
    "contains": lambda where, what: lowered(what) in lowered(where),
    "startswith": lambda text, start: lowered(text).startswith(lowered(start)),
    "endswith": lambda text, end: lowered(text).endswith(lowered(end)),
    "fromjson": from_json,
}


def tokens_of(text):
    tokens, place = [], 0
    while place < len(text.rstrip()):
        match = TOKEN.match(text, place)
        if not match or len(tokens) == MAX_TOKENS:
            raise Refusal(f"an expression that cannot be read: {scrubbed(text)}")
        tokens.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return tokens


class Reading:
    """A parser that evaluates an expression while it reads the expression. `known` contains the values of names such as matrix.os."""

    def __init__(self, text, known):
        self.text, self.known, self.tokens = text, known, tokens_of(text)

    def refuse(self, why):
        raise Refusal(f"{why} in the expression {scrubbed(self.text)}")

    def take(self, *signs):
        if self.tokens and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return None

    def either(self):
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value or other
        return value

    def both(self):
        value = self.compared()
        while self.take("&&"):
            other = self.compared()
            value = value and other
        return value

    def compared(self):
        value = self.single()
        if sign := self.take(*COMPARISONS):
            other = self.single()
            if sign in ("==", "!="):
                return COMPARISONS[sign](lowered(value), lowered(other))
            if type(value) is not type(other):
                self.refuse("a comparison of different types")
            return COMPARISONS[sign](value, other)
        return value

    def single(self):
        if self.take("!"):
            return not self.single()
        if self.take("("):
            value = self.either()
            return value if self.take(")") else self.refuse("a missing parenthesis")
        kind, word = self.tokens.pop(0) if self.tokens else ("end", "")
        if kind == "text":
            return word[1:-1].replace("''", "'")
        if kind == "number":
            return float(word)
        if kind != "name":
            self.refuse("an unexpected sign")
        if self.take("("):
            return self.call(word)
        if word in LITERALS or word in self.known:
            return LITERALS[word] if word in LITERALS else self.known[word]
        return self.refuse(f"the unknown value {scrubbed(word)}")

    def call(self, name):
        values = [] if self.take(")") else [self.either()]
        while values and not self.take(")"):
            if not self.take(","):
                self.refuse("a missing parenthesis")
            values.append(self.either())
        if name.lower() not in FUNCTIONS:
            self.refuse(f"the unknown function {scrubbed(name)}")
        try:
            return FUNCTIONS[name.lower()](*values)
        except (TypeError, AttributeError):
            return self.refuse(f"arguments of {name} that do not fit")


def evaluate(text, known):
    """Returns the value of the expression without ${{ }}. Rejects unknown names and functions."""
    reading = Reading(text, known)
    value = reading.either()
    if reading.tokens:
        reading.refuse("more than one value")
    return value


def filled(text, known):
    """Returns the text with each ${{ expression }} replaced by its value."""
    def value_of(match):
        value = evaluate(match[1], known)
        return {True: "true", False: "false", None: ""}.get(value, value) if not isinstance(value, float) else f"{value:g}"
    return re.sub(r"\$\{\{(.*?)\}\}", value_of, text)
