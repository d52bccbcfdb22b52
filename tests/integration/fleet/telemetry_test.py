# SPDX-License-Identifier: Apache-2.0
"""Tests of the OTLP export with OpenTelemetry's types and names from npm."""
import copy
import json
import pathlib
import subprocess
import unittest

import fleet_case
import npm_folder

HERE = pathlib.Path(__file__).resolve().parent
MACHINES = fleet_case.SOURCE / "tests/data/machines"
MISSING = fleet_case.missing("node", "npm")
NAME = "node7"


def plain(attributes):
    """Returns {key: string value} of a list of attributes. Each key must occur only once, as the protocol requires."""
    texts = {attribute["key"]: attribute["value"]["stringValue"] for attribute in attributes}
    if len(texts) != len(attributes):
        raise AssertionError(f"a key occurs twice: {attributes}")
    return texts


def metrics_of(request):
    return {metric["name"]: metric for resource in request["resourceMetrics"] for scope in resource["scopeMetrics"]
            for metric in scope["metrics"]}


def points_of(metric):
    """Returns the attributes and the value of each data point."""
    return [(plain(point["attributes"]), int(point["asInt"])) for point in metric["sum"]["dataPoints"]]


def without_empty(value):
    """Removes empty lists from a message, because an empty list and a missing list are encoded in the same way."""
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    if isinstance(value, dict):
        return {key: without_empty(item) for key, item in value.items() if item != []}
    return value


@unittest.skipIf(MISSING, MISSING)
class Telemetry(fleet_case.FleetCase):
    @classmethod
    def setUpClass(cls):
        cls.modules = npm_folder.installed(HERE, fleet_case.BIN.parent / "tests/fleet")

    def judged(self, *requests):
        done = subprocess.run(["node", str(HERE / "otlp.cjs"), str(self.modules)], input="\n".join(map(json.dumps, requests)),
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def of(self, machine, *words):
        """Returns the output of gpuprobectl for a recorded machine. Exit status 3, which means that the output is incomplete, is allowed."""
        done = self.run_command(fleet_case.BIN / "gpuprobectl", f"--replay={MACHINES / machine}", *words, check=False)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return done.stdout

    def exported(self, machine):
        """Returns the exported request, which is one line of a file that a collector reads."""
        text = self.of(machine, "export", "otlp", f"--node={NAME}")
        self.assertEqual((text.count("\n"), text[-1:]), (1, "\n"))
        return json.loads(text)

    def test_every_machine_is_received_as_it_was_sent(self):
        names = sorted(path.name for path in MACHINES.iterdir() if path.is_dir() and path.name != "LICENSES")
        self.assertGreater(len(names), 90)
        sent = [self.exported(name) for name in names]
        for name, request, received in zip(names, sent, self.judged(*sent)["received"], strict=True):
            self.assertEqual(received, without_empty(request), name)

    def test_what_the_protocol_does_not_know_is_noticed(self):
        """Tests that the comparison of requests can fail."""
        request = json.loads(fleet_case.golden("otlp"))

        def point(of):
            return of["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["sum"]["dataPoints"][0]

        changes = {
            "a name in another spelling": lambda of: point(of).update(time_unix_nano=point(of).pop("timeUnixNano")),
            "a number in place of a text": lambda of: point(of)["attributes"][0]["value"].update(stringValue=5),
            "a number that is not text": lambda of: point(of).update(asInt=int(point(of)["asInt"])),
            "a member of another message": lambda of: of["resourceMetrics"][0].update(schema="x"),
        }
        sent = [request]
        for change in changes.values():
            sent.append(copy.deepcopy(request))
            change(sent[-1])
        same, *others = self.judged(*sent)["received"]
        self.assertEqual(same, request)
        for name, request, received in zip(changes, sent[1:], others, strict=True):
            self.assertNotEqual(received, request, name)

    def test_names_and_states_are_those_of_the_conventions(self):
        judged = self.judged(json.loads(fleet_case.golden("otlp")), self.exported("nvidia-h200-4"))
        for request in judged["received"]:
            resource = plain(request["resourceMetrics"][0]["resource"]["attributes"])
            self.assertLessEqual(set(resource), set(judged["attributes"]))
            self.assertIn(resource["host.arch"], judged["architectures"])
            metrics = metrics_of(request)
            self.assertLessEqual(set(metrics), set(judged["metrics"]))
            # The npm package does not contain units and instruments of metrics. In the published conventions, both metrics are UpDownCounters.
            self.assertEqual({name: metric["unit"] for name, metric in metrics.items()}, {"hw.gpu.memory.limit": "By", "hw.status": "1"})
            for name, metric in metrics.items():
                self.assertEqual((metric["sum"]["isMonotonic"], metric["sum"]["aggregationTemporality"]), (False, judged["cumulative"]))
                for attributes, _ in points_of(metric):
                    self.assertLessEqual(set(attributes), set(judged["attributes"]))
                    self.assertLessEqual({"hw.id", "hw.type"}, set(attributes))
                    self.assertEqual("hw.state" in attributes, name == "hw.status")
                    self.assertIn(attributes.get("hw.state", "ok"), judged["states"])

    def test_values_are_the_report_s(self):
        for machine in ("nvidia-h200-4", "nvidia-h100-mig-mixed", "merge-ollama-merge-1", "rocm-mi300x-cpx"):
            with self.subTest(machine):
                request, = self.judged(self.exported(machine))["received"]
                resource = plain(request["resourceMetrics"][0]["resource"]["attributes"])
                self.assertEqual((resource["host.name"], resource["service.instance.id"], resource["service.name"]), (NAME, NAME, "gpuprobe"))
                told = {gpu["id"]: gpu for gpu in json.loads(self.of(machine, "export", "json"))["gpus"]}
                sizes = {}
                for gpu in json.loads(self.of(machine, "list", "-j"))["gpus"]:
                    sizes[gpu["id"].removeprefix("pci:")] = gpu["memory"]["physical"]
                    sizes |= {unit["id"].removeprefix("pci:"): (unit["memory"] or {}).get("total") for unit in gpu["partitions"]}
                metrics = metrics_of(request)
                limits = points_of(metrics["hw.gpu.memory.limit"]) if "hw.gpu.memory.limit" in metrics else []
                self.assertEqual(sorted((attributes["hw.id"], value) for attributes, value in limits),
                                 sorted((key, sizes[key]) for key in told if sizes[key]))
                states = points_of(metrics["hw.status"])
                self.assertEqual(sorted(attributes["hw.id"] for attributes, value in states if value), sorted(told))
                self.assertEqual(len({tuple(attributes.items()) for attributes, _ in states}), len(states))
                for attributes, _ in limits + states:
                    gpu = told[attributes["hw.id"]]
                    self.assertEqual((attributes["hw.type"], attributes["hw.model"], attributes.get("hw.driver_version")),
                                     ("gpu", gpu["model"], gpu["driver_version"]))


if __name__ == "__main__":
    unittest.main()
