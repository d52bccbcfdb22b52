# SPDX-License-Identifier: Apache-2.0
"""Tests the v4l2 backend with simulated codecs (tests/fakes/v4l2/told_v4l2.cpp), and compares the backend's answers with the output of Debian's
v4l2-ctl."""
import json
import re
import shutil
import unittest

from va_machine import DEVICES, FAKES, VaMachine

LIBRARY = FAKES / "v4l2/told.so"
M2M, CAPTURE = 0x4000, 0x1
H264, HEVC = str(0x990900 + 363), str(0x990900 + 615)
# The formats of a Raspberry Pi's decoder (ayufan/camera-streamer#27) and of Rockchip's decoder for AV1 (warpme/miniarch#98).
PI = {"driver": "bcm2835-codec", "card": "bcm2835-codec-decode", "capabilities": M2M, "out": [["H264", 1920, 1920], ["MJPG", 1920, 1920]],
      "capture": [["YU12", 1920, 1920], ["NV12", 1920, 1920]], "menus": {H264: [0, 1, 2, 4]}}
AV1 = {"driver": "hantro-vpu", "card": "rockchip,rk3588-av1-vpu-dec", "capabilities": M2M, "out": [["AV1F", 4096, 2304]],
       "capture": [["VT12"], ["NV12"]]}
CODEC = {"driver": "rkvdec", "card": "rkvdec", "capabilities": M2M, "out": [["S264", 4096, 2304], ["S265", 4096, 2304]],
         "capture": [["NV12"], ["NV15"]], "menus": {H264: [1, 2, 4], HEVC: [0, 2]}}


class CodecMachine(VaMachine):
    """Simulates a machine with a GPU, and with V4L2 codecs that are bound to the given kernel drivers."""
    WORKER = """#!/bin/sh
export LD_PRELOAD={folder}/told.so
exec {bin}/gpuprobe-worker "$@"
"""

    def __init__(self, codecs, drivers):
        super().__init__()
        shutil.copy(LIBRARY, self.folder)
        names = [f"video{minor.split(':')[1]}" for _, minor in DEVICES]
        self.nodes = [f"../{name}={device}" for name, (device, _), _ in zip(names, DEVICES, codecs)]
        (self.folder / "sys/class/video4linux").mkdir()
        for index, (driver, codec) in enumerate(zip(drivers, codecs)):
            path = f"devices/platform/fdc{index}0000.video-codec"
            device = self.folder / "sys" / path
            node = device / "video4linux" / names[index]
            node.mkdir(parents=True)
            (device / "power").mkdir()
            (device / "power/runtime_status").write_text("active\n", encoding="ascii")
            (device / "driver").symlink_to(f"../../../bus/platform/drivers/{driver}")
            (device / "subsystem").symlink_to("../../../bus/platform")
            (device / "uevent").write_text(f"DRIVER={driver}\n", encoding="ascii")
            (node / "dev").write_text(DEVICES[index][1] + "\n", encoding="ascii")
            (node / "name").write_text(codec["card"] + "\n", encoding="ascii")
            (node / "device").symlink_to("../..")
            (node / "uevent").write_text(f"DEVNAME={names[index]}\n", encoding="ascii")
            (self.folder / f"sys/dev/char/{DEVICES[index][1]}").symlink_to(f"../../{path}/video4linux/{names[index]}")
            (self.folder / f"sys/class/video4linux/{names[index]}").symlink_to(f"../../{path}/video4linux/{names[index]}")
        (self.folder / "told.json").write_text(json.dumps(dict(zip((number for _, number in DEVICES), codecs))), encoding="utf-8")

    def suspend(self, index):
        (self.folder / f"sys/devices/platform/fdc{index}0000.video-codec/power/runtime_status").write_text("suspended\n", encoding="ascii")


class V4l2(unittest.TestCase):
    def report(self, machine):
        done = machine.ask("describe", "-j")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def codecs(self, machine):
        """Returns the formats of each accelerator, by its name; None if they are unknown."""
        return {one["name"]: one["video"] and [(item["direction"], item["codec"], item["profile"], item["bits"], item["name"])
                                               for item in one["video"]] for one in self.report(machine)["accelerators"]}

    def test_reports_the_codecs_of_an_soc(self):
        with CodecMachine([PI, AV1, CODEC], ["bcm2835-codec", "hantro-vpu", "rkvdec"]) as machine:
            codecs = self.codecs(machine)
            table = machine.ask("list", "--video").stdout
            report = self.report(machine)
        decoded = [("decode", "h264", profile, 8, "H264") for profile in ("baseline", "constrained-baseline", "main", "high")]
        self.assertEqual(codecs["bcm2835-codec-decode"], [*decoded, ("decode", "jpeg", None, None, "MJPG")])
        self.assertEqual(codecs["rockchip,rk3588-av1-vpu-dec"], [("decode", "av1", None, None, "AV1F")])
        self.assertEqual(codecs["rkvdec"][-2:], [("decode", "hevc", "main", 8, "S265"), ("decode", "hevc", "main10", 10, "S265")])
        self.assertRegex(table, r"[-–] +platform:fdc20000\.video-codec +hevc +8, 10 bit, up to 4096 x 2304 +[-–]")
        self.assertEqual([one["kind"] for one in report["accelerators"]], ["video"] * 3)
        self.assertEqual([one["path"] for one in report["accelerators"][0]["nodes"]], ["/dev/video3"])
        self.assertFalse(any("v4l2" in gpu["apis"] for gpu in report["gpus"]))

    def test_opens_no_camera(self):
        camera = {"driver": "uvcvideo", "card": "a camera", "capabilities": CAPTURE, "fail": "crash"}
        with CodecMachine([camera, PI], ["uvcvideo", "bcm2835-codec"]) as machine:
            report = self.report(machine)
        self.assertEqual([one["name"] for one in report["accelerators"]], ["bcm2835-codec-decode"])
        self.assertEqual([probe["driver"] for probe in report["probes"] if probe["api"] == "v4l2"], ["/dev/video5"])

    def test_wakes_no_codec(self):
        with CodecMachine([{**PI, "driver": "qcom-venus"}, CODEC], ["qcom-venus", "rkvdec"]) as machine:
            machine.suspend(0)
            machine.suspend(1)
            codecs = self.codecs(machine)
            table = machine.ask("list", "--video").stdout
            probes = {probe["driver"]: probe for probe in self.report(machine)["probes"] if probe["api"] == "v4l2"}
        self.assertIsNone(codecs["bcm2835-codec-decode"])
        self.assertEqual(probes["/dev/video3"]["note"], "platform:fdc00000.video-codec is suspended")
        self.assertEqual(probes["/dev/video3"]["outcome"], "skipped")
        self.assertEqual(len(codecs["rkvdec"]), 5)
        self.assertIn("platform:fdc00000.video-codec: V4L2: platform:fdc00000.video-codec is suspended", table)

    def test_a_bad_codec_costs_its_own_answer(self):
        for fault, outcome in (("crash", "crashed"), ("refuse", "failed")):
            with CodecMachine([{**PI, "fail": fault}, CODEC], ["bcm2835-codec", "rkvdec"]) as machine:
                # A driver that crashed twice is in quarantine when the second report is made.
                probes = [{probe["driver"]: probe["outcome"] for probe in self.report(machine)["probes"] if probe["api"] == "v4l2"}
                          for _ in range(2)]
                codecs = self.codecs(machine)
            self.assertIsNone(codecs["bcm2835-codec-decode"], fault)
            self.assertEqual(len(codecs["rkvdec"]), 5, fault)
            second = "skipped" if outcome == "crashed" else outcome
            self.assertEqual(probes, [{"/dev/video3": one, "/dev/video5": "answered"} for one in (outcome, second)])

    def test_agrees_with_v4l2_ctl(self):
        if not shutil.which("v4l2-ctl"):
            self.skipTest("v4l2-ctl is not installed")
        with CodecMachine([PI, AV1, CODEC], ["bcm2835-codec", "hantro-vpu", "rkvdec"]) as machine:
            codecs = self.codecs(machine)
            for (_, number), codec in zip(DEVICES, (PI, AV1, CODEC)):
                done = machine.run("v4l2-ctl", "-d", f"/dev/video{number.split(':')[1]}", "--list-formats-out",
                                   LD_PRELOAD=str(machine.folder / "told.so"))
                listed = re.findall(r"\[\d+\]: '(....)'", done.stdout)
                self.assertEqual(listed, list(dict.fromkeys(item[-1] for item in codecs[codec["card"]])), done.stderr)


if __name__ == "__main__":
    unittest.main()
