#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a name is defined only once in a folder, because the release build compiles the files of a folder together (GPUPROBE_UNITY).

unity.py SRC           fails if two files of one folder define the same local name: in an unnamed namespace, or with static
unity.py --self-test

The development build compiles each file separately and does not find such clashes. Two functions with the same name are allowed if their parameters
differ, like two overloads in one file.
"""
import collections
import pathlib
import re
import sys

from names import NOISE

NAMESPACE = re.compile(r"(?:^|\s)namespace\b\s*([\w:\s]*)$")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class| struct)?)\s+(\w+)(?:\s+final)?(?:\s*:(?!:).*)?$")
ALIAS = re.compile(r"using\s+(\w+)\s*=")
FUNCTION = re.compile(r"(~?\w+|operator\s*\S+?)\s*\(")
VARIABLE = re.compile(r"(\w+)(?:\[[^]]*\])*\s*(?:=.*)?$")


def items(text):
    """Yields (head, whether the name is local to the file) of each declaration outside of functions and types."""
    text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", " ", NOISE.sub(lambda noise: '""' if noise[0][0] in "R\"'" else " ", text),
                  flags=re.M)
    scopes, start = [], 0  # for each open brace: the namespace's name, "" for an unnamed namespace, None for other braces
    for at, letter in enumerate(text):
        if letter not in "{};":
            continue
        head = " ".join(text[start:at].split())
        start = at + 1
        is_open = None not in scopes
        if letter == "}":
            if scopes:
                scopes.pop()
            continue
        namespace = NAMESPACE.search(head) if is_open and letter == "{" else None
        if is_open and not namespace and head and not re.match(r"[)\]},.]", head):
            yield head, "" in scopes or bool(re.search(r"\bstatic\b", head.split("(")[0]))
        if letter == "{":
            scopes.append(namespace[1].strip() if namespace else None)


def without_templates(head):
    """Returns the declaration without template arguments, whose commas and parentheses would be misread."""
    while True:
        shorter = re.sub(r"\btemplate\s*<[^<>]*>\s*|(?<=\w)<[^<>]*>", "", head)
        if shorter == head:
            return head
        head = shorter


def types_of(parameters):
    """Returns the types of a function's parameters, which distinguish overloads."""
    words = [re.sub(r"\s*=.*", "", parameter).replace("const ", "").split() for parameter in parameters.split(",")]
    return tuple(" ".join(word[:-1] if len(word) > 1 else word).rstrip("&* ") for word in words)


def name_of(head):
    """Returns the name that a declaration defines, or None. The name of a function includes the types of its parameters."""
    if re.match(r"static_assert|extern|friend|catch|using\s+(?!\w+\s*=)|namespace", head):
        return None
    if alias := ALIAS.match(re.sub(r"^template\s*<.*>\s*", "", head)):
        return alias[1]
    plain = without_templates(head)
    if kind := TYPE.search(plain):
        return kind[1]
    function = FUNCTION.search(plain)
    if function and "=" not in plain[:function.start()]:
        if plain[:function.start()].endswith("::"):
            return None  # the definition of a member
        return f"{function[1]}({', '.join(types_of(plain[function.end():].rsplit(')', 1)[0]))})"
    variable = VARIABLE.search(plain.split("=")[0].rstrip())
    return variable[1] if variable and " " in plain else None


def together(name):
    """Returns the name of the source file that this file replaces: FILE_portable.cpp replaces FILE.cpp (cmake/components.cmake)."""
    return name.replace("_portable.cpp", ".cpp")


def clashes(files):
    """Yields (folder, name, files) of each local name that several files of a folder define. Several files may define the same alias if the
    definitions are equal."""
    where = collections.defaultdict(dict)
    for name, text in files:
        folder, _, file = together(name).rpartition("/")
        for head, is_own in items(text):
            if is_own and (defined := name_of(head)):
                where[folder, defined].setdefault(file, head)
    for (folder, name), found in sorted(where.items()):
        if len(found) > 1 and not (len(set(found.values())) == 1 and ALIAS.match(next(iter(found.values())))):
            yield folder, name, sorted(found)


def self_test():
    def names(one, two, other="a/2.cpp"):
        wrapped = [f"namespace a::inline b {{\nnamespace {{\n{text}\n}}\nint shared;\n}}" for text in (one, two)]
        return [name for _, name, _ in clashes([("a/1.cpp", wrapped[0]), (other, wrapped[1])])]
    assert names("struct S { int x; };", "class S final : public B { void f() {} };") == ["S"]
    assert names("constexpr int kMost = 3;", "const std::array<int, 2> kMost = {{1, 2}};") == ["kMost"]
    assert names("constexpr Row kRows[] = {{1}, {2}};", "const char* const kRows{nullptr};") == ["kRows"]
    assert names("void f(const S& s, int) { g(); }", "bool f(const S& other, int x) { return {}; }") == ["f(S, int)"]
    assert names("enum class E { A };", "using E = int;") == ["E"]
    assert names("template <class T> T f(T one) { return one; }", "template <class T>\nT f(T two) { return two; }")
    assert names("int x;", "int x;", "c/2.cpp") == []
    assert names("int x;", "int x;", "a/1_portable.cpp") == []
    assert names("void f(int x) {}", "void f(S s) {}") == []
    assert names("using S = std::set<int>;", "using S = std::set<int>;") == []
    assert names("using S = std::set<int>;", "using S = std::set<char>;") == ["S"]
    assert names("void f() { int x = 0; }", "void g() { int x = 0; } // struct S {") == []
    assert names("void f(int x);", 'void g() { h("struct S {"); }') == []
    static = [(name, "static int most() { return 3; }") for name in ("a/1.cpp", "a/2.cpp")]
    assert [name for _, name, _ in clashes(static)] == ["most()"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    source = pathlib.Path(sys.argv[1])
    files = [(path.relative_to(source).as_posix(), path.read_text(encoding="utf-8"))
             for path in sorted(source.rglob("*.cpp")) if not path.stem.endswith("_main")]
    found = list(clashes(files))
    for folder, name, places in found:
        print(f"src/{folder}: {name}: {', '.join(places)}")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
