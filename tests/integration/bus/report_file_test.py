# SPDX-License-Identifier: Apache-2.0
"""Tests of the report file, which every user may read, and of the export units, which wait for the file."""
import json
import pathlib
import re
import stat
import subprocess

import bus_case

SYSTEMD = bus_case.SOURCE / "systemd"


class ReportFile(bus_case.BusCase):
    def test_is_what_export_prints_and_for_everybody(self):
        machine = bus_case.SOURCE / "tests/data/machines/nvidia-h200-1"
        file = pathlib.Path(self.folder) / "report.json"
        self.start("--replay", str(machine), f"--report-file={file}", f"--socket={self.socket}")
        self.wait_until(file.exists, "the file")
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o644)
        checked = subprocess.run([bus_case.BIN / "gpuprobectl", f"--socket={self.socket}", "export", "json",
                                  f"--check={file}"], capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertNotIn("GPU-", file.read_text())

    def test_is_systemds_folder_by_itself(self):
        folder = pathlib.Path(self.folder) / "runtime"
        folder.mkdir()
        environment = self.environment
        self.environment = lambda: {**environment(), "RUNTIME_DIRECTORY": str(folder)}
        capture = self.capture()
        capture.add_gpu("0000:03:00.0")
        self.start_on(capture)
        self.wait_until((folder / "report.json").exists, "the file")
        self.assertEqual([gpu["id"] for gpu in json.loads((folder / "report.json").read_text())["gpus"]],
                         ["0000:03:00.0"])

    def test_a_folder_that_is_gone_ends_nothing(self):
        capture = self.capture()
        capture.add_gpu("0000:03:00.0")
        self.start_on(capture, f"--report-file={self.folder}/nowhere/report.json")
        self.assertEqual(len(self.gpus()), 1)
        self.assert_same_daemon()


class ExportUnits(bus_case.BusCase):
    def test_each_may_write_where_its_engine_looks_and_nowhere_else(self):
        """Tests that the systemd drop-in of each format allows writing to the path in docs/fleet.md."""
        page = (bus_case.SOURCE / "docs/fleet.md").read_text(encoding="utf-8")
        drop_ins = sorted((SYSTEMD / "export").glob("*.conf"))
        # gpuprobectl does not write one of the formats, which docs/applications.md describes.
        own = [file for file in drop_ins if "ExecStart=" not in file.read_text().splitlines()]
        self.assertEqual((len(drop_ins), len(own)), (6, 5))
        for file in own:
            (usual,) = re.findall(rf"^\| `{file.stem}` \|.*\| `(/[^`]+)` \|$", page, re.M)
            settings = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
            folder = settings.get("ReadWritePaths", "").removeprefix("-") or "/var/run/" + settings["RuntimeDirectory"]
            self.assertTrue(usual.startswith(folder + "/"), f"{usual} is not in {folder}")

    def test_they_wait_for_the_file_that_the_daemon_keeps(self):
        daemon = (SYSTEMD / "gpuprobed.service.in").read_text()
        path = (SYSTEMD / "gpuprobe-export@.path.in").read_text()
        (folder,) = re.findall(r"^RuntimeDirectory=(\S+)$", daemon, re.M)
        self.assertIn(f"\nPathChanged=/run/{folder}/report.json\n", path)


if __name__ == "__main__":
    import unittest

    unittest.main()
