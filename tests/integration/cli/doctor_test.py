# SPDX-License-Identifier: Apache-2.0
"""What the doctor finds on each captured machine, and that each finding has words and a line in its page.

GPUPROBE_ACCEPT=1 writes tests/data/doctor/machines.json; otherwise it must be what the doctor finds.
"""
import json
import os
import re
import unittest

from cli_case import SOURCE, run

MACHINES = sorted(path.parent for path in (SOURCE / "tests/data/machines").glob("*/capture.json"))
GOLDEN = SOURCE / "tests/data/doctor/machines.json"
EXIT = {"ok": 0, "info": 0, "warning": 0, "error": 6}


def checks():
    """{id: severity} of both lists of checks."""
    found = {}
    for name in ("machine_checks.cpp", "gpu_checks.cpp"):
        text = (SOURCE / "src/explain" / name).read_text(encoding="utf-8")
        constants = dict(re.findall(r'constexpr ReasonCode (k\w+) = "([a-z0-9-]+)"', text))
        for quoted, constant, severity in re.findall(r'\{(?:"([a-z0-9-]+)"|(k\w+)\.text\(\)), Severity::(\w+),', text):
            found[quoted or constants[constant]] = severity.lower()
    return found


class Pages(unittest.TestCase):
    def test_each_check_has_words(self):
        text = (SOURCE / "src/explain/doctor_table.h").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r'^    \{"([a-z0-9-]+)",', text, re.M)), set(checks()))

    def test_each_check_is_on_its_page_with_its_severity(self):
        page = {}
        for line in (SOURCE / "docs/doctor.md").read_text(encoding="utf-8").splitlines():
            if line.startswith("| `"):
                ids, severity = line.split("|")[1:3]
                page.update((name, severity.strip()) for name in re.findall(r"`([a-z0-9-]+)`", ids))
        self.assertGreater(len(page), 40)
        self.assertEqual(page, checks())


class Machines(unittest.TestCase):
    def examined(self, machine):
        done = run(f"--replay={machine}", "doctor", "-j")
        document = json.loads(done.stdout)
        self.assertEqual(done.returncode, EXIT[document["severity"]], done.stderr)
        return document

    def test_each_machine_has_the_findings_that_it_had(self):
        found = {machine.name: [f"{finding['severity']} {finding['id']} {finding['gpu'] or '-'}"
                                for finding in self.examined(machine)["findings"]] for machine in MACHINES}
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
                    self.assertEqual(list(finding), ["id", "severity", "gpu", "evidence", "sentence", "fix"])
                    self.assertNotRegex(finding["sentence"], r"\?$|\? |[{}]")
                    self.assertIn(" ".join(finding["sentence"].split()), flat)
                    if finding["fix"]:
                        self.assertIn("fix: " + " ".join(finding["fix"].split()), flat)

    def test_warnings_count_when_asked_for(self):
        machine = SOURCE / "tests/data/machines/nvidia-h200-1"
        self.assertEqual(run(f"--replay={machine}", "doctor").returncode, 0)
        self.assertEqual(run(f"--replay={machine}", "doctor", "--strict").returncode, 6)


class Here(unittest.TestCase):
    """The running machine: what surrounds it is looked at, and only that which the list names."""

    def found(self, **environment):
        done = run("--direct", "doctor", "-j", **environment)
        return {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}

    def test_variables_of_the_caller_are_seen(self):
        self.assertNotIn("devices-hidden", self.found())
        found = self.found(CUDA_VISIBLE_DEVICES="", HSA_OVERRIDE_GFX_VERSION="11.0.0", VK_DRIVER_FILES="/x\n\x1b[31m")
        self.assertEqual(found["devices-hidden"]["evidence"], {"variable": "CUDA_VISIBLE_DEVICES", "value": ""})
        self.assertEqual(found["architecture-overridden"]["evidence"]["value"], "11.0.0")
        self.assertNotIn("\x1b", found["drivers-overridden"]["sentence"])


if __name__ == "__main__":
    unittest.main()
