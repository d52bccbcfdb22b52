# SPDX-License-Identifier: Apache-2.0
"""Tests the alerts and the dashboard in data/monitoring with promtool and the metrics of the golden machine."""
import json
import re
import unittest

import yaml

import fleet_case

MISSING = fleet_case.missing("promtool")
DATA = fleet_case.SOURCE / "data/monitoring"
MACHINE = "node7:9100"
CHANGE, END = 60, 180  # minutes: there is no fault before CHANGE, and the alerts are checked at END


def series():
    """Returns {series with the label "instance": value} from the golden export, as Prometheus stores them."""
    found = {f'up{{instance="{MACHINE}"}}': "1"}
    for line in fleet_case.golden("prometheus").splitlines():
        if line.startswith("gpuprobe_"):
            name, value = line.rsplit(" ", 1)
            head, _, labels = name.partition("{")
            found[f'{head}{{instance="{MACHINE}"{"," + labels if labels else "}"}'] = value
    return found


def values(before, after):
    """Returns the values of a series in promtool's notation: the value is `before` until CHANGE, and `after` from then on. If `after` is None, the
    series ends at CHANGE."""
    rest = "_" if after is None else after
    return f"{before}x{CHANGE - 1} {rest}x{END - CHANGE}"


def rules():
    return yaml.safe_load((DATA / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]


def filled(template, labels, value):
    """Fills in the labels in the description of an alert. Raises KeyError if the description names a label that the alert does not have."""
    text = re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels[found[1]], template)
    return text.replace("{{ $value | humanize1024 }}", value)


GPU = {"instance": MACHINE, "gpu": "0000:18:00.0"}
INFO = {**GPU, "card": "card0", "uuid": "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c", "vendor": "nvidia", "model": "NVIDIA H200",
        "arch": "sm_90", "target": "sm_90", "kind": "discrete", "driver": "nvidia", "driver_version": "580.95.05", "vulkan": "1.4.312"}
# {situation: (changes, alerts)}. The changes are {part of a series, or "+" and a new series: value after the change}; the alerts are
# {alert: labels}.
SITUATIONS = {
    "nothing happens": ({}, {}),
    "a GPU falls off the bus": ({'gpu="0000:18:00.0"': None}, {"GpuMissing": INFO}),
    "an API stops working": ({'gpu="0000:18:00.0",api="cuda"': "0"}, {"GpuApiLost": {**GPU, "api": "cuda"}}),
    "every API stops working": (
        {'gpuprobe_gpu_usable{instance="node7:9100",gpu="0000:c5:00.0"': "0"},
        {"GpuApiLost": {**GPU, "gpu": "0000:c5:00.0", "api": "vulkan"}, "GpuUnused": {**GPU, "gpu": "0000:c5:00.0"}}),
    "a cause is found": (
        {'+gpuprobe_finding{instance="node7:9100",finding="no-driver",severity="error"}': "1"},
        {"GpuFinding": {"instance": MACHINE, "finding": "no-driver"}}),
    "something is worth a warning": (
        {'+gpuprobe_finding{instance="node7:9100",finding="rebar-off",severity="warning"}': "1"}, {}),
    "a driver crashes": ({"gpuprobe_last_probe_success": "0"}, {"GpuDriverCrashed": {"instance": MACHINE}}),
    "memory shrinks": ({'memory_bytes{instance="node7:9100",gpu="0000:18:00.0"': str(1 << 36)}, {"GpuMemoryShrunk": GPU}),
    "a build no longer runs": (
        {'variant_supported{instance="node7:9100",application="llama.cpp",variant="cuda13"': "0"},
        {"VariantNoLongerRuns": {"instance": MACHINE, "application": "llama.cpp", "variant": "cuda13"}}),
    "the export stops": ({"gpuprobe_": None}, {"GpuprobeSilent": {"instance": MACHINE}}),
    "the machine is down": ({"gpuprobe_": None, "up{": "0"}, {}),
    "the driver is updated": ({'driver_version="580.95.05"': None}, {}),
}


def test_of(changes, wanted):
    """Returns an entry of promtool's test file, which applies the changes and expects the alerts in `wanted`."""
    inputs = []
    for name, value in series().items():
        changed = [after for part, after in changes.items() if part in name]
        inputs.append({"series": name, "values": values(value, changed[0] if changed else value)})
    for name, value in changes.items():
        if name.startswith("+"):
            inputs.append({"series": name[1:], "values": values("_", value)})
    if 'driver_version="580.95.05"' in changes:
        info = next(name for name in series() if 'model="NVIDIA H200"' in name)
        inputs.append({"series": info.replace("580.95.05", "590.48.01"), "values": f"_x{CHANGE - 1} 1x{END - CHANGE}"})
    checks = []
    for rule in rules():
        labels = wanted.get(rule["alert"])
        expected = [] if labels is None else [{
            "exp_labels": {**rule["labels"], **labels},
            "exp_annotations": {key: filled(text, labels, "64Gi") for key, text in rule["annotations"].items()}}]
        checks.append({"eval_time": f"{END}m", "alertname": rule["alert"], "exp_alerts": expected})
    return {"interval": "1m", "input_series": inputs, "alert_rule_test": checks}


@unittest.skipIf(MISSING, MISSING)
class Monitoring(fleet_case.FleetCase):
    def promtool(self, document):
        return self.run_command("promtool", "test", "rules", self.write("test.yml", yaml.safe_dump(document)), check=False)

    def test_each_alert_fires_when_it_should_and_no_other_does(self):
        for name, (changes, wanted) in SITUATIONS.items():
            with self.subTest(name):
                done = self.promtool({"rule_files": [str(DATA / "alerts.yml")], "evaluation_interval": "1m", "tests": [test_of(changes, wanted)]})
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_has_its_situation(self):
        self.assertEqual({rule["alert"] for rule in rules()}, {alert for _, wanted in SITUATIONS.values() for alert in wanted})

    def test_an_alert_that_is_not_expected_is_told(self):
        """Tests that promtool fails if an unexpected alert fires."""
        changes, _ = SITUATIONS["a driver crashes"]
        done = self.promtool({"rule_files": [str(DATA / "alerts.yml")], "evaluation_interval": "1m", "tests": [test_of(changes, {})]})
        self.assertNotEqual(done.returncode, 0)

    def test_every_panel_of_the_dashboard_has_something_to_show(self):
        dashboard = json.loads((DATA / "dashboard.json").read_text(encoding="utf-8"))
        told = {name.split("{")[0] for name in series()}
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                expression = target["expr"].replace("$instance", ".*")
                self.assertLessEqual(set(re.findall(r"gpuprobe_\w+", expression)), told, panel["title"])
                test = {"interval": "1m", "input_series": [{"series": name, "values": value} for name, value in series().items()],
                        "promql_expr_test": [{"expr": f"count({expression}) > bool 0", "eval_time": "0m",
                                              "exp_samples": [{"labels": "{}", "value": 1}]}]}
                done = self.promtool({"evaluation_interval": "1m", "tests": [test]})
                self.assertEqual(done.returncode, 0, panel["title"] + done.stdout + done.stderr)

    def test_the_dashboard_places_each_panel_beside_the_others(self):
        taken = set()
        panels = json.loads((DATA / "dashboard.json").read_text(encoding="utf-8"))["panels"]
        for panel in panels:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))


if __name__ == "__main__":
    unittest.main()
