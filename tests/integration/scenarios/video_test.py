# SPDX-License-Identifier: Apache-2.0
"""Tests which GPU and backend `select` chooses for applications that decode and encode videos, and which settings `select` prints."""
import json
import shutil

from made_machine import Machine, node
from scenario_case import SOURCE, Answer, ScenarioCase

APPLICATIONS = ("ffmpeg", "jellyfin", "frigate", "go2rtc", "immich", "obs", "handbrake", "mpv")
NVIDIA, AMD, INTEL = "0000:01:00.0", "0000:03:00.0", "0000:00:02.0"
H264 = ("decode h264-main", "decode h264-high", "encode h264-main", "encode h264-high")
HEVC = ("decode hevc-main", "decode hevc-main10", "decode hevc-main10/10", "encode hevc-main")
AV1 = ("decode av1-main", "decode av1-main/10")
DECODE = ("decode h264-high", "decode h264-main", "decode hevc-main", "decode hevc-main10/10", *AV1)
# {output format of the decoder: suffix of the FFmpeg encoders that need frames with this format in GPU memory}.
ENCODERS = {"vaapi": "_vaapi", "qsv": "_qsv", "cuda": "_nvenc"}


def intel(driver="iHD", *formats, number=128, **more):
    return Machine().intel().vaapi(INTEL, number, driver, *(formats or H264 + HEVC), **more)


class VideoBackends(ScenarioCase):
    def backends(self, machine):
        return {name: self.select(machine, name).backend for name in APPLICATIONS}

    def test_intel_has_qsv_where_the_project_prefers_it(self):
        self.assertEqual(self.backends(intel()), {
            "ffmpeg": "vaapi", "jellyfin": "qsv", "frigate": "vaapi", "go2rtc": "vaapi", "immich": "qsv", "obs": "vaapi", "handbrake": "qsv",
            "mpv": "vaapi"})

    def test_old_intel_gpus_have_va_api(self):
        self.assertEqual(self.backends(intel("i965")), {
            "ffmpeg": "vaapi", "jellyfin": "vaapi", "frigate": "vaapi", "go2rtc": "vaapi", "immich": "vaapi", "obs": "vaapi", "handbrake": "cpu",
            "mpv": "vaapi"})

    def test_frigate_has_qsv_on_new_intel_gpus(self):
        for device, is_integrated, backend in (("46a6", True, "vaapi"), ("a780", True, "qsv"), ("7d55", True, "qsv"), ("56a0", False, "qsv"), ("e20b", False, "qsv")):
            machine = Machine().intel(device=device, integrated=is_integrated).vaapi(INTEL, 128, "iHD", *H264)
            answer = self.select(machine, "frigate")
            self.assertEqual((device, answer.backend), (device, backend))
            self.assertEqual(answer.codes("vaapi"), ["less-preferred"] if backend == "qsv" else [])
        # VA-API is still better than no acceleration.
        machine = Machine().intel(device="a780").vaapi(INTEL, 128, "i965", *H264)
        self.assertEqual(self.select(machine, "frigate").backend, "vaapi")

    def test_wsl_has_no_qsv_in_immich(self):
        machine = intel()
        machine.host["wsl"] = True
        answer = self.select(machine, "immich")
        self.assertEqual(answer.backend, "vaapi")
        self.assertIn("vaapi-wsl", answer.answers["hint"])

    def test_a_gpu_that_encodes_is_preferred(self):
        """The H200 has no encoder, and the Intel GPU is integrated."""
        machine = Machine().nvidia(device="2335", capability="9.0", pci_class="0302").nvcodec(*DECODE)
        machine.intel().vaapi(INTEL, 128, "iHD", *H264, *HEVC)
        for application, backend in (("jellyfin", "qsv"), ("ffmpeg", "vaapi"), ("mpv", "nvdec"), ("frigate", "nvidia")):
            self.assertEqual(self.select(machine, application).backend, backend, application)
        self.assertEqual(self.select(machine, "jellyfin").codes("nvenc", f"pci:{NVIDIA}"), ["less-preferred"])
        self.assertEqual(self.select(machine, "jellyfin", f"--gpu={NVIDIA}").backend, "nvenc")
        # `select` still prefers the discrete GPU to the integrated GPU if it is unknown whether the discrete GPU can encode.
        self.assertEqual(self.select(Machine().nvidia().intel().vaapi(INTEL, 128, "iHD", *H264), "jellyfin").backend, "nvenc")

    def test_a_program_that_opens_one_gpu_gets_one(self):
        two = Machine().nvidia().nvidia(address="0000:02:00.0", number=1)
        for application, count in (("jellyfin", 1), ("ffmpeg", 1), ("immich", 1), ("frigate", 2)):
            answer = self.select(two, application)
            self.assertEqual((application, len(answer.gpus)), (application, count))
            self.assertEqual(answer.environment["CUDA_VISIBLE_DEVICES"].count("GPU-"), count)

    def test_nouveau_has_va_api_where_the_project_can(self):
        machine = Machine().nvidia(kernel="nouveau", cuda=False, nvml=False, vulkan=False).vaapi(NVIDIA, 128, "nouveau", "decode h264-high", "decode h264-main")
        backends = self.backends(machine)
        self.assertEqual({name for name, backend in backends.items() if backend == "vaapi"}, {"ffmpeg", "mpv"})
        # CUDA comes first, even if a VA-API driver for NVIDIA GPUs is installed too.
        both = Machine().nvidia().vaapi(NVIDIA, 128, "nvidia", "decode h264-high")
        self.assertEqual([self.select(both, name).backend for name in ("ffmpeg", "mpv")], ["cuda", "nvdec"])

    def test_jpeg_alone_is_not_enough(self):
        machine = Machine().amd().vaapi(AMD, 128, "radeonsi", "decode jpeg-baseline", "encode jpeg-baseline")
        self.assertEqual(self.backends(machine), {
            "ffmpeg": "cpu", "jellyfin": "none", "frigate": "cpu", "go2rtc": "software", "immich": "disabled", "obs": "x264", "handbrake": "cpu",
            "mpv": "cpu"})

    def test_boards_have_a_hint(self):
        board = Machine(arch="aarch64")
        for application in ("ffmpeg", "jellyfin", "frigate", "go2rtc", "immich", "mpv"):
            self.assertIn("gpuprobe does not judge", self.select(board, application).answers["hint"], application)
        self.assertNotIn("hint", self.select(Machine(), "go2rtc").answers)
        arm = self.select(Machine(arch="aarch64").nvidia().nvcodec(*H264), "go2rtc")
        self.assertEqual(arm.backend, "cuda")
        self.assertIn("name the engine", arm.answers["hint"])

    def test_boards_with_v4l2_have_no_engine_that_is_judged(self):
        """Tests with boards whose drivers appear in public outputs of v4l2-ctl. gpuprobe does not read V4L2 nodes, but gives a hint about FFmpeg's
        V4L2 support."""
        rows = json.loads((SOURCE / "tests/data/video/public_dumps.json").read_text(encoding="utf-8"))["v4l2"]
        for row in rows:
            board = Machine(arch="aarch64")
            board.files["sys/class/video4linux/video10/name"] = f"{row['driver']}-decode\n"
            board.nodes["/dev/video10"] = node(81, 10, "video")
            answer = self.select(board, "ffmpeg")
            self.assertEqual((answer.backend, answer.answers["encoder_h264"]), ("cpu", "libx264"), row["source"])
            self.assertIn("v4l2m2m", answer.answers["hint"])

    def test_amd_has_va_api(self):
        machine = Machine().amd().vaapi(AMD, 128, "radeonsi", *H264, *HEVC, *AV1)
        self.assertEqual(self.backends(machine), {
            "ffmpeg": "vaapi", "jellyfin": "vaapi", "frigate": "vaapi", "go2rtc": "vaapi", "immich": "vaapi", "obs": "vaapi", "handbrake": "cpu",
            "mpv": "vaapi"})

    def test_nvidia_has_cuda(self):
        self.assertEqual(self.backends(Machine().nvidia()), {
            "ffmpeg": "cuda", "jellyfin": "nvenc", "frigate": "nvidia", "go2rtc": "cuda", "immich": "nvenc", "obs": "nvenc", "handbrake": "nvenc",
            "mpv": "nvdec"})

    def test_a_chip_without_an_encoder_only_decodes(self):
        """Tests with an H100 for which no API reported video formats. The table of chips shows that no GH100 has NVENC."""
        machine = Machine().nvidia(device="2330", capability="9.0", pci_class="0302")
        self.assertEqual(self.backends(machine), {
            "ffmpeg": "cuda", "jellyfin": "nvenc", "frigate": "nvidia", "go2rtc": "software", "immich": "disabled", "obs": "x264", "handbrake": "cpu",
            "mpv": "nvdec"})
        answer = self.select(machine, "handbrake")
        self.assertEqual(answer.detail("nvenc", "requirement-unmet"), {"requirement": "video.encode=h264", "have": "none"})
        # Formats that an API reports override the table of chips.
        self.assertEqual(self.select(machine.nvcodec("encode h264-high"), "handbrake").backend, "nvenc")

    def test_a_mig_instance_without_a_decoder_is_not_chosen(self):
        """Tests with H100s for which NVML reports the number of video engines of each MIG instance. An H100 has no encoder."""
        for owner, decoders in ((3, [0, 0, 0, 1, 0]), (0, [3, 2, 2, 1, 1]), (None, [0] * 5)):
            folder = self.folder / f"mig-{owner}"
            shutil.copytree(SOURCE / "tests/data/machines/nvidia-h100-mig-mixed", folder, symlinks=True)
            probe = json.loads((folder / "probes/nvml.json").read_text(encoding="utf-8"))
            instances = probe["devices"][0]["mig_devices"]
            for instance, count in zip(instances, decoders, strict=True):
                instance |= {"decoders": count, "encoders": 0}
            (folder / "probes/nvml.json").write_text(json.dumps(probe), encoding="utf-8")
            answer = Answer(self.run_ctl("--replay", str(folder), "--json=short", "select", "ffmpeg", "--gpu=0000:1a:00.0"))
            name = None if owner is None else f"mig-{instances[owner]['gpu_instance']}"
            self.assertEqual((answer.backend, [gpu.partition("/")[2] for gpu in answer.gpus]), ("cpu", []) if name is None else ("cuda", [name]))

    def test_a_missing_library_is_not_unknown(self):
        both = ("libnvcuvid.so.1", "libnvidia-encode.so.1")
        machine = Machine().nvidia().nvcodec(missing=both)
        self.assertEqual(self.backends(machine), {
            "ffmpeg": "cpu", "jellyfin": "none", "frigate": "cpu", "go2rtc": "software", "immich": "disabled", "obs": "x264", "handbrake": "cpu",
            "mpv": "cpu"})
        machine = Machine().nvidia().nvcodec("decode h264-high", "decode h264-main", missing=both[1:])
        self.assertEqual(self.backends(machine), {
            "ffmpeg": "cuda", "jellyfin": "nvenc", "frigate": "nvidia", "go2rtc": "software", "immich": "disabled", "obs": "x264", "handbrake": "cpu",
            "mpv": "nvdec"})
        answer = self.select(machine, "handbrake")
        self.assertEqual(answer.detail("nvenc", "library-missing"), {"missing": "libnvidia-encode.so.1"})

    def test_a_gpu_that_the_api_does_not_list_is_not_chosen(self):
        machine = Machine().nvidia().nvidia(address="0000:02:00.0", number=1).nvcodec(*H264, *HEVC, address="0000:02:00.0")
        for name in ("handbrake", "jellyfin", "frigate", "ffmpeg"):
            self.assertEqual(self.select(machine, name).gpus, ["pci:0000:02:00.0"], name)

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
        for application, driver, need in (("jellyfin", "470.256.02", "520.56.06"), ("immich", "470.256.02", "520.56.06"),
                                          ("obs", "470.256.02", "520.56.06"), ("handbrake", "550.54.14", "570.0")):
            answer = self.select(Machine().nvidia(driver=driver), application)
            self.assertEqual((application, answer.detail("nvenc", "driver-too-old")["need"]), (application, need))

    def test_qsv_needs_the_driver_ihd(self):
        self.assertEqual(self.select(intel(), "ffmpeg", "--backend=qsv").backend, "qsv")
        answer = self.select(intel("i965"), "ffmpeg", "--backend=qsv")
        self.assertIsNone(answer.backend)
        self.assertEqual(answer.detail("qsv", "requirement-unmet"), {"requirement": "va-driver=iHD", "have": "i965"})

    def test_a_gpu_without_encoders_decodes_only(self):
        machine = intel("iHD", "decode h264-high")
        self.assertEqual(self.backends(machine), {
            "ffmpeg": "vaapi", "jellyfin": "qsv", "frigate": "vaapi", "go2rtc": "software", "immich": "disabled", "obs": "x264", "handbrake": "cpu",
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
        """The first render node belongs to a GPU whose VA driver is missing."""
        machine = Machine().nvidia(cuda=False).vaapi(NVIDIA, 128, None, outcome="absent").intel().vaapi(INTEL, 129, "iHD", *H264)
        self.assertEqual(self.answers(machine, "ffmpeg")["arguments"], "-hwaccel vaapi -hwaccel_device /dev/dri/renderD129")
        for application in ("jellyfin", "frigate", "go2rtc", "immich", "obs"):
            self.assertEqual(self.answers(machine, application)["device"], "/dev/dri/renderD129", application)
        self.assertEqual(self.answers(machine, "mpv")["vaapi_device"], "/dev/dri/renderD129")

    def test_the_choice_of_a_gpu_changes_the_node(self):
        machine = Machine().amd().vaapi(AMD, 128, "radeonsi", *H264).intel().vaapi(INTEL, 129, "iHD", *H264)
        for gpu, node in ((AMD, "renderD128"), (INTEL, "renderD129")):
            self.assertIn(node, self.answers(machine, "ffmpeg", f"--gpu={gpu}")["arguments"])

    def test_ffmpeg(self):
        decode, stay = "-hwaccel vaapi -hwaccel_device /dev/dri/renderD128", " -hwaccel_output_format vaapi"
        self.assertEqual(self.answers(intel(), "ffmpeg"), {
            "arguments": decode, "arguments_h264": decode + stay, "arguments_hevc": decode + stay, "arguments_av1": decode,
            "encoder_h264": "h264_vaapi", "encoder_hevc": "hevc_vaapi", "encoder_av1": "libsvtav1"})
        # With -hwaccel qsv, the frames would always stay in GPU memory.
        qsv = self.answers(intel(), "ffmpeg", "--backend=qsv")
        self.assertEqual((qsv["arguments"], qsv["arguments_av1"]), (decode, decode))
        self.assertEqual(qsv["arguments_h264"], "-hwaccel qsv -qsv_device /dev/dri/renderD128 -hwaccel_output_format qsv")
        nvidia = self.select(Machine().nvidia(), "ffmpeg")
        self.assertEqual(nvidia.answers, {"arguments": "-hwaccel cuda -hwaccel_device 0"})
        self.assertIn("GPU-", nvidia.environment["CUDA_VISIBLE_DEVICES"])
        self.assertNotIn("arguments", self.answers(Machine(), "ffmpeg"))

    def test_frames_stay_on_the_gpu_only_for_an_encoder_there(self):
        """FFmpeg cannot pass frames in GPU memory to an encoder on the CPU, and can pass only frames in GPU memory to a VA-API encoder."""
        formats = ((), H264, HEVC, H264 + HEVC, ("encode av1-main",), H264 + ("encode av1-main",))
        machines = [lambda more=more: intel("iHD", *DECODE, *more) for more in formats]
        machines += [lambda more=more: Machine().amd().vaapi(AMD, 128, "radeonsi", *DECODE, *more) for more in formats]
        machines += [lambda more=more: Machine().nvidia().nvcodec(*DECODE, *more) for more in formats]
        machines += [lambda: Machine().nvidia(), Machine]
        for machine in machines:
            for backend in ("auto", *ENCODERS):
                answers = self.select(machine(), "ffmpeg", f"--backend={backend}").answers
                self.assertNotIn("-hwaccel_output_format", answers.get("arguments", ""))
                for codec in ("h264", "hevc", "av1"):
                    words = answers.get(f"arguments_{codec}", "").split()
                    encoder = answers.get(f"encoder_{codec}", "")
                    form = words[words.index("-hwaccel_output_format") + 1] if "-hwaccel_output_format" in words else None
                    stays = next((form for form, end in ENCODERS.items() if encoder.endswith(end)), None)
                    self.assertEqual(form, stays, (backend, answers))
                    self.assertTrue(encoder or not words, answers)

    def test_unknown_encoders_are_left_out(self):
        self.assertEqual(self.answers(Machine().nvidia(), "handbrake"), {})

    def test_handbrake_decodes_only_formats_that_the_gpu_decodes(self):
        self.assertEqual(self.answers(Machine().nvidia().nvcodec(*H264), "handbrake")["decoder"], "nvdec")
        self.assertNotIn("decoder", self.answers(Machine().nvidia().nvcodec("encode h264-high", "encode h264-main"), "handbrake"))

    def test_jellyfin_names_the_codecs(self):
        answers = self.answers(intel(), "jellyfin")
        self.assertEqual({key: value for key, value in answers.items() if value == "yes"},
                         dict.fromkeys(("decode_h264", "decode_hevc", "decode_hevc_10bit", "encode_h264", "encode_hevc"), "yes"))
        self.assertEqual(answers["decode_h264_high10"], "no")
        self.assertEqual(answers["decode_av1"], "no")

    def test_jellyfin_names_codecs_that_no_engine_has(self):
        answers = self.answers(intel("iHD", "decode h264-high"), "jellyfin")
        self.assertEqual({key: value for key, value in answers.items() if key.startswith("encode_")},
                         dict.fromkeys(("encode_h264", "encode_hevc", "encode_av1"), "no"))

    def test_frigate_names_the_preset(self):
        self.assertEqual(self.answers(intel(), "frigate")["hwaccel_args"], "preset-vaapi")
        self.assertEqual(self.answers(Machine().nvidia(), "frigate")["hwaccel_args"], "preset-nvidia")

    def test_frigate_names_the_driver(self):
        for machine, driver in ((intel(), "iHD"), (intel("i965"), "i965"), (Machine().amd().vaapi(AMD, 128, "radeonsi", *H264), "radeonsi"),
                                (Machine().nvidia(), None), (intel("../../tmp/x"), None)):
            self.assertEqual(self.select(machine, "frigate").environment.get("LIBVA_DRIVER_NAME"), driver)

    def test_export_ffmpeg(self):
        for machine, words in ((intel(number=130), "-hwaccel vaapi -hwaccel_device /dev/dri/renderD130\n"), (Machine(), "")):
            done = self.run_ctl("--replay", str(self.capture(machine)), "export", "ffmpeg")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, words, ""))

    def test_export_ffmpeg_mentions_the_variables_that_a_number_needs(self):
        two = Machine().nvidia().nvidia(address="0000:02:00.0", number=1)
        done = self.run_ctl("--replay", str(self.capture(two)), "export", "ffmpeg")
        self.assertEqual(done.stdout, "-hwaccel cuda -hwaccel_device 0\n")
        self.assertIn("gpuprobectl env ffmpeg", done.stderr)

    def test_a_container_gets_the_gpu_and_nvidias_video_libraries(self):
        for machine, application, words in (
                (Machine().nvidia(), "jellyfin", ["--device=nvidia.com/gpu=GPU-00000000-0000-4000-8000-000000000001",
                                                  "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"]),
                (intel(), "jellyfin", ["--device=/dev/dri/renderD128"]), (Machine(), "immich", [])):
            done = self.run_ctl("--replay", str(self.capture(machine)), "export", "container", application)
            self.assertEqual((done.returncode, done.stdout.split(), done.stderr), (0, words, ""))


class FrigateDetectors(ScenarioCase):
    def test_onnx_on_gpus_of_nvidia_and_amd(self):
        for machine, kind, image in ((Machine().nvidia(), "onnx", "stable-tensorrt"), (Machine().amd(), "onnx", "stable-rocm"),
                                     (Machine().amd(hip=False), "onnx", "stable-rocm"), (Machine().nvidia(driver="535.54.03"), "cpu", "stable"),
                                     (Machine().amd(device="67df", gfx="gfx803"), "cpu", "stable"), (Machine(arch="aarch64").nvidia(), "cpu", "stable"),
                                     (Machine(), "cpu", "stable")):
            answers = self.select(machine, "frigate-detectors").answers
            self.assertEqual((answers["type"], answers["image"]), (kind, image))
