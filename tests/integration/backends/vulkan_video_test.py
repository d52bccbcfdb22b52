# SPDX-License-Identifier: Apache-2.0
"""Tests what the vulkan backend reports about Vulkan Video, with our own driver over Mesa's lavapipe (tests/fakes/vulkan/told_vulkan.cpp)."""
import ctypes
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from worker_process import run_worker

FAKES = pathlib.Path(os.environ["GPUPROBE_FAKES"])
DRIVER = FAKES / "vulkan/told/told.so"
DECODE_H264, DECODE_H265, DECODE_AV1, DECODE_VP9, ENCODE_H264, ENCODE_H265, ENCODE_AV1 = 1, 2, 4, 8, 0x10000, 0x20000, 0x40000
ALL = DECODE_H264 | DECODE_H265 | DECODE_AV1 | DECODE_VP9 | ENCODE_H264 | ENCODE_H265 | ENCODE_AV1
EXTENSIONS = ["VK_KHR_video_queue", *(f"VK_KHR_video_{name}" for name in (
    "decode_h264", "decode_h265", "decode_av1", "decode_vp9", "encode_h264", "encode_h265", "encode_av1"))]
MONO, YUV420, YUV422, YUV444 = 1, 2, 4, 8
BITS_8, BITS_10, BITS_12 = 1, 4, 16
# The codec operation, the number of the profile in the standard, the chroma format, the bits, the width and the height.
FORMATS = [[DECODE_H264, 66, YUV420, BITS_8, 4096, 4096], [DECODE_H264, 100, YUV420, BITS_8, 4096, 4096],
           [DECODE_H265, 2, YUV420, BITS_10, 8192, 4352], [DECODE_H265, 4, YUV444, BITS_12, 8192, 8192],
           [DECODE_AV1, 0, MONO, BITS_8, 8192, 4352], [DECODE_VP9, 3, YUV422, BITS_12, 8192, 4352],
           [ENCODE_H264, 77, YUV420, BITS_8, 4096, 2304], [ENCODE_H265, 4, YUV422, BITS_10, 4096, 2304],
           [ENCODE_AV1, 1, YUV444, BITS_10, 7680, 4320]]
REPORTED = {("decode", "h264", "constrained-baseline", 8, "4:2:0"), ("decode", "h264", "high", 8, "4:2:0"),
            ("decode", "hevc", "main10", 10, "4:2:0"), ("decode", "hevc", "main444-12", 12, "4:4:4"),
            ("decode", "av1", "main", 8, "4:0:0"), ("decode", "vp9", "profile3", 12, "4:2:2"), ("encode", "h264", "main", 8, "4:2:0"),
            ("encode", "hevc", "main422-10", 10, "4:2:2"), ("encode", "av1", "high", 10, "4:4:4")}


def formats(device):
    return {(item["direction"], item["codec"], item["profile"], item["bits"], item["chroma"]) for item in device["video"]}


class VulkanVideo(unittest.TestCase):
    def setUp(self):
        try:
            ctypes.CDLL("libvulkan_lvp.so")
        except OSError:
            self.skipTest("lavapipe is not installed")
        # The folder must not be below /tmp, because the sandbox hides /tmp.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="video-", dir=FAKES))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(DRIVER, self.folder)

    def worker(self, video, operations=ALL, extensions=EXTENSIONS, **fail):
        """Returns the frames of a worker that queries a driver with one device."""
        device = {"id": "gpu", "answers": {}, "extensions": dict.fromkeys(extensions, True), "operations": operations, "video": video}
        (self.folder / "told.json").write_text(json.dumps({"devices": [device], "fail": fail}), encoding="utf-8")
        manifest = self.folder / "manifest.json"
        manifest.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": {
            "library_path": str(self.folder / "told.so"), "api_version": "1.3.239"}}), encoding="utf-8")
        return run_worker("vulkan", "--driver", str(manifest),
                          variables={"VK_DRIVER_FILES": str(manifest), "VK_ICD_FILENAMES": str(manifest)})

    def device(self, *args, **more):
        answer = self.worker(*args, **more)
        self.assertEqual(answer.done["outcome"], "answered")
        (device,) = answer.devices
        return device

    def test_reports_what_the_driver_supports(self):
        device = self.device(FORMATS)
        self.assertEqual(formats(device), REPORTED)
        (av1,) = [item for item in device["video"] if item["codec"] == "av1" and item["direction"] == "encode"]
        self.assertEqual((av1["max_width"], av1["max_height"], av1["name"]), (7680, 4320, "VK_VIDEO_CODEC_OPERATION_ENCODE_AV1_BIT_KHR"))

    def test_needs_a_queue_and_the_extension_of_the_codec(self):
        self.assertEqual({codec for _, codec, *_ in formats(self.device(FORMATS, operations=DECODE_AV1 | ENCODE_H264))}, {"av1", "h264"})
        self.assertEqual({codec for _, codec, *_ in formats(self.device(FORMATS, extensions=EXTENSIONS[:3]))}, {"h264", "hevc"})

    def test_knows_nothing_without_vulkan_video(self):
        self.assertIsNone(self.device(FORMATS, extensions=EXTENSIONS[1:])["video"])
        self.assertEqual(self.device([])["video"], [])

    def test_believes_no_absurd_size(self):
        device = self.device([[DECODE_H264, 100, YUV420, BITS_8, 0xffffffff, 0]])
        self.assertEqual([(item["max_width"], item["max_height"]) for item in device["video"]], [(None, None)])

    def test_asks_about_each_known_profile_once(self):
        every = [[operation, number, chroma, bits, 64, 64] for operation in (1, 2, 4, 8, 0x10000, 0x20000, 0x40000)
                 for number in range(256) for chroma in (1, 2, 4, 8) for bits in (1, 4, 16)]
        video = self.device(every)["video"]
        self.assertEqual(len(video), 57)
        self.assertEqual(len(video), len({tuple(item.values()) for item in video}))

    def test_an_error_is_no_format(self):
        for error in (-1, -3, -1000023003):
            self.assertEqual(self.device(FORMATS, vkGetPhysicalDeviceVideoCapabilitiesKHR=error)["video"], [], error)

    def test_a_crash_ends_the_probe(self):
        answer = self.worker(FORMATS, vkGetPhysicalDeviceVideoCapabilitiesKHR="crash")
        self.assertIsNone(answer.done)


if __name__ == "__main__":
    unittest.main()
