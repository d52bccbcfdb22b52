#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of gpuprobe on every recorded machine with the expected answers in answers.json.xz, so that
developers see each answer that a change of the code affects. The answers come from gpuprobectl, and from a replaying daemon over D-Bus and over the
socket.

Usage: golden.py check [PART/PARTS]   prints "machine, question, path: before -> after" for each difference; the exit status is 1
                                      if there is a difference
       golden.py accept               makes the current answers the expected answers
       golden.py show MACHINE [WORD]  prints the expected answers for a machine to the questions that contain the word
GPUPROBE_BIN is the folder of the programs; without this variable, build/test/src is used.
"""
import concurrent.futures
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import daemon

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
MACHINES = SOURCE / "tests/data/machines"
FROZEN = HERE / "answers.json.xz"
SHOWN = 60  # maximum number of differences that are printed for each part
# Members whose values depend on the time of the test run: dates, ages, and the generation number of the report. On D-Bus, these keys are in camel
# case.
MOMENTS = {"created_usec", "age_usec", "free_at_usec", "at_usec", "issued", "generated", "generation"}


def questions():
    return json.loads((HERE / "questions.json").read_text(encoding="utf-8"))


def machines():
    return sorted(place.name for place in MACHINES.iterdir() if place.is_dir() and place.name != "LICENSES")


def is_of_today(value):
    return isinstance(value, dict) and value.get("code") == "stale-document"


def is_moment(key):
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", key).lower() in MOMENTS


def without_moments(value):
    if isinstance(value, dict):
        return {key: without_moments(part) for key, part in value.items() if not is_moment(key)}
    return [without_moments(part) for part in value if not is_of_today(part)] if isinstance(value, list) else value


def lines_of(text):
    return [line for line in text.splitlines()
            if not any(word in line for word in ("timestamp", "expiry-time", "stale-document", "has expired"))]


def parsed(text):
    try:
        return without_moments(json.loads(text))
    except ValueError:
        return lines_of(text)


def answer(machine, question, home):
    program = pathlib.Path(os.environ.get("GPUPROBE_BIN", SOURCE / "build/test/src")) / "gpuprobectl"
    run = subprocess.run([program, "--replay", f"tests/data/machines/{machine}", *question], cwd=SOURCE,
                         env={"HOME": home, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, capture_output=True,
                         text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    return {"status": run.returncode, "answer": parsed(run.stdout), "errors": lines_of(run.stderr)}


def daemon_answers(machine):
    """Returns {question: answer} for D-Bus and the socket. Parses the JSON in answers that are strings."""
    with daemon.ReplayingDaemon(MACHINES / machine) as asked:
        return {question: parsed(given) if isinstance(given, str) else without_moments(given)
                for question, given in asked.answers(questions())}


def ask(names):
    """Asks all questions about a list of machines, and returns {machine: {question: answer}}."""
    asked = [(name, question) for name in names for question in questions()["gpuprobectl"]]
    with tempfile.TemporaryDirectory() as home, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        daemons = pool.map(daemon_answers, names)
        given = pool.map(lambda pair: answer(*pair, home), asked)
        answers = dict(zip(names, daemons))
        for (name, question), said in zip(asked, given):
            answers[name][" ".join(question)] = said
    return answers


def frozen():
    return json.loads(lzma.decompress(FROZEN.read_bytes()))


def differences(before, after, path=""):
    """Yields (path, before, after) for each different value; a path looks like "gpus[0].name"."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from differences(before.get(key, "(nothing)"), after.get(key, "(nothing)"), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        for place in range(max(len(before), len(after))):
            yield from differences(before[place] if place < len(before) else "(nothing)",
                                   after[place] if place < len(after) else "(nothing)", f"{path}[{place}]")
    else:
        yield path.lstrip("."), before, after


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + "…"


def check(part):
    number, count = (int(word) for word in part.split("/"))
    before = frozen()
    names = sorted({*machines(), *before})[number - 1::count]
    after = ask([name for name in names if name in machines()])
    found = [(name, question, *difference)
             for name in names
             for question in sorted({*before.get(name, {}), *after.get(name, {})})
             for difference in differences(before.get(name, {}).get(question, "(nothing)"),
                                           after.get(name, {}).get(question, "(nothing)"))]
    for name, question, path, old, new in found[:SHOWN]:
        print(f"{name}, {question}, {path}: {short(old)} -> {short(new)}")
    answers = len({(name, question) for name, question, *_ in found})
    print(f"{len(names)} machines: {answers} answers differ in {len(found)} places")
    return 1 if found else 0


def accept():
    text = json.dumps(ask(machines()), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    FROZEN.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{FROZEN.name}: {len(machines())} machines, {sum(map(len, questions().values()))} questions, {FROZEN.stat().st_size} bytes")
    return 0


def show(machine, word=""):
    for question, said in frozen()[machine].items():
        if word in question:
            print(f"{question}\n{json.dumps(said, indent=1, ensure_ascii=False)}")
    return 0


def main(words):
    if words[:1] == ["check"]:
        return check(words[1] if len(words) > 1 else "1/1")
    if words == ["accept"]:
        return accept()
    if len(words) in (2, 3) and words[0] == "show":
        return show(*words[1:])
    print(__doc__.strip(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
