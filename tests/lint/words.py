# SPDX-License-Identifier: Apache-2.0
"""Checks sentences that people read: they must use one term for each thing, be complete, and have a limited length. docs/internals/words.md lists the
rules.

Usage: words.py SOURCE
       words.py --self-test   shows that each rule can fail
"""
import json
import pathlib
import re
import sys

# Phrases to avoid, and their replacements. Commands, quotes and names are not checked.
EVERYWHERE = {
    r"\bgraphics cards?\b|\bvideo cards?\b|\bgraphics adapters?\b": "GPU",
    r"\bcan't\b|\bcan not\b": "cannot",
    r"\bdon't\b|\bdoesn't\b|\bisn't\b|\bwon't\b": "the words in full",
    r"\banew\b": "again, or re- in front of the verb",
    r"\bmost often\b": "usually",
    r"\bin place of\b": "instead of",
    r"\bset aside for virtual\b": "reserved for virtual machines",
    r"\bdid harm\b": "is in quarantine",
    r"\bsmall kernel\b": "test computation: a kernel is the operating system's",
}
# More phrases to avoid in the output of programs, on Cockpit's page, and in reasons.
BANNED = {
    **EVERYWHERE,
    r"\b(does|do) without\b": "does not need",
    r"\b(of|by) (a \w+ of )?(NVIDIA|AMD|Intel|Mesa|udev|systemd|Google|Hailo|Qualcomm|Tenstorrent)'s(?! \w)": "the name in front: an NVIDIA GPU",
    r"\b(says|said) no\b|\btells? different\b": "what happened",
    r"\bmay not\b": "has no permission to, or cannot",
    r"\bnobody (tells|has asked|says|knows)\b": "it is not known",
    r"\bis not there\b": "does not exist, or is missing",
    r"\bthough\b": "although",
    r"\bwhere (it|that|this|they|none|nothing|nobody|its?) (is|are|fails?|comes?|does|has|was)\b": "if, or when",
    r"; else\b|, else\b": "otherwise",
    r"\bsorry\b|\bplease\b|\boops\b": "nothing",
}
# The maximum length of a sentence in bytes, which is the length of the longest acceptable sentence. Text in brackets is not counted.
MOST = {"reason": 110, "cause": 190, "fix": 330}
# Names that begin with a capital letter in any position.
PROPER = re.compile(r"[A-Z]\w*[A-Z0-9]|(Vulkan|Mesa|Intel|Level Zero|Secure Boot|Resizable BAR|Windows)\b")

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
LITERALS = re.compile(rf"{LITERAL}(?:\s*{LITERAL})*")
# Matches words of a sentence, but not options, keys, units or paths.
WORDY = r"[A-Za-z'’]{2,} [A-Za-z'’]|^[,;]? ?[a-z']+ $|^ [a-z']{2,}|[a-z']{2,} $"
BY_HAND = re.compile(r"""(==|!=|>) ?1 ?\? ?(""|"s"|''|'s') ?:""")


def text_of(literals):
    """Returns the text of a C++ literal, or of several adjacent literals."""
    return "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literals)).replace('\\"', '"').replace("\\n", "\n")


def code_of(text):
    """Returns C++ or JavaScript code without its comments, and with unchanged line numbers."""
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found.group().count("\n"), text, flags=re.S)
    return re.sub(r"(?m)^\s*//.*$|\s//\s.*$", "", text)


def banned_in(sentence, banned=BANNED):
    """Yields the phrases in a sentence that should be avoided, with their replacements. Ignores quotes and commands."""
    spoken = re.sub(r"'[^']* [^']*'|\{[^}]*\}|https?://\S+", " ", sentence)
    for pattern, instead in banned.items():
        if found := re.search(pattern, spoken):
            yield f"'{found.group()}' is not said: {instead}"


def shape_faults(kind, sentence):
    """Finds faults in a reason, a cause or a fix, each of which must be a clause."""
    bare = re.sub(r"\[[^\]]*\]", "", sentence)
    if len(bare) > MOST[kind]:
        yield f"{len(bare)} bytes, and {MOST[kind]} are the most"
    if bare.rstrip().endswith("."):
        yield "a full stop: it is a clause"
    if sentence != sentence.strip() or "  " in sentence:
        yield "white space"
    first = sentence.split(" ")[0]
    if first[:1].isupper() and not PROPER.match(sentence):
        yield "a capital: it is a clause"


def reasons_of(source):
    """Yields (code, sentence, fix) of each row in the table of reasons."""
    text = code_of((source / "src/explain/wording_table.h").read_text(encoding="utf-8"))
    text = text[text.index("kWordings[]"):]
    for entry in re.findall(rf"\{{((?:\s*{LITERAL}\s*,?)+)\}}", text):
        code, sentence, *fix = [text_of(part) for part in LITERALS.findall(entry)]
        yield code, sentence, "".join(fix)


def reason_faults(rows):
    seen = {}
    for code, sentence, fix in rows:
        for kind, words in (("reason", sentence), ("fix", fix)):
            for fault in (*banned_in(words), *shape_faults(kind, words)) if words else ():
                yield f"{code}: {fault}"
        if sentence in seen:
            yield f"{code}: says the same as {seen[sentence]}"
        seen[sentence] = code


def cause_faults(causes):
    for cause in causes:
        told = [("cause", cause.get("text", ""))]
        for fix in cause.get("fixes", []):
            told += [("cause", fix[key]) for key in ("text",) if fix.get(key)]
            told += [("fix", fix["fix"])] if fix.get("fix") else []
        for kind, words in told:
            for fault in (*banned_in(words), *shape_faults(kind, words)):
                yield f"{cause['id']}: {fault}: {words[:60]}"


def glued_in(code):
    """Yields (line, fault) of sentences that the code concatenates from parts."""
    for found in LITERALS.finditer(code):
        said = text_of(found.group())
        before, after = code[:found.start()].rstrip()[-12:], code[found.end():].lstrip()[:2]
        is_joined = before.endswith(("+", "+=")) or after.startswith("+") and after != "++" or before.endswith(".append(")
        inside = said.strip("\n")
        # A string before or after a colon, or at the end of a line, is a complete sentence, and so is an option that precedes its value.
        is_whole = inside.startswith(": ") or inside.endswith(": ") or said != inside and said.endswith("\n")
        if is_joined and not is_whole and re.search(WORDY, inside) and not re.match(r"^(: |, |\n| )?--?[a-z-]+[ =]?[a-z]*$", inside):
            yield code[:found.start()].count("\n") + 1, f"a half: {said!r}"
    for found in BY_HAND.finditer(code):
        yield code[:found.start()].count("\n") + 1, "a plural by hand: explain/phrase.h has plural()"


def program_faults(path, text):
    code = code_of(text)
    for line, fault in glued_in(code):
        yield f"{path}:{line}: {fault}"
    for found in re.finditer(rf'R"(\w*)\((.*?)\)\1"|{LITERAL}(?:\s*{LITERAL})*', code, re.S):
        said = found.group(2) if found.group().startswith('R"') else text_of(found.group())
        if " " in said.strip():
            for fault in banned_in(said):
                yield f"{path}:{code[:found.start()].count(chr(10)) + 1}: {fault}"


def error_faults(path, text):
    """Finds faults in error messages of any component, which must use the same words as all other messages."""
    code = code_of(text)
    for found in LITERALS.finditer(code):
        for fault in banned_in(text_of(found.group()), EVERYWHERE):
            yield f"{path}:{code[:found.start()].count(chr(10)) + 1}: {fault}"


def page_faults(name, text):
    code = code_of(text)
    for found in re.finditer(rf"\b(_|ngettext)\(({LITERAL}(?:, {LITERAL})?)", code):
        line = code[:found.start()].count("\n") + 1
        for words in re.findall(r'"((?:[^"\\\n]|\\.)*)"', found.group(2)):
            for fault in banned_in(words):
                yield f"{name}:{line}: {fault}"
            if words != words.strip() or words[:1] in ",;:":
                yield f"{name}:{line}: a half: {words!r}"
    for found in re.finditer(r'\+ _\("|\b_\("[^"]*"\) \+', code):
        yield f"{name}:{code[:found.start()].count(chr(10)) + 1}: a sentence of halves"
    for found in BY_HAND.finditer(code):
        yield f"{name}:{code[:found.start()].count(chr(10)) + 1}: a plural by hand: cockpit.ngettext"


def document_faults(path, text):
    """Finds faults in a page of the documentation, a man page, or the description of an interface. Code is ignored."""
    spoken = re.sub(r"```.*?```|`[^`\n]*`", lambda found: "\n" * found.group().count("\n"), text, flags=re.S)
    for number, line in enumerate(spoken.splitlines(), 1):
        for fault in banned_in(line, EVERYWHERE):
            yield f"{path}:{number}: {fault}"


def documents(source):
    """Yields documents that users read, without words.md, which lists the phrases to avoid. Leaves out the tables of causes in doctor.md, because the
    data files contain the same strings."""
    for pattern in ("README.md", "man/*.md", "docs/*.md", "docs/internals/*.md", "dbus/*.xml", "data/schema/*.json", "src/report/reason_table.h"):
        for path in sorted(source.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            if path.name != "words.md":
                yield path.relative_to(source), re.sub(r"(?m)^\| `.*$", "", text) if path.name == "doctor.md" else text


def check(source):
    for path, text in documents(source):
        yield from document_faults(path, text)
    yield from reason_faults(reasons_of(source))
    for path in sorted((source / "data/knowledge/causes").glob("*.json")):
        yield from cause_faults(json.loads(path.read_text(encoding="utf-8"))["causes"])
    for component in ("cli", "explain"):
        for path in sorted((source / "src" / component).glob("*.*")):
            if path.name != "wording_table.h":
                yield from program_faults(path.relative_to(source), path.read_text(encoding="utf-8"))
    for path in sorted((source / "src").rglob("*.cpp")):
        yield from error_faults(path.relative_to(source), path.read_text(encoding="utf-8"))
    for path in sorted((source / "cockpit").glob("*.js")):
        if not path.name.startswith("po."):
            yield from page_faults(path.name, path.read_text(encoding="utf-8"))


def self_test():
    """Checks that the rules reject all bad samples and accept all good samples."""
    bad = [list(banned_in(words)) for words in (
        "your graphics card is old", "it can't be read", "load it anew", "most often it is old", "an NPU of Intel's", "it did harm before",
        "a small kernel on it failed", "you may not open it", "nobody tells how much", "the node is not there", "it is there, though old",
        "remove it where it is old", "start it, else restart")]
    bad += [list(reason_faults(rows)) for rows in (
        [("a", "x" * 111, "")], [("a", "It is old", "")], [("a", "it is old.", "")], [("a", "it is old", ""), ("b", "it is old", "")],
        [("a", "it is old", "x" * 331)])]
    bad += [list(cause_faults([{"id": "a", "text": "it is old", "fixes": [{"fix": "load it anew"}]}]))]
    bad += [list(program_faults("a.cpp", text)) for text in (
        'text += " and more " + name;', 'return "no such GPU " + name;', 'name + " guest"', 'count == 1 ? "" : "s"', 'text.append(" is old");',
        'fail("it can\'t be read")', 'R"(It can\'t be read.)"')]
    bad += [list(page_faults("a.js", text)) for text in ('_(", perhaps")', '_(" on $0")', '_("a") + name', 'n === 1 ? "" : "s"', '_("you can\'t")')]
    bad += [list(document_faults("a.md", text)) for text in ("It can't be read.", "One\nruns a small kernel.")]
    bad += [list(error_faults("a.cpp", 'Error{code, "it can\'t be run"}'))]
    good = [list(error_faults("a.cpp", 'Error{code, "it cannot be run"}  // it can\'t'))]
    good += [list(document_faults("a.md", text)) for text in ("It may not be read `anew`.", "```\n# can't\n```")]
    good += [list(banned_in(words)) for words in ("'no such, though'", "this card shares its lanes", "if it is old", "reload it")]
    good += [list(reason_faults([("a", "it is old[: {have}]", "update it: sudo apt update"), ("b", "CUDA is old", "")]))]
    good += [list(program_faults("a.cpp", text)) for text in (
        'phrase("{a} and {b}", words)', 'path + ": " + why', '"--output: " + text', 'text += "\\n" + title', "// it can't be", 'name + "=" + value')]
    good += [list(page_faults("a.js", text)) for text in ('_("$0 on $1")', 'ngettext("$0 GPU", "$0 GPUs", n)', "`${a} · ${b}`")]
    return [f"bad sample {at} passes" for at, faults in enumerate(bad) if not faults] + \
           [f"good sample {at}: {faults}" for at, faults in enumerate(good) if faults]


def main(argument):
    found = self_test() if argument == "--self-test" else list(check(pathlib.Path(argument)))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
