# SPDX-License-Identifier: Apache-2.0
"""Reads variables from a CMake file. Supports set(), list(APPEND), list(REMOVE_ITEM), and if() with the conditions that the rules need.

Ignores all other commands unless they name the requested variable. Source: cmake-language(7), if() and list() of cmake-commands(7)
"""

import re

from manifest_import.documents import Refusal, scrubbed

MAX_CMAKE = 1 << 20  # bytes
COMMAND = re.compile(r"([A-Za-z_]\w*)\s*\(")
ARGUMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(\()|(\))|([^\s()"]+))', re.DOTALL)
BLOCKS = {"function": "endfunction", "macro": "endmacro", "foreach": "endforeach", "while": "endwhile"}
FALSE = {"", "0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND"}
VERSIONS = {"VERSION_LESS": lambda a, b: a < b, "VERSION_GREATER": lambda a, b: a > b, "VERSION_EQUAL": lambda a, b: a == b,
            "VERSION_LESS_EQUAL": lambda a, b: a <= b, "VERSION_GREATER_EQUAL": lambda a, b: a >= b}


def commands_of(text):
    """Returns (name, arguments) of each command; an argument is (text, whether it was quoted)."""
    text = re.sub(r'("(?:[^"\\]|\\.)*")|#[^\n]*', lambda match: match[1] or "", text)
    place, found = 0, []
    while match := COMMAND.search(text, place):
        place, arguments, depth = match.end(), [], 1
        while depth:
            word = ARGUMENT.match(text, place)
            if not word:
                raise Refusal(f"{scrubbed(match[1])}(): the command does not end")
            place = word.end()
            depth += bool(word[2]) - bool(word[3])
            if depth:
                arguments.append((word[1], True) if word[1] is not None else (word[2] or word[3] or word[4], False))
        found.append((match[1].lower(), arguments))
    return found


def version_of(text):
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)*", text):
        raise Refusal(f"not a version: {scrubbed(text)}")
    parts = [int(part) for part in text.split(".")]
    return parts + [0] * (4 - len(parts))


class Variables:
    def __init__(self, known):
        self.values = dict(known)  # None: known to be undefined

    def filled(self, text):
        def value_of(match):
            if match[1] not in self.values:
                raise Refusal(f"the unknown variable {scrubbed(match[1])}")
            return self.values[match[1]] or ""
        return re.sub(r"\$\{(\w[\w.+-]*)\}", value_of, text)

    def known(self, name):
        if name not in self.values:
            raise Refusal(f"the unknown variable {scrubbed(name)}")
        return self.values[name]

    def operand(self, word):
        text, quoted = word
        filled = self.filled(text)
        is_name = not quoted and filled == text and re.fullmatch(r"[A-Za-z_]\w*", text)
        return self.known(text) or "" if is_name else filled

    def either(self, words):
        value = self.both(words)
        while words and words[0] == ("OR", False):
            words.pop(0)
            value = self.both(words) or value
        return value

    def both(self, words):
        value = self.single(words)
        while words and words[0] == ("AND", False):
            words.pop(0)
            value = self.single(words) and value
        return value

    def single(self, words):
        word = words.pop(0) if words else ("", False)
        if word == ("NOT", False):
            return not self.single(words)
        if word == ("(", False):
            value = self.either(words)
            words.pop(0)
            return value
        if word == ("DEFINED", False):
            return self.known(words.pop(0)[0]) is not None
        sign = words[0][0] if words and not words[0][1] else None
        if sign in VERSIONS:
            return VERSIONS[sign](version_of(self.operand(word)), version_of(self.operand((words.pop(0), words.pop(0))[1])))
        if sign in ("STREQUAL", "MATCHES"):
            other = self.operand((words.pop(0), words.pop(0))[1])
            return bool(re.search(other, self.operand(word))) if sign == "MATCHES" else self.operand(word) == other
        if sign not in (None, "AND", "OR", ")"):
            raise Refusal(f"the unknown condition {scrubbed(sign)}")
        text = self.operand(word) if not word[0].upper() in FALSE | {"1", "ON", "YES", "TRUE", "Y"} else word[0]
        return text.upper() not in FALSE


class Run:
    """Runs the commands. An if() is evaluated only if it is in a branch that is taken and contains the variable."""

    def __init__(self, text, wanted, known):
        self.commands, self.wanted, self.variables = commands_of(text), wanted, Variables(known)

    def ends_at(self, place, names):
        """Returns the index of the next command with one of these names at this level of if(), starting at `place`."""
        depth = 0
        for number in range(place, len(self.commands)):
            name = self.commands[number][0]
            if depth == 0 and name in names:
                return number
            depth += {"if": 1, "endif": -1}.get(name, 0)
        raise Refusal("an if() without its end")

    def concerns(self, first, last):
        word = re.compile(rf"\b{re.escape(self.wanted)}\b")
        return any(word.search(text) for _, arguments in self.commands[first:last] for text, _ in arguments)

    def run(self, place, end):
        while place < end:
            name, arguments = self.commands[place]
            if name == "if":
                place = self.branch(place)
            elif name in BLOCKS:
                place = self.skip(place)
            else:
                self.take(name, arguments)
            place += 1

    def skip(self, place):
        end = next((number for number in range(place, len(self.commands)) if self.commands[number][0] == BLOCKS[self.commands[place][0]]), None)
        if end is None:
            raise Refusal(f"{self.commands[place][0]}() without its end")
        return end

    def branch(self, place):
        last = self.ends_at(place + 1, ("endif",))
        if not self.concerns(place, last):
            return last
        is_done = False
        while place < last:
            end = self.ends_at(place + 1, ("elseif", "else", "endif"))
            name, arguments = self.commands[place]
            if not is_done and (name == "else" or self.variables.either(list(arguments))):
                is_done = True
                self.run(place + 1, end)
            place = end
        return last

    def set(self, words):
        """Assigns a variable. If the value cannot be read, the variable becomes unknown, or an error is raised for the requested variable."""
        values = words[1:words.index("CACHE")] if "CACHE" in words else [word for word in words[1:] if word != "PARENT_SCOPE"]
        try:
            self.variables.values[words[0]] = self.variables.filled(";".join(values))
        except Refusal:
            if words[0] == self.wanted:
                raise
            self.variables.values.pop(words[0], None)

    def take(self, name, arguments):
        words = [text for text, _ in arguments]
        if name == "set" and words:
            self.set(words)
        elif name == "list" and words[:1] == ["APPEND"] and words[1] == self.wanted:
            before = self.variables.values.get(self.wanted)
            self.variables.values[self.wanted] = ";".join([*([before] if before else []), *map(self.variables.filled, words[2:])])
        elif name == "list" and words[:1] == ["REMOVE_ITEM"] and words[1] == self.wanted and words[1] in self.variables.values:
            removed = [self.variables.filled(word) for word in words[2:]]
            self.variables.values[self.wanted] = ";".join(word for word in (self.variables.values[self.wanted] or "").split(";") if word not in removed)
        elif name in ("list", "unset", "string") and self.wanted in words[:3]:
            raise Refusal(f"{name}() changes {self.wanted} in a way that cannot be read")


def commands_before(commands, name):
    """Returns the commands before the first command with that name. An if() that is still open at this command ends there."""
    end = next((number for number, (each, _) in enumerate(commands) if each == name), None)
    if end is None:
        raise Refusal(f"no {scrubbed(name)}()")
    names = [each for each, _ in commands[:end]]
    return commands[:end] + [("endif", [])] * (names.count("if") - names.count("endif"))


def variable_in(text, wanted, known, before=None):
    """Returns the value of the variable at the end, or before the first command named `before`."""
    run = Run(text, wanted, known)
    if before:
        run.commands = commands_before(run.commands, before)
    run.run(0, len(run.commands))
    value = run.variables.values.get(wanted)
    if not value:
        raise Refusal(f"{wanted} is not set")
    return value
