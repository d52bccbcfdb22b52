#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the D-Bus interface with clients that use the interface correctly."""
import json
import os
import xml.etree.ElementTree as ElementTree

from bus_case import GPU, LOG_CONTROL, MANAGER, NAME, PROPERTIES, ROOT, SOURCE, BusCase
from gi.repository import Gio, GLib

ADDRESS = "0000:03:00.0"
PATH = ROOT + "/gpu/pci_0000_03_00_0"


def shape(interface):
    """Converts an interface to data that can be compared: for each member, the arguments with types and directions, and the annotations."""

    def annotations(node):
        return sorted(
            (item.get("name"), item.get("value"))
            for item in node.findall("annotation")
            # The comparison ignores these annotations, because only the code generator reads Method.Async, and sd-bus shows systemd1.Privileged only
            # on system buses.
            if not item.get("name").endswith((".Method.Async", ".systemd1.Privileged"))
        )

    def arguments(node, fallback):
        return [
            (item.get("type"), item.get("direction", fallback), item.get("name"))
            for item in node.findall("arg")
        ]

    found = {}
    for node in interface.findall("method"):
        found[node.get("name")] = ("method", arguments(node, "in"), annotations(node))
    for node in interface.findall("signal"):
        found[node.get("name")] = ("signal", arguments(node, "out"), annotations(node))
    for node in interface.findall("property"):
        marks = annotations(node)
        # If this annotation is missing, its value is true, so sd-bus leaves out the annotation.
        marks = [mark for mark in marks if mark != ("org.freedesktop.DBus.Property.EmitsChangedSignal", "true")]
        found[node.get("name")] = ("property", node.get("type"), node.get("access"), marks)
    return found


def from_xml(name):
    root = ElementTree.parse(SOURCE / "dbus" / f"{name}.xml").getroot()
    return shape(root.find("interface"))


class Interface(BusCase):
    def setUp(self):
        super().setUp()
        machine = self.capture()
        machine.add_gpu(ADDRESS)
        machine.add_probe("pci", devices=[{"pci": ADDRESS, "name": "Navi 21"}])
        machine.add_probe("vulkan", devices=[
            {"pci": ADDRESS, "name": "AMD Radeon", "type": "discrete", "memory": {"total": 1 << 34, "free": None}}
        ])
        self.start_on(machine)

    def interfaces_at(self, path):
        xml = self.call(path, "org.freedesktop.DBus.Introspectable", "Introspect")
        return {node.get("name"): shape(node) for node in ElementTree.fromstring(xml).findall("interface")}

    def test_introspection_is_the_xml(self):
        for path, name in ((ROOT, MANAGER), (PATH, GPU), ("/org/freedesktop/LogControl1", LOG_CONTROL)):
            with self.subTest(name):
                served, documented = self.interfaces_at(path)[name], from_xml(name)
                for member in sorted({*served, *documented}):
                    self.assertEqual(served.get(member), documented.get(member), member)

    def test_each_object_has_its_own_interface_and_each_interface_is_documented(self):
        own = {path: [name for name in self.interfaces_at(path) if name.startswith(NAME)] for path in (ROOT, PATH)}
        self.assertEqual(own, {ROOT: [MANAGER], PATH: [GPU]})
        self.assertEqual({file.stem for file in (SOURCE / "dbus").glob(NAME + ".*.xml")}, {MANAGER, GPU})

    def test_describe_is_the_report_in_text_and_in_a_sealed_file(self):
        text = self.manager("Describe")
        report = json.loads(text)
        self.assertEqual(report["schema"], 1)
        self.assertEqual([gpu["id"] for gpu in report["gpus"]], ["pci:" + ADDRESS])
        _, descriptors = self.connection.call_with_unix_fd_list_sync(
            "org.gpuprobe.GpuProbe1", ROOT, MANAGER, "DescribeFd", None, None,
            Gio.DBusCallFlags.NONE, -1, None, None)
        with os.fdopen(descriptors.get(0), "rb") as file:
            self.assertEqual(file.read().decode(), text)
            with self.assertRaises(PermissionError):
                os.ftruncate(file.fileno(), 0)

    def test_diagnose_is_what_the_doctor_finds(self):
        diagnosis = json.loads(self.manager("Diagnose"))
        self.assertEqual(list(diagnosis), ["schema", "severity", "findings"])
        ids = {gpu["id"] for gpu in json.loads(self.manager("Describe"))["gpus"]}
        for finding in diagnosis["findings"]:
            self.assertTrue(finding["sentence"])
            self.assertLessEqual(set(finding["gpus"]), ids)

    def test_gpus_are_objects_with_their_facts(self):
        self.assertEqual(self.gpus(), [PATH])
        self.assertEqual(self.property(ROOT, MANAGER, "DefaultGpu"), PATH)
        facts = self.call(PATH, PROPERTIES, "GetAll", GLib.Variant("(s)", (GPU,)))
        self.assertEqual(facts["Id"], "pci:" + ADDRESS)
        self.assertEqual(facts["PciAddress"], ADDRESS)
        self.assertEqual(facts["VendorId"], 0x1002)
        self.assertEqual(facts["Vendor"], "amd")
        self.assertEqual(facts["Driver"], "amdgpu")
        self.assertEqual(facts["PowerState"], "active")
        self.assertIn("vulkan", facts["Backends"])
        for gpu in json.loads(self.manager("Describe"))["gpus"]:
            self.assertEqual(set(facts["Apis"]), set(gpu["apis"]))
            for api, view in gpu["apis"].items():
                said = facts["Apis"][api]
                self.assertEqual(said["Outcome"], view["outcome"])
                self.assertEqual([reason["Code"] for reason in said["Reasons"]], [reason["code"] for reason in view["reasons"]])
                self.assertTrue(all(reason["Text"] for reason in said["Reasons"]), api)
        described = json.loads(self.call(PATH, GPU, "Describe"))
        self.assertEqual(described, json.loads(self.manager("Describe"))["gpus"][0])
        self.assertEqual(facts["MemoryTotal"], described["memory"]["physical"] or 0)

    def test_memory_holds_what_is_known(self):
        memory = self.call(PATH, GPU, "GetMemory", GLib.Variant("(a{sv})", ({},)))
        described = json.loads(self.call(PATH, GPU, "Describe"))["memory"]
        self.assertEqual(memory.get("Physical"), described["physical"])
        self.assertEqual(memory.get("Free"), described["free"])
        self.assertEqual(len(memory["Evidence"]), len(described["evidence"]))
        self.assertEqual(memory["Source"], "report")
        self.assertNotIn("Reasons", memory)

    def test_memory_leaves_the_generation(self):
        before = self.property(ROOT, MANAGER, "Generation")
        for _ in range(20):
            self.call(PATH, GPU, "GetMemory", GLib.Variant("(a{sv})", ({},)))
        self.assertEqual(self.property(ROOT, MANAGER, "Generation"), before)

    def test_managed_objects_are_the_gpus(self):
        objects = self.call(ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        self.assertEqual(list(objects), [PATH])
        self.assertEqual(objects[PATH][GPU]["Id"], "pci:" + ADDRESS)

    def test_properties_say_version_features_generation_and_state(self):
        facts = self.call(ROOT, PROPERTIES, "GetAll", GLib.Variant("(s)", (MANAGER,)))
        self.assertRegex(facts["Version"], r"^\d+\.\d+")
        self.assertIn("replay", facts["Features"])
        self.assertEqual(facts["Generation"], json.loads(self.manager("Describe"))["generation"])
        self.assertEqual(facts["State"], json.loads(self.manager("Describe"))["state"])

    def test_select_answers_with_the_choice(self):
        answer = self.select()
        self.assertEqual(set(answer), {"Backend", "Gpus", "Environment", "Decision", "Generation"})
        self.assertEqual((answer["Backend"], answer["Gpus"]), ("vulkan", [PATH]))

    def test_select_explains_every_candidate_on_request(self):
        answer = self.explain()
        self.assertEqual({key: answer[key] for key in self.select()}, self.select())
        self.assertLessEqual({candidate["Verdict"] for candidate in answer["Candidates"]},
                             {"accepted", "rejected", "unknown"})
        for candidate in answer["Candidates"]:
            self.assertIn(candidate.get("Gpu"), (PATH, None))
            for reason in candidate["Reasons"]:
                self.assertTrue(reason["Code"] and reason["Text"])
        cuda = next(each for each in answer["Candidates"] if each["Backend"] == "cuda")
        self.assertEqual([(reason["Code"], reason["Text"], reason["Detail"]["needs"]) for reason in cuda["Reasons"]],
                         [("vendor-mismatch", "works only on NVIDIA GPUs", "nvidia")])
        self.assert_refused("org.gpuprobe.GpuProbe1.Error.InvalidRequest", self.select,
                            {"explain": GLib.Variant("s", "yes")})

    def test_reasons_have_the_documented_form(self):
        views = [*self.property(PATH, GPU, "Backends").values(), *self.property(PATH, GPU, "Apis").values(),
                 *self.explain({"strict": GLib.Variant("b", True)})["Candidates"]]
        reasons = [reason for view in views for reason in view["Reasons"]]
        self.assertIn("strict", [reason["Code"] for reason in reasons])
        for reason in reasons:
            with self.subTest(reason["Code"]):
                self.assertLessEqual({*reason}, {"Code", "Text", "Fix", "Commands", "Subject", "Detail"})
                self.assertEqual([command for command in reason["Commands"] if command not in reason["Fix"]], [])
                self.assertLessEqual({*reason["Subject"]}, {"Gpu", "Api", "Path"})
                self.assertEqual(reason["Subject"].get("Gpu", PATH), PATH)
                self.assertNotEqual(reason.get("Detail"), {}, "a reason without details has no Detail")

    def test_each_question_gets_its_own_answer_each_time(self):
        questions = [{}, {"deny": GLib.Variant("as", ["vulkan"])}, {"backend": GLib.Variant("s", "cpu")},
                     {"only": GLib.Variant("as", ["cpu"])}, {"include-rejected": GLib.Variant("b", False)}]
        questions += [{**question, "explain": GLib.Variant("b", True)} for question in questions]
        first = [self.select(question) for question in questions]
        self.assertNotEqual(first[0], first[1])
        self.assertNotEqual(first[5]["Candidates"], first[9]["Candidates"])
        for _ in range(2):
            self.assertEqual([self.select(question) for question in questions], first)

    def test_an_object_gets_its_own_answer_each_time(self):
        for _ in range(2):
            self.assertIn("gpus", json.loads(self.manager("Describe")))
            self.assertEqual(json.loads(self.call(PATH, GPU, "Describe"))["pci"]["address"], ADDRESS)

    def test_many_questions_have_their_own_answers(self):
        def question(size):
            return self.select({"min-memory": GLib.Variant("t", size)})

        backends = [question(gib << 30)["Backend"] for gib in range(40)]
        self.assertEqual({*backends[:16]}, {"vulkan"})
        self.assertEqual({*backends[17:]}, {"cpu"})
        self.assertEqual([question(gib << 30)["Backend"] for gib in range(40)], backends)

    def test_a_number_may_come_in_any_type_of_whole_numbers(self):
        answers = [self.select({"min-memory": GLib.Variant(kind, 30_000)}) for kind in "nqiuxt"]
        self.assertEqual([answer["Backend"] for answer in answers], ["vulkan"] * 6)

    def test_select_takes_gpus_by_object_path(self):
        by_path = self.select({"gpus": GLib.Variant("ao", [PATH])})
        by_id = self.select({"gpus": GLib.Variant("as", ["pci:" + ADDRESS])})
        self.assertEqual(by_path, by_id)

    def test_no_match_is_one_sentence_and_explained_on_request(self):
        request = {"built": GLib.Variant("as", ["cuda"])}
        message = self.assert_refused("org.gpuprobe.GpuProbe1.Error.NoMatch", self.select, request)
        self.assertRegex(message, r"\.NoMatch: nothing on this machine satisfies 'default'; the closest candidate is \w+ on pci:0000:03:00.0: "
                                  r".*the application was built without this backend$")
        self.assertNotIn("\n", message)
        answer = self.explain(request)
        self.assertEqual((answer["Backend"], answer["Gpus"]), ("", []))
        self.assertTrue(answer["Candidates"])

    def test_names_are_listed_and_suggested(self):
        applications = self.manager("ListApplications")
        names = [application["Name"] for application in applications]
        self.assertEqual(names, sorted(names))
        self.assertIn("default", names)
        (shimmy,) = [application for application in applications if application["Name"] == "shimmy"]
        self.assertEqual((shimmy["Backends"], shimmy["Variants"]), (["webgpu", "cpu"], ["legacy", "webgpu"]))
        error = "org.gpuprobe.GpuProbe1.Error."
        said = self.assert_refused(error + "UnknownApplication", self.select, {}, "defualt")
        self.assertTrue(said.endswith(": no application 'defualt'; did you mean 'default'?"), said)
        said = self.assert_refused(error + "UnknownApplication", self.select, {}, "what is this?")
        self.assertIn("'gpuprobectl apps' lists them", said)
        said = self.assert_refused(error + "InvalidRequest", self.select, {"strickt": GLib.Variant("b", True)})
        self.assertTrue(said.endswith(": request: strickt: unknown key; did you mean 'strict'?"), said)
        recommend = GLib.Variant("(ssa{sv})", ("torhc", "", {}))
        said = self.assert_refused(error + "UnknownApplication", self.manager, "RecommendVariant", recommend)
        self.assertTrue(said.endswith(": no application 'torhc'; did you mean 'torch'?"), said)

    def test_probe_answers_with_what_the_drivers_said(self):
        answer = self.manager("Probe", GLib.Variant("(aoasa{sv})", ([PATH], ["vulkan"], {})))
        self.assertEqual([probe["Api"] for probe in answer["Probes"]], ["vulkan"])
        self.assertEqual(answer["Probes"][0]["Outcome"], "answered")
        self.assertEqual(answer["Generation"], self.property(ROOT, MANAGER, "Generation"))

    def test_log_level_can_be_read_and_set(self):
        path = "/org/freedesktop/LogControl1"
        self.assertEqual(self.property(path, LOG_CONTROL, "LogLevel"), "info")
        self.assertEqual(self.property(path, LOG_CONTROL, "SyslogIdentifier"), "gpuprobed")

        def put(name, value):
            self.call(path, PROPERTIES, "Set",
                      GLib.Variant("(ssv)", (LOG_CONTROL, name, GLib.Variant("s", value))))

        put("LogLevel", "debug")
        self.assertEqual(self.property(path, LOG_CONTROL, "LogLevel"), "debug")
        put("LogTarget", "null")
        self.assertEqual(self.property(path, LOG_CONTROL, "LogTarget"), "null")
        self.assert_refused("org.freedesktop.DBus.Error.InvalidArgs", put, "LogLevel", "loud")


class Partitions(BusCase):
    """Tests with a GPU in MIG mode."""

    PATH = ROOT + "/gpu/pci_0000_1a_00_0"

    def memory(self, **options):
        return self.call(self.PATH, GPU, "GetMemory", GLib.Variant("(a{sv})", (options,)))

    def test_memory_is_that_of_the_partition_that_is_named(self):
        self.start("--replay", str(SOURCE / "tests/data/machines/nvidia-h100-mig-mixed"))
        self.assertEqual(self.memory(partition=GLib.Variant("s", "mig-1"))["Physical"], 42412802048)
        self.assertEqual(self.memory(partition=GLib.Variant("s", "mig-5"))["Free"], 21030240256)
        self.assertEqual(self.memory()["Physical"], 85899345920)
        for name, partition in (("NoSuchGpu", GLib.Variant("s", "mig-6")), ("InvalidRequest", GLib.Variant("u", 1))):
            self.assert_refused(f"{NAME}.Error.{name}", lambda partition=partition: self.memory(partition=partition))


class Texts(BusCase):
    """Tests with strings that sd-bus refuses to send; sdbus-c++ 1.2 does not handle every such refusal."""

    def test_names_that_the_bus_refuses_are_replaced(self):
        machine = self.capture()
        machine.add_gpu(ADDRESS, driver="nvidia", vendor="0x10de")
        information = f"root/proc/driver/nvidia/gpus/{ADDRESS}/information"
        machine.write(information, b"Model: \t\t NVIDIA \xff\xfe\nGPU UUID: \t GPU-\xc3\n")
        strange = "Non\uffffcharacter\u0000\ufdd0 \U0001fffe"
        machine.add_probe("vulkan", devices=[{"pci": ADDRESS, "name": strange, "driver_name": strange}])
        machine.add_probe("pci", devices=[{"pci": ADDRESS, "name": strange}], note=strange)
        self.start_on(machine)
        objects = self.call(ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        self.assertIn("\N{REPLACEMENT CHARACTER}", objects[PATH][GPU]["Name"])
        json.loads(self.manager("Describe"))
        json.loads(self.call(PATH, GPU, "Describe"))
        self.select()
        self.manager("Probe", GLib.Variant("(aoasa{sv})", ([], [], {})))
        self.assert_same_daemon()
