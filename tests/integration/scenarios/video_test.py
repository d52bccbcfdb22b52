# SPDX-License-Identifier: Apache-2.0
"""Tests which GPU and backend `select` chooses for applications that decode and encode videos, and the settings that it gives them."""
import json

from made_machine import Machine
from scenario_case import SOURCE, ScenarioCase

APPLICATIONS = ("ffmpeg", "jellyfin", "frigate", "go2rtc", "immich", "obs", "handbrake", "mpv")
NVIDIA, AMD, INTEL = "0000:01:00.0", "0000:03:00.0", "0000:00:02.0"
H264 = ("decode h264-main", "decode h264-high", "encode h264-main", "encode h264-high")
HEVC = ("decode hevc-main", "decode hevc-main10", "decode hevc-main10/10", "encode hevc-main")
AV1 = ("decode av1-main", "decode av1-main/10")


def intel(driver="iHD", *formats, number=128, **more):
    return Machine().intel().vaapi(INTEL, number, driver, *(formats or H264 + HEVC), **more)


class VideoBackends(ScenarioCase):
    def backends(self, machine):
        return {name: self.select(machine, name).backend for name in APPLICATIONS}

    def test_intel_has_va_api(self):
        self.assertEqual(self.backends(intel()), {
            "ffmpeg": "vaapi", "jellyfin": "vaapi", "frigate": "vaapi", "go2rtc": "vaapi", "immich": "vaapi", "obs": "vaapi", "handbrake": "qsv",
            "mpv": "vaapi"})

    def test_amd_has_va_api(self):
        machine = Machine().amd().vaapi(AMD, 128, "radeonsi", *H264, *HEVC, *AV1)
        self.assertEqual(self.backends(machine), {
            "ffmpeg": "vaapi", "jellyfin": "vaapi", "frigate": "vaapi", "go2rtc": "vaapi", "immich": "vaapi", "obs": "vaapi", "handbrake": "cpu",
            "mpv": "vaapi"})

    def test_nvidia_has_cuda(self):
        self.assertEqual(self.backends(Machine().nvidia()), {
            "ffmpeg": "cuda", "jellyfin": "nvenc", "frigate": "nvidia", "go2rtc": "cuda", "immich": "nvenc", "obs": "nvenc", "handbrake": "nvenc",
            "mpv": "nvdec"})

    def test_nothing_works_without_a_driver(self):
        for machine in (Machine(), intel(outcome="absent", reasons=[{"code": "driver-missing", "detail": {}}])):
            self.assertEqual(self.backends(machine), {
                "ffmpeg": "cpu", "jellyfin": "none", "frigate": "cpu", "go2rtc": "software", "immich": "disabled", "obs": "x264", "handbrake": "cpu",
                "mpv": "cpu"})

    def test_an_unprobed_driver_is_never_chosen(self):
        answer = self.select(Machine().intel(), "ffmpeg")
        self.assertEqual((answer.backend, answer.codes("vaapi")), ("cpu", ["not-probed", "requirement-unknown", "unknown-not-chosen"]))

    def test_a_crashed_driver_is_never_chosen(self):
        answer = self.select(intel(outcome="crashed"), "ffmpeg")
        self.assertEqual(answer.backend, "cpu")
        self.assertIn("driver-crashed", answer.codes("vaapi"))

    def test_a_closed_node_is_named(self):
        answer = self.select(intel(accessible=False), "ffmpeg")
        self.assertEqual(answer.backend, "cpu")
        self.assertEqual(answer.detail("vaapi", "no-permission")["node"], "/dev/dri/renderD128")

    def test_an_old_driver_has_an_old_nvenc(self):
        answer = self.select(Machine().nvidia(driver="470.256.02"), "jellyfin")
        self.assertEqual((answer.backend, answer.detail("nvenc", "driver-too-old")["need"]), ("none", "520"))

    def test_qsv_needs_the_driver_ihd(self):
        self.assertEqual(self.select(intel(), "ffmpeg", "--backend=qsv").backend, "qsv")
        answer = self.select(intel("i965"), "ffmpeg", "--backend=qsv")
        self.assertIsNone(answer.backend)
        self.assertEqual(answer.detail("qsv", "requirement-unmet"), {"requirement": "va-driver=iHD", "have": "i965"})

    def test_a_gpu_without_encoders_decodes_only(self):
        machine = intel("iHD", "decode h264-high")
        self.assertEqual(self.backends(machine), {
            "ffmpeg": "vaapi", "jellyfin": "vaapi", "frigate": "vaapi", "go2rtc": "software", "immich": "disabled", "obs": "x264", "handbrake": "cpu",
            "mpv": "vaapi"})
        self.assertEqual(self.select(machine, "ffmpeg").answers["encoder_h264"], "libx264")

    def test_each_application_is_tested(self):
        for name in APPLICATIONS:
            selection = json.loads((SOURCE / f"data/knowledge/applications/{name}.json").read_text(encoding="utf-8"))["selection"]
            self.assertLessEqual(set(selection["backends"]), {"cuda", "vaapi", "qsv", "cpu"}, name)


class VideoSettings(ScenarioCase):
    def answers(self, machine, application, *words):
        return self.select(machine, application, *words).answers

    def test_the_node_is_the_node_of_the_chosen_gpu(self):
        """The first node belongs to a GPU whose VA driver is missing."""
        machine = Machine().nvidia(cuda=False).vaapi(NVIDIA, 128, None, outcome="absent").intel().vaapi(INTEL, 129, "iHD", *H264)
        self.assertEqual(self.answers(machine, "ffmpeg")["arguments"],
                         "-hwaccel vaapi -hwaccel_device /dev/dri/renderD129 -hwaccel_output_format vaapi")
        for application in ("jellyfin", "frigate", "go2rtc", "immich", "obs"):
            self.assertEqual(self.answers(machine, application)["device"], "/dev/dri/renderD129", application)
        self.assertEqual(self.answers(machine, "mpv")["vaapi_device"], "/dev/dri/renderD129")

    def test_the_choice_of_a_gpu_changes_the_node(self):
        machine = Machine().amd().vaapi(AMD, 128, "radeonsi", *H264).intel().vaapi(INTEL, 129, "iHD", *H264)
        for gpu, node in ((AMD, "renderD128"), (INTEL, "renderD129")):
            self.assertIn(node, self.answers(machine, "ffmpeg", f"--gpu={gpu}")["arguments"])

    def test_ffmpeg(self):
        self.assertEqual(self.answers(intel(), "ffmpeg"), {
            "arguments": "-hwaccel vaapi -hwaccel_device /dev/dri/renderD128 -hwaccel_output_format vaapi",
            "encoder_h264": "h264_vaapi", "encoder_hevc": "hevc_vaapi", "encoder_av1": "libsvtav1"})
        self.assertEqual(self.answers(intel(), "ffmpeg", "--backend=qsv")["arguments"],
                         "-hwaccel qsv -qsv_device /dev/dri/renderD128 -hwaccel_output_format qsv")
        nvidia = self.select(Machine().nvidia(), "ffmpeg")
        self.assertEqual(nvidia.answers["arguments"], "-hwaccel cuda -hwaccel_device 0 -hwaccel_output_format cuda")
        self.assertIn("GPU-", nvidia.environment["CUDA_VISIBLE_DEVICES"])
        self.assertNotIn("arguments", self.answers(Machine(), "ffmpeg"))

    def test_unknown_encoders_are_left_out(self):
        self.assertEqual(set(self.answers(Machine().nvidia(), "handbrake")), {"decoder"})

    def test_jellyfin_names_the_codecs(self):
        answers = self.answers(intel(), "jellyfin")
        self.assertEqual({key: value for key, value in answers.items() if value == "yes"},
                         dict.fromkeys(("decode_h264", "decode_hevc", "decode_hevc_10bit", "encode_h264", "encode_hevc"), "yes"))
        self.assertEqual(answers["decode_h264_high10"], "no")
        self.assertEqual(answers["decode_av1"], "no")

    def test_frigate_names_the_preset(self):
        self.assertEqual(self.answers(intel(), "frigate")["hwaccel_args"], "preset-vaapi")
        self.assertEqual(self.answers(Machine().nvidia(), "frigate")["hwaccel_args"], "preset-nvidia")

    def test_export_ffmpeg(self):
        for machine, words in ((intel(number=130), "-hwaccel vaapi -hwaccel_device /dev/dri/renderD130 -hwaccel_output_format vaapi\n"), (Machine(), "")):
            done = self.run_ctl("--replay", str(self.capture(machine)), "export", "ffmpeg")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, words, ""))

    def test_export_ffmpeg_mentions_the_variables_that_a_number_needs(self):
        two = Machine().nvidia().nvidia(address="0000:02:00.0", number=1)
        done = self.run_ctl("--replay", str(self.capture(two)), "export", "ffmpeg")
        self.assertEqual(done.stdout, "-hwaccel cuda -hwaccel_device 0 -hwaccel_output_format cuda\n")
        self.assertIn("gpuprobectl env ffmpeg", done.stderr)
