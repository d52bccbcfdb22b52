# SPDX-License-Identifier: Apache-2.0
"""Tests that Prometheus' tools accept the exported metrics, and that node_exporter serves these metrics."""
import subprocess
import time
import unittest
import urllib.request

import fleet_case

MISSING = fleet_case.missing("promtool", "prometheus-node-exporter")
# A manifest with variants for which the golden machine exports verdicts.
VARIANTS = """{"schema":"gpuprobe.variants/1","name":"llama.cpp","platforms":{"linux-x86_64":{"variants":{
"cuda13":{"requires":{},"artifact":{"type":"oci","ref":"x"}},"rocm7":{"requires":{},"artifact":{"type":"oci","ref":"y"}}}}}}"""


def series(text):
    return sorted(line for line in text.splitlines() if line.startswith("gpuprobe_"))


@unittest.skipIf(MISSING, MISSING)
class Prometheus(fleet_case.FleetCase):
    def test_promtool_finds_nothing_to_complain_of(self):
        done = self.run_command("promtool", "check", "metrics", input=fleet_case.golden("prometheus"), check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def scraped(self):
        """Returns the metrics that node_exporter serves from the folder."""
        port = fleet_case.free_port()
        exporter = subprocess.Popen(
            ["/usr/bin/prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}",
             "--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={self.folder}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 20
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
                        return page.read().decode()
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.05)
        finally:
            exporter.terminate()
            exporter.wait(timeout=10)

    def test_node_exporter_serves_every_series(self):
        file = self.folder / "gpuprobe.prom"
        self.ctl("export", "prometheus", "llama.cpp", f"--output={file}")
        served = self.scraped()
        self.assertIn("node_textfile_scrape_error 0", served)
        names = {line.split("{")[0].split(" ")[0] for line in series(served)}
        self.assertEqual(names, {line.split("{")[0].split(" ")[0] for line in series(file.read_text())})
        self.assertEqual(len(series(served)), len(series(file.read_text())))

    def test_a_second_file_would_double_everything_and_is_refused(self):
        self.ctl("export", "prometheus", f"--output={self.folder}/gpuprobe.prom")
        done = self.ctl("export", "prometheus", f"--output={self.folder}/other.prom", check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("collision", done.stderr)
        self.assertIn("node_textfile_scrape_error 0", self.scraped())

    def found(self, variant):
        """Returns whether promtool finds the golden machine with the PromQL selector for a variant of llama.cpp."""
        manifest = self.write("manifest.json", VARIANTS)
        query = self.ctl("selector", "llama.cpp", variant, f"--manifest={manifest}", "--orchestrator=promql").stdout
        inputs = ""
        for line in series(fleet_case.golden("prometheus")):
            name, value = line.replace("{", '{instance="a",', 1).rsplit(" ", 1)
            inputs += f"      - series: '{name}'\n        values: '{value}'\n"
        test = ("evaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n" + inputs +
                "    promql_expr_test:\n      - expr: |\n" +
                "".join(f"          count({line})\n" for line in query.splitlines()) +
                "        exp_samples:\n          - labels: '{}'\n            value: 1\n")
        done = self.run_command("promtool", "test", "rules", self.write("test.yml", test), check=False)
        self.assertNotIn("parse error", done.stdout + done.stderr)
        return done.returncode == 0

    def test_the_selector_finds_the_machine_that_supports_the_variant_and_no_other(self):
        self.assertTrue(self.found("cuda13"))
        self.assertFalse(self.found("rocm7"))


if __name__ == "__main__":
    unittest.main()
