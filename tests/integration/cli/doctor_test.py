# SPDX-License-Identifier: Apache-2.0
"""Tests the doctor's findings on each captured machine, and tests that each finding has a message, and a line in docs/doctor.md.

With GPUPROBE_ACCEPT=1, writes the findings to tests/data/doctor/machines.json; otherwise compares the findings with this file.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

from cli_case import CTL, SOURCE, environment, run

MACHINES = sorted(path.parent for path in (SOURCE / "tests/data/machines").glob("*/capture.json"))
GOLDEN = SOURCE / "tests/data/doctor/machines.json"
EXIT = {"ok": 0, "info": 0, "warning": 0, "error": 6}


def causes():
    """Returns {id: severity} of the causes in all data files."""
    return {cause["id"]: cause["severity"] for path in (SOURCE / "data/knowledge/causes").glob("*.json")
            for cause in json.loads(path.read_text(encoding="utf-8"))["causes"]}


class Pages(unittest.TestCase):
    def test_each_cause_is_on_its_page_with_its_severity(self):
        page = {}
        for line in (SOURCE / "docs/doctor.md").read_text(encoding="utf-8").splitlines():
            if line.startswith("| `"):
                name, severity = line.split("|")[1:3]
                page[name.strip().strip("`")] = severity.strip()
        self.assertGreater(len(page), 120)
        self.assertEqual(page, causes())


class Machines(unittest.TestCase):
    def examined(self, machine):
        done = run(f"--replay={machine}", "doctor", "-j")
        document = json.loads(done.stdout)
        self.assertEqual(done.returncode, EXIT[document["severity"]], done.stderr)
        return document

    def test_each_machine_has_the_findings_that_it_had(self):
        found = {machine.name: [f"{finding['severity']} {finding['id']} {gpu}"
                                for finding in self.examined(machine)["findings"] for gpu in finding["gpus"] or ["-"]] for machine in MACHINES}
        if os.environ.get("GPUPROBE_ACCEPT"):
            GOLDEN.parent.mkdir(exist_ok=True)
            GOLDEN.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        self.assertEqual(found, json.loads(GOLDEN.read_text(encoding="utf-8")))

    def test_each_finding_is_told_whole(self):
        for machine in MACHINES:
            with self.subTest(machine.name):
                document = self.examined(machine)
                text = run(f"--replay={machine}", "doctor").stdout
                flat = " ".join(text.split())
                for finding in document["findings"]:
                    self.assertEqual(list(finding), ["id", "severity", "gpu", "gpus", "evidence", "sentence", "fix",
                                                     "commands", "safe", "on_host"])
                    self.assertNotRegex(finding["sentence"], r"\?$|\? |[{}]")
                    self.assertIn(" ".join(finding["sentence"].split()), flat)
                    if finding["fix"]:
                        self.assertIn("fix: " + " ".join(finding["fix"].split()), flat)

    def test_a_script_of_fixes_has_what_is_safe(self):
        machine = SOURCE / "tests/data/machines/nvidia-h200-1"
        script = run(f"--replay={machine}", "doctor", "--fix-script").stdout
        self.assertTrue(script.startswith("#!/bin/sh\n"))
        self.assertIn("\nsed s/libGLX/libEGL/", script)
        self.assertEqual(subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode, 0)

    def test_a_report_holds_findings_and_no_identity(self):
        machine = SOURCE / "tests/data/machines/nvidia-h200-1"
        with tempfile.TemporaryDirectory() as folder:
            done = run(f"--replay={machine}", "doctor", f"--bug-report={folder}/report.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            bundle = json.loads(pathlib.Path(folder, "report.json").read_text(encoding="utf-8"))
        self.assertEqual([finding["id"] for finding in bundle["findings"]], ["nvidia-icd-needs-egl"])
        uuid = bundle["report"]["gpus"][0]["identity"]["nvidia_uuid"]
        self.assertTrue(uuid.startswith("GPU-00000000-0000-4000-8000-"), uuid)

    def test_a_report_can_be_replayed(self):
        """Tests that the receiver of a bug report gets the same findings."""
        for name in ("nvidia-h200-1", "rocm-mi300x-spx", "wsl2-nvidia"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                run(f"--replay={SOURCE}/tests/data/machines/{name}", "doctor", f"--bug-report={folder}/report.json")
                bundle = json.loads(pathlib.Path(folder, "report.json").read_text(encoding="utf-8"))
                for path, content in bundle["capture"].items():
                    place = pathlib.Path(folder, "capture", path)
                    (place if path.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
                    if isinstance(content, str):
                        place.write_text(content, encoding="utf-8")
                    elif "link" in content:
                        place.symlink_to(content["link"])
                again = json.loads(run(f"--replay={folder}/capture", "doctor", "-j").stdout)
                self.assertEqual(again["findings"], bundle["findings"])

    def test_a_report_is_not_a_daemons(self):
        done = run("--socket=/nonexistent", "doctor", "--bug-report=/nonexistent/file")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--bug-report reads this machine directly and cannot be combined with --socket", done.stderr)

    def test_warnings_count_when_asked_for(self):
        machine = SOURCE / "tests/data/machines/nvidia-h200-1"
        self.assertEqual(run(f"--replay={machine}", "doctor").returncode, 0)
        self.assertEqual(run(f"--replay={machine}", "doctor", "--strict").returncode, 6)


class Here(unittest.TestCase):
    """Tests on the machine that runs the tests. On this machine, the doctor also examines environment variables of the caller."""

    def found(self, **environment):
        done = run("--direct", "doctor", "-j", **environment)
        return {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}

    def test_variables_of_the_caller_are_seen(self):
        self.assertNotIn("devices-hidden", self.found())
        found = self.found(CUDA_VISIBLE_DEVICES="3", HSA_OVERRIDE_GFX_VERSION="11.0.0", VK_DRIVER_FILES="/x\n\x1b[31m")
        self.assertEqual(found["devices-hidden"]["evidence"], {"variable": "CUDA_VISIBLE_DEVICES", "value": "3"})
        self.assertEqual(found["architecture-overridden"]["evidence"]["value"], "11.0.0")
        self.assertNotIn("\x1b", found["drivers-overridden"]["sentence"])

    def test_a_driver_that_a_variable_names_is_a_driver(self):
        """Uses a copy of the manifest of Mesa's software driver, so that only the location of the manifest differs."""
        with tempfile.TemporaryDirectory(dir=SOURCE / "tests") as folder:
            manifest = pathlib.Path(folder, "own.json")
            manifest.write_bytes(pathlib.Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json").read_bytes())
            for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"):
                with self.subTest(variable):
                    report = json.loads(run("--direct", "describe", "-j", **{variable: str(manifest)}).stdout)
                    named = {driver["manifest"]: driver["variable"] for driver in report["runtimes"]["vulkan"]["drivers"]}
                    self.assertEqual(named[str(manifest)], variable)
                    self.assertIn(None, named.values(), "the default drivers are probed too")

    def test_no_fix_removes_a_driver_that_may_be_needed(self):
        found = self.found(VK_DRIVER_FILES="/nonexistent/a.json")["drivers-overridden"]
        self.assertEqual(found["commands"], ["unset VK_DRIVER_FILES"], "there is no driver at this path")
        done = run(f"--replay={SOURCE}/tests/data/machines/nvidia-h200-1", "doctor", "-j", VK_DRIVER_FILES="/opt/own.json")
        for finding in json.loads(done.stdout)["findings"]:
            self.assertNotIn("unset VK_DRIVER_FILES", finding["commands"])

    def test_variables_that_add_drivers_are_named(self):
        found = self.found(VK_ADD_DRIVER_FILES="/x.json", OCL_ICD_FILENAMES="libnvidia-opencl.so.1")
        self.assertIn("drivers-added", found)
        self.assertEqual(found["drivers-added"]["severity"], "info")
        self.assertEqual(found["drivers-added"]["commands"], [])


class Captured(unittest.TestCase):
    """Tests that a capture contains the limits and variables of the process that made the capture, so that the doctor has the same findings with a
    replay."""

    LIMIT = 1 << 20

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def findings_of(self, capture):
        done = run(f"--replay={capture}", "doctor", "-j")
        return {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}

    def machine_with(self, surroundings):
        capture = self.folder / "machine"
        shutil.copytree(SOURCE / "tests/data/machines/soc-strix-halo", capture, symlinks=True)
        (capture / "surroundings.json").write_text(json.dumps(surroundings), encoding="utf-8")
        return capture

    def test_it_holds_limits_and_variables(self):
        subprocess.run([CTL, "--direct", "capture", self.folder / "here"], check=True, timeout=60, capture_output=True,
                       env={**environment(), "ROCR_VISIBLE_DEVICES": "7"},
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (self.LIMIT, self.LIMIT)))
        here = json.loads((self.folder / "here/surroundings.json").read_text(encoding="utf-8"))
        self.assertEqual(here["memlock"], self.LIMIT)
        self.assertEqual(here["environment"]["ROCR_VISIBLE_DEVICES"], "7")
        self.assertIn("devices-hidden", self.findings_of(self.folder / "here"))

    def test_the_doctor_finds_the_causes_in_them(self):
        self.assertNotIn("npu-memlock", self.findings_of(SOURCE / "tests/data/machines/soc-strix-halo"))
        found = self.findings_of(self.machine_with({"memlock": 8 << 20, "environment": {"HIP_VISIBLE_DEVICES": "1\x1b"}, "later": 1}))
        self.assertEqual(found["npu-memlock"]["evidence"]["limit"], 8 << 20)
        self.assertNotIn("\x1b", found["devices-hidden"]["sentence"])

    def test_diagnose_answers_from_them_too(self):
        capture = self.machine_with({"memlock": 8 << 20})
        answer = json.loads(run(f"--replay={capture}", "call", "org.gpuprobe.Diagnose").stdout)
        self.assertEqual({finding["id"] for finding in answer["findings"]}, set(self.findings_of(capture)))

    def test_a_capture_of_it_holds_them_too(self):
        capture = self.machine_with({"memlock": 8 << 20, "environment": {"LD_LIBRARY_PATH": "/home/marta/cuda/stubs"}})
        for options in ((), ("--redact",)):
            again = self.folder / "again"
            run(f"--replay={capture}", "capture", str(again), *options)
            self.assertIn("npu-memlock", self.findings_of(again))
            text = (again / "surroundings.json").read_text(encoding="utf-8")
            self.assertEqual("marta" in text, not options)
            shutil.rmtree(again)

    def test_a_capture_without_them_gets_none(self):
        run(f"--replay={SOURCE}/tests/data/machines/soc-strix-halo", "capture", str(self.folder / "again"))
        self.assertFalse((self.folder / "again/surroundings.json").exists())

    def test_a_malformed_file_is_named(self):
        capture = self.machine_with({"memlock": "much"})
        done = run(f"--replay={capture}", "doctor")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/surroundings.json: memlock", done.stderr)


if __name__ == "__main__":
    unittest.main()
