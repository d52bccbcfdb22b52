# SPDX-License-Identifier: Apache-2.0
"""Tests the nvcodec backend with our own libraries for NVDEC and NVENC, next to a fake CUDA driver."""
import ast
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from va_machine import FAKES, VaMachine
from worker_process import run_worker

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
TOLD = FAKES / "nvcodec/told.so"
DECODER, ENCODER = "libnvcuvid.so.1", "libnvidia-encode.so.1"
# A library that has neither the functions of NVDEC nor the functions of NVENC.
OTHER = FAKES / "opencl/gpu/libfake_opencl_gpu.so"
H264, HEVC, AV1 = ("6bc82762-4e63-4ca4-aa85-1e50f321f6bf", "790cdc88-4522-4d7b-9425-bda9975f7603", "0a352289-0aa7-4759-862d-5d15cd16d254")
HIGH, MAIN, MAIN10 = ("e7cbc309-4f7a-4b89-af2a-d537c92be310", "b514c39a-b55b-40fa-878f-f1253b4dfdec", "fa4d2b6c-3a5b-411a-8018-0a3f5e3c9be5")
FREXT, AV1_MAIN = "51ec32b5-1b4c-453c-9cbd-b616bd621341", "5f2a39f5-f14e-4f95-9a9e-b76d568fcf97"
AUTOSELECT = "bfd6f8e7-233c-4341-8b3e-4818523803f4"
NO_NVENC, TOO_MANY_SESSIONS = 2, 10


def caps(width, height, **more):
    return {"16": width, "17": height, **{{"yuv444": "33", "ten": "39", "yuv422": "59"}[key]: value for key, value in more.items()}}


FULL = {
    "decode": [[1, 1, 8, 4080, 4080], [4, 1, 8, 4096, 4096], [5, 1, 8, 32768, 16384], [8, 1, 8, 8192, 8192], [8, 1, 10, 8192, 8192],
               [8, 3, 12, 8192, 8192], [9, 1, 8, 4096, 4096], [10, 1, 8, 8192, 8192], [11, 1, 10, 8192, 8192]],
    "encode": {"version": 0xD0, "codecs": [
        [H264, caps(4096, 4096), [AUTOSELECT, HIGH]],
        [HEVC, caps(8192, 8192, yuv444=1, ten=1), [AUTOSELECT, MAIN, MAIN10, FREXT]],
        [AV1, caps(8192, 8192), [AV1_MAIN]]]}}
DECODED = {("mpeg2", "simple", 8, "4:2:0"), ("mpeg2", "main", 8, "4:2:0"), ("h264", "baseline", 8, "4:2:0"),
           ("h264", "constrained-baseline", 8, "4:2:0"), ("h264", "main", 8, "4:2:0"), ("h264", "high", 8, "4:2:0"),
           ("jpeg", "baseline", 8, "4:2:0"), ("hevc", "main", 8, "4:2:0"), ("hevc", "main10", 10, "4:2:0"),
           ("hevc", "main444-12", 12, "4:4:4"), ("vp8", None, 8, "4:2:0"), ("vp9", "profile0", 8, "4:2:0"), ("av1", "main", 10, "4:2:0")}
ENCODED = {("h264", "high", 8, "4:2:0"), ("hevc", "main", 8, "4:2:0"), ("hevc", "main10", 10, "4:2:0"), ("hevc", "main444", 8, "4:4:4"),
           ("hevc", "main444-10", 10, "4:4:4"), ("av1", "main", 8, "4:2:0")}


def formats(device, direction):
    return {(item["codec"], item["profile"], item["bits"], item["chroma"]) for item in device["video"] if item["direction"] == direction}


def fill(folder, told, libraries=(DECODER, ENCODER), cuda="healthy"):
    """Makes a folder with a fake NVDEC and NVENC driver that behaves as `told` describes (see told_nvcodec.cpp)."""
    shutil.copytree(FAKES / "nvidia" / cuda, folder, dirs_exist_ok=True)
    for name in libraries:
        shutil.copy(TOLD, folder / name)
    (folder / "nvcodec.json").write_text(json.dumps(told), encoding="utf-8")


class Case(unittest.TestCase):
    def setUp(self):
        # The folder of the driver must not be below /tmp, because the sandbox hides /tmp.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nvcodec-", dir=FAKES))
        self.addCleanup(shutil.rmtree, self.folder)

    def ask(self, told, *libraries, api="nvcodec", **more):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        fill(folder, told, libraries or (DECODER, ENCODER))
        return run_worker(api, library_path=str(folder), **more)


class NvCodec(Case):
    def test_reports_what_both_libraries_report(self):
        answer = self.ask(FULL)
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertEqual([device["pci"] for device in answer.devices], ["0000:c1:00.0", "0000:c2:00.0"])
        for device in answer.devices:
            self.assertEqual(formats(device, "decode"), DECODED)
            self.assertEqual(formats(device, "encode"), ENCODED)
            self.assertEqual((device["decode_error"], device["encode_error"], device["nvenc_version"]), (None, None, "13.0"))
        video = answer.devices[0]["video"]
        self.assertIn({"direction": "decode", "codec": "hevc", "profile": "main10", "bits": 10, "chroma": "4:2:0", "max_width": 8192,
                       "max_height": 8192, "name": "cudaVideoCodec_HEVC"}, video)
        self.assertIn({"direction": "encode", "codec": "h264", "profile": "high", "bits": 8, "chroma": "4:2:0", "max_width": 4096,
                       "max_height": 4096, "name": "NV_ENC_CODEC_H264_GUID/NV_ENC_H264_PROFILE_HIGH_GUID"}, video)

    def test_does_not_start_cuda_without_both_libraries(self):
        answer = run_worker("nvcodec", library_path=str(FAKES / "nvidia/healthy"), variables={"FAULT": "segv@load"})
        self.assertEqual((answer.status, answer.done["outcome"]), (0, "absent"))
        self.assertIn(DECODER, answer.done["note"])

    def test_knows_the_half_whose_library_exists(self):
        for library, known, unknown, wanted in ((DECODER, "decode", "encode", DECODED), (ENCODER, "encode", "decode", ENCODED)):
            (device, _) = self.ask(FULL, library).devices
            self.assertEqual(formats(device, known), wanted)
            self.assertEqual(formats(device, unknown), set())
            self.assertIsNone(device[f"{known}_error"])
            self.assertIn("cannot open shared object file", device[f"{unknown}_error"])

    def test_knows_a_gpu_without_nvenc(self):
        (device, _) = self.ask({**FULL, "fail": {"open": NO_NVENC}}).devices
        self.assertEqual((formats(device, "encode"), device["encode_error"]), (set(), None))
        self.assertEqual(formats(device, "decode"), DECODED)

    def test_gives_the_code_of_a_refusal(self):
        (device, _) = self.ask({**FULL, "fail": {"open": TOO_MANY_SESSIONS}}).devices
        self.assertEqual(device["encode_error"], "NvEncOpenEncodeSessionEx: NV_ENC_ERR_OUT_OF_MEMORY (10)")
        for place, call in (("create", "NvEncodeAPICreateInstance"), ("codecs", "NvEncGetEncodeGUIDs"), ("profiles", "NvEncGetEncodeProfileGUIDs")):
            (device, _) = self.ask({**FULL, "fail": {place: 20}}).devices
            self.assertEqual(device["encode_error"], f"{call}: NVENCSTATUS (20)")
            self.assertEqual(formats(device, "decode"), DECODED)
        (device, _) = self.ask({**FULL, "fail": {"decode": 999}}).devices
        self.assertEqual(device["decode_error"], "cuvidGetDecoderCaps: CUDA error 999")
        self.assertEqual((formats(device, "decode"), formats(device, "encode")), (set(), ENCODED))

    def test_takes_an_unknown_codec_for_one_that_the_gpu_lacks(self):
        (device, _) = self.ask({**FULL, "fail": {"decode": 1}}).devices
        self.assertEqual((formats(device, "decode"), device["decode_error"]), (set(), None))

    def test_speaks_the_version_of_an_old_driver(self):
        for version, text in ((0x80, "8.0"), (0x91, "9.1"), (0xC2, "12.2"), (0xE1, "14.1")):
            (device, _) = self.ask({**FULL, "encode": {**FULL["encode"], "version": version}}).devices
            self.assertEqual((device["nvenc_version"], device["encode_error"]), (text, None))
            self.assertEqual(formats(device, "encode"), ENCODED)
        (device, _) = self.ask({**FULL, "encode": {**FULL["encode"], "version": 0x71}}).devices
        self.assertEqual((device["nvenc_version"], device["encode_error"]), ("7.1", "the driver supports only NVENC 7.1"))

    def test_needs_the_functions(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        fill(folder, FULL, (ENCODER,))
        shutil.copy(OTHER, folder / DECODER)
        (device, _) = run_worker("nvcodec", library_path=str(folder)).devices
        self.assertIn("cuvidGetDecoderCaps: no such function", device["decode_error"])
        self.assertEqual(formats(device, "encode"), ENCODED)

    def test_names_what_is_newer(self):
        new = "01234567-89ab-cdef-0123-456789abcdef"
        (device, _) = self.ask({"decode": [], "encode": {"codecs": [[new, caps(1, 1), []], [AV1, caps(0, 1 << 30), [new]]]}}).devices
        self.assertEqual([(item["codec"], item["bits"], item["max_height"], item["name"]) for item in device["video"]],
                         [(None, None, 1, new), ("av1", None, None, f"NV_ENC_CODEC_AV1_GUID/{new}")])


class BadNvCodec(Case):
    def test_keeps_nvdec_when_nvenc_crashes(self):
        for place in ("version", "create", "open", "codecs", "profiles", "caps"):
            answer = self.ask({**FULL, "fail": {place: "crash"}})
            self.assertEqual((answer.status, answer.done), (-signal.SIGSEGV, None), place)
            for device in answer.devices:
                self.assertEqual(formats(device, "decode"), DECODED)
                self.assertEqual(device["encode_error"], "NVENC did not answer")

    def test_lies_about_counts(self):
        for counts in ({"codecs": 4 * 10**9}, {"profiles": 4 * 10**9}):
            answer = self.ask({**FULL, "counts": counts})
            self.assertEqual(answer.done["outcome"], "answered", counts)
            for device in answer.devices:
                self.assertLessEqual(ENCODED, formats(device, "encode"), counts)
                self.assertLessEqual(len(device["video"]), 512)

    def test_lies_about_sizes_and_formats(self):
        everything = [[codec, chroma, bits, 0, 4 * 10**9] for codec in range(13) for chroma in range(4) for bits in (8, 10, 12)]
        (device, _) = self.ask({**FULL, "decode": everything}).devices
        self.assertEqual({(item["max_width"], item["max_height"]) for item in device["video"] if item["direction"] == "decode"}, {(None, None)})
        self.assertLessEqual(len(device["video"]), 512)


class MissingLibraries(Case):
    def missing(self, *libraries):
        answer = self.ask(FULL, *libraries)
        return answer.done["outcome"], [(reason["code"], reason["detail"]["missing"]) for reason in answer.done["reasons"]]

    def test_are_named(self):
        self.assertEqual(self.missing(DECODER, ENCODER), ("answered", []))
        self.assertEqual(self.missing(DECODER), ("answered", [("library-missing", ENCODER)]))
        self.assertEqual(self.missing(ENCODER), ("answered", [("library-missing", DECODER)]))
        self.assertEqual(self.missing("libother.so"), ("absent", [("library-missing", DECODER), ("library-missing", ENCODER)]))


class HardwareCheck(Case):
    """Tests that tests/hardware/video.py, which queries NVIDIA's libraries, also gets the right formats from our libraries."""

    def test_reads_the_libraries(self):
        fill(self.folder, FULL)
        script = "import ctypes, video; gpu = video.Gpu(ctypes.CDLL('libcuda.so.1'), 0); print(video.decoded(), video.encoded(gpu), sep='\\n')"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False,
                              env={"LD_LIBRARY_PATH": str(self.folder), "PYTHONPATH": str(SOURCE / "tests/hardware")})
        self.assertEqual(done.returncode, 0, done.stderr)
        decoded, encoded = map(ast.literal_eval, done.stdout.splitlines())
        self.assertEqual(len(decoded), len(FULL["decode"]))
        self.assertEqual({entry[:3] for entry in decoded}, {(codec, chroma, bits) for codec, _, bits, chroma in DECODED})
        self.assertEqual({entry[:3] for entry in encoded}, {entry[:3] for entry in ENCODED})
        self.assertIn(("av1", "4:2:0", 10, 8192, 8192), decoded)
        self.assertIn(("h264", "high", 8, 4096, 4096), encoded)


WORKER = """#!/bin/sh
export LD_LIBRARY_PATH={folder}/nvidia
exec {bin}/gpuprobe-worker "$@"
"""


class NvidiaMachine(VaMachine):
    """Simulates a machine with the two GPUs of the fake CUDA driver, and without a VA driver."""
    IDS = {"vendor": "0x10de", "device": "0x2684", "subsystem_vendor": "0x1043", "subsystem_device": "0x88e2"}
    ADDRESSES = ("0000:c1:00.0", "0000:c2:00.0")
    KERNEL_DRIVER = "nvidia"
    WORKER = WORKER

    def __init__(self, told, **more):
        super().__init__({"profiles": []}, {"profiles": []})
        (self.folder / "drivers/told_drv_video.so").unlink()
        (self.folder / "nvidia").mkdir()
        fill(self.folder / "nvidia", told, **more)


class OnAMachine(unittest.TestCase):
    def report(self, machine):
        done = machine.ask("describe", "-j")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def truths(self, machine, *terms):
        done = machine.ask("call", "Query", json.dumps({"terms": terms}))
        return [term["truth"] for term in json.loads(done.stdout)["terms"] if term["gpu"] == "pci:0000:c1:00.0"]

    def test_its_gpus_have_known_formats(self):
        with NvidiaMachine(FULL) as machine:
            gpus = self.report(machine)["gpus"]
            truths = self.truths(machine, "video.decode=av1-main-10bit", "video.decode=av1-main-8bit", "video.encode=av1", "video.encode=vp9")
            table = machine.ask("list", "--video").stdout
        self.assertEqual([gpu["apis"]["nvcodec"]["outcome"] for gpu in gpus], ["answered"] * 2)
        self.assertEqual(truths, ["true", "false", "true", "false"])
        self.assertRegex(table, r"pci:0000:c1:00\.0 … +hevc +8, 10, 12 bit, up to 8192 x 8192 +8, 10 bit, up to 8192 x 8192")
        self.assertNotIn("NVENC", table)

    def test_a_missing_library_is_known(self):
        with NvidiaMachine(FULL, libraries=(DECODER,)) as machine:
            truths = self.truths(machine, "video.decode=vp8", "video.decode=mpeg1", "video.encode=hevc")
            table = machine.ask("list", "--video").stdout
        self.assertEqual(truths, ["true", "false", "false"])
        self.assertRegex(table, r"pci:0000:c1:00\.0 … +vp8 +8 bit, up to 4096 x 4096 +–")
        self.assertIn("pci:0000:c1:00.0 and 1 more: ", table)
        self.assertIn(ENCODER, table)

    def test_a_driver_that_crashes_or_hangs_costs_only_its_own_answer(self):
        for harm, outcome in (("crash", "crashed"), ("hang", "timed-out")):
            with NvidiaMachine({**FULL, "fail": {"decode": harm}}) as machine:
                report = self.report(machine)
                table = machine.ask("list", "--video").stdout
            for gpu in report["gpus"]:
                self.assertEqual((gpu["apis"]["nvcodec"]["outcome"], gpu["apis"]["cuda"]["outcome"]), (outcome, "answered"))
                self.assertNotIn("nvcodec", [finding["detail"].get("api") for finding in gpu["findings"]])
            self.assertIn("pci:0000:c1:00.0 and 1 more: NVDEC and NVENC: the driver", table)

    def test_leaves_a_sleeping_gpu_alone(self):
        with NvidiaMachine({**FULL, "fail": {"decode": "crash"}}) as machine:
            machine.suspend(0)
            report = self.report(machine)
            table = machine.ask("list", "--video").stdout
        for gpu in report["gpus"]:
            self.assertEqual(gpu["apis"]["nvcodec"]["outcome"], "skipped")
        self.assertIn("pci:0000:c1:00.0 and 1 more: NVDEC and NVENC: not probed, because a probe would wake a suspended GPU: pci:0000:c1:00.0", table)


if __name__ == "__main__":
    unittest.main()
