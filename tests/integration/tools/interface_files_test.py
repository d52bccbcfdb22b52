# SPDX-License-Identifier: Apache-2.0
"""Tests the files that tools/interface-files makes from a small description."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])


def member(name, kind, about="", **more):
    return {"name": name, "type": kind if isinstance(kind, dict) else {"kind": kind}, "about": about, **more}


def named(name):
    return {"kind": "named", "name": name}


def nullable(item):
    return {"kind": "nullable", "item": item if isinstance(item, dict) else {"kind": item}}


def listed(item):
    return {"kind": "list", "item": item if isinstance(item, dict) else {"kind": item}}


def record(name, *members):
    return {"name": name, "members": list(members), "words": []}


def traits(**more):
    return {"needs": [], "may_need": [], "subscribes": False, "reports_progress": False, **more}


REPORT = [member("schema", "integer"), member("notes", listed(named("Note"))), member("mood", named("Mood"))]
DESCRIPTION = {
    "methods": [
        {"name": "Describe", "about": "The report.", "parameters": [], "result": REPORT, "traits": traits(), "errors": []},
        {"name": "Choose", "about": "The choice.", "parameters": [member("wish", nullable(named("Wish")))],
         "result": [member("default", nullable("text"), record="Choice"), member("notes", listed(named("Note"))), member("share", "float", record="Choice"),
                    member("count", {"kind": "integer", "minimum": 0}), member("sizes", {"kind": "map", "item": {"kind": "integer"}})],
         "traits": traits(needs=["x"]), "errors": ["org.gpuprobe.GpuProbe1.Error.NoSuchGpu"]},
        {"name": "Follow", "about": "", "parameters": [], "result": [member("state", named("Mood"))], "traits": traits(subscribes=True), "errors": []},
        {"name": "Try", "about": "", "parameters": [], "result": [member("gpus", "text")], "traits": traits(reports_progress=True), "errors": []},
    ],
    "definitions": [
        record("Note", member("code", "text", record="Note"), member("text", nullable("text"), record="Note", optional=True),
               member("commands", nullable(listed("text")), optional=True), member("detail", {"kind": "json", "name": "object"}), member("origin", {"kind": "json", "name": "Wish"})),
        record("Wish", member("prefer", nullable(listed("text"))), member("memory", nullable({"kind": "integer", "minimum": 0}), "in bytes")),
        {"name": "Mood", "members": [], "words": ["good", "not-so-good"]},
        record("Report", *REPORT),
    ],
    "common_facts": [], "device_facts": [], "no_match": [member("message", "text"), member("notes", listed(named("Note")))],
}


SOURCE_TEXT = """
struct NoteWords {
    std::string text = {};  ///< for people
};
RECORD_MEMBERS(NoteWords, text)

/// Why.
struct Note {
    std::string code = {};  ///< a stable code
};
template <class Visitor>
void describe(Visitor& visit, Note& note) {
    visit("code", note.code);
    if (note.words)
        describe(visit, const_cast<NoteWords&>(*note.words));
}

struct Choice {
    Plan plan = {};
    std::optional<std::string> project_default = {};  ///< the project's own
};
template <class Visitor>
void describe(Visitor& visit, Choice& choice) {
    visit("default", choice.project_default);
    describe(visit, choice.plan);
}

struct Plan {
    double share = 0;  ///< from 0 to 1
};
"""


class InterfaceFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-interface-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "types.json").write_text(json.dumps(DESCRIPTION), encoding="utf-8")
        (cls.folder / "source").mkdir()
        (cls.folder / "source/note.h").write_text(SOURCE_TEXT, encoding="utf-8")
        subprocess.run([SOURCE / "tools/interface-files", cls.folder / "types.json", cls.folder / "source", cls.folder], check=True)

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def test_the_schema_does_not_require_an_optional_member(self):
        note = json.loads(self.text("report.schema.json"))["$defs"]["Note"]
        self.assertEqual(note["required"], ["code", "detail", "origin"])
        self.assertEqual(note["properties"]["text"], {"type": ["string", "null"], "description": "for people"})
        self.assertEqual(note["description"], "Why.")

    def test_the_types_have_the_licences_of_clients(self):
        for name in ("interface.d.ts", "interface.go", "interface.py", "interface.rs", "gpuprobe/interface.hpp"):
            self.assertRegex(self.text(name).splitlines()[0], "SPDX-License-Identifier: Apache-2.0 OR MIT$", name)

    def test_members_of_answers_have_the_comments_of_their_record(self):
        text = self.text("interface.d.ts")
        self.assertIn("  /** the project's own */\n  default: string | null;\n", text)
        self.assertIn("  /** from 0 to 1 */\n  share: number;\n", text)

    def test_a_value_that_holds_a_record_has_its_type(self):
        note = json.loads(self.text("report.schema.json"))["$defs"]["Note"]
        self.assertEqual(note["properties"]["origin"], {"anyOf": [{"$ref": "#/$defs/Wish"}, {"type": "null"}]})
        self.assertIn("    origin: Optional[Wish]", self.text("interface.py").splitlines())
        self.assertIn("  origin: Wish | null;", self.text("interface.d.ts").splitlines())

    def test_the_types_for_python_have_optional_members(self):
        script = """
from typing import get_type_hints
import interface
print(sorted(interface.Note.__required_keys__), sorted(interface.Note.__optional_keys__), interface.Note.__doc__)
print(sorted(interface.Wish.__optional_keys__), get_type_hints(interface.Note)["text"])
print(interface.ChooseAnswer.__annotations__["default"].__forward_arg__, sorted(interface.ChooseParameters.__optional_keys__))
"""
        done = subprocess.run([sys.executable, "-c", script], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), ["['code', 'detail', 'origin'] ['commands', 'text'] Why.", "['memory', 'prefer'] typing.Optional[str]",
                                                    "Optional[str] ['wish']"])

    def test_the_types_for_typescript_have_optional_members(self):
        text = self.text("interface.d.ts")
        for line in ("  code: string;", "  text?: string | null;", "  commands?: string[] | null;", "  memory?: number | null;",
                     "  Describe: { parameters: {}; answer: DescribeAnswer };", "  Choose: { parameters: ChooseParameters; answer: ChooseAnswer };",
                     "export type ChooseAnswer = {", "  default: string | null;", "  sizes: { [key: string]: number };",
                     'export type Mood = "good" | "not-so-good";'):
            self.assertIn(line, text.splitlines())

    def test_the_types_for_cpp_are_structs(self):
        text = self.text("gpuprobe/interface.hpp")
        for lines in ("/// Why.\nstruct Note {\n    /// a stable code\n    std::string code = {};\n    /// for people\n"
                      "    std::optional<std::string> text = {};\n    std::vector<std::string> commands = {};\n    Json detail = {};\n"
                      "    std::optional<Wish> origin = {};\n};\n",
                      "struct Wish {\n    OptionalList prefer = {};\n    /// in bytes\n    std::optional<std::uint64_t> memory = {};\n};\n",
                      '/// "good" or "not-so-good"\nusing Mood = std::string;\n',
                      "    std::optional<std::string> default_ = {};\n", '    visit("default", record.default_);\n',
                      "    double share = 0;\n", "    std::map<std::string, std::int64_t> sizes = {};\n",
                      "struct ChooseParameters {\n    std::optional<Wish> wish = {};\n};\n", "struct NoMatchDetails {\n    std::string message = {};\n"):
            self.assertIn(lines, text)

    def test_the_types_for_go_are_structs(self):
        text = self.text("interface.go")
        for lines in ('// Why.\ntype Note struct {\n\t// a stable code\n\tCode string `json:"code"`\n\t// for people\n'
                      '\tText     *string         `json:"text"`\n\tCommands []string        `json:"commands"`\n'
                      '\tDetail   json.RawMessage `json:"detail"`\n\tOrigin   *Wish           `json:"origin"`\n}\n',
                      'type Wish struct {\n\tPrefer []string `json:"prefer,omitzero"`\n\t// in bytes\n\tMemory *uint64 `json:"memory,omitzero"`\n}\n',
                      'const (\n\tMoodGood      Mood = "good"\n\tMoodNotSoGood Mood = "not-so-good"\n)\n',
                      "(ctx context.Context, parameters ChooseParameters) (*ChooseAnswer, error) {", "Follow(ctx context.Context) *Stream[FollowAnswer] {",
                      "Try(ctx context.Context, onProgress func(float64)) (*TryAnswer, error) {", '\tGPUs string `json:"gpus"`\n',
                      "\tErrNoSuchGPU     ErrorName = \"org.gpuprobe.GpuProbe1.Error.NoSuchGpu\"\n", "ErrNotAuthorized ErrorName ="):
            self.assertIn(lines, text)

    @unittest.skipUnless(shutil.which("gofmt"), "gofmt is not installed: golang-go")
    def test_the_types_for_go_are_formatted(self):
        done = subprocess.run(["gofmt", "-d", "interface.go"], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "")

    def test_the_types_for_rust_are_structs(self):
        text = self.text("interface.rs")
        unset = '    #[serde(skip_serializing_if = "Option::is_none")]\n'
        for lines in (f"pub struct Note {{\n    /// a stable code\n    pub code: String,\n    /// for people\n{unset}    pub text: Option<String>,\n"
                      f"{unset}    pub commands: Option<Vec<String>>,\n    pub detail: Value,\n    pub origin: Option<Wish>,\n}}\n",
                      f"pub struct Wish {{\n{unset}    pub prefer: Option<Vec<String>>,\n    /// in bytes\n{unset}    pub memory: Option<u64>,\n}}\n",
                      '    pub enum Mood {\n        Good = "good",\n        NotSoGood = "not-so-good",\n    }\n',
                      "    pub fn choose(&self, parameters: &ChooseParameters) -> Result<ChooseAnswer> {\n",
                      "    pub fn follow(&self) -> Result<Stream<FollowAnswer>> {\n",
                      "    pub fn r#try(&self, on_progress: impl FnMut(f64)) -> Result<TryAnswer> {\n", '        NoSuchGpu = "NoSuchGpu",\n',
                      "    pub sizes: BTreeMap<String, i64>,\n"):
            self.assertIn(lines, text)

    @unittest.skipUnless(shutil.which("c++"), "c++ is not installed")
    def test_the_structs_compile(self):
        program = """
#include <gpuprobe/interface.hpp>
using namespace gpuprobe::api;
int main() {
    Note note{.code = "a", .origin = Wish{.prefer = {"b", "c"}, .memory = 1}};
    int members = 0;
    const auto visit = [&members](const char*, auto&) { ++members; };
    describe(visit, note);
    const Wish unset{.prefer = {}}, empty{.prefer = std::vector<std::string>{}};
    return members == 5 && note.origin->prefer->size() == 2 && !unset.prefer && empty.prefer && empty.prefer->empty() ? 0 : 1;
}
"""
        (self.folder / "program.cpp").write_text(program, encoding="utf-8")
        done = subprocess.run(["c++", "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wpedantic", "-Werror", f"-I{self.folder}",
                               "program.cpp", "-o", "program"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run([self.folder / "program"], check=True)


if __name__ == "__main__":
    unittest.main()
