# SPDX-License-Identifier: Apache-2.0
"""Applies the rules in tools/knowledge/rules.json. A rule names the reader that finds a fact in the file that a data file cites, and the
place of the value in the data file.

FOLDER/files/OWNER+NAME/PATH is the current file. FOLDER/files/OWNER+NAME@COMMIT/PATH is the file at the cited commit.
A fact about the past ("pinned") is compared only with the file at the cited commit. INDEXES lists the files for facts that cite an address.
"""

import dataclasses
import hashlib
import html
import re

from manifest_import.documents import MAX_LIST, Refusal, decoded, read_file, scrubbed
from manifest_import.indexes import MAX_INDEX, ollama_presets

from . import cmake, functions, shell, texts, workflow

READERS = {
    "bazel": lambda data, text, a: texts.bazel_option(text, a["config"], a["variable"]),
    "cmake": lambda data, text, a: cmake.variable_in(text, a["variable"], a["known"], a.get("before")),
    "shell": lambda data, text, a: shell.variable_in(text, a["variable"], a["known"]),
    "docker": lambda data, text, a: texts.docker_argument(text, a["variable"]),
    "make": lambda data, text, a: texts.make_variable(text, a["condition"], a["variable"]),
    "python": lambda data, text, a: texts.python_value(text, a["name"], a.get("path", [])),
    "function": lambda data, text, a: functions.variable_in(text, a["function"], a["variable"], a["known"]),
    "json": lambda data, text, a: texts.json_value(data, a["path"]),
    "yaml": lambda data, text, a: texts.yaml_value(data, a["path"]),
    "toml": lambda data, text, a: texts.toml_value(data, a["path"]),
    "match": lambda data, text, a: texts.matched(text, a["pattern"]),
    "each": lambda data, text, a: texts.each_match(text, a["pattern"], a.get("within")),
    "matrix": lambda data, text, a: workflow.values_in_matrix(data, a["job"], a["key"], a.get("where")),
    "environment": lambda data, text, a: workflow.environment_value(data, a["job"], a["variable"], a["known"]),
    "contains": None,  # searches the file for the strings in the data file; see contained()
    "preset": lambda data, text, a: vars(ollama_presets(data).get(a["folder"]) or refuse(f"no folder {a['folder']}"))[a["part"]],
}
INDEXES = ((r"https://(?:api\.github\.com/repos|github\.com)/([\w.-]+)/([\w.-]+)/releases/tags?/([\w.-]+)", "github/{}+{}@{}.json"),
           (r"https://(?:api\.github\.com/repos|github\.com)/([\w.-]+)/([\w.-]+)/releases(?:/.*)?", "github/{}+{}.json"),
           (r"https://pypi\.org/project/([\w.-]+)/.*", "pypi/{}.json"),
           (r"https://(?:registry\.npmjs\.org|www\.npmjs\.com/package)/((?:@[\w.-]+/)?[\w.-]+).*", "npm/{}.json"),
           (r"https://download\.pytorch\.org/whl/(\w+)", "pytorch/{}.html"),
           (r"https://([\w./-]+?)/?", "pages/{}"))
CAPABILITY = re.compile(r"(?:(?P<kind>sm|compute)_)?(?P<major>[0-9]{1,2})(?P<dot>\.)?(?P<minor>[0-9])(?P<letter>[af])?"
                        r"(?P<suffix>-real|-virtual|\+PTX)?")


def refuse(why):
    raise Refusal(scrubbed(why))


def words_of(value):
    """Returns a list of words, from a list or from a string with separators."""
    items = sorted(value) if isinstance(value, (set, frozenset)) else value if isinstance(value, (list, tuple, dict)) else [value]
    return list(dict.fromkeys(word for item in items for word in re.split(r"[;,\s]+", str(item).strip()) if word))


def capabilities(value, part):
    """Compute capabilities with machine code ("sass") or PTX ("ptx") in the notations of nvcc, CMake, PyTorch and Bazel."""
    found = []
    for word in words_of(value):
        match = CAPABILITY.fullmatch(word) or refuse(f"not a compute capability: {word}")
        suffix, kind = match["suffix"], match["kind"]
        has_ptx = suffix in ("-virtual", "+PTX") or kind == "compute" or not (suffix or kind or match["dot"])
        has_sass = suffix != "-virtual" and kind != "compute"
        if has_sass if part == "sass" else has_ptx:
            found.append(f"{match['major']}.{match['minor']}")
    return list(dict.fromkeys(found))


def gfx_targets(value):
    words = [word.split(":")[0].lower() for word in words_of(value)]
    if wrong := [word for word in words if not re.fullmatch("gfx[0-9a-f]{3,4}", word)]:
        refuse(f"not a gfx target: {wrong[0]}")
    return list(dict.fromkeys(words))


CONVERSIONS = {
    "sass": lambda value: capabilities(value, "sass"),
    "ptx": lambda value: capabilities(value, "ptx"),
    "all code": lambda value: list(dict.fromkeys(capabilities(value, "sass") + capabilities(value, "ptx"))),
    "gfx": gfx_targets,
    "words": words_of,
    "text": lambda value: value if isinstance(value, str) else refuse("not a text"),
    "single": lambda value: texts.only(words_of(value), "a single word"),
    "number": lambda value: int(value) if re.fullmatch("[0-9]+", str(value)) else refuse("not a number"),
    "value": lambda value: value,
    "major.minor": lambda value: ".".join(str(value).split(".")[:2]),
}


@dataclasses.dataclass
class Result:
    application: str
    fact: str
    state: str  # same, changed, unreadable, no file, by hand
    detail: str = ""


def without_markup(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text)) if re.match(r"\s*<(!doctype|html)\b", text, re.IGNORECASE) else text


def leaves(value, item):
    """Returns the items of a list as strings. If an item is a pair, uses the element with the number `item`."""
    values = sorted(value) if isinstance(value, (set, frozenset)) else value if isinstance(value, (list, tuple, dict)) else [value]
    return [str(each[item] if isinstance(each, (list, tuple)) else each) for each in values]


def chosen(rule, value):
    """Returns the items that match the pattern `only`. If the pattern has a group, returns only the strings that the group matches."""
    if "only" not in rule and "item" not in rule:
        return value
    found = [re.fullmatch(rule.get("only", "(.*)"), each, re.DOTALL) for each in leaves(value, rule.get("item", -1))]
    return [match[match.re.groups and 1] for match in found if match] or refuse("nothing matches")


def renamed(names, value):
    """Returns the words in the terms of the data file. Rejects a word without a name, and leaves out a word whose name is null."""
    for word in value if isinstance(value, list) else [value]:
        if word not in names:
            refuse(f"a word that has no entry in `names`: {word}")
    return list(dict.fromkeys(names[word] for word in value if names[word] is not None)) if isinstance(value, list) else names[value]


def formed(form, value):
    return [form.format(word) for word in value] if isinstance(value, list) else form.format(value)


def with_libraries(table, documents):
    """Returns the table of rules, with the kernels of each library version in `libraries`."""
    kernels = {f"{document['name']} {version}": lists for document in documents for version, lists in document["versions"].items()}
    return {**table, "libraries": kernels}


def kernels_of(libraries, name, form):
    """Returns the targets for which the library has kernels. The list is empty if the library has no kernels of the requested form."""
    return libraries[name].get("sass" if form in ("sass", "ptx", "all code") else "gfx", [])


def parts_of(table, rule):
    """Returns the libraries that limit the kernels at the rule's places."""
    return [name for entry in table.get("parts", []) if set(entry["applications"]) & set(rule.get("applications", []))
            and set(entry["is"]) & set(rule.get("is", [])) for name in entry["of"]]


def extracted(rule, data, table):
    (reader, arguments), = rule["read"].items()
    value = CONVERSIONS[rule["as"]](chosen(rule, READERS[reader](data, without_markup(decoded(data, "text")), arguments)))
    if names := rule.get("names"):
        value = renamed(table["names"][names] if isinstance(names, str) else names, value)
    if isinstance(value, list):
        for name in parts_of(table, rule):
            value = [word for word in value if word in kernels_of(table["libraries"], name, rule["as"])]
        value = [word for word in value if word not in rule.get("without", {})]
    return formed(rule["form"], value) if "form" in rule else value


def lacking(data, texts_of_document):
    """Returns the strings in the data file that the cited file lacks. A part of a string such as {words} matches any text."""
    text = " ".join(decoded(data, "text").split())
    return [each for each in texts_of_document for part in re.split(r"\{[^{}]*\}", each) if " ".join(part.split()) not in text]


def places(node, path):
    """Yields (container, key) of each value at a path. `*` matches every member or item, and ~1 represents a slash."""
    key, _, rest = path.partition("/")
    key = key.replace("~1", "/")
    keys = (range(len(node)) if isinstance(node, list) else list(node)) if key == "*" else [int(key) if isinstance(node, list) else key]
    for each in keys:
        if isinstance(node, dict) and each not in node or isinstance(node, list) and each >= len(node):
            continue
        if not rest:
            yield node, each
        elif isinstance(node[each], (dict, list)):
            yield from places(node[each], rest)


def is_same(one, other, is_ordered=False):
    both = [sorted(map(str, value)) if isinstance(value, list) and not is_ordered else value for value in (one, other)]
    return both[0] == both[1]


def values_at(document, rule):
    """Returns the values in the data file to which the rule applies. If a build has several alternatives ("joined"), one list contains the values of
    all alternatives."""
    found = [(container, key) for path in rule["is"] for container, key in places(document, path)]
    if not found:
        refuse(f"the data file has no {', '.join(rule['is'])}")
    if rule.get("joined"):
        return [(None, list(dict.fromkeys(word for container, key in found for word in leaves(container[key], -1))))]
    return [((container, key), container[key]) for container, key in found]


def compare(rule, document, value, libraries):
    """Returns (old value, place) of each value that differs. A joined list has no place, because a person has to divide it among the alternatives."""
    if "expect" in rule:
        expected = kernels_of(libraries, rule["expect"]["library"], rule.get("as")) if isinstance(rule["expect"], dict) else rule["expect"]
        return [] if is_same(expected, value, rule.get("ordered")) else [(expected, None)]
    return [(old, place) for place, old in values_at(document, rule) if not is_same(old, value, rule.get("ordered"))]


def facts_of(document, start):
    """Returns the facts with a given text; if no fact has this text, returns the facts whose text begins with it."""
    facts = document["source"]["facts"]
    return [fact for fact in facts if fact["of"] == start] or [fact for fact in facts if fact["of"].startswith(start)]


def fact_of(document, start):
    found = facts_of(document, start)
    return found[0] if len({tuple(sorted(fact.items())) for fact in found}) == 1 else refuse(f"{document['name']}: {len(found)} facts begin with: {start}")


def index_of(address):
    """Returns the path that the index or page with a given address has in the folder."""
    matches = ((re.fullmatch(pattern, address), name) for pattern, name in INDEXES)
    return next((name.format(*(group.replace("/", "+") if "npm" in name else group for group in match.groups())) for match, name in matches if match), None)


def page_of(folder, address):
    """Returns the content for an address in the folder. If the requested release is the latest release, also uses the file of the latest release."""
    name = index_of(address)
    if name is None or (folder / name).is_file():
        return name and read_file(folder / name, MAX_INDEX)
    start, _, tag = name.removesuffix(".json").partition("@")
    latest = folder / f"{start}.json"
    data = read_file(latest, MAX_INDEX) if name.startswith("github/") and tag and latest.is_file() else None
    return data if data and texts.json_value(data, ["tag_name"]) == tag else None


def file_of(folder, fact, is_pinned):
    if "path" not in fact:
        return page_of(folder, fact["url"])
    name = fact["repo"].replace("/", "+")
    for owner in ([] if is_pinned else [name]) + [f"{name}@{fact['commit']}"]:
        path = folder / "files" / owner / fact["path"]
        if path.is_file():
            return read_file(path, MAX_LIST)
        if (folder / "files" / owner).is_dir() and not is_pinned:
            refuse(f"{fact['path']} is no longer there")
    return None


def has_block(data, count, digest):
    """Returns whether the data contains the given number of consecutive lines with the given SHA-256."""
    lines = data.splitlines(keepends=True)
    return any(hashlib.sha256(b"".join(lines[start:start + count])).hexdigest() == digest for start in range(len(lines) - count + 1))


def check_by_hand(entry, document, folder):
    try:
        fact = fact_of(document, entry["fact"])
    except Refusal as problem:
        return Result(document["name"], entry["fact"], "unreadable", str(problem))
    data = file_of(folder, fact, entry.get("pinned", False)) if "sha256" in entry else None
    if data is None:
        return Result(document["name"], fact["of"], "by hand", f"{entry['date']}: {entry['reason']}")
    if has_block(data, entry["lines"], entry["sha256"]):
        return Result(document["name"], fact["of"], "same", "the cited lines are unchanged")
    return Result(document["name"], fact["of"], "changed", "the cited lines are different; read them again")


def apply_rule(rule, document, folder, table, write):
    result = Result(document["name"], rule["fact"], "no file")
    try:
        fact = fact_of(document, rule["fact"])
        result.fact = fact["of"]
        data = file_of(folder, fact, rule.get("pinned", False))
        if data is None:
            return result
        if "contains" in rule["read"]:
            return dataclasses.replace(result, **contained(rule, document, data))
        value = extracted(rule, data, table)
        changes = compare(rule, document, value, table["libraries"])
    except Refusal as problem:
        return dataclasses.replace(result, state="unreadable", detail=str(problem))
    if not changes:
        return dataclasses.replace(result, state="same")
    for _, place in changes:
        if write and place:
            place[0][place[1]] = value
    return dataclasses.replace(result, state="changed", detail=f"{changes[0][0]} → {value}")


def contained(rule, document, data):
    """Compares the strings in the data file with the cited file. If the file does not contain a string, a person has to find the new string."""
    wanted = rule["expect"] if "expect" in rule else [word for _, value in values_at(document, rule) for word in leaves(value, -1)]
    wanted = [match[match.re.groups and 1] for word in wanted if (match := re.fullmatch(rule.get("only", "(.*)"), word))]
    missing = lacking(data, wanted or refuse("the data file has no such text"))
    return {"state": "changed", "detail": f"the file no longer contains: {missing[0]}"} if missing else {"state": "same"}


def facts_without_rule(table, document):
    """Returns the facts without a rule and without an entry in `by_hand`. Returns an empty list if the rules are complete."""
    entries = [entry for entry in table["rules"] + table["by_hand"] if document["name"] in entry["applications"]]
    covered = [fact["of"] for entry in entries for fact in facts_of(document, entry["fact"])]
    return [fact["of"] for fact in document.get("source", {}).get("facts", []) if fact["of"] not in covered]


def check_parts(table, document):
    """Checks that each build in the data file has only kernels that all its libraries have."""
    entries = [entry for entry in table.get("parts", []) if document["name"] in entry["applications"]]
    for entry, name in ((entry, name) for entry in entries for name in entry["of"]):
        result = Result(document["name"], f"kernels of {name}", "same")
        try:
            wanted = [word for (_, key), value in values_at(document, entry) for word in value if word not in kernels_of(table["libraries"], name, key)]
        except Refusal as problem:
            wanted, result = [], dataclasses.replace(result, state="unreadable", detail=str(problem))
        yield dataclasses.replace(result, state="changed", detail=f"{name} has none for {' '.join(wanted)}") if wanted else result


def check_all(table, documents, folder, write=False):
    """Returns the results of all rules, and of all facts that are checked by hand. `documents` contains the data files by name."""
    results = [apply_rule(rule, documents[name], folder, table, write)
               for rule in table["rules"] for name in rule["applications"] if name in documents]
    results += [check_by_hand(entry, documents[name], folder)
                for entry in table["by_hand"] for name in entry["applications"] if name in documents]
    return results + [result for document in documents.values() for result in check_parts(table, document)]
