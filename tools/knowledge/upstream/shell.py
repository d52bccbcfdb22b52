# SPDX-License-Identifier: Apache-2.0
"""Reads variables of a shell script. Supports assignments, if [[ ]] and case. Evaluates a condition only if the variable depends on the condition.

Source: bash(1), "Compound Commands", "Pattern Matching" and "Parameter Expansion"
"""

import fnmatch
import re
import shlex

from manifest_import.documents import Refusal, scrubbed

MAX_LINES = 20000
ASSIGNMENT = re.compile(r"^(?:export\s+|local\s+|readonly\s+)?(?P<name>[A-Za-z_]\w*)(?P<sign>\+?=)(?P<value>.*)$", re.DOTALL)
PARAMETER = re.compile(r"\$(?:\{(?P<braced>\w+)(?P<default>:-[^{}]*)?\}|(?P<bare>[A-Za-z_]\w*))")
STARTS = {"if": "fi", "case": "esac", "for": "done", "while": "done", "until": "done"}
ENDS = set(STARTS.values())


def lines_of(text):
    """Returns the lines without comments and here documents. Continued lines are joined."""
    lines, ending = [], None
    for line in text.replace("\\\n", "").splitlines():
        if ending is not None:
            ending = None if line.strip() == ending else ending
            continue
        line = re.sub(r"^\s*#.*|(?<=\s)#(?!\{)[^\"']*$", "", line).strip()
        if start := re.search(r"<<-?\s*[\"']?(\w+)", line):
            ending = start[1]
        lines += [line] if line else []
    if len(lines) > MAX_LINES:
        raise Refusal(f"over {MAX_LINES} lines")
    return lines


def first_word(line):
    return re.match(r"[\w;]*", line)[0]


class Script:
    def __init__(self, text, wanted, known):
        self.lines, self.wanted, self.values = lines_of(text), wanted, dict(known)

    def filled(self, text):
        def value_of(match):
            name = match["braced"] or match["bare"]
            value = self.values.get(name)
            if value is None and match["default"] is None:
                raise Refusal(f"the unknown variable {scrubbed(name)}")
            return value if value else self.filled(match["default"][2:]) if match["default"] else ""
        text = PARAMETER.sub(value_of, text)
        if "$" in text or "`" in text:
            raise Refusal(f"an expansion that cannot be read: {scrubbed(text)}")
        return text

    def words(self, text):
        try:
            return shlex.split(self.filled(text))
        except ValueError:
            raise Refusal(f"quotes that do not end: {scrubbed(text)}") from None

    def concerns(self, first, last):
        word = re.compile(rf"\b{re.escape(self.wanted)}\b")
        return any(word.search(line) for line in self.lines[first:last])

    def end_of(self, place):
        depth = 0
        for number in range(place, len(self.lines)):
            word = first_word(self.lines[number])
            depth += word in STARTS
            depth -= word.rstrip(";") in ENDS or bool(re.search(r";\s*(fi|done|esac)\s*;?$", self.lines[number]))
            if depth == 0:
                return number
        raise Refusal(f"a block without its end: {scrubbed(self.lines[place])}")

    def run(self, place, end):
        while place < end:
            word = first_word(self.lines[place])
            if word in STARTS:
                last = self.end_of(place)
                if self.concerns(place, last):
                    {"if": self.branch, "case": self.choose}.get(word, self.refuse)(place, last)
                place = last
            else:
                self.take(self.lines[place])
            place += 1

    def refuse(self, place, _last):
        raise Refusal(f"{self.wanted} inside of {scrubbed(self.lines[place])}")

    def take(self, line):
        match = ASSIGNMENT.match(line)
        if match and "$(" not in match["value"]:
            self.assign(match)
        elif match and match["name"] != self.wanted:
            self.values.pop(match["name"], None)
        elif re.search(rf"\b{re.escape(self.wanted)}\+?=", line) or re.search(rf"\b(read|unset|declare)\b.*\b{re.escape(self.wanted)}\b", line):
            raise Refusal(f"a line that cannot be read: {scrubbed(line)}")

    def assign(self, match):
        name, before = match["name"], ""
        try:
            if match["sign"] == "+=":
                before = self.filled(f"${name}")
            words = self.words(match["value"])
        except Refusal:
            if name == self.wanted:
                raise
            self.values.pop(name, None)
            return
        if len(words) < 2:
            self.values[name] = before + "".join(words)
        elif name == self.wanted:
            raise Refusal(f"a line that cannot be read: {scrubbed(match[0])}")

    def branch(self, place, last):
        """Runs the first branch of if, elif and else whose condition is true."""
        marks, depth = [place], 0
        for number in range(place + 1, last):
            word = first_word(self.lines[number])
            depth += (word in STARTS) - (word.rstrip(";") in ENDS)
            if depth == 0 and word in ("elif", "else"):
                marks.append(number)
        for mark, end in zip(marks, [*marks[1:], last]):
            line = self.lines[mark]
            if first_word(line) == "else" or self.holds(re.sub(r"^(if|elif)\s+|;?\s*(then)?$", "", line)):
                self.run(mark + 1 + (self.lines[mark + 1] == "then"), end)
                return

    def holds(self, condition):
        for sign, of in (("||", any), ("&&", all)):
            parts = re.split(rf"\s*{re.escape(sign)}\s*", condition.strip().removeprefix("[[").removesuffix("]]")) if sign in condition else []
            if parts:
                return of([self.holds(part) for part in parts])
        words = condition.strip().removeprefix("[[").removesuffix("]]").removeprefix("[").removesuffix("]").split()
        if words[:1] == ["!"]:
            return not self.holds(" ".join(words[1:]))
        if len(words) == 2 and words[0] in ("-n", "-z"):
            return bool("".join(self.words(words[1]))) == (words[0] == "-n")
        if len(words) == 3 and words[1] in ("==", "=", "!="):
            return fnmatch.fnmatchcase("".join(self.words(words[0])), "".join(self.words(words[2]))) == (words[1] != "!=")
        raise Refusal(f"a condition that cannot be read: {scrubbed(condition)}")

    def choose(self, place, last):
        match = re.fullmatch(r"case\s+(.+?)\s+in", self.lines[place])
        if not match:
            raise Refusal(f"a line that cannot be read: {scrubbed(self.lines[place])}")
        value, number = "".join(self.words(match[1])), place + 1
        while number < last:
            label = re.fullmatch(r"\(?([^()]+)\)(.*)", self.lines[number])
            if not label:
                raise Refusal(f"not a pattern: {scrubbed(self.lines[number])}")
            end = next(line for line in range(number, last + 1) if self.lines[line].endswith(";;") or line == last)
            if any(fnmatch.fnmatchcase(value, "".join(self.words(pattern))) for pattern in label[1].split("|")):
                if inline := label[2].removesuffix(";;").strip():
                    self.take(inline)
                self.run(number + 1, end)
                return
            number = end + 1
        raise Refusal(f"no case for {scrubbed(value)}")


def variable_in(text, wanted, known):
    """Returns the value of the variable at the end of the script. `known` contains the values of other variables, for example of arguments."""
    script = Script(text, wanted, known)
    script.run(0, len(script.lines))
    if not script.values.get(wanted):
        raise Refusal(f"{wanted} is not set")
    return script.values[wanted]
