# SPDX-License-Identifier: Apache-2.0
"""Replays the public outputs of vainfo and NVEncC in tests/data/video: our own drivers report the formats in these outputs, and gpuprobectl must list
the same formats and name the right arguments for FFmpeg."""
import ctypes
import json
import unittest

from nvcodec_test import AV1, AV1_MAIN, ENCODER, FREXT, H264, HEVC, HIGH, MAIN, MAIN10, SOURCE, NvidiaMachine, caps, fill
from va_machine import VaMachine

DUMPS = json.loads((SOURCE / "tests/data/video/public_dumps.json").read_text(encoding="utf-8"))
SOFTWARE = {"h264": "libx264", "hevc": "libx265", "av1": "libsvtav1"}
# The codecs that FFmpeg decodes or encodes on GPUs, besides JPEG.
CODECS = {"MPEG2": "mpeg2", "MPEG4": "mpeg4", "H264": "h264", "VC1": "vc1", "HEVC": "hevc", "VP8": "vp8", "VP9": "vp9", "AV1": "av1"}
FORMATS = {"YUV420": 0x1, "YUV422": 0x2, "YUV444": 0x4, "YUV420_10": 0x100, "YUV422_10": 0x200, "YUV444_10": 0x400, "YUV420_12": 0x1000,
           "YUV422_12": 0x2000, "YUV444_12": 0x4000}


class IntelMachine(VaMachine):
    IDS = {"vendor": "0x8086", "device": "0x46a6", "subsystem_vendor": "0x8086", "subsystem_device": "0x2212"}
    ADDRESSES = ("0000:00:02.0",)
    KERNEL_DRIVER = "i915"


class NvidiaVaMachine(VaMachine):
    IDS = {"vendor": "0x10de", "device": "0x2684", "subsystem_vendor": "0x1043", "subsystem_device": "0x88e2"}
    KERNEL_DRIVER = "nvidia"
    NAME = "nvidia"


MACHINES = {"iHD": type("Ihd", (IntelMachine,), {"NAME": "iHD"}), "i965": type("I965", (IntelMachine,), {"NAME": "i965"}),
            "radeonsi": type("Radeonsi", (VaMachine,), {"NAME": "radeonsi"}),
            "r600": type("R600", (VaMachine,), {"NAME": "r600", "KERNEL_DRIVER": "radeon"}), "nvidia": NvidiaVaMachine}


def numbers(function, count):
    """Returns {name: number} of the profiles or entry points that libva knows."""
    libva = ctypes.CDLL("libva.so.2")
    name = getattr(libva, function)
    name.restype = ctypes.c_char_p
    known = {name(number).decode(): number for number in range(-1, count)}
    return {"VAProfileH264High10": 36, **known}  # since libva 2.18


def samples(profile):
    """Returns the surface format of a profile, for outputs of vainfo that contain no formats."""
    depth = "_12" if "12" in profile else "_10" if "10" in profile or profile in ("VP9Profile2", "VP9Profile3") else ""
    chroma = next((chroma for chroma in ("444", "422") if chroma in profile), "444" if profile in ("VP9Profile1", "VP9Profile3") else "420")
    return [f"YUV{chroma}{depth}"]


def pairs(row):
    return {(profile, point) for profile, points in row["entries"].items() for point in points.split()}


def node(row):
    """Returns a description of the driver in a row, in the format that told_va.cpp reads."""
    profiles, points = numbers("vaProfileStr", 100), numbers("vaEntrypointStr", 20)
    return {"vendor": row["info"], "profiles": [
        [profiles["VAProfile" + profile], [[points["VAEntrypoint" + point], attributes(row, profile, point)] for point in words.split()]]
        for profile, words in row["entries"].items()]}


def attributes(row, profile, point):
    names = row.get("formats", {}).get(f"{profile}/{point}", samples(profile))
    width, height = row.get("sizes", {}).get(f"{profile}/{point}", (None, None))
    found = {"0": sum(FORMATS[name] for name in names), "18": width, "19": height}
    return {key: value for key, value in found.items() if value}


class Case(unittest.TestCase):
    maxDiff = None

    def answer(self, machine, *words):
        done = machine.ask(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_ffmpeg(self, machine, row, backend, arguments, encoders):
        """`encoders` is {codec: name of the encoder on the GPU}."""
        chosen = self.answer(machine, "-j", "select", "ffmpeg")
        self.assertEqual((chosen["backend"], chosen["answers"].get("arguments")), (backend, arguments), row["source"])
        for codec, software in SOFTWARE.items():
            self.assertEqual(chosen["answers"][f"encoder_{codec}"], encoders.get(codec, software), row["source"])


class Vainfo(Case):
    def entries(self, machine, row):
        (gpu,) = self.answer(machine, "describe", "-j")["gpus"]
        view = gpu["apis"]["vaapi"]
        self.assertEqual(view["outcome"], "answered", row["source"])
        self.assertEqual((view["device"]["driver_name"], view["device"]["driver_info"]), (row["driver"], row["info"]))
        return view["device"]["video"]

    def check(self, machine, row):
        entries = self.entries(machine, row)
        got = {tuple(entry["name"].replace("VAProfile", "").replace("VAEntrypoint", "").split("/")) for entry in entries}
        self.assertEqual(got, pairs(row), row["source"])
        sizes = {entry["name"]: [entry["max_width"], entry["max_height"]] for entry in entries}
        for name, size in row.get("sizes", {}).items():
            profile, point = name.split("/")
            self.assertEqual(sizes[f"VAProfile{profile}/VAEntrypoint{point}"], size, row["source"])
        codecs = {direction: {word for profile, point in pairs(row) for start, word in CODECS.items()
                              if profile.startswith(start) and point in points}
                  for direction, points in (("decode", {"VLD"}), ("encode", {"EncSlice", "EncSliceLP"}))}
        self.assertEqual({(entry["direction"], entry["codec"]) for entry in entries if entry["direction"] in codecs and entry["codec"] != "jpeg"},
                         {(direction, word) for direction, words in codecs.items() for word in words}, row["source"])
        has_any = codecs["decode"] | codecs["encode"]
        self.check_ffmpeg(machine, row, "vaapi" if has_any else "cpu", "-hwaccel vaapi -hwaccel_device /dev/dri/renderD3" if has_any else None,
                          {codec: f"{codec}_vaapi" for codec in codecs["encode"]})
        return len(got)

    def test_all(self):
        compared = 0
        for driver, kind in MACHINES.items():
            with kind({"profiles": []}) as machine:
                for row in (row for row in DUMPS["vainfo"] if row["driver"] == driver):
                    machine.tell(node(row))
                    compared += self.check(machine, row)
        self.assertEqual(compared, sum(len(pairs(row)) for row in DUMPS["vainfo"]))


class NvEnc(Case):
    CODECS = {"mpeg1": 0, "mpeg2": 1, "mpeg4": 2, "vc1": 3, "h264": 4, "hevc": 8, "vp8": 9, "vp9": 10, "av1": 11}
    CHROMAS = ("4:0:0", "4:2:0", "4:2:2", "4:4:4")
    # {codec: (GUID of the codec, GUIDs of the NVENC profiles that imply a format)}.
    ENCODERS = {"h264": (H264, (HIGH, "8f0c337e-186c-48e9-a69d-7a8334089758", "ff3242e9-613c-4295-a1e8-2a7fe94d8133",
                                "7ac663cb-a598-4960-b844-339b261a7d52")), "hevc": (HEVC, (MAIN, MAIN10, FREXT)), "av1": (AV1, (AV1_MAIN,))}

    def decoded(self, row):
        return {(codec, chroma, int(bits)) for codec, words in (row["decode"] or {}).items()
                for chroma, _, bits in (word.partition("/") for word in words.split())}

    def encoded(self, row):
        found = set()
        for codec, limits in row["encode"].items():
            chromas = ["4:2:0"] + ["4:2:2"] * limits.get("yuv422", False) + ["4:4:4"] * limits.get("yuv444", False)
            size = limits["width"], limits["height"]
            found |= {(codec, chroma, 8, *size) for chroma in chromas}
            # NVENC has no H.264 profile with 10-bit samples in 4:4:4.
            found |= {(codec, chroma, 10, *size) for chroma in chromas if limits.get("ten") and (codec, chroma) != ("h264", "4:4:4")}
        return found

    def told(self, row):
        major, minor = map(int, row["api"].split("."))
        codecs = []
        for codec, limits in row["encode"].items():
            guid, profiles = self.ENCODERS[codec]
            codecs.append([guid, caps(limits["width"], limits["height"], **{key: 1 for key in ("ten", "yuv422", "yuv444") if key in limits}), profiles])
        return {"decode": [[self.CODECS[codec], self.CHROMAS.index(chroma), bits, 4096, 4096] for codec, chroma, bits in self.decoded(row)],
                "encode": {"version": major << 4 | minor, "codecs": codecs}}

    def check(self, machine, row):
        for gpu in self.answer(machine, "describe", "-j")["gpus"]:
            device = gpu["apis"]["nvcodec"]["device"]
            of = {direction: [entry for entry in device["video"] if entry["direction"] == direction] for direction in ("decode", "encode")}
            self.assertEqual({(entry["codec"], entry["chroma"], entry["bits"]) for entry in of["decode"]}, self.decoded(row), row["source"])
            self.assertEqual({(entry["codec"], entry["chroma"], entry["bits"], entry["max_width"], entry["max_height"]) for entry in of["encode"]},
                             self.encoded(row), row["source"])
            self.assertEqual((device["decode_error"] is None, device["encode_error"]), (row["decode"] is not None, None), row["source"])
        self.check_ffmpeg(machine, row, "cuda", "-hwaccel cuda -hwaccel_device 0", {codec: f"{codec}_nvenc" for codec in row["encode"]})

    def check_all(self, rows, **more):
        with NvidiaMachine(self.told(rows[0]), **more) as machine:
            for row in rows:
                fill(machine.folder / "nvidia", self.told(row), **more)
                machine.tell({"profiles": []}, {"profiles": []})
                self.check(machine, row)

    def test_all(self):
        self.check_all([row for row in DUMPS["nvenc"] if row["decode"]])

    def test_encoders_only(self):
        """Tests the outputs that do not mention NVDEC."""
        self.check_all([row for row in DUMPS["nvenc"] if not row["decode"]], libraries=(ENCODER,))


class Number(unittest.TestCase):
    def test_is_large_enough(self):
        rows = [row for name in ("vainfo", "nvenc", "v4l2") for row in DUMPS[name]]
        self.assertGreaterEqual(len({json.dumps(row, sort_keys=True) for row in rows}), 60)


if __name__ == "__main__":
    unittest.main()
