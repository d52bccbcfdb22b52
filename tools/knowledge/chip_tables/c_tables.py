# SPDX-License-Identifier: Apache-2.0
"""Reads arrays of `struct pci_device_id` from C source. Implements only the parts of the C preprocessor that these arrays need."""

import ast
import dataclasses
import operator
import re

MAX_DEPTH = 40
FIELDS = ("vendor", "device", "subvendor", "subdevice", "class", "class_mask", "driver_data")
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.S)
LINE_COMMENT = re.compile(r"//[^\n]*")
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?(.*)$", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
# Macros from the kernel's headers. These macros are repeated here, so that this module needs only the source files of the drivers.
ROW_MACROS = {
    "PCI_DEVICE": (("v", "d"), ".vendor = (v), .device = (d)"),
    "PCI_DEVICE_SUB": (("v", "d", "s", "e"), ".vendor = (v), .device = (d), .subvendor = (s), .subdevice = (e)"),
}
OPERATORS = {ast.BitOr: operator.or_, ast.LShift: operator.lshift, ast.Add: operator.add, ast.BitAnd: operator.and_}


@dataclasses.dataclass(frozen=True)
class Row:
    vendor: int | None  # None: any vendor
    device: int | None
    pci_class: int | None
    driver_data: str


def without_comments(text):
    return LINE_COMMENT.sub("", BLOCK_COMMENT.sub(" ", text))


def split_top(text, separator=","):
    """Returns the parts of the text between separators that are outside of brackets."""
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == separator and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return parts + [last] if last else parts


def closing(text, start):
    """Returns the position after the bracket that closes the bracket at `start`."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] in "([{") - (text[index] in ")]}")
        if depth == 0:
            return index + 1
    return len(text)


def macros_in(*texts):
    """Returns the object-like and function-like macros that these sources define: name → (parameters or None, body)."""
    found = {}
    for text in texts:
        for name, parameters, body in DEFINE.findall(without_comments(text).replace("\\\n", " ")):
            words = tuple(each.strip() for each in parameters[1:-1].split(",")) if parameters else None
            found[name] = (words, body.strip())
    return found


def bound(parameters, body, arguments):
    """Returns a macro's body in which arguments replace the parameters."""
    values = dict(zip((each for each in parameters if each != "..."), arguments))
    if "..." in parameters:
        rest = ", ".join(arguments[len(parameters) - 1:])
        body = re.sub(r",?\s*##\s*__VA_ARGS__", lambda _: f", {rest}" if rest else "", body)
        values["__VA_ARGS__"] = rest
    body = re.sub(r"(\w+)\s*##\s*(\w+)",
                  lambda pair: "".join(values.get(word, word) for word in pair.groups()), body)
    return WORD.sub(lambda word: values.get(word.group(), word.group()), body)


def vendor_device(name, arguments):
    """Returns the vendor and device of PCI_VDEVICE or PCI_DEVICE_DATA, which concatenate tokens; None for other macros."""
    if name == "PCI_VDEVICE":
        return f".vendor = PCI_VENDOR_ID_{arguments[0]}, .device = ({arguments[1]})"
    if name == "PCI_DEVICE_DATA":
        vendor, device, data = arguments
        return f".vendor = PCI_VENDOR_ID_{vendor}, .device = PCI_DEVICE_ID_{vendor}_{device}, .driver_data = {data}"
    return None


def expanded(text, macros, depth=0):
    """Returns the text with every known macro expanded."""
    if depth > MAX_DEPTH:
        return text
    out, place = [], 0
    for word in iter(lambda: WORD.search(text, place), None):
        out.append(text[place:word.start()])
        place = word.end()
        after = re.compile(r"\s*").match(text, place).end()
        arguments = None
        if after < len(text) and text[after] == "(":
            arguments = split_top(text[after + 1:closing(text, after) - 1])
        replacement, used = replaced(word.group(), arguments, macros)
        if replacement is None:
            out.append(word.group())
            continue
        place = closing(text, after) if used else place
        out.append(expanded(replacement, macros, depth + 1))
    return "".join(out) + text[place:]


def replaced(name, arguments, macros):
    """Returns the text that replaces a word, and whether the word's arguments were used."""
    if arguments is not None and (pasted := vendor_device(name, arguments)):
        return pasted, True
    parameters, body = macros.get(name) or ROW_MACROS.get(name) or (None, None)
    if body is None or body == name:
        return None, False
    if parameters is None:
        return body, False
    return (bound(parameters, body, arguments), True) if arguments is not None else (None, False)


def number_of(text):
    """Returns the value of a constant expression, or None (PCI_ANY_ID, a name, an address)."""
    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        raise ValueError(text)
    try:
        return value(ast.parse(re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text.strip()), mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def row_from(text):
    """Returns the row in one `{ ... }` of the array; None for the empty row at the end."""
    values = {}
    for position, part in enumerate(split_top(text)):
        named = re.match(r"\.(\w+)\s*=\s*(.*)", part, re.S)
        if named:
            values[named.group(1)] = named.group(2)
        elif position < len(FIELDS):
            values[FIELDS[position]] = part
    vendor = number_of(values.get("vendor", ""))
    if not vendor:
        return None
    pci_class = number_of(values.get("class", ""))
    return Row(vendor, number_of(values.get("device", "")), pci_class or None, values.get("driver_data", "").strip())


def array_bodies(text, struct):
    """Yields the text between the braces of each array of a given struct."""
    for start in re.finditer(rf"struct\s+{struct}\s+(?:const\s+)?\w+\s*\[\s*\]\s*=\s*\{{", text):
        yield text[start.end():closing(text, start.end() - 1) - 1]


def pci_rows(text, macros):
    """Returns the rows of all arrays of `struct pci_device_id` in a file."""
    rows = []
    for body in array_bodies(without_comments(text), "pci_device_id"):
        parts = split_top(expanded(body, macros))
        rows += [row_from(part[1:closing(part, 0) - 1]) for part in parts if part.startswith("{")]
    return [row for row in rows if row]
