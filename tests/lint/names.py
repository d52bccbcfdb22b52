#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each type name is used once: two different types with the same name and namespace are undefined behavior in C++.

names.py SRC           fails if two files define a type or an alias with the same name, or if a type is outside its component's namespace
names.py --self-test

The compiler's check at link time (tools/test --odr) finds the same faults, and also types whose members differ, but takes minutes. names.py takes
only a second, because it only reads text. The script ignores types in unnamed namespaces and in other types, because types in other files cannot
clash with these types.
"""
import collections
import pathlib
import re
import sys

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
TEMPLATE = re.compile(r"template\s*<[^{};]*?>\s*(?=struct|class|using|requires|inline|constexpr|\w)")
NAMESPACE = re.compile(r"namespace\s*((?:\w+(?:::(?:inline\s+)?)?)*)\s*$")
DEFINITION = re.compile(r"(?:struct|class|union|enum\s+class|enum\s+struct|enum)\s+(?:alignas\([^)]*\)\s*)?(\w+)"
                        r"\s*(?:final)?\s*(?::(?!:)[^;{]*)?$")
ALIAS = re.compile(r"using\s+(\w+)\s*=[^;]*$")


def definitions(text):
    """Yields the full names of all types that another file could define too."""
    text = NOISE.sub(" ", text)
    scopes, start = [], 0  # for each open brace: the namespace's name, "" for an unnamed namespace, None for other braces
    for at, letter in enumerate(text):
        if letter not in "{};":
            continue
        head = text[start:at].strip()
        start = at + 1
        is_open = all(scope for scope in scopes)
        if letter == "{":
            namespace = NAMESPACE.search(head)
            scopes.append(namespace.group(1).replace("::inline ", "::") if namespace else None)
            named = DEFINITION.search(head) if not namespace else None
            if named and is_open and "=" not in head.split(":")[0] and not re.search(r"\btemplate\s*<\s*>", head):
                yield "::".join([*scopes[:-1], named.group(1)])
        elif letter == "}":
            if scopes:
                scopes.pop()
        elif is_open:
            alias = ALIAS.match(re.sub(r"^template\s*<.*?>\s*", "", head, flags=re.S))
            if alias:
                yield "::".join([*scopes, alias.group(1)])


# Components whose namespaces have other names than their folders: "export" is a C++ keyword, and "wire" contains two namespaces.
OTHER_HOMES = {"export": ("exports",), "wire": ("bus", "varlink")}


def homes_of(component):
    """Returns the namespaces of a component. Namespaces with shared types are inline, so that other components can write `Gpu` instead of
    `report::Gpu`. Two components may still define types with the same name, but a file that includes and uses both types does not compile."""
    return tuple(f"gpuprobe::{home}::" for home in OTHER_HOMES.get(component, (component,)))


def strays(files):
    """Yields (name, file) of each type that is outside the namespace of its component."""
    for name, text in files:
        for definition in definitions(text):
            if not definition.startswith(homes_of(name.split("/")[0])):
                yield definition, name


def clashes(files):
    """Returns (name, files) of each name that several files define."""
    where = collections.defaultdict(set)
    for name, text in files:
        for definition in definitions(text):
            where[definition].add(name)
    return sorted((name, sorted(found)) for name, found in where.items() if len(found) > 1)


def self_test():
    one = "namespace a { struct S { int x; }; enum class E : int { A }; using T = int; struct F; }"
    two = "namespace a { class S final : public B { enum class E { A }; }; struct F; } namespace b { using T = long; }"
    hidden = "namespace a { namespace { struct S { struct U {}; }; } void f() { struct S {}; } } // struct S {\n"
    assert [name for name, _ in clashes([("1", one), ("2", two)])] == ["a::S"], clashes([("1", one), ("2", two)])
    assert clashes([("1", one), ("3", hidden)]) == []
    assert [name for name, _ in clashes([("1", one), ("4", "namespace a { using T = char; }")])] == ["a::T"]
    store = "namespace gpuprobe::inline store { struct S {}; } namespace gpuprobe { struct T {}; }"
    assert list(strays([("store/s.h", store)])) == [("gpuprobe::T", "store/s.h")]
    assert list(definitions("namespace a { template <> struct S<int> { }; }")) == []


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    source = pathlib.Path(sys.argv[1])
    files = [(str(path.relative_to(source)), path.read_text(encoding="utf-8"))
             for path in sorted(source.rglob("*")) if path.suffix in (".h", ".cpp") and not path.with_suffix(".c").exists()]  # not C
    found = clashes(files)
    for name, places in found:
        print(f"{name}: {', '.join(places)}")
    away = list(strays(files))
    for name, place in away:
        print(f"{place}: {name}: not in the namespace of its component")
    return 1 if found or away or not files else 0


if __name__ == "__main__":
    sys.exit(main())
