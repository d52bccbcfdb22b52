# SPDX-License-Identifier: Apache-2.0
"""Follows docs/internals/extending.md: adds an API, a predicate with a reason, an export format and a method to a copy of the source tree,
builds the copy, and tests each addition."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
sys.path[:0] = [str(SOURCE / "tests" / "integration"), str(SOURCE / "tests" / "integration" / "scenarios")]
# The folder with the copied tree is kept between runs, so that only changed files are compiled.
PLACE = pathlib.Path(os.environ["GPUPROBE_EXTENDED"])
TREE, BUILD = PLACE / "tree", PLACE / "build"
PROGRAMS = BUILD / "src"
os.environ["GPUPROBE_BIN"] = str(PROGRAMS)
ADDRESS = "0000:65:00.0"

# The changes that the page about extending describes: (file, line before which the new lines are inserted, new lines).
API = (
    ("src/report/api_table.h", "    Cpu,  ///<", "    Demo,\n"),
    ("src/report/api_table.h", "    {.id = Api::Cpu,",
     '    {.id = Api::Demo,\n'
     '     .word = "demo",\n     .label = "Demo",\n     .backend = "demo",\n     .fleet_word = "demo",\n'
     '     .vendor = "mthreads",\n     .kernel_drivers = "mtgpu",\n     .libraries = "libdemo.so",\n'
     '     .linked = {.of_driver = "libdemo"},\n     .uuid_member = "demo_uuid",\n     .version_term = "demo",\n'
     '     .trust = {.name = 7, .kind = 8, .physical = 9, .allocatable = 6, .uuid = 4}},\n'),
    ("src/report/fact_table.h", "    // ---- drm\n",
     '    {"api_version", Device, "demo", Version, Model, "of the driver"},\n'
     '    {"lanes", Device, "demo", Number, Model, "how many there are"},\n'
     '    {"wide", Device, "demo", Flag, Model, "whether its lanes work together"},\n'),
    ("src/backends/backend.cpp", '#include "backends/drm/drm.h"', '#include "backends/demo/demo.h"\n'),
    ("src/backends/backend.cpp", "        Backend{.api = word_of(Api::Drm)",
     "        Backend{.api = word_of(Api::Demo), .query = query_demo},\n"),
)
PREDICATE = (
    ("src/policy/fact.h", "    Fp16,\n", "    Wide,\n"),
    ("src/policy/fact_table.cpp", "    {.id = FactId::Fp16,",
     '    {.id = FactId::Wide, .key = "wide", .type = FactForm::Flag, .scope = kBackend, .unfit = "not-wide",\n'
     '     .read = [](F f) -> AnyFact { return device_flag(f, "demo", "wide"); }},\n'),
)
REASON = (
    ("src/report/reason_table.h", '    {"nvidia-icd-needs-egl",',
     '    {"not-wide", Device, Ends, OnCandidate | OnVariant, "its lanes work alone", "", ByBuild},\n'),
    ("src/explain/wording_table.h", '    {"other-l4t",', '    {"not-wide", "its lanes do not work together"},\n'),
)
EXPORT = (
    ("src/export/formats.h", "Exported write_ray_labels(", "Exported write_demo(const ExportSubject& subject);\n"),
    ("src/export/formats.cpp", '    {.name = "ray-labels",',
     '    {.name = "demo", .summary = "names of GPUs, a line each", .write = write_demo},\n'),
)
METHOD = (
    ("src/calls/interface.h", "/// The identifiers of a GPU, by name",
     "/// How many lanes a GPU has; null if that is not known.\n"
     "struct LaneCount {\n    std::optional<std::uint64_t> lanes = {};\n};\nRECORD_MEMBERS(LaneCount, lanes)\n\n"),
    ("src/calls/methods.cpp", "void get_info(const Nothing&, const Asking& ask) {",
     "void get_lanes(const GpuParameters& in, const Asking& ask) {\n"
     "    const ComputeView view{ask.machine.seen};\n"
     "    const auto gpu = known_gpu(view, in.gpu);\n"
     "    if (!gpu)\n        return ask.refuse(gpu.error());\n"
     "    LaneCount count;\n"
     '    if (const auto demo = (*gpu)->apis.find("demo"); demo != (*gpu)->apis.end())\n'
     '        count.lanes = demo->second.device.at("lanes").as_unsigned();\n'
     "    ask.send(count);\n}\n\n"),
    ("src/calls/methods.cpp", "        method<QueryParameters, TermAnswer, query_terms>(",
     "        method<GpuParameters, LaneCount, get_lanes>(\n"
     '            "GetLanes", "How many lanes a GPU has.", kept,\n'
     '            {{.member = "GetLanes", .in = "options:a{sv}", .out = "lanes:t", .is_of_gpu = true}}),\n'),
    ("dbus/org.gpuprobe.GpuProbe1.Gpu.xml", '    <!-- The id in the report, such as "pci:0000:00:06.0". -->',
     "    <!-- How many lanes this GPU has; 0 if that is not known. No option is defined yet. -->\n"
     '    <method name="GetLanes">\n'
     '      <arg name="options" type="a{sv}" direction="in"/>\n'
     '      <arg name="lanes" type="t" direction="out"/>\n'
     "    </method>\n\n"),
)
CHANGES = API + PREDICATE + REASON + EXPORT + METHOD
# New files: the path in the copied tree, and the path in tests/extending/demo.
NEW = {"src/backends/demo/demo.h": "demo.h", "src/backends/demo/demo.cpp": "demo.cpp", "src/export/demo.cpp": "export.cpp"}


def tracked(folder):
    """Returns the names of all files that a build needs, including changed files and new files that are not committed."""
    listed = subprocess.run(["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            stdout=subprocess.PIPE, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name and not name.startswith("tests/")]


def contents():
    """Returns the tree with the additions: path → bytes."""
    files = {name: (SOURCE / name).read_bytes() for name in tracked(SOURCE) if (SOURCE / name).is_file()}
    for path, before, lines in CHANGES:
        text = files[path].decode()
        if text.count(before) != 1:
            raise AssertionError(f"{path}: not once: {before}")
        files[path] = text.replace(before, lines + before).encode()
    for path, name in NEW.items():
        files[path] = (SOURCE / "tests" / "extending" / "demo" / name).read_bytes()
    return files


def copy_tree():
    """Writes only files that have changed, so that the other files keep their modification times."""
    files = contents()
    for name, data in files.items():
        place = TREE / name
        if place.is_file() and place.read_bytes() == data:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod((SOURCE / name).stat().st_mode if (SOURCE / name).exists() else 0o644)
    for place in [path for path in TREE.rglob("*") if path.is_file()]:
        if str(place.relative_to(TREE)) not in files:
            place.unlink()


def build():
    environment = {**os.environ, "CCACHE_BASEDIR": str(PLACE), "CCACHE_NOHASHDIR": "1"}
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DGPUPROBE_TESTS=OFF",
               "-DGPUPROBE_WERROR=ON", "-DGPUPROBE_UNITY=ON"]
    for command in (["cmake", "-S", str(TREE), "-B", str(BUILD), *options],
                    ["cmake", "--build", str(BUILD), "--target", "gpuprobectl", "gpuprobe-worker"]):
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout.decode(errors="replace")[-4000:])


def run(*arguments, status=0):
    done = subprocess.run([str(PROGRAMS / "gpuprobectl"), *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/bin:/bin", "HOME": str(PLACE), "LC_ALL": "C.UTF-8"})
    if done.returncode != status:
        raise AssertionError(f"{arguments}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")
    return done.stdout.decode()


class Anchors(unittest.TestCase):
    def test_are_in_the_files_that_change(self):
        changed = {path for path, _, _ in CHANGES}
        self.assertLessEqual(changed, set(contents()))


@unittest.skipUnless(os.environ.get("GPUPROBE_EXTENDING"), "it builds the program once more: tools/test --extending")
class DemoApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        copy_tree()
        build()
        from made_machine import Machine
        from worker_process import run_worker
        cls.answer = run_worker("demo")
        cls.machine = cls.machine_where(Machine(), "machine", is_wide=False)
        cls.wide_machine = cls.machine_where(Machine(), "wide", is_wide=True)
        application = json.loads((SOURCE / "data/knowledge/applications/default.json").read_text(encoding="utf-8"))
        application["name"] = "demo-user"
        application["selection"].update(backends=["demo", "vulkan", "cpu"], vendors={"mthreads": ["demo", "vulkan"], "*": ["vulkan"]},
                                     floors={"demo": ["demo>=1.0", "memory>=8GiB"]})
        cls.applications = PLACE / "applications"
        shutil.rmtree(cls.applications, ignore_errors=True)
        cls.applications.mkdir()
        (cls.applications / "demo-user.json").write_text(json.dumps(application), encoding="utf-8")

    @classmethod
    def machine_where(cls, machine, name, is_wide):
        machine.function(ADDRESS, "1ed5", "0200", "0300", "mtgpu")
        for device in cls.answer.devices:
            facts = {key: value for key, value in device.items() if key != "index"} | {"wide": is_wide}
            machine.said("demo", facts, **cls.answer.runtime)
        folder = PLACE / name
        shutil.rmtree(folder, ignore_errors=True)
        machine.write(folder)
        return folder

    def ask(self, *arguments, machine=None, **more):
        return run("--replay", machine or self.machine, "--applications", self.applications, *arguments, **more)

    def test_what_changes_is_what_the_page_names(self):
        sections = dict(part.split("\n", 1) for part in (SOURCE / "docs/internals/extending.md").read_text(encoding="utf-8").split("\n## ")[1:])
        for title, changes, files in (("An API", API, 3), ("A predicate", PREDICATE, 2), ("A reason", REASON, 2), ("An export", EXPORT, 2),
                                      ("A method", METHOD, 3)):
            paths = {path for path, _, _ in changes}
            self.assertEqual(len(paths), files, title)
            self.assertEqual([path for path in paths if f"`{path}`" not in sections[title]], [], title)
        changed = {str(path.relative_to(TREE)) for path in TREE.rglob("*") if path.is_file()
                   and not ((SOURCE / path.relative_to(TREE)).is_file()
                            and (SOURCE / path.relative_to(TREE)).read_bytes() == path.read_bytes())}
        self.assertEqual(changed, {path for path, _, _ in CHANGES} | set(NEW))

    def test_the_worker_asks_it(self):
        listed = subprocess.run([str(PROGRAMS / "gpuprobe-worker"), "--list"], stdout=subprocess.PIPE, check=True)
        self.assertIn("demo", listed.stdout.decode().split())
        self.assertEqual(self.answer.done["outcome"], "answered")
        self.assertEqual([device["lanes"] for device in self.answer.devices], [64])

    def test_probes_it_on_this_machine(self):
        report = json.loads(run("--direct", "--worker", PROGRAMS / "gpuprobe-worker", "describe", "-j"))
        self.assertEqual(report["runtimes"]["demo"]["outcome"], "answered")

    def test_joins_it_with_the_kernels_device(self):
        gpu, = json.loads(self.ask("describe", "-j"))["gpus"]
        self.assertEqual(gpu["id"], f"pci:{ADDRESS}")
        self.assertEqual(gpu["name"], "Demo accelerated graphics")
        self.assertEqual(gpu["memory"]["allocatable"], 16 << 30)
        self.assertEqual(gpu["identity"]["demo_uuid"], "00010203-0405-0607-0809-0a0b0c0d0e0f")
        self.assertEqual(gpu["identity"]["canonical_uuid"], gpu["identity"]["demo_uuid"])
        self.assertEqual(gpu["apis"]["demo"]["device"]["lanes"], 64)
        self.assertIs(gpu["backends"]["demo"]["usable"], True)

    def test_selects_it(self):
        self.assertEqual(self.ask("select", "demo-user", "-q").strip(), "demo")
        self.assertEqual(self.ask("select", "demo-user", "--memory=32GiB", "-q").strip(), "cpu")
        self.assertEqual(self.ask("select", "demo-user", "--exclude=demo", "-q").strip(), "cpu")

    def test_holds_a_floor_against_its_version(self):
        path = self.applications / "demo-user.json"
        text = path.read_text(encoding="utf-8")
        self.addCleanup(path.write_text, text, encoding="utf-8")
        path.write_text(text.replace("demo>=1.0", "demo>=9.0"), encoding="utf-8")
        self.assertEqual(self.ask("select", "demo-user", "-q").strip(), "cpu")

    def test_holds_a_predicate_on_what_it_tells(self):
        self.assertEqual(self.ask("select", "demo-user", "--require=wide", "-q", machine=self.wide_machine).strip(), "demo")
        self.assertEqual(self.ask("select", "demo-user", "--require=wide", "-q").strip(), "cpu")

    def test_says_why_it_does_not_hold(self):
        candidates = json.loads(self.ask("select", "demo-user", "--needs=wide", "--explain", "-j"))["candidates"]
        demo, = [candidate for candidate in candidates if candidate["backend"] == "demo"]
        self.assertEqual([reason["code"] for reason in demo["reasons"]], ["not-wide"])
        self.assertIn("its lanes do not work together", self.ask("select", "demo-user", "--needs=wide", "--explain"))

    def test_exports_it(self):
        self.assertIn('"demo": {', self.ask("export", "json"))
        self.assertEqual(self.ask("export", "demo"), "Demo accelerated graphics\n")

    def test_serves_a_method(self):
        asked = json.dumps({"gpu": f"pci:{ADDRESS}"})
        self.assertEqual(json.loads(self.ask("call", "GetLanes", asked)), {"lanes": 64})
        refused = json.loads(self.ask("-j", "call", "GetLanes", '{"gpu":"pci:none"}', status=1))["error"]
        self.assertEqual(refused["name"], "org.gpuprobe.GpuProbe1.Error.NoSuchGpu")
        described = json.loads(self.ask("call", "org.varlink.service.GetInterfaceDescription", '{"interface":"org.gpuprobe"}'))
        self.assertIn("# How many lanes a GPU has.\nmethod GetLanes(gpu: string) -> (lanes: ?int)\n", described["description"])

    def test_shows_it(self):
        text = self.ask("show", "--all", f"pci:{ADDRESS}")
        self.assertIn("Demo UUID", text)
        self.assertIn("demo", text)


if __name__ == "__main__":
    unittest.main()
