# SPDX-License-Identifier: Apache-2.0
"""Tests the parts of tools/interface-files that write docs/reference.md, and the parts that compare dbus/*.xml with the table of methods."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
TYPES = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent / "generated/interface/types.json"
sys.path.insert(0, str(SOURCE / "tools"))
from interface_reference import bus_xml, calls, page  # noqa: E402

TEXT = {"kind": "text"}
TRAITS = {"subscribes": False}


def method(name, form=None, *parameters):
    forms = [{"is_of_gpu": False, "member": name, "out": "", "optional": "", "explained": "", **form}] if form else []
    return {"name": name, "about": f"{name} does it.", "traits": TRAITS, "bus": forms, "parameters": [{"name": each, "type": TEXT} for each in parameters]}


class ReferenceCalls(unittest.TestCase):
    def bus(self, form, parameters, *names):
        command = calls.bus_command(method("Ask", form, *names), method("Ask", form)["bus"][0], parameters)
        return command.partition(calls.BUS_NAME + " ")[2]

    def test_on_dbus_a_parameter_is_an_argument(self):
        self.assertEqual(self.bus({"in": "application:s request:a{sv}"}, {"application": "a b", "request": {"min_memory": 8, "strict": True, "only": ["x"]}},
                                  "application", "request"),
                         "/org/gpuprobe/GpuProbe1 org.gpuprobe.GpuProbe1.Manager Ask 'sa{sv}' 'a b' 3 min_memory t 8 strict b true only as 1 x")

    def test_on_dbus_other_parameters_are_in_the_dictionary(self):
        self.assertEqual(self.bus({"in": "gpus:ao options:a{sv}"}, {"gpus": ["pci:0000:00:06.0"], "stage": "verify"}, "gpus", "stage"),
                         "/org/gpuprobe/GpuProbe1 org.gpuprobe.GpuProbe1.Manager Ask 'aoa{sv}' 1 /org/gpuprobe/GpuProbe1/gpu/pci_0000_00_06_0 1 stage s verify")
        self.assertEqual(self.bus({"in": "", "is_of_gpu": True}, {"gpu": "pci:a"}, "gpu"), "/org/gpuprobe/GpuProbe1/gpu/pci_a org.gpuprobe.GpuProbe1.Gpu Ask")
        self.assertEqual(self.bus({"in": "text:s rule:a{sv}"}, {"rule": {"variants": {"only": ["a"]}, "size": -1}}, "text", "rule"),
                         "/org/gpuprobe/GpuProbe1 org.gpuprobe.GpuProbe1.Manager Ask 'sa{sv}' '' 2 variants 'a{sv}' 1 only as 1 a size x -1")

    def test_languages_quote_what_they_have_to(self):
        parameters = {"text": 'a "b"', "flag": True, "nothing": None, "list": [1, {"x-y": []}]}
        found = {language: call(method("Ask"), parameters) for language, call in calls.LANGUAGES.items()}
        self.assertEqual(found, {
            "Python": 'client.call("Ask", {"text": "a \\"b\\"", "flag": True, "nothing": None, "list": [1, {"x-y": []}]})',
            "Node": 'await client.call("Ask", { text: "a \\"b\\"", flag: true, nothing: null, list: [1, { "x-y": [] }] })',
            "C": 'gpuprobe_call(client, "Ask", "{\\"text\\":\\"a \\\\\\"b\\\\\\"\\",\\"flag\\":true,\\"nothing\\":null,\\"list\\":[1,{\\"x-y\\":[]}]}", &json)',
            "C++": 'client.call("Ask", R"({"text":"a \\"b\\"","flag":true,"nothing":null,"list":[1,{"x-y":[]}]})")'})

    def test_functions_take_parameters_by_position_or_by_name(self):
        terms = {"terms": ["a", "b"], "gpus": ["c"]}
        self.assertEqual(calls.python_call(method("Query"), terms), 'client.query("a", "b", gpus=["c"])')
        self.assertEqual(calls.node_call(method("Query"), terms), 'await client.query(["a", "b"], { gpus: ["c"] })')
        choice = {"application": "a", "request": {"only": ["b"]}}
        self.assertEqual(calls.c_call(method("Select"), choice), 'gpuprobe_select(client, "a", "{\\"only\\":[\\"b\\"]}", &json)')
        self.assertEqual(calls.cpp_call(method("Select"), choice), 'client.select("a", {.only = {"b"}})')
        self.assertEqual(calls.cpp_call(method("Plan"), choice), 'client.plan({.application = "a", .request = {{.only = {"b"}}}})')
        self.assertEqual(calls.node_call(method("Plan"), {"request": {}}), "await client.plan(null, { request: {} })")


class ReferenceAnswers(unittest.TestCase):
    def test_a_long_answer_is_cut_between_its_parts(self):
        self.assertEqual(page.shortened({"a": [1, 2], "b": "x" * 90}, 40), '{"a": [1, 2], …}')
        self.assertEqual(page.shortened(["x" * 20] * 9, 60), f'["{"x" * 20}", "{"x" * 20}", …]')
        self.assertEqual(page.shortened("x" * 90, 40), '"' + "x" * 37 + '…"')

    def test_values_of_the_moment_are_not_shown(self):
        answer = {"generation": 7, "version": "1", "gpus": [{"free_at_usec": 9, "version": "2", "other_usec": None}]}
        self.assertEqual(page.shown(answer), ['{"generation": …, "version": …, "gpus": [{"free_at_usec": …, "version": "2", "other_usec": null}]}'])

    def test_a_large_answer_has_a_line_for_each_of_its_first_members(self):
        lines = page.shown({f"member{number}": "x" * 20 for number in range(page.LINES + 1)})
        self.assertEqual((lines[0], lines[1], lines[-2:], len(lines)), ("{", '  "member0": "xxxxxxxxxxxxxxxxxxxx",', ["  …", "}"], page.LINES + 3))


XML = """<node>
  <!-- About the interface. -->
  <interface name="x">
    <!-- Written by hand. -->
    <method name="First">
      <annotation name="a" value="b"/>
      <arg name="old" type="s" direction="in"/>
    </method>

    <property name="P" type="s" access="read"/>
  </interface>
</node>
"""


class BusXml(unittest.TestCase):
    WANTED = {"First": ("It is first.", [("new", "s", "in"), ("answer", "a{sv}", "out")]), "Second": ("It is second.", [])}

    def test_names_each_difference(self):
        self.assertEqual(list(bus_xml.differences(XML, self.WANTED)),
                         ["First has old s in; the table has new s in, answer a{sv} out", "Second is missing"])
        self.assertEqual(list(bus_xml.differences(XML, {})), ["First is not in the table"])

    def test_writes_what_is_missing_and_leaves_the_rest(self):
        made = bus_xml.with_arguments(bus_xml.with_missing(XML, self.WANTED), self.WANTED)
        self.assertEqual(list(bus_xml.differences(made, self.WANTED)), [])
        self.assertEqual(made, XML.replace('      <arg name="old" type="s" direction="in"/>\n    </method>\n', """\
      <arg name="new" type="s" direction="in"/>
      <arg name="answer" type="a{sv}" direction="out"/>
    </method>

    <!-- It is second. -->
    <method name="Second">
    </method>
"""))


@unittest.skipUnless(TYPES.exists(), "the types of the interface are not built")
class ReferenceTool(unittest.TestCase):
    """Tests with a copy of the files that tools/interface-files reads."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("tools/interface_languages", "tools/interface_reference", "src", "dbus"):
            shutil.copytree(SOURCE / name, self.root / name)
        (self.root / "docs").mkdir()
        for name in ("tools/interface-files", "docs/reference.md", "docs/reference-examples.json"):
            shutil.copy(SOURCE / name, self.root / name)

    def run_tool(self, action, what):
        return subprocess.run([self.root / "tools/interface-files", action, what, TYPES], capture_output=True, text=True, timeout=60, check=False)

    def replace(self, name, text, other):
        path = self.root / name
        before = path.read_text(encoding="utf-8")
        self.assertIn(text, before)
        path.write_text(before.replace(text, other), encoding="utf-8")

    def test_finds_and_mends_a_page_that_differs(self):
        self.replace("docs/reference.md", "### GetGpu\n", "### GetGpus\n")
        self.replace("docs/reference.md", "# Reference of the methods\n", "# Another title\n")
        done = self.run_tool("--check", "reference")
        self.assertEqual(done.returncode, 1)
        self.assertIn("-### GetGpus\n+### GetGpu\n", done.stdout)
        self.assertEqual(self.run_tool("--write", "reference").returncode, 0)
        self.assertEqual(self.run_tool("--check", "reference").returncode, 0)
        self.assertTrue((self.root / "docs/reference.md").read_text(encoding="utf-8").startswith("# Another title\n"))

    def test_finds_and_mends_an_interface_that_differs(self):
        manager = "dbus/org.gpuprobe.GpuProbe1.Manager.xml"
        self.replace(manager, '<arg name="cleared" type="b" direction="out"/>', '<arg name="cleared" type="u" direction="out"/>')
        done = self.run_tool("--check", "dbus")
        self.assertEqual((done.returncode, done.stdout),
                         (1, f"{manager}: ClearOverride has application s in, cleared u out; the table has application s in, cleared b out\n"))
        self.assertEqual(self.run_tool("--write", "dbus").returncode, 0)
        self.assertEqual((self.root / manager).read_bytes(), (SOURCE / manager).read_bytes())

    def test_refuses_methods_without_an_example(self):
        path = self.root / "docs/reference-examples.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        del data["examples"]["Query"]
        path.write_text(json.dumps(data), encoding="utf-8")
        self.assertIn("docs/reference-examples.json", self.run_tool("--check", "reference").stderr)


if __name__ == "__main__":
    unittest.main()
