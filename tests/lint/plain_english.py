# SPDX-License-Identifier: Apache-2.0
"""Counts phrases that make a native English reader stop, in each kind of text, and prints the lines that contain them.

Usage: plain_english.py SOURCE           fails if a kind of text has more than its limit per 1,000 words
       plain_english.py subjects SOURCE  fails if one of the last 50 commit subjects has no imperative verb
       plain_english.py --self-test      shows that each rule can fail

A text without a hit can still be hard to read, so read the text aloud, too.
"""
import pathlib
import re
import subprocess
import sys

HABITS = {
    "a what/who clause as a noun": r"\b(?:[Ww]hat|[Ww]hatever|[Ww]hoever) (?:is|are|was|were|has|have|can|does|did|it|they|a|an|the|each|every|there|no|to)\b",
    "that of, those of": r"\b(?:that|those) of\b",
    "is no, is none": r"\b(?:is|are|was|were) (?:none\b|no [a-z])",
    "of its own": r"\bof (?:its|their|one's|your|our|his) own\b",
    "of the driver's": r"\bof (?:a|an|the|each) [A-Za-z]+'s\b",
    "where for if": r"(?:^|[.;:,] )[Ww]here (?:no|a|an|it|they|the|that|there|nothing|none|one|both|neither)\b",
    "tell, told": r"\b(?:tells?|told|telling)\b",
    "stands, lies, rests, brings": r"\b(?:stands?|lies?|rests? on|goes by|brings?)\b",
    "alone for only": r"\balone\b",
    "an archaic word": r"\b(?:beside|anew|wherever|whatever|thereof|nobody|somebody|whoever)\b",
    "a metaphor": r"\b(?:doors?|rooms?|keepers?|storms?|cage|house)\b",
    "a sentence that begins with Of": r"(?:^|[.!?] )Of (?:a|an|the|what|each|several|its|those)\b",
}
# Hits per 1,000 words. Six man pages of systemd have 0 to 3.
LIMIT = 3.0

SUBJECTS = 50
# A subject is "component: verb …", or "component, component: verb …".
SUBJECT = re.compile(r"^[a-z][\w./+-]*(?:, [a-z][\w./+-]*)*: (\w+)")
VERBS = frozenset("""
accept adapt add adjust admit adopt advise allow answer apply ask assert assume attach attack avoid base bind bound build bump cache call cap
carry catch change check choose clarify clean clear close collect comment compare compile complete compute configure convert copy correct
count cover create cut date decide declare define delay delete derive describe detect disable divide do document draw drop embed enable
encode end enforce ensure escape evaluate exclude exercise expect explain export extend extract factor fail fall feed fill filter find fix
flatten fold follow forget format free freeze generate give group guard handle hash hide hold identify ignore implement import improve
include infer initialize inline insert install interpret introduce invert isolate join judge keep kill know label lay leave let limit link
list load lock log look lower make map mark match measure mention merge migrate mock move name normalize note offer omit open order pack
parse pass perform pick pin plan plug point poll prefer prepare prevent print probe profile protect prove publish pull push put query quote raise
randomize reach read rebuild record redact reduce refresh refuse register reject relax release rely remember remove rename render reorder
repair repeat replace replay report require reserve reset resolve respect restart restore restrict resume retry return reuse reverse revert
review reword rewrite round run sample save say scale scan search select send separate serve set share shorten show shrink signal silence simplify
skip sort speed split start state stop store stream strip suggest support survive suspend swap switch sync take teach tell terminate test
tighten time touch trace track translate treat trim try turn unify unload update upgrade use validate verify wait wake walk warn watch widen
wrap write""".split())


def texts(source):
    """Yields (kind, [(file, line number, text)]) of all texts that people read."""
    def lines_of(paths):
        return [(path.relative_to(source), number, line) for path in paths
                for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)]

    yield "README", lines_of([source / "README.md"])
    yield "docs", lines_of(sorted((source / "docs").rglob("*.md")) + [source / "CONTRIBUTING.md", source / "SECURITY.md"])
    yield "man pages", lines_of(sorted((source / "man").rglob("*.md")))
    yield "CHANGELOG", lines_of([source / "CHANGELOG.md"])
    code = [path for top in ("src", "include") for path in sorted((source / top).rglob("*")) if path.suffix in (".h", ".cpp", ".c")]
    yield "comments", [(path, number, comment[1]) for path, number, line in lines_of(code)
                       if "SPDX" not in line and (comment := re.search(r"//[/<]* ?(.*)", line))]
    said = [path for path in code if path.name in ("wording_table.h", "probe_words.cpp")]
    said += sorted((source / "data/knowledge/causes").glob("*.json"))
    yield "sentences", [(path, number, " ".join(re.findall(r'"((?:[^"\\]|\\.)*[a-z] [a-z](?:[^"\\]|\\.)*)"', line)))
                        for path, number, line in lines_of(said)]


def habits_in(text):
    return [name for name, pattern in HABITS.items() for _ in re.findall(pattern, text)]


def density(lines):
    """Returns the hits per 1,000 words, and the lines that contain a hit."""
    hits = [(path, number, text, found) for path, number, text in lines if (found := habits_in(text))]
    words = sum(len(text.split()) for _, _, text in lines)
    return 1000 * sum(len(found) for *_, found in hits) / max(words, 1), hits


def check(source):
    failed = False
    for kind, lines in texts(source):
        dense, hits = density(lines)
        print(f"{kind}: {dense:.1f} per 1,000 words (at most {LIMIT})")
        if dense > LIMIT:
            failed = True
            for path, number, text, found in hits:
                print(f"  {path}:{number}: [{', '.join(found)}] {text.strip()[:200]}")
    return failed


def subject_fault(subject):
    found = SUBJECT.match(subject)
    if not found:
        return "not 'component: verb …'"
    return "" if found[1] in VERBS else f"'{found[1]}' is not an imperative verb that this lint knows"


def check_subjects(source):
    log = subprocess.run(["git", "-C", source, "log", "--no-merges", f"-{SUBJECTS}", "--format=%s"], capture_output=True, text=True, check=False)
    if log.returncode != 0:
        print(f"skipped: no history to read: {log.stderr.strip()}")
        return 77
    faults = [f"{subject}: {fault}" for subject in log.stdout.splitlines() if (fault := subject_fault(subject))]
    print("\n".join(faults))
    return bool(faults)


def self_test():
    bad = ["what is left", "those of the kernel", "it is no reason", "a folder of its own", "of the driver's", "Where it fails, wait", "it was told",
           "it stands there", "root alone", "beside it", "the door", "Of a GPU the name"]
    good = ["what fails", "only root", "a standard", "if it fails, wait", "next to it", "the lifetime of a GPU"]
    subjects_bad = ["words of the doctor", "service: what is free is given back", "Service: trim the heap", "service: the heap is trimmed"]
    subjects_good = ["service: trim the heap", "base, store: read each file once", "tests/lint: count habits"]
    faults = [f"passes: {text}" for text in bad if not habits_in(text)] + [f"fails: {text}" for text in good if habits_in(text)]
    faults += [f"fails no rule: {name}" for name, pattern in HABITS.items() if not any(re.search(pattern, text) for text in bad)]
    faults += [f"passes: {text}" for text in subjects_bad if not subject_fault(text)]
    faults += [f"fails: {text}" for text in subjects_good if subject_fault(text)]
    few = [("a", 1, "what is left " + "word " * 997)]
    faults += ["the density is wrong"] if density(few)[0] != 1.0 or density([])[0] != 0 else []
    print("\n".join(faults))
    return bool(faults)


def main(words):
    if words == ["--self-test"]:
        return self_test()
    if words[:1] == ["subjects"] and len(words) == 2:
        return check_subjects(words[1])
    if len(words) == 1:
        return check(pathlib.Path(words[0]))
    print(__doc__.strip(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
