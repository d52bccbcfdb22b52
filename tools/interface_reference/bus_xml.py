# SPDX-License-Identifier: Apache-2.0
"""Checks and updates dbus/*.xml, which must contain the methods in the table of methods. Comments in dbus/*.xml are written by hand."""
import re
import xml.etree.ElementTree as ElementTree

from . import calls

INTERFACES = {"Manager": False, "Gpu": True}  # True for the interface of GPU objects
INDENT = "    "


def path_of(root, interface):
    return root / "dbus" / f"{calls.BUS_NAME}.{interface}.xml"


def wanted_of(methods, is_of_gpu):
    """Returns {member: (description, [(name, type, direction), …])} according to the table."""
    found = {}
    for method in methods:
        for form in method["bus"]:
            if form["is_of_gpu"] == is_of_gpu:
                words = [(name, kind, way) for way, text in (("in", form["in"]), ("out", form["out"])) for name, kind in calls.arguments(text)]
                found[form["member"]] = (method["about"], words)
    return found


def written_in(text):
    """Returns {member: [(name, type, direction), …]} according to the text of an XML file."""
    return {method.get("name"): [(word.get("name"), word.get("type"), word.get("direction")) for word in method.findall("arg")]
            for method in ElementTree.fromstring(text).iter("method")}


def spelled(words):
    return ", ".join(" ".join(word) for word in words) or "no argument"


def differences(text, wanted):
    """Yields one line for each method that differs from the table."""
    written = written_in(text)
    for member, (_, words) in wanted.items():
        if member not in written:
            yield f"{member} is missing"
        elif written[member] != words:
            yield f"{member} has {spelled(written[member])}; the table has {spelled(words)}"
    yield from (f"{member} is not in the table" for member in written if member not in wanted)


def element(member, about, words):
    """Returns the XML of a method, with a comment that is also the method's text in the manual."""
    lines = [f"<!-- {about} -->", f'<method name="{member}">',
             *(f'  <arg name="{name}" type="{kind}" direction="{way}"/>' for name, kind, way in words), "</method>"]
    return "".join(f"{INDENT}{line}\n" for line in lines)


def with_missing(text, wanted):
    """Returns the file with an element for each missing method, after the last method."""
    written = written_in(text)
    added = "".join("\n" + element(member, *described) for member, described in wanted.items() if member not in written)
    end = text.rindex("</method>\n") + len("</method>\n")
    return text[:end] + added + text[end:]


def with_arguments(text, wanted):
    """Returns the file with the arguments of its methods corrected according to the table. Annotations are kept."""
    written = written_in(text)
    for member, (_, words) in wanted.items():
        if written[member] != words:
            lines = "".join(f'{INDENT}  <arg name="{name}" type="{kind}" direction="{way}"/>\n' for name, kind, way in words)
            body = re.search(rf'<method name="{member}">\n(.*?)(?=^{INDENT}</method>)', text, re.M | re.S)
            kept = re.sub(r"^ *<arg [^\n]*\n", "", body[1], flags=re.M)
            text = text[:body.start(1)] + kept + lines + text[body.end(1):]
    return text


def check(methods, root):
    """Yields one line for each difference between the files and the table."""
    for interface, is_of_gpu in INTERFACES.items():
        path = path_of(root, interface)
        for difference in differences(path.read_text(encoding="utf-8"), wanted_of(methods, is_of_gpu)):
            yield f"{path.relative_to(root)}: {difference}"


def write(methods, root):
    for interface, is_of_gpu in INTERFACES.items():
        path, wanted = path_of(root, interface), wanted_of(methods, is_of_gpu)
        path.write_text(with_arguments(with_missing(path.read_text(encoding="utf-8"), wanted), wanted), encoding="utf-8")
