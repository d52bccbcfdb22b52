# SPDX-License-Identifier: Apache-2.0
"""Tests the rules that check facts: tests the readers of other projects' files and the table of rules, and tests that refresh notices a changed
file."""
import datetime
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import upstream_files

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
sys.path.insert(0, str(SOURCE / "tools/knowledge"))
from manifest_import.documents import Refusal  # noqa: E402
from manifest_import.layout import document_text  # noqa: E402
from upstream import cmake, expressions, functions, rules, shell, texts, versions, workflow  # noqa: E402

def load(*paths):
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


LIBRARIES = load(*(SOURCE / "tools/knowledge/libraries").glob("*.json"))
TABLE = rules.with_libraries(json.loads((SOURCE / "tools/knowledge/rules.json").read_text(encoding="utf-8")), LIBRARIES.values())
DOCUMENTS = {**load(*(SOURCE / "data/knowledge/applications").glob("*.json")), **LIBRARIES, **load(SOURCE / "data/rules/uv.json")}
OUR_OWN = {"default", "measured"}
SEED = 43
CHANGES = 200
ENOUGH = 195
BY_RULE = 0.85  # at least this share of all facts has a rule


class WorkflowExpressions(unittest.TestCase):
    def test_values(self):
        known = {"matrix.os": "Ubuntu-24.04", "inputs.n": "130", "matrix.on": True}
        for text, value in (("matrix.os == 'ubuntu-24.04'", True), ("contains(matrix.os, '24.04') && 'a' || 'b'", "a"), ("!matrix.on", False),
                            ("fromJSON(inputs.n) >= 130 && fromJSON(inputs.n) < 140", True), ("startsWith(matrix.os, 'win') || matrix.on", True),
                            ("(matrix.on && 'x') != 'y'", True), ("'it''s'", "it's"), ("null", None)):
            self.assertEqual(expressions.evaluate(text, known), value, text)

    def test_what_it_cannot_read_is_refused(self):
        for text in ("matrix.gone == 'a'", "hashFiles('a')", "'a' < 1", "(1", "1 2", "", "fromJSON('x')", "contains('a')", "§"):
            with self.subTest(text), self.assertRaises(Refusal):
                expressions.evaluate(text, {})

    def test_fills_a_text(self):
        self.assertEqual(expressions.filled("a-${{ matrix.n }}-${{ 2 > 1 && 'c' }}", {"matrix.n": "b"}), "a-b-c")


class Workflows(unittest.TestCase):
    MATRIX = b"""
jobs:
  a:
    strategy:
      matrix:
        os: [x, y]
        v: ["1", "2"]
        exclude: [{os: y, v: "1"}]
        include: [{os: x, extra: e}, {os: z, v: "3"}]
  b: {strategy: {matrix: "${{ fromJSON(x) }}"}}
"""

    def test_matrix_with_include_and_exclude(self):
        self.assertEqual(workflow.matrix_entries(self.MATRIX, "a"),
                         [{"os": "x", "v": "1", "extra": "e"}, {"os": "x", "v": "2", "extra": "e"}, {"os": "y", "v": "2"}, {"os": "z", "v": "3"}])
        self.assertEqual(workflow.values_in_matrix(self.MATRIX, "a", "v", "matrix.os == 'x'"), ["1", "2"])

    def test_refuses_a_matrix_that_is_computed_and_a_job_that_is_gone(self):
        for job, key in (("b", "v"), ("c", "v"), ("a", "gone")):
            with self.subTest(job), self.assertRaises(Refusal):
                workflow.values_in_matrix(self.MATRIX, job, key, None)

    def environment(self, condition, line):
        text = f"env: {{A: \"1\"}}\njobs:\n  j:\n    steps:\n    - if: {condition}\n      run: |\n        {line}\n"
        return workflow.environment_value(text.encode(), "j", "A", {"inputs.k": "c"})

    def test_a_step_changes_the_environment_if_its_condition_holds(self):
        line = 'echo "A=$A 2" >> $GITHUB_ENV'
        self.assertEqual(self.environment("inputs.k == 'c'", line), "1 2")
        self.assertEqual(self.environment("inputs.k != 'c'", line), "1")
        for condition, bad in (("matrix.x == 'c'", line), ("true", 'echo "A=$B" >> $GITHUB_ENV'), ("true", "A=3 make")):
            with self.subTest(bad), self.assertRaises(Refusal):
                self.environment(condition, bad)


class CMake(unittest.TestCase):
    def test_conditions(self):
        for condition, holds in (('V VERSION_LESS "13"', True), ("V VERSION_GREATER_EQUAL 12.8.0", True), ("NOT DEFINED GONE", True), ("ON AND OFF", False),
                                 ('(OFF OR T) AND NAME STREQUAL "x"', True), ('NAME MATCHES "^y"', False), ("${V} VERSION_EQUAL 12.8", True)):
            text = f"if({condition})\n set(WANTED a b)\nelse()\n set(WANTED c)\nendif()"
            known = {"V": "12.8", "GONE": None, "T": "TRUE", "NAME": "x"}
            self.assertEqual(cmake.variable_in(text, "WANTED", known), "a;b" if holds else "c", condition)

    def test_items_that_are_removed(self):
        self.assertEqual(cmake.variable_in("set(W a b c)\nlist(REMOVE_ITEM W b d)", "W", {}), "a;c")

    def test_elseif_stops_at_the_first(self):
        text = 'if(V VERSION_LESS 1)\nset(W 1)\nelseif(V VERSION_LESS 3)\nset(W 2)\nelseif(V VERSION_LESS 4)\nset(W 3)\nendif()'
        self.assertEqual(cmake.variable_in(text, "W", {"V": "2"}), "2")

    def test_other_branches_are_not_read(self):
        self.assertEqual(cmake.variable_in("if(UNKNOWN_THING)\n foo(x)\nendif()\nset(W a)", "W", {}), "a")

    def test_what_it_cannot_read_is_refused(self):
        for text in ("if(UNKNOWN)\nset(W a)\nendif()", "set(W ${GONE})", "set(W a)\nlist(FILTER W EXCLUDE REGEX a)", "set(W a)\nlist(REMOVE_ITEM W a)", "", "set(W", "if(V IN_LIST X)\nset(W a)\nendif()",
                     "if(V)\nset(W a)"):
            with self.subTest(text), self.assertRaises(Refusal):
                cmake.variable_in(text, "W", {"V": "1"})


class Shell(unittest.TestCase):
    def test_conditions(self):
        for condition, holds in (('[[ "$A" == x* ]]', True), ('[ -n "$B" ]', False), ("[[ $A != xy ]]", False), ('[[ -z "$B" && "$A" == "xy" ]]', True)):
            text = f"if {condition}; then\n W=1\nelse\n W=2\nfi\n"
            self.assertEqual(shell.variable_in(text, "W", {"A": "xy", "B": ""}), "1" if holds else "2", condition)

    def test_parameters_and_continued_lines(self):
        self.assertEqual(shell.variable_in('W="${A:-b}"\nW+=" c \\\n   d"', "W", {"A": ""}), "b c    d")

    def test_what_it_cannot_read_is_refused(self):
        for text in ("W=$(date)", "W=$GONE", "if [[ $A =~ x ]]; then\nW=1\nfi", "for a in b; do\nW=$a\ndone", "case $A in\nb)\nW=1\n;;\nesac", "read W", "",
                     "if true; then\nW=1"):
            with self.subTest(text), self.assertRaises(Refusal):
                shell.variable_in(text, "W", {"A": "x"})


class OtherTexts(unittest.TestCase):
    def test_values(self):
        self.assertEqual(texts.python_value("A: dict = {'x': {'y': (1, 2)}}", "A", ["x", "y"]), (1, 2))
        self.assertEqual(texts.docker_argument("ARG V=1.2\nARG B=img:${V}\n", "B"), "img:1.2")
        self.assertEqual(texts.matched("a=1\na=1\n", r"^a=(.)"), "1")
        self.assertEqual(texts.json_value(b'{"a": {"b": "c"}}', ["a", "b"]), "c")

    def test_what_it_cannot_read_is_refused(self):
        for read in (lambda: texts.python_value("A = f()", "A"), lambda: texts.python_value("A = 1\nA = 2", "A"), lambda: texts.python_value("A = {}", "A", ["x"]),
                     lambda: texts.python_value("(", "A"), lambda: texts.matched("a=1\na=2\n", r"^a=(.)"), lambda: texts.docker_argument("ARG V", "V"),
                     lambda: texts.json_value(b"{}", ["a"]), lambda: texts.bazel_option("", "c", "V")):
            with self.assertRaises(Refusal):
                read()

    def test_capabilities_in_each_notation(self):
        for value, sass, ptx in (("sm_80,compute_120", ["8.0"], ["12.0"]), ("7.5;8.0+PTX", ["7.5", "8.0"], ["8.0"]), ("86-real;90-virtual;120a-real", ["8.6", "12.0"], ["9.0"]),
                                 ("75;80", ["7.5", "8.0"], ["7.5", "8.0"])):
            self.assertEqual((rules.capabilities(value, "sass"), rules.capabilities(value, "ptx")), (sass, ptx))
        for wrong in ("native", "sm_", "8.0.1", "gfx900"):
            with self.assertRaises(Refusal):
                rules.capabilities(wrong, "sass")


class PythonFunctions(unittest.TestCase):
    def value(self, body, **known):
        return functions.variable_in("def f():\n" + "".join(f"    {line}\n" for line in body.splitlines()), "f", "w", known)

    def test_conditions(self):
        for condition, holds in (("n >= 12", True), ("11 <= n < 12", False), ("'a' in names and not n == 3", True), ("'b' in names or g() is None", False),
                                 ("v >= Version('12.9')", True), ("v < Version('12.10')", True)):
            known = {"n": 12, "names": ["a"], "v": {"version": "12.9"}, "g() is None": False}
            self.assertEqual(self.value(f"if {condition}:\n    w = [1]\nelse:\n    w = [2]", **known), [1] if holds else [2], condition)

    def test_lists_that_grow(self):
        self.assertEqual(self.value("w = [('a', 'b')]\nw += ['c']\nw.append(f'd{n}')", n=1), [["a", "b"], "c", "d1"])

    def test_only_what_decides_is_read(self):
        self.assertEqual(self.value("other = g()\nif g():\n    other = 1\nw = [1]\nfor each in w:\n    print(each)"), [1])

    def test_what_it_cannot_read_is_refused(self):
        for body in ("w = g()", "if g():\n    w = [1]", "w = [1]\nw.extend([2])", "for each in x:\n    w = [each]", "w = [1]\nw += n", "w = [a for a in x]", "pass"):
            with self.subTest(body), self.assertRaises(Refusal):
                self.value(body)
        for text in ("def g():\n    w = 1", "(", "def f():\n    w = 1\ndef f():\n    w = 1"):
            with self.subTest(text), self.assertRaises(Refusal):
                functions.variable_in(text, "f", "w", {})


class Structures(unittest.TestCase):
    TREE = {"a": [{"name": "x", "v": ["1", "2"]}, {"name": "y", "v": ["3"]}], "n": None}

    def test_paths(self):
        for path, value in ((["a", 0, "v", 1], "2"), (["a", "name=y", "v", "*"], ["3"]), (["a", "*", "v", "*"], ["1", "2", "3"])):
            self.assertEqual(texts.value_on(self.TREE, path), value, path)
        for path in (["b"], ["n"], ["a", 7], ["a", "name=z", "v"], ["a", "0", "v"]):
            with self.subTest(path), self.assertRaises(Refusal):
                texts.value_on(self.TREE, path)

    def test_yaml_and_toml(self):
        self.assertEqual(texts.yaml_value(b"a: [{k: v, n: 1}]\n", ["a", "k=v", "n"]), ["1"])
        self.assertEqual(texts.toml_value(b"[a]\nb = ['c']\n", ["a", "b"]), ["c"])
        with self.assertRaises(Refusal):
            texts.toml_value(b"[a", ["a"])


class Values(unittest.TestCase):
    """Tests how values from a file are converted to values in a data file."""
    TABLE = {"libraries": {"lib 1": {"gfx": ["gfx900"]}}, "names": {"hosts": {"ubuntu-22.04": "2.35"}}}

    def value(self, text, **rule):
        return rules.extracted({"as": "words", **rule}, text.encode(), self.TABLE)

    def test_some_of_the_words(self):
        words = {"read": {"each": {"pattern": r"^(\S+)$"}}}
        self.assertEqual(self.value("a-1\nb-2\n", **words, only=r"a-(.*)"), ["1"])
        self.assertEqual(self.value("a\nb\n", **words, names={"a": "x", "b": None}, form="<{}>"), ["<x>"])
        self.assertEqual(self.value("ubuntu-22.04\n", **words, names="hosts"), ["2.35"])
        for rule in ({"only": "c"}, {"names": {"a": "x"}}):
            with self.subTest(rule), self.assertRaises(Refusal):
                self.value("a\nb\n", **words, **rule)

    def test_the_kernels_that_all_libraries_of_a_build_have(self):
        table = {"libraries": {"lib 1": {"gfx": ["gfx900", "gfx906"]}, "lib 2": {"gfx": ["gfx906"]}},
                 "parts": [{"applications": ["app"], "is": ["v/gfx"], "of": ["lib 1", "lib 2"]}]}
        rule = {"applications": ["app"], "read": {"each": {"pattern": r"(\S+)"}}, "as": "gfx"}
        for place, value in (("v/gfx", ["gfx906"]), ("w/gfx", ["gfx900", "gfx906", "gfx908"])):
            self.assertEqual(rules.extracted({**rule, "is": [place]}, b"gfx900 gfx906 gfx908", table), value)

    def test_within_one_place(self):
        each = {"read": {"each": {"pattern": r"(\w)", "within": r"^x: (.*)$"}}}
        self.assertEqual(self.value("a\nx: b c\n", **each), ["b", "c"])
        with self.assertRaises(Refusal):
            self.value("x: a\nx: b\n", **each)

    def test_a_page_is_read_without_markup(self):
        self.assertEqual(self.value("<!DOCTYPE html>\n<p>at <b>least</b> 5 &gt; 4</p>", read={"match": {"pattern": "at least (.*)"}}), ["5", ">", "4"])

    def test_the_last_of_a_pair(self):
        self.assertEqual(rules.leaves([("a", "b"), "c"], -1), ["b", "c"])

    def test_several_places_of_the_document_together(self):
        document = {"v": {"a/b": {"ref": "x"}, "c": {"ref": "y"}, "d": {}}}
        self.assertEqual(rules.values_at(document, {"is": ["v/*/ref"], "joined": True}), [(None, ["x", "y"])])
        self.assertEqual([value for _, value in rules.values_at(document, {"is": ["v/a~1b/ref"]})], ["x"])

    def test_texts_of_the_document_that_the_file_lacks(self):
        self.assertEqual(rules.lacking(b"say '{}' is\n  not there", ["say '{word}' is not there", "other {word}"]), ["other {word}"])

    def test_a_library_is_what_a_list_is_compared_with(self):
        self.assertEqual(rules.compare({"expect": {"library": "lib 1"}}, {}, ["gfx900"], self.TABLE["libraries"]), [])
        self.assertEqual(rules.compare({"expect": {"library": "lib 1"}}, {}, ["gfx906"], self.TABLE["libraries"]), [(["gfx900"], None)])

    def test_where_the_file_of_an_address_is(self):
        for address, name in (("https://github.com/o/n/releases/tag/b1", "github/o+n@b1.json"), ("https://api.github.com/repos/o/n/releases/tags/b1", "github/o+n@b1.json"),
                              ("https://github.com/o/n/releases", "github/o+n.json"), ("https://pypi.org/project/p/1.0/", "pypi/p.json"),
                              ("https://registry.npmjs.org/@a/b/1.0", "npm/@a+b.json"), ("https://github.com/o/n/pull/1", "pages/github.com/o/n/pull/1")):
            self.assertEqual(rules.index_of(address), name)

    def test_the_latest_release_counts_only_for_itself(self):
        with tempfile.TemporaryDirectory(prefix="gpuprobe-rules-") as folder:
            path = pathlib.Path(folder) / "github/o+n.json"
            path.parent.mkdir()
            path.write_text('{"tag_name": "b2"}', encoding="utf-8")
            for tag, is_there in (("b2", True), ("b1", False)):
                self.assertEqual(rules.page_of(pathlib.Path(folder), f"https://github.com/o/n/releases/tag/{tag}") is not None, is_there)


class Versions(unittest.TestCase):
    """Tests how a project's index is compared with the version that a data file describes."""
    DAY = datetime.date(2026, 11, 29)

    def look(self, described, index, name="pypi/app.json", **source):
        document = {"name": "app", "source": {"url": "u", **source, "facts": []}, "manifest": {"version": described}}
        with tempfile.TemporaryDirectory(prefix="gpuprobe-rules-") as folder:
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(index), encoding="utf-8")
            found = versions.looked_up({"releases": {"app": name}}, document, pathlib.Path(folder), self.DAY)
        versions.put(found, document)
        return document["source"]

    def test_newer_than_what_the_document_describes(self):
        for described, newest, is_newer in (("2.14", "2.15.0", True), ("2.14", "2.14.1", False), ("2.14", "2.14", False), ("b11429", "b11500", True), ("1.10", "1.9.3", False),
                                            ("0.24", "1.0", True), ("2.14", "2.13.9", False)):
            self.assertEqual(versions.is_newer(newest, described), is_newer, (newest, described))

    def test_each_kind_of_index(self):
        for name, index in (("pypi/app.json", {"info": {"version": "2.0"}}), ("npm/app.json", {"version": "2.0"}), ("github/o+n.json", {"tag_name": "v2.0"})):
            self.assertEqual(self.look("1.9", index, name), {"url": "u", "checked": "2026-11-29", "newer": "2.0", "facts": []})

    def test_forgets_a_newer_version_that_is_described_now(self):
        self.assertEqual(self.look("2.0", {"info": {"version": "2.0"}}, newer="2.0", checked="2026-01-01"), {"url": "u", "checked": "2026-11-29", "facts": []})

    def test_keeps_what_was_found_if_the_folder_has_no_index(self):
        document = {"name": "app", "source": {"checked": "2026-01-01", "newer": "3", "facts": []}, "manifest": {"version": "2"}}
        with tempfile.TemporaryDirectory(prefix="gpuprobe-rules-") as folder:
            found = versions.looked_up({"releases": {"app": "pypi/app.json"}}, document, pathlib.Path(folder), self.DAY)
        self.assertEqual((found.checked, found.newer, found.is_looked_up), ("2026-01-01", "3", False))

    def test_each_index_is_of_a_document_that_describes_a_version(self):
        for name, index in TABLE["releases"].items():
            self.assertIn(index.partition("/")[0], versions.NEWEST)
            self.assertTrue(versions.described(DOCUMENTS[name]), name)

    def test_a_document_never_says_that_what_it_describes_is_newer(self):
        for name, document in DOCUMENTS.items():
            source = document.get("source", {})
            if "newer" in source:
                self.assertTrue(versions.is_newer(source["newer"], versions.described(document)), name)
                self.assertIn("checked", source, name)


class FactTable(unittest.TestCase):
    def test_each_fact_has_a_rule_or_was_checked_by_a_person(self):
        for name, document in DOCUMENTS.items():
            if name not in OUR_OWN:
                self.assertEqual(rules.facts_without_rule(TABLE, document), [], name)

    def test_most_facts_have_a_rule(self):
        facts = {(name, fact["of"]) for name, document in DOCUMENTS.items() for fact in document.get("source", {}).get("facts", [])}
        made = {(name, rules.fact_of(DOCUMENTS[name], rule["fact"])["of"]) for rule in TABLE["rules"] for name in rule["applications"]}
        print(f"{len(made)} of {len(facts)} facts have a rule")
        self.assertGreaterEqual(len(made), BY_RULE * len(facts))

    def test_each_entry_is_about_one_fact(self):
        for entry in TABLE["rules"] + TABLE["by_hand"]:
            for name in entry["applications"]:
                rules.fact_of(DOCUMENTS[name], entry["fact"])

    def test_each_rule_can_be_read(self):
        for rule in TABLE["rules"]:
            self.assertEqual(len(rule["read"]), 1)
            self.assertIn(next(iter(rule["read"])), rules.READERS)
            self.assertIn(rule["as"], rules.CONVERSIONS)
            self.assertEqual(sum(key in rule for key in ("is", "expect")), 1, rule)

    def test_no_build_has_kernels_that_a_library_in_it_lacks(self):
        for entry in TABLE["parts"]:
            self.assertLessEqual(set(entry["of"]), set(TABLE["libraries"]))
            self.assertLessEqual(set(entry["applications"]), set(DOCUMENTS))
        for document in DOCUMENTS.values():
            for result in rules.check_parts(TABLE, document):
                self.assertEqual((result.state, result.detail), ("same", ""), f"{result.application}: {result.fact}")

    def test_a_kernel_that_a_library_lacks_is_noticed(self):
        document = {"name": "app", "v": {"gfx": ["gfx900", "gfx906"]}}
        table = {"libraries": {"lib 1": {"gfx": ["gfx900"]}}, "parts": [{"applications": ["app"], "is": ["v/gfx"], "of": ["lib 1"]}]}
        self.assertEqual([(each.state, each.detail) for each in rules.check_parts(table, document)], [("changed", "lib 1 has none for gfx906")])
        self.assertEqual([each.state for each in rules.check_parts(table, {"name": "app"})], ["unreadable"])

    def test_each_library_has_kernels_and_the_layout_of_documents(self):
        for name, document in LIBRARIES.items():
            self.assertEqual((document["schema"], document["name"]), ("gpuprobe.library/1", name))
            self.assertEqual((SOURCE / f"tools/knowledge/libraries/{name}.json").read_text(encoding="utf-8"), document_text(document))
            for version, kernels in document["versions"].items():
                self.assertTrue(kernels and all(kernels.values()), f"{name} {version}")

    def test_each_entry_by_hand_has_a_date_a_reason_and_the_hash_of_what_can_be_read(self):
        for entry in TABLE["by_hand"]:
            self.assertEqual(entry["checked_by"], "hand")
            self.assertRegex(entry["date"], r"^20[0-9]{2}-[0-9]{2}-[0-9]{2}$")
            self.assertTrue(entry["reason"])
            self.assertEqual("sha256" in entry, "lines" in entry)
            has_file = any("path" in rules.fact_of(DOCUMENTS[name], entry["fact"]) for name in entry["applications"])
            self.assertTrue("sha256" in entry or not has_file, f"{entry['fact']}: the entry needs a hash, because the fact cites a file")

    def test_changed_lines_are_noticed(self):
        entry = {"fact": "f", "date": "2026-01-01", "reason": "r", "lines": 1, "sha256": hashlib.sha256(b"b\n").hexdigest()}
        document = {"name": "app", "source": {"facts": [{"of": "f", "url": "https://example.org/page"}]}}
        with tempfile.TemporaryDirectory(prefix="gpuprobe-rules-") as folder:
            path = pathlib.Path(folder) / "pages/example.org/page"
            path.parent.mkdir(parents=True)
            for text, state in (("a\nb\n", "same"), ("a\nc\n", "changed")):
                path.write_text(text, encoding="utf-8")
                self.assertEqual(rules.check_by_hand(entry, document, pathlib.Path(folder)).state, state)
            path.unlink()
            self.assertEqual(rules.check_by_hand(entry, document, pathlib.Path(folder)).state, "by hand")

    def test_cited_lines_are_found_wherever_they_moved(self):
        digest = hashlib.sha256(b"b\nc\n").hexdigest()
        self.assertTrue(rules.has_block(b"new\na\nb\nc\nd\n", 2, digest))
        self.assertFalse(rules.has_block(b"a\nb\nd\n", 2, digest))


class Sample(unittest.TestCase):
    """Tests tools/knowledge/sample, which draws facts for a second reader."""

    def drawn(self, *words):
        done = subprocess.run([SOURCE / "tools/knowledge/sample", *words], capture_output=True, text=True, check=True)
        return done.stdout, [line for line in done.stdout.splitlines() if re.match(r"[0-9]+\. ", line)]

    def test_draws_as_many_facts_as_asked_for_each_with_a_citation(self):
        text, facts = self.drawn()
        self.assertEqual(len(facts), 300)
        lines = text.splitlines()
        self.assertEqual(len(lines), 3 * len(facts))
        for citation in lines[2::3]:
            self.assertRegex(citation, r"^   \S")
        self.assertEqual({fact.split()[1].split("/")[0].rstrip(":") for fact in facts} & {"chips", "amd_names", "causes", "rules"}, {"chips", "amd_names", "causes", "rules"})

    def test_a_seed_gives_the_same_facts_and_another_one_others(self):
        self.assertEqual(self.drawn("--count=40")[0], self.drawn("--count=40")[0])
        self.assertNotEqual(self.drawn("--count=40")[0], self.drawn("--count=40", "--seed=1")[0])

    def test_draws_all_facts_of_a_kind_that_has_fewer(self):
        facts = self.drawn("--of=documents", "--count=100000")[1]
        self.assertEqual(len(facts), sum(len(entry["applications"]) for entry in TABLE["rules"] + TABLE["by_hand"]))


def plain(text):
    return re.sub("[«»]", "", text)


class UpstreamCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-rules-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def entries(self, application, start):
        wanted = rules.fact_of(DOCUMENTS[application], start)
        return [rule for rule in TABLE["rules"] if application in rule["applications"] and rules.fact_of(DOCUMENTS[application], rule["fact"]) is wanted]

    def place(self, application, start):
        fact = rules.fact_of(DOCUMENTS[application], start)
        is_pinned = any(rule.get("pinned") for rule in self.entries(application, start))
        if "path" not in fact:
            return self.folder / rules.index_of(fact["url"])
        name = fact["repo"].replace("/", "+") + (f"@{fact['commit']}" if is_pinned else "")
        return self.folder / "files" / name / fact["path"]

    def states(self, application, start, text):
        path = self.place(application, start)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return [rules.apply_rule(rule, DOCUMENTS[application], self.folder, TABLE, False) for rule in self.entries(application, start)]


class Mutation(UpstreamCase):
    def test_the_small_files_say_what_the_documents_say(self):
        for application, start, text in upstream_files.FILES:
            with self.subTest(application, fact=start):
                results = self.states(application, start, plain(text))
                self.assertTrue(results)
                self.assertEqual([(each.state, each.detail) for each in results], [("same", "")] * len(results))

    def changed(self, generator, text):
        """Chooses a marked word in the text at random and changes it. Returns the new text and a description of the change."""
        words = list(re.finditer("«(.*?)»", text))
        word = generator.choice(words)
        if generator.random() < 0.25:
            new = ""
        else:
            digits = [place for place, letter in enumerate(word[1]) if letter.isdigit()]
            place = generator.choice(digits) if digits else len(word[1]) - 1
            new = word[1][:place] + ("x" if not digits else str((int(word[1][place]) + generator.randint(1, 8)) % 10)) + word[1][place + 1:]
        return plain(text[:word.start()]) + new + plain(text[word.end():]), f"{word[1]} → {new or 'nothing'}"

    def test_a_change_is_noticed(self):
        generator, unnoticed = random.Random(SEED), []
        for _ in range(CHANGES):
            application, start, text = generator.choice(upstream_files.FILES)
            changed, what = self.changed(generator, text)
            if all(each.state == "same" for each in self.states(application, start, changed)):
                unnoticed.append(f"{application}: {start}: {what}")
        print(f"{CHANGES - len(unnoticed)} of {CHANGES} changes noticed; not: {unnoticed}")
        self.assertGreaterEqual(CHANGES - len(unnoticed), ENOUGH, unnoticed)

    def test_a_file_that_moved_is_noticed(self):
        self.states("jax", "the described version", "")
        path = self.place("jax", "the kernels in the CUDA plugins")
        self.assertFalse(path.exists())
        result = rules.apply_rule(self.entries("jax", "the kernels in the CUDA plugins")[0], DOCUMENTS["jax"], self.folder, TABLE, False)
        self.assertEqual((result.state, result.detail), ("unreadable", ".bazelrc is no longer there"))

    def test_writes_what_the_file_has(self):
        document = json.loads(json.dumps(DOCUMENTS["jax"]))
        path = self.place("jax", "the described version")
        path.parent.mkdir(parents=True)
        path.write_text('_version = "0.12.0"\n', encoding="utf-8")
        result = rules.apply_rule(self.entries("jax", "the described version")[0], document, self.folder, TABLE, True)
        self.assertEqual((result.state, result.detail, document["manifest"]["version"]), ("changed", "0.11.1 → 0.12.0", "0.12.0"))


if __name__ == "__main__":
    unittest.main()
