# SPDX-License-Identifier: Apache-2.0
"""Generates docs/reference.md after its mark, from the types of the interface and from examples."""
import json
import re

from . import calls

MARK = "<!-- Made by tools/interface-files --write reference: change src/calls or docs/reference-examples.json instead. -->"
# The maximum number of lines of an answer that the page shows, and the maximum number of characters of each line.
LINES, WIDTH = 12, 120
# Members whose values change from call to call, or with each new data file.
OF_THE_MOMENT = re.compile(r"generation|\w+_usec|set_by_uid")
OF_THE_DATA = ("version", "manifest_sha256", "rules")

KEEPING = {"never": "no", "until-report": "until the report changes", "a-second": "for a second, for the same caller"}
ERRORS = {
    "NoMatch": "the request is valid, but nothing on this machine satisfies it",
    "InvalidRequest": "a key or value of the request is unknown, has the wrong type, or contradicts another key or value",
    "InvalidParameter": "a parameter is unknown or has the wrong type; on D-Bus this is `InvalidRequest`",
    "UnknownApplication": "no application has this name",
    "NotFound": "the application has no variants",
    "NoSuchGpu": "no GPU or partition has this id",
    "MalformedManifest": "the manifest does not have the required format",
    "TooLarge": "a document or a message is larger than allowed",
    "WouldWake": "the call would have to wake a sleeping GPU, and `allow_wake` is not set",
    "NotAuthorized": "the caller has no permission to make this call ([Security](security.md))",
    "TooManyRequests": "the caller has reached one of its limits ([Security](security.md))",
    "Failed": "a file could not be written",
    "Cancelled": "the daemon ended before the answer was complete",
    "MethodNotFound": "the daemon is older than the caller and does not have this method",
    "ExpectedMore": "the method has several answers, but the call did not set `more`",
}
# Exit statuses of gpuprobectl by error. For all other errors, the exit status is 1.
STATUSES = {"NoMatch": 3, "InvalidRequest": 2, "InvalidParameter": 2, "NotAuthorized": 5, "MethodNotFound": 2, "ExpectedMore": 2}


# Answers -----------------------------------------------------------------------------------------------------------

def without_moment(value, is_root=True):
    """Returns the answer with 0 for each value that differs from call to call."""
    if isinstance(value, list):
        return [without_moment(each, False) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: 0 if each is not None and (OF_THE_MOMENT.fullmatch(key) or (is_root and key in OF_THE_DATA)) else without_moment(each, False)
            for key, each in value.items()}


def shortened(value, width):
    """Returns the value as JSON, shortened to about this width. "…" replaces the parts that are left out."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= width or not value or not isinstance(value, (dict, list)):
        return text if len(text) <= max(width, 40) else text[:max(width, 40) - 2].rstrip("\\") + '…"'
    parts, left = [], width - len("{, …}")
    for key in value if isinstance(value, dict) else range(len(value)):
        head = f"{json.dumps(key)}: " if isinstance(value, dict) else ""
        part = head + shortened(value[key], left - len(head))
        if parts and len(part) > left:
            break
        parts.append(part)
        left -= len(part) + 2
        if left < 20:
            break
    if len(parts) < len(value):
        parts.append("…")
    return ("{%s}" if isinstance(value, dict) else "[%s]") % ", ".join(parts)


def shown(answer):
    """Returns the lines of an answer that the page shows: its first members, each on one line."""
    members = without_moment(answer)
    whole = json.dumps(members, ensure_ascii=False)
    lines = [whole] if len(whole) <= WIDTH else [
        "{", *(f"  {json.dumps(key)}: {shortened(value, WIDTH - len(key) - 7)}," for key, value in list(members.items())[:LINES]),
        *(["  …"] if len(members) > LINES else []), "}"]
    if len(lines) > 1 and len(members) <= LINES:
        lines[-2] = lines[-2].removesuffix(",")
    names = "|".join((OF_THE_MOMENT.pattern, *OF_THE_DATA))
    return [re.sub(rf'"({names})": 0\b', r'"\1": …', line) for line in lines]


# Types -------------------------------------------------------------------------------------------------------------

def anchor(name):
    return name.lower()


def type_text(kind):
    word = kind["kind"]
    simple = {"bool": "boolean", "integer": "integer", "float": "number", "text": "string"}
    if word in simple:
        return simple[word]
    if word == "json":
        return {"DeviceFacts": "facts", "object": "object"}.get(kind.get("name"), "any JSON")
    if word == "named":
        return f"[{kind['name']}](#{anchor(kind['name'])})"
    inner = type_text(kind["item"])
    return {"nullable": f"{inner} or null", "list": f"list of {inner}", "map": f"map of {inner}"}[word]


def codes_of(words):
    return ", ".join(f"`{word}`" for word in words)


def cell(text):
    return text.replace("|", "\\|").replace("\n", "<br>")


def row(*cells):
    return f"| {' | '.join(map(cell, cells))} |"


def members_table(first, members):
    lines = [f"| {first} | type | meaning |", "| --- | --- | --- |"]
    return [*lines, *(row(f"`{member['name']}`", type_text(member["type"]) + (", may be missing" if member.get("optional") else ""),
                          member["about"]) for member in members)]


def parameters_table(members):
    """Returns a table of parameters. Parameters that may be null are optional."""
    lines = ["| parameter | type | | meaning |", "| --- | --- | --- | --- |"]
    for member in members:
        kind = member["type"]
        is_optional = kind["kind"] == "nullable"
        if not member["about"]:
            raise ValueError(f"the parameter {member['name']} has no comment in its record")
        lines.append(row(f"`{member['name']}`", type_text(kind["item"] if is_optional else kind), "optional" if is_optional else "required",
                         member["about"]))
    return lines


def definition(name, described):
    lines = [f"### {name}", ""]
    if described["about"]:
        lines += [sentence(described["about"]), ""]
    if any(described.get("about_words", {}).values()):
        return [*lines, "| word | meaning |", "| --- | --- |", *(row(f"`{word}`", about) for word, about in described["about_words"].items()), ""]
    if described["words"]:
        return [*lines, f"One of {codes_of(described['words'])}.", ""]
    return [*lines, *members_table("member", described["members"]), ""]


def first_sentence(text):
    return re.split(r"(?<=\.) ", text)[0]


def sentence(text):
    return text if text.endswith((".", ":")) else text + "."


# Methods -----------------------------------------------------------------------------------------------------------

def errors_of(method):
    """Returns the errors that the method lists, and the errors that follow from its traits."""
    traits = method["traits"]
    names = [error.rpartition(".")[2] for error in method["errors"]]
    names += ["NotAuthorized"] if traits["needs"] or traits["may_need"] else []
    names += ["TooManyRequests"] if traits["is_costly"] or traits["waits"] else []
    names += ["ExpectedMore"] if traits["subscribes"] else []
    if not ERRORS.keys() >= set(names):
        raise ValueError(f"{method['name']}: an error without a meaning: {names}")
    return names


def permission(traits):
    if traits["needs"]:
        return codes_of(traits["needs"])
    if traits["may_need"]:
        return f"depends on the call: {codes_of(traits['may_need'])}"
    return "none"


def bus_form(form):
    def listed(text):
        return ", ".join(f"{name} {signature}" for name, signature in calls.arguments(text))

    interface = "Gpu" if form["is_of_gpu"] else "Manager"
    answer = listed(form["out"])
    return f"`{interface}.{form['member']}({listed(form['in'])})" + (f" → {answer}`" if answer else "`")


def facts_of(method):
    """Yields the facts about a method that the page shows after its parameters."""
    traits = method["traits"]
    record = method["result_record"]
    yield "Answer", f"[{record}](#{anchor(record)})"
    yield "[Errors](#errors)", codes_of(errors_of(method)) or "the errors of every method"
    yield "Permission", permission(traits)
    if traits["is_costly"] or traits["waits"]:
        yield "Limit", "counts as a [costly call](security.md)" if traits["is_costly"] else "waits until the [free memory is read](security.md)"
    yield "Cached", KEEPING[traits["keeping"]]
    if method["bus"]:
        yield "D-Bus", ", ".join(bus_form(form) for form in method["bus"])
    for key, meaning in (("optional", "On D-Bus, left out if empty"), ("explained", "On D-Bus, only with `explain`")):
        if members := [member for form in method["bus"] for member in form[key].split()]:
            yield meaning, codes_of(members)


def codes_cell(codes):
    """Codes as the text of a table cell, which must be on one line and must not contain a character that ends the cell."""
    if any("|" in code or "`" in code for code in codes):
        raise ValueError(f"an example that contains | or `, which a table cell cannot contain: {codes}")
    return "<br>".join(f"`{code}`" for code in codes)


def method_section(method, example):
    lines = [f"### {method['name']}", "", method["about"], ""]
    if method["parameters"]:
        lines += [*parameters_table(method["parameters"]), ""]
    lines += [*(f"- {name}: {text}" for name, text in facts_of(method)), ""]
    if "note" in example:
        lines += [example["note"], ""]
    lines += ["| interface | call |", "| --- | --- |"]
    lines += [f"| {interface} | {codes_cell(codes)} |" for interface, codes in calls.calls(method, example["parameters"]).items()]
    after = [f"[{name}](#{anchor(name)})" for name in example.get("after", [])]
    lines += ["", f"After the example of {' and '.join(after)}, the answer is:" if after else "The answer:", "", "```", *example.get("answer", ["…"]), "```", ""]
    return lines


def errors_table(codes, exceptions):
    """`codes`: errno values of the C library by error; `exceptions`: classes of the Python package by error."""
    lines = ["| error | meaning | C | Python, Node | exit status |", "| --- | --- | --- | --- | --- |"]
    for name, meaning in ERRORS.items():
        lines.append(row(f"`{name}`", meaning, f"`{codes.get(name, '-EIO')}`", f"`{exceptions.get(name, 'Refused')}`", str(STATUSES.get(name, 1))))
    return lines


def reference(description, examples, codes, exceptions):
    """Returns the generated part of the page, which follows the mark."""
    methods = {method["name"]: method for method in description.methods}
    if list(methods) != list(examples):
        raise ValueError(f"docs/reference-examples.json needs an example for each method, in this order: {', '.join(methods)}")
    lines = [MARK, "", *errors_table(codes, exceptions), "", "## Methods", "",
             "*Cached* states how long the daemon may return the same answer to later calls.", ""]
    lines += [f"- [{name}](#{anchor(name)}): {first_sentence(method['about'])}" for name, method in methods.items()] + [""]
    for name, method in methods.items():
        lines += method_section(method, examples[name])
    lines += ["## Types", "", "\"or null\" means that a value in an answer may be unknown, and that a value in a request may be left out. Sizes are",
              "in bytes; instants and durations are in microseconds.", ""]
    for name, described in sorted(description.of_page().items()):
        lines += definition(name, described)
    return "\n".join(lines)
