#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Converts a Markdown file to a man page, with lowdown.

page.py NAME.SECTION.md OUTPUT VERBS BUILD

The first line of the source has the form "NAME - DESCRIPTION". A line in braces includes text from another source:
  {docs/FILE.md}                    a page of the documentation
  {docs/FILE.md: SECTION; SECTION}  some sections of that page
  {dbus/FILE.xml}                   the members of a D-Bus interface
  {generated/FILE.json}             the members of a document, from its JSON Schema in the build folder BUILD
  {verbs}                           the file VERBS, which contains the output of `gpuprobectl manual`
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

SOURCE = pathlib.Path(__file__).resolve().parents[1]
# The man page that contains each page, or section, of the documentation.
MANUAL = {"applications": "gpuprobe-applications(5)", "data-files": "gpuprobe-applications(5)", "data-files#manifests": "gpuprobe-variants(5)",
          "applications#a-request-for-a-variant": "gpuprobe-variants(5)", "applications#the-choice-of-a-variant": "gpuprobe-variants(5)",
          "doctor": "gpuprobectl(1)", "facts": "gpuprobe-report(5)", "plan": "gpuprobectl(1)", "reasons": "gpuprobe-reasons(7)"}
LINK = r"\[([^]]*)\]\((?:\.\./|internals/)*([a-z-]*)(?:\.md)?(#[a-z-]+)?\)"
# Placeholders for emphasis that begins within a word. lowdown itself must not treat underscores within a word as emphasis, because names contain
# underscores.
ITALIC, ROMAN = "\ue000", "\ue001"


def manual_of(page, section=""):
    return MANUAL.get(page + section, MANUAL.get(page, ""))


def without_links(text):
    """Replaces a link in parentheses with the name of the man page that contains the link's target, or removes the link. Replaces any other link with
    the text of the link."""
    def in_brackets(link):
        manual = manual_of(link[2], link[3] or "") if link[2] else ""
        return f" ({manual})" if manual else ""
    text = re.sub(rf"\s\({LINK}\)", in_brackets, text)
    return re.sub(LINK, r"\1", text)


def without_paths(text):
    """Replaces names of documentation pages with names of man pages, in text that is not Markdown."""
    name = r"docs/(?:internals/)?([a-z-]+)\.md(#[a-z-]+)?"

    def manual(found):
        return manual_of(found[1], found[2] or "")
    text = re.sub(rf"\s\({name}\)", lambda found: f" ({manual(found)})" if manual(found) else "", text)
    return re.sub(name, lambda found: manual(found) or "the documentation", text)


def sections_of(text, wanted):
    """Returns the sections with the titles in `wanted`, in the order of `wanted`."""
    parts = dict(part.split("\n", 1) for part in re.split(r"(?m)^## ", text)[1:])
    return "".join(f"## {title}\n{parts[title]}" for title in wanted)


def documentation(path, wanted=()):
    """Returns a page without its title, or only the sections in `wanted`, with each heading one level higher."""
    text = re.sub(r"\A# .*\n", "", path.read_text(encoding="utf-8"))
    text = sections_of(text, wanted) if wanted else text
    text = re.sub(r"^#(#+ )", r"\1", text, flags=re.M)
    return without_links(re.sub(r"(?m)^<!--.*?-->\n", "", text))


def listing(text):
    return "".join(f"    {line}\n" if line.strip() else "\n" for line in text.splitlines())


def remark(text):
    """Returns the text of a comment without its indentation."""
    lines = text.strip("\n").splitlines()
    depths = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    depth = min(depths, default=0)
    return "\n".join([lines[0].strip(), *(line[depth:].rstrip() for line in lines[1:])]).strip("\n")


def signature(member):
    def words(direction):
        return ", ".join(f"{arg.get('type')} {arg.get('name')}" for arg in member.findall("arg") if arg.get("direction") in direction)

    name = member.get("name")
    if member.tag == "property":
        return f"{name}: {member.get('type')}" + (", writable" if "write" in member.get("access") else "")
    if member.tag == "signal":
        return f"{name}({words((None, 'out'))})"
    answer = words(("out",))
    return f"{name}({words((None, 'in'))})" + (f" → {answer}" if answer else "")


def interface(path):
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text, parser)
    about = [found for found in re.findall(r"<!--(.*?)-->", text.split("<node>")[0], re.S) if "SPDX" not in found]
    page = ""
    for element in root.iter("interface"):
        page += f"# {element.get('name')}\n\n" + "".join(remark(found) + "\n\n" for found in about)
        pending = None
        for member in element:
            if member.tag is ElementTree.Comment:
                pending = remark(member.text)
            elif member.tag in ("method", "property", "signal"):
                page += f"## {signature(member)}\n\n"
                page += listing(pending.replace("`", "")) + "\n" if pending else ""
                pending = None
    return page


def schema(path):
    document = json.loads(path.read_text(encoding="utf-8"))

    def kind(rule):
        if "$ref" in rule:
            return rule["$ref"].rsplit("/", 1)[1]
        if "const" in rule:
            return f"always {json.dumps(rule['const'])}"
        if "enum" in rule:
            return ", ".join("null" if word is None else str(word) for word in rule["enum"])
        if "anyOf" in rule or "oneOf" in rule:
            return " or ".join(kind(choice) for choice in rule.get("anyOf", rule.get("oneOf")))
        if rule.get("type") == "array" and "items" in rule:
            return f"list of {kind(rule['items'])}"
        types = rule.get("type", "anything")
        return types if isinstance(types, str) else " or ".join(types)

    def members(rule):
        lines = []
        for name, value in rule.get("properties", {}).items():
            text = f": {value['description']}" if "description" in value else ""
            lines.append(f"* **{name}** ({kind(value)}){text}\n")
        return "".join(lines) + "\n"

    page = "# MEMBERS\n\n" + members(document)
    for name, rule in document.get("$defs", {}).items():
        about = rule.get("description", "")
        page += f"## {name}\n\n{about}\n\n"
        page += members(rule) if rule.get("properties") else ("" if about and "enum" not in rule else kind(rule) + "\n\n")
    return page


def included(match, verbs, build):
    name, _, wanted = match.group(1).partition(": ")
    if name == "verbs":
        return without_paths(verbs.read_text(encoding="utf-8"))
    path = (build if name.startswith("generated/") else SOURCE) / name
    if path.suffix == ".md":
        return documentation(path, wanted.split("; ") if wanted else ())
    return without_paths({".xml": interface, ".json": schema}[path.suffix](path))


def date():
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def breakable(table):
    """Prevents hyphenation of names in a table. Allows a line break after an underscore or a slash in a long name or a path."""
    def name(found):
        text = re.sub("([_/])", r"\1\\:", found[2]) if len(found[2]) >= 16 else found[2]
        return f"{found[1]}\\%{text}"
    words = r"(?:\\\(dq)?[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+"
    paths = r"[A-Za-z0-9*]+(?:/[A-Za-z0-9*_]+)+"
    return re.sub(rf"(\\f[BIR]|(?<=\s))({paths}|{words})", name, table[0])


def version():
    return re.search(r"VERSION (\d+(?:\.\d+)+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8").split("project(", 1)[1])[1]


def heading(title, section):
    """Returns the macro for the header and footer. As in systemd's man pages, the left and the right side show GPUPROBECTL(1) and the middle shows
    the name."""
    return f'.TH "{title.upper()}" "{section}" "{date()}" "gpuprobe {version()}" "{title}"'


def tidy(roff):
    """Corrects the output of lowdown: lowdown uses a fixed-width font that some formatters lack, begins some paragraphs twice, writes
    lists of terms only for groff, and does not state on the first line that the page contains tables."""
    roff = roff.replace("\\fC", "\\fB").replace(ITALIC, "\\fI").replace(ROMAN, "\\fR")
    # In a table with four columns, the first two columns are as wide as their contents, and the other two share the remaining width.
    roff = roff.replace("expand allbox;\nlb lb lb lb\nl l l l.", "allbox;\nlb lb lb lb\nl l lx lx.")
    term = r'^\.[LP]P\n(.+)\n\.if n \\\n\.sp -1v\n\.if t \\\n\.sp -0\.25v\n\.IP "" 5n\n'
    roff = re.sub(term, r".TP 5n" + "\n" + r"\1" + "\n", roff, flags=re.M)
    roff = re.sub(r"^\.(S[HS])\n(.*)\n(?:\.[LP]P\n)?", r'.\1 "\2"' + "\n", roff, flags=re.M)
    roff = re.sub(r"^(\.TH .*)$", r"\1" + "\n.ad l", roff, count=1, flags=re.M)  # no justified text, because columns are narrow
    roff = re.sub(r"^\.TS\n.*?^\.TE\n", breakable, roff, flags=re.M | re.S)
    return ("'\\\" t\n" if ".TS\n" in roff else "") + roff


def main(source, output, verbs, build):
    source = pathlib.Path(source)
    title, section = source.name.removesuffix(".md").rsplit(".", 1)
    summary, text = source.read_text(encoding="utf-8").split("\n", 1)
    text = re.sub(r"^\{(.*)\}$", lambda match: included(match, pathlib.Path(verbs), pathlib.Path(build)), text, flags=re.M)
    text = re.sub(r"(?<==)\*([^*\s]+)\*", rf"{ITALIC}\1{ROMAN}", text)
    text = re.sub(r"^# (.*)$", lambda match: f"# {match.group(1).upper() if '.' not in match.group(1) else match.group(1)}", text, flags=re.M)
    page = subprocess.run(
        ["lowdown", "-s", "-tman", "--parse-no-intraemph", "--nroff-no-groff", "--nroff-nolinks", "--out-no-smarty",
         "-M", f"title={title}", "-M", f"section={section}", "-M", f"date={date()}", "-M", "source=gpuprobe"],
        input=f"# NAME\n\n{summary}\n{text}", capture_output=True, text=True, check=True, encoding="utf-8",
    ).stdout
    page = re.sub(r"^\.TH .*$", lambda _: heading(title, section), page, count=1, flags=re.M)
    pathlib.Path(output).write_text(tidy(page), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
