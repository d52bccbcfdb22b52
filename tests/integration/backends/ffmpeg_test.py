# SPDX-License-Identifier: Apache-2.0
"""Runs Debian's ffmpeg with the arguments that gpuprobe prints for FFmpeg. ffmpeg uses our own VA driver for the render node."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

from va_machine import VaMachine
from vaapi_test import FULL, OPERATION_FAILED

DOCUMENT = pathlib.Path(os.environ["GPUPROBE_SOURCE"]) / "data/knowledge/applications/ffmpeg.json"
# FFmpeg has nothing to decode in this input, but still opens the decoder's device at the start.
INPUT = ("-f", "lavfi", "-i", "nullsrc=size=64x64:duration=0.1", "-f", "null", "-")
# Parts of the messages that ffmpeg prints for an unknown option or for an unknown value of an option.
REFUSED = ("Unrecognized", "Option not found")


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class RealFfmpeg(unittest.TestCase):
    def test_opens_the_gpu_that_was_chosen(self):
        with VaMachine({**FULL, "fail": {"init": OPERATION_FAILED}}, {**FULL, "vendor": "the driver of the second GPU"}) as machine:
            exported = machine.ask("export", "ffmpeg")
            self.assertEqual(exported.stdout, "-hwaccel vaapi -hwaccel_device /dev/dri/renderD5\n", exported.stderr)
            done = machine.run("ffmpeg", "-hide_banner", "-loglevel", "verbose", *exported.stdout.split(), *INPUT,
                               LIBVA_DRIVERS_PATH=str(machine.folder / "drivers"), LIBVA_DRIVER_NAME="told")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("VAAPI driver: the driver of the second GPU", done.stderr)

    def test_fails_on_the_gpu_that_was_not_chosen(self):
        with VaMachine({**FULL, "fail": {"init": OPERATION_FAILED}}, FULL) as machine:
            done = machine.run("ffmpeg", "-hide_banner", "-hwaccel", "vaapi", "-hwaccel_device", "/dev/dri/renderD3", *INPUT,
                               LIBVA_DRIVERS_PATH=str(machine.folder / "drivers"), LIBVA_DRIVER_NAME="told")
        self.assertNotEqual(done.returncode, 0)

    def transcoded(self, machine, arguments, encoder, *output):
        """Decodes a short MPEG-2 video and encodes it again."""
        film = machine.folder / "film.mpg"
        subprocess.run(["ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:duration=0.1", "-c:v", "mpeg2video", film],
                       timeout=60, check=True)
        return machine.run("ffmpeg", "-hide_banner", *arguments, "-i", film, "-c:v", encoder, *(output or ("-f", "null", "-")),
                           LIBVA_DRIVERS_PATH=str(machine.folder / "drivers"), LIBVA_DRIVER_NAME="told")

    def test_the_arguments_suit_encoders_on_the_cpu(self):
        with VaMachine(FULL) as machine:
            arguments = machine.ask("export", "ffmpeg").stdout.split()
            for encoder in ("libx264", "libx265", "mpeg4"):
                done = self.transcoded(machine, arguments, encoder)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_frames_that_stay_on_the_gpu_do_not(self):
        with VaMachine(FULL) as machine:
            arguments = json.loads(machine.ask("select", "ffmpeg", "-j").stdout)["answers"]["arguments_h264"].split()
            done = self.transcoded(machine, arguments, "libx264")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Impossible to convert between the formats", done.stderr)

    def test_the_gpu_decodes(self):
        """Our VA driver decodes each frame as gray, but the frames of the video are not gray."""
        with VaMachine(FULL) as machine:
            arguments = machine.ask("export", "ffmpeg").stdout.split()
            pictures = machine.folder / "pictures"
            done = self.transcoded(machine, arguments, "rawvideo", "-f", "rawvideo", pictures)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(set(pictures.read_bytes()), {0x80})

    def test_knows_all_arguments(self):
        """Tests that ffmpeg accepts each argument. ffmpeg may fail after it has parsed the arguments, because the libraries for CUDA and QSV are
        missing."""
        answers = json.loads(DOCUMENT.read_text(encoding="utf-8"))["selection"]["answers"]
        for words in sorted({words for name, rules in answers.items() if name.startswith("arguments") for rule in rules for words in rule}):
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
