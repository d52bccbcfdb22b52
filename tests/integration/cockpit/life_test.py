#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the page inside Cockpit's shell while daemons and GPUs appear and disappear, and of the copy buttons."""
import json
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

from page_case import BIN, IN_SHELL, MACHINES, PageCase

WRAPPER = shutil.which("umockdev-wrapper")


class WithoutDaemon(PageCase):
    def test_says_what_to_do_and_sees_the_daemon_come_go_and_come_back(self):
        self.open()
        self.see("#trouble", "gpuprobed is not running")
        for words in ("The service finds the GPUs of this machine", "Start gpuprobed", "View the service's log"):
            self.assertIn(words, self.text("#trouble"))
        self.take_pictures("absent")
        self.serve(MACHINES / "nvidia-h200-1")
        self.see("#headline", "1 GPU · default: CUDA on NVIDIA H200")
        self.assertEqual(self.text("#trouble"), "")
        self.end_daemon()
        self.see("#trouble", "gpuprobed is not running")
        self.assertNotIn("H200", self.text())
        self.serve(MACHINES / "soc-strix-halo")
        self.see("#gpus", "Radeon 8060S Graphics")
        self.see("#choice-answer", "Radeon 8060S Graphics")
        self.assertNotIn("H200", self.text())

    def test_answers_again_when_the_same_daemon_comes_back(self):
        self.serve(MACHINES / "nvidia-h200-1")
        self.show()
        self.end_daemon()
        self.see("#trouble", "gpuprobed is not running")
        self.serve(MACHINES / "nvidia-h200-1")
        for place in ("#choice-answer", "#install-answer"):
            self.see(place, "NVIDIA H200")

    def test_an_answer_that_comes_when_its_section_has_gone_is_dropped(self):
        self.serve(MACHINES / "nvidia-h200-1")
        self.show()
        self.ask("run", script="""import("./dom.js").then(dom => dom.draw("not-there", 1, () => { throw new Error("drawn") }))""")

    def test_starts_the_service_and_has_it_start_at_boot(self):
        log = self.fake_systemctl("LoadState=loaded ActiveState=inactive")
        self.open()
        self.see("#trouble", "gpuprobed is not running")
        self.ask("click", selector="#start")
        self.ask("until", script="!document.getElementById('start').disabled")
        self.assertEqual(log.read_text(encoding="utf-8").split("\n")[:2], ["enable gpuprobed.service", "restart gpuprobed.service"])
        self.assertEqual(self.text("#start-failure"), "")
        self.serve(MACHINES / "nvidia-h200-1")
        self.see("#headline", "1 GPU")

    def test_starts_the_service_once_and_says_why_that_failed(self):
        log = self.fake_systemctl("LoadState=loaded ActiveState=failed", "echo 'Access denied' >&2; exit 1")
        self.open()
        self.see("#trouble", "gpuprobed has failed")
        self.ask("click", selector="#start-at-boot")
        self.ask("click", selector="#start")
        self.see("#start-failure", "gpuprobed could not be started: Access denied")
        self.assertEqual(log.read_text(encoding="utf-8"), "restart gpuprobed.service\n")
        self.assert_accessible()

    def test_has_no_button_where_nothing_can_be_started(self):
        for state, words in (("LoadState=not-found", "Install the package gpuprobe"), ("LoadState=masked", "An administrator has masked")):
            self.fake_systemctl(f"{state} ActiveState=inactive")
            self.open()
            self.see("#trouble", words)
            self.assertEqual(self.ask("count", selector="#start"), 0)

    def fake_systemctl(self, shown, change="exit 0"):
        """Makes a systemctl that prints `shown` for `systemctl show`, and writes all other commands to a file. Returns the path of this file."""
        folder = pathlib.Path(self.folder) / "bin"
        folder.mkdir(exist_ok=True)
        log = folder / "log"
        program = folder / "systemctl"
        script = f"#!/bin/sh\nif [ $1 = show ]; then printf '%s\\n' {shown}; else echo $* >>{log}; {change}; fi\n"
        program.write_text(script, encoding="utf-8")
        program.chmod(0o755)
        return log


BED = """
import sys, gi
gi.require_version("UMockdev", "1.0")
from gi.repository import UMockdev
bed = UMockdev.Testbed.new()
print(bed.get_root_dir(), flush=True)
devices = []
for line in sys.stdin:
    if line.strip() == "plug":
        gpu = bed.add_device("pci", "0000:03:00.0", None,
            ["vendor", "0x1002", "device", "0x73bf", "class", "0x030000", "revision", "0x00"],
            ["PCI_CLASS", "30000", "PCI_ID", "1002:73BF", "PCI_SLOT_NAME", "0000:03:00.0"])
        devices = [bed.add_device("drm", "card0", gpu, ["dev", "226:0"], ["DEVNAME", "/dev/dri/card0", "DEVTYPE", "drm_minor"]), gpu]
    else:
        for device in devices:
            bed.uevent(device, "remove")
            bed.remove_device(device)
    print("done", flush=True)
"""


@unittest.skipUnless(WRAPPER, "umockdev is not installed")
class HotPlug(PageCase):
    """Tests with umockdev's test bed, which runs in a separate process, because a browser does not start in a test bed."""

    def setUp(self):
        super().setUp()
        self.bed = subprocess.Popen([WRAPPER, sys.executable, "-c", BED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.bed.wait)
        self.addCleanup(self.bed.stdout.close)
        self.addCleanup(self.bed.stdin.close)
        self.root = self.bed.stdout.readline().strip()
        worker = pathlib.Path(self.folder) / "worker"
        worker.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        worker.chmod(0o755)
        self.start("--worker", str(worker), "--settle-ms=50")

    def command(self, *arguments):
        return [WRAPPER, *super().command(*arguments)]

    def environment(self):
        return {**super().environment(), **({"UMOCKDEV_DIR": self.root} if hasattr(self, "root") else {})}

    def tell(self, words):
        self.bed.stdin.write(words + "\n")
        self.bed.stdin.flush()
        self.bed.stdout.readline()

    def test_is_seen_without_a_reload(self):
        self.show()
        self.assertIn("No GPUs", self.text("#headline"))
        self.ask("run", script="window.sameDocument = true")
        self.tell("plug")
        self.see("#gpus article", "pci:0000:03:00.0")
        self.see("#headline", "1 GPU")
        self.tell("unplug")
        self.see("#gpus", "This machine has no GPU")
        self.see("#headline", "No GPUs")
        self.assertTrue(self.ask("run", script="window.sameDocument"))

    def test_asks_the_drivers_when_it_is_told_to(self):
        self.show()
        self.ask("click", selector="#ask")
        self.see("#news", "Done.")


class InCockpit(PageCase):
    MACHINE = "nvidia-h200-4"

    def test_is_a_page_of_the_menu_and_has_the_theme_that_was_chosen_there(self):
        self.open(IN_SHELL)
        self.see("#host-apps, nav", "GPUs")
        self.ask("run", script="localStorage.setItem('shell:style', 'dark')")
        self.ask("enter", url="gpuprobe/index.html")
        self.see("#headline", "4 GPUs")
        self.ask("run", script="new Promise(done => setTimeout(done, 100))")
        dark = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.ask("run", script=dark), "rgb(21, 21, 21)")


class Downloads(PageCase):
    MACHINE = "nvidia-h200-1"

    def downloaded(self, button, name):
        folder = pathlib.Path(self.folder) / "downloads"
        folder.mkdir(exist_ok=True)
        self.ask("downloads", path=str(folder))
        self.ask("click", selector=button)
        late = time.monotonic() + 60
        while not (folder / name).exists():
            if time.monotonic() > late:
                self.fail(f"no {name}: {self.text('#news')}")
            time.sleep(0.05)
        return folder / name

    def test_the_report(self):
        self.show()
        report = json.loads(self.downloaded("#save-report", "gpuprobe-report.json").read_text(encoding="utf-8"))
        self.assertEqual([gpu["name"] for gpu in report["gpus"]], ["NVIDIA H200"])

    def test_a_capture_that_replays(self):
        self.show()
        path = self.downloaded("#capture", "gpuprobe-capture.tar.gz")
        subprocess.run(["tar", "-xzf", path, "-C", path.parent], check=True)
        done = subprocess.run([BIN / "gpuprobectl", f"--replay={path.parent / 'gpuprobe-capture'}", "describe", "-j"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout)["source"], "replay")


if __name__ == "__main__":
    unittest.main()
