# SPDX-License-Identifier: Apache-2.0
"""Tests that a folder of data files can add and replace applications, that broken files are ignored, and that D-Bus replies contain the answers."""
import json
import os
import pathlib
import subprocess

from bus_case import BIN, SOURCE, BusCase, Failure, GLib

H200 = SOURCE / "tests/data/machines/nvidia-h200-1"
SELECTION = {"backends": ["opencl", "cpu"], "cpu": "last", "integrated": "always", "strict": False}


def application(name, **members):
    return {"schema": "gpuprobe.application/1", "name": name, "description": "", "selection": {**SELECTION, **members}}


class Applications(BusCase):
    def setUp(self):
        super().setUp()
        self.applications = pathlib.Path(self.folder, "applications")
        self.applications.mkdir()

    def write(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content)
        (self.applications / name).write_text(text, encoding="utf-8")

    def select(self, name, **request):
        variants = {key: GLib.Variant(*value) for key, value in request.items()}
        return self.manager("SelectBackend", GLib.Variant("(sa{sv})", (name, variants)))

    def direct(self, *words):
        program = [str(BIN / "gpuprobectl"), "--replay", str(H200), "--applications", str(self.applications), "--json=short", *words]
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "LANG": "C.UTF-8"}
        return json.loads(subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60, check=False).stdout)

    def start_here(self):
        self.start("--replay", str(H200), "--applications", str(self.applications))

    def test_a_folder_adds_and_replaces(self):
        self.write("mine.json", application("mine"))
        self.write("10-default.json", application("default", backends=["cpu"]))
        self.start_here()
        for ask in (lambda name: self.select(name)["Backend"], lambda name: self.direct("select", name)["backend"]):
            self.assertEqual((ask("mine"), ask("default"), ask("llama.cpp")), ("opencl", "cpu", "cuda"))

    def test_a_broken_file_is_named_and_ignored(self):
        broken = {"1-json.json": "{", "2-floor.json": application("mine", floors={"opencl": ["fp17"]}), "3-default.json": application("default", cpu="first"),
                  "4-schema.json": {**application("mine"), "schema": 1},
                  "5-manifest.json": {"schema": "gpuprobe.variants/1", "name": "mine", "platforms": {"linux-x86_64": {"variants": {"cpu": {}}}}}}
        for name, content in broken.items():
            self.write(name, content)
        self.write("mine.json", application("mine"))
        self.start_here()
        reports = (json.loads(self.manager("Describe")), self.direct("describe"))
        for report in reports:
            ignored = {os.path.basename(note["detail"]["file"]): note["detail"]["problem"] for note in report["notes"] if note["code"] == "application-ignored"}
            self.assertEqual(sorted(ignored), sorted(broken))
            self.assertIn("selection.floors.opencl[0]: fp17: no such fact", ignored["2-floor.json"])
            for name in ("4-schema.json", "5-manifest.json"):
                self.assertIn("schema: not gpuprobe.application/1", ignored[name])
        self.assertEqual(self.select("default")["Backend"], "cuda")
        self.assertEqual(self.select("mine")["Backend"], "opencl")

    def test_answers_and_messages_are_there_where_the_application_has_some(self):
        self.start_here()
        answer = self.select("vectorizer")
        self.assertEqual(answer["Answers"]["gpu_backend_type"], "2")
        self.assertEqual(answer["Messages"], ["✅ CUDA GPU detected and enabled!"])
        self.assertNotIn("Answers", self.select("default"))
        self.assertNotIn("Messages", self.select("default"))

    def test_a_refused_selection_has_them_when_it_is_explained(self):
        self.start_here()
        with self.assertRaises(Failure):
            self.select("tsuku", backend=("s", "metal"))
        answer = self.select("tsuku", backend=("s", "metal"), explain=("b", True))
        self.assertEqual(answer["Answers"]["gpu"], "nvidia")
        self.assertEqual(answer["Messages"], ["invalid backend 'metal': Metal not available on this system"])

    def test_the_keys_of_a_request_arrive(self):
        self.start_here()
        self.assertEqual(self.select("default", require=("as", ["driver>=999"]))["Backend"], "cpu")
        self.assertEqual(self.select("tsuku", platform=("s", "darwin-arm64"))["Backend"], "metal")
        self.assertEqual(self.select("default", fake=("as", ["rocm"]))["Backend"], "rocm")
        self.assertEqual(self.select("tsuku", **{"any-vendor": ("b", True)})["Backend"], "cuda")
        with self.assertRaises(Failure) as refused:
            self.select("default", **{"fake": ("as", ["rocm"]), "forbid-fake": ("b", True)})
        self.assertTrue(refused.exception.name.endswith("InvalidRequest"))
