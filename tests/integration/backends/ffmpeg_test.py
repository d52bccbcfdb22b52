# SPDX-License-Identifier: Apache-2.0
"""Gives the arguments that gpuprobe prints for FFmpeg to Debian's ffmpeg, which opens the render node with our own VA driver."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

from va_machine import VaMachine
from vaapi_test import FULL, OPERATION_FAILED

DOCUMENT = pathlib.Path(os.environ["GPUPROBE_SOURCE"]) / "data/knowledge/applications/ffmpeg.json"
# Decodes nothing, but FFmpeg opens the device for the decoder before it starts.
INPUT = ("-f", "lavfi", "-i", "nullsrc=size=64x64:duration=0.1", "-f", "null", "-")
# What ffmpeg prints if it does not know an option or one of its values.
REFUSED = ("Unrecognized", "Option not found")


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class RealFfmpeg(unittest.TestCase):
    def test_opens_the_gpu_that_was_chosen(self):
        with VaMachine({**FULL, "fail": {"init": OPERATION_FAILED}}, {**FULL, "vendor": "the driver of the second GPU"}) as machine:
            exported = machine.ask("export", "ffmpeg")
            self.assertEqual(exported.stdout, "-hwaccel vaapi -hwaccel_device /dev/dri/renderD5 -hwaccel_output_format vaapi\n", exported.stderr)
            done = machine.run("ffmpeg", "-hide_banner", "-loglevel", "verbose", *exported.stdout.split(), *INPUT,
                               LIBVA_DRIVERS_PATH=str(machine.folder / "drivers"), LIBVA_DRIVER_NAME="told")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("VAAPI driver: the driver of the second GPU", done.stderr)

    def test_fails_on_the_gpu_that_was_not_chosen(self):
        with VaMachine({**FULL, "fail": {"init": OPERATION_FAILED}}, FULL) as machine:
            done = machine.run("ffmpeg", "-hide_banner", "-hwaccel", "vaapi", "-hwaccel_device", "/dev/dri/renderD3", *INPUT,
                               LIBVA_DRIVERS_PATH=str(machine.folder / "drivers"), LIBVA_DRIVER_NAME="told")
        self.assertNotEqual(done.returncode, 0)

    def test_knows_all_arguments(self):
        """The libraries for CUDA and QSV are missing here, so FFmpeg may fail later."""
        answers = json.loads(DOCUMENT.read_text(encoding="utf-8"))["selection"]["answers"]
        for rule in answers["arguments"]:
            (words,) = rule
            done = subprocess.run(["ffmpeg", "-hide_banner", *words.format(render_node="/dev/null").split(), *INPUT],
                                  capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
            for refusal in REFUSED:
                self.assertNotIn(refusal, done.stderr, words)

    def test_has_all_encoders(self):
        """Debian 12 has FFmpeg 5.1, which has no encoders for AV1 on GPUs yet."""
        answers = json.loads(DOCUMENT.read_text(encoding="utf-8"))["selection"]["answers"]
        listed = subprocess.run(["ffmpeg", "-hide_banner", "-encoders"], capture_output=True, text=True, timeout=60, check=True).stdout.split()
        for name in ("encoder_h264", "encoder_hevc"):
            for rule in answers[name]:
                self.assertIn(*rule, listed)


if __name__ == "__main__":
    unittest.main()
