# SPDX-License-Identifier: Apache-2.0
"""Tests the vaapi backend with our own VA drivers and the installed libva, and compares the backend's answers with the output of Debian's vainfo."""
import ctypes
import json
import random
import shutil
import unittest

from va_machine import FAKES, VaMachine, entry

YUV420, YUV444, YUV420_10, YUV444_10, RGB32 = 0x1, 0x4, 0x100, 0x400, 0x20000
NONE, MPEG2, H264, JPEG, HEVC, HEVC10, VP9, VP9_10, AV1 = -1, 1, 7, 12, 17, 18, 19, 21, 32
VLD, SLICE, PICTURE, LOW_POWER, PROCESS = 1, 6, 7, 8, 10
OPERATION_FAILED, UNKNOWN = 1, -1
# A library that is not a VA driver.
LIBRARY = FAKES / "opencl/gpu/libfake_opencl_gpu.so"

FULL = {"vendor": "a driver that knows much", "profiles": [
    [MPEG2, [entry(VLD, YUV420, 1920, 1088)]],
    [H264, [entry(VLD, YUV420, 4096, 4096), entry(SLICE, YUV420, 4096, 4096), entry(LOW_POWER, YUV420, 4096, 4096)]],
    [JPEG, [entry(VLD, YUV420 | YUV444), entry(PICTURE, YUV420)]],
    [HEVC, [entry(VLD, YUV420, 8192, 8192)]],
    [HEVC10, [entry(VLD, YUV420 | YUV420_10, 8192, 8192), entry(SLICE, YUV420_10, 8192, 8192)]],
    [AV1, [entry(VLD, YUV420 | YUV420_10, 8192, 4352)]],
    [NONE, [entry(PROCESS, YUV420 | RGB32)]]]}
EMPTY = {"vendor": "a driver that knows nothing", "profiles": []}


class Case(unittest.TestCase):
    def views(self, machine):
        """Returns {id of a GPU: what the API vaapi reports about the GPU}."""
        done = machine.ask("describe", "-j")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {gpu["id"]: gpu["apis"]["vaapi"] for gpu in json.loads(done.stdout)["gpus"]}

    def view(self, machine):
        (view,) = self.views(machine).values()
        return view


class VaApi(Case):
    def test_reports_what_the_driver_reports(self):
        with VaMachine(FULL) as machine:
            view = self.view(machine)
        self.assertEqual((view["outcome"], view["driver"], view["joined_by"]), ("answered", "/dev/dri/renderD3", "pci"))
        device = view["device"]
        self.assertEqual((device["node"], device["driver_name"], device["driver_info"]),
                         ("/dev/dri/renderD3", "told", "a driver that knows much"))
        self.assertRegex(view["version"], r"^1\.\d+$")
        av1 = [item for item in device["video"] if item["codec"] == "av1"]
        self.assertEqual(av1, [
            {"direction": "decode", "codec": "av1", "profile": "main", "bits": bits, "chroma": "4:2:0", "max_width": 8192,
             "max_height": 4352, "name": "VAProfileAV1Profile0/VAEntrypointVLD"} for bits in (8, 10)])

    def test_shows_it(self):
        with VaMachine(FULL) as machine:
            table = machine.ask("list", "--video").stdout
            page = machine.ask("show", "--all").stdout
            none = machine.ask("list").stdout
        self.assertRegex(table, r"pci:0000:03:00\.0 +av1 +8, 10 bit, up to 8192 x 4352 +[-–]")
        self.assertRegex(table, r"pci:0000:03:00\.0 +h264 +8 bit, up to 4096 x 4096 +8 bit, up to 4096 x 4096")
        self.assertIn("decode av1", page)
        self.assertNotIn("av1", none)

    def test_answers_requirements(self):
        with VaMachine(FULL) as machine:
            done = machine.ask("call", "Query", '{"terms":["video.decode=av1-main-10bit","video.encode=av1","video.encode=hevc"]}')
        terms = json.loads(done.stdout)["terms"]
        self.assertEqual([term["truth"] for term in terms], ["true", "false", "true"], done.stdout)
        (why,) = [term["reason"] for term in terms if term["truth"] == "false"]
        self.assertEqual(why["code"], "requirement-unmet")
        self.assertEqual(why["detail"]["have"], ["h264", "hevc", "jpeg"])

    def test_knows_a_driver_without_video_engines(self):
        with VaMachine(EMPTY) as machine:
            view = self.view(machine)
            listed = machine.ask("list", "--video")
        self.assertEqual((view["outcome"], view["device"]["video"]), ("answered", []))
        self.assertRegex(listed.stdout, r"pci:0000:03:00\.0 +[-–] +[-–] +[-–]\n")
        self.assertIn("pci:0000:03:00.0: VA-API: the driver reports no video formats", listed.stdout)

    def test_gives_the_code_of_a_driver_that_refuses(self):
        with VaMachine({**FULL, "fail": {"init": OPERATION_FAILED}}) as machine:
            view = self.view(machine)
        self.assertEqual((view["outcome"], view["device"]), ("failed", None))
        self.assertIn({"call": "vaInitialize", "code": OPERATION_FAILED},
                      [reason["detail"] for reason in view["reasons"] if reason["code"] == "api-refused"])

    def test_distinguishes_a_refused_driver_from_a_missing_one(self):
        def fail(machine):
            machine.tell({**FULL, "fail": {"init": UNKNOWN}})

        def damage(machine):
            (machine.folder / "drivers/told_drv_video.so").write_bytes(b"\x7fELF, and no more")

        def replace(machine):
            shutil.copy(LIBRARY, machine.folder / "drivers/told_drv_video.so")

        def announce_nothing(machine):
            machine.tell({**FULL, "counts": {"max": 0}})
        for change, words in ((fail, "init failed"), (damage, "dlopen of"), (replace, "has no function"),
                              (announce_nothing, "Failed to define max_profiles")):
            with VaMachine(FULL) as machine:
                change(machine)
                view = self.view(machine)
                probes = json.loads(machine.ask("describe", "-j").stdout)["probes"]
            self.assertEqual(view["outcome"], "failed", words)
            self.assertIn({"call": "vaInitialize", "code": UNKNOWN},
                          [reason["detail"] for reason in view["reasons"] if reason["code"] == "api-refused"])
            (note,) = [probe["note"] for probe in probes if probe["api"] == "vaapi"]
            self.assertRegex(note, f"^vaInitialize: .*{words}")
            self.assertIn("told_drv_video.so", note)

    def test_calls_a_node_without_a_driver_absent(self):
        with VaMachine(FULL) as machine:
            (machine.folder / "drivers/told_drv_video.so").unlink()
            view = self.view(machine)
        self.assertEqual(view["outcome"], "absent")
        self.assertEqual(view["reasons"][0]["code"], "driver-missing")

    def test_leaves_a_sleeping_gpu_alone(self):
        with VaMachine({**FULL, "fail": {"init": "crash"}}, FULL) as machine:
            machine.suspend(0)
            views = self.views(machine)
            table = machine.ask("list", "--video").stdout
        self.assertRegex(table, r"pci:0000:03:00\.0 +[-–] +\? +\?")
        self.assertIn("pci:0000:03:00.0: VA-API: not probed, because a probe would wake a suspended GPU", table)
        self.assertEqual(views["pci:0000:03:00.0"]["outcome"], "skipped")
        self.assertEqual([reason["code"] for reason in views["pci:0000:03:00.0"]["reasons"]], ["asleep"])
        self.assertEqual(views["pci:0000:04:00.0"]["outcome"], "answered")


class BadVaDrivers(Case):
    """Tests that the answer about a GPU is still complete if the VA driver of another GPU misbehaves."""

    def bad(self, outcome, **fail):
        with VaMachine({**FULL, "fail": fail}, FULL) as machine:
            views = self.views(machine)
        good = views["pci:0000:04:00.0"]
        self.assertEqual((good["outcome"], len({item["name"] for item in good["device"]["video"]})), ("answered", 11))
        bad = views["pci:0000:03:00.0"]
        self.assertEqual((bad["outcome"], bad["device"]), (outcome, None), fail)

    def test_crash(self):
        for place in ("init", "profiles", "entrypoints", "attributes"):
            self.bad("crashed", **{place: "crash"})

    def test_doctor_takes_no_node_for_a_manifest(self):
        with VaMachine({**FULL, "fail": {"init": "crash"}}, FULL) as machine:
            (finding,) = [finding for finding in json.loads(machine.ask("doctor", "-j").stdout)["findings"]
                          if finding["id"] == "driver-crashed"]
        self.assertIn("vaapi: the driver crashed", finding["sentence"])
        self.assertIn("then run gpuprobectl probe", finding["fix"])
        self.assertNotIn("manifest", finding["fix"])

    def test_hang(self):
        self.bad("timed-out", entrypoints="hang")

    def test_refuse(self):
        self.bad("failed", profiles=OPERATION_FAILED)

    def test_lie_about_counts(self):
        for counts in ({"profiles": 10**9}, {"entrypoints": 10**9}, {"profiles": -3}, {"max": 10**9}):
            with VaMachine({**FULL, "counts": counts}, FULL) as machine:
                views = self.views(machine)
            for view in views.values():
                self.assertEqual(view["outcome"], "answered", counts)
                self.assertLessEqual(len(view["device"]["video"]), 512, counts)


def made_up(seed):
    """Describes a VA driver with random profiles, entry points, formats and sizes, some of which no version of libva knows."""
    dice = random.Random(seed)
    profiles = dice.sample([*range(-1, 39), 99], dice.randint(1, 30))
    known = [VLD, 2, 3, 4, 5, SLICE, PICTURE, LOW_POWER, PROCESS, 11, 12, 13, 14]
    return {"vendor": f"made-up driver {seed}", "profiles": [
        [profile, [entry(point, dice.choice([None, YUV420, YUV420 | YUV420_10, YUV444_10, RGB32, 0xffffffff]),
                         dice.choice([None, 0, 1920, 16384, 0xffffffff]), dice.choice([None, 0, 1088, 16384]))
                   for point in dice.sample(known, dice.randint(1, 5))]]
        for profile in profiles]}


def twice(node):
    return {**node, "profiles": [[profile, points * 2] for profile, points in node["profiles"] * 2]}


# The surface formats, and the chroma formats and bits per sample that streams of each profile can have.
FORMATS = {f"VA_RT_FORMAT_YUV{chroma}{suffix}": (":".join(str(chroma)), bits) for bits, suffix in ((8, ""), (10, "_10"), (12, "_12"))
           for chroma in (400, 411, 420, 422, 444)}
SAMPLES = {profile: (chromas.split(), bits) for profiles, chromas, bits in (
    ("MPEG2Simple MPEG2Main MPEG4Simple MPEG4AdvancedSimple MPEG4Main H263Baseline H264Baseline H264ConstrainedBaseline H264Main VC1Simple "
     "VC1Main VC1Advanced VP8Version0_3 HEVCMain VP9Profile0", "4:2:0", (8,)),
    ("H264High H264MultiviewHigh H264StereoHigh HEVCSccMain", "4:0:0 4:2:0", (8,)),
    ("H264High10 HEVCSccMain10 VVCMain10 VVCMultilayerMain10 AV1Profile0", "4:0:0 4:2:0", (8, 10)),
    ("HEVCMain10", "4:2:0", (8, 10)), ("HEVCMain12", "4:0:0 4:2:0", (8, 10, 12)),
    ("HEVCMain422_10", "4:0:0 4:2:0 4:2:2", (8, 10)), ("HEVCMain422_12", "4:0:0 4:2:0 4:2:2", (8, 10, 12)),
    ("HEVCMain444 HEVCSccMain444", "4:0:0 4:2:0 4:2:2 4:4:4", (8,)), ("HEVCMain444_10 HEVCSccMain444_10", "4:0:0 4:2:0 4:2:2 4:4:4", (8, 10)),
    ("HEVCMain444_12", "4:0:0 4:2:0 4:2:2 4:4:4", (8, 10, 12)), ("VP9Profile1", "4:2:2 4:4:4", (8,)), ("VP9Profile2", "4:2:0", (10, 12)),
    ("VP9Profile3", "4:2:2 4:4:4", (10, 12)), ("AV1Profile1", "4:0:0 4:2:0 4:4:4", (8, 10)),
    ("JPEGBaseline", "4:0:0 4:1:1 4:2:0 4:2:2 4:4:4", (8,))) for profile in profiles.split()}


class EqualToVainfo(Case):
    """Tests that the entries have the same formats and sizes as in the output of Debian's vainfo."""

    def of_entries(self, entries):
        """Returns two sets: each pair of profile and entry point with its size, and each pair with each of its formats. vainfo does not
        print the names of profiles that libva's vaProfileStr() does not know."""
        libva = ctypes.CDLL("libva.so.2")
        libva.vaProfileStr.restype = ctypes.c_char_p
        known = {libva.vaProfileStr(number).decode() for number in range(-1, 100)}
        sizes, formats = set(), set()
        for item in entries:
            profile, point = item["name"].split("/")
            pair = profile if profile in known else "<unknown profile>", point
            sizes.add((pair, item["max_width"], item["max_height"]))
            if item["chroma"] and profile in known:
                formats.add((pair, item["chroma"], item["bits"]))
        return sizes, formats

    def of_vainfo(self, judge):
        def side(value):
            return value if value and 0 < value <= 1 << 20 else None
        sizes = {(item["pair"], side(item["width"]), side(item["height"])) for item in judge}
        formats = set()
        for item in judge:
            chromas, bits = SAMPLES.get(item["pair"][0].removeprefix("VAProfile"), ((), ()))
            known = {FORMATS[name] for name in item["formats"] if name in FORMATS}
            formats |= {(item["pair"], *one) for one in known if one[0] in chromas and one[1] in bits}
        return sizes, formats

    def test_on_made_up_drivers(self):
        if not shutil.which("vainfo"):
            self.skipTest("vainfo is not installed")
        drivers = [FULL, EMPTY, twice(FULL), *map(made_up, range(27))]
        compared = [0, 0]
        with VaMachine(FULL) as machine:
            for number, driver in enumerate(drivers):
                machine.tell(driver)
                judge = machine.vainfo(0)
                self.assertIsNotNone(judge, number)
                ours = self.of_entries(self.view(machine)["device"]["video"])
                for place, (got, wanted) in enumerate(zip(ours, self.of_vainfo(judge))):
                    self.assertEqual(got, wanted, number)
                    compared[place] += len(wanted)
        self.assertGreater(min(compared), 800, compared)


if __name__ == "__main__":
    unittest.main()
