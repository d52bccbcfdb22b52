# SPDX-License-Identifier: Apache-2.0
"""Tests of `check` as the author of a manifest would use it."""
import json
import pathlib
import subprocess
import tempfile
import unittest

from cli_case import CTL, SOURCE, environment, run

MACHINES = SOURCE / "tests/data/machines"
H200 = MACHINES / "nvidia-h200-1"
BARE = MACHINES / "software-only"


def manifest(variants):
    return {"schema": "gpuprobe.variants/1", "name": "mine", "platforms": {"linux-x86_64": {"variants": variants}}}


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, document, *words, machine=H200):
        path = self.folder / "mine.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return run("check", str(path), f"--replay={machine}", *words)

    def test_a_good_manifest_and_what_each_machine_gets(self):
        document = manifest({"cuda": {"tier": 400, "requires": {"device": {"backend": "cuda"}}}, "cpu": {}})
        done = self.check(document, f"--replay={BARE}", "-j")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answer = json.loads(done.stdout)
        self.assertEqual((answer["findings"], answer["complete"], answer["usable"]), ([], True, True))
        self.assertEqual([(one["machine"], one["variant"], one["verdict"]) for one in answer["machines"]],
                         [("nvidia-h200-1", "cuda", "accepted"), ("software-only", "cpu", "accepted")])
        text = self.check(document).stdout
        self.assertTrue(text.startswith("no mistakes\n"), text)
        self.assertRegex(text, r"nvidia-h200-1 +cuda ")

    def test_a_misspelled_word_that_programs_accept(self):
        document = manifest({"cuda": {"tier": 400, "requires": {"device": {"backend": "cdua"}}}, "cpu": {}})
        done = self.check(document)
        self.assertEqual(done.returncode, 1)
        self.assertIn("variants.cuda.requires.device.backend", done.stdout)
        self.assertIn("did you mean 'cuda'?", done.stdout)
        self.assertRegex(done.stdout, r"nvidia-h200-1 +cpu ", "the misspelled variant is not recommended")

    def test_a_word_of_a_newer_program_is_a_warning(self):
        document = manifest({"npu": {"requires": {"device": {"backend": "npu"}}}, "cpu": {}})
        done = self.check(document, "-j")
        self.assertEqual(done.returncode, 0)
        (finding,) = json.loads(done.stdout)["findings"]
        self.assertEqual((finding["grade"], finding["word"], finding["meant"]), ("warning", "npu", None))

    def test_every_mistake_of_a_file_that_programs_refuse(self):
        done = self.check(manifest({"v": {"teir": 1, "priority": "high"}, "w": {"tier": 5000}}), "-j")
        self.assertEqual(done.returncode, 1)
        answer = json.loads(done.stdout)
        self.assertEqual([finding["path"].removeprefix("platforms.linux-x86_64.variants.") for finding in answer["findings"]],
                         ["v.teir", "v.priority", "w.tier"])
        self.assertEqual((answer["usable"], answer["machines"]), (False, []))

    def test_a_folder_of_captures(self):
        done = self.check(manifest({"cpu": {}}), "-j", machine=MACHINES)
        answer = json.loads(done.stdout)
        captures = sorted(path.parent.name for path in MACHINES.glob("*/capture.json"))
        self.assertEqual([one["machine"] for one in answer["machines"]], captures)

    def test_an_application_with_both_parts_is_evaluated_as_if_it_were_installed(self):
        path = SOURCE / "data/knowledge/applications/llama.cpp.json"
        done = self.check(path.read_text(encoding="utf-8"), "-j")
        self.assertEqual((done.returncode, json.loads(done.stdout)["findings"]), (0, []))
        (machine,) = json.loads(done.stdout)["machines"]
        installed = json.loads(run(f"--replay={H200}", "-j", "recommend", "llama.cpp").stdout)
        self.assertEqual((machine["variant"], machine["gpus"]), (installed["variant"], installed["gpus"]))
        self.assertEqual(machine["backend"], json.loads(run(f"--replay={H200}", "-j", "select", "llama.cpp").stdout)["backend"])

    def test_standard_input_and_what_is_no_file(self):
        done = subprocess.run([CTL, "check", "-", f"--replay={BARE}"], input=json.dumps(manifest({"cpu": {}})), env=environment(),
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run("check", str(self.folder)).returncode, 1)
        self.assertEqual(run("check", str(self.folder / "none")).returncode, 1)
        self.assertEqual(run("check").returncode, 2)
        self.assertEqual(self.check(manifest({"cpu": {}}), machine=self.folder).returncode, 1, "the folder is not a capture")

    def test_hostile_files(self):
        for text in ("", "{", "[" * 100000, "\u202e", '{"schema":"gpuprobe.variants/1","name":"\\u001b[31m"}', " " * (2 << 20)):
            done = self.check(text)
            self.assertEqual(done.returncode, 1, text[:40])
            self.assertNotIn("\x1b", done.stdout + done.stderr)
            self.assertNotIn("\u202e", done.stdout + done.stderr)
            self.assertLess(len(done.stdout), 100000)


if __name__ == "__main__":
    unittest.main()
